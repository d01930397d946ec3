//! Transactions of unknown outcome that cannot have committed: a read of theirs has no possible writer, or only such
//! transactions. No read is from them, and a proof has to show why.

use isoscope_history::{Op, Txn};

use super::problem::Problem;
use super::sources::Source;
use crate::certificate::{Case, Choice, Node};

/// A source as a node.
pub(super) fn node(source: Source) -> Node {
    source.txn().map_or(Node::Initial, |txn| Node::Txn(Txn(txn)))
}

/// Those that wrote what a read returned.
pub(super) fn writers(problem: &Problem<'_>, read: Op) -> Vec<u32> {
    if problem.broken.is_empty() {
        return Vec::new();
    }
    let history = problem.history;
    let (reader, read) = (history.txn_of(read), history.op(read));
    let wrote = |txn: u32| problem.writes_of(txn).any(|write| write == (read.key, read.value));
    let mut writers: Vec<u32> =
        problem.broken.keys().copied().filter(|&txn| txn != reader.0 && wrote(txn)).collect();
    writers.sort_unstable();
    writers
}

/// Begins a split of the sources of a read; gives its place. The caller fills in the cases of its sources, which are first;
/// those of transactions that cannot have committed are written here.
pub(super) fn split(problem: &Problem<'_>, read: Op, sources: &[Source], cases: &mut Vec<Case>) -> usize {
    let broken = writers(problem, read);
    let writers =
        sources.iter().copied().chain(broken.iter().map(|&txn| Source::of(txn))).map(node).collect();
    let place = cases.len();
    let numbers = vec![0; sources.len() + broken.len()];
    cases.push(Case::Split { choice: Choice::Source { read, writers }, cases: numbers });
    for (txn, which) in broken.into_iter().zip(sources.len()..) {
        impossible(problem, txn, (place, which), cases);
    }
    place
}

/// Enters the number of a node as one of the cases of another.
pub(super) fn enter(cases: &mut [Case], (split, which): (usize, usize), number: usize) {
    if let Case::Split { cases, .. } = &mut cases[split] {
        cases[which] = number as u32;
    }
}

/// Writes why a transaction cannot have committed.
fn impossible(problem: &Problem<'_>, txn: u32, place: (usize, usize), cases: &mut Vec<Case>) {
    let mut todo = vec![(txn, place)];
    while let Some((txn, place)) = todo.pop() {
        let number = cases.len();
        enter(cases, place, number);
        let (read, sources) = &problem.broken[&txn];
        let writers = sources.iter().map(|&source| node(source)).collect();
        todo.extend(sources.iter().enumerate().filter_map(|(i, source)| Some((source.txn()?, (number, i)))));
        let numbers = vec![0; sources.len()];
        cases.push(Case::Split { choice: Choice::Source { read: *read, writers }, cases: numbers });
    }
}
