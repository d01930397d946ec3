//! A multi-version store that runs transactions at a chosen level.
//!
//! Every committed transaction that wrote gets the next number of the *commit order*, which is also the order
//! of each key's versions. A transaction sees a set of commits (`visible`), chosen when it begins, and a read
//! returns the newest version whose commit is in the set. A level is a rule for choosing the set, and a check
//! at commit. Each rule satisfies the definition of its level in docs/levels.md, "Commit orders", with the
//! commit order as `co`:
//!
//! - **Read committed**: the set is a prefix that may grow before each read. A read of `x` from `t1` after a
//!   read from `t2` sees a prefix that contains `t2`, so `t1` is `t2` or a later transaction.
//! - **Read atomic**: any set that contains all earlier commits of the own session. If the transaction reads
//!   from `t2`, or `t2` is earlier in its session, `t2` is in the set, and a read of a key that `t2` writes
//!   returns that version or a newer one.
//! - **Causal**: the union of what the session saw before, its own commits, some recent commits of others
//!   with what they saw, and a prefix. A union of sets that are closed under "saw" is closed too.
//! - **Prefix**: a prefix that contains the session's earlier commits and what they and its reads saw.
//! - **Snapshot**: the same, and a commit fails if a key it writes has a version outside the prefix.
//! - **Serializable**: the same prefix, and a commit that writes fails if a key it read has a version outside
//!   the prefix. So a writer has read the state that it follows. A read-only transaction is placed at the end
//!   of its prefix, which is not before its session's earlier transactions. This is serializable, but not
//!   strict, because reads may be stale.
//!
//! A transaction that writes nothing gets no number. With a prefix, its place is right after the last commit
//! it sees; otherwise it is anywhere after its session's last commit.
//!
//! A key is a register or a list. The versions of a list are lengths of one sequence of elements. Only
//! commits extend the sequence, so of any two reads one is a prefix of the other. A transaction that reads a
//! list after appending to it has fixed the position of its elements. Its commit fails if another transaction
//! appended first.
//!
//! A session runs one transaction at a time. Transactions of different sessions may overlap in any way.

mod versions;
mod visible;

use std::fmt;

use isoscope_history::{Key, Session, Value};
use isoscope_levels::Level;
use rustc_hash::FxHashMap;

use crate::sample::Dice;
use versions::{Version, Versions};
use visible::{HORIZON, Visible, horizon};

/// The levels the store implements: each rule chooses the visible set and the check at commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    ReadCommitted,
    ReadAtomic,
    Causal,
    Prefix,
    Snapshot,
    Serializable,
}

impl Rule {
    fn of(level: Level) -> Option<Rule> {
        Some(match level {
            Level::ReadCommitted => Rule::ReadCommitted,
            Level::ReadAtomic => Rule::ReadAtomic,
            Level::Causal => Rule::Causal,
            Level::Prefix => Rule::Prefix,
            Level::Snapshot => Rule::Snapshot,
            Level::Serializable => Rule::Serializable,
            _ => return None,
        })
    }
}

/// A multi-version store; see the module documentation. Its methods panic for a key or session that does not
/// exist, and if a register is read as a list.
#[derive(Debug)]
pub struct Store {
    level: Level,
    rule: Rule,
    versions: Versions,
    /// The elements of every list.
    elements: Vec<Vec<Value>>,
    /// The last commit.
    now: u32,
    /// For each session, the commits that its next transaction must see.
    past: Vec<Visible>,
    /// For each session, the floor of its running transaction; [`IDLE`] if it runs none.
    running: Vec<u32>,
    /// The commits that each of the last [`HORIZON`] commits saw, including itself, indexed by commit modulo
    /// the horizon.
    saw: Vec<Visible>,
    dice: Dice,
    /// Finished transactions, kept to reuse their memory.
    spare: Vec<Transaction>,
    /// The last list read that is not a plain prefix.
    list: Vec<Value>,
}

/// The session runs no transaction.
const IDLE: u32 = u32::MAX;

/// A running transaction of a [`Store`]. [`Store::commit`] or [`Store::abort`] ends it.
#[must_use = "a transaction that never ends blocks its session and keeps its versions in memory"]
#[derive(Debug, Default)]
pub struct Transaction {
    session: Session,
    visible: Visible,
    /// Keys read from other transactions; recorded only if the check at commit needs them.
    reads: Vec<Key>,
    /// The keys written, each once, with the last value written. For a list, the value is unused.
    writes: Vec<(Key, Value)>,
    /// The index in `writes` of each key, once there are more than [`FEW`].
    places: FxHashMap<Key, u32>,
    appends: Vec<(Key, Value)>,
    /// Lists read after an own append, with the commit of the version that was read.
    read_back: Vec<(Key, u32)>,
}

/// Up to this many written keys, a linear scan is faster than a table.
const FEW: usize = 16;

/// The transaction could not commit at the store's level. It had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// A key with a version, committed by another transaction, that this one did not see.
    pub key: Key,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "another transaction committed a version of key {} in the meantime", self.key.0)
    }
}

