//! What an order breaks of prefix consistency and snapshot isolation.
//!
//! A transaction sees the commits before its begin, so the writer of a read is the last writer of the key among them. A boundary form at
//! prefix has a commit that nothing depends on, which can be last: its writes count only at snapshot isolation.

use isoscope_levels::Level;
use rustc_hash::FxHashMap;

use crate::lazy::Lazy;
use crate::problem::INITIAL;

/// The most writers between a read and its source that become clauses in one round.
const AT_A_TIME: usize = 8;

impl Lazy<'_, '_> {
    pub(crate) fn snapshots(&mut self) {
        let is_snapshot = self.encoder.level == Level::Snapshot;
        let mut writers: FxHashMap<u32, Vec<(u32, usize)>> = FxHashMap::default();
        for (at, form) in self.forms.iter().enumerate() {
            if form.is_boundary && !is_snapshot {
                continue;
            }
            let commit = self.place[self.commit_of(at) as usize];
            for &key in &form.writes {
                writers.entry(key).or_default().push((commit, at));
            }
        }
        for writers in writers.values_mut() {
            writers.sort_unstable();
        }
        for at in 0..self.forms.len() {
            for i in 0..self.forms[at].reads.len() {
                let key = self.forms[at].reads[i].0;
                let writers = writers.get(&key).map_or(&[][..], Vec::as_slice);
                self.check_read(at, i, writers, is_snapshot);
            }
        }
        if is_snapshot {
            self.check_conflicts();
        }
    }

    fn commit_of(&self, at: usize) -> u32 {
        let form = &self.forms[at];
        if form.is_boundary { self.encoder.boundary_commit(form.txn) } else { self.encoder.commit(form.txn) }
    }

    fn begin_of(&self, at: usize) -> u32 {
        self.encoder.begin(self.forms[at].txn, self.forms[at].is_boundary)
    }

    /// Checks that a read has the last writer before its begin.
    fn check_read(&mut self, at: usize, i: usize, writers: &[(u32, usize)], is_snapshot: bool) {
        let form = self.forms[at].clone();
        let source = form.reads[i].1;
        let chosen = self.chosen(&form, i);
        let begin = self.begin_of(at);
        let until = self.place[begin as usize];
        let mut from = None;
        if source != INITIAL {
            let commit = self.encoder.commit(source);
            if self.place[commit as usize] > until {
                let before = self.encoder.solver.before(commit, begin);
                self.clause(&[!chosen, before]);
            }
            let event = if is_snapshot { self.encoder.begin(source, false) } else { commit };
            from = Some((self.place[event as usize], event));
        }
        let seen = writers.partition_point(|&(commit, _)| commit < until);
        let between = writers[..seen].iter().rev();
        let between = between.take_while(|&&(commit, _)| from.is_none_or(|(place, _)| commit > place));
        let between: Vec<usize> = between.map(|&(_, writer)| writer).collect();
        let is_other = |&writer: &usize| {
            writer != at && (self.forms[writer].is_boundary || self.forms[writer].txn != source)
        };
        let between: Vec<usize> = between.into_iter().filter(is_other).take(AT_A_TIME).collect();
        for writer in between {
            let commit = self.commit_of(writer);
            let key = form.reads[i].0;
            let other = &self.forms[writer];
            let writes =
                if other.is_boundary { self.encoder.writes(other.txn, key) } else { self.included(other) };
            let mut clause = vec![!chosen, !writes, self.encoder.solver.before(begin, commit)];
            if let Some((_, event)) = from {
                clause.push(self.encoder.solver.before(commit, event));
            }
            self.clause(&clause);
        }
    }

    /// Checks that no two transactions that may write a key overlap.
    fn check_conflicts(&mut self) {
        let problem = self.encoder.problem;
        let mut writers: FxHashMap<u32, Vec<(u32, usize)>> = FxHashMap::default();
        for (at, form) in self.forms.iter().enumerate() {
            let commit = self.place[self.commit_of(at) as usize];
            for key in problem.txn(form.txn).conflicts() {
                writers.entry(key).or_default().push((commit, at));
            }
        }
        let mut keys: Vec<u32> = writers.keys().copied().collect();
        keys.sort_unstable();
        for key in keys {
            let mut writers = writers.remove(&key).unwrap_or_default();
            writers.sort_unstable();
            for pair in writers.windows(2) {
                let (first, second) = (pair[0].1, pair[1].1);
                let begin = self.begin_of(second);
                if pair[0].0 < self.place[begin as usize] {
                    continue;
                }
                let (one, other) = (self.included(&self.forms[first]), self.included(&self.forms[second]));
                let commit = self.commit_of(first);
                let before = self.encoder.solver.before(commit, begin);
                let (commit, begin) = (self.commit_of(second), self.begin_of(first));
                let after = self.encoder.solver.before(commit, begin);
                self.clause(&[!one, !other, before, after]);
            }
        }
    }
}
