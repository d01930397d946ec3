//! A proof that a weak level is violated whoever wrote what was read, where values repeat.
//!
//! With the sources of all reads known, the level is decided in polynomial time and shows a cycle. Where some are open, a
//! violation found by ignoring them is one under every choice. So sources are assumed one read after the other, those first that
//! the search stumbled over most often, until there is a cycle in every case.

use isoscope_history::{Op, Txn};
use isoscope_levels::Anomaly;
use rustc_hash::FxHashMap;

use super::problem::{INITIAL, OPEN, Problem};
use super::search::Axiom;
use crate::certificate::{Against, Case, Choice, Edge, Node, Proof};
use crate::resolve::{Link, Resolved};

/// A cycle that a level forbids, and its name.
pub(crate) struct Leaf {
    pub(crate) cycle: Vec<Edge>,
    pub(crate) anomaly: Anomaly,
    pub(crate) against: Option<Against>,
}

/// More cases than this are not gone through.
const MOST_CASES: usize = 20_000;

/// Why a case has no children yet.
struct Todo {
    resolved: Resolved,
    /// Where to enter the number of the case.
    parent: Option<(usize, usize)>,
}

/// The proof, unless it has too many cases.
pub(super) fn prove(
    problem: &Problem<'_>,
    axioms: &[Axiom],
    leaf: &mut dyn FnMut(&Resolved) -> Option<Leaf>,
) -> Option<Proof> {
    let mut often: FxHashMap<u32, usize> = FxHashMap::default();
    for axiom in axioms {
        if let Axiom::Sources { read } | Axiom::Between { read, .. } = axiom {
            *often.entry(*read).or_default() += 1;
        }
    }
    let mut cases: Vec<Case> = Vec::new();
    let mut todo = vec![Todo { resolved: problem.resolved.clone(), parent: None }];
    while let Some(Todo { resolved, parent }) = todo.pop() {
        let number = cases.len();
        if number > MOST_CASES {
            return None;
        }
        if let Some((parent, which)) = parent
            && let Case::Split { cases, .. } = &mut cases[parent]
        {
            cases[which] = number as u32;
        }
        if let Some(leaf) = leaf(&resolved) {
            cases.push(Case::Cycle(leaf.cycle));
            continue;
        }
        let is_open = |open: &&super::problem::Open| {
            resolved.links[problem.reads[open.read as usize].op.index()] == Link::AMBIGUOUS
        };
        let next = problem.open.iter().filter(is_open);
        let open = next.max_by_key(|open| (often.get(&open.read).copied(), std::cmp::Reverse(open.read)))?;
        let op = problem.reads[open.read as usize].op;
        let sources = &open.sources;
        let writers = sources.iter().map(|&source| node(source)).collect();
        cases.push(Case::Split { choice: Choice::Source { read: op, writers }, cases: vec![0; sources.len()] });
        for (which, &source) in sources.iter().enumerate().rev() {
            let resolved = assume(problem, &resolved, op, source);
            todo.push(Todo { resolved, parent: Some((number, which)) });
        }
    }
    Some(Proof { cases })
}

fn node(source: u32) -> Node {
    if source == INITIAL { Node::Initial } else { Node::Txn(Txn(source)) }
}

/// The same history where one read has a source, which is there then.
fn assume(problem: &Problem<'_>, resolved: &Resolved, read: Op, source: u32) -> Resolved {
    let mut resolved = resolved.clone();
    if source == INITIAL {
        resolved.links[read.index()] = Link::INITIAL;
        return resolved;
    }
    resolved.links[read.index()] = Link::from(Txn(source));
    let mut todo = vec![source];
    while let Some(txn) = todo.pop() {
        if std::mem::replace(&mut resolved.present[txn as usize], true) {
            continue;
        }
        for op in problem.history.ops_of(Txn(txn)).filter(|op| op.kind.is_write() && op.last_write) {
            resolved.links[op.id.index()] = Link::WRITE;
        }
        for i in problem.reads_of(txn) {
            let read = problem.reads[i];
            resolved.links[read.op.index()] = match read.source {
                OPEN => Link::AMBIGUOUS,
                INITIAL => Link::INITIAL,
                source => {
                    todo.push(source);
                    Link::from(Txn(source))
                }
            };
        }
    }
    resolved
}
