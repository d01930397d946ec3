//! Levels at which each transaction sees a prefix of the commit order: prefix consistency, snapshot
//! isolation, serializability, their strict forms, and PL-2.99.
//!
//! Definition (docs/levels.md, "Visibility and arbitration", where PREFIX makes the visible transactions a
//! prefix of the order). The *snapshot* of a transaction is the number of transactions it sees. At
//! serializability and PL-2.99 it is all transactions before it. At PL-2.99 a read in a range only needs a
//! possible writer before its reader. Otherwise:
//!
//! - Every external read returns the last value that the snapshot wrote to the key, or the list of all its
//!   appends. If the transaction has appended to the list itself, the list holds the appends of all
//!   transactions before it.
//! - SESSION: the snapshot contains the earlier transactions of the session. PL-2.99 has no sessions.
//! - NOCONFLICT (snapshot isolation): it contains every earlier writer of a key that the transaction writes.
//! - Real-time order (strict levels): it contains every transaction that returned before this one was
//!   invoked.
//!
//! Cost, with n operations and t transactions: the order is replayed once, and each reader is checked when
//! the replay reaches its snapshot. That is O(n + t log t) steps, and one comparison per element of every
//! list read.

use isoscope_history::{OpKind, OpView, Txn, Value};
use isoscope_levels::Level;

use super::facts::{Facts, Source};
use super::lists::Lists;
use super::order::Order;
use super::{Refutation, ensure, realtime};
use isoscope_certificate::Node;

/// Snapshots in which each transaction sees all transactions before it.
pub(super) fn everything(order: &Order<'_>) -> Vec<u32> {
    (0..order.txns.len() as u32).collect()
}

/// An order, and for each of its transactions how many of the first transactions it sees.
pub(super) struct View<'a, 'h> {
    facts: &'a Facts<'h>,
    order: &'a Order<'a>,
    sees: &'a [u32],
}

impl<'a, 'h> View<'a, 'h> {
    /// Fails if a snapshot contains its own transaction or a later one.
    pub(super) fn new(
        facts: &'a Facts<'h>,
        order: &'a Order<'a>,
        sees: &'a [u32],
    ) -> Result<Self, Refutation> {
        ensure(sees.len() == order.txns.len(), || "not one snapshot for each transaction".to_owned())?;
        let early = order.txns.iter().zip(sees).zip(0..).find(|&((_, &sees), before)| sees > before);
        match early {
            None => Ok(View { facts, order, sees }),
            Some(((&txn, _), _)) => Err(Refutation::new(format!(
                "the snapshot of {} holds more than comes before it",
                facts.name(txn)
            ))),
        }
    }

    /// Checks all conditions of a level.
    pub(super) fn check(&self, level: Level) -> Result<(), Refutation> {
        if level.has_sessions() {
            self.check_sessions()?;
        }
        if level.implies(Level::Snapshot) {
            self.check_conflicts()?;
        }
        if level.implies(Level::StrictSnapshot) {
            realtime::check(self.facts, self.order, self.sees)?;
        }
        self.check_reads(level)
    }

    /// The snapshot of a transaction of the order.
    fn sees(&self, txn: Txn) -> u32 {
        self.sees[self.order.position(Node::Txn(txn)) as usize - 1]
    }

    /// Seeing the previous transaction of the session is enough, since the order contains the session order.
    fn check_sessions(&self) -> Result<(), Refutation> {
        let history = self.facts.history;
        for session in history.sessions() {
            let mut before = 0;
            for txn in self.order.members(history.txns_of(session)) {
                ensure(before <= self.sees(txn), || {
                    format!("{} does not see an earlier transaction of its session", self.facts.name(txn))
                })?;
                before = self.order.position(Node::Txn(txn));
            }
        }
        Ok(())
    }

    /// Seeing the previous writer of each key is enough.
    fn check_conflicts(&self) -> Result<(), Refutation> {
        let mut last = vec![0; self.facts.history.key_count()];
        for ((&txn, &sees), place) in self.order.txns.iter().zip(self.sees).zip(1..) {
            for write in self.facts.history.ops_of(txn).filter(|op| op.last_write) {
                let before = std::mem::replace(&mut last[write.key.index()], place);
                ensure(before <= sees, || {
                    let other = self.facts.name(self.order.txns[before as usize - 1]);
                    format!("{} overwrites {other} without having seen it", self.facts.text(write.id))
                })?;
            }
        }
        Ok(())
    }

