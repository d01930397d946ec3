//! Search: what saturation leaves open, decided by a SAT solver, and only where an order gets it wrong.
//!
//! An order of events that contains all known edges is replayed. Where a read does not find what it returned, or two writers
//! of one key overlap, the axiom that is broken there becomes a clause over *who is before whom*, and the solver finds another
//! order; and so on until nothing is broken (*holds*, and the order is the certificate) or no order is left (*violated*). So
//! the solver never hears of the many pairs of writers that no order ever gets wrong.
//!
//! The clauses, for t that reads x from w, and another writer b of x: b is before w, or t misses b. For an open read there is a
//! variable for each of its sources. An optional transaction has a variable that says whether it is there; it is when
//! somebody reads from it, and clauses about it hold only then.

use isoscope_history::{Key, Txn};
use isoscope_solve::{Budget, Lit, OrderSolver, Outcome};
use rustc_hash::FxHashMap;

use super::events::{Events, Rules};
use super::problem::{INITIAL, OPEN, Problem};
use super::sources::Sources;
use crate::certificate::Limit;
use crate::watch::Watch;

/// An axiom that an order broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axiom {
    /// If the read is from the source: the writer is before the source, or the read misses it.
    Between { read: u32, source: u32, writer: u32 },
    /// One of two writers of a key is before the other.
    Conflict { key: Key, first: u32, second: u32 },
    /// The read is from one of its sources.
    Sources { read: u32 },
}

/// What a search came to.
pub(crate) enum Found {
    /// An order of events that explains every read, and for each transaction whether it is there, if it is optional.
    Order(Vec<u32>, Vec<bool>),
    /// There is none, because of these axioms.
    Nothing(Vec<Axiom>),
    /// A limit was reached.
    Stopped(Limit),
}

/// Of the writers that come between a read and its source, so many become clauses at a time.
const AT_A_TIME: usize = 16;

/// Searches for an order, starting from one.
pub(crate) fn search(
    problem: &Problem<'_>,
    events: &Events,
    edges: &[(u32, u32)],
    order: Vec<u32>,
    watch: &dyn Watch,
) -> (Found, Vec<(&'static str, u64)>) {
    let mut search = Search {
        problem,
        rules: events.rules,
        solver: OrderSolver::new(events.nodes as usize, edges, &order),
        sources: FxHashMap::default(),
        there: FxHashMap::default(),
        open: problem.open.iter().map(|open| (open.read, &open.sources)).collect(),
        place: vec![0; events.nodes as usize],
        events,
        solved: false,
        axioms: Vec::new(),
    };
    search.begin_optional();
    let mut rounds = 0;
    let mut order = order;
    let found = loop {
        rounds += 1;
        // Whether optional transactions are there is for the solver to say.
        let broken = if search.solved || search.there.is_empty() { search.replay(&order) } else { 1 };
        if broken == 0 {
            let there = (0..problem.history.txn_count() as u32).map(|txn| search.is_there(txn)).collect();
            break Found::Order(order, there);
        }
        let mut limit = None;
        let mut stop = || {
            limit = watch.limit();
            limit.is_some()
        };
        let outcome = search.solver.solve_within(&[], Budget::stopped_by(&mut stop));
        search.solved = true;
        match outcome {
            Outcome::Sat => order = search.solver.order(),
            Outcome::Unsat => break Found::Nothing(std::mem::take(&mut search.axioms)),
            Outcome::Stopped => break Found::Stopped(limit.unwrap_or(Limit::Time)),
        }
    };
    (found, figures(rounds, &search.solver))
}

/// What a search took.
pub(super) fn figures(rounds: u64, solver: &OrderSolver) -> Vec<(&'static str, u64)> {
    let figures = solver.figures();
    vec![
        ("rounds", rounds),
        ("variables", figures.variables as u64),
        ("clauses", figures.clauses),
        ("conflicts", figures.conflicts),
        ("cycles", figures.lemmas),
    ]
}

struct Search<'a> {
    problem: &'a Problem<'a>,
    rules: Rules,
    solver: OrderSolver,
    /// By open read and source.
    sources: FxHashMap<(u32, u32), Lit>,
    /// By optional transaction.
    there: FxHashMap<u32, Lit>,
    open: FxHashMap<u32, &'a Sources>,
    place: Vec<u32>,
    events: &'a Events,
    /// Whether the solver has values yet.
    solved: bool,
    /// All axioms that became clauses.
    axioms: Vec<Axiom>,
}

