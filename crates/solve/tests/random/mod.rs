//! Reproducible random choices: a seed determines an instance.

// Each test and benchmark uses a part of this.
#![allow(dead_code)]

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

pub(crate) struct Random(ChaCha8Rng);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.0.next_u32()) * u64::from(bound)) >> 32) as u32
    }

    /// Two different numbers below `bound`, which is at least 2.
    pub(crate) fn pair(&mut self, bound: u32) -> (u32, u32) {
        let a = self.below(bound);
        let b = self.below(bound - 1);
        (a, if b < a { b } else { b + 1 })
    }

    /// The numbers below `count` in some order.
    pub(crate) fn shuffled(&mut self, count: u32) -> Vec<u32> {
        let mut all: Vec<u32> = (0..count).collect();
        for last in (1..count).rev() {
            all.swap(last as usize, self.below(last + 1) as usize);
        }
        all
    }
}