    fn check_reads(&self, level: Level) -> Result<(), Refutation> {
        let mut readers: Vec<(u32, Txn)> =
            self.sees.iter().copied().zip(self.order.txns.iter().copied()).collect();
        readers.sort_by_key(|&(sees, _)| sees);
        let mut state = State::new(self.facts);
        let lists = Lists::new(self.facts, self.order);
        let mut applied = 0;
        for (sees, reader) in readers {
            self.facts.go_on()?;
            for &txn in &self.order.txns[applied..sees as usize] {
                state.apply(txn);
            }
            applied = sees as usize;
            for op in self.facts.history.ops_of(reader) {
                if op.in_range && level == Level::AdyaPl299 {
                    self.check_ranged(&lists, op, reader)?;
                    continue;
                }
                state.check(op, reader)?;
                let is_list = op.kind == OpKind::ReadList && op.value != Value::UNKNOWN;
                ensure(!is_list || lists.extends(self.facts, op, reader), || {
                    format!("{} misses what came before its transaction's appends", self.facts.text(op.id))
                })?;
            }
        }
        Ok(())
    }
}

impl View<'_, '_> {
    /// A read in a range at PL-2.99, where other writers may come in between: one of its possible writers
    /// must precede its reader. A list must be the version that the order makes of it.
    fn check_ranged(&self, lists: &Lists, read: OpView, reader: Txn) -> Result<(), Refutation> {
        let facts = self.facts;
        let place = self.order.position(Node::Txn(reader));
        let is_before = |node: Node| self.order.holds(node) && self.order.position(node) < place;
        let fine = match facts.source(read.id) {
            Source::Nothing | Source::Own => true,
            Source::Wrong => false,
            _ if read.kind == OpKind::ReadList => is_before(lists.source(facts, read.id)?),
            Source::From(node) => is_before(node),
            Source::Ambiguous => {
                let wrote = |&&txn: &&Txn| {
                    let mut finals =
                        facts.history.ops_of(txn).filter(|op| op.last_write && op.key == read.key);
                    txn != reader && finals.any(|op| op.value == read.value) && is_before(Node::Txn(txn))
                };
                facts.history.is_initial(read.key, read.value)
                    || self.order.txns.iter().any(|txn| wrote(&txn))
            }
        };
        ensure(fine, || format!("{} is from no transaction before it", facts.text(read.id)))
    }
}

/// The state after some transactions of the order.
struct State<'a, 'h> {
    facts: &'a Facts<'h>,
    /// `None` until a transaction writes the key.
    registers: Vec<Option<Value>>,
    lists: Vec<Vec<Value>>,
}

impl<'a, 'h> State<'a, 'h> {
    fn new(facts: &'a Facts<'h>) -> Self {
        let initial = |key| facts.initial_elements(key).to_vec();
        State {
            facts,
            registers: vec![None; facts.history.key_count()],
            lists: facts.history.keys().map(initial).collect(),
        }
    }

    fn apply(&mut self, txn: Txn) {
        for op in self.facts.history.ops_of(txn).filter(|op| op.kind.is_write()) {
            if op.kind == OpKind::Append {
                self.lists[op.key.index()].push(op.value);
            } else if op.last_write {
                self.registers[op.key.index()] = Some(op.value);
            }
        }
    }

    /// Checks that a transaction whose snapshot is this state may have returned this read.
    fn check(&self, read: OpView, reader: Txn) -> Result<(), Refutation> {
        let facts = self.facts;
        let right = match facts.source(read.id) {
            Source::Nothing | Source::Own => return Ok(()),
            Source::Wrong => {
                return Err(Refutation::new(format!("{} is wrong in every order", facts.text(read.id))));
            }
            Source::From(_) | Source::Ambiguous if read.kind == OpKind::ReadList => {
                facts.external_part(read, reader) == Some(&self.lists[read.key.index()])
            }
            Source::From(_) | Source::Ambiguous => match self.registers[read.key.index()] {
                Some(value) => value == read.value,
                None => facts.history.is_initial(read.key, read.value),
            },
        };
        ensure(right, || format!("{} is not what its transaction sees", facts.text(read.id)))
    }
}
