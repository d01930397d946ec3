//! The result of a check, before a report is built from it.

use std::time::Duration;

use isoscope_certificate::{Against, Finding, Judgement, Limit, Through, Unknown, Verdict};
use isoscope_formats::{Format, Problem, Reading, SourceText};
use isoscope_history::{History, Outcome, Txn, Value};
use isoscope_levels::{ELLE_PROCESS, ELLE_REALTIME, Level};

use crate::model::{Trouble, Word};
use crate::words::{bytes, count, counted, span};

/// The limits of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// How long it may take.
    pub time: Option<TimeLimit>,
    /// Bytes resident in memory, of the whole process.
    pub memory: Option<u64>,
}

/// How long a check may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLimit {
    /// All levels of a history together.
    History(Duration),
    /// Each level by itself.
    Level(Duration),
}

impl TimeLimit {
    /// The default: long enough for nearly all histories, short enough to wait for.
    pub const DEFAULT: TimeLimit = TimeLimit::Level(Duration::from_secs(60));

    /// How long that is.
    pub fn duration(self) -> Duration {
        let (TimeLimit::History(time) | TimeLimit::Level(time)) = self;
        time
    }
}

/// What the program calls its limits, for messages that say which setting to change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The time limit, such as `--timeout`.
    pub time: Option<&'static str>,
    /// The memory limit.
    pub memory: Option<&'static str>,
}

/// A stage that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Staged {
    /// The level that it is of.
    pub level: Level,
    /// What was done.
    pub name: &'static str,
    /// How long it took.
    pub seconds: f64,
    /// What it counted.
    pub figures: Vec<(&'static str, u64)>,
}

/// A level's verdict, how long it took, and whether the verifier confirmed it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The level and its verdict.
    pub judgement: Judgement,
    /// How long it took.
    pub seconds: f64,
    /// What was done to decide it.
    pub stages: Vec<Staged>,
    /// Whether the verifier confirmed it.
    pub certified: Certified,
}

impl Judged {
    /// A judgement without figures.
    pub fn new(judgement: Judgement) -> Judged {
        Judged { judgement, seconds: 0.0, stages: Vec::new(), certified: Certified::No }
    }
}

/// Whether the verifier confirmed a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Certified {
    /// The verifier was not asked, or there is nothing to confirm.
    No,
    /// It confirmed the verdict.
    Yes,
    /// It reached a limit before it had an answer.
    Stopped(Limit),
}

/// How much a file holds, as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// How many sessions.
    pub sessions: usize,
    /// How many operations.
    pub operations: usize,
}

impl Figures {
    /// The figures of a history.
    pub fn of(history: &History) -> Figures {
        Figures { sessions: history.session_count(), operations: history.op_count() }
    }
}

/// The verdicts on one history, from which a [`Report`](crate::Report) is made.
#[derive(Clone)]
pub struct Checked<'h> {
    /// The file as the user named it.
    pub file: String,
    /// The history that was judged, with range reads as reads of single keys.
    pub history: &'h History,
    /// The text it was read from, if it was read.
    pub text: Option<&'h SourceText>,
    /// The format it was in.
    pub format: Option<Format>,
    /// Warnings about the input.
    pub warnings: &'h [Problem],
    /// How much the input holds.
    pub figures: Figures,
    /// In the order the levels were asked for; weaker ones first when none was named.
    pub judged: &'h [Judged],
    /// Levels judged once more without the order of sessions, for Elle, which distinguishes the two forms.
    pub without_sessions: &'h [Judgement],
    /// Whether the user named the levels. If not, the question is which levels hold.
    pub named: bool,
    /// What the check was allowed to use.
    pub limits: Limits,
    /// What the program calls its limits.
    pub settings: Settings,
    /// How long the check took, without reading and verifying.
    pub seconds: f64,
}

