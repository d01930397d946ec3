//! Prediction by enumeration: every cut, every boundary transaction, every writer, and every order.
//!
//! It is written from the definitions alone (docs/predict.md; the axioms of docs/levels.md) and shares no code and no idea with the
//! engine: no merging of keys, no clocks, no clauses. A candidate is predicted if some total order satisfies the axiom of the level, and
//! no total order satisfies the axiom of the target.

#![allow(unreachable_pub, clippy::unwrap_used, reason = "a test that cannot go on should not")]

mod axioms;

use std::collections::BTreeSet;

use isoscope_history::{Builder, History};

pub use axioms::LEVELS;
use axioms::{Txn, judge};

/// An operation: whether it writes, and its key.
pub type Access = (bool, usize);

/// What is kept of a transaction whose reads change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// All its accesses.
    All,
    /// What is before the changed read.
    Before,
    /// The same, but of the writes only those that are the last of their key.
    Final,
}

/// The names of the keys.
pub const KEYS: [&str; 3] = ["x", "y", "z"];

/// A set of changed reads: the accesses of the transaction, and the place of the read among them.
pub type Changed = BTreeSet<(Vec<Access>, usize)>;

/// A serial run: transactions in the order in which they ran, each with its session and accesses.
#[derive(Clone, Debug)]
pub struct Run {
    pub keys: usize,
    pub txns: Vec<(usize, Vec<Access>)>,
}

impl Run {
    /// The run as a history in which values identify writers. `rename` permutes keys and sessions.
    pub fn history(&self, rename: bool) -> History {
        let mut builder = Builder::new();
        let mut current = vec![0; self.keys];
        let order: Vec<usize> = if rename {
            // Other sessions come first in the history; inside a session the order stays.
            let mut order: Vec<usize> = (0..self.txns.len()).collect();
            order.sort_by_key(|&i| std::cmp::Reverse(self.txns[i].0));
            order
        } else {
            (0..self.txns.len()).collect()
        };
        let mut values: Vec<Vec<i64>> = Vec::new();
        for ((_, accesses), hundred) in self.txns.iter().zip(1_i64..) {
            let mut seen = Vec::new();
            for (&(writes, key), place) in accesses.iter().zip(0_i64..) {
                if writes {
                    current[key] = hundred * 100 + place;
                }
                seen.push(current[key]);
            }
            values.push(seen);
        }
        for i in order {
            let (session, accesses) = &self.txns[i];
            let mut txn = builder.session(*session as u32).txn();
            for (&(writes, key), &value) in accesses.iter().zip(&values[i]) {
                let name = if rename { ["r", "q", "p"][key] } else { KEYS[key] };
                txn = if writes { txn.write(name, value) } else { txn.read(name, value) };
            }
        }
        builder.finish()
    }

    /// How many candidates there are, at most.
    pub fn candidates(&self) -> usize {
        let mut product = 1usize;
        for session in 0..self.txns.len() {
            let own = self.txns.iter().filter(|(s, _)| *s == session);
            let ways = own.map(|(_, accesses)| {
                let reads = accesses.iter().filter(|(writes, _)| !writes);
                1 + reads.map(|&(_, key)| self.writers(key) + 1).product::<usize>()
            });
            product = product.saturating_mul(1 + ways.sum::<usize>());
        }
        product
    }

    /// For each level, the changed reads of the predictions that are not serializable: the smallest sets, those of which no part is one.
    pub fn minimal_changes(&self, kept: Kept) -> [BTreeSet<Changed>; 6] {
        let observed = self.observed();
        let changed = Some(Default::default());
        let mut search =
            Search { run: self, observed: &observed, kept, target: 6, found: [false; 6], changed };
        let sessions = self.txns.iter().map(|(session, _)| session + 1).max().unwrap_or(0);
        search.prefixes(&mut vec![0; sessions], 0);
        search.changed.unwrap().map(|all| {
            let is_minimal = |one: &&Changed| !all.iter().any(|other| other != *one && other.is_subset(one));
            all.iter().filter(is_minimal).cloned().collect()
        })
    }

    fn writers(&self, key: usize) -> usize {
        self.txns.iter().filter(|(_, accesses)| accesses.contains(&(true, key))).count()
    }

    /// For each level, whether there is a prediction that violates a target: the place of a level in [`LEVELS`], or 6 for
    /// serializable.
    pub fn verdicts(&self, kept: Kept, target: usize) -> [bool; 6] {
        let observed = self.observed();
        let mut search =
            Search { run: self, observed: &observed, kept, target, found: [false; 6], changed: None };
        let sessions = self.txns.iter().map(|(session, _)| session + 1).max().unwrap_or(0);
        search.prefixes(&mut vec![0; sessions], 0);
        search.found
    }

    /// The observed transactions, from 1.
    fn observed(&self) -> Vec<Txn> {
        let mut current = vec![0; self.keys];
        let mut txns = vec![Txn { writes: (0..self.keys).collect(), ..Txn::default() }];
        for (number, (session, accesses)) in (1..).zip(&self.txns) {
            let mut txn = Txn { session: *session, ..Txn::default() };
            for &(writes, key) in accesses {
                if writes && !txn.writes.contains(&key) {
                    txn.writes.push(key);
                } else if !writes && !txn.writes.contains(&key) {
                    txn.reads.push((key, current[key]));
                }
            }
            for &key in &txn.writes {
                current[key] = number;
            }
            txn.may_write.clone_from(&txn.writes);
            txns.push(txn);
        }
        txns
    }
}

