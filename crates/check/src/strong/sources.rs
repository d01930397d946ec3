//! The possible sources of an open read.
//!
//! All reads that returned one value of a key share the list of those that wrote it, and each keeps which parts of the list are
//! left. Writers of a session stand together and in their order, and saturation excludes the first of them, or the last. So a read
//! has few parts, however often its value was written.

use std::ops::Range;
use std::sync::Arc;

use super::problem::INITIAL;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    /// The initial state first, if it is one of them, then transactions in ascending order.
    all: Arc<[u32]>,
    /// In ascending order, none of them empty.
    parts: Vec<Range<u32>>,
}

impl Sources {
    /// All of a list but one.
    pub(super) fn new(all: Arc<[u32]>, without: u32) -> Sources {
        let whole = 0..all.len() as u32;
        let mut sources = Sources { all, parts: vec![whole] };
        let excluded = sources.place(without).map(|place| place..place + 1);
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
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.parts.iter().flat_map(|part| self.listed(part)).copied()
    }

    pub(crate) fn contains(&self, source: u32) -> bool {
        self.place(source).is_some_and(|place| self.parts.iter().any(|part| part.contains(&place)))
    }

    /// Where they stand in the list.
    pub(super) fn parts(&self) -> &[Range<u32>] {
        &self.parts
    }

    /// A part of the list, whether or not it is left.
    pub(super) fn listed(&self, part: &Range<u32>) -> &[u32] {
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

    /// Where a source stands in the list.
    fn place(&self, source: u32) -> Option<u32> {
        let initial = usize::from(self.all.first() == Some(&INITIAL));
        if source == INITIAL {
            return (initial == 1).then_some(0);
        }
        self.all[initial..].binary_search(&source).ok().map(|place| (initial + place) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_removed_is_not_left() {
        let mut sources = Sources::new([INITIAL, 2, 4, 6, 8].into(), 4);
        assert_eq!(sources.iter().collect::<Vec<_>>(), [INITIAL, 2, 6, 8]);
        sources.remove(&[0..1, 3..4]);
        assert_eq!(sources.iter().collect::<Vec<_>>(), [2, 8]);
        assert_eq!(sources.len(), 2);
        assert!(sources.contains(8) && !sources.contains(INITIAL) && !sources.contains(4));
        sources.remove(&[1..2, 4..5]);
        assert!(sources.is_empty());
    }

    #[test]
    fn a_reader_that_did_not_write_the_value_takes_nothing_away() {
        assert_eq!(Sources::new([1, 3].into(), 2).iter().collect::<Vec<_>>(), [1, 3]);
    }
}