impl Search<'_> {
    /// Optional transactions are there when a known read is from them.
    fn begin_optional(&mut self) {
        for txn in (0..self.problem.history.txn_count() as u32).filter(|&txn| self.problem.is_optional(txn)) {
            let lit = self.solver.variable(false);
            // The positive phase of a fresh variable is what is tried first: absence.
            self.there.insert(txn, lit);
            let Problem { history, resolved, .. } = *self.problem;
            if let Some(tick) = self.events.tick_before(history, resolved, txn) {
                let after = self.solver.before(tick, self.rules.begin(txn));
                self.solver.add_clause(&[!lit, after]);
            }
        }
        for read in &self.problem.reads {
            if self.there.contains_key(&read.txn) && read.source < OPEN {
                let before = self.solver.before(self.rules.commit(read.source), self.rules.begin(read.txn));
                let clause: Vec<Lit> = self.unless_there(read.txn).into_iter().chain([before]).collect();
                self.solver.add_clause(&clause);
            }
        }
    }

    /// The literal that an optional transaction is absent.
    fn unless_there(&self, txn: u32) -> Option<Lit> {
        self.there.get(&txn).map(|&lit| !lit)
    }

    fn is_there(&self, txn: u32) -> bool {
        self.problem.is_present(txn)
            || self.there.get(&txn).is_some_and(|&lit| self.solved && self.solver.holds(lit))
    }

    /// Replays an order and adds a clause for everything it breaks; gives their number.
    fn replay(&mut self, order: &[u32]) -> usize {
        let before = self.axioms.len();
        for (&node, i) in order.iter().zip(0..) {
            self.place[node as usize] = i;
        }
        let mut current = vec![INITIAL; self.problem.history.key_count()];
        let first_tick = self.events.first_tick;
        for &node in order.iter().filter(|&&node| node < first_tick) {
            let txn = self.rules.txn(node);
            if !self.is_there(txn) {
                continue;
            }
            if self.rules.is_begin(node) {
                for i in self.problem.reads_of(txn) {
                    let key = self.problem.reads[i].key;
                    self.check_read(i as u32, current[key.index()]);
                }
            }
            if !self.rules.split || !self.rules.is_begin(node) {
                for (key, _) in self.problem.writes_of(txn) {
                    let before = std::mem::replace(&mut current[key.index()], txn);
                    if self.rules.split && self.rules.conflicts && before != INITIAL {
                        self.check_conflict(key, before, txn);
                    }
                }
            }
        }
        self.axioms.len() - before
    }

    fn add(&mut self, axiom: Axiom, clause: &[Lit]) {
        self.solver.add_clause(clause);
        self.axioms.push(axiom);
    }

    /// Two writers of a key must not overlap.
    fn check_conflict(&mut self, key: Key, first: u32, second: u32) {
        let rules = self.rules;
        if self.place[rules.commit(first) as usize] > self.place[rules.begin(second) as usize] {
            let mut clause = vec![
                self.solver.before(rules.commit(first), rules.begin(second)),
                self.solver.before(rules.commit(second), rules.begin(first)),
            ];
            clause.extend([first, second].iter().filter_map(|&txn| self.unless_there(txn)));
            self.add(Axiom::Conflict { key, first, second }, &clause);
        }
    }

    fn check_read(&mut self, i: u32, current: u32) {
        let read = self.problem.reads[i as usize];
        if read.source != OPEN {
            if current != read.source {
                self.forbid_between(i, read.source, None);
            }
            return;
        }
        let sources = self.open[&i];
        if sources.contains(current) && (current == INITIAL || self.is_there(current)) {
            return;
        }
        let begun = sources.iter().next().is_some_and(|first| self.sources.contains_key(&(i, first)));
        let chosen: Vec<u32> = if begun {
            sources
                .iter()
                .filter(|&source| {
                    let lit = self.sources[&(i, source)];
                    self.solver.holds(lit)
                })
                .collect()
        } else {
            self.begin_open(i, sources)
        };
        for source in chosen {
            let lit = self.sources[&(i, source)];
            self.forbid_between(i, source, Some(!lit));
        }
    }

    /// Makes variables for the sources of an open read; gives the source that is tried first.
    fn begin_open(&mut self, i: u32, sources: &Sources) -> Vec<u32> {
        let read = self.problem.reads[i as usize];
        let begin = self.rules.begin(read.txn);
        let place = |source: u32| match source {
            INITIAL => Some(0),
            _ => Some(1 + self.place[self.rules.commit(source) as usize])
                .filter(|&place| place < 1 + self.place[begin as usize]),
        };
        let best = sources.iter().max_by_key(|&source| place(source));
        let tried = best.filter(|&source| place(source).is_some());
        let mut any: Vec<Lit> = self.unless_there(read.txn).into_iter().collect();
        for source in sources.iter() {
            let lit = self.solver.variable(Some(source) == best);
            self.sources.insert((i, source), lit);
            any.push(lit);
            if source != INITIAL {
                let before = self.solver.before(self.rules.commit(source), begin);
                self.solver.add_clause(&[!lit, before]);
                if let Some(&there) = self.there.get(&source) {
                    self.solver.add_clause(&[!lit, there]);
                }
            }
        }
        self.add(Axiom::Sources { read: i }, &any);
        tried.into_iter().collect()
    }

    /// Nobody may write the key between a source and a read of it: forbids those that do so now.
    fn forbid_between(&mut self, i: u32, source: u32, unless: Option<Lit>) {
        let read = self.problem.reads[i as usize];
        let (rules, begin) = (self.rules, self.rules.begin(read.txn));
        let until = self.place[begin as usize];
        let from = if source == INITIAL { 0 } else { self.place[rules.commit(source) as usize] + 1 };
        let mut between: Vec<(u32, u32)> = Vec::new();
        for &Txn(writer) in self.problem.history.writers(read.key) {
            let place = self.place[rules.commit(writer) as usize];
            if (from..until).contains(&place) && writer != read.txn && self.is_there(writer) {
                between.push((place, writer));
            }
        }
        between.sort_unstable();
        for &(_, writer) in between.iter().rev().take(AT_A_TIME) {
            let mut clause: Vec<Lit> = unless.into_iter().collect();
            clause.extend([read.txn, writer].iter().filter_map(|&txn| self.unless_there(txn)));
            clause.push(self.solver.before(begin, rules.commit(writer)));
            if source != INITIAL {
                clause.push(self.solver.before(rules.commit(writer), rules.overwrite(source)));
            }
            self.add(Axiom::Between { read: i, source, writer }, &clause);
        }
    }
}
