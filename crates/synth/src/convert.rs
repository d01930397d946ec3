//! From a recorded history to small ones.
//!
//! Definitions speak of committed transactions with one read and one write of a key at most, and of reads whose writer is known. A
//! recorded history may leave open which transactions took effect (unknown outcomes) and which of several transactions wrote what
//! was read (duplicate values). Each way to settle this is a *world*, which is a small history. A level allows the recorded history
//! if it allows one of its worlds.
//!
//! Some reads are wrong in every world: no other transaction that may have committed wrote their value as its last write of the
//! key, or the transaction itself wrote another value before. No definition allows them.

use std::fmt;

use isoscope_history::{History, Intervals, Key, NO_EVENT, NO_TIME, Op, OpKind, OpView, Outcome, Txn, Value};
use isoscope_levels::Anomaly;
use rustc_hash::FxHashMap;

use crate::history::SmallHistory;
use crate::matrix::Matrix;

/// The most transactions and keys of a history that is judged by a definition. The search for a witness takes time that grows
/// quickly.
pub const LARGEST: usize = 200;

/// Why a history cannot be judged by a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsupported {
    /// It has more transactions or keys than [`LARGEST`].
    Large {
        /// What there are too many of.
        what: &'static str,
        /// How many there are.
        count: usize,
    },
    /// A transaction has an operation or an outcome that definitions do not speak of.
    Txn {
        /// The transaction.
        txn: Txn,
        /// What it does.
        why: &'static str,
    },
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsupported::Large { what, count } => {
                write!(f, "the history has {count} {what}; a definition is checked on at most {LARGEST}")
            }
            Unsupported::Txn { why, .. } => write!(f, "a transaction {why}"),
        }
    }
}

/// A read that no definition allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongRead {
    /// The read.
    pub read: Op,
    /// What is wrong with it.
    pub anomaly: Anomaly,
}

/// Why a history with two versions in one transaction is not supported.
pub(crate) const TWO_VERSIONS: &str =
    "reads a key twice and gets two versions; the level language knows one read of a key";

/// Which times are the real time of a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// When clients invoked transactions and when these returned.
    #[default]
    Clients,
    /// The database's timestamps.
    Database,
}

/// Whether a history has times of a clock.
pub fn has_times(history: &History, clock: Clock) -> bool {
    match clock {
        Clock::Clients => history.events().is_some() || history.times().is_some(),
        Clock::Database => history.timestamps().is_some(),
    }
}

impl SmallHistory {
    /// A history of committed transactions in which the writer of every read is known.
    pub fn of(history: &History) -> Result<SmallHistory, Unsupported> {
        let lowering = Lowering::new(history, Clock::Clients)?;
        if let Some(wrong) = lowering.wrong.first() {
            let why = "reads a value that is no final write of another committed transaction";
            return Err(Unsupported::Txn { txn: history.txn_of(wrong.read), why });
        }
        if let Some(&txn) = lowering.optional.first() {
            return Err(Unsupported::Txn { txn, why: "has an unknown outcome" });
        }
        if let Some(txn) = history.txns().find(|txn| lowering.is_ambiguous(*txn)) {
            return Err(Unsupported::Txn { txn, why: "reads a value that is written twice" });
        }
        let mut worlds = lowering.worlds();
        match worlds.next() {
            Some(World::Known(world)) => Ok(world.history),
            Some(World::Unsupported { txn, why }) => Err(Unsupported::Txn { txn, why }),
            Some(World::TwoVersions(reads)) => {
                Err(Unsupported::Txn { txn: history.txn_of(reads[0]), why: TWO_VERSIONS })
            }
            None => unreachable!("without wrong reads and open questions there is one world"),
        }
    }
}

/// A read of another transaction.
#[derive(Clone, Debug)]
struct Read {
    key: Key,
    op: Op,
    /// Who may have written it; `None` is the initial state.
    writers: Vec<Option<Txn>>,
}

