//! Findings as data: operations with their positions in the input, edges with their reasons, choices and
//! worlds.
//!
//! A level whose verdict follows from a weaker one names and counts its anomalies; the weaker level has the
//! occurrences. An occurrence lists its operations once, and its edges refer to them by index. The edges of a
//! proof by cases are its main cycle. The proof also lists the choices on the path to that cycle, each with
//! the refuted alternatives and their proofs. Only proofs with very many cases are shortened; the report
//! counts the cases left out.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use isoscope_certificate as certificate;
use isoscope_certificate::{Choice, Evidence, Instance, Node};
use isoscope_explain::{Outline, Passed, Story, Teller};
use isoscope_formats::Place;
use isoscope_history::{History, Key, NO_TIME, Op, OpKind, OpView, Txn};

use crate::checked::{elle_name, pattern, through};
use crate::model::{
    Action, Alternative, Clause, Edge, Finding, Mark, Occurrence, Operation, Proof, Range, Refuted, Seen,
    Split, Transaction, Value, Why, World, outcome_word,
};

/// The most choices and refuted alternatives of a proof in the report. A proof may have 200,000 cases, which would take
/// hundreds of megabytes; the verifier checks all of them.
const MOST_STEPS: usize = 1_000;

/// A proof by cases while it is written.
struct Written<'a> {
    outline: &'a Outline<'a>,
    places: &'a BTreeMap<Op, usize>,
    /// How many more steps may be written.
    room: Cell<usize>,
    /// How many cases are left out.
    left_out: Cell<u64>,
}

impl Written<'_> {
    /// Whether there is room for one more step. Uses up the room.
    fn has_room(&self) -> bool {
        let room = self.room.get();
        self.room.set(room.saturating_sub(1));
        room > 0
    }

    fn leave_out(&self, node: usize) {
        self.left_out.set(self.left_out.get() + self.outline.cases(node));
    }
}

/// Converts findings to data.
pub(crate) struct Writer<'a> {
    pub(crate) history: &'a History,
    pub(crate) teller: &'a Teller<'a>,
    pub(crate) places: &'a BTreeMap<Op, Place>,
}

/// A finding without its occurrences.
pub(crate) fn head(history: &History, finding: &certificate::Finding) -> Finding {
    Finding {
        anomaly: finding.anomaly,
        pattern: pattern(finding),
        against: finding.against,
        through: through(finding),
        elle: elle_name(history, finding),
        count: finding.count,
        at_least: finding.at_least,
        components: finding.components,
        occurrences: Vec::new(),
    }
}