impl<'h> Checked<'h> {
    /// A history that was made in code, without verdicts so far.
    pub fn history(name: &str, history: &'h History) -> Checked<'h> {
        Checked {
            file: name.to_owned(),
            history,
            text: None,
            format: None,
            warnings: &[],
            figures: Figures::of(history),
            judged: &[],
            without_sessions: &[],
            named: true,
            limits: Limits::default(),
            settings: Settings::default(),
            seconds: 0.0,
        }
    }

    /// A history that was read, without verdicts so far.
    pub fn of(reading: &'h Reading) -> Checked<'h> {
        let files = reading.history.sources().files();
        let name = files.first().map_or("history", |file| file.name.as_ref());
        Checked {
            text: Some(&reading.text),
            format: Some(reading.format),
            warnings: &reading.warnings,
            ..Checked::history(name, &reading.history)
        }
    }
}

impl Checked<'_> {
    /// The worst verdict. One that was to be certified and was not, because of a limit, counts as *unknown*.
    pub(crate) fn verdict(&self) -> Word {
        let verdicts = self.judged.iter().map(|judged| match judged.certified {
            Certified::Stopped(_) => Word::Unknown,
            Certified::No | Certified::Yes => Word::from(&judged.judgement.verdict),
        });
        let all: Vec<Word> = verdicts.collect();
        let worst = [Word::Violated, Word::Unknown].into_iter().find(|word| all.contains(word));
        worst.unwrap_or(Word::Holds)
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
    pub(crate) fn findings(&self) -> Vec<(Level, Vec<usize>)> {
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
            let is_new = |finding: &Finding| !told.iter().any(|known| same(known, finding));
            let new: Vec<usize> = (0..all.len()).filter(|&i| is_new(&all[i])).collect();
            told.extend(new.iter().map(|&i| &all[i]));
            if !new.is_empty() {
                findings.push((judgement.level, new));
            }
        }
        findings
    }

    /// The same findings, one after the other.
    pub(crate) fn distinct(&self) -> impl Iterator<Item = &Finding> {
        self.findings().into_iter().flat_map(|(level, places)| {
            let judged = self.judged.iter().find(|judged| judged.judgement.level == level);
            let findings = match judged.map(|judged| &judged.judgement.verdict) {
                Some(Verdict::Violated(findings)) => findings.as_slice(),
                _ => &[],
            };
            places.into_iter().filter_map(|i| findings.get(i))
        })
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
    pub(crate) fn reason(&self, unknown: &Unknown) -> (Trouble, String) {
        let Settings { time: time_setting, memory: memory_setting } = self.settings;
        match unknown {
            Unknown::NothingToCheck => {
                (Trouble::NothingToCheck, format!("{}: nothing to check", vacuous(self.history)))
            }
            Unknown::Ambiguous { reads, .. } => {
                let have = if *reads == 1 { "has" } else { "have" };
                let reads = counted(*reads, "read");
                let why = "several possible writers, with too many combinations to try";
                (Trouble::Ambiguous, format!("{reads} {have} {why}"))
            }
            Unknown::Unsupported { operations, .. } => {
                let are = if *operations == 1 { "is" } else { "are" };
                let operations = counted(*operations, "operation");
                (Trouble::Unsupported, format!("{operations} {are} of an unsupported kind"))
            }
            Unknown::Limit(Limit::Time) => {
                let limit = match self.limits.time {
                    None => String::new(),
                    Some(TimeLimit::History(time)) => {
                        let setting = time_setting.map_or_else(String::new, |name| format!(" ({name})"));
                        format!(" of {}{setting}", span(time))
                    }
                    Some(TimeLimit::Level(time)) => {
                        let setting =
                            time_setting.map_or_else(String::new, |name| format!(" ({name} sets another)"));
                        format!(" of {} per level{setting}", span(time))
                    }
                };
                (Trouble::Timeout, format!("the time limit{limit} was reached"))
            }
            Unknown::Limit(Limit::Memory) => {
                let limit = self.limits.memory;
                let limit = limit.map_or_else(String::new, |memory| format!(" of {}", bytes(memory as f64)));
                let setting = memory_setting.map_or_else(String::new, |name| format!(" ({name})"));
                (Trouble::Memory, format!("the memory limit{limit}{setting} was reached"))
            }
            Unknown::Limit(Limit::Proof) => {
                let why = "the search found no order, but the proof has too many cases";
                (Trouble::Proof, why.to_owned())
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

/// Whether two findings are of the same kind. A stronger level may count more of a kind; it is still the same kind.
fn same(one: &Finding, other: &Finding) -> bool {
    one.anomaly == other.anomaly && one.against == other.against && one.through == other.through
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
