//! Memoised search: depth first over schedules, no state twice.
//!
//! How a schedule can continue depends only on the progress of each session and on the value that each key holds. Where few
//! values are written by few sessions, many schedules meet in one state, and each state is entered once. This is what
//! decides histories of few values, for which neither saturation nor the SAT solver learns much from a conflict.
//!
//! An event that changes no key and keeps no other event from running runs as soon as it can: to run it later helps no other event.
//! All other events that can run are alternatives; those with the earliest rank (`linearise.rs`) are tried first.
//!
//! A bad choice near the beginning is detected late. So the search restarts from time to time with ranks that are changed a
//! little at random. States from which no schedule runs to the end stay known.
//!
//! A schedule that runs to the end is a certificate. A search that finds none proves nothing: the number of steps is
//! bounded, states are remembered by their hash, and it would give no proof.

use std::hash::BuildHasher;

use isoscope_history::{Key, Value};
use isoscope_order::Graph;
use rustc_hash::{FxBuildHasher, FxHashSet};

use super::events::Events;
use super::linearise::ranks;
use super::problem::Problem;
use crate::watch::{Turnstile, Watch};

/// The search is given up after this many looks at an event,
const MOST_LOOKS: u64 = 1 << 23;
/// and begins again after this many.
const LOOKS_AT_A_TIME: u64 = 1 << 18;

/// Whether the search may help. A state counts how far the sessions have come, so the level must have sessions. Without values that
/// repeat, few schedules lead to the same state. The versions of lists do not repeat.
pub(super) fn applies(problem: &Problem<'_>, events: &Events) -> bool {
    let history = problem.history;
    events.rules.sessions
        && events.rules.says_sources()
        && !problem.open.is_empty()
        && !history.has_lists()
        && !history.txns().any(|txn| problem.is_optional(txn.0))
}

/// A schedule of all events that explains every read, if one is found, and the number of states entered.
pub(super) fn search(
    problem: &Problem<'_>,
    events: &Events,
    edges: &[(u32, u32)],
    watch: &dyn Watch,
) -> (Option<Vec<u32>>, usize) {
    debug_assert!(applies(problem, events));
    let turnstile = Turnstile::new(watch);
    let mut run = Run::new(problem, events, edges);
    let mut attempt = 0;
    let found = loop {
        match run.go(&turnstile) {
            None if run.looks < MOST_LOOKS && turnstile.reached().is_none() => {
                attempt += 1;
                run.begin_again(attempt);
            }
            found => break found == Some(true),
        }
    };
    (found.then_some(run.order), run.seen.len())
}

/// The events of a session, or all ticks: they run in the order of their numbers.
struct Chain {
    next: u32,
    end: u32,
}

/// A state with alternatives.
struct Branch {
    /// How many events had run.
    ran: usize,
    hash: u64,
    /// Those still to be tried, the best last.
    events: Vec<u32>,
}

struct Run<'a> {
    problem: &'a Problem<'a>,
    events: &'a Events,
    successors: Graph,
    /// For each transaction, its place by rank.
    given_rank: Vec<u64>,
    /// The same, as changed for this attempt.
    rank: Vec<u64>,
    chains: Vec<Chain>,
    /// Predecessors that have not run, for each event.
    waiting: Vec<u32>,
    /// What each key holds.
    held: Vec<Value>,
    /// How many transactions that write the key have begun and not committed.
    active: Vec<u32>,
    order: Vec<u32>,
    /// For each commit in the order, what the keys held before that it wrote, in the order of its writes.
    overwritten: Vec<Value>,
    /// The hash of the progress of the chains and of what the keys hold.
    hash: u64,
    seen: FxHashSet<u64>,
    looks: u64,
}

