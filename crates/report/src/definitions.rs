//! The verdicts of definitions in the level language: from rulings to the model.
//!
//! A definition with the same text as a level of the catalogue has the verdict of that level, whose result has the evidence. Any
//! other definition has a witness, or a small part of the history that it forbids.

use isoscope_certificate::Limit;
use isoscope_explain::Teller;
use isoscope_history::{Op, OpKind, Txn};
use isoscope_levels::language::Definition;
use isoscope_levels::{Anomaly, Framework, Level};
use isoscope_synth::{Core, LARGEST, MOST_WORLDS, Ruling, Shown, Unsupported, Why};

use crate::checked::Checked;
use crate::evidence::Writer;
use crate::model::{Mark, Operation, Reached, Reason, Trouble, Word};
use crate::snippet;
use crate::words::{count, counted};

/// A definition and what was decided.
#[derive(Clone, Debug)]
pub struct JudgedDefinition {
    /// The definition.
    pub definition: Definition,
    /// What was decided.
    pub answer: DefinitionAnswer,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// How a definition was decided.
#[derive(Clone, Debug)]
pub enum DefinitionAnswer {
    /// It has the same text as a shipped definition of this level, which was checked. The full name of that definition.
    Same(Level, String),
    /// By a search for a witness. The limit that stopped it, if one did.
    Ruling(Ruling, Option<Limit>),
}

/// The result of a definition in the level language.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct DefinitionResult {
    /// The name with its framework, such as `mine@commit-order`.
    pub name: String,
    /// The verdict.
    pub verdict: Word,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The level of the catalogue with the same text, whose result has the evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<SameText>,
    /// What shows that it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<WitnessResult>,
    /// A small part of the history that it forbids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<CoreResult>,
    /// Reads that no definition allows, or that a level forbids which the definition extends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wrong_reads: Vec<WrongReadResult>,
    /// The level of the catalogue that forbids these reads, if some definitions allow them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extends: Option<Level>,
    /// Why it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The places in the input to show.
    #[serde(skip)]
    pub marks: Vec<Mark>,
}

impl DefinitionResult {
    /// Why its wrong reads violate it.
    pub(crate) fn wrong_words(&self) -> String {
        match self.extends {
            Some(level) => format!("it extends {level}, which forbids these reads"),
            None => "no definition allows these reads".to_owned(),
        }
    }
}

/// A level of the catalogue with the same text.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SameText {
    /// The level.
    pub level: Level,
    /// The shipped definition.
    pub definition: String,
}

impl SameText {
    /// What the definition of a name has in common with the level: it may be the shipped definition itself.
    pub(crate) fn words(&self, name: &str) -> String {
        let SameText { level, definition } = self;
        if definition == name {
            format!("checked as {level}")
        } else {
            format!("says the same as {definition}, checked as {level}")
        }
    }
}

/// The witness of a definition that holds.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct WitnessResult {
    /// All transactions in the order of the witness; empty for dependency graphs.
    pub order: Vec<String>,
    /// Pairs of which the second transaction sees the first.
    pub visible: Vec<(String, String)>,
    /// For dependency graphs: keys that are written more than once, and their writers in the order of the versions.
    pub versions: Vec<(String, Vec<String>)>,
    /// The transactions of unknown outcome that did not take effect.
    pub absent: Vec<String>,
    #[serde(skip)]
    framework: Option<Framework>,
}

/// A small part of a history that a definition forbids.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct CoreResult {
    /// The transactions.
    pub transactions: Vec<String>,
    /// Their operations that matter, transaction by transaction.
    pub operations: Vec<Operation>,
    /// The axioms that no witness satisfies together; empty if the conditions on every witness of the framework suffice.
    pub axioms: Vec<AxiomText>,
    /// Whether every axiom, and every operation that can be left out, was found to be needed.
    pub minimal: bool,
    /// Whether transactions could be left out. If not, these are all: the axioms ask for something that is there.
    pub part: bool,
    /// In how many ways unknown outcomes and the writers of reads can be settled. The core is about the first.
    pub worlds: usize,
    /// Each transaction with its operations, for people.
    #[serde(skip)]
    pub lines: Vec<String>,
    /// What there is none of, for people: `commit order`.
    #[serde(skip)]
    pub witness: &'static str,
}

