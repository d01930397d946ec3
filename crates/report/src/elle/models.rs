//! The consistency models of Elle that are violated.
//!
//! Elle has most models in three forms: plain, *strong session* and *strong*. The plain form uses only reads
//! and writes, the second also session order, the third also real-time order. So a model is a level of the
//! catalogue with the orders that count, an [`Ordered`] level; [`MODELS`] gives their names. A level of the
//! catalogue is such a pair, too ([`ordered`]): Adya's levels ignore sessions, the others use them, and
//! strict ones also use real-time order.
//!
//! A violated verdict refutes the pair of its level, restricted to the orders that its proof needs
//! ([`Evidence::orders`]). A refuted pair refutes all pairs that imply it, and these are the models listed. A model
//! that holds by some verdict is never listed: verdicts follow the axiom, and a violation inferred from the
//! name of an anomaly counts only if no verdict contradicts it.
//!
//! To add a level, add its row in [`ordered`], which the compiler requires, and its names in [`MODELS`].

use std::collections::BTreeSet;

use isoscope_certificate::{Finding, Through, Verdict};
use isoscope_history::History;
use isoscope_levels::Level;

use crate::checked::Checked;

/// A level in which only these orders count. `Through::Dependencies` means none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ordered {
    pub(super) level: Level,
    pub(super) orders: Through,
}

impl Ordered {
    /// Whether every history that satisfies `self` satisfies `other`.
    fn implies(self, other: Ordered) -> bool {
        self.orders >= other.orders
            && (self.level.implies(other.level)
                || other.orders == PLAIN && apart(self.level).implies(apart(other.level)))
    }
}

const PLAIN: Through = Through::Dependencies;
const SESSION: Through = Through::Sessions;
const STRONG: Through = Through::RealTime;

/// The names that Elle prints, with their meaning.
static MODELS: [(&str, Level, Through); 23] = [
    ("read-uncommitted", Level::AdyaPl1, PLAIN),
    ("strong-session-read-uncommitted", Level::AdyaPl1, SESSION),
    ("strong-read-uncommitted", Level::AdyaPl1, STRONG),
    ("read-committed", Level::AdyaPl2, PLAIN),
    ("strong-session-read-committed", Level::AdyaPl2, SESSION),
    ("strong-read-committed", Level::AdyaPl2, STRONG),
    ("repeatable-read", Level::AdyaPl299, PLAIN),
    ("cursor-stability", Level::CursorStability, PLAIN),
    ("monotonic-view", Level::MonotonicView, PLAIN),
    ("update-serializable", Level::UpdateSerializable, PLAIN),
    ("update-atomic", Level::UpdateAtomic, PLAIN),
    ("monotonic-atomic-view", Level::ReadCommitted, PLAIN),
    ("read-atomic", Level::ReadAtomic, PLAIN),
    ("causal-cerone", Level::Causal, PLAIN),
    ("prefix", Level::Prefix, PLAIN),
    ("parallel-snapshot-isolation", Level::ParallelSnapshot, PLAIN),
    // Adya's PL-2+ forbids G1 and G-single, and so does parallel snapshot isolation without sessions.
    ("consistent-view", Level::ParallelSnapshot, PLAIN),
    ("snapshot-isolation", Level::Snapshot, PLAIN),
    ("strong-session-snapshot-isolation", Level::Snapshot, SESSION),
    ("strong-snapshot-isolation", Level::Snapshot, STRONG),
    ("serializable", Level::Serializable, PLAIN),
    ("strong-session-serializable", Level::Serializable, SESSION),
    // Elle has two names for this and prints the one that is not `strict-serializable`.
    ("strong-serializable", Level::Serializable, STRONG),
];

/// Models above a decided one that clients cannot distinguish from it, because they concern the time of
/// snapshots. They are violated if the model below is, and are never the weakest.
static ABOVE: [(&str, Level, Through); 2] = [
    ("monotonic-snapshot-read", Level::AdyaPl2, PLAIN),
    ("forward-consistent-view", Level::ParallelSnapshot, PLAIN),
];

fn models() -> impl Iterator<Item = (&'static str, Ordered)> {
    MODELS.iter().map(|&(name, level, orders)| (name, Ordered { level, orders }))
}