impl std::error::Error for Conflict {}

impl Store {
    /// The levels the store implements, weakest first.
    pub const LEVELS: [Level; 6] = [
        Level::ReadCommitted,
        Level::ReadAtomic,
        Level::Causal,
        Level::Prefix,
        Level::Snapshot,
        Level::Serializable,
    ];

    /// A store in which all registers are 0 and all lists are empty. `seed` determines the choices that the
    /// level leaves open.
    ///
    /// # Panics
    /// Panics if the level is not one of [`Store::LEVELS`].
    pub fn new(level: Level, sessions: u32, keys: u32, seed: u64) -> Store {
        let Some(rule) = Rule::of(level) else { panic!("the store cannot run at {level}") };
        Store {
            level,
            rule,
            versions: Versions::new(keys),
            elements: Vec::new(),
            now: 0,
            past: vec![Visible::default(); sessions as usize],
            running: vec![IDLE; sessions as usize],
            saw: vec![Visible::default(); HORIZON as usize],
            dice: Dice::new(seed, "store"),
            spare: Vec::new(),
            list: Vec::new(),
        }
    }

    /// The level the store runs at.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Begins a transaction. `intent` lists keys whose newest version it must see. If it lists all keys that
    /// the transaction will write (at snapshot and serializable) and all lists that it will read after
    /// appending to them, the transaction cannot conflict with one that commits before this call. Without an
    /// intent, the transaction may read an old state, and conflict if it then writes.
    ///
    /// # Panics Panics if the session does not exist or already runs a transaction.
    pub fn begin(&mut self, session: Session, intent: &[Key]) -> Transaction {
        assert_eq!(self.running[session.index()], IDLE, "{session:?} already runs a transaction");
        let visible = self.choose(session, intent);
        self.running[session.index()] = visible.floor;
        let mut txn = self.spare.pop().unwrap_or_default();
        txn.session = session;
        txn.visible = visible;
        txn
    }

    fn choose(&mut self, session: Session, intent: &[Key]) -> Visible {
        let past = self.past[session.index()];
        match self.rule {
            Rule::Serializable if !intent.is_empty() => Visible::prefix(self.now),
            Rule::Serializable | Rule::Snapshot | Rule::Prefix => self.choose_prefix(past.floor, intent),
            Rule::ReadCommitted => self.choose_prefix(0, intent),
            Rule::Causal => self.choose_closed(past, intent),
            Rule::ReadAtomic => self.choose_any(past, intent),
        }
    }

    /// A prefix that includes commit `least`.
    fn choose_prefix(&mut self, least: u32, intent: &[Key]) -> Visible {
        let asked = intent.iter().map(|&key| self.versions.last_commit(key)).max().unwrap_or(0);
        let low = least.max(asked).max(horizon(self.now));
        Visible::prefix(self.dice.between(low, self.now))
    }

    /// A set that contains, with every commit, what that commit saw.
    fn choose_closed(&mut self, past: Visible, intent: &[Key]) -> Visible {
        /// The number of other commits joined is below this limit. More of them would make all sets prefixes.
        const SOURCES: u32 = 3;
        let floor = horizon(self.now);
        let mut visible = past.raised(floor);
        if self.now == floor {
            return visible;
        }
        if self.dice.chance(0.25) {
            visible = visible.raised(self.dice.between(floor, self.now));
        }
        for _ in 0..self.dice.below(SOURCES) {
            let source = self.dice.between(floor + 1, self.now);
            visible = visible.joined(self.saw[(source % HORIZON) as usize]);
        }
        for &key in intent {
            let writer = self.versions.last_commit(key);
            if writer > floor {
                visible = visible.joined(self.saw[(writer % HORIZON) as usize]);
            }
        }
        visible
    }

    /// An arbitrary set: a coin decides for each commit within the horizon.
    fn choose_any(&mut self, past: Visible, intent: &[Key]) -> Visible {
        let floor = horizon(self.now);
        let coins = u128::from(self.dice.bits()) << 64 | u128::from(self.dice.bits());
        let visible = Visible::chosen(floor, self.now, coins).joined(past);
        intent.iter().fold(visible, |visible, &key| visible.with(self.versions.last_commit(key)))
    }

    /// Reads a register.
    #[inline]
    pub fn read(&mut self, txn: &mut Transaction, key: Key) -> Value {
        match txn.place(key) {
            Some(place) => txn.writes[place].1,
            None => self.observe(txn, key).value,
        }
    }

    /// Reads a list.
    pub fn read_list(&mut self, txn: &mut Transaction, key: Key) -> &[Value] {
        let version = self.observe(txn, key);
        let length = version.value.as_small().unwrap_or(0) as usize;
        let prefix = self.elements.get(key.index()).map_or(&[][..], |elements| &elements[..length]);
        if txn.place(key).is_none() {
            return prefix;
        }
        txn.read_back.push((key, version.commit));
        self.list.clear();
        self.list.extend_from_slice(prefix);
        self.list.extend(txn.appends.iter().filter(|append| append.0 == key).map(|append| append.1));
        &self.list
    }

