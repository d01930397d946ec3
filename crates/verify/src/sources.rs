//! The source of every read in a commit order.
//!
//! A register read with one candidate has a known source. The length of a list read determines its source
//! (`lists.rs`). For the other reads the certificate names the writer. It must be a candidate: it took
//! effect, and its final write of the key has the value read. Every writer must precede its reader.
//!
//! Cost: one step per read, and one per write of each named writer.

use isoscope_history::{Key, Op, OpKind, Txn, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::facts::{Facts, Source};
use super::lists::Lists;
use super::order::Order;
use super::{Refutation, ensure};
use isoscope_certificate::Node;

/// The sources of all reads in an order; see the module.
pub(super) struct Sources<'a, 'h> {
    pub(super) facts: &'a Facts<'h>,
    pub(super) order: &'a Order<'a>,
    /// The sources of ambiguous reads.
    chosen: FxHashMap<Op, Node>,
}

impl<'a, 'h> Sources<'a, 'h> {
    /// Checks the writers that a certificate names, and that every read comes after its writer.
    pub(super) fn new(
        facts: &'a Facts<'h>,
        order: &'a Order<'a>,
        named: &[(Op, Node)],
    ) -> Result<Self, Refutation> {
        let mut sources = Sources { facts, order, chosen: FxHashMap::default() };
        let mut finals = FinalWrites::default();
        for &(read, writer) in named {
            sources.check_named(&mut finals, read, writer)?;
            sources.chosen.insert(read, writer);
        }
        let lists = Lists::new(facts, order);
        for &txn in order.txns {
            facts.go_on()?;
            for read in facts.history.ops_of(txn).filter(|op| op.kind.is_read()) {
                sources.settle(&lists, txn, read.id, read.kind)?;
            }
        }
        Ok(sources)
    }

    /// The source of a read, if it is another transaction or the initial state.
    #[inline]
    pub(super) fn of(&self, read: Op) -> Option<Node> {
        match self.facts.source(read) {
            Source::From(node) => Some(node),
            Source::Ambiguous => self.chosen.get(&read).copied(),
            Source::Nothing | Source::Own | Source::Wrong => None,
        }
    }

    fn check_named(&self, finals: &mut FinalWrites, read: Op, writer: Node) -> Result<(), Refutation> {
        let (facts, history) = (self.facts, self.facts.history);
        ensure(read.index() < history.op_count(), || format!("{read:?} is no operation"))?;
        let (view, reader) = (history.op(read), history.txn_of(read));
        ensure(self.order.holds(Node::Txn(reader)), || {
            format!("{} is not in the order", facts.name(reader))
        })?;
        ensure(matches!(facts.source(read), Source::From(_) | Source::Ambiguous), || {
            format!("{} has no writer to name", facts.text(read))
        })?;
        ensure(self.order.holds(writer), || {
            format!("the writer named for {} is not in the order", facts.text(read))
        })?;
        let possible = match writer {
            // `settle` determines it from the length of the list.
            _ if view.kind == OpKind::ReadList => true,
            Node::Initial => history.is_initial(view.key, view.value),
            Node::Txn(writer) => writer != reader && finals.of(facts, writer, view.key) == Some(view.value),
        };
        ensure(possible, || format!("{} is not from the writer named", facts.text(read)))
    }

    /// Checks the source of one read, and determines the source of a list read.
    fn settle(&mut self, lists: &Lists, reader: Txn, read: Op, kind: OpKind) -> Result<(), Refutation> {
        let facts = self.facts;
        let known = match facts.source(read) {
            Source::Nothing | Source::Own => return Ok(()),
            Source::Wrong => {
                return Err(Refutation::new(format!("{} is wrong in every order", facts.text(read))));
            }
            Source::From(node) => Some(node),
            Source::Ambiguous => self.chosen.get(&read).copied(),
        };
        let writer = match (known, kind) {
            (_, OpKind::ReadList) => lists.source(facts, read)?,
            (Some(node), _) => node,
            (None, _) => {
                return Err(Refutation::new(format!("{} has several possible writers", facts.text(read))));
            }
        };
        ensure(known.is_none_or(|known| known == writer), || {
            format!("{} is not from the writer named", facts.text(read))
        })?;
        ensure(self.order.holds(writer), || {
            format!("the writer of {} is not in the order", facts.text(read))
        })?;
        ensure(self.order.position(writer) < self.order.position(Node::Txn(reader)), || {
            format!("{} comes before what it reads", facts.text(read))
        })?;
        if kind == OpKind::ReadList && facts.source(read) == Source::Ambiguous {
            self.chosen.insert(read, writer);
        }
        Ok(())
    }
}

/// The final writes of the transactions looked up so far.
#[derive(Default)]
struct FinalWrites {
    known: FxHashSet<Txn>,
    values: FxHashMap<(Txn, Key), Value>,
}

impl FinalWrites {
    fn of(&mut self, facts: &Facts<'_>, txn: Txn, key: Key) -> Option<Value> {
        if self.known.insert(txn) {
            let finals = facts.history.ops_of(txn).filter(|op| op.last_write);
            self.values.extend(finals.map(|op| ((txn, op.key), op.value)));
        }
        self.values.get(&(txn, key)).copied()
    }
}