/// An axiom of a definition.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct AxiomText {
    /// The name; may be empty.
    pub name: String,
    /// The text.
    pub text: String,
}

/// A read that no definition allows.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct WrongReadResult {
    /// What is wrong with it.
    pub anomaly: Anomaly,
    /// The read.
    pub operation: Operation,
    /// The read in words.
    #[serde(skip)]
    pub label: String,
}

/// `mine@commit-order`
pub fn full_name(definition: &Definition) -> String {
    format!("{}@{}", definition.name, definition.framework.keyword())
}

/// The results of all definitions.
pub(crate) fn results(checked: &Checked<'_>) -> Vec<DefinitionResult> {
    if checked.definitions.is_empty() {
        return Vec::new();
    }
    let teller = Teller::new(checked.history);
    let ops: Vec<Op> = checked.definitions.iter().flat_map(|one| operations(checked, one)).collect();
    let places = snippet::places(checked, ops.into_iter());
    let writer = Writer { history: checked.history, teller: &teller, places: &places };
    checked.definitions.iter().map(|one| result(checked, one, &writer)).collect()
}

/// The verdict of a definition.
pub(crate) fn verdict(checked: &Checked<'_>, one: &JudgedDefinition) -> Word {
    match &one.answer {
        DefinitionAnswer::Same(level, _) => checked
            .judged
            .iter()
            .find(|judged| judged.judgement.level == *level)
            .map_or(Word::Unknown, |judged| Word::from(&judged.judgement.verdict)),
        DefinitionAnswer::Ruling(Ruling::Allowed(_), _) => Word::Holds,
        DefinitionAnswer::Ruling(
            Ruling::WrongReads(_) | Ruling::TwoVersions { .. } | Ruling::Forbidden(_),
            _,
        ) => Word::Violated,
        DefinitionAnswer::Ruling(Ruling::Unknown(_), _) => Word::Unknown,
    }
}

/// The operations that a result shows.
fn operations(checked: &Checked<'_>, one: &JudgedDefinition) -> Vec<Op> {
    match &one.answer {
        DefinitionAnswer::Ruling(Ruling::WrongReads(wrong), _) => {
            wrong.iter().map(|wrong| wrong.read).collect()
        }
        DefinitionAnswer::Ruling(Ruling::TwoVersions { reads, .. }, _) => reads.to_vec(),
        DefinitionAnswer::Ruling(Ruling::Forbidden(core), _) => core_operations(checked, core).concat(),
        _ => Vec::new(),
    }
}

/// The operations of a core, by transaction.
fn core_operations(checked: &Checked<'_>, core: &Core) -> Vec<Vec<Op>> {
    let history = checked.history;
    let of = |one: &isoscope_synth::CoreTxn| -> Vec<Op> {
        let ops: Vec<_> = history.ops_of(one.txn).collect();
        let read = |key| ops.iter().find(|op| op.kind == OpKind::Read && op.external && op.key == key);
        let write = |key| ops.iter().find(|op| op.kind == OpKind::Write && op.last_write && op.key == key);
        let mut found: Vec<Op> = one.reads.iter().filter_map(|&(key, _)| Some(read(key)?.id)).collect();
        found.extend(one.writes.iter().filter_map(|&key| Some(write(key)?.id)));
        found.sort_unstable();
        found
    };
    core.txns.iter().map(of).collect()
}