impl<'a> Run<'a> {
    fn new(problem: &'a Problem<'a>, events: &'a Events, edges: &[(u32, u32)]) -> Self {
        let history = problem.history;
        let rules = events.rules;
        let mut waiting = vec![0; events.nodes as usize];
        for &(_, to) in edges {
            waiting[to as usize] += 1;
        }
        let session = |session| {
            let txns = history.txn_range(session);
            Chain { next: rules.begin(txns.start), end: rules.begin(txns.end) }
        };
        let ranks = ranks(history, events, edges);
        let mut by_rank: Vec<usize> = (0..ranks.len()).collect();
        by_rank.sort_by_key(|&txn| ranks[txn]);
        let mut given_rank = vec![0; ranks.len()];
        for (txn, place) in by_rank.into_iter().zip(0..) {
            given_rank[txn] = place;
        }
        let ticks = Chain { next: events.first_tick, end: events.nodes };
        Run {
            problem,
            events,
            successors: Graph::from_edges(events.nodes as usize, edges),
            rank: given_rank.clone(),
            given_rank,
            chains: history.sessions().map(session).chain([ticks]).collect(),
            waiting,
            held: history.keys().map(|key| history.initial(key)).collect(),
            active: vec![0; history.key_count()],
            order: Vec::with_capacity(events.nodes as usize),
            overwritten: Vec::new(),
            hash: 0,
            seen: FxHashSet::default(),
            looks: 0,
        }
    }

    /// Whether there is a schedule, which is the order then; `None` when the looks of this attempt were used up.
    fn go(&mut self, turnstile: &Turnstile<'_>) -> Option<bool> {
        let most = self.looks + LOOKS_AT_A_TIME;
        let mut branches: Vec<Branch> = Vec::new();
        loop {
            self.run_harmless();
            if self.order.len() == self.events.nodes as usize {
                return Some(true);
            }
            if self.seen.insert(self.hash) {
                let (ran, hash) = (self.order.len(), self.hash);
                branches.push(Branch { ran, hash, events: self.alternatives() });
            }
            loop {
                let Some(branch) = branches.last_mut() else { return Some(false) };
                if self.looks > most || !turnstile.step() {
                    // From these, not all ways were tried.
                    for branch in &branches {
                        self.seen.remove(&branch.hash);
                    }
                    return None;
                }
                let (ran, next) = (branch.ran, branch.events.pop());
                while self.order.len() > ran {
                    self.undo();
                }
                match next {
                    Some(event) => {
                        self.run(event);
                        break;
                    }
                    None => drop(branches.pop()),
                }
            }
        }
    }

    /// Returns to the beginning, and changes the ranks: the later the attempt, the more.
    fn begin_again(&mut self, attempt: u64) {
        while !self.order.is_empty() {
            self.undo();
        }
        for (rank, txn) in self.rank.iter_mut().zip(0..) {
            *rank = self.given_rank[txn] + mix(attempt << 32 | txn as u64) % (4 * attempt);
        }
    }

    /// The next event of a chain, if it can run.
    fn next(&mut self, chain: usize) -> Option<u32> {
        self.looks += 1;
        let Chain { next, end } = self.chains[chain];
        (next < end && self.waiting[next as usize] == 0 && self.can_run(next)).then_some(next)
    }

    /// Runs what changes nothing for others, until nothing of the kind is left.
    fn run_harmless(&mut self) {
        let mut chain = 0;
        let mut idle = 0;
        while idle < self.chains.len() {
            if let Some(event) = self.next(chain).filter(|&event| self.is_harmless(event)) {
                self.run(event);
                idle = 0;
            } else {
                idle += 1;
                chain = (chain + 1) % self.chains.len();
            }
        }
    }

    /// The events that can run, the best last.
    fn alternatives(&mut self) -> Vec<u32> {
        let mut events: Vec<u32> = (0..self.chains.len()).filter_map(|chain| self.next(chain)).collect();
        events.sort_by_key(|&event| std::cmp::Reverse(self.rank[self.events.rules.txn(event) as usize]));
        events
    }

    /// The transaction of an event, if it took effect.
    fn txn_of(&self, event: u32) -> Option<u32> {
        let txn = (event < self.events.first_tick).then(|| self.events.rules.txn(event))?;
        self.problem.is_present(txn).then_some(txn)
    }

    fn begins(&self, event: u32) -> bool {
        self.events.rules.is_begin(event)
    }

