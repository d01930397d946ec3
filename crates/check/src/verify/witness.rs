//! *Holds*, checked: does the commit order explain every read?
//!
//! Definition (Framework 1 of levels.md). The order `co` is total on the present transactions and contains
//! `so` and `wr`. When t3 reads x from t1 and t2 writes x, PHI(t2, t3) implies that t2 is not after t1.
//! Written as one number: *the latest t2 that t3 saw and that writes x is not after t1*. So it is enough to
//! keep, for each key, the latest position seen ([`Latest`]); the initial state has position 0.
//!
//! Lists need no axiom of their own. Replaying all appends in commit order gives for each key one list, and
//! every external part must be a beginning of it that ends where a transaction's appends end.
//!
//! Cost, with n operations: read committed and read atomic look at the smaller of two transactions for every
//! pair that reads from one another, which is O(n^1.5) at worst and O(n) where transactions are short. Causal
//! is in `causal.rs`.

use isoscope_history::{History, Key, Op, OpKind, OpView, Txn, Value};
use isoscope_levels::Level;

use super::causal;
use super::facts::{Facts, Source};
use super::{Refutation, ensure};
use crate::certificate::Node;

/// Checks a commit order.
pub(super) fn check(facts: &Facts<'_>, level: Level, order: &[Txn]) -> Result<(), Refutation> {
    let order = Order::new(facts, order)?;
    if level == Level::AdyaPl1 {
        return order.replay(facts, longest_lists(facts));
    }
    check_supported(facts)?;
    order.check_reads(facts)?;
    let lists = facts.present().flat_map(|txn| facts.history.ops_of(txn));
    order.replay(facts, lists.filter(|op| op.kind == OpKind::ReadList).map(|op| op.id))?;
    if level != Level::AdyaPl2 {
        order.check_sessions(facts)?;
    }
    match level {
        Level::AdyaPl2 => Ok(()),
        Level::ReadCommitted => check_read_committed(facts, &order),
        Level::ReadAtomic => check_read_atomic(facts, &order),
        Level::Causal => causal::check(facts, &order),
        _ => Err(Refutation::new(format!("no verifier yet for an order at {level}"))),
    }
}

/// Nothing holds where operations are that no axiom covers.
pub(super) fn check_supported(facts: &Facts<'_>) -> Result<(), Refutation> {
    let mut ops = facts.present().flat_map(|txn| facts.history.ops_of(txn));
    match ops.find(|&op| facts.is_unsupported(op)) {
        None => Ok(()),
        Some(op) => Err(Refutation::new(format!(
            "no axiom covers {}, so nothing is known to hold",
            facts.text(op.id)
        ))),
    }
}

/// For each list that nobody read wrongly, and no two in contradiction, the read with the longest external
/// part: it shows all that is known of the order of versions.
fn longest_lists(facts: &Facts<'_>) -> impl Iterator<Item = Op> {
    let mut longest: Vec<Option<(&[Value], Op)>> = vec![None; facts.history.key_count()];
    let mut contradicted = vec![false; facts.history.key_count()];
    for txn in facts.present() {
        for read in facts.history.ops_of(txn).filter(|op| op.kind == OpKind::ReadList) {
            let key = read.key.index();
            let part = match (facts.source(read.id), facts.external_part(read, txn)) {
                (Source::Nothing, _) => continue,
                (Source::From(_), Some(part)) => part,
                _ => {
                    contradicted[key] = true;
                    continue;
                }
            };
            let (known, _) = *longest[key].get_or_insert((part, read.id));
            contradicted[key] |= !known.starts_with(part) && !part.starts_with(known);
            if part.len() > known.len() {
                longest[key] = Some((part, read.id));
            }
        }
    }
    longest
        .into_iter()
        .zip(contradicted)
        .filter(|&(_, bad)| !bad)
        .filter_map(|(l, _)| l.map(|(_, read)| read))
}

/// A commit order, and the position of every transaction in it.
pub(super) struct Order<'a> {
    pub(super) txns: &'a [Txn],
    /// From 1 on; 0 for the initial state and for absent transactions.
    position: Vec<u32>,
}

