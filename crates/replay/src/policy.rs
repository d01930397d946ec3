//! Which version answers a read.

use std::cell::RefCell;
use std::collections::VecDeque;

use isoscope_application::Call;
use isoscope_workload::Dice;
use rustc_hash::FxHashMap;

use crate::content::Source;
use crate::judge::{Judge, KeyId, Writer};
use crate::trouble::Trouble;

/// A read that needs an answer.
pub struct Asked<'a> {
    /// The reader.
    pub call: Call,
    /// The key.
    pub key: &'a str,
    /// The writers of its versions, in the order in which they ran; the initial state is the first.
    pub writers: &'a [Source],
    pub(crate) numbers: &'a [Writer],
    pub(crate) judge: &'a Judge,
    pub(crate) id: KeyId,
    /// The answers so far.
    pub(crate) known: RefCell<Vec<Option<bool>>>,
}

impl Asked<'_> {
    /// Whether the level permits the version at this place of `writers`.
    pub fn is_legal(&self, place: usize) -> Result<bool, Trouble> {
        if let Some(known) = self.known.borrow()[place] {
            return Ok(known);
        }
        let legal = self.judge.is_legal(self.id, self.numbers[place]);
        let legal = legal.map_err(|_| Trouble::Undecided(self.call))?;
        self.known.borrow_mut()[place] = Some(legal);
        Ok(legal)
    }

    /// The newest version that is legal. There always is one.
    pub fn newest_legal(&self) -> Result<Source, Trouble> {
        for place in (1..self.writers.len()).rev() {
            if self.is_legal(place)? {
                return Ok(self.writers[place]);
            }
        }
        Ok(Source::Initial)
    }
}

/// A policy: chooses the writer that answers a read.
pub trait Choose {
    /// Chooses.
    fn choose(&mut self, asked: &Asked<'_>) -> Result<Source, Trouble>;
}

/// The newest version. The run is serial.
#[derive(Clone, Copy, Debug, Default)]
pub struct Latest;

impl Choose for Latest {
    fn choose(&mut self, asked: &Asked<'_>) -> Result<Source, Trouble> {
        Ok(asked.writers.last().copied().unwrap_or(Source::Initial))
    }
}

/// Any legal version, each with the same probability.
#[derive(Debug)]
pub struct RandomLegal {
    dice: Dice,
}

impl RandomLegal {
    /// The policy with the random choices of a seed.
    pub fn new(seed: u64) -> RandomLegal {
        RandomLegal { dice: Dice::new(seed, "random legal") }
    }
}

impl Choose for RandomLegal {
    fn choose(&mut self, asked: &Asked<'_>) -> Result<Source, Trouble> {
        // The first legal version of a random order.
        let mut places: Vec<usize> = (0..asked.writers.len()).collect();
        while !places.is_empty() {
            let drawn = if places.len() == 1 { 0 } else { self.dice.below(places.len() as u32) as usize };
            let place = places.swap_remove(drawn);
            if asked.is_legal(place)? {
                return Ok(asked.writers[place]);
            }
        }
        // No version is legal: the store says so.
        Ok(Source::Initial)
    }
}

/// The writers that a prediction names. A read that it does not foresee gets the newest legal version; if the key has several
/// versions, the run has *diverged*.
#[derive(Clone, Debug, Default)]
pub struct Told {
    reads: FxHashMap<(Call, String), VecDeque<Source>>,
    unforeseen: Vec<(Call, String)>,
}

impl Told {
    /// Tells the next read of a key by a transaction its writer. Several reads of one key are told in program order.
    pub fn tell(&mut self, call: Call, key: &str, from: Source) {
        self.reads.entry((call, key.to_owned())).or_default().push_back(from);
    }

    /// The reads that were not foreseen although the key had several versions, in the order in which they ran.
    pub fn unforeseen(&self) -> &[(Call, String)] {
        &self.unforeseen
    }

    /// The reads that were foreseen and have not happened, in order.
    pub fn left(&self) -> Vec<(Call, String, Source)> {
        let left = self.reads.iter().flat_map(|((call, key), sources)| {
            sources.iter().map(move |&source| (*call, key.clone(), source))
        });
        let mut left: Vec<_> = left.collect();
        left.sort();
        left
    }
}

impl Choose for Told {
    fn choose(&mut self, asked: &Asked<'_>) -> Result<Source, Trouble> {
        let told = self.reads.get_mut(&(asked.call, asked.key.to_owned()));
        if let Some(source) = told.and_then(VecDeque::pop_front) {
            return Ok(source);
        }
        if asked.writers.len() > 1 {
            self.unforeseen.push((asked.call, asked.key.to_owned()));
        }
        asked.newest_legal()
    }
}
