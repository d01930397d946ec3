//! Checks *Violated*: every anomaly that the certificate shows must be in the history, and the level must
//! forbid it.
//!
//! One sound instance proves the verdict. All instances are checked, because people read all of them.

use isoscope_history::{Op, OpKind, OpView, Txn};
use isoscope_levels::{Anomaly, Level};

use super::cut::{self, Origins};
use super::facts::Facts;
use super::given::Given;
use super::{Refutation, cases, classify, cycle, ensure, shape, worlds};
use isoscope_certificate::{Edge, Evidence, Finding, Through, Why};

/// Checks all findings of a violated level.
pub(super) fn check(facts: &Facts<'_>, level: Level, findings: &[Finding]) -> Result<(), Refutation> {
    ensure(!findings.is_empty(), || "a violation without an anomaly".to_owned())?;
    for finding in findings {
        check_finding(facts, level, finding).map_err(|refutation| refutation.about(finding.anomaly))?;
    }
    Ok(())
}

fn check_finding(facts: &Facts<'_>, level: Level, finding: &Finding) -> Result<(), Refutation> {
    let Finding { anomaly, against, through, count, instances, .. } = finding;
    ensure(level.forbids(*anomaly), || format!("{level} does not forbid it"))?;
    ensure(!instances.is_empty(), || "no instance is shown".to_owned())?;
    ensure(*count >= instances.len() as u64, || "more instances than counted".to_owned())?;
    for instance in instances {
        facts.go_on()?;
        match &instance.evidence {
            Evidence::Cycle(edges) => {
                let given = Given::nothing(facts);
                cycle::check(&given, level, edges)?;
                check_name(&given, finding, edges)?;
                let on_ranges = shape::misses_range(facts, edges);
                let needed = Needed { through: shape::through(edges), on_ranges };
                check_others(&given, level, finding.anomaly, needed, edges)?;
            }
            Evidence::Cases(proof) => cases::check(facts, level, finding, proof)?,
            Evidence::Worlds(worlds) => worlds::check(facts, level, finding, worlds)?,
            _ if against.is_some() => return Err(Refutation::new("no order is contradicted")),
            _ if *through != Through::Dependencies => {
                return Err(Refutation::new("neither sessions nor real time are needed"));
            }
            Evidence::Read { read, write } => check_read(facts, *anomaly, *read, *write)?,
            Evidence::Pair { first, second } => check_pair(facts, level, *anomaly, *first, *second)?,
        }
    }
    Ok(())
}

/// Checks the name of a cycle, the order it contradicts, and what it needs besides reads and writes.
pub(super) fn check_name(given: &Given<'_, '_>, finding: &Finding, edges: &[Edge]) -> Result<(), Refutation> {
    check_shape(given, finding, edges)?;
    check_through(finding, &[edges])
}

/// Checks the name of a cycle and the order it contradicts.
pub(super) fn check_shape(
    given: &Given<'_, '_>,
    finding: &Finding,
    edges: &[Edge],
) -> Result<(), Refutation> {
    ensure(shape::fits(given, finding.anomaly, edges), || "the cycle has another shape".to_owned())?;
    ensure(finding.against.is_none_or(|against| against == shape::against(edges)), || {
        "the order it contradicts is the other one".to_owned()
    })
}

/// Checks what cycles need besides reads and writes.
///
/// Weak levels count cycles with and without sessions together, and state that they need nothing. So a
/// finding may state that if its cycles use only the edges of weak levels.
pub(super) fn check_through(finding: &Finding, cycles: &[&[Edge]]) -> Result<(), Refutation> {
    let is_strong =
        |edge: &Edge| matches!(edge.why, Why::RealTime | Why::Overwritten { .. } | Why::Misses { .. });
    let strong = cycles.iter().any(|edges| edges.iter().any(is_strong));
    let through = cycles.iter().map(|edges| shape::through(edges)).max().unwrap_or_default();
    ensure(finding.through == Through::Dependencies && !strong || finding.through == through, || {
        format!("what it needs besides reads and writes is {through:?}")
    })
}

/// What evidence needs besides reads of single keys and writes, in any of its cycles.
#[derive(Clone, Copy)]
pub(super) struct Needed {
    pub(super) through: Through,
    /// Reads of ranges.
    pub(super) on_ranges: bool,
}

impl Needed {
    /// Whether a level that forbids an anomaly in all its forms must be violated by evidence of it that
    /// violates `level`, which is not this level nor weaker. Levels that let ranges change forbid no form with
    /// ranges. They must be violated all the same if `level` implies them: such a level has a name for these
    /// forms.
    fn asks(self, level: Level, other: Level, anomaly: Anomaly) -> bool {
        let knows = match self.through {
            Through::Dependencies => true,
            Through::Sessions => other.has_sessions(),
            Through::RealTime => other.has_real_time(),
        };
        let spares = self.on_ranges && other.lets_ranges_change() && !level.implies(other);
        !other.implies(level) && other.forbids_all(anomaly) && knows && !spares
    }
}

