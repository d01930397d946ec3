//! Resolving reads: which transaction wrote what each read returned?
//!
//! Everything that needs no order is settled here, in parallel passes: reads of own writes, reads that no
//! order can mend (patterns a to f of the Plume paper, Table 1), reads of one key that contradict each other
//! (pattern j), which transactions of unknown outcome took effect, and what lists say about the order of
//! versions. What is left for the engines is one [`Link`] for each operation.
//!
//! - A read after a write of the same transaction must return the last such write; it says nothing about
//!   other transactions.
//! - Any other read has as candidates the final writes of that value by other transactions that did not
//!   abort, and the initial state if the value is the initial one. One candidate: the link. Several: the read
//!   is ambiguous, and the engines ignore it, so what they call a violation is one under every choice. None:
//!   the read is wrong.
//! - A transaction of unknown outcome is present when a present transaction reads from it. Any other one is
//!   absent, since leaving it out can only help; aborted ones are absent too. Operations of absent
//!   transactions have no links.

mod join;
mod lists;
mod presence;
mod registers;
mod unique;
mod writes;
mod wrong;

use std::ops::Range;

use isoscope_history::{History, Key, Op, Outcome, Session, Txn, Value};
use isoscope_levels::Anomaly;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::certificate::{Limit, Node, Why};
use crate::watch::{Watch, go_on};

pub(crate) use lists::{Repeated, VersionEdge, after_initial, appended_of};
use writes::Writes;

/// What an operation has to do with other transactions. It is not a [`Node`], because every operation has one: it takes four bytes,
/// and also says that an operation reads nothing or from one of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Link(u32);

impl Link {
    /// Nothing, as far as the engines are concerned.
    pub(crate) const NOTHING: Link = Link(u32::MAX);
    /// It reads the initial state.
    pub(crate) const INITIAL: Link = Link(u32::MAX - 1);
    /// It is a final write of a present transaction.
    pub(crate) const WRITE: Link = Link(u32::MAX - 2);
    /// It reads from one of several transactions.
    pub(crate) const AMBIGUOUS: Link = Link(u32::MAX - 3);

    /// It reads from a transaction.
    pub(crate) fn from(txn: Txn) -> Link {
        debug_assert!(txn.0 < Link::AMBIGUOUS.0);
        Link(txn.0)
    }

    /// The transaction it reads from.
    #[inline]
    pub(crate) fn txn(self) -> Option<Txn> {
        if self.0 < Link::AMBIGUOUS.0 { Some(Txn(self.0)) } else { None }
    }

    /// The writer of a read whose writer is known ([`Link::is_read`]).
    #[inline]
    pub(crate) fn writer(self) -> Node {
        debug_assert!(self.is_read(), "{self:?} has no known writer");
        self.txn().map_or(Node::Initial, Node::Txn)
    }

    /// The number of the transaction it reads from, or `none` if it reads from none, which must be above the numbers of all
    /// transactions. Which of the two it is cannot be predicted, so this does not branch.
    #[inline]
    pub(crate) fn index_or(self, none: usize) -> usize {
        (self.0 as usize).min(none)
    }

    /// Whether it is a final write of a present transaction.
    #[inline]
    pub(crate) fn is_write(self) -> bool {
        self == Link::WRITE
    }

    /// Whether it is a read whose writer is known, the initial state included.
    #[inline]
    pub(crate) fn is_read(self) -> bool {
        self.0 < Link::AMBIGUOUS.0 || self == Link::INITIAL
    }
}

/// A read that no order can mend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrongRead {
    pub(crate) anomaly: Anomaly,
    pub(crate) read: Op,
    pub(crate) write: Option<Op>,
}

/// A number of operations, and the first of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    pub(crate) first: Op,
}

impl Tally {
    fn of(ops: &[Op]) -> Option<Tally> {
        ops.iter().min().map(|&first| Tally { count: ops.len() as u64, first })
    }
}

/// A history with its reads resolved; see the module.
#[derive(Clone, Default)]
pub(crate) struct Resolved {
    /// One for each operation.
    pub(crate) links: Vec<Link>,
    /// One for each transaction: whether it took effect.
    pub(crate) present: Vec<bool>,
    /// Reads that no order can mend, by operation.
    pub(crate) wrong: Vec<WrongRead>,
    /// Two reads of one key in one transaction that return the writes of two others.
    pub(crate) unrepeatable: Vec<(Op, Op)>,
    /// The same where one of the two is of a range.
    pub(crate) changed_ranges: Vec<(Op, Op)>,
    /// Pairs of list reads, neither a prefix of the other.
    pub(crate) incompatible: Vec<(Op, Op)>,
    /// What lists say about the order of versions.
    pub(crate) versions: Vec<VersionEdge>,
    /// What they say to PL-1, where that differs.
    writes: Option<Writes>,
    /// Reads of registers that have several possible writers.
    pub(crate) ambiguous: Option<Tally>,
    /// Reads of lists that hold an element that was appended more than once.
    pub(crate) open_lists: Option<Tally>,
    /// Elements that were appended to one list more than once.
    pub(crate) repeated_elements: FxHashSet<(Key, Value)>,
    /// Of lists that were read, the first elements that were appended more than once.
    pub(crate) repeated: Vec<Repeated>,
    /// Reads of which it is not certain that they repeat an earlier one.
    pub(crate) uncertain: Option<Tally>,
    /// Operations that the engines cannot judge.
    pub(crate) unsupported: Option<Tally>,
}

