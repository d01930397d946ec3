//! The axioms of read committed, read atomic and causal consistency, on demand.
//!
//! All three have one shape (docs/levels.md, "Commit orders"; Biswas and Enea 2019, Section 2): when t3 reads x from
//! t1, and t2 also writes x, and t3 must have seen t2, then t2 is before t1. They differ in what "must have
//! seen" means, and none of them asks about the commit order itself, so what they force is a fixed set of edges
//! from t2 to t1. That set is never computed: given an order, only those of its edges that the order does not
//! respect are looked for, and only at the reads that could have one.
//!
//! Of the transactions of one session that t3 must have seen because of their session or by causality, only the
//! last one that writes x is named: the others come before it anyway.

mod causal;
mod direct;

use std::cell::OnceCell;

pub(crate) use causal::{Causality, Past};
use isoscope_history::{History, Key, Op, Txn};
use isoscope_levels::Anomaly;
use rustc_hash::FxHashSet;

use crate::certificate::Node;
use crate::resolve::{Link, Resolved};
use crate::stale::Stale;
use crate::watch::Watch;

/// What "t3 must have seen t2" means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Axiom {
    /// t3 reads from t2 before the read in question.
    ReadCommitted,
    /// t3 reads from t2, or t2 is earlier in the session.
    ReadAtomic,
    /// A path of sessions and reads leads from t2 to t3.
    Causal,
}

impl Axiom {
    /// All axioms, weaker ones first.
    pub(crate) const ALL: [Axiom; 3] = [Axiom::ReadCommitted, Axiom::ReadAtomic, Axiom::Causal];

    /// Whether this axiom gives instances a name.
    pub(crate) fn names(self, anomaly: Anomaly) -> bool {
        match self {
            Axiom::ReadCommitted => anomaly == Anomaly::NonMonotonicRead,
            Axiom::ReadAtomic => matches!(anomaly, Anomaly::FracturedRead | Anomaly::StaleSessionRead),
            Axiom::Causal => {
                matches!(anomaly, Anomaly::CausalityViolation | Anomaly::ConflictingCommitOrder)
            }
        }
    }
}

/// An edge that an axiom forces: from `seen` (t2) to the transaction that `read` reads from (t1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Forced {
    /// t3.
    pub(crate) reader: Txn,
    pub(crate) read: Op,
    /// t2.
    pub(crate) seen: Txn,
}

impl Forced {
    /// t1.
    pub(crate) fn target(&self, resolved: &Resolved) -> Node {
        resolved.links[self.read.index()].writer()
    }
}

/// The rank of each transaction, which never falls along a session or from a writer to its reader.
#[derive(Clone, Copy)]
pub(crate) struct Ranking<'a> {
    pub(crate) rank: &'a [u32],
}

impl Ranking<'_> {
    /// Whether an edge from `seen` to what a link reads from would lead downwards or stay on one level.
    #[inline]
    fn opposes(&self, seen: Txn, link: Link) -> bool {
        link.txn().is_none_or(|writer| writer != seen && self.rank[seen.index()] >= self.rank[writer.index()])
    }
}

/// What the search for forced edges works on.
pub(crate) struct Search<'a> {
    causality: &'a Causality<'a>,
    /// A topological order of sessions and reads.
    order: &'a [u32],
    /// Whether edges are left out whose source the reader knows by another read of the same key: two reads of one
    /// key that contradict each other are an anomaly by themselves.
    set_aside: bool,
    /// Made when a question needs them, since many do not.
    clocks: OnceCell<Past<'a>>,
    walk: OnceCell<Past<'a>>,
    watch: &'a dyn Watch,
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        causality: &'a Causality<'a>,
        order: &'a [u32],
        set_aside: bool,
        watch: &'a dyn Watch,
    ) -> Self {
        Search { causality, order, set_aside, clocks: OnceCell::new(), walk: OnceCell::new(), watch }
    }

    /// The fastest way to answer this many questions about the past: fewer walks than there are sessions cost less than
    /// a clock of that many numbers for every transaction.
    fn past(&self, questions: usize) -> &Past<'a> {
        let sessions = self.causality.history.session_count();
        if self.clocks.get().is_none() && (questions < sessions || !Past::clocks_fit(self.causality)) {
            self.walk.get_or_init(|| Past::walk(self.causality, self.order))
        } else {
            self.clocks.get_or_init(|| Past::clocks(self.causality, self.order))
        }
    }

    /// For pairs of transactions: whether the first causally precedes the second.
    pub(crate) fn precede(&self, pairs: &[(Txn, Txn)]) -> Vec<bool> {
        if pairs.is_empty() { Vec::new() } else { self.past(pairs.len()).precede(pairs) }
    }

    /// The edges that an axiom forces at some reads and that do not lead upwards. The reads are grouped by
    /// reader. When a limit is reached some of them may be missing.
    pub(crate) fn opposing(&self, axiom: Axiom, ranking: Ranking<'_>, reads: &[Stale]) -> Vec<Forced> {
        let Causality { history, resolved } = *self.causality;
        if reads.is_empty() {
            return Vec::new();
        }
        let set_aside = self.set_aside && axiom != Axiom::ReadCommitted;
        let aside = |reader: Txn| {
            if self.watch.limit().is_some() {
                return None;
            }
            let none = FxHashSet::default();
            Some(if set_aside { keys_by_source(history, resolved, reader) } else { none })
        };
        match axiom {
            Axiom::ReadCommitted | Axiom::ReadAtomic => {
                direct::opposing(history, resolved, axiom, ranking, reads, aside)
            }
            Axiom::Causal => {
                causal::opposing(history, resolved, self.past(reads.len()), ranking, reads, aside)
            }
        }
    }
}

/// The transactions that a transaction reads from, and the keys.
fn keys_by_source(history: &History, resolved: &Resolved, reader: Txn) -> FxHashSet<(Txn, Key)> {
    let ops = history.op_range(reader);
    ops.filter_map(|op| Some((resolved.links[op].txn()?, history.key_of(Op::at(op))))).collect()
}

/// All reads of present transactions whose writer is known, in an order of transactions.
pub(crate) fn all_reads(history: &History, resolved: &Resolved, order: &[u32]) -> Vec<Stale> {
    let reads_of = |txn: Txn| {
        let reads = history.op_range(txn).filter(|&op| resolved.links[op].is_read());
        reads.map(move |op| Stale { reader: txn, read: Op::at(op) })
    };
    order.iter().flat_map(|&txn| reads_of(Txn(txn))).collect()
}
