//! Reads that do not show whether their key is a register or a list.
//!
//! Some inputs spell a read of a register and one of a list alike if the result is unknown or nil: `r(x,?)`, `r(x,nil)`. Where all
//! other operations on the key are appends and reads of lists, or there are none and it begins as a list, so is this one, and nil is a list that does not exist, which is
//! empty. Otherwise the key would count as both a register and a list, and no level could be decided.

use rayon::prelude::*;

use crate::history::{History, OpKind, OpTag};
use crate::value::{Datum, Value};

/// The bits of a tag that hold the kind.
const KIND: u8 = 7;
const LIST: u8 = 1;
const REGISTER: u8 = 2;

/// Turns such reads into reads of lists.
pub(super) fn settle(history: &mut History) {
    let is_open = |tag: OpTag, value: Value| {
        (value == Value::UNKNOWN || value == Value::NIL) && tag.kind() == OpKind::Read
    };
    let History { tags, values, keys, table, initial, initial_of, .. } = history;
    let mut places: Vec<usize> = (0..tags.len())
        .into_par_iter()
        .with_min_len(1 << 16)
        .filter(|&place| is_open(tags[place], values[place]))
        .collect();
    let is_list = |tag: &OpTag| matches!(tag.kind(), OpKind::Append | OpKind::ReadList);
    let is_list_value = |value: Value| matches!(table.datum(value), Datum::List(_));
    let begins = is_list_value(*initial) || initial_of.iter().any(|&value| is_list_value(value));
    if places.is_empty() || !(begins || tags.par_iter().with_min_len(1 << 16).any(is_list)) {
        return;
    }
    let mut uses = vec![0u8; history.key_name.len()];
    if begins {
        for (key, uses) in uses.iter_mut().enumerate() {
            let initial = initial_of.get(key).unwrap_or(initial);
            *uses |= if is_list_value(*initial) { LIST } else { 0 };
        }
    }
    for ((&tag, &value), key) in tags.iter().zip(values.iter()).zip(keys.iter()) {
        let used = match tag.kind() {
            OpKind::Append | OpKind::ReadList => LIST,
            OpKind::RangeRead => 0,
            OpKind::Read if is_open(tag, value) => 0,
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
