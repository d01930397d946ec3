//! A candidate: per session a prefix of full transactions and at most one boundary transaction.
//!
//! A *full* transaction reads what it read in the observed run, so it reads only from full ones. A *boundary* transaction is the
//! first of its session that is not full; its reads may have other writers, which are full, and nobody reads from it. With a relaxed
//! boundary it has all its reads and writes. With a strict boundary it is cut at one read, whose writer is free: the reads before it
//! are as observed, the writes after it are left out.

use crate::problem::{INITIAL, Problem};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Candidate {
    /// How many transactions of each session are full.
    pub(crate) prefix: Vec<u32>,
    /// The boundary transactions, by number.
    pub(crate) boundary: Vec<Boundary>,
}

/// A boundary transaction, and the sources of its included reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Boundary {
    pub(crate) txn: u32,
    pub(crate) sources: Vec<u32>,
}

/// An included transaction: what it reads from where, and what it writes.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) txn: u32,
    pub(crate) is_boundary: bool,
    /// Keys and sources.
    pub(crate) reads: Vec<(u32, u32)>,
    pub(crate) writes: Vec<u32>,
}

impl Boundary {
    /// The keys it writes.
    pub(crate) fn writes<'p>(&self, problem: &'p Problem<'_>) -> impl Iterator<Item = u32> + 'p {
        let (strict, included) = (problem.strict, self.sources.len() as u32);
        let writes = problem.txn(self.txn).writes.iter();
        writes.filter(move |write| !strict || write.after < included).map(|write| write.key)
    }

    pub(crate) fn is_written(&self, problem: &Problem<'_>, key: u32) -> bool {
        self.writes(problem).any(|written| written == key)
    }
}

impl Candidate {
    pub(crate) fn is_full(&self, problem: &Problem<'_>, number: u32) -> bool {
        let txn = problem.txn(number);
        !txn.is_variant && txn.place < self.prefix[txn.session as usize]
    }

    pub(crate) fn boundary_of(&self, number: u32) -> Option<&Boundary> {
        self.boundary.iter().find(|boundary| boundary.txn == number)
    }

    /// The included transactions, in observed order.
    pub(crate) fn forms(&self, problem: &Problem<'_>) -> Vec<Form> {
        let mut forms = Vec::new();
        for (txn, number) in problem.txns.iter().zip(0..) {
            if self.is_full(problem, number) {
                let reads = txn.reads.iter().map(|read| (read.key, read.source)).collect();
                let writes = txn.writes.iter().map(|write| write.key).collect();
                forms.push(Form { txn: number, is_boundary: false, reads, writes });
            } else if let Some(boundary) = self.boundary_of(number) {
                let reads = txn.reads.iter().zip(&boundary.sources).map(|(read, &source)| (read.key, source));
                let writes = boundary.writes(problem).collect();
                forms.push(Form { txn: number, is_boundary: true, reads: reads.collect(), writes });
            }
        }
        forms
    }

    /// The number of included transactions.
    pub(crate) fn len(&self) -> usize {
        self.prefix.iter().sum::<u32>() as usize + self.boundary.len()
    }

    /// The reads whose writer differs from the observed one: the transaction, and the place among its reads.
    pub(crate) fn changes(&self, problem: &Problem<'_>) -> Vec<(u32, usize)> {
        let mut changes = Vec::new();
        for boundary in &self.boundary {
            let reads = &problem.txn(boundary.txn).reads;
            let differs = |i: &usize| boundary.sources[*i] != reads[*i].source;
            changes.extend((0..boundary.sources.len()).filter(differs).map(|i| (boundary.txn, i)));
        }
        changes
    }

    /// Whether boundary transactions follow full ones and read from full ones.
    pub(crate) fn check(&self, problem: &Problem<'_>) -> bool {
        self.boundary.iter().all(|boundary| {
            let full = |&source: &u32| source == INITIAL || self.is_full(problem, source);
            boundary.sources.iter().all(full)
                && problem.before(boundary.txn).is_none_or(|before| self.is_full(problem, before))
                && !self.is_full(problem, boundary.txn)
        })
    }
}
