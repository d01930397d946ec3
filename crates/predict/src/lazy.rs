//! The clauses of a level that hb leaves open, added where the order at hand breaks them.
//!
//! The solver returns a candidate and an order of its events. The instances of the level's axiom that this order breaks become clauses,
//! and the solver looks for another order. Each clause is guarded by what makes the instance apply: that the transactions are
//! included, and from which writers the reads are.
//!
//! - Read committed, read atomic, causal: what a reader must have seen and wrote the key is before the source (`eager.rs`).
//! - Prefix: a read of `t` from `w`, and another writer `u`: `C(u) < C(w)` or `B(t) < C(u)`; and `C(w) < B(t)`.
//! - Snapshot: the same with `B(w)` for `C(w)` in the first, and of two transactions that may write a key one commits before the
//!   other begins.
//! - Parallel snapshot: `snapshots.rs` has both snapshot levels, `parallel.rs` this one.
//!
//! With a strict boundary, the transaction that was cut keeps its later writes as *may-writes* in the conflict rule.

use isoscope_levels::Level;
use isoscope_solve::Lit;

use crate::candidate::{Candidate, Form};
use crate::eager::{self, Seen};
use crate::encode::Encoder;
use crate::problem::INITIAL;

/// Adds clauses for what the last order breaks; returns how many.
pub(crate) fn add(encoder: &mut Encoder<'_>, seen: &Seen, candidate: &Candidate) -> u64 {
    let order = encoder.solver.order();
    let mut place = vec![0; order.len()];
    for (&node, at) in order.iter().zip(0..) {
        place[node as usize] = at;
    }
    let forms = candidate.forms(encoder.problem);
    let mut lazy = Lazy { encoder, seen, place, forms, added: 0 };
    match lazy.encoder.level {
        Level::Prefix | Level::Snapshot => lazy.snapshots(),
        Level::ParallelSnapshot => lazy.parallel(),
        level => lazy.weak(level),
    }
    lazy.added
}

/// An order, and the candidate it belongs to.
pub(crate) struct Lazy<'a, 'p> {
    pub(crate) encoder: &'a mut Encoder<'p>,
    seen: &'a Seen,
    /// The place of each node.
    pub(crate) place: Vec<u32>,
    pub(crate) forms: Vec<Form>,
    added: u64,
}

impl Lazy<'_, '_> {
    pub(crate) fn clause(&mut self, lits: &[Lit]) {
        self.encoder.solver.add_clause(lits);
        self.added += 1;
    }

    /// The literal that a form is included.
    pub(crate) fn included(&self, form: &Form) -> Lit {
        if form.is_boundary {
            self.encoder.bound(form.txn).unwrap_or(self.encoder.no())
        } else {
            self.encoder.full(form.txn)
        }
    }

    /// The literal that the `i`-th read of a form has the writer that it has.
    pub(crate) fn chosen(&self, form: &Form, i: usize) -> Lit {
        if !form.is_boundary {
            return self.encoder.full(form.txn);
        }
        let read = self.encoder.reads_of(form.txn).start + i;
        self.encoder.reads[read].choice(form.reads[i].1).unwrap_or(self.encoder.no())
    }

    /// Read committed, read atomic and causal.
    fn weak(&mut self, level: Level) {
        for at in 0..self.forms.len() {
            let form = self.forms[at].clone();
            for (i, &(key, source)) in form.reads.iter().enumerate() {
                for (other, guard) in self.must_have_seen(level, &form, i, key) {
                    if other == source {
                        continue;
                    }
                    let chosen = self.chosen(&form, i);
                    let mut clause = vec![!chosen, !guard];
                    if source != INITIAL {
                        let (from, to) = (self.encoder.commit(other), self.encoder.commit(source));
                        if self.place[from as usize] < self.place[to as usize] {
                            continue;
                        }
                        clause.push(self.encoder.solver.before(from, to));
                    }
                    self.clause(&clause);
                }
            }
        }
    }

    /// The writers of a key that a form must have seen when it read it, or the last of each session, each with what makes it so.
    fn must_have_seen(&self, level: Level, form: &Form, i: usize, key: u32) -> Vec<(u32, Lit)> {
        let problem = self.encoder.problem;
        let txn = problem.txn(form.txn);
        let last = |session: u32, count: u32| {
            let writers = problem.writers_in(key, session);
            let seen = writers.partition_point(|&writer| problem.txn(writer).place < count);
            seen.checked_sub(1).map(|last| writers[last])
        };
        if eager::is_causal(level) {
            let count = |session: u32| {
                let own = eager::base(problem, form.txn, session);
                let sources = form.reads.iter().filter(|&&(_, source)| source != INITIAL);
                sources.fold(own, |most, &(_, source)| most.max(problem.clock(source, session)))
            };
            let seen = (0..problem.sessions.len() as u32).filter_map(|session| last(session, count(session)));
            let guard = |other: u32| {
                if form.is_boundary {
                    eager::sees(self.encoder, self.seen, form.txn, other)
                } else {
                    self.encoder.full(form.txn)
                }
            };
            return seen.map(|other| (other, guard(other))).collect();
        }
        let reads = if level == Level::ReadCommitted { 0..i } else { 0..form.reads.len() };
        let sources = reads.filter(|&j| j != i && form.reads[j].1 != INITIAL);
        let mut seen: Vec<(u32, Lit)> = sources
            .map(|j| (form.reads[j].1, self.chosen(form, j)))
            .filter(|&(other, _)| problem.txn(other).writes_key(key))
            .collect();
        if level == Level::ReadAtomic {
            seen.extend(last(txn.session, txn.place).map(|other| (other, self.encoder.yes)));
        }
        seen
    }
}
