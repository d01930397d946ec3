//! The report as data.

use isoscope_certificate::{Against, Through};
use isoscope_formats::{Place, Problem};
use isoscope_history::{Datum, History, Op, Outcome};
use isoscope_levels::{Anomaly, Level};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::definitions::DefinitionResult;
use crate::elle::Elle;
use crate::problem::ProblemJson;

/// How much a report contains besides the verdicts. Each variant costs more time than the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Detail {
    /// Verdicts, anomalies and counts.
    Verdicts,
    /// Also the stories of occurrences and the places in the input they refer to.
    Stories,
    /// Also all evidence: operations, edges, choices, worlds, and the transactions involved.
    #[default]
    Evidence,
}

/// A verdict in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// The level holds.
    Holds,
    /// The level is violated.
    Violated,
    /// The level could not be decided.
    Unknown,
}

impl std::fmt::Display for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Word::Holds => "holds",
            Word::Violated => "violated",
            Word::Unknown => "unknown",
        })
    }
}

/// The verdicts on one history, with their evidence.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The file as the user named it, or another name for the history.
    pub file: String,
    /// The format of the input; `None` for a history made in code.
    pub format: Option<&'static str>,
    /// The number of sessions.
    pub sessions: usize,
    /// The number of transactions.
    pub transactions: usize,
    /// The number of operations; a range read counts as one.
    pub operations: usize,
    /// How long the check took in seconds, without reading and verifying.
    pub seconds: f64,
    /// The levels, in the order of the request.
    pub levels: Vec<LevelResult>,
    /// The definitions in the level language, in the order of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<DefinitionResult>,
    /// Warnings about the input.
    #[serde(serialize_with = "problems")]
    pub problems: Vec<Problem>,
    /// The worst verdict: violated, then unknown, then holds.
    pub verdict: Word,
    /// The number of committed transactions.
    pub committed: usize,
    /// The strongest levels that hold.
    pub strongest_holding: Vec<Level>,
    /// The weakest levels that are violated.
    pub weakest_violated: Vec<Level>,
    /// The transactions that occurrences name, once each, with [`Detail::Evidence`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub involved: Vec<Transaction>,
    /// Whether the user named the levels. If not, the report says which levels hold.
    #[serde(skip)]
    pub named: bool,
    /// The sections to show: each finding once, under the weakest level that it violates.
    #[serde(skip)]
    pub sections: Vec<Section>,
    /// The report in Elle's terms, if it was built by [`Report::with_elle`].
    #[serde(skip)]
    pub elle: Option<Elle>,
}

impl Report {
    /// The result of a level, if it was requested.
    pub fn level(&self, level: Level) -> Option<&LevelResult> {
        self.levels.iter().find(|result| result.level == level)
    }

    /// The verdict of a level; *unknown* if it was not requested.
    pub fn verdict_of(&self, level: Level) -> Word {
        self.level(level).map_or(Word::Unknown, |result| result.verdict)
    }

    /// Every kind of anomaly once, those that violate weak levels first.
    pub fn anomalies(&self) -> impl Iterator<Item = &Finding> {
        self.findings().flat_map(|(_, findings)| findings)
    }

    /// The findings of each level that no weaker level has.
    pub fn findings(&self) -> impl Iterator<Item = (Level, Vec<&Finding>)> {
        self.sections.iter().map(|section| {
            let all = self.level(section.level).map_or(&[][..], |result| &result.findings);
            (section.level, section.findings.iter().filter_map(|&i| all.get(i)).collect())
        })
    }

    /// The reason why there is nothing to check, if that is the case.
    pub fn nothing_to_check(&self) -> Option<&Reason> {
        let defined = self.definitions.iter().filter_map(|result| result.reason.as_ref());
        let mut reasons = self.levels.iter().filter_map(|result| result.reason.as_ref()).chain(defined);
        reasons.find(|reason| reason.kind == Trouble::NothingToCheck)
    }

    /// Whether the verifier refuted a verdict, which is a bug of isoscope.
    pub fn has_internal_error(&self) -> bool {
        let reasons = self.levels.iter().filter_map(|result| result.reason.as_ref());
        reasons.into_iter().any(|reason| reason.kind == Trouble::Internal)
    }

    /// The levels with this verdict, in the order of the request.
    pub fn levels_that(&self, verdict: Word) -> Vec<Level> {
        let results = self.levels.iter().filter(|result| result.verdict == verdict);
        results.map(|result| result.level).collect()
    }
}

/// A section of a report for people: a violated level, and the anomalies that violate it and no weaker level.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// The level.
    pub level: Level,
    /// The indices of the findings that no earlier section has.
    pub findings: Vec<usize>,
    /// Those of them with a story about transactions that no earlier section names.
    pub new: Vec<usize>,
    /// Whether no weaker level is violated.
    pub is_weakest: bool,
    /// Stronger levels that are violated, too.
    pub also_violated: Vec<Level>,
}

