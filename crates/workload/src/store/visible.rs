//! The set of commits that a transaction sees.
//!
//! Commits are numbered 1, 2, 3, ... in commit order; 0 is the initial state. A set is a prefix and one bit
//! for each of the [`HORIZON`] commits after the prefix. This is enough because the store never lets a
//! transaction lag by more than the horizon: a vector clock whose entries all lag by at most 128 commits is
//! exactly such a prefix with such bits. Joining two sets is a shift and an `or`.
//!
//! Levels from prefix up use the prefix alone.

/// The number of commits that a transaction may lag behind.
pub(super) const HORIZON: u32 = u128::BITS;

/// The newest commit that every transaction sees that begins when `now` is the last commit.
#[inline]
pub(super) fn horizon(now: u32) -> u32 {
    now.saturating_sub(HORIZON)
}

/// A set of commits; see the module documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Visible {
    /// All commits up to this one are in the set.
    pub(super) floor: u32,
    /// Bit `i` is set if commit `floor + 1 + i` is in the set.
    above: u128,
}

impl Visible {
    /// All commits up to `floor`.
    #[inline]
    pub(super) fn prefix(floor: u32) -> Visible {
        Visible { floor, above: 0 }
    }

    /// All commits up to `floor`, and of the commits from there to `now` those that `bits` selects.
    pub(super) fn chosen(floor: u32, now: u32, bits: u128) -> Visible {
        let span = now - floor;
        debug_assert!(span <= HORIZON);
        let all = if span == HORIZON { u128::MAX } else { (1 << span) - 1 };
        Visible { floor, above: bits & all }
    }

    #[inline]
    pub(super) fn sees(self, commit: u32) -> bool {
        match commit.checked_sub(self.floor + 1) {
            None => true,
            Some(place) => place < HORIZON && self.above >> place & 1 == 1,
        }
    }

    /// The set, extended by all commits up to `floor`.
    pub(super) fn raised(self, floor: u32) -> Visible {
        match floor.checked_sub(self.floor) {
            None => self,
            Some(shift) => Visible { floor, above: self.above.checked_shr(shift).unwrap_or(0) },
        }
    }

    /// The set, extended by one commit, which must lie within the horizon.
    pub(super) fn with(self, commit: u32) -> Visible {
        match commit.checked_sub(self.floor + 1) {
            None => self,
            Some(place) => {
                debug_assert!(place < HORIZON);
                Visible { floor: self.floor, above: self.above | 1 << place }
            }
        }
    }

    /// The union of both sets and of all commits up to the higher floor.
    pub(super) fn joined(self, other: Visible) -> Visible {
        let floor = self.floor.max(other.floor);
        Visible { floor, above: self.raised(floor).above | other.raised(floor).above }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// The members up to a limit, as a plain set.
    fn members(set: Visible, limit: u32) -> BTreeSet<u32> {
        (1..=limit).filter(|&commit| set.sees(commit)).collect()
    }

    /// A set above a floor, and the same as a plain set of numbers up to [`LIMIT`].
    fn build(floor: u32, more: &[u32]) -> (Visible, BTreeSet<u32>) {
        let set = more.iter().fold(Visible::prefix(floor), |set, &place| set.with(floor + place));
        let plain = (1..=floor).chain(more.iter().map(|place| floor + place)).collect();
        (set, plain)
    }

    const LIMIT: u32 = 1000;

    proptest! {
        #[test]
        fn sets_agree_with_plain_sets(
            a in (0u32..300, vec(1..=HORIZON, 0..20)),
            b in (0u32..300, vec(1..=HORIZON, 0..20)),
            floor in 0u32..600,
        ) {
            let (a, plain_a) = build(a.0, &a.1);
            let (b, plain_b) = build(b.0, &b.1);
            let up_to = |floor: u32| (1..=floor).collect::<BTreeSet<u32>>();
            prop_assert_eq!(members(a, LIMIT), plain_a.clone());
            prop_assert_eq!(members(a.raised(floor), LIMIT), &plain_a | &up_to(floor));
            let both = &(&plain_a | &plain_b) | &up_to(a.floor.max(b.floor));
            prop_assert_eq!(members(a.joined(b), LIMIT), both);
            prop_assert_eq!(a.joined(b), b.joined(a));
        }
    }

    #[test]
    fn chosen_bits_end_at_the_last_commit() {
        assert_eq!(members(Visible::chosen(0, 3, u128::MAX), 300), (1..=3).collect());
        assert_eq!(members(Visible::chosen(5, 5, u128::MAX), 300), (1..=5).collect());
        assert_eq!(members(Visible::chosen(5, 133, u128::MAX), 300), (1..=133).collect());
        assert_eq!(members(Visible::chosen(1, 4, 0b101), 300), [1, 2, 4].into());
    }
}