/// A level of the catalogue as a pair: the level, and the orders that count.
pub(super) fn ordered(level: Level) -> Ordered {
    let (level, orders) = match level {
        Level::AdyaPl1
        | Level::AdyaPl2
        | Level::AdyaPl299
        | Level::CutIsolation
        | Level::CursorStability
        | Level::MonotonicView
        | Level::UpdateSerializable => (level, PLAIN),
        Level::StrongSessionPl1 => (Level::AdyaPl1, SESSION),
        Level::StrongPl1 => (Level::AdyaPl1, STRONG),
        Level::StrongSessionPl2 => (Level::AdyaPl2, SESSION),
        Level::StrongPl2 => (Level::AdyaPl2, STRONG),
        Level::MonotonicAtomicView => (Level::ReadCommitted, PLAIN),
        Level::ConsistentView => (Level::ParallelSnapshot, PLAIN),
        Level::AdyaPlSi => (Level::Snapshot, PLAIN),
        Level::AdyaPl3 => (Level::Serializable, PLAIN),
        Level::ReadCommitted
        | Level::ReadAtomic
        | Level::UpdateAtomic
        | Level::Causal
        | Level::Prefix
        | Level::ParallelSnapshot
        | Level::Snapshot
        | Level::Serializable => (level, SESSION),
        Level::StrictSnapshot => (Level::Snapshot, STRONG),
        Level::StrictSerializable => (Level::Serializable, STRONG),
    };
    Ordered { level, orders }
}

/// The level of the catalogue that is this one without sessions, or this one if there is none.
fn apart(level: Level) -> Level {
    Level::ALL.into_iter().find(|apart| apart.with_sessions() == Some(level)).unwrap_or(level)
}

/// The weakest violated models and the other violated ones.
pub(super) fn violated(report: &Checked<'_>) -> (BTreeSet<&'static str>, BTreeSet<&'static str>) {
    let refuted = refuted(report);
    let violated: Vec<(&str, Ordered)> =
        models().filter(|(_, model)| refuted.iter().any(|&weaker| model.implies(weaker))).collect();
    let is_weakest = |model: Ordered| {
        let mut others = violated.iter().map(|&(_, other)| other);
        !others.any(|other| is_stronger(model, other))
    };
    let (not, also_not): (Vec<_>, Vec<_>) = violated.iter().partition(|&&(_, model)| is_weakest(model));
    let above = ABOVE.iter().filter(|&&(_, level, orders)| {
        let below = Ordered { level, orders };
        violated.iter().any(|&(_, model)| model == below)
    });
    let names = |models: Vec<(&'static str, Ordered)>| models.into_iter().map(|(name, _)| name);
    (names(not).collect(), names(also_not).chain(above.map(|&(name, ..)| name)).collect())
}

/// Whether a model is above another. Elle places repeatable read above monotonic atomic view. The catalogue
/// cannot, because its read committed has sessions.
fn is_stronger(model: Ordered, other: Ordered) -> bool {
    let repeatable = Ordered { level: Level::AdyaPl299, orders: PLAIN };
    let monotonic = Ordered { level: Level::ReadCommitted, orders: PLAIN };
    let implies =
        |one: Ordered, other: Ordered| one.implies(other) || (one, other) == (repeatable, monotonic);
    implies(model, other) && !implies(other, model)
}

/// The levels that are violated in a form with sessions and may hold without them: every proof in the report
/// needs sessions.
pub fn open_without_sessions(report: &Checked<'_>) -> Vec<Level> {
    let refuted = refuted(report);
    let holds: Vec<Ordered> = report.holding().into_iter().map(ordered).collect();
    let is_candidate = |level: &Level| ordered(*level) == Ordered { level: *level, orders: SESSION };
    let candidates = Level::ALL.into_iter().filter(is_candidate);
    let open = candidates.filter(|&level| {
        let plain = Ordered { level, orders: PLAIN };
        let asked = report.judged.iter().any(|judged| ordered(judged.judgement.level).level == level);
        let violated = refuted.iter().any(|&weaker| Ordered { level, orders: STRONG }.implies(weaker));
        let settled = refuted.iter().any(|&weaker| plain.implies(weaker))
            || holds.iter().any(|&stronger| stronger.implies(plain));
        asked && violated && !settled
    });
    open.collect()
}

/// All pairs that the verdicts of a report refute.
pub(super) struct Refuted(Vec<Ordered>);

impl Refuted {
    pub(super) fn of(report: &Checked<'_>) -> Refuted {
        Refuted(refuted(report))
    }

    /// Whether a pair is refuted, too.
    pub(super) fn implies(&self, pair: Ordered) -> bool {
        self.0.iter().any(|&weaker| pair.implies(weaker))
    }
}

/// The pairs that verdicts refute by themselves.
fn refuted(report: &Checked<'_>) -> Vec<Ordered> {
    let mut refuted = Vec::new();
    let mut inferred = Vec::new();
    let mut holds = Vec::new();
    let history = report.history;
    for judgement in report.judged.iter().map(|judged| &judged.judgement) {
        let level = ordered(judgement.level);
        match &judgement.verdict {
            Verdict::Holds(_) => holds.push(level),
            Verdict::Unknown(_) => {}
            Verdict::Violated(findings) => {
                let least = findings.iter().flat_map(all_orders).min().unwrap_or(STRONG);
                refuted.push(Ordered { level: level.level, orders: level.orders.min(least) });
                inferred.extend(findings.iter().flat_map(|finding| forbidden(history, finding)));
            }
        }
    }
    for judgement in report.without_sessions {
        let plain = Ordered { level: ordered(judgement.level).level, orders: PLAIN };
        match &judgement.verdict {
            Verdict::Holds(_) => holds.push(plain),
            Verdict::Unknown(_) => {}
            Verdict::Violated(_) => refuted.push(plain),
        }
    }
    inferred.retain(|&weaker| !holds.iter().any(|stronger| stronger.implies(weaker)));
    refuted.extend(inferred);
    refuted
}

fn all_orders(finding: &Finding) -> impl Iterator<Item = Through> + '_ {
    finding.instances.iter().map(|instance| instance.evidence.orders())
}

