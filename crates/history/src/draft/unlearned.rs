//! Reads whose result nobody learned, of keys that are lists.
//!
//! Some inputs spell a read of a register and one of a list alike if the result is unknown: `r(x,?)`. Where all other operations on
//! the key are appends and reads of lists, so is this one. Otherwise the key would count as both a register and a list, and no
//! level could be decided.

use rayon::prelude::*;

use crate::history::{History, OpKind, OpTag};
use crate::value::Value;

/// The bits of a tag that hold the kind.
const KIND: u8 = 7;
const LIST: u8 = 1;
const REGISTER: u8 = 2;

/// Turns such reads into reads of lists.
pub(super) fn settle(history: &mut History) {
    let is_unlearned = |tag: OpTag, value: Value| value == Value::UNKNOWN && tag.kind() == OpKind::Read;
    let History { tags, values, keys, .. } = history;
    let mut places: Vec<usize> = (0..tags.len())
        .into_par_iter()
        .with_min_len(1 << 16)
        .filter(|&place| is_unlearned(tags[place], values[place]))
        .collect();
    if places.is_empty() {
        return;
    }
    let mut uses = vec![0u8; history.key_name.len()];
    for ((&tag, &value), key) in tags.iter().zip(values.iter()).zip(keys.iter()) {
        let used = match tag.kind() {
            OpKind::Append | OpKind::ReadList => LIST,
            OpKind::RangeRead => 0,
            OpKind::Read if is_unlearned(tag, value) => 0,
            OpKind::Read | OpKind::Write | OpKind::Insert | OpKind::Delete => REGISTER,
        };
        if used > 0 {
            uses[key.index()] |= used;
        }
    }
    places.retain(|&place| uses[keys[place].index()] == LIST);
    for place in places {
        let marks = tags[place].0 & !KIND;
        tags[place] = OpTag(marks | OpKind::ReadList as u8);
    }
}
