//! The sources of the keys and values of a workload.

use isoscope_history::Key;

use crate::sample::{AliasTable, Dice};
use crate::spec::{Distribution, Duplication, hot_keys};

/// Draws keys by a distribution.
#[derive(Debug)]
pub struct KeySource(Law);

#[derive(Debug)]
enum Law {
    Uniform { keys: u32 },
    Weighted(AliasTable),
    Hotspot { keys: u32, hot: u32, ops: f64 },
}

impl KeySource {
    /// The source of `keys` keys; there must be at least one.
    pub fn of(keys: u32, distribution: Distribution) -> KeySource {
        KeySource(match distribution {
            Distribution::Uniform => Law::Uniform { keys },
            Distribution::Zipfian { theta } => Law::Weighted(AliasTable::zipfian(keys, theta)),
            Distribution::Hotspot { keys: share, ops } => {
                Law::Hotspot { keys, hot: hot_keys(keys, share), ops }
            }
        })
    }

    /// Draws the next key.
    #[inline]
    pub fn draw(&self, dice: &mut Dice) -> Key {
        Key(match &self.0 {
            Law::Uniform { keys } => dice.below(*keys),
            Law::Weighted(table) => table.draw(dice),
            Law::Hotspot { keys, hot, ops } => {
                if hot == keys || dice.chance(*ops) {
                    dice.below(*hot)
                } else {
                    dice.between(*hot, keys - 1)
                }
            }
        })
    }
}

/// Draws values for keys whose values may repeat.
#[derive(Debug)]
pub struct ValueSource(Option<Repeating>);

#[derive(Debug)]
struct Repeating {
    keys: f64,
    domain: AliasTable,
}

impl ValueSource {
    /// The source for a duplication setting; without one, no value repeats.
    pub fn of(duplication: Option<Duplication>) -> ValueSource {
        ValueSource(duplication.map(|Duplication { keys, domain, theta }| Repeating {
            keys,
            domain: AliasTable::zipfian(domain, theta),
        }))
    }

    /// Draws the next value for a key; `None` if the value must be a new one.
    #[inline]
    pub fn draw(&self, key: Key, dice: &mut Dice) -> Option<u32> {
        let repeating = self.0.as_ref().filter(|repeating| repeats(key, repeating.keys))?;
        Some(1 + repeating.domain.draw(dice))
    }
}

/// Whether a key belongs to the given share of all keys. These keys are spread evenly over the key numbers,
/// so that hot and cold keys are affected alike.
fn repeats(key: Key, share: f64) -> bool {
    let up_to = |n: f64| (n * share).floor();
    up_to(f64::from(key.0) + 1.0) > up_to(f64::from(key.0))
}
