//! Maps a session and a transaction number to a transaction.
//!
//! Every line's transaction is looked up, so a hash table of all transactions would take a large part of the
//! reading time: it is far larger than any cache, and is rebuilt whenever its size doubles. But the numbers
//! usually count the transactions of all sessions together. Then an array indexed by number holds them all.
//! Two kinds of transactions go to a hash table: those whose array entry another session uses, as when every
//! session counts separately, and those whose number is too large for the number of transactions.

use isoscope_history::{DraftTxn, Session};
use rustc_hash::FxHashMap;

/// The transactions met so far; see the module documentation.
///
/// Invariant: if a transaction's number is inside the array, the transaction is in the array, or its entry
/// belongs to another session.
#[derive(Default)]
pub(super) struct Known {
    /// By number: the session plus one in the high half, the transaction in the low half; 0 if empty.
    places: Vec<u64>,
    others: FxHashMap<(Session, u64), DraftTxn>,
    count: usize,
}

impl Known {
    /// The transaction with this name; it is created if it is new.
    pub(super) fn find(
        &mut self,
        session: Session,
        number: u64,
        make: impl FnOnce() -> DraftTxn,
    ) -> DraftTxn {
        let mut is_new = false;
        let make = || {
            is_new = true;
            make()
        };
        let txn = if self.reaches(number) {
            let place = &mut self.places[number as usize];
            match unpack(*place) {
                Some((other, txn)) if other == session => txn,
                Some(_) => *self.others.entry((session, number)).or_insert_with(make),
                None => {
                    let txn = make();
                    *place = pack(session, txn);
                    txn
                }
            }
        } else {
            *self.others.entry((session, number)).or_insert_with(make)
        };
        self.count += usize::from(is_new);
        txn
    }

    /// Whether a number is inside the array, which grows if there are enough transactions.
    fn reaches(&mut self, number: u64) -> bool {
        if number < self.places.len() as u64 {
            return true;
        }
        let room = (64 * self.count).clamp(1 << 10, 1 << 21).max(8 * self.count);
        // The array at least doubles, so this happens only a few times.
        match number.checked_add(1).and_then(u64::checked_next_power_of_two) {
            Some(len) if len <= room as u64 => {
                self.grow(len as usize);
                true
            }
            _ => false,
        }
    }

    fn grow(&mut self, len: usize) {
        self.places.resize(len, 0);
        let Known { places, others, .. } = self;
        others.retain(|&(session, number), &mut txn| match places.get_mut(number as usize) {
            Some(place @ 0) if number < len as u64 => {
                *place = pack(session, txn);
                false
            }
            _ => true,
        });
    }
}

fn pack(session: Session, txn: DraftTxn) -> u64 {
    (u64::from(session.0) + 1) << 32 | u64::from(txn.0)
}

fn unpack(place: u64) -> Option<(Session, DraftTxn)> {
    let session = (place >> 32).checked_sub(1)?;
    Some((Session(session as u32), DraftTxn(place as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that names are found as in a hash table.
    fn compare(names: impl Iterator<Item = (u32, u64)>) -> Known {
        let (mut known, mut expected) = (Known::default(), FxHashMap::default());
        for (session, number) in names {
            let next = DraftTxn(expected.len() as u32);
            let expected = *expected.entry((session, number)).or_insert(next);
            assert_eq!(known.find(Session(session), number, || next), expected, "{session} {number}");
        }
        assert_eq!(known.count, expected.len());
        known
    }

    #[test]
    fn names_are_distinguished_in_every_order() {
        let mixed = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let everyone = || (0..20_000u64).chain((0..20_000).rev());
        let common = compare(everyone().map(|i| ((mixed(i) % 7) as u32, i)));
        assert!(common.others.is_empty(), "{}", common.others.len());
        let own = compare(everyone().map(|i| ((i % 7) as u32, i / 7)));
        assert!(own.others.len() > 10_000, "{}", own.others.len());
        // One session after the other, so that the first numbers are large.
        let session_by_session = compare((0..7).flat_map(|s| (0..3_000).map(move |i| (s as u32, i * 7 + s))));
        assert!(session_by_session.others.is_empty(), "{}", session_by_session.others.len());
        let sparse = compare(everyone().map(|i| ((i % 3) as u32, mixed(i))));
        assert!(sparse.places.len() <= 1 << 10, "{}", sparse.places.len());
        compare(everyone().map(|i| ((mixed(i) % 3) as u32, mixed(i) >> (32 + mixed(i) % 32))));
        compare([(0, u64::MAX), (1, u64::MAX), (0, u64::MAX - 1), (0, u64::MAX)].into_iter());
    }
}
