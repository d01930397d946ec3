//! What a check found, before it is put into any form.

use isoscope_check::{Against, Finding, Judgement, Limit, Through, Unknown, Verdict};
use isoscope_formats::Reading;
use isoscope_history::{History, Outcome, Txn, Value};
use isoscope_levels::{ELLE_PROCESS, ELLE_REALTIME, Level};

use super::watch::{Limits, Staged, TimeLimit};
use crate::exit::Exit;
use crate::words::{bytes, count, counted, span};

/// A level's verdict, how long it took, and whether the verifier confirmed it.
pub(crate) struct Judged {
    pub(crate) judgement: Judgement,
    pub(crate) seconds: f64,
    /// What was done to decide it.
    pub(crate) stages: Vec<Staged>,
    pub(crate) certified: Certified,
}

/// Whether the verifier confirmed a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certified {
    /// It was not asked, or there is nothing to confirm.
    No,
    Yes,
    /// It reached a limit before it had an answer.
    Stopped(Limit),
}

/// How much a file holds, as it was read.
#[derive(Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) sessions: usize,
    pub(crate) operations: usize,
}

impl Figures {
    pub(crate) fn of(history: &History) -> Figures {
        Figures { sessions: history.session_count(), operations: history.op_count() }
    }
}

/// The verdicts on one file.
pub(crate) struct Report {
    /// The file as the user named it.
    pub(crate) file: String,
    /// What was read; its history is the one that was judged, with range reads as reads of single keys.
    pub(crate) reading: Reading,
    pub(crate) figures: Figures,
    /// In the order the levels were asked for; weaker ones first when none was named.
    pub(crate) judged: Vec<Judged>,
    /// Levels judged once more without the order of sessions, for the styles that tell the two apart.
    pub(crate) without_sessions: Vec<Judgement>,
    /// Whether the user named the levels. If not, the question is where the boundary lies.
    pub(crate) named: bool,
    /// What the check was allowed to use.
    pub(crate) limits: Limits,
    /// How long the check took, without reading and verifying.
    pub(crate) seconds: f64,
}

impl Report {
    pub(crate) fn exit(&self) -> Exit {
        self.judged.iter().fold(Exit::Holds, |exit, judged| {
            exit.and(match judged.judgement.verdict {
                // Who asks for certified verdicts has none here.
                _ if matches!(judged.certified, Certified::Stopped(_)) => Exit::Unknown,
                Verdict::Holds(_) => Exit::Holds,
                Verdict::Violated(_) => Exit::Violated,
                Verdict::Unknown(_) => Exit::Unknown,
            })
        })
    }

    pub(crate) fn nothing_to_check(&self) -> bool {
        let nothing = |judged: &Judged| judged.judgement.verdict == Verdict::Unknown(Unknown::NothingToCheck);
        self.judged.iter().any(nothing)
    }

    pub(crate) fn holding(&self) -> Vec<Level> {
        self.levels(|verdict| matches!(verdict, Verdict::Holds(_)))
    }

    pub(crate) fn violated(&self) -> Vec<Level> {
        self.levels(|verdict| matches!(verdict, Verdict::Violated(_)))
    }

    /// The levels that hold and that no other one that holds implies.
    pub(crate) fn strongest_holding(&self) -> Vec<Level> {
        let holding = self.holding();
        let implied = |weak: &Level| holding.iter().any(|strong| strong != weak && strong.implies(*weak));
        holding.iter().copied().filter(|level| !implied(level)).collect()
    }

    /// The violated levels that imply no other violated one.
    pub(crate) fn weakest_violated(&self) -> Vec<Level> {
        let violated = self.violated();
        let implying = |strong: &Level| violated.iter().any(|weak| strong != weak && strong.implies(*weak));
        violated.iter().copied().filter(|level| !implying(level)).collect()
    }

    /// The findings of the levels that were decided by themselves, weaker levels first, each finding once:
    /// what a stronger level only repeats is left out. Adya's repeatable read has names of its own for what weaker
    /// levels tell more exactly, and comes after them.
    pub(crate) fn findings(&self) -> Vec<(Level, Vec<&Finding>)> {
        let mut judgements: Vec<&Judgement> = self.judged.iter().map(|judged| &judged.judgement).collect();
        judgements.sort_by_key(|judgement| match judgement.level {
            Level::AdyaPl299 => (Level::Serializable, Level::AdyaPl299),
            level => (level, level),
        });
        let mut told: Vec<&Finding> = Vec::new();
        let mut findings = Vec::new();
        for judgement in judgements {
            let Verdict::Violated(all) = &judgement.verdict else { continue };
            if self.repeats(judgement).is_some() {
                continue;
            }
            let new: Vec<&Finding> =
                all.iter().filter(|finding| !told.iter().any(|t| same(t, finding))).collect();
            told.extend(&new);
            if !new.is_empty() {
                findings.push((judgement.level, new));
            }
        }
        findings
    }

    /// What was found without the order of sessions.
    pub(crate) fn findings_without_sessions(&self) -> impl Iterator<Item = &Finding> {
        self.without_sessions.iter().flat_map(|judgement| match &judgement.verdict {
            Verdict::Violated(findings) => findings.as_slice(),
            Verdict::Holds(_) | Verdict::Unknown(_) => &[],
        })
    }

