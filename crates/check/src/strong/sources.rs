//! The possible sources of an open read.
//!
//! All reads that returned one value of a key share the list of its writers, and each keeps which parts of the list are
//! left. Writers of a session are adjacent and in their order, and saturation excludes the first of them, or the last. So a
//! read has few parts, however often its value was written.

use std::ops::Range;
use std::sync::Arc;

/// The writer of what a read returned: a transaction, the initial state, or one of several. It is not a
/// [`Node`](crate::certificate::Node), because every read has one: it takes four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Source(u32);

impl Source {
    /// The initial state.
    pub(crate) const INITIAL: Source = Source(u32::MAX);
    /// Not known yet: one of several.
    pub(crate) const OPEN: Source = Source(u32::MAX - 1);

    /// A transaction.
    #[inline]
    pub(crate) fn of(txn: u32) -> Source {
        debug_assert!(txn < Source::OPEN.0, "transactions are numbered below the marks");
        Source(txn)
    }

    /// The transaction, if it is one.
    #[inline]
    pub(crate) fn txn(self) -> Option<u32> {
        if self.0 < Source::OPEN.0 { Some(self.0) } else { None }
    }

    /// Whether it is this transaction.
    #[inline]
    pub(crate) fn is(self, txn: u32) -> bool {
        self.0 == txn
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    /// The initial state first, if it is one of them, then transactions in ascending order.
    all: Arc<[Source]>,
    /// In ascending order, none of them empty.
    parts: Vec<Range<u32>>,
}

impl Sources {
    /// All of a list but the reader itself.
    pub(super) fn new(all: Arc<[Source]>, reader: u32) -> Sources {
        let whole = 0..all.len() as u32;
        let mut sources = Sources { all, parts: vec![whole] };
        let excluded = sources.place(Source::of(reader)).map(|place| place..place + 1);
        sources.remove(excluded.as_slice());
        sources
    }

    pub(crate) fn len(&self) -> usize {
        self.parts.iter().map(ExactSizeIterator::len).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Those that are left, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Source> + '_ {
        self.parts.iter().flat_map(|part| self.listed(part)).copied()
    }

    pub(crate) fn contains(&self, source: Source) -> bool {
        self.place(source).is_some_and(|place| {
            let part = self.parts.partition_point(|part| part.end <= place);
            self.parts.get(part).is_some_and(|part| part.contains(&place))
        })
    }

    /// Their places in the list.
    pub(super) fn parts(&self) -> &[Range<u32>] {
        &self.parts
    }

    /// A part of the list, whether or not it is left.
    pub(super) fn listed(&self, part: &Range<u32>) -> &[Source] {
        &self.all[part.start as usize..part.end as usize]
    }

    /// Takes away parts of the list, which are in ascending order.
    pub(super) fn remove(&mut self, excluded: &[Range<u32>]) {
        let mut excluded = excluded.iter().peekable();
        let mut left = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let mut from = part.start;
            while let Some(next) = excluded.next_if(|next| next.start < part.end) {
                left.push(from..next.start);
                from = next.end;
            }
            left.push(from..part.end);
        }
        left.retain(|part| !part.is_empty());
        self.parts = left;
    }

    /// The place of a source in the list.
    fn place(&self, source: Source) -> Option<u32> {
        let initial = usize::from(self.all.first() == Some(&Source::INITIAL));
        if source == Source::INITIAL {
            return (initial == 1).then_some(0);
        }
        self.all[initial..].binary_search(&source).ok().map(|place| (initial + place) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(txns: &[u32]) -> Vec<Source> {
        txns.iter().map(|&txn| Source::of(txn)).collect()
    }

    #[test]
    fn what_is_removed_is_not_left() {
        let all = [vec![Source::INITIAL], listed(&[2, 4, 6, 8])].concat();
        let mut sources = Sources::new(all.into(), 4);
        assert_eq!(sources.iter().collect::<Vec<_>>(), [vec![Source::INITIAL], listed(&[2, 6, 8])].concat());
        sources.remove(&[0..1, 3..4]);
        assert_eq!(sources.iter().collect::<Vec<_>>(), listed(&[2, 8]));
        assert_eq!(sources.len(), 2);
        assert!(sources.contains(Source::of(8)));
        assert!(!sources.contains(Source::INITIAL) && !sources.contains(Source::of(4)));
        sources.remove(&[1..2, 4..5]);
        assert!(sources.is_empty());
    }

    #[test]
    fn a_reader_that_did_not_write_the_value_takes_nothing_away() {
        assert_eq!(Sources::new(listed(&[1, 3]).into(), 2).iter().collect::<Vec<_>>(), listed(&[1, 3]));
    }
}
