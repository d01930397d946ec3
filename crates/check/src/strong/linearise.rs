//! Linearisation: a greedy schedule, on values.
//!
//! Transactions run one after the other against a store that holds one version of each key. A begin may run when all its reads
//! find what they returned; a commit, when no transaction that has not begun needs a version that it overwrites. Where begins and
//! commits are two events, writers of one key must not overlap, and a transaction commits as soon as it can. Among the events that
//! may run, recorded times decide, or the length of what depends on them.
//!
//! A schedule that runs to the end is a witness: replaying it explains every read. One that gets stuck proves nothing.
//!
//! The store compares values where a read is open, so it does not matter which transaction wrote them. A value that a read still
//! needs may be overwritten if another transaction will write it again, but only when nothing else can run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use isoscope_history::{History, Key, Txn, Value};
use isoscope_order::Graph;
use rustc_hash::FxHashMap;

use super::events::{Clocked, Events};
use super::problem::Problem;
use super::reach::topological_order;
use super::sources::{Source, Sources};
use crate::certificate::Limit;
use crate::watch::{Turnstile, Watch};

/// How good a moment it is to run something.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    /// Nothing speaks against it.
    Good,
    /// It can be done when nothing else can.
    Poor,
    /// Something must change first.
    Blocked(Obstacle),
}

/// What must change before something can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Obstacle {
    /// The version of a key, its readers or who is about to write it.
    Key(Key),
    /// The version must become this one: its slot.
    Version(usize),
    /// The version must become one with this value.
    Value(Key, Value),
}

/// A topological order of all events, unless a limit is reached, and how many of them ran before the schedule first got stuck and something had to
/// run that should not have. When all did, the order explains every read. Where the edges have a cycle, the order ends before
/// it. Where the schedule is only `tried`, it ends where it first gets stuck.
pub(crate) fn linearise(
    problem: &Problem<'_>,
    events: &Events,
    edges: &[(u32, u32)],
    tried: bool,
    watch: &dyn Watch,
) -> Result<(Vec<u32>, usize), Limit> {
    let turnstile = Turnstile::new(watch);
    let mut run = Run::new(problem, events, edges);
    run.go(&turnstile);
    let good = run.order.len();
    while !tried && run.go_on() {
        run.go(&turnstile);
    }
    turnstile.reached().map_or(Ok((run.order, good)), Err)
}

/// Readers of one value of one key whose source is open.
#[derive(Default)]
struct Wanted {
    /// Those that have not begun.
    readers: u32,
    /// Writers of the value that have not committed.
    writers: u32,
    /// Those that can only begin when the key holds the value.
    blocked: Vec<u32>,
}

struct Run<'a> {
    problem: &'a Problem<'a>,
    events: &'a Events,
    successors: Graph,
    /// Predecessors that have not run, for each node.
    waiting: Vec<u32>,
    rank: Vec<u64>,
    /// The version of each key.
    current: Vec<Source>,
    /// For each version that is read, by its place among the writers of all keys, then the initial ones by key: readers
    /// that have not begun.
    needed: Vec<u32>,
    /// The transaction that writes each key and has begun and not committed.
    active: Vec<u32>,
    /// By open read, its sources.
    sources: FxHashMap<u32, &'a Sources>,
    /// By key and value.
    wanted: FxHashMap<(Key, Value), Wanted>,
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    poor: BinaryHeap<Reverse<(u64, u32)>>,
    /// By key, nodes that are blocked by it.
    blocked: Vec<Vec<u32>>,
    /// By version, as for `needed`, nodes that can only begin when the key has it.
    blocked_until: FxHashMap<usize, Vec<u32>>,
    /// All blocked nodes, by rank, and some that no longer are.
    stuck: BinaryHeap<Reverse<(u64, u32)>>,
    done: Vec<bool>,
    order: Vec<u32>,
}

const NO_WRITER: u32 = u32::MAX - 2;

impl<'a> Run<'a> {
    fn new(problem: &'a Problem<'a>, events: &'a Events, edges: &[(u32, u32)]) -> Self {
        let history = problem.history;
        let mut waiting = vec![0; events.nodes as usize];
        for &(_, to) in edges {
            waiting[to as usize] += 1;
        }
        let mut run = Run {
            problem,
            events,
            successors: Graph::from_edges(events.nodes as usize, edges),
            waiting,
            rank: ranks(history, events, edges),
            current: vec![Source::INITIAL; history.key_count()],
            needed: vec![0; history.writer_count() + history.key_count()],
            active: vec![NO_WRITER; history.key_count()],
            sources: problem.open.iter().map(|open| (open.read, &open.sources)).collect(),
            wanted: FxHashMap::default(),
            ready: BinaryHeap::new(),
            poor: BinaryHeap::new(),
            blocked: vec![Vec::new(); history.key_count()],
            blocked_until: FxHashMap::default(),
            order: Vec::with_capacity(events.nodes as usize),
            stuck: BinaryHeap::new(),
            done: vec![false; events.nodes as usize],
        };
        for read in problem.reads.iter().filter(|read| problem.is_present(read.txn)) {
            if read.source == Source::OPEN {
                let value = history.op(read.op).value;
                run.wanted.entry((read.key, value)).or_default().readers += 1;
            } else {
                let slot = run.slot(read.key, read.source);
                run.needed[slot] += 1;
            }
        }
        if !run.wanted.is_empty() {
            for Txn(txn) in history.txns().filter(|txn| problem.is_present(txn.0)) {
                for place in problem.writes_of(txn) {
                    if let Some(wanted) = run.wanted.get_mut(&place) {
                        wanted.writers += 1;
                    }
                }
            }
        }
        for node in 0..events.nodes {
            if run.waiting[node as usize] == 0 {
                run.offer(node);
            }
        }
        run
    }