impl<'a> Order<'a> {
    /// The order must hold every present transaction once, and nothing else.
    pub(super) fn new(facts: &Facts<'_>, txns: &'a [Txn]) -> Result<Order<'a>, Refutation> {
        let mut position = vec![0; facts.history.txn_count()];
        for (&txn, place) in txns.iter().zip(1..) {
            ensure(txn.index() < position.len(), || format!("{txn:?} is no transaction"))?;
            ensure(facts.is_present(txn), || format!("{} is absent", facts.name(txn)))?;
            ensure(position[txn.index()] == 0, || format!("{} is in the order twice", facts.name(txn)))?;
            position[txn.index()] = place;
        }
        let missing = facts.present().find(|txn| position[txn.index()] == 0);
        match missing {
            None => Ok(Order { txns, position }),
            Some(txn) => Err(Refutation::new(format!("{} is not in the order", facts.name(txn)))),
        }
    }

    pub(super) fn position(&self, node: Node) -> u32 {
        match node {
            Node::Initial => 0,
            Node::Txn(txn) => self.position[txn.index()],
        }
    }

    fn check_sessions(&self, facts: &Facts<'_>) -> Result<(), Refutation> {
        for session in facts.history.sessions() {
            let mut before = 0;
            for txn in facts.history.txns_of(session).filter(|&txn| facts.is_present(txn)) {
                let place = self.position[txn.index()];
                ensure(before < place, || {
                    format!("{} is before an earlier transaction of its session", facts.name(txn))
                })?;
                before = place;
            }
        }
        Ok(())
    }

    /// Every read must be determined, and come after its writer.
    fn check_reads(&self, facts: &Facts<'_>) -> Result<(), Refutation> {
        for txn in facts.present() {
            for read in facts.history.ops_of(txn) {
                let bad = match facts.source(read.id) {
                    Source::Nothing | Source::Own => None,
                    Source::From(from) if self.position(from) < self.position[txn.index()] => None,
                    Source::From(_) => Some("comes before what it reads"),
                    Source::Ambiguous => Some("has several possible writers"),
                    Source::Wrong => Some("is wrong in every order"),
                };
                if let Some(bad) = bad {
                    return Err(Refutation::new(format!("{} {bad}", facts.text(read.id))));
                }
            }
        }
        Ok(())
    }

    /// Replays the appends in commit order and checks that each of the given reads saw a beginning of what
    /// comes out, up to the end of some transaction.
    fn replay(&self, facts: &Facts<'_>, reads: impl Iterator<Item = Op>) -> Result<(), Refutation> {
        if !facts.history.has_lists() {
            return Ok(());
        }
        let mut lists: Vec<Vec<(Value, bool)>> = facts
            .history
            .keys()
            .map(|key| facts.initial_elements(key).iter().map(|&element| (element, true)).collect())
            .collect();
        for &txn in self.txns {
            for op in facts.history.ops_of(txn).filter(|op| op.kind == OpKind::Append) {
                lists[op.key.index()].push((op.value, op.last_write));
            }
        }
        for id in reads {
            let read = facts.history.op(id);
            if !matches!(facts.source(id), Source::From(_)) {
                continue;
            }
            let part = facts.external_part(read, facts.history.txn_of(id)).unwrap_or_default();
            let list = &lists[read.key.index()];
            let agrees = part.len() <= list.len() && part.iter().zip(list).all(|(&e, &(f, _))| e == f);
            let is_whole = || part.is_empty() || list[part.len() - 1].1;
            ensure(agrees && is_whole(), || {
                format!("{} is not what the order makes of the list", facts.text(id))
            })?;
        }
        Ok(())
    }
}

/// For each key, the latest position in the commit order of a writer that was seen.
///
/// Whose eyes are meant is a *mark*, a number that grows: entries under an older mark are smaller than any
/// under the present one, so nothing is ever cleared.
pub(super) struct Latest {
    mark: u64,
    seen: Vec<u64>,
}

