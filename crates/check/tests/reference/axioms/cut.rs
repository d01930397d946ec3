//! Cut isolation: all reads of a key in one transaction may be from one other transaction.
//!
//! docs/levels.md, Dependency graphs and Lists. It asks for no order, and judges reads that are wrong to every other level.
//!
//! Limits: reads in ranges say nothing to it. Values that no present transaction wrote do not count.

use isoscope_history::{Key, Op, OpKind, OpView, Txn, Value};

use super::presence::live;
use super::reads::{external_part, final_write, is_write_of, possible_reads, reads_of};
use super::world::{World, bit};

impl World<'_> {
    /// Cut isolation: no transaction reads a key twice and finds what two others wrote, but for each key there is one
    /// other from which all its reads may be. Values that no present transaction wrote do not count. Gives that one for the reads
    /// that could be from several.
    pub(super) fn cut(&self) -> Option<Vec<(Op, Option<Txn>)>> {
        let mut sources = Vec::new();
        for (&txn, key) in self.txns.iter().flat_map(|txn| self.history.keys().map(move |key| (txn, key))) {
            let reads = || reads_of(self.history, txn).filter(|read| read.key == key && !read.in_range);
            let counted = || reads().filter(|&read| self.origins(txn, read) != 0);
            let all = counted().fold(u32::MAX, |common, read| common & self.origins(txn, read));
            let ends = |t: usize| t == 0 || self.ends_all(txn, key, &counted().collect::<Vec<_>>(), t);
            let common = (0..self.reads.len())
                .filter(|&t| all & bit(t) != 0 && ends(t))
                .fold(0, |set, t| set | bit(t));
            if common == 0 && counted().next().is_some() {
                return None;
            }
            // Of no reads nothing is chosen.
            let chosen = if common == 0 { None } else { self.txn(common.trailing_zeros() as usize) };
            sources.extend(counted().filter(|&read| self.is_open(read.id)).map(|read| (read.id, chosen)));
        }
        sources.sort_unstable_by_key(|&(op, _)| op);
        Some(sources)
    }

    /// Whether a transaction made the appends that lists of a key end with: lists of different lengths end with
    /// different appends, as far as other transactions than the reader made that many.
    pub(super) fn ends_all(&self, reader: Txn, key: Key, reads: &[OpView], t: usize) -> bool {
        let history = self.history;
        let mut ends: Vec<(usize, Value)> = reads
            .iter()
            .filter(|read| read.kind == OpKind::ReadList)
            .filter_map(|&read| external_part(history, reader, read))
            .filter(|part| part[..] != *history.table().elements(history.initial(key)))
            .filter_map(|part| Some((part.len(), *part.last()?)))
            .collect();
        ends.sort_unstable();
        ends.dedup();
        ends.iter().all(|&(_, last)| {
            let lengths = ends.iter().filter(|end| end.1 == last).count();
            let appends =
                |txn: Txn| history.ops_of(txn).filter(|op| is_write_of(op, key) && op.value == last).count();
            let others = live(history).into_iter().filter(|&txn| txn != reader).map(appends).sum();
            self.txn(t).map_or(0, appends) >= lengths.min(others)
        })
    }

    /// The other present transactions whose final write a read returned; when there is none, those that wrote
    /// the value at all. Of a list, those that appended the last element that is not the reader's.
    pub(super) fn origins(&self, txn: Txn, read: OpView) -> u32 {
        let history = self.history;
        let (value, is_list) = match read.kind {
            OpKind::ReadList => match external_part(history, txn, read) {
                Some(part) if part[..] == *history.table().elements(history.initial(read.key)) => {
                    return bit(0);
                }
                Some(part) => match part.last() {
                    Some(&last) => (last, true),
                    // It lacks the initial elements, and ends with no append.
                    None => return 0,
                },
                None => return 0,
            },
            _ => (read.value, false),
        };
        // A wrong read of a value that the reader itself writes is from no other transaction.
        let own = history.ops_of(txn).any(|op| is_write_of(&op, read.key) && op.value == value);
        if own
            && !is_list
            && possible_reads(history, &self.txns, txn, read).is_none_or(|possible| possible.is_empty())
        {
            return 0;
        }
        let set_of = |writes: &dyn Fn(Txn) -> bool| {
            let others = self.txns.iter().enumerate().filter(|&(_, &t)| t != txn && writes(t));
            others.fold(0, |set, (i, _)| set | bit(i + 1))
        };
        if is_list {
            return set_of(&|t| history.ops_of(t).any(|op| is_write_of(&op, read.key) && op.value == value));
        }
        let finals = u32::from(history.is_initial(read.key, value))
            | set_of(&|t| final_write(history, t, read.key) == Some(value));
        match finals {
            0 => set_of(&|t| history.ops_of(t).any(|op| is_write_of(&op, read.key) && op.value == value)),
            finals => finals,
        }
    }
}