/// What is known of a transaction.
#[derive(Clone, Debug, Default)]
struct Facts {
    /// The first external read of each key.
    reads: Vec<Read>,
    /// The keys of all external reads, in their order.
    read_order: Vec<Key>,
    writes: Vec<Key>,
    /// Two reads of one key that returned different versions.
    two_versions: Option<[Op; 2]>,
    /// What it does that definitions do not speak of.
    obstacle: Option<&'static str>,
    /// Two reads of one key returned the same value, but perhaps different versions.
    may_differ: bool,
}

/// A recorded history, prepared to be split into worlds.
pub(crate) struct Lowering<'h> {
    history: &'h History,
    clock: Clock,
    facts: Vec<Facts>,
    /// The reads that are wrong in every world.
    pub(crate) wrong: Vec<WrongRead>,
    /// The transactions that are in every world.
    certain: Vec<Txn>,
    /// Those that are in some worlds.
    pub(crate) optional: Vec<Txn>,
}

impl<'h> Lowering<'h> {
    pub(crate) fn new(history: &'h History, clock: Clock) -> Result<Lowering<'h>, Unsupported> {
        let is_possible = |txn: &Txn| history.outcome(*txn) != Outcome::Aborted;
        let possible = history.txns().filter(is_possible).count();
        let too_many = |what, count| (count > LARGEST).then_some(Unsupported::Large { what, count });
        if let Some(large) = too_many("transactions", possible) {
            return Err(large);
        }
        let mut keys: Vec<Key> =
            history.txns().filter(is_possible).flat_map(|txn| history.ops_of(txn)).map(|op| op.key).collect();
        keys.sort_unstable();
        keys.dedup();
        if let Some(large) = too_many("keys", keys.len()) {
            return Err(large);
        }
        let mut lowering = Lowering {
            history,
            clock,
            facts: vec![Facts::default(); history.txn_count()],
            wrong: Vec::new(),
            certain: history.txns().filter(|&txn| history.outcome(txn) == Outcome::Committed).collect(),
            optional: history.txns().filter(|&txn| history.outcome(txn) == Outcome::Unknown).collect(),
        };
        lowering.collect();
        lowering.settle();
        Ok(lowering)
    }

    /// Finds the possible writers of every external read, and what definitions do not speak of.
    fn collect(&mut self) {
        let history = self.history;
        let mut writers: FxHashMap<(Key, Value), Vec<Option<Txn>>> = FxHashMap::default();
        for txn in history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted) {
            for op in history.ops_of(txn).filter(|op| op.kind == OpKind::Write && op.last_write) {
                writers.entry((op.key, op.value)).or_default().push(Some(txn));
            }
        }
        for txn in history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted) {
            let mut facts = Facts::default();
            for op in history.ops_of(txn) {
                match op.kind {
                    OpKind::Write if op.last_write => facts.writes.push(op.key),
                    OpKind::Write => {}
                    OpKind::Read if op.value == Value::UNKNOWN => {
                        facts.obstacle = Some("has a read whose result is not recorded");
                    }
                    OpKind::Read if !op.external => {
                        if !op.consistent {
                            self.note_wrong(txn, op);
                        }
                    }
                    OpKind::Read => self.external(txn, op, &writers, &mut facts),
                    OpKind::Append | OpKind::ReadList => {
                        facts.obstacle =
                            Some("has operations on lists, which the level language does not know");
                    }
                    OpKind::Insert | OpKind::Delete | OpKind::RangeRead => {
                        facts.obstacle = Some(
                            "inserts or deletes keys or reads a range, which the level language does not know",
                        );
                    }
                }
            }
            self.facts[txn.index()] = facts;
        }
    }

    fn external(
        &mut self,
        txn: Txn,
        op: OpView,
        writers: &FxHashMap<(Key, Value), Vec<Option<Txn>>>,
        facts: &mut Facts,
    ) {
        let written = writers.get(&(op.key, op.value)).map_or(&[][..], Vec::as_slice);
        let initial = self.history.is_initial(op.key, op.value).then_some(None);
        let others = written.iter().copied().filter(|writer| *writer != Some(txn));
        let writers: Vec<Option<Txn>> = initial.into_iter().chain(others).collect();
        if writers.is_empty() {
            self.note_wrong(txn, op);
        }
        facts.read_order.push(op.key);
        match facts.reads.iter().find(|read| read.key == op.key) {
            Some(first) if !op.consistent => {
                facts.two_versions.get_or_insert([first.op, op.id]);
            }
            Some(_) => facts.may_differ |= writers.len() > 1,
            None => facts.reads.push(Read { key: op.key, op: op.id, writers }),
        }
    }

    /// Remembers a read that is wrong if its transaction took effect.
    fn note_wrong(&mut self, txn: Txn, op: OpView) {
        let history = self.history;
        let wrote = |txn: Txn| {
            history
                .ops_of(txn)
                .any(|write| write.kind.is_write() && write.key == op.key && write.value == op.value)
        };
        let others = || history.txns().filter(|&other| other != txn);
        let is_aborted = |other: &Txn| history.outcome(*other) == Outcome::Aborted;
        let anomaly = match op.external {
            false if wrote(txn) => Anomaly::NotMyLastWrite,
            false if history.is_initial(op.key, op.value) || others().any(wrote) => Anomaly::NotMyOwnWrite,
            true if wrote(txn) => Anomaly::FutureRead,
            true if others().any(|other| !is_aborted(&other) && wrote(other)) => Anomaly::IntermediateRead,
            true if others().any(wrote) => Anomaly::AbortedRead,
            _ => Anomaly::ThinAirRead,
        };
        self.wrong.push(WrongRead { read: op.id, anomaly });
    }

    /// Finds optional transactions that are in every world or in none, and keeps the wrong reads of those in every world.
    fn settle(&mut self) {
        let history = self.history;
        loop {
            let is_wrong = |txn: &Txn| self.wrong.iter().any(|wrong| history.txn_of(wrong.read) == *txn);
            if let Some(place) = self.optional.iter().position(is_wrong) {
                let absent = self.optional.remove(place);
                self.remove(absent);
                continue;
            }
            let only_writer = |txn: &Txn| {
                let read = |reader: &Txn| {
                    self.facts[reader.index()].reads.iter().any(|read| read.writers == [Some(*txn)])
                };
                self.certain.iter().any(read)
            };
            let Some(place) = self.optional.iter().position(only_writer) else { break };
            self.certain.push(self.optional.remove(place));
        }
        self.certain.sort_unstable();
        self.wrong.retain(|wrong| self.certain.contains(&history.txn_of(wrong.read)));
        self.wrong.sort_by_key(|wrong| wrong.read);
    }

    /// A transaction did not take effect: no read is from it.
    fn remove(&mut self, absent: Txn) {
        let txns = [self.certain.as_slice(), self.optional.as_slice()].concat();
        for txn in txns {
            let mut wrong: Vec<Op> = Vec::new();
            for read in &mut self.facts[txn.index()].reads {
                let before = read.writers.len();
                read.writers.retain(|writer| *writer != Some(absent));
                wrong.extend((before > 0 && read.writers.is_empty()).then_some(read.op));
            }
            self.wrong
                .extend(wrong.into_iter().map(|read| WrongRead { read, anomaly: Anomaly::AbortedRead }));
        }
    }

    fn is_ambiguous(&self, txn: Txn) -> bool {
        self.facts[txn.index()].reads.iter().any(|read| read.writers.len() > 1)
    }

    /// Two reads of one key by one transaction that certainly took effect, which returned different versions.
    pub(crate) fn two_versions(&self) -> Option<[Op; 2]> {
        self.certain.iter().find_map(|txn| self.facts[txn.index()].two_versions)
    }

    /// Whether two reads of one key may have returned two versions, which no world shows.
    pub(crate) fn may_differ(&self) -> Option<Txn> {
        let mut txns = self.certain.iter().chain(&self.optional);
        txns.find(|txn| self.facts[txn.index()].may_differ).copied()
    }

    /// Whether the history has times for the clock.
    pub(crate) fn has_times(&self) -> bool {
        has_times(self.history, self.clock)
    }

    /// All worlds, one after the other.
    pub(crate) fn worlds(&self) -> Worlds<'_, 'h> {
        Worlds::new(self)
    }

    /// The history of a world: its transactions, and for each ambiguous read the writer.
    fn world(&self, present: &[Txn], chosen: &[Option<Txn>]) -> Known {
        let history = self.history;
        let facts = |txn: Txn| &self.facts[txn.index()];
        let mut keys: Vec<Key> = present
            .iter()
            .flat_map(|&txn| {
                facts(txn).reads.iter().map(|read| read.key).chain(facts(txn).writes.iter().copied())
            })
            .collect();
        keys.sort_unstable();
        keys.dedup();
        let place_of_key =
            |key: Key| keys.binary_search(&key).expect("every key that is used is in the list");
        let place_of = |txn: Option<Txn>| match txn {
            None => 0,
            Some(txn) => 1 + present.binary_search(&txn).expect("a read is from a transaction of its world"),
        };
        let txns = present.len() + 1;
        let mut writes = vec![vec![false; keys.len()]; txns];
        writes[0] = vec![true; keys.len()];
        let mut sources = vec![vec![None; keys.len()]; txns];
        let mut read_order = vec![Vec::new(); txns];
        let mut chosen = chosen.iter();
        for (&txn, place) in present.iter().zip(1..) {
            for &key in &facts(txn).writes {
                writes[place][place_of_key(key)] = true;
            }
            for read in &facts(txn).reads {
                let writer = match read.writers.as_slice() {
                    &[writer] => writer,
                    _ => *chosen.next().expect("every ambiguous read has a choice"),
                };
                sources[place][place_of_key(read.key)] = Some(place_of(writer));
            }
            read_order[place] = facts(txn).read_order.iter().map(|&key| place_of_key(key)).collect();
        }
        let is_before = |from: usize, to: usize, before: &dyn Fn(Txn, Txn) -> bool| match (from, to) {
            (_, 0) => false,
            (0, _) => true,
            (from, to) => before(present[from - 1], present[to - 1]),
        };
        let in_session = |from: Txn, to: Txn| history.session_of(from) == history.session_of(to) && from < to;
        let so = Matrix::new(txns, |from, to| is_before(from, to, &in_session));
        let in_time = |from: Txn, to: Txn| in_session(from, to) || self.returned_before(from, to);
        let rt = self.has_times().then(|| Matrix::new(txns, |from, to| is_before(from, to, &in_time)));
        let history = SmallHistory { keys: keys.len(), writes, sources, so, rt, read_order };
        Known { history, txns: present.to_vec(), keys }
    }

    /// Whether a transaction returned before another was invoked. The order of events decides where it is recorded. A
    /// transaction of unknown outcome may take effect after it returned.
    fn returned_before(&self, from: Txn, to: Txn) -> bool {
        fn is_before<T: Copy + PartialOrd>(clock: &Intervals<T>, none: T, from: Txn, to: Txn) -> bool {
            let (end, start) = (clock.end[from.index()], clock.start[to.index()]);
            end != none && start != none && end < start
        }
        let history = self.history;
        let times = match self.clock {
            Clock::Clients => history.times(),
            Clock::Database => history.timestamps(),
        };
        history.outcome(from) == Outcome::Committed
            && match (history.events().filter(|_| self.clock == Clock::Clients), times) {
                (Some(events), _) => is_before(events, NO_EVENT, from, to),
                (None, Some(times)) => is_before(times, NO_TIME, from, to),
                (None, None) => false,
            }
    }
}