/// The pairs that an anomaly violates by its name: the levels that forbid it in all its forms, with the
/// orders it needs. A proof by cases has a name of which this is so in every case. A write that a range read
/// missed does not violate levels that let ranges change.
fn forbidden<'a>(history: &'a History, finding: &'a Finding) -> impl Iterator<Item = Ordered> + 'a {
    let shown = finding.instances.iter().map(|instance| &instance.evidence);
    shown.flat_map(move |evidence| {
        let orders = evidence.orders();
        let on_range = evidence.misses(&|read| history.op(read).in_range);
        Level::ALL
            .into_iter()
            .filter(move |&level| level.forbids_all(finding.anomaly))
            .filter(move |&level| !(on_range && level.lets_ranges_change()))
            .map(move |level| Ordered { level: ordered(level).level, orders })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elle's own order of its models, as far as both have them. An edge leads to the weaker model.
    #[test]
    fn models_imply_each_other_as_in_elle() {
        let find = |name| models().find(|&(other, _)| other == name).map(|(_, model)| model).unwrap();
        for (stronger, weaker) in [
            ("strong-serializable", "strong-session-serializable"),
            ("strong-serializable", "strong-snapshot-isolation"),
            ("strong-session-serializable", "serializable"),
            ("strong-session-serializable", "strong-session-snapshot-isolation"),
            ("strong-snapshot-isolation", "strong-session-snapshot-isolation"),
            ("strong-snapshot-isolation", "strong-read-committed"),
            ("strong-session-snapshot-isolation", "snapshot-isolation"),
            ("strong-session-snapshot-isolation", "strong-session-read-committed"),
            ("strong-read-committed", "strong-session-read-committed"),
            ("strong-read-committed", "strong-read-uncommitted"),
            ("strong-read-uncommitted", "strong-session-read-uncommitted"),
            ("strong-session-read-committed", "read-committed"),
            ("strong-session-read-committed", "strong-session-read-uncommitted"),
            ("strong-session-read-uncommitted", "read-uncommitted"),
            ("serializable", "repeatable-read"),
            ("serializable", "update-serializable"),
            ("update-serializable", "consistent-view"),
            ("consistent-view", "cursor-stability"),
            ("consistent-view", "monotonic-view"),
            ("repeatable-read", "cursor-stability"),
            ("cursor-stability", "read-committed"),
            ("monotonic-view", "read-committed"),
            ("parallel-snapshot-isolation", "update-atomic"),
            ("update-atomic", "read-atomic"),
            ("serializable", "snapshot-isolation"),
            ("snapshot-isolation", "parallel-snapshot-isolation"),
            ("snapshot-isolation", "prefix"),
            ("snapshot-isolation", "consistent-view"),
            ("consistent-view", "read-committed"),
            ("parallel-snapshot-isolation", "causal-cerone"),
            ("prefix", "causal-cerone"),
            ("causal-cerone", "read-atomic"),
            ("read-atomic", "monotonic-atomic-view"),
            ("monotonic-atomic-view", "read-committed"),
            ("repeatable-read", "monotonic-atomic-view"),
            ("read-committed", "read-uncommitted"),
        ] {
            assert!(is_stronger(find(stronger), find(weaker)), "{stronger} implies {weaker}");
            assert!(!is_stronger(find(weaker), find(stronger)), "{weaker} does not imply {stronger}");
        }
        let none =
            [("repeatable-read", "snapshot-isolation"), ("serializable", "strong-session-read-committed")];
        for (one, other) in none {
            assert!(!is_stronger(find(one), find(other)), "{one}, {other}");
            assert!(!is_stronger(find(other), find(one)), "{other}, {one}");
        }
    }

    /// Elle has a name for every level except cut isolation and the levels it has only without sessions.
    #[test]
    fn every_level_has_a_model() {
        for level in Level::ALL {
            let own = ordered(level);
            let named = models().any(|(_, model)| model.level == own.level);
            assert_eq!(named, level != Level::CutIsolation, "{level}");
        }
    }
}
