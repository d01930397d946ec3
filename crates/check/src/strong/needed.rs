//! A proof by cases without the splits that it does not need.
//!
//! `cases.rs` settles constraints in their order, and some of them may be about other transactions than the contradiction at the
//! end. A case whose refutation does not use what the case assumes refutes the whole split, and replaces it. The cases that are kept
//! stay in their order, and every cycle keeps what it depends on.
//!
//! The dependencies of a cycle are overestimated: an anti-dependency on a writer counts as needing every assumption about earlier
//! writers of the key, and that a transaction of unknown outcome took effect counts as needed everywhere.

use isoscope_history::{Key, Op, Txn};
use rustc_hash::FxHashSet;

use super::problem::Problem;
use crate::certificate::{Case, Choice, Edge, Node, Proof, Why};

/// An assumption, or a set of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Need {
    /// One writer of a key is before another.
    Order(Key, Node, Node),
    /// Some writer of a key is before this one.
    Before(Key, Node),
    /// The source of a read.
    Source(Op),
}

/// See the module.
pub(super) fn needed(problem: &Problem<'_>, proof: &Proof) -> Proof {
    let mut needs: Vec<FxHashSet<Need>> = vec![FxHashSet::default(); proof.cases.len()];
    // For each node, the one that takes its place.
    let mut place: Vec<usize> = (0..proof.cases.len()).collect();
    // Children are after their parents.
    for (node, case) in proof.cases.iter().enumerate().rev() {
        let (choice, cases) = match case {
            Case::Cycle(edges) => {
                needs[node] = edges.iter().flat_map(|edge| needs_of(problem, edge)).collect();
                continue;
            }
            Case::Split { choice, cases } => (choice, cases),
        };
        let children = || cases.iter().map(|&child| child as usize).enumerate();
        let free = |&(i, child): &(usize, usize)| !uses(problem, &needs[child], choice, i);
        // The last one holds the cycle that the proof is named after.
        if let Some((_, child)) = children().rfind(free) {
            place[node] = place[child];
            needs[node] = std::mem::take(&mut needs[child]);
            continue;
        }
        let mut all = FxHashSet::default();
        for (i, child) in children() {
            let mut of_child = std::mem::take(&mut needs[child]);
            of_child.remove(&assumed(choice, i));
            all.extend(of_child);
        }
        needs[node] = all;
    }
    keep(proof, &place)
}

/// The proof in which other nodes have taken the places of some.
fn keep(proof: &Proof, place: &[usize]) -> Proof {
    let mut number: Vec<Option<u32>> = vec![None; proof.cases.len()];
    let mut kept = Vec::new();
    let mut todo: Vec<usize> = place.first().copied().into_iter().collect();
    while let Some(node) = todo.pop() {
        kept.push(node);
        if let Case::Split { cases, .. } = &proof.cases[node] {
            todo.extend(cases.iter().map(|&child| place[child as usize]));
        }
    }
    kept.sort_unstable();
    for (&node, i) in kept.iter().zip(0..) {
        number[node] = Some(i);
    }
    let renumbered = |&child: &u32| number[place[child as usize]];
    let renumbered_cases = kept.iter().map(|&node| match &proof.cases[node] {
        Case::Cycle(edges) => Case::Cycle(edges.clone()),
        Case::Split { choice, cases } => {
            Case::Split { choice: choice.clone(), cases: cases.iter().filter_map(renumbered).collect() }
        }
    });
    Proof { cases: renumbered_cases.collect() }
}

/// What an alternative of a choice assumes.
fn assumed(choice: &Choice, alternative: usize) -> Need {
    match choice {
        Choice::Source { read, .. } => Need::Source(*read),
        Choice::Versions { key, first, second } => {
            let (first, second) = (Node::Txn(*first), Node::Txn(*second));
            if alternative == 0 { Need::Order(*key, first, second) } else { Need::Order(*key, second, first) }
        }
    }
}

/// Whether a refutation that needs some things uses what an alternative assumes.
fn uses(problem: &Problem<'_>, needs: &FxHashSet<Need>, choice: &Choice, alternative: usize) -> bool {
    let is_there = match choice {
        Choice::Versions { .. } => true,
        Choice::Source { writers, .. } => match writers[alternative] {
            Node::Initial => true,
            Node::Txn(Txn(txn)) => problem.is_present(txn),
        },
    };
    let need = assumed(choice, alternative);
    let by_miss = matches!(need, Need::Order(key, _, later) if needs.contains(&Need::Before(key, later)));
    !is_there || by_miss || needs.contains(&need)
}

/// What an edge may depend on.
fn needs_of(problem: &Problem<'_>, edge: &Edge) -> Vec<Need> {
    match edge.why {
        Why::Overwritten { key } => vec![Need::Order(key, edge.from, edge.to)],
        Why::Misses { read } => {
            vec![Need::Source(read), Need::Before(problem.history.key_of(read), edge.to)]
        }
        // What is forced is an edge of weak levels, whose proofs are not reduced.
        Why::ReadFrom { read } | Why::Forced { read, .. } => vec![Need::Source(read)],
        Why::Session | Why::RealTime | Why::Versions { .. } | Why::Missing { .. } => Vec::new(),
    }
}