    fn commits(&self, event: u32) -> bool {
        !self.events.rules.split || !self.events.rules.is_begin(event)
    }

    fn is_harmless(&self, event: u32) -> bool {
        let rules = self.events.rules;
        let Some(txn) = self.txn_of(event) else { return true };
        let only_begins = rules.split && rules.is_begin(event) && !rules.conflicts;
        only_begins || self.problem.writes_of(txn).next().is_none()
    }

    /// Whether the keys hold what the transaction read, and no other writer is active where that is forbidden.
    fn can_run(&self, event: u32) -> bool {
        let Some(txn) = self.txn_of(event).filter(|_| self.begins(event)) else { return true };
        let Problem { history, reads, .. } = self.problem;
        let rules = self.events.rules;
        let finds = |i: usize| self.held[reads[i].key.index()] == history.op(reads[i].op).value;
        let is_free = |(key, _): (Key, Value)| self.active[key.index()] == 0;
        let alone = rules.split && rules.conflicts;
        self.problem.reads_of(txn).all(finds) && (!alone || self.problem.writes_of(txn).all(is_free))
    }

    fn run(&mut self, event: u32) {
        self.order.push(event);
        self.turn(event, event + 1);
        for i in 0..self.successors.successors(event).len() {
            self.waiting[self.successors.successors(event)[i] as usize] -= 1;
        }
        let Some(txn) = self.txn_of(event) else { return };
        let problem = self.problem;
        let (begins, commits) = (self.begins(event), self.commits(event));
        for (key, value) in problem.writes_of(txn) {
            if begins {
                self.active[key.index()] += 1;
            }
            if commits {
                self.active[key.index()] -= 1;
                self.overwritten.push(self.held[key.index()]);
                self.hold(key, value);
            }
        }
    }

    /// Undoes the last event.
    fn undo(&mut self) {
        let Some(event) = self.order.pop() else { return };
        self.turn(event, event);
        for i in 0..self.successors.successors(event).len() {
            self.waiting[self.successors.successors(event)[i] as usize] += 1;
        }
        let Some(txn) = self.txn_of(event) else { return };
        let problem = self.problem;
        let (begins, commits) = (self.begins(event), self.commits(event));
        let writes = if commits { problem.writes_of(txn).count() } else { 0 };
        let overwritten = self.overwritten.split_off(self.overwritten.len() - writes);
        for (i, (key, _)) in problem.writes_of(txn).enumerate() {
            if commits {
                self.active[key.index()] += 1;
                self.hold(key, overwritten[i]);
            }
            if begins {
                self.active[key.index()] -= 1;
            }
        }
    }

    /// Notes that an event has run, or has not any more, and which is the next of its chain. The events that have run say how
    /// far each chain has run.
    fn turn(&mut self, event: u32, next: u32) {
        let chain = self.events.chain_of(self.problem.history, event) as usize;
        self.hash ^= mix(u64::from(event));
        self.chains[chain].next = next;
    }

    fn hold(&mut self, key: Key, value: Value) {
        let place = |value: Value| mix(FxBuildHasher.hash_one((key, value)));
        let before = std::mem::replace(&mut self.held[key.index()], value);
        self.hash ^= place(before) ^ place(value);
    }
}

/// Spreads a number over 64 bits (the finaliser of `SplitMix64`).
fn mix(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]
mod tests {
    use isoscope_history::{Builder, History};
    use isoscope_levels::Level;
    use rand_chacha::ChaCha8Rng;
    use rand_core::{Rng, SeedableRng};

    use super::super::events::{Events, Rules};
    use super::super::problem::Problem;
    use super::super::saturate;
    use super::super::witness;
    use crate::certificate::{Judgement, Verdict};
    use crate::resolve::Resolved;
    use crate::watch::NoLimits;
    use isoscope_verify::verify;

    const KEYS: [&str; 2] = ["x", "y"];

    /// A transaction: what it reads of each key, if it does, and what it writes after that.
    type Txn = [(Option<u32>, Option<u32>); 2];