/// The result of one level.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct LevelResult {
    /// The level.
    pub level: Level,
    /// The verdict.
    pub verdict: Word,
    /// Whether the independent verifier confirmed the verdict.
    pub certified: bool,
    /// Why the verifier gave no answer, if it was asked and reached a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_certified: Option<Reason>,
    /// How long the level took, in seconds.
    pub seconds: f64,
    /// The weaker level whose violation implies this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub implied_by: Option<Level>,
    /// The stages that decided it.
    pub stages: Vec<Stage>,
    /// The anomalies. If the violation follows from a weaker level, that level has the occurrences.
    #[serde(rename = "anomalies")]
    pub findings: Vec<Finding>,
    /// Why the level is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The weaker level of this report whose violation implies this verdict.
    #[serde(skip)]
    pub repeats: Option<Level>,
}

impl std::fmt::Display for LevelResult {
    /// `serializable: violated (write-skew)`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.level, self.verdict)?;
        if let Some(reason) = &self.reason {
            return write!(f, " ({reason})");
        }
        let kinds: Vec<&str> = self.findings.iter().map(|finding| finding.anomaly.name()).collect();
        if kinds.is_empty() { Ok(()) } else { write!(f, " ({})", kinds.join(", ")) }
    }
}

/// A stage in deciding a level.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stage {
    /// The name of the stage.
    pub name: &'static str,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The weaker level that it decided, if that had to be decided first.
    pub level: Option<Level>,
    /// The figures it counted.
    pub figures: Vec<(&'static str, u64)>,
}

/// The kinds of reasons for *unknown*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Trouble {
    /// No read can be related to a write.
    NothingToCheck,
    /// Reads have several possible writers, in more combinations than are tried.
    Ambiguous,
    /// The engines do not support some operations.
    Unsupported,
    /// The time limit was reached.
    Timeout,
    /// The memory limit was reached.
    Memory,
    /// The check was interrupted.
    Interrupted,
    /// The proof is too long.
    Proof,
    /// The verifier refuted the verdict: an internal error.
    Internal,
}

impl Trouble {
    /// The name in machine-readable output.
    pub fn name(self) -> &'static str {
        match self {
            Trouble::NothingToCheck => "nothing-to-check",
            Trouble::Ambiguous => "ambiguous",
            Trouble::Unsupported => "unsupported",
            Trouble::Timeout => "timeout",
            Trouble::Memory => "memory",
            Trouble::Interrupted => "interrupted",
            Trouble::Proof => "proof",
            Trouble::Internal => "internal-error",
        }
    }
}

/// The reason why a level is unknown.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Reason {
    /// The kind, for programs.
    pub kind: Trouble,
    /// The message, for people.
    pub message: String,
    /// The limit that was reached, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Reached>,
    /// What had been decided when a limit was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided: Option<Decided>,
    /// The first operation concerned, with [`Detail::Stories`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Operation>,
    /// The place of that operation in the input.
    #[serde(skip)]
    pub mark: Option<Mark>,
    /// Its id, which distinguishes reasons with the same message.
    #[serde(skip)]
    pub(crate) op: Option<Op>,
}

impl Reason {
    /// A reason without an operation.
    pub(crate) fn new(kind: Trouble, message: String, limit: Option<Reached>) -> Reason {
        Reason { kind, message, limit, decided: None, first: None, mark: None, op: None }
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.message)
    }
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Reached {
    /// The time limit.
    Time {
        /// The limit in seconds.
        seconds: Option<f64>,
        /// Its scope: `history` or `level`.
        of: Option<&'static str>,
    },
    /// The memory limit.
    Memory {
        /// The limit in bytes.
        bytes: Option<u64>,
    },
    /// The check was interrupted.
    Interrupt,
    /// The limit on the cases of a proof.
    Proof,
}

/// The levels that were decided.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Decided {
    /// The levels that hold.
    pub holds: Vec<Level>,
    /// The levels that are violated.
    pub violated: Vec<Level>,
}

/// One kind of anomaly at one level.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The anomaly.
    #[serde(rename = "kind")]
    pub anomaly: Anomaly,
    /// The pattern of the Plume paper, if it has one.
    pub pattern: Option<&'static str>,
    /// The order it contradicts, for anomalies that exist in both forms.
    pub against: Option<Against>,
    /// What its cycles need besides reads and writes.
    pub through: Through,
    /// Elle's name, if Elle has the same anomaly.
    pub elle: Option<String>,
    /// The number of occurrences.
    pub count: u64,
    /// Whether there may be more.
    #[serde(rename = "count_is_lower_bound")]
    pub at_least: bool,
    /// The number of strongly connected components they lie in.
    pub components: u64,
    /// Some occurrences, the shortest first.
    #[serde(rename = "instances")]
    pub occurrences: Vec<Occurrence>,
}