fn result(checked: &Checked<'_>, one: &JudgedDefinition, writer: &Writer<'_>) -> DefinitionResult {
    let mut result = DefinitionResult {
        name: full_name(&one.definition),
        verdict: verdict(checked, one),
        seconds: one.seconds,
        same_as: None,
        witness: None,
        core: None,
        wrong_reads: Vec::new(),
        extends: None,
        reason: None,
        marks: Vec::new(),
    };
    let teller = writer.teller;
    let mark = |op: Op, main: bool| {
        let place = writer.places.get(&op)?.clone();
        Some(Mark { place, label: teller.label(op), main })
    };
    match &one.answer {
        DefinitionAnswer::Same(level, definition) => {
            result.same_as = Some(SameText { level: *level, definition: definition.clone() });
        }
        DefinitionAnswer::Ruling(Ruling::Allowed(shown), _) => result.witness = Some(witness(shown, writer)),
        DefinitionAnswer::Ruling(Ruling::WrongReads(wrong), _) => {
            let of = |wrong: &isoscope_synth::WrongRead| WrongReadResult {
                anomaly: wrong.anomaly,
                operation: writer.operation(wrong.read),
                label: teller.label(wrong.read),
            };
            result.wrong_reads = wrong.iter().map(of).collect();
            result.marks = wrong.iter().filter_map(|wrong| mark(wrong.read, true)).collect();
        }
        DefinitionAnswer::Ruling(Ruling::TwoVersions { reads, level }, _) => {
            let of = |&read: &Op| WrongReadResult {
                anomaly: Anomaly::NonRepeatableRead,
                operation: writer.operation(read),
                label: teller.label(read),
            };
            result.wrong_reads = reads.iter().map(of).collect();
            result.extends = Some(*level);
            result.marks = reads.iter().filter_map(|&read| mark(read, true)).collect();
        }
        DefinitionAnswer::Ruling(Ruling::Forbidden(core), _) => {
            let ops = core_operations(checked, core);
            if core.is_part {
                result.marks = ops.iter().flatten().filter_map(|&op| mark(op, false)).collect();
            }
            result.core = Some(core_result(&one.definition, core, &ops, writer));
        }
        DefinitionAnswer::Ruling(Ruling::Unknown(why), limit) => {
            result.reason = Some(reason(checked, why, *limit, teller));
        }
    }
    result
}

fn witness(shown: &Shown, writer: &Writer<'_>) -> WitnessResult {
    let name = |txn: &Txn| writer.teller.full_txn(*txn);
    WitnessResult {
        order: shown.order.iter().map(name).collect(),
        visible: shown.visible.iter().map(|(from, to)| (name(from), name(to))).collect(),
        versions: shown
            .versions
            .iter()
            .map(|(key, writers)| (writer.teller.key(*key), writers.iter().map(name).collect()))
            .collect(),
        absent: shown.absent.iter().map(name).collect(),
        framework: Some(shown.framework),
    }
}

fn core_result(definition: &Definition, core: &Core, ops: &[Vec<Op>], writer: &Writer<'_>) -> CoreResult {
    let names = core.txns.iter().map(|one| writer.teller.full_txn(one.txn));
    let session = |txn: Txn| writer.history.session_of(txn);
    let lines = core.txns.iter().zip(ops).zip(0..).map(|((one, ops), place)| {
        let did: Vec<String> = ops.iter().map(|&op| writer.teller.act(op)).collect();
        let did = if did.is_empty() { "does nothing that matters".to_owned() } else { did.join(", ") };
        let name = writer.teller.txn(one.txn);
        match core.txns[..place].iter().rev().find(|other| session(other.txn) == session(one.txn)) {
            Some(before) => format!("{name}, after {} in its session: {did}", writer.teller.txn(before.txn)),
            None => format!("{name}: {did}"),
        }
    });
    let axiom = |&place: &usize| AxiomText {
        name: definition.axioms[place].name.clone(),
        text: definition.axioms[place].text.clone(),
    };
    CoreResult {
        transactions: names.collect(),
        operations: ops.iter().flatten().map(|&op| writer.operation(op)).collect(),
        axioms: core.axioms.iter().map(axiom).collect(),
        minimal: core.is_minimal,
        part: core.is_part,
        worlds: core.worlds,
        lines: lines.collect(),
        witness: match definition.framework {
            Framework::CommitOrder => "commit order",
            Framework::Visibility => "visibility and arbitration order",
            Framework::Dependencies => "order of versions",
            Framework::States | Framework::Transaction => "order of execution",
        },
    }
}