impl Writer<'_> {
    /// An occurrence with its story.
    pub(crate) fn occurrence(&self, instance: &Instance, story: &Story) -> Occurrence {
        let mark = |pointer: isoscope_explain::Pointer| {
            let place = self.places.get(&pointer.op)?.clone();
            Some(Mark { place, label: pointer.label, main: story.focus == Some(pointer.op) })
        };
        let clause = |clause: &isoscope_explain::Clause| Clause {
            text: clause.text.clone(),
            depth: clause.depth,
            operations: Vec::new(),
        };
        Occurrence {
            headline: story.headline.clone(),
            component: instance.component,
            through: instance.evidence.orders(),
            transactions: Vec::new(),
            operations: Vec::new(),
            edges: Vec::new(),
            proof: None,
            worlds_left_out: None,
            worlds: None,
            clauses: story.clauses.iter().map(clause).collect(),
            headline_suffices: headline_suffices(&instance.evidence),
            marks: self.teller.pointers(story).into_iter().filter_map(mark).collect(),
        }
    }

    /// Adds the evidence, given its operations. Returns the transactions of the occurrence.
    pub(crate) fn add_evidence(
        &self,
        out: &mut Occurrence,
        instance: &Instance,
        story: &Story,
        ops: &[Op],
    ) -> Vec<Txn> {
        let edges = cycle(&instance.evidence);
        let txns = transactions(self.history, edges, ops);
        let places: BTreeMap<Op, usize> = ops.iter().enumerate().map(|(place, &op)| (op, place)).collect();
        out.transactions = txns.iter().map(|&txn| self.teller.full_txn(txn)).collect();
        out.operations = ops.iter().map(|&op| self.operation(op)).collect();
        out.edges = self.edges(edges, &places);
        for (out, clause) in out.clauses.iter_mut().zip(&story.clauses) {
            out.operations = clause.ops.iter().filter_map(|op| places.get(op).copied()).collect();
        }
        if let Evidence::Cases(proof) = instance.evidence.main() {
            let (room, left_out) = (Cell::new(MOST_STEPS), Cell::new(0));
            let proof = Written { outline: &Outline::new(proof), places: &places, room, left_out };
            let choices = self.choices(&proof, 0).0;
            let (cases, cases_left_out) = (proof.outline.cases(0), proof.left_out.get());
            out.proof = Some(Proof { choices, cases, cases_left_out });
        }
        if let Evidence::Worlds(worlds) = &instance.evidence {
            let left_out = self.teller.worlds(worlds).count().saturating_sub(MOST_STEPS);
            out.worlds_left_out = (left_out > 0).then_some(left_out);
            let worlds =
                self.teller.worlds(worlds).take(MOST_STEPS).map(|(supposed, finding, instance)| World {
                    supposed,
                    kind: finding.anomaly,
                    story: self.teller.story(finding.anomaly, instance).headline,
                    edges: self.edges(cycle(&instance.evidence), &places),
                });
            out.worlds = Some(worlds.collect());
        }
        txns
    }

    /// A transaction with all its operations.
    pub(crate) fn transaction(&self, txn: Txn) -> Transaction {
        let history = self.history;
        let value = |value| Value::of(history, value);
        let time = |times: &[i64]| Some(times[txn.index()]).filter(|&time| time != NO_TIME);
        Transaction {
            name: self.teller.full_txn(txn),
            session: value(history.session_name(history.session_of(txn))),
            outcome: outcome_word(history.outcome(txn)),
            index: value(history.txn_name(txn)),
            completion: history.completion_name(txn).map(value),
            start: history.times().and_then(|times| time(&times.start)),
            end: history.times().and_then(|times| time(&times.end)),
            operations: history.ops_of(txn).map(|op| self.action(op)).collect(),
        }
    }

    fn edges(&self, edges: &[certificate::Edge], places: &BTreeMap<Op, usize>) -> Vec<Edge> {
        edges.iter().map(|edge| self.edge(edge, places)).collect()
    }

    /// The choices along a line of a proof, and the cycle at its end. The nesting depth of lines is
    /// logarithmic in the number of cases.
    fn choices(&self, proof: &Written<'_>, from: usize) -> (Vec<Split>, Vec<Edge>) {
        let line = proof.outline.line(from);
        let mut choices = Vec::new();
        for passed in &line.splits {
            if proof.has_room() {
                choices.push(self.choice(proof, passed));
            } else {
                passed.others.iter().for_each(|&(_, node)| proof.leave_out(node));
            }
        }
        (choices, self.edges(line.cycle, proof.places))
    }

    fn choice(&self, proof: &Written<'_>, passed: &Passed<'_>) -> Split {
        let mut refuted = Vec::new();
        for &(alternative, node) in &passed.others {
            if !proof.has_room() {
                proof.leave_out(node);
                continue;
            }
            let (choices, edges) = self.choices(proof, node);
            let alternative = self.alternative(passed.choice, alternative, proof.places);
            refuted.push(Refuted { alternative, choices, edges });
        }
        let choice = match passed.choice {
            Choice::Source { .. } => "source",
            Choice::Versions { .. } => "versions",
        };
        Split { choice, assumed: self.alternative(passed.choice, passed.taken, proof.places), refuted }
    }

    fn alternative(&self, choice: &Choice, alternative: usize, places: &BTreeMap<Op, usize>) -> Alternative {
        let edge = self.teller.assumed(choice, alternative);
        Alternative {
            assumption: self.teller.alternative(choice, alternative),
            edge: edge.map(|edge| self.edge(&edge, places)),
        }
    }

    pub(crate) fn operation(&self, op: Op) -> Operation {
        let txn = self.history.txn_of(op);
        Operation {
            transaction: self.teller.full_txn(txn),
            session: Value::of(self.history, self.history.session_name(self.history.session_of(txn))),
            action: self.action(self.history.op(op)),
            place: self.places.get(&op).cloned(),
        }
    }

    fn action(&self, op: OpView) -> Action {
        let value = |value| Value::of(self.history, value);
        let range = self.history.range(op.id).map(|row| Range {
            low: value(row.low),
            high: value(row.high),
            rows: row.live.iter().map(|&(key, found)| (value(key), value(found))).collect(),
        });
        // A range read returns rows, and the model keeps no single value for it.
        let returned = if op.kind == OpKind::RangeRead { Value::Nil } else { value(op.value) };
        Action { kind: op.kind.name(), key: value(self.history.key_name(op.key)), value: returned, range }
    }

    fn edge(&self, edge: &certificate::Edge, places: &BTreeMap<Op, usize>) -> Edge {
        use certificate::{Seen as Known, Why as Reason};
        let at = |op: &Op| places.get(op).copied();
        let (dependency, key) = self.dependency(edge);
        let why = match &edge.why {
            Reason::Session => Why::Session,
            Reason::RealTime => Why::RealTime,
            Reason::Overwritten { .. } => Why::Overwritten,
            Reason::Misses { read } => Why::Misses { read: at(read) },
            Reason::ReadFrom { read } => Why::ReadFrom { read: at(read) },
            Reason::Versions { read, index } => Why::Versions { read: at(read), index: *index },
            Reason::Missing { read, append } => Why::Missing { read: at(read), append: at(append) },
            Reason::Forced { read, seen } => {
                let seen = match seen {
                    Known::Read(op) => Seen::Read { read: at(op) },
                    Known::Session => Seen::Session,
                    Known::Causal(path) => Seen::Path { path: self.edges(path, places) },
                };
                Why::Forced { read: at(read), seen }
            }
        };
        let step = self.teller.step(edge);
        Edge {
            from: self.node(edge.from),
            to: self.node(edge.to),
            dependency,
            key: key.map(|key| Value::of(self.history, self.history.key_name(key))),
            why,
            operations: step.ops.iter().filter_map(at).collect(),
            because: step.text,
        }
    }

    /// The dependency kind of an edge in the literature's two letters, and its key.
    fn dependency(&self, edge: &certificate::Edge) -> (&'static str, Option<Key>) {
        use certificate::Why;
        let key = |read: &Op| Some(self.history.key_of(*read));
        match &edge.why {
            Why::Session => ("so", None),
            Why::RealTime => ("rt", None),
            Why::ReadFrom { read } => ("wr", key(read)),
            Why::Overwritten { key } => ("ww", Some(*key)),
            Why::Versions { read, .. } | Why::Missing { read, .. } | Why::Forced { read, .. } => {
                ("ww", key(read))
            }
            Why::Misses { read } => ("rw", key(read)),
        }
    }

    fn node(&self, node: Node) -> String {
        match node {
            Node::Initial => "initial".to_owned(),
            Node::Txn(txn) => self.teller.full_txn(txn),
        }
    }
}