impl std::fmt::Display for Finding {
    /// `write-skew, 3 times: T1 and T2 ...`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bound = if self.at_least { "at least " } else { "" };
        match self.count {
            1 => write!(f, "{}, {bound}once", self.anomaly)?,
            n => write!(f, "{}, {bound}{} times", self.anomaly, crate::words::count(n))?,
        }
        self.occurrences.first().map_or(Ok(()), |first| write!(f, ": {first}"))
    }
}

/// One occurrence of an anomaly.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Occurrence {
    /// What happened, in a sentence or two.
    #[serde(rename = "story")]
    pub headline: String,
    /// The strongly connected component that it lies in.
    pub component: Option<u32>,
    /// What it needs besides reads and writes.
    pub through: Through,
    /// The names of the transactions: those of the cycle in its order, then others.
    pub transactions: Vec<String>,
    /// The operations of the evidence, each once.
    pub operations: Vec<Operation>,
    /// The cycle; for a proof by cases, the main one.
    pub edges: Vec<Edge>,
    /// The rest of a proof by cases.
    #[serde(flatten)]
    pub proof: Option<Proof>,
    /// The number of worlds left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worlds_left_out: Option<usize>,
    /// The anomaly in each world, if lists or outcomes leave several worlds possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worlds: Option<Vec<World>>,
    /// The proof in words.
    pub clauses: Vec<Clause>,
    /// Whether the clauses only repeat the headline.
    #[serde(skip)]
    pub headline_suffices: bool,
    /// The places in the input to show.
    #[serde(skip)]
    pub marks: Vec<Mark>,
}

impl std::fmt::Display for Occurrence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.headline)
    }
}

/// A step of a proof in words.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Clause {
    /// The step: a sentence.
    pub text: String,
    /// 0 for a step of the proof. A greater depth explains the preceding step of smaller depth.
    pub depth: u8,
    /// The operations it mentions, as indices into [`Occurrence::operations`].
    pub operations: Vec<usize>,
}

/// A place in the input and its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The place.
    pub place: Place,
    /// A few words.
    pub label: String,
    /// Whether this is the operation that the message is about.
    pub main: bool,
}

/// What an operation did.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Action {
    /// `read`, `write`, `append` and so on.
    pub kind: &'static str,
    /// The key.
    pub key: Value,
    /// The value read or written; a range read has rows instead.
    pub value: Value,
    /// The bounds and result of a range read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
}

/// A range read.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Range {
    /// The least key.
    pub low: Value,
    /// The greatest key.
    pub high: Value,
    /// The keys found, with their values.
    pub rows: Vec<(Value, Value)>,
}

/// An operation and its place in the input.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Operation {
    /// The name of its transaction.
    pub transaction: String,
    /// The name of its session.
    pub session: Value,
    /// What it did.
    #[serde(flatten)]
    pub action: Action,
    /// The place in the input.
    #[serde(flatten, serialize_with = "place")]
    pub place: Option<Place>,
}

/// A transaction that an occurrence names.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Transaction {
    /// Its name in this report.
    pub name: String,
    /// The name of its session.
    pub session: Value,
    /// `committed`, `aborted` or `unknown`.
    pub outcome: &'static str,
    /// The index of its invocation in the input, or the input's name for the transaction.
    pub index: Value,
    /// The index of its completion, where the input has one.
    pub completion: Option<Value>,
    /// When it was invoked, in nanoseconds.
    pub start: Option<i64>,
    /// When it returned.
    pub end: Option<i64>,
    /// Its operations, in order.
    pub operations: Vec<Action>,
}

pub(crate) fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Committed => "committed",
        Outcome::Aborted => "aborted",
        Outcome::Unknown => "unknown",
    }
}

/// One transaction precedes another.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Edge {
    /// The name of the earlier transaction, or `initial`.
    pub from: String,
    /// The name of the later transaction.
    pub to: String,
    /// The literature's two letters: `so`, `rt`, `wr`, `ww` or `rw`.
    #[serde(rename = "type")]
    pub dependency: &'static str,
    /// The key of the dependency.
    pub key: Option<Value>,
    /// The reason.
    #[serde(flatten)]
    pub why: Why,
    /// The operations that prove it, as indices into [`Occurrence::operations`].
    pub operations: Vec<usize>,
    /// The reason in words.
    pub because: String,
}

