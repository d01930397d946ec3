//! The axiom as a clause: the path by which a reader must have seen a writer does not exist, or the writer is before the source of the read.
//!
//! A step of the path that depends on a choice, of a source or of an order of two writers, is a literal of the clause.

use isoscope_history::Txn;
use isoscope_solve::Lit;

use super::super::constraint::Constraint;
use super::super::sources::Source;
use super::Search;
use super::links::{Paths, Reason, Step};
use crate::semantics::Sight;

impl Search<'_> {
    /// Adds the clause that a read does not miss a writer which its transaction must have seen.
    pub(super) fn forbid(&mut self, paths: &Paths<'_>, read: u32, writer: u32) {
        let first = self.needed.len();
        let (txn, source) = (self.problem.reads[read as usize].txn, self.chosen[read as usize]);
        let path = self.path(paths, read, writer);
        let mut clause: Vec<Lit> =
            [txn, writer].into_iter().filter_map(|txn| self.encoder.absent(txn)).collect();
        if self.sight == Sight::Updates && self.problem.is_update(txn) {
            clause.push(self.encoder.solver.before(txn, writer));
        }
        for (from, to, link) in path {
            match link {
                // The order of a session holds across those that are absent.
                Reason::Session => continue,
                Reason::Read(i) => {
                    if let Some(not_from) = self.encoder.not_from(i, self.chosen[i as usize]) {
                        clause.push(not_from);
                        self.needed.push(Constraint::Sources { read: i });
                    }
                }
                Reason::Overwritten(key) => {
                    clause.push(self.encoder.solver.before(to, from));
                    self.note(Constraint::Conflict { key, first: from, second: to });
                }
                Reason::Missed(i) => {
                    let source = self.chosen[i as usize];
                    clause.extend(self.encoder.not_from(i, source));
                    clause.extend(self.encoder.overwritten(to, source));
                    self.needed.push(Constraint::Between { read: i, source, writer: to });
                }
            }
            clause.extend([from, to].into_iter().filter_map(|txn| self.encoder.absent(txn)));
        }
        clause.extend(self.encoder.not_from(read, source));
        clause.extend(self.encoder.overwritten(writer, source));
        self.needed.push(Constraint::Between { read, source, writer });
        if self.has_core() {
            let lit = self.encoder.solver.variable(true);
            clause.push(!lit);
            self.assumed.push((lit, self.needed[first..].to_vec()));
        }
        self.encoder.solver.add_clause(&clause);
    }

    /// How a reader must have seen a writer: the steps that depend on a choice, and the others between them.
    fn path(&self, paths: &Paths<'_>, read: u32, writer: u32) -> Vec<Step> {
        let txn = self.problem.reads[read as usize].txn;
        match self.sight {
            Sight::Nothing | Sight::Earlier | Sight::Direct | Sight::Update => {
                let reads = match self.sight {
                    Sight::Earlier => self.problem.reads_before(read),
                    _ => self.problem.reads_of(txn),
                };
                let known = |j: &usize| self.chosen[*j].is(writer);
                let history = self.problem.history;
                let session = history.session_of(Txn(writer)) == history.session_of(Txn(txn)) && writer < txn;
                match reads
                    .clone()
                    .filter(known)
                    .min_by_key(|&j| self.problem.reads[j].source == Source::OPEN)
                {
                    _ if matches!(self.sight, Sight::Direct | Sight::Update) && session => vec![],
                    Some(j) => vec![(writer, txn, Reason::Read(j as u32))],
                    None => match self.conflict(writer, txn).filter(|_| self.sight == Sight::Update) {
                        Some(key) => vec![(writer, txn, Reason::Overwritten(key))],
                        None => vec![],
                    },
                }
            }
            Sight::Cursor => {
                vec![(writer, txn, Reason::Overwritten(self.problem.reads[read as usize].key))]
            }
            Sight::Updates if self.problem.is_update(txn) => vec![],
            Sight::Monotonic => self.path_earlier(paths, read, writer),
            Sight::Causal | Sight::Parallel | Sight::Updates => paths.path(writer, txn, &self.place),
        }
    }

    /// Whether the solver must report which clauses it needed. It must where saturation has not reduced what has to be proved.
    pub(super) fn has_core(&self) -> bool {
        !self.events.rules.saturates()
    }

    /// How a writer leads to an operation of a read's transaction before the read.
    fn path_earlier(&self, paths: &Paths<'_>, read: u32, writer: u32) -> Vec<Step> {
        let (op, txn) = (self.problem.reads[read as usize].op, self.problem.reads[read as usize].txn);
        let start = self.problem.history.start_of(op);
        let earlier = self.earlier(txn).into_iter().take_while(|earlier| earlier.0 < start);
        let through = earlier.filter_map(|(_, before, link)| {
            let mut path = paths.path(writer, before, &self.place);
            (writer == before || !path.is_empty()).then(|| {
                path.push((before, txn, link));
                path
            })
        });
        through.min_by_key(Vec::len).unwrap_or_default()
    }

    fn note(&mut self, constraint: Constraint) {
        let Constraint::Conflict { key, first, second } = constraint else { return };
        let is_new = self.ordered.insert((key.0, first.min(second), first.max(second)));
        if is_new || self.has_core() {
            self.needed.push(constraint);
        }
    }
}