/// One way to settle what a history leaves open.
pub(crate) enum World {
    Known(Known),
    /// A transaction of this world does what definitions do not speak of.
    Unsupported {
        txn: Txn,
        why: &'static str,
    },
    /// Two reads of one key in one transaction of this world returned different versions.
    TwoVersions([Op; 2]),
}

/// A world with the names of its transactions and keys.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) history: SmallHistory,
    /// The transactions, from number 1 on.
    pub(crate) txns: Vec<Txn>,
    pub(crate) keys: Vec<Key>,
}

/// Goes through the worlds. In the first one, no optional transaction took effect.
pub(crate) struct Worlds<'l, 'h> {
    lowering: &'l Lowering<'h>,
    /// Which optional transactions took effect. None at the end.
    outcomes: Option<Vec<bool>>,
    /// The transactions of these outcomes.
    present: Vec<Txn>,
    /// The possible writers of their ambiguous reads.
    options: Vec<Vec<Option<Txn>>>,
    /// Which of them is next. None if all were tried.
    choice: Option<Vec<usize>>,
}

impl<'l, 'h> Worlds<'l, 'h> {
    fn new(lowering: &'l Lowering<'h>) -> Self {
        let outcomes = Some(vec![false; lowering.optional.len()]);
        let mut worlds =
            Worlds { lowering, outcomes, present: Vec::new(), options: Vec::new(), choice: None };
        worlds.choose();
        worlds
    }