    /// Finds the version of a key that the transaction reads.
    fn observe(&mut self, txn: &mut Transaction, key: Key) -> Version {
        if self.rule == Rule::ReadCommitted && self.dice.chance(0.5) {
            txn.visible = Visible::prefix(self.dice.between(txn.visible.floor, self.now));
        }
        if self.rule == Rule::Serializable {
            txn.reads.push(key);
        }
        self.versions.read(key, txn.visible)
    }

    /// Writes a register.
    #[inline]
    pub fn write(&mut self, txn: &mut Transaction, key: Key, value: Value) {
        self.versions.assert_has(key);
        txn.put(key, value);
    }

    /// Appends to a list.
    pub fn append(&mut self, txn: &mut Transaction, key: Key, element: Value) {
        self.versions.assert_has(key);
        txn.put(key, Value::NIL);
        txn.appends.push((key, element));
    }

    /// Ends a transaction and makes its writes visible, unless it conflicts.
    pub fn commit(&mut self, txn: Transaction) -> Result<(), Conflict> {
        let conflict = self.conflict(&txn);
        if conflict.is_none() {
            self.publish(&txn);
        }
        self.end(txn);
        conflict.map_or(Ok(()), |key| Err(Conflict { key }))
    }

    /// Ends a transaction and makes its writes visible, even if it conflicts. This models a store with a bug.
    pub fn commit_unchecked(&mut self, txn: Transaction) {
        self.publish(&txn);
        self.end(txn);
    }

    /// Ends a transaction without effect.
    pub fn abort(&mut self, txn: Transaction) {
        self.end(txn);
    }

    /// A key on which the transaction conflicts, if any.
    fn conflict(&self, txn: &Transaction) -> Option<Key> {
        if txn.writes.is_empty() {
            return None;
        }
        let stale = |key: &Key| self.versions.last_commit(*key) > txn.visible.floor;
        let conflict = match self.rule {
            Rule::Serializable => txn.reads.iter().copied().find(stale),
            Rule::Snapshot => txn.writes.iter().map(|write| write.0).find(stale),
            _ => None,
        };
        let misread =
            || txn.read_back.iter().find(|(key, commit)| self.versions.last_commit(*key) != *commit);
        conflict.or_else(|| misread().map(|read| read.0))
    }

    fn publish(&mut self, txn: &Transaction) {
        let past = &mut self.past[txn.session.index()];
        if txn.writes.is_empty() {
            if self.rule != Rule::ReadAtomic {
                *past = txn.visible;
            }
            return;
        }
        self.now += 1;
        *past = match self.rule {
            Rule::ReadAtomic => past.raised(horizon(self.now)).with(self.now),
            Rule::Causal => txn.visible.raised(horizon(self.now)).with(self.now),
            _ => Visible::prefix(self.now),
        };
        self.saw[(self.now % HORIZON) as usize] = *past;
        for &(key, element) in &txn.appends {
            if key.index() >= self.elements.len() {
                self.elements.resize(key.index() + 1, Vec::new());
            }
            self.elements[key.index()].push(element);
        }
        for &(key, value) in &txn.writes {
            let value = self.length(key).unwrap_or(value);
            self.versions.push(key, Version { commit: self.now, value });
        }
    }

    /// The length of a list; `None` for a register.
    fn length(&self, key: Key) -> Option<Value> {
        let elements = self.elements.get(key.index())?;
        if elements.is_empty() { None } else { Value::small(elements.len() as u64) }
    }

    fn end(&mut self, mut txn: Transaction) {
        self.running[txn.session.index()] = IDLE;
        if self.versions.wants_folding() {
            let oldest = self.running.iter().copied().min().unwrap_or(IDLE);
            self.versions.fold(oldest.min(horizon(self.now)));
        }
        txn.clear();
        self.spare.push(txn);
    }
}

impl Transaction {
    /// The session it runs in.
    pub fn session(&self) -> Session {
        self.session
    }

    /// The index of a key in `writes`.
    #[inline]
    fn place(&self, key: Key) -> Option<usize> {
        if self.writes.len() <= FEW {
            self.writes.iter().position(|write| write.0 == key)
        } else {
            self.places.get(&key).map(|&place| place as usize)
        }
    }

    #[inline]
    fn put(&mut self, key: Key, value: Value) {
        if let Some(place) = self.place(key) {
            self.writes[place].1 = value;
            return;
        }
        self.writes.push((key, value));
        let count = self.writes.len();
        if count == FEW + 1 {
            self.places.extend(self.writes.iter().zip(0..).map(|(write, place)| (write.0, place)));
        } else if count > FEW {
            self.places.insert(key, count as u32 - 1);
        }
    }

    fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
        self.places.clear();
        self.appends.clear();
        self.read_back.clear();
    }
}
