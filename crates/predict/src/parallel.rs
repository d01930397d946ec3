//! What an order breaks of parallel snapshot isolation.
//!
//! The order of commits gives the order of the writers of each key. A transaction must have seen all that leads to it along sessions, reads
//! and overwrites: if it reads `k` from `w`, and `u`, which it must have seen, writes `k`, then `u` is before `w`. The path from `u` to
//! the reader guards the clause, with a literal for each read of a boundary form and each overwrite on it.

use isoscope_solve::Lit;
use rustc_hash::FxHashMap;

use crate::lazy::Lazy;
use crate::problem::INITIAL;

/// The most writers that one read must have seen and misses that become clauses in one round.
const AT_A_TIME: usize = 4;

/// A step to a form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// From its session.
    Session,
    /// From the source of this read.
    Read(usize),
    /// From an earlier writer of the key.
    Overwrite(u32),
}

/// What leads to each form, and what it must have seen.
struct Links {
    steps: Vec<Vec<(usize, Step)>>,
    width: usize,
    seen: Vec<u64>,
}

impl Links {
    fn sees(&self, at: usize, other: usize) -> bool {
        self.seen[at * self.width + other / 64] >> (other % 64) & 1 == 1
    }
}

impl Lazy<'_, '_> {
    pub(crate) fn parallel(&mut self) {
        let number: FxHashMap<u32, usize> =
            self.forms.iter().enumerate().map(|(at, form)| (form.txn, at)).collect();
        let mut by_place: Vec<usize> = (0..self.forms.len()).collect();
        by_place.sort_unstable_by_key(|&at| self.place[self.node_of(at) as usize]);
        if self.misplaced_sources(&number) {
            return;
        }
        let links = self.links(&number, &by_place);
        let mut writers: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for &at in &by_place {
            for &key in &self.forms[at].writes {
                writers.entry(key).or_default().push(at);
            }
        }
        for at in 0..self.forms.len() {
            for i in 0..self.forms[at].reads.len() {
                let (key, source) = self.forms[at].reads[i];
                let from = (source != INITIAL).then(|| number[&source]);
                let from_place = from.map(|from| self.place[self.node_of(from) as usize]);
                let later = |other: &usize| {
                    let place = self.place[self.node_of(*other) as usize];
                    *other != at && Some(*other) != from && from_place.is_none_or(|from| place > from)
                };
                let writers = writers.get(&key).map_or(&[][..], Vec::as_slice).iter().copied();
                let missed: Vec<usize> =
                    writers.filter(later).filter(|&other| links.sees(at, other)).take(AT_A_TIME).collect();
                for other in missed {
                    self.forbid(&links, at, i, from, other);
                }
            }
        }
    }

    fn node_of(&self, at: usize) -> u32 {
        let form = &self.forms[at];
        if form.is_boundary { self.encoder.boundary_commit(form.txn) } else { self.encoder.commit(form.txn) }
    }

    /// Requires sources to be before the boundary forms that read from them; whether one was not.
    fn misplaced_sources(&mut self, number: &FxHashMap<u32, usize>) -> bool {
        let mut any = false;
        for at in 0..self.forms.len() {
            let form = self.forms[at].clone();
            if !form.is_boundary {
                continue;
            }
            for (i, &(_, source)) in
                form.reads.iter().enumerate().filter(|(_, (_, source))| *source != INITIAL)
            {
                let (from, to) = (self.node_of(number[&source]), self.node_of(at));
                if self.place[from as usize] > self.place[to as usize] {
                    let before = self.encoder.solver.before(from, to);
                    let chosen = self.chosen(&form, i);
                    self.clause(&[!chosen, before]);
                    any = true;
                }
            }
        }
        any
    }

    /// What leads to each form: its session, its sources, and for each key it may write the writer before it.
    fn links(&self, number: &FxHashMap<u32, usize>, by_place: &[usize]) -> Links {
        let problem = self.encoder.problem;
        let width = self.forms.len().div_ceil(64);
        let mut links = Links {
            steps: vec![Vec::new(); self.forms.len()],
            width,
            seen: vec![0; self.forms.len() * width],
        };
        let mut last: FxHashMap<u32, usize> = FxHashMap::default();
        for &at in by_place {
            let form = &self.forms[at];
            let mut steps: Vec<(usize, Step)> = Vec::new();
            steps.extend(problem.before(form.txn).map(|before| (number[&before], Step::Session)));
            for (i, &(_, source)) in form.reads.iter().enumerate() {
                if source != INITIAL {
                    steps.push((number[&source], Step::Read(i)));
                }
            }
            for key in problem.txn(form.txn).conflicts() {
                let before = last.insert(key, at);
                steps.extend(before.map(|before| (before, Step::Overwrite(key))));
            }
            for &(from, _) in &steps {
                for word in 0..width {
                    links.seen[at * width + word] |= links.seen[from * width + word];
                }
                links.seen[at * width + from / 64] |= 1 << (from % 64);
            }
            links.steps[at] = steps;
        }
        links
    }

    /// Forbids that a read misses a writer that the reader must have seen.
    fn forbid(&mut self, links: &Links, at: usize, i: usize, from: Option<usize>, other: usize) {
        let chosen = self.chosen(&self.forms[at], i);
        let mut clause: Vec<Lit> = vec![!chosen];
        let key = self.forms[at].reads[i].0;
        let writer = &self.forms[other];
        let writes =
            if writer.is_boundary { self.encoder.writes(writer.txn, key) } else { self.included(writer) };
        clause.push(!writes);
        // The path, from its end; overwrites of one key that follow each other are one.
        let mut node = at;
        let mut overwrite: Option<(u32, usize)> = None;
        while node != other {
            let step = links.steps[node].iter().find(|&&(from, _)| from == other || links.sees(from, other));
            let &(before, step) = step.expect("a path leads to what is seen");
            if let Some((key, to)) = overwrite
                && step != Step::Overwrite(key)
            {
                self.push_overwrite(&mut clause, node, to);
                overwrite = None;
            }
            match step {
                Step::Session => {}
                Step::Read(read) => clause.push(!self.chosen(&self.forms[node], read)),
                Step::Overwrite(key) => overwrite = overwrite.or(Some((key, node))),
            }
            node = before;
        }
        if let Some((_, to)) = overwrite {
            self.push_overwrite(&mut clause, node, to);
        }
        if let Some(from) = from {
            let (first, second) = (self.node_of(other), self.node_of(from));
            clause.push(self.encoder.solver.before(first, second));
        }
        clause.sort_unstable();
        clause.dedup();
        self.clause(&clause);
    }

    /// Adds that one writer does not overwrite another: one is not included, or they are in the other order.
    fn push_overwrite(&mut self, clause: &mut Vec<Lit>, from: usize, to: usize) {
        let (one, other) = (self.included(&self.forms[from]), self.included(&self.forms[to]));
        let (from, to) = (self.node_of(from), self.node_of(to));
        let reverse = self.encoder.solver.before(to, from);
        clause.extend([!one, !other, reverse]);
    }
}