struct Search<'a> {
    run: &'a Run,
    observed: &'a [Txn],
    kept: Kept,
    target: usize,
    found: [bool; 6],
    /// The changed reads of all predictions by level, if they are wanted.
    changed: Option<[BTreeSet<Changed>; 6]>,
}

impl Search<'_> {
    /// The transactions of a session, in session order.
    fn session(&self, session: usize) -> Vec<usize> {
        (1..self.observed.len()).filter(|&txn| self.observed[txn].session == session).collect()
    }

    /// Every number of full transactions for each session.
    fn prefixes(&mut self, prefix: &mut Vec<usize>, session: usize) {
        if session == prefix.len() {
            let is_full = |txn: usize| {
                txn == 0 || {
                    let own = self.session(self.observed[txn].session);
                    own.iter().position(|&other| other == txn).unwrap() < prefix[self.observed[txn].session]
                }
            };
            let full: Vec<bool> = (0..self.observed.len()).map(is_full).collect();
            let is_closed =
                |txn: usize| !full[txn] || self.observed[txn].reads.iter().all(|&(_, source)| full[source]);
            if (0..full.len()).all(is_closed) {
                let mut execution: Vec<Option<Txn>> =
                    full.iter().zip(self.observed).map(|(&full, txn)| full.then(|| txn.clone())).collect();
                self.boundaries(&full, prefix, &mut execution, 0);
            }
            return;
        }
        for count in 0..=self.session(session).len() {
            prefix[session] = count;
            self.prefixes(prefix, session + 1);
        }
        prefix[session] = 0;
    }

    /// Every boundary transaction of each session, or none.
    fn boundaries(
        &mut self,
        full: &[bool],
        prefix: &[usize],
        execution: &mut Vec<Option<Txn>>,
        session: usize,
    ) {
        if self.changed.is_none() && self.found.iter().all(|&found| found) {
            return;
        }
        if session == prefix.len() {
            self.judge(full, execution);
            return;
        }
        self.boundaries(full, prefix, execution, session + 1);
        let Some(&next) = self.session(session).get(prefix[session]) else { return };
        for form in self.forms(next, full) {
            execution[next] = Some(form);
            self.boundaries(full, prefix, execution, session + 1);
            execution[next] = None;
        }
    }

    /// Every boundary form of a transaction: all choices of full writers, and with a strict boundary all cuts.
    fn forms(&self, txn: usize, full: &[bool]) -> Vec<Txn> {
        let observed = &self.observed[txn];
        let writers = |key: usize| -> Vec<usize> {
            (0..full.len()).filter(|&w| full[w] && self.observed[w].writes.contains(&key)).collect()
        };
        let mut forms = Vec::new();
        if self.kept != Kept::All {
            for cut in 0..observed.reads.len() {
                if !observed.reads[..cut].iter().all(|&(_, source)| full[source]) {
                    continue;
                }
                for writer in writers(observed.reads[cut].0) {
                    let mut form = observed.clone();
                    form.reads.truncate(cut + 1);
                    form.reads[cut].1 = writer;
                    form.writes = self.written_before(txn, cut);
                    forms.push(form);
                }
            }
            return forms;
        }
        forms.push(observed.clone());
        for read in 0..observed.reads.len() {
            let mut more = Vec::new();
            for form in &forms {
                for writer in writers(observed.reads[read].0) {
                    let mut form = form.clone();
                    form.reads[read].1 = writer;
                    more.push(form);
                }
            }
            forms = more;
        }
        forms
    }

    /// The places of the external reads of a transaction.
    fn external(&self, txn: usize) -> Vec<usize> {
        let accesses = &self.run.txns[txn - 1].1;
        let external = |&at: &usize| {
            let (writes, key) = accesses[at];
            !writes && !accesses[..at].contains(&(true, key))
        };
        (0..accesses.len()).filter(external).collect()
    }

    /// The keys that a transaction has written when it is cut at its `cut`-th external read.
    fn written_before(&self, txn: usize, cut: usize) -> Vec<usize> {
        let accesses = &self.run.txns[txn - 1].1;
        let at = self.external(txn)[cut];
        let decisive = |key: usize| match self.kept {
            Kept::Final => accesses.iter().rposition(|&access| access == (true, key)).unwrap(),
            _ => accesses.iter().position(|&access| access == (true, key)).unwrap(),
        };
        self.observed[txn].writes.iter().copied().filter(|&key| decisive(key) < at).collect()
    }

    fn judge(&mut self, full: &[bool], execution: &[Option<Txn>]) {
        let Some(all) = &mut self.changed else { return judge(execution, self.target, &mut self.found) };
        let mut found = [false; 6];
        judge(execution, self.target, &mut found);
        if found == [false; 6] {
            return;
        }
        let mut all = std::mem::take(all);
        let mut changed = Changed::new();
        for (txn, form) in execution.iter().enumerate().filter(|&(txn, _)| !full[txn]) {
            let Some(form) = form else { continue };
            for ((read, observed), at) in
                form.reads.iter().zip(&self.observed[txn].reads).zip(self.external(txn))
            {
                if read != observed {
                    changed.insert((self.run.txns[txn - 1].1.clone(), at));
                }
            }
        }
        for (all, found) in all.iter_mut().zip(found) {
            if found {
                all.insert(changed.clone());
            }
        }
        self.changed = Some(all);
    }
}
