//! What a transaction did otherwise than predicted.
//!
//! Reads are compared in program order, key and writer; the reads of one range happen at once, so their order does not count.
//! The prediction reads every key of a range that some transaction of the *observed* run wrote. Where the writer is not a part
//! of the prediction, the key does not exist when the range is read again: reading it from the initial state and not finding
//! it are the same. Writes are compared as sets of keys: which value was written follows from the program and its reads.
//!
//! A transaction that was cut demands less: its predicted reads are the first ones, and it writes at least the predicted keys.
//! What follows the cut is its own business.

use std::collections::BTreeSet;
use std::fmt;

use isoscope_application::Call;
use isoscope_replay::{End, Operation, Origin, Ran, Source};

use crate::plan::Planned;

/// The first thing that a transaction did otherwise than predicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// It did not commit.
    End {
        /// The transaction.
        call: Call,
        /// How it ended.
        end: End,
    },
    /// It read something else.
    Read {
        /// The transaction.
        call: Call,
        /// The predicted key and its writer; `None` if no further read was predicted.
        predicted: Option<(String, Source)>,
        /// What was read; `None` if nothing further was read.
        happened: Option<(String, Source)>,
    },
    /// It wrote other keys.
    Writes {
        /// The transaction.
        call: Call,
        /// The predicted keys that it did not write.
        missing: Vec<String>,
        /// The keys that it wrote and that were not predicted.
        unforeseen: Vec<String>,
    },
}

impl Difference {
    /// The sentence, with the caller's names of transactions.
    pub fn describe(&self, name: &dyn Fn(Call) -> String) -> String {
        match self {
            Difference::End { call, end } => {
                let ended = match end {
                    End::Committed => "committed".to_owned(),
                    End::RolledBack => "rolled back".to_owned(),
                    End::Refused => "was not allowed to commit".to_owned(),
                    End::Failed(why) => format!("gave up: {why}"),
                };
                format!("{} {ended}", name(*call))
            }
            Difference::Read { call, predicted, happened } => {
                let read = |read: &Option<(String, Source)>| match read {
                    Some((key, from)) => format!("a read of {key} from {}", from.describe(name)),
                    None => "no further read".to_owned(),
                };
                format!("{} had {}; {} was predicted", name(*call), read(happened), read(predicted))
            }
            Difference::Writes { call, missing, unforeseen } => {
                let mut text = name(*call);
                if !missing.is_empty() {
                    text += &format!(" did not write {}", missing.join(", "));
                }
                if !unforeseen.is_empty() {
                    let and = if missing.is_empty() { "" } else { " and" };
                    text += &format!("{and} wrote {}, which was not predicted", unforeseen.join(", "));
                }
                text
            }
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(&|call| Source::Txn(call).to_string()))
    }
}

/// The first difference between what was predicted of a transaction and what it did.
pub(crate) fn difference(planned: &Planned, ran: &Ran) -> Option<Difference> {
    if ran.end != End::Committed {
        return Some(Difference::End { call: ran.call, end: ran.end.clone() });
    }
    reads(planned, ran).or_else(|| writes(planned, ran))
}

fn reads(planned: &Planned, ran: &Ran) -> Option<Difference> {
    let call = ran.call;
    let wanted: Vec<&(String, Source)> = planned.reads.iter().filter(|read| !is_absent(read, ran)).collect();
    let mut wanted = &wanted[..];
    for mut happened in at_once(ran) {
        if wanted.is_empty() && planned.is_cut {
            return None;
        }
        let (now, later) = wanted.split_at(wanted.len().min(happened.len()));
        for &read in now {
            let Some(place) = happened.iter().position(|other| other == read) else {
                let same_key = happened.iter().find(|(key, _)| *key == read.0);
                let happened = same_key.or(happened.first()).cloned();
                return Some(Difference::Read { call, predicted: Some(read.clone()), happened });
            };
            happened.remove(place);
        }
        // Where the cut is inside a range, the rest of the range is not predicted.
        if !happened.is_empty() && !planned.is_cut {
            return Some(Difference::Read { call, predicted: None, happened: happened.first().cloned() });
        }
        wanted = later;
    }
    let first = wanted.first()?;
    Some(Difference::Read { call, predicted: Some((*first).clone()), happened: None })
}

/// The external reads of a transaction; those that happen at once are together.
fn at_once(ran: &Ran) -> Vec<Vec<(String, Source)>> {
    let external = |key: &str, from: Origin| match from {
        Origin::Store(source) => Some((key.to_owned(), source)),
        Origin::Own => None,
    };
    let groups = ran.operations.iter().map(|operation| match operation {
        Operation::Read { key, from, .. } => external(key, *from).into_iter().collect(),
        Operation::Range { keys, .. } => {
            keys.iter().filter_map(|(key, from, _)| external(key, *from)).collect()
        }
        Operation::Write { .. } => Vec::new(),
    });
    groups.filter(|group: &Vec<_>| !group.is_empty()).collect()
}

/// Whether a predicted read is one of a key that a range covers and that did not exist then.
fn is_absent((key, source): &(String, Source), ran: &Ran) -> bool {
    let mut covered = false;
    for operation in &ran.operations {
        match operation {
            Operation::Read { key: read, .. } if **read == **key => return false,
            Operation::Range { keys, .. } if keys.iter().any(|(read, ..)| **read == **key) => return false,
            Operation::Range { low, high, .. } => covered |= (low..=high).contains(&key),
            Operation::Read { .. } | Operation::Write { .. } => {}
        }
    }
    covered && *source == Source::Initial
}

fn writes(planned: &Planned, ran: &Ran) -> Option<Difference> {
    let happened: BTreeSet<&str> = ran.writes().collect();
    let missing = planned.writes.iter().filter(|key| !happened.contains(key.as_str()));
    let missing: Vec<String> = missing.cloned().collect();
    let unforeseen = happened.iter().filter(|key| !planned.is_cut && !planned.writes.contains(**key));
    let unforeseen: Vec<String> = unforeseen.map(|&key| key.to_owned()).collect();
    let differs = !missing.is_empty() || !unforeseen.is_empty();
    differs.then_some(Difference::Writes { call: ran.call, missing, unforeseen })
}