/// Checks that the cycle also violates every other level that forbids the named anomaly in all its forms and
/// has the orders the evidence needs. Otherwise the name claims too much.
pub(super) fn check_others(
    given: &Given<'_, '_>,
    level: Level,
    anomaly: Anomaly,
    needed: Needed,
    edges: &[Edge],
) -> Result<(), Refutation> {
    if anomaly == Anomaly::LostUpdate && shape::fits(given, anomaly, edges) {
        // In either version order one transaction misses the other's write: one anti-dependency.
        return Ok(());
    }
    let forced = edges.iter().any(|edge| matches!(edge.why, Why::Forced { .. }));
    // A level without sessions may lack the axiom that forces the edge, and show the violation otherwise.
    let shows = |other: &Level| other.has_sessions() || !forced;
    let asked = |other: &Level| needed.asks(level, *other, anomaly) && shows(other);
    for other in Level::ALL.into_iter().filter(asked) {
        cycle::check(given, other, edges).map_err(|refutation| {
            refutation.about(format!("{other} forbids it, and is not shown to be violated"))
        })?;
    }
    Ok(())
}

/// A read of a present transaction, and that transaction.
pub(super) fn read_of(given: &Given<'_, '_>, read: Op) -> Result<(OpView, Txn), Refutation> {
    let facts = given.facts;
    ensure(read.index() < facts.history.op_count(), || format!("{read:?} is no operation"))?;
    let (view, txn) = (facts.history.op(read), facts.history.txn_of(read));
    ensure(view.kind.is_read(), || format!("{} is no read", facts.text(read)))?;
    ensure(given.is_present(txn), || format!("{} is absent", facts.name(txn)))?;
    Ok((view, txn))
}

fn check_read(facts: &Facts<'_>, anomaly: Anomaly, read: Op, write: Option<Op>) -> Result<(), Refutation> {
    let (read, reader) = read_of(&Given::nothing(facts), read)?;
    let shown = classify::anomalies(facts, read, reader);
    ensure(shown.contains(&anomaly), || match shown.first() {
        Some(other) => format!("{} is rather a {other}", facts.text(read.id)),
        None => format!("{} is right by itself", facts.text(read.id)),
    })?;
    ensure(classify::is_write_of(facts, anomaly, read, reader, write), || {
        format!("{} did not return the write that is named", facts.text(read.id))
    })
}

fn check_pair(
    facts: &Facts<'_>,
    level: Level,
    anomaly: Anomaly,
    first: Op,
    second: Op,
) -> Result<(), Refutation> {
    let given = Given::nothing(facts);
    if anomaly == Anomaly::NonRepeatableRead {
        let in_range = |op: Op| op.index() < facts.history.op_count() && facts.history.op(op).in_range;
        let knows_ranges = level.implies(Level::ReadAtomic) || level.implies(Level::ConsistentView);
        ensure(knows_ranges || !in_range(first) && !in_range(second), || {
            format!("{level} lets ranges change")
        })?;
        return check_unrepeatable(facts, first, second);
    }
    let (first, _) = read_of(&given, first)?;
    let (second, _) = read_of(&given, second)?;
    ensure(first.key == second.key, || "two reads of different keys".to_owned())?;
    match anomaly {
        Anomaly::IncompatibleOrder => {
            let lists = [first, second].iter().all(|read| read.kind == OpKind::ReadList);
            ensure(lists && facts.is_list(first.key), || "not two reads of a list".to_owned())?;
            let [a, b] = [first, second].map(|read| facts.history.table().elements(read.value));
            ensure(!a.starts_with(b) && !b.starts_with(a), || {
                "one of the lists begins with the other".to_owned()
            })
        }
        _ => Err(Refutation::new("two reads do not show it")),
    }
}

/// Two reads of one key by one transaction that certainly read from two other transactions. The reader may
/// have an unknown outcome if cut isolation is violated whether it took effect or not.
fn check_unrepeatable(facts: &Facts<'_>, first: Op, second: Op) -> Result<(), Refutation> {
    for read in [first, second] {
        let is_read = read.index() < facts.history.op_count() && facts.history.op(read).kind.is_read();
        ensure(is_read, || format!("{read:?} is no read"))?;
    }
    let (one, other) = (facts.history.op(first), facts.history.op(second));
    let reader = facts.history.txn_of(first);
    ensure(one.key == other.key, || "two reads of different keys".to_owned())?;
    ensure(reader == facts.history.txn_of(second) && first < second, || {
        "not an earlier and a later read of one transaction".to_owned()
    })?;
    let differ = facts.is_present(reader) && cut::compare(facts, reader, one, other) == Origins::Differ;
    ensure(differ || cut::is_unrepeatable(facts, reader, one, other), || {
        if facts.is_present(reader) {
            "the reads are not certainly of two others".to_owned()
        } else {
            format!("{} is absent", facts.name(reader))
        }
    })
}
