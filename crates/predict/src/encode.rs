//! Candidates as variables, and the clauses that make an assignment a candidate.
//!
//! | literal | meaning |
//! |---|---|
//! | full(t) | `t` is full |
//! | bound(t) | `t` is a boundary transaction |
//! | R(r) | read `r` is in its boundary transaction |
//! | c(r,w) | read `r` is in its boundary transaction and has the writer `w` |
//! | ge(r,j) | the same, and the writer is the `j`-th of the key in observed order or a later one; the initial state is the 0th |
//!
//! With a relaxed boundary, R(r) is bound(t). With a strict boundary, R of a read implies that the read before it has its observed
//! writer: so only the last included read is free.
//!
//! Nodes of the order: a commit for each full form and, depending on the level, a begin, and the same for boundary forms. The edges of
//! session order and of the observed reads-from hold whatever is included: what is left out can be last.
//!
//! A *window* bounds the work: what is before it is full, what is after it is left out, and only its transactions can be boundary
//! transactions.

use isoscope_levels::Level;
use isoscope_solve::{Lit, OrderSolver};
use rustc_hash::FxHashMap;

use crate::candidate::{Boundary, Candidate};
use crate::engine::Fact;
use crate::problem::{INITIAL, Problem};

/// The transactions that can be boundary transactions, and how old the writers may be that they read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// The most versions between the observed writer of a read and an older one.
    pub(crate) staleness: u32,
}

/// A writer that a read can have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    /// The writer, or [`INITIAL`].
    pub(crate) writer: u32,
    /// 0 for the initial state, 1 for the first writer of the key.
    pub(crate) index: u32,
    pub(crate) lit: Lit,
}

/// The variables of a read of a transaction that can be a boundary transaction.
pub(crate) struct ReadVars {
    pub(crate) txn: u32,
    /// Its place among the reads of the transaction.
    pub(crate) place: usize,
    pub(crate) key: u32,
    pub(crate) observed: u32,
    pub(crate) included: Lit,
    /// Ascending by index.
    pub(crate) choices: Vec<Choice>,
    /// For each choice: this one or a later one.
    later: Vec<Lit>,
}

impl ReadVars {
    pub(crate) fn choice(&self, writer: u32) -> Option<Lit> {
        self.choices.iter().find(|choice| choice.writer == writer).map(|choice| choice.lit)
    }
}

/// See the module.
pub(crate) struct Encoder<'p> {
    pub(crate) problem: &'p Problem<'p>,
    pub(crate) level: Level,
    pub(crate) window: Window,
    pub(crate) solver: OrderSolver,
    /// A literal that always holds.
    pub(crate) yes: Lit,
    full: Vec<Lit>,
    bound: Vec<Option<Lit>>,
    pub(crate) reads: Vec<ReadVars>,
    /// Where the reads of each transaction begin.
    first_read: Vec<u32>,
    /// By two literals, one that implies both.
    both: FxHashMap<(Lit, Lit), Lit>,
}

/// Which events a level has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Events {
    /// Commits of full forms.
    Full,
    /// Commits of all forms.
    Commits,
    /// Begins and commits of all forms.
    Both,
}

fn events(level: Level) -> Events {
    match level {
        Level::Prefix | Level::Snapshot => Events::Both,
        Level::ParallelSnapshot => Events::Commits,
        _ => Events::Full,
    }
}

