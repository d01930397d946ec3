//! Levels at which each transaction sees a beginning of the commit order: prefix consistency, snapshot
//! isolation, serializability, their strict forms, and PL-2.99.
//!
//! Definition (docs/levels.md, "Visibility and arbitration", where PREFIX makes what is visible a beginning of the order). How
//! many transactions each one sees is its *snapshot*; where the level is serializability or PL-2.99, it is
//! all before it. PL-2.99 asks of what a range read found only that a writer of it comes before. Then
//!
//! - every external read returns what the last of these that wrote the key wrote, or a list of all they
//!   appended; where a transaction has appended to the list itself, it holds the appends of all transactions before it;
//! - SESSION: the snapshot holds the earlier transactions of the session (PL-2.99 knows no sessions);
//! - NOCONFLICT (snapshot isolation): it holds every earlier writer of a key that the transaction writes;
//! - real time (strict levels): it holds all that had returned before the transaction was invoked.
//!
//! Cost, with n operations and t transactions: the order is replayed once, and the readers of a state are
//! asked when it is reached; O(n + t log t) steps, and one look at every element of every list that was read.

use isoscope_history::{OpKind, OpView, Txn, Value};
use isoscope_levels::Level;

use super::facts::{Facts, Source};
use super::lists::Lists;
use super::order::Order;
use super::{Refutation, ensure, realtime};
use isoscope_certificate::Node;

/// For each transaction of an order, that it sees all before it.
pub(super) fn everything(order: &Order<'_>) -> Vec<u32> {
    (0..order.txns.len() as u32).collect()
}

/// An order, and how many transactions at its beginning each one sees.
pub(super) struct View<'a, 'h> {
    facts: &'a Facts<'h>,
    order: &'a Order<'a>,
    sees: &'a [u32],
}

impl<'a, 'h> View<'a, 'h> {
    /// Snapshots are of the past.
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

    /// Checks all that a level asks for.
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

    /// How many transactions one of the order sees.
    fn sees(&self, txn: Txn) -> u32 {
        self.sees[self.order.position(Node::Txn(txn)) as usize - 1]
    }

    /// The last transaction of the session is enough: it comes after those before it.
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

    /// The last earlier writer of a key is enough.
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
                    self.check_ranged(op, reader)?;
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
    /// A read in a range, where others may come between: one of its possible writers is before its reader.
    fn check_ranged(&self, read: OpView, reader: Txn) -> Result<(), Refutation> {
        let facts = self.facts;
        let place = self.order.position(Node::Txn(reader));
        let is_before = |node: Node| self.order.holds(node) && self.order.position(node) < place;
        let fine = match facts.source(read.id) {
            Source::Nothing | Source::Own => true,
            Source::Wrong => false,
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

/// What every key holds after some transactions.
struct State<'a, 'h> {
    facts: &'a Facts<'h>,
    /// `None` as long as nobody has written the key.
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

    /// Checks that a transaction that sees this state may have read what it read.
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