    /// Finds the transactions of the outcomes, and the writers of their ambiguous reads.
    fn choose(&mut self) {
        let Lowering { certain, optional, facts, .. } = self.lowering;
        let Some(outcomes) = &self.outcomes else { return };
        let taken = optional.iter().zip(outcomes).filter(|(_, taken)| **taken).map(|(txn, _)| *txn);
        let mut present: Vec<Txn> = certain.iter().copied().chain(taken).collect();
        present.sort_unstable();
        let is_there = |writer: &Option<Txn>| writer.is_none_or(|txn| present.binary_search(&txn).is_ok());
        let reads = present.iter().flat_map(|txn| &facts[txn.index()].reads);
        let options: Vec<Vec<Option<Txn>>> = reads
            .filter(|read| read.writers.len() > 1 || !read.writers.iter().all(is_there))
            .map(|read| read.writers.iter().copied().filter(is_there).collect())
            .collect();
        // A read without a writer: there is no such world.
        let is_possible = options.iter().all(|writers| !writers.is_empty());
        self.choice = is_possible.then(|| vec![0; options.len()]);
        (self.present, self.options) = (present, options);
    }

    /// The next outcomes, as a binary number.
    fn next_outcomes(&mut self) {
        let more = self.outcomes.as_mut().is_some_and(|outcomes| {
            outcomes.iter_mut().any(|outcome| {
                *outcome = !*outcome;
                *outcome
            })
        });
        if !more {
            self.outcomes = None;
        }
        self.choose();
    }