    /// Three sessions of transactions on two keys, with few values.
    fn draw(seed: u64) -> Vec<Vec<Txn>> {
        let mut dice = ChaCha8Rng::seed_from_u64(seed);
        let mut below = |n: u64| dice.next_u64() % n;
        let mut access = || {
            let (read, written) = (below(3) as u32, 1 + below(2) as u32);
            ((below(3) == 0).then_some(read), (below(2) == 0).then_some(written))
        };
        (0..3).map(|_| (0..3).map(|_| [access(), access()]).collect()).collect()
    }

    fn build(sessions: &[Vec<Txn>]) -> History {
        let mut builder = Builder::new();
        for (name, session) in ["a", "b", "c"].into_iter().zip(sessions) {
            for txn in session {
                let mut building = builder.session(name).txn();
                for (key, &(read, _)) in KEYS.into_iter().zip(txn) {
                    building = if let Some(value) = read { building.read(key, value) } else { building };
                }
                for (key, &(_, written)) in KEYS.into_iter().zip(txn) {
                    building = if let Some(value) = written { building.write(key, value) } else { building };
                }
            }
        }
        builder.finish()
    }

    /// Whether some schedule explains every read, by trying all. `next` is the place of each session, in events.
    fn exists(sessions: &[Vec<Txn>], rules: Rules, next: [usize; 3], held: [u32; 2]) -> bool {
        let events = if rules.split { 2 } else { 1 };
        let txn = |i: usize| sessions[i].get(next[i] / events);
        let writes = |txn: &Txn, key: usize| txn[key].1.is_some();
        let is_active = |i: usize| rules.split && next[i] % 2 == 1;
        let clash = |one: &Txn| {
            let mut others = (0..3).filter(|&i| rules.conflicts && is_active(i)).filter_map(txn);
            others.any(|other| (0..2).any(|key| writes(other, key) && writes(one, key)))
        };
        let mut open = false;
        for i in 0..3 {
            let Some(txn) = txn(i) else { continue };
            open = true;
            let begins = !is_active(i);
            let finds = (0..2).all(|key| txn[key].0.is_none_or(|value| held[key] == value));
            if begins && (!finds || rules.split && clash(txn)) {
                continue;
            }
            let (mut next, mut held) = (next, held);
            next[i] += 1;
            if !rules.split || !begins {
                (0..2).for_each(|key| held[key] = txn[key].1.unwrap_or(held[key]));
            }
            if exists(sessions, rules, next, held) {
                return true;
            }
        }
        !open
    }

    #[test]
    fn a_schedule_is_found_exactly_when_there_is_one() {
        let (mut found, mut nothing) = (0, 0);
        for seed in 0..3_000 {
            let sessions = draw(seed);
            let history = build(&sessions);
            let resolved = Resolved::new(&history);
            let problem = Problem::new(&history, &resolved, false, &NoLimits).unwrap();
            if problem.open.is_empty() || problem.orphan().is_some() || !resolved.wrong.is_empty() {
                continue;
            }
            for level in [Level::Serializable, Level::Snapshot, Level::Prefix] {
                let rules = Rules::of(level, false).unwrap();
                let mut edges = Vec::new();
                let events = Events::new(&history, &resolved, rules, &mut edges, &NoLimits).unwrap();
                saturate::given(&problem, &events, &mut edges);
                let (schedule, _) = super::search(&problem, &events, &edges, &NoLimits);
                let expected = exists(&sessions, rules, [0; 3], [0; 2]);
                assert_eq!(schedule.is_some(), expected, "seed {seed}, {level}: {history:?}");
                if let Some(order) = schedule {
                    found += 1;
                    let witness = witness::of_events(&problem, &events, &order, |_| false);
                    let judgement = Judgement { level, verdict: Verdict::Holds(witness), implied_by: None };
                    let verified = verify(&history, &judgement);
                    assert!(verified.is_ok(), "seed {seed}, {level}: {verified:?}");
                } else {
                    nothing += 1;
                }
            }
        }
        assert!(found > 300 && nothing > 300, "{found} found, {nothing} not");
    }
}