    fn slot(&self, key: Key, source: Source) -> usize {
        let history = self.problem.history;
        let Some(source) = source.txn() else { return history.writer_count() + key.index() };
        let place = history.writers(key).partition_point(|writer| writer.0 < source);
        history.writer_range(key).start + place
    }

    fn txn_of(&self, node: u32) -> Option<u32> {
        let txn = (node < self.events.first_tick).then(|| self.events.rules.txn(node))?;
        self.problem.is_present(txn).then_some(txn)
    }

    fn offer(&mut self, node: u32) {
        let rank = self.txn_of(node).map_or(0, |txn| self.rank[txn as usize]);
        self.ready.push(Reverse((rank, node)));
    }

    fn go(&mut self, turnstile: &Turnstile<'_>) {
        while turnstile.step() {
            if let Some(Reverse((rank, node))) = self.ready.pop() {
                match self.moment(node) {
                    Moment::Good => self.run(node),
                    Moment::Poor => self.poor.push(Reverse((rank, node))),
                    Moment::Blocked(by) => self.block(by, rank, node),
                }
            } else if let Some(Reverse((rank, node))) = self.poor.pop() {
                match self.moment(node) {
                    Moment::Good | Moment::Poor => self.run(node),
                    Moment::Blocked(by) => self.block(by, rank, node),
                }
            } else {
                return;
            }
        }
    }

    fn block(&mut self, by: Obstacle, rank: u64, node: u32) {
        match by {
            Obstacle::Key(key) => self.blocked[key.index()].push(node),
            Obstacle::Version(slot) => self.blocked_until.entry(slot).or_default().push(node),
            Obstacle::Value(key, value) => {
                self.wanted.entry((key, value)).or_default().blocked.push(node);
            }
        }
        self.stuck.push(Reverse((rank, node)));
    }

    /// Runs the first of those that are blocked, if there is one.
    fn go_on(&mut self) -> bool {
        while let Some(Reverse((_, node))) = self.stuck.pop() {
            if !self.done[node as usize] {
                self.run(node);
                return true;
            }
        }
        false
    }

    fn moment(&self, node: u32) -> Moment {
        let Some(txn) = self.txn_of(node) else { return Moment::Good };
        let rules = self.events.rules;
        if !rules.split {
            return match self.may_begin(txn) {
                Moment::Blocked(by) => Moment::Blocked(by),
                _ => self.may_commit(txn, true),
            };
        }
        if !rules.is_begin(node) {
            return self.may_commit(txn, false);
        }
        // To begin without being able to commit keeps other writers out.
        match (self.may_begin(txn), self.may_commit(txn, true)) {
            (Moment::Good, Moment::Blocked(_) | Moment::Poor) => Moment::Poor,
            (moment, _) => moment,
        }
    }

    fn may_begin(&self, txn: u32) -> Moment {
        for i in self.problem.reads_of(txn) {
            let read = &self.problem.reads[i];
            let current = self.current[read.key.index()];
            let found = match read.source {
                Source::OPEN => {
                    self.sources.get(&(i as u32)).is_some_and(|sources| sources.contains(current))
                }
                source => current == source,
            };
            if !found {
                return Moment::Blocked(match read.source {
                    Source::OPEN => Obstacle::Value(read.key, self.problem.history.op(read.op).value),
                    source => Obstacle::Version(self.slot(read.key, source)),
                });
            }
        }
        if self.events.rules.split && self.events.rules.conflicts {
            for (key, _) in self.problem.writes_of(txn) {
                if self.active[key.index()] != NO_WRITER {
                    return Moment::Blocked(Obstacle::Key(key));
                }
            }
        }
        Moment::Good
    }