impl Resolved {
    #[cfg(test)]
    pub(crate) fn new(history: &History) -> Resolved {
        Resolved::watched(history, &crate::watch::NoLimits).unwrap_or_default()
    }

    pub(crate) fn watched(history: &History, watch: &dyn Watch) -> Result<Resolved, Limit> {
        Resolved::with_readable(history, None, watch)
    }

    /// Resolves a copy of this history in which something is settled that is open here.
    pub(crate) fn in_world(&self, history: &History, watch: &dyn Watch) -> Result<Resolved, Limit> {
        Resolved::with_readable(history, self.writes.as_ref(), watch)
    }

    fn with_readable(
        history: &History,
        original: Option<&Writes>,
        watch: &dyn Watch,
    ) -> Result<Resolved, Limit> {
        let unsupported = lists::unsupported_keys(history);
        let mut links: Vec<Link> = rayon::iter::repeat_n(Link::NOTHING, history.op_count()).collect();
        let mut found = resolve_registers(history, &unsupported, &mut links);
        go_on(watch)?;
        // Pieces come in any order, and lists are looked up by transaction.
        found.list_reads.sort_unstable();
        let mut lists = lists::Lists::new(history, &found.list_reads);
        let present = presence::settle(history, &mut links, &lists);
        found.retain(|op| present[history.txn_of(op).index()]);
        lists.retain(|txn| present[txn.index()]);

        found.open.sort_unstable();
        let writes = wrong::writes_of(history, &found.open);
        let mut wrong = wrong::classify(history, &writes, &found.open);
        let mut repeated = wrong::repeated(history, &writes, &links, &present, &found.open);
        found.unrepeatable.append(&mut repeated.pairs);
        go_on(watch)?;
        let listed = lists.resolve(&mut links, &present, watch)?;
        let writes = lists.writes(&listed, &present, original);
        wrong.extend(listed.wrong);
        wrong.sort_unstable_by_key(|wrong| (wrong.read, wrong.anomaly));
        found.unrepeatable.extend(listed.unrepeatable);
        found.unrepeatable.sort_unstable();
        found.changed_ranges.extend(listed.changed_ranges);
        found.changed_ranges.sort_unstable();
        found.unsupported.extend(listed.unsupported);
        repeated.uncertain.extend(listed.uncertain);
        Ok(Resolved {
            links,
            present,
            wrong,
            unrepeatable: found.unrepeatable,
            changed_ranges: found.changed_ranges,
            incompatible: listed.incompatible,
            versions: listed.versions,
            writes,
            ambiguous: Tally::of(&found.ambiguous),
            open_lists: Tally::of(&listed.ambiguous),
            repeated_elements: lists.repeated_elements(),
            repeated: listed.repeated,
            uncertain: Tally::of(&repeated.uncertain),
            unsupported: Tally::of(&found.unsupported),
        })
    }

    /// What lists say to PL-1 about the order of versions: only what they hold, since what they lack may be lost.
    pub(crate) fn writes(&self) -> impl Iterator<Item = &VersionEdge> {
        let versions = self.writes.as_ref().map_or(&self.versions, |writes| &writes.versions);
        versions.iter().filter(|edge| matches!(edge.why, Why::Versions { .. }))
    }

    /// The same where lists say no more of versions than they show to PL-1.
    pub(crate) fn of_writes(&self) -> Resolved {
        Resolved { versions: self.writes().cloned().collect(), ..self.clone() }
    }

    /// Whether a list shows the order of writes to PL-1.
    pub(crate) fn shows_writes(&self, history: &History, read: Op) -> bool {
        let committed = history.outcome(history.txn_of(read)) == Outcome::Committed;
        committed && self.writes.as_ref().is_none_or(|writes| writes.shows(read, history.key_of(read)))
    }

    /// Of lists that say something to PL-1, the first elements that were appended more than once.
    pub(crate) fn repeated_writes(&self) -> &[Repeated] {
        self.writes.as_ref().map_or(&self.repeated, |writes| &writes.repeated)
    }

    /// The present transaction before another in its session.
    #[inline]
    pub(crate) fn before(&self, history: &History, txn: Txn) -> Option<Txn> {
        let session = history.txn_range(history.session_of(txn));
        (session.start..txn.0).rev().map(Txn).find(|earlier| self.present[earlier.index()])
    }

