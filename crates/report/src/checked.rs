//! The result of a check, before a report is built from it.

use std::time::Duration;

use isoscope_certificate::{Against, Finding, Judgement, Limit, Through, Unknown, Verdict};
use isoscope_formats::{Format, Problem, Reading, SourceText};
use isoscope_history::notation::ValueText;
use isoscope_history::{Datum, History, Op, OpKind, Outcome, Txn, Value};
use isoscope_levels::{ELLE_PROCESS, ELLE_REALTIME, Level};

use crate::definitions::{self, JudgedDefinition};
use crate::model::{Trouble, Word};
use crate::words::{bytes, count, counted, span};

/// The limits of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The time limit.
    pub time: Option<TimeLimit>,
    /// The limit on the resident memory of the whole process, in bytes.
    pub memory: Option<u64>,
}

/// A time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLimit {
    /// For all levels of a history together.
    History(Duration),
    /// For each level.
    Level(Duration),
}

impl TimeLimit {
    /// The default: long enough for nearly all histories, short enough to wait for.
    pub const DEFAULT: TimeLimit = TimeLimit::Level(Duration::from_secs(60));

    /// The duration of the limit.
    pub fn duration(self) -> Duration {
        let (TimeLimit::History(time) | TimeLimit::Level(time)) = self;
        time
    }
}

/// The names of the limits in the calling program. Messages use them to say which setting to change.
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
    /// The level it worked on.
    pub level: Level,
    /// The name of the stage.
    pub name: &'static str,
    /// How long it took.
    pub seconds: f64,
    /// The figures it counted.
    pub figures: Vec<(&'static str, u64)>,
}

/// A level's verdict, how long it took, and whether the verifier confirmed it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The level and its verdict.
    pub judgement: Judgement,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The stages that decided it.
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

/// The size of an input as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// The number of sessions.
    pub sessions: usize,
    /// The number of operations.
    pub operations: usize,
}