    /// The next choice of writers.
    fn next_choice(&mut self) {
        let options = &self.options;
        let more = self.choice.as_mut().is_some_and(|choice| {
            choice.iter_mut().zip(options).any(|(place, writers)| {
                *place = (*place + 1) % writers.len();
                *place > 0
            })
        });
        if !more {
            self.choice = None;
        }
    }
}

impl Iterator for Worlds<'_, '_> {
    type Item = World;

    fn next(&mut self) -> Option<World> {
        while self.choice.is_none() {
            self.outcomes.as_ref()?;
            self.next_outcomes();
        }
        let choice = self.choice.as_ref()?;
        let facts = |txn: &Txn| &self.lowering.facts[txn.index()];
        let obstacle = self.present.iter().find_map(|txn| Some((*txn, facts(txn).obstacle?)));
        let two_versions = self.present.iter().find_map(|txn| facts(txn).two_versions);
        let world = if let Some(reads) = two_versions {
            World::TwoVersions(reads)
        } else if let Some((txn, why)) = obstacle {
            World::Unsupported { txn, why }
        } else {
            let chosen: Vec<Option<Txn>> =
                choice.iter().zip(&self.options).map(|(&place, writers)| writers[place]).collect();
            World::Known(self.lowering.world(&self.present, &chosen))
        };
        self.next_choice();
        Some(world)
    }
}
