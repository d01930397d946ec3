//! Random draws that are stable across platforms and versions.
//!
//! A seed must always give the same history. So nothing here depends on another crate's distributions (they
//! may be improved) or on the platform's `pow` (its last bits differ). The stream is `ChaCha8`. Its key is
//! the seed and a label, so that the plan of a workload and the choices of the store draw from independent
//! streams. Everything else is integer arithmetic and the IEEE operations `+ * / sqrt`, which give the same
//! bits everywhere.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// A stream of random draws.
#[derive(Debug)]
pub struct Dice(ChaCha8Rng);

impl Dice {
    /// The stream of a seed and a label of at most 24 bytes.
    pub fn new(seed: u64, label: &str) -> Dice {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..8 + label.len()].copy_from_slice(label.as_bytes());
        Dice(ChaCha8Rng::from_seed(key))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `n`; `n` must not be 0. The bias is below `n / 2^64`.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        self.below_and_rest(n).0
    }

    /// A number below `n`, and 32 bits that are nearly independent of it, from one draw.
    #[inline]
    fn below_and_rest(&mut self, n: u32) -> (u32, u32) {
        debug_assert!(n > 0);
        let product = u128::from(self.bits()) * u128::from(n);
        ((product >> 64) as u32, (product >> 32) as u32)
    }

    /// A number from `low` to `high`, both included.
    #[inline]
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        debug_assert!(low <= high && high < u32::MAX);
        low + self.below(high - low + 1)
    }

    /// True with the given probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A fraction in `[0, 1)`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

/// Draws numbers by weight in constant time: the alias method of Walker (1977), with Vose's algorithm for the
/// table. Each slot holds two numbers, its own and an alias, and their shares of the slot. Every slot is
/// drawn with the same probability.
#[derive(Debug)]
pub(crate) struct AliasTable {
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The share of the slot's own number, in units of 2^-32.
    own: u32,
    alias: u32,
}

impl AliasTable {
    /// Builds the table for some weights. At least one must be positive and none negative.
    #[allow(clippy::cast_sign_loss)]
    pub(crate) fn of(weights: &[f64]) -> AliasTable {
        let scale = weights.len() as f64 / weights.iter().sum::<f64>();
        let mut share: Vec<f64> = weights.iter().map(|w| w * scale).collect();
        let (mut poor, mut rich): (Vec<u32>, Vec<u32>) =
            (0..weights.len() as u32).partition(|&i| share[i as usize] < 1.0);
        let mut slots: Vec<Slot> =
            (0..weights.len() as u32).map(|alias| Slot { own: u32::MAX, alias }).collect();
        // Invariant: the shares of all open slots sum to the number of open slots. A slot with a share below
        // 1 is closed by filling it with the surplus of another. The remaining shares differ from 1 only by
        // rounding.
        while let (Some(&giver), Some(taker)) = (rich.last(), poor.pop()) {
            let own = share[taker as usize];
            slots[taker as usize] = Slot { own: (own * (1u64 << 32) as f64) as u32, alias: giver };
            share[giver as usize] -= 1.0 - own;
            if share[giver as usize] < 1.0 {
                rich.pop();
                poor.push(giver);
            }
        }
        AliasTable { slots }
    }

    /// The table of Zipf's law: number `i` below `n` has weight `1 / (i + 1)^theta`.
    pub(crate) fn zipfian(n: u32, theta: f64) -> AliasTable {
        AliasTable::of(&zipf_weights(n, theta))
    }

    /// Draws a number by weight.
    #[inline]
    pub(crate) fn draw(&self, dice: &mut Dice) -> u32 {
        let (number, rest) = dice.below_and_rest(self.slots.len() as u32);
        let slot = self.slots[number as usize];
        if rest < slot.own { number } else { slot.alias }
    }
}

/// The weights of Zipf's law over `n` numbers.
pub(crate) fn zipf_weights(n: u32, theta: f64) -> Vec<f64> {
    (1..=n).map(|rank| 1.0 / power(f64::from(rank), theta)).collect()
}

/// `base^exponent` for non-negative arguments, to about seven digits, by operations that give the same bits
/// on every platform: the integer part by multiplication, the fraction bit by bit from repeated square roots.
#[allow(clippy::cast_sign_loss)]
fn power(base: f64, exponent: f64) -> f64 {
    const FRACTION_BITS: u32 = 24;
    let whole = exponent.floor();
    let mut result = 1.0;
    for _ in 0..whole as u32 {
        result *= base;
    }
    let mut fraction = exponent - whole;
    let mut root = base;
    for _ in 0..FRACTION_BITS {
        if fraction == 0.0 {
            break;
        }
        root = root.sqrt();
        fraction *= 2.0;
        if fraction >= 1.0 {
            fraction -= 1.0;
            result *= root;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_and_by_label() {
        let first = |seed, label| Dice::new(seed, label).bits();
        assert_eq!(first(1, "a"), first(1, "a"));
        assert_ne!(first(1, "a"), first(2, "a"));
        assert_ne!(first(1, "a"), first(1, "b"));
    }

    /// Another program computed these numbers from the definition of `ChaCha8`.
    #[test]
    fn the_stream_is_stable() {
        let mut dice = Dice::new(7, "golden");
        assert_eq!([dice.bits(), dice.bits()], [5_865_502_439_250_255_586, 5_445_860_369_923_203_937]);
        assert_eq!((dice.below(1000), dice.between(5, 9)), (990, 7));
    }

    #[test]
    fn powers_are_right() {
        for base in [1.0, 2.0, 3.0, 1e5] {
            for exponent in [0.0, 0.5, 0.99, 1.0, 1.25, 3.7] {
                let (mine, std) = (power(base, exponent), f64::powf(base, exponent));
                assert!((mine / std - 1.0).abs() < 1e-5, "{base}^{exponent}: {mine} is not {std}");
            }
        }
    }

    #[test]
    fn an_alias_table_draws_by_weight() {
        let weights = [5.0, 0.0, 1.0, 0.25, 3.0, 0.75];
        let table = AliasTable::of(&weights);
        let mut dice = Dice::new(1, "test");
        let mut counts = [0u32; 6];
        for _ in 0..100_000 {
            counts[table.draw(&mut dice) as usize] += 1;
        }
        for (count, weight) in counts.iter().zip(weights) {
            let expected = weight * 10_000.0;
            assert!((f64::from(*count) - expected).abs() <= expected * 0.05 + 1.0, "{counts:?}");
        }
    }

    #[test]
    fn a_table_of_one_number_draws_it() {
        let table = AliasTable::zipfian(1, 2.0);
        assert_eq!(table.draw(&mut Dice::new(1, "test")), 0);
    }
}
