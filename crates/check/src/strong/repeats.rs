//! Leaves out choices that a proof makes again.
//!
//! A proof is written from parts: what each step of saturation rests on, why sources of reads are excluded, the cases of a search. Two
//! parts may split on the same choice, one below an alternative of the other. Below that alternative the choice is made: what refutes
//! another alternative there contradicts an assumption and shows nothing, so the inner split is left out.

use isoscope_history::{Key, Op, Txn};
use rustc_hash::FxHashMap;

use crate::certificate::{Case, Choice, Node, Proof};

/// What is assumed on the way to a node.
#[derive(Default)]
struct Assumed {
    orders: FxHashMap<(Key, Txn, Txn), Txn>,
    sources: FxHashMap<Op, Node>,
    /// What to take back, last first.
    made: Vec<Made>,
}

enum Made {
    Order(Key, Txn, Txn),
    Source(Op),
}

/// A node to be written: after how many assumptions it comes, which is the last of these, and where its number is to be entered.
struct Todo {
    node: usize,
    after: usize,
    taken: Option<(usize, usize)>,
    place: Option<(usize, usize)>,
}

/// The same proof without choices that are made above.
pub(super) fn left_out(mut proof: Proof) -> Proof {
    let mut assumed = Assumed::default();
    let mut cases: Vec<Case> = Vec::with_capacity(proof.cases.len());
    let mut todo = vec![Todo { node: 0, after: 0, taken: None, place: None }];
    while let Some(Todo { mut node, after, taken, place }) = todo.pop() {
        assumed.take_back(after);
        if let Some((split, which)) = taken
            && let Some(Case::Split { choice, .. }) = proof.cases.get(split)
        {
            assumed.make(choice, which);
        }
        while let Some(Case::Split { choice, cases }) = proof.cases.get(node)
            && let Some(which) = assumed.answer(choice)
            && let Some(&child) = cases.get(which)
        {
            node = child as usize;
        }
        let number = cases.len();
        if let Some((split, which)) = place
            && let Case::Split { cases, .. } = &mut cases[split]
        {
            cases[which] = number as u32;
        }
        match &mut proof.cases[node] {
            Case::Cycle(edges) => cases.push(Case::Cycle(std::mem::take(edges))),
            Case::Split { choice, cases: children } => {
                let (choice, after) = (choice.clone(), assumed.made.len());
                let mut below: Vec<(u32, usize)> = children.iter().copied().zip(0..).collect();
                // The nodes keep their order; the first is taken first.
                below.sort_unstable();
                cases.push(Case::Split { choice, cases: vec![0; below.len()] });
                todo.extend(below.into_iter().rev().map(|(child, which)| Todo {
                    node: child as usize,
                    after,
                    taken: Some((node, which)),
                    place: Some((number, which)),
                }));
            }
        }
    }
    Proof { cases }
}

impl Assumed {
    /// Which alternative of a choice is assumed.
    fn answer(&self, choice: &Choice) -> Option<usize> {
        match choice {
            Choice::Versions { key, first, second } => {
                let earlier = self.orders.get(&place(*key, *first, *second))?;
                Some(usize::from(earlier != first))
            }
            Choice::Source { read, writers } => {
                let source = self.sources.get(read)?;
                writers.iter().position(|writer| writer == source)
            }
        }
    }

    /// Assumes an alternative of a choice.
    fn make(&mut self, choice: &Choice, which: usize) {
        match choice {
            Choice::Versions { key, first, second } => {
                let (key, one, other) = place(*key, *first, *second);
                self.orders.insert((key, one, other), if which == 0 { *first } else { *second });
                self.made.push(Made::Order(key, one, other));
            }
            Choice::Source { read, writers } => {
                if let Some(&writer) = writers.get(which) {
                    self.sources.insert(*read, writer);
                    self.made.push(Made::Source(*read));
                }
            }
        }
    }

    fn take_back(&mut self, after: usize) {
        for made in self.made.drain(after..) {
            match made {
                Made::Order(key, one, other) => drop(self.orders.remove(&(key, one, other))),
                Made::Source(read) => drop(self.sources.remove(&read)),
            }
        }
    }
}

/// Two writers of a key, whichever is first.
fn place(key: Key, one: Txn, other: Txn) -> (Key, Txn, Txn) {
    (key, one.min(other), one.max(other))
}
