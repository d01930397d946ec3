//! Tombstones: values that identify deletes.
//!
//! A delete writes absence, and a read that finds nothing returns it. Some stores keep a mark in place of a deleted row, its
//! tombstone, and some recorders read it: then a read shows which delete it saw. Whether they do is the same for all reads of a
//! history:
//!
//! - If a read names a tombstone (a point read returns it, or a range read lists deleted rows), all reads do. A tombstone is then a
//!   value like any other, and absence is the state of a key that was never written. Reads that found nothing are taken at their
//!   word ([`History::reads_without_tombstone`] finds them, for a warning).
//! - If no read does, tombstones are names of deletes only, and every delete writes absence. [`History::expand_ranges`] makes it so.

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::history::{History, OpKind, OpTag, RangeRow};
use crate::ids::{Key, Op};
use crate::index;
use crate::value::Value;

/// The number of operations scanned before checking whether to continue.
const CHUNK: usize = 1 << 14;

impl History {
    /// A copy in which no delete has a tombstone, and the number of tombstones that it lacks; `None` if there are none, or a read
    /// names one.
    pub fn without_unnamed_tombstones(&self) -> Option<(History, usize)> {
        if !self.has_unnamed_tombstones() {
            return None;
        }
        let mut history = self.clone();
        history.tags.iter_mut().for_each(|tag| *tag = tag.unmarked());
        let dropped = history.drop_tombstones();
        history.writers.take();
        index::build(&mut history);
        Some((history, dropped))
    }

    /// Makes all deletes write absence, without the index. Returns the number of those that did not.
    pub(crate) fn drop_tombstones(&mut self) -> usize {
        let columns = self.tags.iter().zip(&mut self.values);
        let with = columns.filter(|(tag, value)| is_one(**tag, **value));
        with.map(|(_, value)| *value = Value::NIL).count()
    }

    /// Whether deletes have tombstones, and no read names one.
    pub(crate) fn has_unnamed_tombstones(&self) -> bool {
        self.has_tombstones() && !self.names_tombstones(&self.tombstones())
    }

    /// The reads that found nothing of a key whose deletes have tombstones, if other reads name tombstones.
    pub fn reads_without_tombstone(&self) -> Vec<Op> {
        if !self.has_tombstones() {
            return Vec::new();
        }
        let tombstones = self.tombstones();
        if !self.names_tombstones(&tombstones) {
            return Vec::new();
        }
        let keys: FxHashSet<Key> = tombstones.iter().map(|&(key, _)| key).collect();
        let mut names: Vec<Value> = keys.iter().map(|&key| self.key_name(key)).collect();
        names.sort_by(|&a, &b| self.table.total_order(a, b));
        let is_one = |op: Op| {
            let view = self.op(op);
            match self.range(op) {
                Some(row) => self.misses(row, &names),
                None => view.kind == OpKind::Read && view.value == Value::NIL && keys.contains(&view.key),
            }
        };
        (0..self.op_count()).map(Op::at).filter(|&op| is_one(op)).collect()
    }

    /// Whether a range read neither found a key with a tombstone nor lists it as deleted. `names` are the names of these keys in
    /// their order.
    fn misses(&self, row: &RangeRow, names: &[Value]) -> bool {
        let inside = self.table.between(names, |&name| name, row.low, row.high).len();
        if inside == 0 {
            return false;
        }
        let is_one =
            |name: &Value| names.binary_search_by(|&other| self.table.total_order(other, *name)).is_ok();
        let listed = row.live.iter().chain(&row.dead).filter(|(name, _)| is_one(name)).count();
        listed < inside
    }

    fn has_tombstones(&self) -> bool {
        let columns = self.tags.par_chunks(CHUNK).zip(self.values.par_chunks(CHUNK));
        columns.any(|(tags, values)| {
            tags.iter().zip(values).fold(false, |any, (tag, &value)| any | is_one(*tag, value))
        })
    }