/// The transactions of an occurrence: those of the cycle in its order, then those of other operations.
fn transactions(history: &History, edges: &[certificate::Edge], ops: &[Op]) -> Vec<Txn> {
    let nodes = edges.iter().filter_map(|edge| match edge.from {
        Node::Initial => None,
        Node::Txn(txn) => Some(txn),
    });
    let mut met = BTreeSet::new();
    nodes.chain(ops.iter().map(|&op| history.txn_of(op))).filter(|&txn| met.insert(txn)).collect()
}

/// The cycle of an occurrence: the main one for a proof by cases or for several worlds.
pub(crate) fn cycle(evidence: &Evidence) -> &[certificate::Edge] {
    match evidence.main() {
        Evidence::Cycle(edges) => edges,
        Evidence::Cases(proof) => proof.main_cycle(),
        Evidence::Read { .. } | Evidence::Pair { .. } | Evidence::Worlds(_) => &[],
    }
}

/// Whether the clauses of a story only repeat its headline. This is so for evidence that is not a cycle, and
/// for cycles of two edges in which the initial version was read, two transactions missed each other, or one
/// missed a transaction that it had seen.
fn headline_suffices(evidence: &Evidence) -> bool {
    use certificate::{Dependency, Edge, Seen, Why};
    let edges = match evidence {
        Evidence::Cycle(edges) => edges,
        Evidence::Cases(_) | Evidence::Worlds(_) => return false,
        Evidence::Read { .. } | Evidence::Pair { .. } => return true,
    };
    let direct = |edge: &Edge| matches!(&edge.why, Why::Forced { seen: Seen::Read(_) | Seen::Session, .. });
    let fact = |edge: &Edge| edge.dependency() == Dependency::Seen;
    let misses = |edge: &Edge| edge.dependency() == Dependency::Missed;
    matches!(edges.as_slice(), [first, second]
        if direct(first) && second.from == Node::Initial && second.why == Why::Session
            || misses(first) && (misses(second) || fact(second))
            || misses(second) && fact(first))
}