/// Why a definition is unknown.
fn reason(checked: &Checked<'_>, why: &Why, limit: Option<Limit>, teller: &Teller<'_>) -> Reason {
    let (kind, message) = match (why, limit) {
        (Why::Unsupported(Unsupported::Large { what, count: found }), _) => {
            let found = count(*found as u64);
            let message =
                format!("the history has {found} {what}; this definition is checked on at most {LARGEST}");
            (Trouble::Unsupported, message)
        }
        (Why::Unsupported(Unsupported::Txn { txn, why }), _) => {
            (Trouble::Unsupported, format!("{} {why}", teller.txn(*txn)))
        }
        (Why::NoTimes, _) => {
            (Trouble::Unsupported, "the definition uses rt, and the history has no times".to_owned())
        }
        (Why::Worlds, _) => {
            let most = count(MOST_WORLDS as u64);
            let message = format!(
                "unknown outcomes and values that are written twice leave more than {most} possible histories"
            );
            (Trouble::Ambiguous, message)
        }
        (Why::Memory, _) => {
            let message = "the search for a witness needs too many formulas for this history and definition";
            (Trouble::Memory, message.to_owned())
        }
        (Why::NothingToCheck, _) => checked.reason(&isoscope_certificate::Unknown::NothingToCheck),
        (Why::Stopped, limit) => {
            checked.reason(&isoscope_certificate::Unknown::Limit(limit.unwrap_or(Limit::Time)))
        }
    };
    let limit = match (why, limit) {
        (Why::Stopped, Some(Limit::Memory)) => Some(Reached::Memory { bytes: checked.limits.memory }),
        (Why::Stopped, Some(Limit::Interrupt)) => Some(Reached::Interrupt),
        (Why::Stopped, _) => Some(Reached::Time {
            seconds: checked.limits.time.map(|time| time.duration().as_secs_f64()),
            of: None,
        }),
        _ => None,
    };
    Reason::new(kind, message, limit)
}

/// The most transactions of an order, and pairs of visibility, in a text.
const MOST_SHOWN: usize = 12;

impl WitnessResult {
    /// The witness in a line.
    pub fn words(&self) -> String {
        let some = |items: Vec<String>, sign: &str| {
            let more = items.len().saturating_sub(MOST_SHOWN);
            let text = items.into_iter().take(MOST_SHOWN).collect::<Vec<_>>().join(sign);
            if more == 0 { text } else { format!("{text}{sign}.. ({} more)", count(more as u64)) }
        };
        let mut parts = Vec::new();
        if !self.order.is_empty() {
            parts.push(some(self.order.clone(), " < "));
        }
        if self.framework == Some(Framework::Visibility) {
            let seen: Vec<String> =
                self.visible.iter().map(|(from, to)| format!("{to} sees {from}")).collect();
            parts.push(if seen.is_empty() {
                "no transaction sees another".to_owned()
            } else {
                some(seen, ", ")
            });
        }
        let versions: Vec<String> = self
            .versions
            .iter()
            .map(|(key, writers)| format!("{key}: {}", some(writers.clone(), " < ")))
            .collect();
        if !versions.is_empty() {
            parts.push(some(versions, "; "));
        }
        if parts.is_empty() {
            parts.push("no key is written twice".to_owned());
        }
        if !self.absent.is_empty() {
            parts.push(format!("without {}", some(self.absent.clone(), ", ")));
        }
        parts.join("; ")
    }
}

impl CoreResult {
    /// What the core shows, in a sentence without its end.
    pub fn words(&self) -> String {
        let (unnamed, named): (Vec<&AxiomText>, Vec<&AxiomText>) =
            self.axioms.iter().partition(|axiom| axiom.name.is_empty());
        let names = named.iter().map(|axiom| axiom.name.as_str()).collect::<Vec<_>>().join(" and ");
        let axioms = match (unnamed.len(), named.len()) {
            (0, 0) => "what its framework requires".to_owned(),
            (1, 0) => "its axiom".to_owned(),
            (n, 0) => format!("{n} axioms together"),
            (0, 1) => format!("axiom {names}"),
            (0, _) => format!("axioms {names}"),
            (1, _) => format!("{names} and an axiom without a name"),
            (n, _) => format!("{names} and {n} axioms without a name"),
        };
        let ways = match self.worlds {
            1 => String::new(),
            n => format!("; the same holds for all {n} ways to settle what the history leaves open"),
        };
        let txns = match self.transactions.len() {
            1 => "this transaction".to_owned(),
            n => format!("these {}", counted(n as u64, "transaction")),
        };
        format!("no {} of {txns} satisfies {axioms}{ways}", self.witness)
    }
}