    /// The tombstones that identify deletes: no other operation writes the same value, and the key does not begin with it.
    fn tombstones(&self) -> FxHashSet<(Key, Value)> {
        let written =
            || self.tags.iter().zip(&self.keys).zip(&self.values).filter(|((tag, _), _)| tag.is_write());
        let deletes = written().filter(|((tag, _), value)| is_one(**tag, **value));
        let mut tombstones: FxHashSet<(Key, Value)> =
            deletes.map(|((_, &key), &value)| (key, value)).collect();
        for ((_, &key), &value) in written().filter(|((tag, _), _)| tag.kind() != OpKind::Delete) {
            tombstones.remove(&(key, value));
        }
        tombstones.retain(|&(key, value)| value != self.initial(key));
        tombstones
    }

    fn names_tombstones(&self, tombstones: &FxHashSet<(Key, Value)>) -> bool {
        let mut reads =
            self.tags.iter().zip(&self.keys).zip(&self.values).filter(|((tag, _), _)| tag.is_register_read());
        self.ranges.iter().any(|row| !row.dead.is_empty())
            || reads.any(|((_, &key), &value)| tombstones.contains(&(key, value)))
    }
}

/// Whether an operation is a delete with a tombstone.
fn is_one(tag: OpTag, value: Value) -> bool {
    tag.kind() == OpKind::Delete && value != Value::NIL
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic fails the test")]
mod tests {
    use crate::notation::{parse, print};

    fn prepared(text: &str) -> String {
        let history = parse(text).unwrap();
        print(&history.expand_ranges().unwrap().unwrap_or(history))
    }

    fn nameless(text: &str) -> usize {
        parse(text).unwrap().reads_without_tombstone().len()
    }

    #[test]
    fn a_delete_whose_tombstone_no_read_names_writes_absence() {
        assert_eq!(prepared("T1: d(x,7) r(x,nil)"), "T1: d(x) r(x,nil)");
        assert_eq!(
            prepared("init=nil  T1: i(x,1) ; T2: d(x,7) ; T3: range(a,z,{})"),
            "init=nil  T1: i(x,1) ; T2: d(x) ; T3: r(x,nil)"
        );
        assert_eq!(prepared("T1: d(x,7) d(y,8)  T2: r(x,8) r(y,?)"), "T1: d(x) d(y)  T2: r(x,8) r(y,?)");
        // The write explains the read; the tombstone identifies nothing.
        assert_eq!(
            prepared("T1: w(x,7)  T2: d(x,7)  T3: r(x,7) r(x,nil)"),
            "T1: w(x,7)  T2: d(x)  T3: r(x,7) r(x,nil)"
        );
        assert_eq!(prepared("init(x)=7  T1: d(x,7)  T2: r(x,7)"), "init(x)=7  T1: d(x)  T2: r(x,7)");
    }

    #[test]
    fn a_tombstone_that_a_read_names_is_a_value() {
        for text in ["T1: d(x,7)  T2: r(x,7)", "T1: d(x,7) d(y,8)  T2: r(x,7) r(y,nil)"] {
            assert_eq!(prepared(text), text);
        }
        assert_eq!(prepared("T1: d(x,7)  T2: range(a,z,{},{x=7})"), "T1: d(x,7)  T2: r(x,7)");
    }

    #[test]
    fn reads_that_name_no_tombstone_among_others_that_do_are_found() {
        assert_eq!(nameless("T1: d(x,7)  T2: r(x,nil) range(a,z,{})"), 0);
        assert_eq!(
            nameless("T1: d(x,7)  T2: r(x,7) r(y,nil) range(y,z,{}) range(nil,nil,{x=1}) range(1,2,{})"),
            0
        );
        assert_eq!(nameless("T1: d(x,7)  T2: r(x,nil) range(a,z,{},{x=7})"), 1);
        assert_eq!(
            nameless("T1: d(x,7) d(5,8)  T2: r(x,7) range(nil,nil,{x=1}) range(1,9,{}) range(a,z,{y=1})"),
            3
        );
    }
}