    /// The last present transaction of a session that writes a key and is below a bound.
    #[inline]
    pub(crate) fn last_writer(
        &self,
        history: &History,
        key: Key,
        session: Session,
        bound: Txn,
    ) -> Option<Txn> {
        let writers = history.writers(key);
        let below = &writers[..writers.partition_point(|&writer| writer < bound)];
        let start = history.txn_range(session).start;
        let mut earlier = below.iter().rev().take_while(|writer| writer.0 >= start);
        earlier.find(|writer| self.present[writer.index()]).copied()
    }
}

/// Gives the operations of a piece, which has this number, their links; false when it cannot.
type HandOut<'a> = dyn Fn(usize, Range<u32>, &mut [Link]) -> bool + Sync + 'a;

/// Fills in the links of registers.
fn resolve_registers(history: &History, unsupported: &[bool], links: &mut [Link]) -> registers::Found {
    let mut resolve = |pieces: &[Range<u32>], hand_out: &HandOut<'_>| {
        split(history, pieces, links)
            .into_par_iter()
            .map_init(
                || registers::Memory::new(history),
                |memory, Part { piece, txns, links }| {
                    let linked = hand_out(piece, txns.clone(), links);
                    linked.then(|| registers::resolve(history, unsupported, txns, links, memory))
                },
            )
            .flatten()
            .reduce(registers::Found::default, registers::Found::join)
    };
    let abreast = abreast(history);
    if let Some(writers) = unique::Writers::of(history, &abreast) {
        let found = resolve(&abreast, &|_, txns, links| writers.hand_out(history, txns, links));
        if writers.are_unique() {
            return found;
        }
    }
    let pieces = pieces(history);
    let dealt = join::join(history, &pieces);
    resolve(&pieces, &|i, txns, links| {
        dealt[i].hand_out(history, txns, links);
        true
    })
}

/// What is wrong with a read of a register that has no explanation.
pub(crate) fn what_is_wrong(history: &History, read: Op) -> Anomaly {
    let writes = wrong::writes_of(history, &[read]);
    let wrong = wrong::classify(history, &writes, &[read]);
    wrong.first().map_or(Anomaly::ThinAirRead, |wrong| wrong.anomaly)
}

/// Cuts the transactions into pieces of about equal numbers of operations.
fn pieces(history: &History) -> Vec<Range<u32>> {
    let wanted = (history.op_count() / (8 * rayon::current_num_threads())).max(1 << 12);
    let txns = history.txn_count() as u32;
    let mut pieces = Vec::new();
    let (mut start, mut first_op) = (0, 0);
    for txn in 0..txns {
        let end_op = history.op_range(Txn(txn)).end;
        if end_op - first_op >= wanted || txn + 1 == txns {
            pieces.push(start..txn + 1);
            (start, first_op) = (txn + 1, end_op);
        }
    }
    pieces
}

/// Operations for which it pays to cut a session.
const SLICE: usize = 1 << 11;
/// The most pieces that a session is cut into.
const MOST_SLICES: usize = 64;

/// Cuts the transactions into pieces, the first ones of all sessions before the second ones, and so on: sessions go
/// about abreast, and reads of about the same time find their writers near each other.
fn abreast(history: &History) -> Vec<Range<u32>> {
    let slices = history.op_count() / (SLICE * history.session_count().max(1));
    if slices < 2 {
        return pieces(history);
    }
    let slices = slices.min(MOST_SLICES) as u32;
    let slice = |i: u32| {
        history.sessions().map(move |session| {
            let txns = history.txn_range(session);
            let cut = |i: u32| txns.start + (u64::from(i) * txns.len() as u64 / u64::from(slices)) as u32;
            cut(i)..cut(i + 1)
        })
    };
    (0..slices).flat_map(slice).filter(|txns| !txns.is_empty()).collect()
}

/// A piece, by its number, with the links of its operations.
struct Part<'l> {
    piece: usize,
    txns: Range<u32>,
    links: &'l mut [Link],
}

/// Gives each piece, in whatever order, the links of its operations.
fn split<'l>(history: &History, pieces: &[Range<u32>], mut links: &'l mut [Link]) -> Vec<Part<'l>> {
    let mut ascending: Vec<(usize, &Range<u32>)> = pieces.iter().enumerate().collect();
    ascending.sort_unstable_by_key(|(_, txns)| txns.start);
    let mut parts = Vec::with_capacity(pieces.len());
    for (piece, txns) in ascending {
        let ops = history.op_range(Txn(txns.start)).start..history.op_range(Txn(txns.end - 1)).end;
        let (part, rest) = links.split_at_mut(ops.len());
        parts.push(Part { piece, txns: txns.clone(), links: part });
        links = rest;
    }
    parts.sort_unstable_by_key(|part| part.piece);
    parts
}