/// The reason of an edge. Operations are indices into [`Occurrence::operations`].
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Why {
    /// Session order.
    Session,
    /// Real-time order.
    RealTime,
    /// Both write the key, in this order: an assumption of a proof by cases.
    Overwritten,
    /// The earlier transaction read a version that the later one overwrote.
    Misses {
        /// The read.
        read: Option<usize>,
    },
    /// The later transaction read from the earlier one.
    ReadFrom {
        /// The read.
        read: Option<usize>,
    },
    /// Two adjacent elements of a list that was read.
    Versions {
        /// The read.
        read: Option<usize>,
        /// The index of the later element in the list.
        index: u32,
    },
    /// A list that was read lacks an append.
    Missing {
        /// The read.
        read: Option<usize>,
        /// The append.
        append: Option<usize>,
    },
    /// A third transaction reads from the later one although it must have seen the earlier one.
    Forced {
        /// The read.
        read: Option<usize>,
        /// Why the reader must have seen it.
        seen: Seen,
    },
}

/// Why a reader must have seen a transaction.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Seen {
    /// The reader reads from it.
    Read {
        /// The read.
        read: Option<usize>,
    },
    /// It precedes the reader in the same session.
    Session,
    /// A path leads from it to the reader.
    Path {
        /// The path.
        path: Vec<Edge>,
    },
}

/// The choices of a proof by cases on the path to its main cycle.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Proof {
    /// The choices.
    pub choices: Vec<Split>,
    /// The number of cases of the proof.
    pub cases: u64,
    /// The number of cases left out.
    pub cases_left_out: u64,
}

/// A choice: the path to the main cycle assumes one alternative, and the others are refuted.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Split {
    /// `source` (which write a read returned) or `versions` (which of two writers was first).
    pub choice: &'static str,
    /// The alternative on the path to the main cycle.
    pub assumed: Alternative,
    /// The other alternatives.
    pub refuted: Vec<Refuted>,
}

/// An alternative of a choice.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Alternative {
    /// The assumption in words.
    pub assumption: String,
    /// The edge that it adds.
    pub edge: Option<Edge>,
}

/// An alternative, with its refutation.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Refuted {
    /// The alternative.
    #[serde(flatten)]
    pub alternative: Alternative,
    /// The choices on the path to the cycle.
    pub choices: Vec<Split>,
    /// The cycle.
    pub edges: Vec<Edge>,
}

/// One world: answers to the questions that the history leaves open, and the anomaly that follows.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct World {
    /// The answers.
    pub supposed: Vec<String>,
    /// The anomaly.
    pub kind: Anomaly,
    /// The headline.
    pub story: String,
    /// The cycle.
    pub edges: Vec<Edge>,
}

/// A value or a name.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// Nothing, or a value that the input does not have.
    Nil,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer above the largest `i64`.
    Nat(u64),
    /// A finite number.
    Float(f64),
    /// A text.
    Text(String),
    /// A keyword or a number that JSON does not have, in the notation.
    Notation(String),
    /// A list.
    List(Vec<Value>),
}

impl Value {
    /// A value of a history.
    pub fn of(history: &History, value: isoscope_history::Value) -> Value {
        match history.datum(value) {
            Datum::Nil | Datum::Unknown => Value::Nil,
            Datum::Bool(b) => Value::Bool(b),
            Datum::Int(n) => Value::Int(n),
            Datum::Nat(n) => Value::Nat(n),
            Datum::Float(x) if x.is_finite() => Value::Float(x),
            Datum::Float(_) | Datum::Keyword(_) => {
                Value::Notation(isoscope_history::notation::ValueText(history, value).to_string())
            }
            Datum::Text(text) => Value::Text(text.to_owned()),
            Datum::List(elements) => {
                Value::List(elements.iter().map(|&element| Value::of(history, element)).collect())
            }
        }
    }
}

/// As JSON if JSON has the value, otherwise as text in the notation.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Nil => serializer.serialize_none(),
            Value::Bool(b) => b.serialize(serializer),
            Value::Int(n) => n.serialize(serializer),
            Value::Nat(n) => n.serialize(serializer),
            Value::Float(x) => x.serialize(serializer),
            Value::Text(text) | Value::Notation(text) => text.serialize(serializer),
            Value::List(elements) => elements.serialize(serializer),
        }
    }
}

#[allow(clippy::ref_option, reason = "the signature that serde asks for")]
fn place<S: Serializer>(place: &Option<Place>, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    if let Some(place) = place {
        map.serialize_entry("file", &place.file)?;
        if place.binary {
            map.serialize_entry("offset", &place.offset)?;
        } else {
            map.serialize_entry("line", &place.line)?;
            map.serialize_entry("column", &place.column)?;
        }
    }
    map.end()
}

/// The figures become fields next to the others, each under its name.
impl Serialize for Stage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("stage", self.name)?;
        map.serialize_entry("seconds", &self.seconds)?;
        if let Some(level) = &self.level {
            map.serialize_entry("level", level)?;
        }
        for (name, figure) in &self.figures {
            map.serialize_entry(name, figure)?;
        }
        map.end()
    }
}

fn problems<S: Serializer>(problems: &[Problem], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(ProblemJson::list(problems))
}