impl Figures {
    /// The size of a history.
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
    /// The verdicts, in the order of the requested levels; weaker levels first if the user named none.
    pub judged: &'h [Judged],
    /// The definitions in the level language and what was decided.
    pub definitions: &'h [JudgedDefinition],
    /// Levels judged again without session order. Elle distinguishes the two forms.
    pub without_sessions: &'h [Judgement],
    /// Whether the user named the levels. If not, the report says which levels hold.
    pub named: bool,
    /// The limits of the check.
    pub limits: Limits,
    /// The names of the limits in the calling program.
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
            definitions: &[],
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
    /// The worst verdict. A verdict that should be certified and was not because of a limit counts as
    /// *unknown*.
    pub(crate) fn verdict(&self) -> Word {
        let verdicts = self.judged.iter().map(|judged| match judged.certified {
            Certified::Stopped(_) => Word::Unknown,
            Certified::No | Certified::Yes => Word::from(&judged.judgement.verdict),
        });
        let defined = self.definitions.iter().map(|one| definitions::verdict(self, one));
        let all: Vec<Word> = verdicts.chain(defined).collect();
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

    /// The strongest levels that hold.
    pub(crate) fn strongest_holding(&self) -> Vec<Level> {
        let holding = self.holding();
        let implied = |weak: &Level| holding.iter().any(|strong| strong != weak && strong.implies(*weak));
        holding.iter().copied().filter(|level| !implied(level)).collect()
    }

    /// The weakest levels that are violated.
    pub(crate) fn weakest_violated(&self) -> Vec<Level> {
        let violated = self.violated();
        let implying = |strong: &Level| violated.iter().any(|weak| strong != weak && strong.implies(*weak));
        violated.iter().copied().filter(|level| !implying(level)).collect()
    }

    /// The findings of the levels that were decided directly, weaker levels first. Each finding is listed
    /// once, at the weakest level that has it. A weakest violated level is listed even if none is left for it. Adya's repeatable read uses its own names for anomalies that
    /// weaker levels name more exactly, so it comes after them.
    pub(crate) fn findings(&self) -> Vec<(Level, Vec<usize>)> {
        let mut judgements: Vec<&Judgement> = self.judged.iter().map(|judged| &judged.judgement).collect();
        judgements.sort_by_key(|judgement| match judgement.level {
            Level::AdyaPl299 => (Level::Serializable, Level::AdyaPl299),
            level => (level, level),
        });
        let weakest = self.weakest_violated();
        let mut listed: Vec<&Finding> = Vec::new();
        let mut findings = Vec::new();
        for judgement in judgements {
            let Verdict::Violated(all) = &judgement.verdict else { continue };
            if self.repeats(judgement).is_some() {
                continue;
            }
            let is_new = |finding: &Finding| !listed.iter().any(|known| same(known, finding));
            let new: Vec<usize> = (0..all.len()).filter(|&i| is_new(&all[i])).collect();
            listed.extend(new.iter().map(|&i| &all[i]));
            if !new.is_empty() || weakest.contains(&judgement.level) {
                findings.push((judgement.level, new));
            }
        }
        findings
    }

    /// The same findings as one sequence.
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

    /// The findings of the levels judged without session order.
    pub(crate) fn findings_without_sessions(&self) -> impl Iterator<Item = &Finding> {
        self.without_sessions.iter().flat_map(|judgement| match &judgement.verdict {
            Verdict::Violated(findings) => findings.as_slice(),
            Verdict::Holds(_) | Verdict::Unknown(_) => &[],
        })
    }

    /// The weaker level of this report whose violation implies this verdict.
    pub(crate) fn repeats(&self, judgement: &Judgement) -> Option<Level> {
        let weaker = judgement.implied_by?;
        self.judged.iter().any(|judged| judged.judgement.level == weaker).then_some(weaker)
    }

    /// The reason why a level is unknown, as a kind and as a message.
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
            Unknown::Unsupported { operations, first } => {
                let are = if *operations == 1 { "is" } else { "are" };
                let operations = counted(*operations, "operation");
                let why = why_unsupported(self.history, *first);
                (Trouble::Unsupported, format!("{operations} {are} of an unsupported kind: {why}"))
            }
            Unknown::Refuted(why) => {
                (Trouble::Internal, format!("isoscope failed: its own verdict does not stand: {why}"))
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
            Unknown::Limit(Limit::Interrupt) => {
                (Trouble::Interrupted, "the check was interrupted".to_owned())
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

/// Says why there is nothing to check.
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
    let written = fate_of_writes(writes(Outcome::Aborted), writes(Outcome::Unknown));
    format!("{written}, and every read returned the initial value")
}

/// What became of all writes, none of which was seen to take effect.
fn fate_of_writes(aborted: u64, unknown: u64) -> String {
    let all = || counted(aborted + unknown, "write");
    match (aborted, unknown) {
        (0, 0) => "nothing was written".to_owned(),
        (1, 0) => "the only write failed".to_owned(),
        (_, 0) => format!("all {} failed", all()),
        (0, 1) => "the only write was not seen to take effect".to_owned(),
        (0, _) => format!("none of {} was seen to take effect", all()),
        (_, 1) => {
            format!("of {}, {} failed and the other was not seen to take effect", all(), count(aborted))
        }
        _ => format!("of {}, {} failed and no other was seen to take effect", all(), count(aborted)),
    }
}

/// Why an operation is not supported.
fn why_unsupported(history: &History, op: Op) -> String {
    let key = history.key_of(op);
    let name = ValueText(history, history.key_name(key));
    let is_list = |value: Value| matches!(history.datum(value), Datum::List(_));
    let (mut register, mut list, mut unlearned) = (false, false, false);
    for op in history.txns().flat_map(|txn| history.ops_of(txn)).filter(|op| op.key == key) {
        match op.kind {
            OpKind::Append | OpKind::ReadList => list = true,
            OpKind::RangeRead => {}
            OpKind::Read | OpKind::Write | OpKind::Insert | OpKind::Delete => register = true,
        }
        unlearned |= op.kind.is_write() && op.value == Value::UNKNOWN
            || op.kind == OpKind::ReadList && history.table().elements(op.value).contains(&Value::UNKNOWN);
    }
    match history.op(op).kind {
        OpKind::RangeRead => "a range read that was not expanded".to_owned(),
        _ if unlearned => format!("a value written to {name} was not learned"),
        _ if register && list => format!("{name} is used as a register and as a list"),
        OpKind::Read if is_list(history.op(op).value) => {
            format!("a read of the register {name} returned a list")
        }
        _ => format!("the list {name} holds lists, or a read of it returned something else"),
    }
}

/// Whether two findings are of the same kind. A stronger level may count more occurrences of a kind.
fn same(one: &Finding, other: &Finding) -> bool {
    one.anomaly == other.anomaly && one.against == other.against && one.through == other.through
}

/// What every occurrence of a finding needs besides reads and writes. Weak levels do not say it: they count cycles with and without
/// sessions together.
pub(crate) fn through(finding: &Finding) -> Through {
    let shown = finding.instances.iter().map(|instance| instance.evidence.orders()).min();
    finding.through.max(shown.unwrap_or_default())
}

/// Elle's name for a finding, if Elle has the same anomaly. The name states whether a cycle needs session
/// order or real-time order, and whether it is one of single keys.
pub(crate) fn elle_name(history: &History, finding: &Finding) -> Option<String> {
    let name = finding.anomaly.elle()?;
    if !finding.anomaly.elle_has_variants() {
        return Some(name.to_owned());
    }
    let in_range = |read: Op| history.op(read).in_range;
    let on_ranges = finding.instances.iter().any(|instance| instance.evidence.misses(&in_range));
    let name = name.strip_suffix("-item").filter(|_| on_ranges).unwrap_or(name);
    let order = match through(finding) {
        Through::Sessions => ELLE_PROCESS,
        Through::RealTime => ELLE_REALTIME,
        Through::Dependencies => "",
    };
    Some(format!("{name}{order}"))
}

/// The pattern of the Plume paper for a finding. Anomalies of order have two: the first is against the causal
/// order, the second against the commit order.
pub(crate) fn pattern(finding: &Finding) -> Option<&'static str> {
    let mut patterns = finding.anomaly.aliases().iter().filter(|alias| alias.starts_with("TAP-"));
    patterns.nth(usize::from(finding.against == Some(Against::Commit))).copied()
}
