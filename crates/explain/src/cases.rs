//! A proof by cases in words.
//!
//! Most proofs are a line: at each choice, one alternative leads to a cycle immediately, and the proof continues in the
//! other. The story of such a proof is the cycle at its end. Below a step that depends on a choice, it says why the other
//! alternatives fail, and below that, what their steps depend on. Choices that no step depends on are omitted. If two or more
//! alternatives need their own argument, they are listed in turn: either, or.
//!
//! A story is at most a page long, however large the proof; the remaining cases are counted. The walk along a line is a loop,
//! and recursion ends at [`DEEPEST`].

use std::collections::BTreeSet;

use isoscope_certificate::{Case, Choice, Edge, Node, Proof, Seen, Why};
use isoscope_history::{Datum, Op, OpView, Txn};

use crate::clause::CYCLE;
use crate::story::{Clause, Teller};
use crate::words::{count, sentence};

/// The most clauses of a story; a cycle that was begun is completed.
const MOST: usize = 30;
/// The maximum depth of clauses.
const DEEPEST: u8 = 7;

/// An alternative that is assumed below a split.
#[derive(Clone, Copy)]
struct Assumption {
    split: usize,
    alternative: usize,
    /// Whether the story states the assumption ("either", "the opposite order"); other alternatives are forced.
    said: bool,
}

struct Telling<'t, 'h> {
    teller: &'t Teller<'h>,
    proof: &'t Proof,
    /// By node, the number of cycles below it.
    leaves: Vec<u64>,
    /// By node, the last cycle below it.
    last: Vec<usize>,
    clauses: Vec<Clause>,
    /// The splits for which the story states why the other alternatives fail.
    explained: BTreeSet<usize>,
    left_out: BTreeSet<usize>,
}

impl Teller<'_> {
    pub(crate) fn case_clauses(&self, proof: &Proof) -> Vec<Clause> {
        let (leaves, last) = shape(proof);
        let (clauses, explained, left_out) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        let mut telling = Telling { teller: self, proof, leaves, last, clauses, explained, left_out };
        telling.node(0, &mut Vec::new(), 0);
        let left_out: u64 = telling.left_out.iter().map(|&node| telling.leaves[node]).sum();
        let mut clauses = telling.clauses;
        match left_out {
            0 => {}
            1 => clauses.push(Clause::new("... and 1 more case, which also ends in a cycle", Vec::new())),
            n => {
                let text = format!("... and {} more cases, each of which also ends in a cycle", count(n));
                clauses.push(Clause::new(text, Vec::new()));
            }
        }
        clauses
    }

    /// What an alternative of a choice states: `T1 wrote x=1 before T2 wrote x=2`.
    pub fn alternative(&self, choice: &Choice, alternative: usize) -> String {
        assumed_edge(self, choice, alternative).map_or_else(String::new, |edge| self.fact(&edge))
    }

    /// The edge that assuming an alternative of a choice gives.
    pub fn assumed(&self, choice: &Choice, alternative: usize) -> Option<Edge> {
        assumed_edge(self, choice, alternative)
    }
}

/// A proof as lines: from a node along one alternative of each split down to a cycle.
///
/// The line from the root ends in the main cycle. The line from any other node follows the alternative with the most cases, which
/// bounds the nesting depth of lines.
pub struct Outline<'p> {
    proof: &'p Proof,
    leaves: Vec<u64>,
    last: Vec<usize>,
}

/// A line of a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'p> {
    /// The splits passed.
    pub splits: Vec<Passed<'p>>,
    /// The cycle at the end.
    pub cycle: &'p [Edge],
}

/// A split that a line passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed<'p> {
    /// What is chosen.
    pub choice: &'p Choice,
    /// The alternative in which the line continues.
    pub taken: usize,
    /// The other alternatives, and the nodes that refute them.
    pub others: Vec<(usize, usize)>,
}

impl<'p> Outline<'p> {
    /// Counts the cases below each node.
    pub fn new(proof: &'p Proof) -> Self {
        let (leaves, last) = shape(proof);
        Outline { proof, leaves, last }
    }

    /// The number of cases below a node. Each ends in a cycle. The root is node 0.
    pub fn cases(&self, node: usize) -> u64 {
        self.leaves.get(node).copied().unwrap_or(0)
    }