    /// The weaker level of this report whose violation a verdict only repeats.
    pub(crate) fn repeats(&self, judgement: &Judgement) -> Option<Level> {
        let weaker = judgement.implied_by?;
        self.judged.iter().any(|judged| judged.judgement.level == weaker).then_some(weaker)
    }

    /// Why a level is unknown, for machines and for people.
    pub(crate) fn reason(&self, unknown: &Unknown) -> (&'static str, String) {
        match unknown {
            Unknown::NothingToCheck => {
                ("nothing-to-check", format!("{}: there is nothing to judge", vacuous(&self.reading.history)))
            }
            Unknown::Ambiguous { reads, .. } => {
                let have = if *reads == 1 { "has" } else { "have" };
                let reads = counted(*reads, "read");
                let why = "several possible writers, and there are more choices than can be tried";
                ("ambiguous", format!("{reads} {have} {why}"))
            }
            Unknown::Unsupported { operations, .. } => {
                let are = if *operations == 1 { "is" } else { "are" };
                let operations = counted(*operations, "operation");
                ("unsupported", format!("{operations} {are} of a kind that cannot be judged yet"))
            }
            Unknown::Limit(Limit::Time) => {
                let limit = match self.limits.time {
                    None => String::new(),
                    Some(TimeLimit::History(time)) => format!(" of {} (--timeout)", span(time)),
                    Some(TimeLimit::Level(time)) => {
                        format!(" of {} a level (--timeout sets another)", span(time))
                    }
                };
                ("timeout", format!("the time limit{limit} was reached"))
            }
            Unknown::Limit(Limit::Memory) => {
                let limit = self.limits.memory;
                let limit = limit.map_or_else(String::new, |memory| format!(" of {}", bytes(memory as f64)));
                ("memory", format!("the memory limit{limit} (--memory) was reached"))
            }
            Unknown::Limit(Limit::Proof) => {
                let why = "the search found no order, but the proof has too many cases to be written down";
                ("proof", why.to_owned())
            }
        }
    }

    fn levels(&self, wanted: impl Fn(&Verdict) -> bool) -> Vec<Level> {
        let judgements = self.judged.iter().map(|judged| &judged.judgement);
        judgements.filter(|judgement| wanted(&judgement.verdict)).map(|judgement| judgement.level).collect()
    }
}

/// Why no level could be violated.
fn vacuous(history: &History) -> String {
    let committed = |txn: &Txn| history.outcome(*txn) == Outcome::Committed;
    let writes = |outcome: Outcome| {
        let txns = history.txns().filter(|&txn| history.outcome(txn) == outcome);
        txns.flat_map(|txn| history.ops_of(txn)).filter(|op| op.kind.is_write()).count() as u64
    };
    let mut ops = history.txns().filter(committed).flat_map(|txn| history.ops_of(txn)).peekable();
    if !history.txns().any(|txn| committed(&txn)) {
        return "no transaction committed".to_owned();
    }
    if ops.peek().is_none() {
        return "no committed transaction did anything".to_owned();
    }
    if !ops.any(|op| !op.kind.is_write() && op.value != Value::UNKNOWN) {
        return "no committed transaction read anything".to_owned();
    }
    let (aborted, unknown) = (writes(Outcome::Aborted), writes(Outcome::Unknown));
    let all = counted(aborted + unknown, "write");
    let written = match (aborted, unknown) {
        (0, 0) => "nothing was written".to_owned(),
        (1, 0) => "the only write failed".to_owned(),
        (_, 0) => format!("all {all} failed"),
        _ => format!("of {all}, {} failed and no other was seen to take effect", count(aborted)),
    };
    format!("{written}, and every read returned the initial value")
}

/// Whether two findings are of one kind. A stronger level may count more of a kind; that is not news.
fn same(one: &Finding, other: &Finding) -> bool {
    one.anomaly == other.anomaly && one.against == other.against && one.through == other.through
}

pub(crate) fn verdict_word(judgement: &Judgement) -> &'static str {
    match judgement.verdict {
        Verdict::Holds(_) => "holds",
        Verdict::Violated(_) => "violated",
        Verdict::Unknown(_) => "unknown",
    }
}

/// What Elle calls a finding, where it means the same. It marks the cycles that need session order or real time.
pub(crate) fn elle_name(finding: &Finding, through: Through) -> Option<String> {
    let order = match through {
        Through::Sessions if finding.anomaly.elle_has_variants() => ELLE_PROCESS,
        Through::RealTime if finding.anomaly.elle_has_variants() => ELLE_REALTIME,
        _ => "",
    };
    finding.anomaly.elle().map(|name| format!("{name}{order}"))
}

/// The pattern of the Plume paper that a finding answers to: of the two that the anomalies of order have, the
/// first is against the causal order and the second against the commit order.
pub(crate) fn pattern(finding: &Finding) -> Option<&'static str> {
    let mut patterns = finding.anomaly.aliases().iter().filter(|alias| alias.starts_with("TAP-"));
    patterns.nth(usize::from(finding.against == Some(Against::Commit))).copied()
}