    /// Whether no read needs what a transaction overwrites; `begins` if it would begin at the same moment.
    fn may_commit(&self, txn: u32, begins: bool) -> Moment {
        let history = self.problem.history;
        let mut moment = Moment::Good;
        for (key, value) in self.problem.writes_of(txn) {
            let current = self.current[key.index()];
            let own = |wanted: &dyn Fn(Source) -> bool| {
                let reads = self.problem.reads_of(txn);
                let own =
                    |i: &usize| self.problem.reads[*i].key == key && wanted(self.problem.reads[*i].source);
                if begins { reads.filter(own).count() as u32 } else { 0 }
            };
            let needed = self.needed[self.slot(key, current)];
            if needed > 0 && needed > own(&|source| source == current) {
                return Moment::Blocked(Obstacle::Key(key));
            }
            if self.wanted.is_empty() {
                continue;
            }
            let held = current.txn().map_or_else(|| history.initial(key), |txn| self.value(txn, key));
            if held == value {
                continue;
            }
            if let Some(wanted) = self.wanted.get(&(key, held))
                && wanted.readers > 0
                && wanted.readers > own(&|source| source == Source::OPEN)
            {
                if wanted.writers == 0 {
                    return Moment::Blocked(Obstacle::Key(key));
                }
                moment = Moment::Poor;
            }
        }
        moment
    }

    fn value(&self, txn: u32, key: Key) -> Value {
        let mut writes = self.problem.writes_of(txn);
        writes.find(|&(k, _)| k == key).map_or(Value::NIL, |(_, value)| value)
    }

    fn run(&mut self, node: u32) {
        if std::mem::replace(&mut self.done[node as usize], true) {
            return;
        }
        self.order.push(node);
        if let Some(txn) = self.txn_of(node) {
            let rules = self.events.rules;
            if rules.is_begin(node) {
                self.begin(txn);
            }
            if !rules.split || !rules.is_begin(node) {
                self.commit(txn);
            }
        }
        for i in 0..self.successors.successors(node).len() {
            let next = self.successors.successors(node)[i];
            self.waiting[next as usize] -= 1;
            if self.waiting[next as usize] == 0 {
                self.offer(next);
            }
        }
    }

    fn begin(&mut self, txn: u32) {
        let history = self.problem.history;
        for i in self.problem.reads_of(txn) {
            let read = self.problem.reads[i];
            if read.source == Source::OPEN {
                if let Some(wanted) = self.wanted.get_mut(&(read.key, history.op(read.op).value)) {
                    wanted.readers -= 1;
                    if wanted.readers == 0 {
                        self.wake(read.key);
                    }
                }
            } else {
                let slot = self.slot(read.key, read.source);
                self.needed[slot] -= 1;
                // The last reader may be about to overwrite it itself.
                if self.needed[slot] <= 1 {
                    self.wake(read.key);
                }
            }
        }
        if self.events.rules.split && self.events.rules.conflicts {
            for (key, _) in self.problem.writes_of(txn) {
                self.active[key.index()] = txn;
            }
        }
    }

    fn commit(&mut self, txn: u32) {
        for (key, value) in self.problem.writes_of(txn) {
            let version = Source::of(txn);
            self.current[key.index()] = version;
            self.active[key.index()] = NO_WRITER;
            if let Some(wanted) = self.wanted.get_mut(&(key, value)) {
                wanted.writers -= 1;
                let blocked = std::mem::take(&mut wanted.blocked);
                self.offer_all(blocked);
            }
            let slot = self.slot(key, version);
            let blocked = self.blocked_until.remove(&slot);
            self.offer_all(blocked.unwrap_or_default());
            self.wake(key);
        }
    }

    fn wake(&mut self, key: Key) {
        let blocked = std::mem::take(&mut self.blocked[key.index()]);
        self.offer_all(blocked);
    }

    fn offer_all(&mut self, nodes: Vec<u32>) {
        for node in nodes {
            self.offer(node);
        }
    }
}

/// When transactions seem to have committed: by recorded times, or else by how much depends on them, the longest chain of
/// events that must follow first.
pub(super) fn ranks(history: &History, events: &Events, edges: &[(u32, u32)]) -> Vec<u64> {
    let clocks = [Clocked::database(history), Clocked::client(history)];
    let ended = |clock: &Clocked<'_>| -> Option<Vec<u64>> {
        let ends: Option<Vec<i64>> = history.txns().map(|txn| clock.end(txn)).collect();
        ends.map(|ends| ends.into_iter().map(|end| end.cast_unsigned() ^ (1 << 63)).collect())
    };
    if let Some(ranks) = clocks.iter().find_map(ended) {
        return ranks;
    }
    let graph = Graph::from_edges(events.nodes as usize, edges);
    // Every node after those it leads to.
    let order = topological_order(&graph).unwrap_or_default();
    let mut height = vec![0u32; events.nodes as usize];
    for node in order {
        let above = graph.successors(node).iter().map(|&next| height[next as usize] + 1).max();
        height[node as usize] = above.unwrap_or(0);
    }
    let most = height.iter().copied().max().unwrap_or(0);
    let rank = |Txn(txn): Txn| u64::from(most - height[events.rules.commit(txn) as usize]);
    history.txns().map(rank).collect()
}