    /// The line from a node.
    pub fn line(&self, from: usize) -> Line<'p> {
        let mut line = Line { splits: Vec::new(), cycle: &[] };
        let mut node = from;
        while let Some(case) = self.proof.cases.get(node) {
            match case {
                Case::Cycle(edges) => {
                    line.cycle = edges;
                    break;
                }
                Case::Split { choice, cases } => {
                    let mut below = children(self.proof, node, cases);
                    let weight = |child: usize| if from == 0 { 0 } else { self.leaves[child] };
                    let taken = below.iter().map(|&(_, c)| (weight(c), self.last[c])).enumerate();
                    let Some((place, _)) = taken.max_by_key(|&(_, key)| key) else { break };
                    let (taken, child) = below.remove(place);
                    line.splits.push(Passed { choice, taken, others: below });
                    node = child;
                }
            }
        }
        line
    }
}

/// The alternatives of a split and the nodes that refute them.
fn children(proof: &Proof, node: usize, cases: &[u32]) -> Vec<(usize, usize)> {
    let all = cases.iter().enumerate().map(|(i, &child)| (i, child as usize));
    all.filter(|&(_, child)| child > node && child < proof.cases.len()).collect()
}

/// For each node, the number of leaves below it, and the last leaf. Children come after their parents; a
/// child that does not is ignored.
fn shape(proof: &Proof) -> (Vec<u64>, Vec<usize>) {
    let count = proof.cases.len();
    let (mut leaves, mut last) = (vec![0_u64; count], vec![0; count]);
    for (node, case) in proof.cases.iter().enumerate().rev() {
        match case {
            Case::Cycle(_) => (leaves[node], last[node]) = (1, node),
            Case::Split { cases, .. } => {
                for child in cases.iter().map(|&child| child as usize).filter(|&c| c > node && c < count) {
                    leaves[node] = leaves[node].saturating_add(leaves[child]);
                    last[node] = last[node].max(last[child]);
                }
            }
        }
    }
    (leaves, last)
}

/// The edge that an alternative of a choice gives.
fn assumed_edge(teller: &Teller<'_>, choice: &Choice, alternative: usize) -> Option<Edge> {
    match choice {
        Choice::Source { read, writers } => {
            let to = Node::Txn(teller.words.history.txn_of(*read));
            Some(Edge { from: *writers.get(alternative)?, to, why: Why::ReadFrom { read: *read } })
        }
        Choice::Versions { key, first, second } => {
            let (from, to) = if alternative == 0 { (*first, *second) } else { (*second, *first) };
            Some(Edge { from: Node::Txn(from), to: Node::Txn(to), why: Why::Overwritten { key: *key } })
        }
    }
}