impl Latest {
    pub(super) fn new(facts: &Facts<'_>) -> Latest {
        Latest { mark: 0, seen: vec![0; facts.history.key_count()] }
    }

    /// Forgets everything.
    pub(super) fn reset(&mut self) {
        self.mark += 1 << 32;
    }

    #[inline]
    pub(super) fn see(&mut self, key: Key, position: u32) {
        let entry = &mut self.seen[key.index()];
        *entry = (*entry).max(self.mark | u64::from(position));
    }

    /// Sees all that a transaction writes.
    pub(super) fn see_all(&mut self, history: &History, txn: Txn, position: u32) {
        for op in history.ops_of(txn).filter(|op| op.last_write) {
            self.see(op.key, position);
        }
    }

    /// Whether a writer of the key was seen that is later than a position.
    #[inline]
    pub(super) fn is_later(&self, key: Key, position: u32) -> bool {
        self.seen[key.index()] > self.mark | u64::from(position)
    }

    /// The axiom: t3 must not have seen a later writer than the one it reads from.
    pub(super) fn check(&self, facts: &Facts<'_>, order: &Order<'_>, read: OpView) -> Result<(), Refutation> {
        match facts.source(read.id) {
            Source::From(from) if self.is_later(read.key, order.position(from)) => {
                Err(Refutation::new(format!(
                    "{} misses a write that is later in the order and that its transaction must have seen",
                    facts.text(read.id)
                )))
            }
            _ => Ok(()),
        }
    }
}

/// The transactions that the one at hand reads from, entered in [`Latest`] once each.
struct Reader {
    latest: Latest,
    /// By which reader each transaction was last seen.
    seen_by: Vec<u32>,
}

impl Reader {
    fn new(facts: &Facts<'_>) -> Reader {
        Reader { latest: Latest::new(facts), seen_by: vec![u32::MAX; facts.history.txn_count()] }
    }

    /// Sees the transaction that a read is from: by its writes or by the reader's keys, whichever are fewer.
    fn see(&mut self, facts: &Facts<'_>, order: &Order<'_>, reader: Txn, read: Op) {
        let Source::From(Node::Txn(writer)) = facts.source(read) else { return };
        if std::mem::replace(&mut self.seen_by[writer.index()], reader.0) == reader.0 {
            return;
        }
        let position = order.position(Node::Txn(writer));
        if facts.history.op_range(writer).len() <= facts.history.op_range(reader).len() {
            self.latest.see_all(facts.history, writer, position);
        } else {
            for op in facts.history.ops_of(reader).filter(|op| op.kind.is_read()) {
                if facts.writes(writer, op.key) {
                    self.latest.see(op.key, position);
                }
            }
        }
    }
}

/// PHI: t3 reads from t2, of any key, before it reads x.
fn check_read_committed(facts: &Facts<'_>, order: &Order<'_>) -> Result<(), Refutation> {
    let mut reader = Reader::new(facts);
    for txn in facts.present() {
        reader.latest.reset();
        for op in facts.history.ops_of(txn) {
            reader.latest.check(facts, order, op)?;
            reader.see(facts, order, txn, op.id);
        }
    }
    Ok(())
}

/// PHI: t3 reads from t2, or t2 is earlier in the session of t3.
fn check_read_atomic(facts: &Facts<'_>, order: &Order<'_>) -> Result<(), Refutation> {
    let mut reader = Reader::new(facts);
    let mut session_latest = Latest::new(facts);
    for session in facts.history.sessions() {
        session_latest.reset();
        for txn in facts.history.txns_of(session).filter(|&txn| facts.is_present(txn)) {
            reader.latest.reset();
            facts.history.op_range(txn).for_each(|op| reader.see(facts, order, txn, Op::at(op)));
            for op in facts.history.ops_of(txn) {
                reader.latest.check(facts, order, op)?;
                session_latest.check(facts, order, op)?;
            }
            session_latest.see_all(facts.history, txn, order.position(Node::Txn(txn)));
        }
    }
    Ok(())
}