impl<'p> Encoder<'p> {
    /// The candidates of a window as variables and clauses. `allows` says which writers a level rules out from the start.
    pub(crate) fn new(
        problem: &'p Problem<'p>,
        level: Level,
        window: Window,
        allows: &dyn Fn(u32, u32, u32) -> bool,
    ) -> Encoder<'p> {
        let (nodes, edges) = graph(problem, level, window.end);
        let order: Vec<u32> = (0..nodes as u32).collect();
        let mut solver = OrderSolver::new(nodes, &edges, &order);
        let yes = solver.variable(true);
        solver.add_clause(&[yes]);
        let count = window.end as usize;
        let mut encoder = Encoder {
            problem,
            level,
            window,
            solver,
            yes,
            full: Vec::with_capacity(count),
            bound: vec![None; count],
            reads: Vec::new(),
            first_read: vec![0; count + 1],
            both: FxHashMap::default(),
        };
        for number in 0..window.end {
            let lit = match () {
                () if problem.txn(number).is_variant => !yes,
                () if number < window.start => yes,
                () => encoder.solver.variable(false),
            };
            encoder.full.push(lit);
        }
        for number in 0..window.end {
            encoder.first_read[number as usize] = encoder.reads.len() as u32;
            if number >= window.start {
                encoder.add_full(number);
                encoder.add_boundary(number, allows);
            }
        }
        encoder.first_read[count] = encoder.reads.len() as u32;
        encoder
    }

    pub(crate) fn no(&self) -> Lit {
        !self.yes
    }

    pub(crate) fn full(&self, number: u32) -> Lit {
        self.full[number as usize]
    }

    /// The literal that a transaction is a boundary transaction, if it can be one.
    pub(crate) fn bound(&self, number: u32) -> Option<Lit> {
        self.bound[number as usize]
    }

    /// The reads of a transaction that can be a boundary transaction.
    pub(crate) fn reads_of(&self, number: u32) -> std::ops::Range<usize> {
        self.first_read[number as usize] as usize..self.first_read[number as usize + 1] as usize
    }

    /// The read `r` has the `index`-th writer or a later one.
    pub(crate) fn at_or_after(&self, read: usize, index: u32) -> Lit {
        let read = &self.reads[read];
        let place = read.choices.partition_point(|choice| choice.index < index);
        read.later.get(place).copied().unwrap_or(self.no())
    }

    /// The boundary form of a transaction writes a key.
    pub(crate) fn writes(&self, number: u32, key: u32) -> Lit {
        let Some(bound) = self.bound(number) else { return self.no() };
        let Some(write) = self.problem.txn(number).writes.iter().find(|write| write.key == key) else {
            return self.no();
        };
        if !self.problem.strict {
            return bound;
        }
        let reads = self.reads_of(number);
        let read = reads.start + write.after as usize;
        if read < reads.end { self.reads[read].included } else { self.no() }
    }

    /// A literal that implies both.
    pub(crate) fn both(&mut self, a: Lit, b: Lit) -> Lit {
        if a == self.yes {
            return b;
        }
        if b == self.yes {
            return a;
        }
        if let Some(&lit) = self.both.get(&(a, b)) {
            return lit;
        }
        let lit = self.solver.variable(false);
        self.solver.add_clause(&[!lit, a]);
        self.solver.add_clause(&[!lit, b]);
        self.both.insert((a, b), lit);
        lit
    }

    /// A full transaction follows full ones.
    fn add_full(&mut self, number: u32) {
        let full = self.full(number);
        let before = self.problem.before(number);
        let sources = self.problem.txn(number).reads.iter().map(|read| read.source);
        let needed: Vec<u32> = sources.filter(|&source| source != INITIAL).chain(before).collect();
        for needed in needed {
            let needed = self.full(needed);
            self.solver.add_clause(&[!full, needed]);
        }
    }

    /// A boundary transaction follows full ones, reads from full ones, and some read of it is changed.
    fn add_boundary(&mut self, number: u32, allows: &dyn Fn(u32, u32, u32) -> bool) {
        let txn = self.problem.txn(number);
        let writers: Vec<Vec<(u32, u32)>> =
            txn.reads.iter().map(|read| self.choices(number, read.key, read.source, allows)).collect();
        // On the values of the run, an attempt that was rolled back has no form there.
        let must_change = self.problem.observed.took_effect(number as usize);
        if must_change && writers.iter().all(|writers| writers.len() <= 1) {
            return;
        }
        let bound = self.solver.variable(false);
        self.bound[number as usize] = Some(bound);
        let full = self.full(number);
        self.solver.add_clause(&[!bound, !full]);
        self.exclude_forms(number, bound);
        if let Some(before) = self.problem.before(number) {
            let before = self.full(before);
            self.solver.add_clause(&[!bound, before]);
        }
        let mut changed = vec![!bound];
        let mut last: Option<(Lit, Lit)> = None;
        for (place, writers) in writers.into_iter().enumerate() {
            let read = &txn.reads[place];
            let included = match last {
                Some((included, observed)) if self.problem.strict => {
                    let lit = self.solver.variable(false);
                    self.solver.add_clause(&[!lit, included]);
                    self.solver.add_clause(&[!lit, observed]);
                    lit
                }
                _ => bound,
            };
            let vars = self.add_read((number, place), (read.key, read.source), included, &writers);
            let observed = vars.choice(read.source).unwrap_or(self.no());
            let others = vars.choices.iter().filter(|choice| choice.writer != read.source);
            changed.extend(others.map(|choice| choice.lit));
            last = Some((included, observed));
            self.reads.push(vars);
        }
        if must_change {
            self.solver.add_clause(&changed);
        }
    }

    /// A form and another one at its place in the session are not both included.
    fn exclude_forms(&mut self, number: u32, bound: Lit) {
        let txn = self.problem.txn(number);
        if let Some(other) = self.problem.at(txn.session, txn.place).filter(|&other| other < self.window.end)
            && other != number
        {
            let full = self.full(other);
            self.solver.add_clause(&[!bound, !full]);
        }
        let others: Vec<Lit> = self.forms_at(txn.session, txn.place).filter(|&lit| lit != bound).collect();
        for other in others {
            self.solver.add_clause(&[!bound, !other]);
        }
    }

    /// The literals of the boundary forms at a place of a session.
    fn forms_at(&self, session: u32, place: u32) -> impl Iterator<Item = Lit> + '_ {
        let is_there = move |number: &u32| {
            let txn = self.problem.txn(*number);
            txn.session == session && txn.place == place
        };
        (self.window.start..self.window.end).filter(is_there).filter_map(|number| self.bound(number))
    }

    /// The writers that a read of a boundary transaction can have, each with its index, ascending.
    fn choices(
        &self,
        number: u32,
        key: u32,
        observed: u32,
        allows: &dyn Fn(u32, u32, u32) -> bool,
    ) -> Vec<(u32, u32)> {
        let problem = self.problem;
        let writers = &problem.writers[key as usize];
        let current = writers.partition_point(|&writer| writer < number) as u32;
        let oldest = current.saturating_sub(self.window.staleness);
        let all = std::iter::once(INITIAL).chain(writers.iter().copied()).zip(0..);
        let is_possible = |&(writer, index): &(u32, u32)| {
            if writer == observed {
                return true;
            }
            if writer != INITIAL && problem.txn(writer).is_variant {
                return false;
            }
            let in_window = index >= oldest && (writer == INITIAL || writer < self.window.end);
            let is_after = writer != INITIAL && (writer == number || problem.hb(number, writer));
            in_window && !is_after && allows(number, key, writer)
        };
        all.filter(is_possible).collect()
    }

    /// Makes the variables of a read: exactly one choice if it is included.
    fn add_read(
        &mut self,
        (txn, place): (u32, usize),
        (key, observed): (u32, u32),
        included: Lit,
        writers: &[(u32, u32)],
    ) -> ReadVars {
        let mut later = vec![included];
        while later.len() < writers.len() {
            let lit = self.solver.variable(false);
            let before = later[later.len() - 1];
            self.solver.add_clause(&[!lit, before]);
            later.push(lit);
        }
        let mut choices = Vec::with_capacity(writers.len());
        for (i, &(writer, index)) in writers.iter().enumerate() {
            let lit = self.solver.variable(false);
            self.solver.add_clause(&[!lit, later[i]]);
            let mut implied = vec![lit, !later[i]];
            if let Some(&next) = later.get(i + 1) {
                self.solver.add_clause(&[!lit, !next]);
                implied.push(next);
            }
            self.solver.add_clause(&implied);
            if writer != INITIAL {
                let full = self.full(writer);
                self.solver.add_clause(&[!lit, full]);
            }
            choices.push(Choice { writer, index, lit });
        }
        ReadVars { txn, place, key, observed, included, choices, later }
    }

    /// The node of a full form's commit.
    pub(crate) fn commit(&self, number: u32) -> u32 {
        match events(self.level) {
            Events::Full => number,
            Events::Commits => 2 * number,
            Events::Both => 4 * number + 1,
        }
    }

    /// The node of a boundary form's commit.
    pub(crate) fn boundary_commit(&self, number: u32) -> u32 {
        match events(self.level) {
            Events::Full => unreachable!("boundary forms have no events at this level"),
            Events::Commits => 2 * number + 1,
            Events::Both => 4 * number + 3,
        }
    }

    /// The node of a form's begin.
    pub(crate) fn begin(&self, number: u32, is_boundary: bool) -> u32 {
        debug_assert!(events(self.level) == Events::Both, "only snapshots have begins");
        4 * number + 2 * u32::from(is_boundary)
    }

    /// The candidate of the last assignment.
    pub(crate) fn candidate(&self) -> Candidate {
        let problem = self.problem;
        let is_full = |&&number: &&u32| number < self.window.end && self.solver.holds(self.full(number));
        let prefix = problem.sessions.iter().map(|session| session.iter().take_while(is_full).count() as u32);
        let mut candidate = Candidate { prefix: prefix.collect(), boundary: Vec::new() };
        for number in self.window.start..self.window.end {
            if !self.bound(number).is_some_and(|bound| self.solver.holds(bound)) {
                continue;
            }
            let reads = self.reads_of(number).map(|read| &self.reads[read]);
            let included = reads.take_while(|read| self.solver.holds(read.included));
            let source = |read: &ReadVars| {
                let choice = read.choices.iter().find(|choice| self.solver.holds(choice.lit));
                choice.map_or(read.observed, |choice| choice.writer)
            };
            candidate.boundary.push(Boundary { txn: number, sources: included.map(source).collect() });
        }
        debug_assert!(candidate.check(problem), "an assignment is a candidate");
        candidate
    }

    /// Forbids all candidates that have these facts.
    pub(crate) fn forbid_facts(&mut self, facts: &[Fact]) {
        let lit = |&fact: &Fact| match fact {
            Fact::Full(number) => self.full(number),
            Fact::Writes(number, key) => self.writes(number, key),
            Fact::Reads(number, read, source) => {
                let read = self.reads_of(number).start + read as usize;
                self.reads[read].choice(source).unwrap_or(self.no())
            }
        };
        let clause: Vec<Lit> = facts.iter().map(|fact| !lit(fact)).collect();
        self.solver.add_clause(&clause);
    }

    /// Forbids one candidate and no other.
    pub(crate) fn forbid(&mut self, candidate: &Candidate) {
        let problem = self.problem;
        let mut clause = Vec::new();
        for (session, &prefix) in (0..).zip(&candidate.prefix) {
            if let Some(last) = prefix.checked_sub(1).and_then(|last| problem.at(session, last)) {
                clause.push(!self.full(last));
            }
            if let Some(next) = problem.at(session, prefix).filter(|&next| next < self.window.end) {
                clause.push(self.full(next));
            }
            let is_in = |boundary: &Boundary| problem.txn(boundary.txn).session == session;
            if !candidate.boundary.iter().any(is_in) {
                clause.extend(self.forms_at(session, prefix));
            }
        }
        for boundary in &candidate.boundary {
            let reads = self.reads_of(boundary.txn);
            for (read, &source) in reads.clone().zip(&boundary.sources) {
                let lit = self.reads[read].choice(source).unwrap_or(self.no());
                clause.push(!lit);
            }
            let next = reads.start + boundary.sources.len();
            if next < reads.end {
                clause.push(self.reads[next].included);
            }
        }
        self.solver.add_clause(&clause);
    }
}

/// The nodes of a level, and the edges that always hold.
fn graph(problem: &Problem<'_>, level: Level, end: u32) -> (usize, Vec<(u32, u32)>) {
    let events = events(level);
    let (width, commit) = match events {
        Events::Full => (1, 0),
        Events::Commits => (2, 0),
        Events::Both => (4, 1),
    };
    let mut edges = Vec::new();
    for number in 0..end {
        let first = width * number;
        if events == Events::Both {
            edges.extend([(first, first + 1), (first + 2, first + 3)]);
        }
        let before = problem.before(number);
        let sources = problem.txn(number).reads.iter().map(|read| read.source);
        for from in sources.filter(|&source| source != INITIAL).chain(before) {
            edges.push((width * from + commit, first));
        }
        if events != Events::Full {
            edges.extend(before.map(|before| (width * before + commit, first + width / 2)));
        }
    }
    edges.sort_unstable();
    edges.dedup();
    ((width * end) as usize, edges)
}