impl<'t> Telling<'t, '_> {
    /// Refutes everything below a node under its assumptions.
    fn node(&mut self, node: usize, assumed: &mut Vec<Assumption>, depth: u8) {
        let mut node = node;
        loop {
            match self.proof.cases.get(node) {
                None => return,
                Some(Case::Cycle(edges)) => return self.circle(edges, assumed, depth),
                Some(Case::Split { choice, cases }) => {
                    let mut below = children(self.proof, node, cases);
                    let long =
                        |&(_, child): &(usize, usize)| !matches!(self.proof.cases[child], Case::Cycle(_));
                    if below.iter().filter(|case| long(case)).count() > 1 {
                        return self.branches(node, choice, &below, assumed, depth);
                    }
                    below.sort_by_key(|&(_, child)| self.last[child]);
                    let Some(&(alternative, child)) = below.last() else {
                        if let Some((fact, ops)) = self.impossible(node) {
                            self.push(sentence(&fact), ops, depth);
                        }
                        return;
                    };
                    assumed.push(Assumption { split: node, alternative, said: false });
                    node = child;
                }
            }
        }
    }

    /// Alternatives that each need their own argument.
    fn branches(
        &mut self,
        node: usize,
        choice: &'t Choice,
        below: &[(usize, usize)],
        assumed: &mut Vec<Assumption>,
        depth: u8,
    ) {
        let known = assumed.len();
        self.explained.insert(node);
        for (i, &(alternative, child)) in below.iter().enumerate() {
            if self.full(depth) {
                self.left_out.insert(child);
                continue;
            }
            let word = if i == 0 { "Either" } else { "Or" };
            let text = format!("{word} {}:", self.teller.alternative(choice, alternative));
            self.push(text, Vec::new(), depth);
            assumed.truncate(known);
            assumed.push(Assumption { split: node, alternative, said: true });
            self.node(child, assumed, depth + 1);
        }
        assumed.truncate(known);
    }

    /// A cycle, and below each step what it depends on.
    fn circle(&mut self, edges: &'t [Edge], assumed: &[Assumption], depth: u8) {
        let edges: Vec<&Edge> = edges.iter().filter(|edge| !self.said(edge, assumed)).collect();
        let (head, tail) = CYCLE.split(edges.len());
        for (i, edge) in edges.iter().enumerate() {
            if i < head || i >= tail {
                let step = self.teller.step(edge);
                self.push(step.text, step.ops, depth);
                if let Why::Forced { seen: Seen::Causal(path), .. } = &edge.why {
                    let path = self.teller.path_clauses(path);
                    self.clauses.extend(path.into_iter().map(|clause| clause.deeper(depth)));
                }
            } else if i == head {
                self.clauses.push(crate::clause::more(tail - head).deeper(depth));
            }
            for place in self.rests_on(edge, assumed) {
                if self.explained.insert(assumed[place].split) {
                    let shown = i < head || i >= tail;
                    self.others(&assumed[..place], assumed[place], depth + 1, shown);
                }
            }
        }
    }

    /// Whether the story already stated an edge as an assumption.
    fn said(&self, edge: &Edge, assumed: &[Assumption]) -> bool {
        assumed.iter().filter(|a| a.said).any(|a| self.edge_of(*a).as_ref() == Some(edge))
    }

    fn choice(&self, split: usize) -> Option<&'t Choice> {
        match self.proof.cases.get(split)? {
            Case::Split { choice, .. } => Some(choice),
            Case::Cycle(_) => None,
        }
    }

    fn edge_of(&self, assumption: Assumption) -> Option<Edge> {
        assumed_edge(self.teller, self.choice(assumption.split)?, assumption.alternative)
    }

    /// Why the other alternatives of a choice fail.
    fn others(&mut self, before: &[Assumption], assumption: Assumption, depth: u8, shown: bool) {
        let Some(Case::Split { choice, cases }) = self.proof.cases.get(assumption.split) else { return };
        for (alternative, child) in children(self.proof, assumption.split, cases) {
            if alternative == assumption.alternative {
                continue;
            }
            if !shown || self.full(depth) {
                self.left_out.insert(child);
                continue;
            }
            let intro = self.intro(choice, alternative);
            let mut assumed = before.to_vec();
            assumed.push(Assumption { split: assumption.split, alternative, said: true });
            if let Some((fact, ops)) = self.at_once(child, &assumed) {
                self.push(sentence(&format!("{intro}: {fact}")), ops, depth);
            } else {
                self.push(format!("{intro}:"), Vec::new(), depth);
                self.node(child, &mut assumed, depth + 1);
            }
        }
    }

    /// Why a transaction of unknown outcome cannot have committed, at a split of a read that has no possible writer.
    fn impossible(&self, node: usize) -> Option<(String, Vec<Op>)> {
        let Some(Choice::Source { read, writers }) = self.choice(node) else { return None };
        let (reader, view) = self.teller.words.of(*read);
        let (reader, version) =
            (self.teller.words.txn(reader), self.teller.words.version(view.key, view.value));
        let fact =
            format!("{reader} cannot have committed, because its read of {version} has no possible writer");
        writers.is_empty().then(|| (fact, vec![*read]))
    }

    /// A node that one sentence explains: a read without a possible writer, or a cycle with one remaining step that depends on
    /// nothing the story has not stated.
    fn at_once(&self, node: usize, assumed: &[Assumption]) -> Option<(String, Vec<Op>)> {
        let Some(Case::Cycle(edges)) = self.proof.cases.get(node) else { return self.impossible(node) };
        let mut edges = edges.iter().filter(|edge| !self.said(edge, assumed));
        let edge = edges.next().filter(|_| edges.next().is_none())?;
        let unexplained =
            |&place: &usize| !assumed[place].said && !self.explained.contains(&assumed[place].split);
        let unfolds = matches!(edge.why, Why::Forced { seen: Seen::Causal(_), .. });
        if unfolds || self.rests_on(edge, assumed).iter().any(unexplained) {
            return None;
        }
        Some((self.teller.fact(edge), self.teller.step(edge).ops))
    }

    fn intro(&self, choice: &Choice, alternative: usize) -> String {
        let words = &self.teller.words;
        match choice {
            Choice::Versions { first, second, .. } => {
                let (from, to) = if alternative == 0 { (first, second) } else { (second, first) };
                format!("The opposite order, {} before {}, fails too", words.txn(*from), words.txn(*to))
            }
            Choice::Source { read, writers } => {
                let (reader, view) = words.of(*read);
                let (reader, version) = (words.txn(reader), words.version(view.key, view.value));
                match writers.get(alternative) {
                    Some(Node::Txn(txn)) => {
                        format!("{reader} cannot have read {version} from {} instead", words.txn(*txn))
                    }
                    _ => format!("{reader} cannot have read the initial {version} instead"),
                }
            }
        }
    }

    /// The indexes of the assumptions that an edge depends on.
    fn rests_on(&self, edge: &Edge, assumed: &[Assumption]) -> Vec<usize> {
        let source = self.source(edge, assumed);
        let rests = |a: &Assumption| match self.choice(a.split) {
            Some(Choice::Source { read, .. }) => reads(edge, *read),
            Some(Choice::Versions { .. }) => {
                self.edge_of(*a).is_some_and(|order| self.uses(edge, &order, source))
            }
            None => false,
        };
        (0..assumed.len()).filter(|&place| rests(&assumed[place])).collect()
    }

    /// The assumed writer of the read of an anti-dependency, if it was a choice.
    fn source(&self, edge: &Edge, assumed: &[Assumption]) -> Option<Node> {
        let Why::Misses { read } = edge.why else { return None };
        let of_read = |a: &&Assumption| matches!(self.choice(a.split), Some(Choice::Source { read: other, .. }) if *other == read);
        self.edge_of(*assumed.iter().find(of_read)?).map(|edge| edge.from)
    }

    /// Whether an edge depends on an assumed version order: it is that order, or the anti-dependency that follows from it if
    /// the older version was read.
    fn uses(&self, edge: &Edge, order: &Edge, source: Option<Node>) -> bool {
        let (Why::Overwritten { key }, Node::Txn(older)) = (&order.why, order.from) else { return false };
        match edge.why {
            Why::Overwritten { .. } => edge == order,
            Why::Misses { read } => {
                let view = self.teller.words.history.op(read);
                let was_read =
                    source.map_or_else(|| self.returned(view, older), |source| source == order.from);
                view.key == *key && edge.to == order.to && was_read
            }
            _ => false,
        }
    }

    /// Whether a read returned the last write of a transaction.
    fn returned(&self, read: OpView, txn: Txn) -> bool {
        let words = &self.teller.words;
        let Some(write) = words.last_write(txn, read.key) else { return false };
        match words.history.datum(read.value) {
            Datum::List(elements) => elements.last() == Some(&write.value),
            _ => read.value == write.value,
        }
    }

    fn full(&self, depth: u8) -> bool {
        self.clauses.len() >= MOST || depth >= DEEPEST
    }

    fn push(&mut self, text: String, ops: Vec<Op>, depth: u8) {
        self.clauses.push(Clause::new(text, ops).deeper(depth));
    }
}

/// Whether an edge depends on the value of a read.
fn reads(edge: &Edge, read: Op) -> bool {
    match &edge.why {
        Why::ReadFrom { read: op } | Why::Misses { read: op } => *op == read,
        Why::Forced { read: op, seen } => {
            *op == read
                || match seen {
                    Seen::Read(op) => *op == read,
                    Seen::Session => false,
                    Seen::Causal(path) => path.iter().any(|edge| edge.why == Why::ReadFrom { read }),
                }
        }
        _ => false,
    }
}
