//! Converts range reads to reads of single keys.
//!
//! A key's absence is a value: an insert overwrites it, a delete writes it, and a read that finds nothing
//! returns it. So a range read is a read of every key in the range: of the keys it found, with their values,
//! and of all other keys as absent. Keys that are absent in the whole history (no initial value, never
//! written) are left out, because these reads are trivially correct. A bound is no key: a name is one if an
//! operation uses it, a range read returned it, or it has an initial value of its own.
//!
//! Keys lie in a range by their names: numbers by size, texts and keywords letter by letter. Names of
//! different kinds are not compared. A bound of nil is no bound; without both, all keys lie in the range. The reads of one range take the place of the range read, in the order of
//! their keys, and are marked with [`OpView::in_range`](crate::OpView). They happen at once: none of them is before another
//! ([`History::is_before`]).

use std::cmp::Ordering;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::draft::Limit;
use crate::history::{History, OpKind, OpTag, RangeRow};
use crate::ids::{Key, Op};
use crate::index;
use crate::value::{Datum, Value, Values};

impl History {
    /// A copy in which range reads are replaced by reads of single keys, and deletes whose tombstones no read names write
    /// absence (`tombstones.rs`); `None` if there are neither.
    pub fn expand_ranges(&self) -> Result<Option<History>, Limit> {
        let is_range = |tag: &OpTag| tag.kind() == OpKind::RangeRead;
        if self.ranges.is_empty() || !self.tags.iter().any(is_range) {
            return Ok(self.without_unnamed_tombstones().map(|(history, _)| history));
        }
        let mut history = self.clone();
        self.expand_into(&mut history)?;
        if self.has_unnamed_tombstones() {
            history.drop_tombstones();
        }
        history.writers.take();
        index::build(&mut history);
        Ok(Some(history))
    }

    /// Replaces range reads in a copy of this history, without its index.
    fn expand_into(&self, history: &mut History) -> Result<(), Limit> {
        let is_range = |tag: &OpTag| tag.kind() == OpKind::RangeRead;
        let names = Names::new(history);
        let most = u64::from(u32::MAX) - 1;
        let (mut tags, mut keys, mut values, mut at) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut txn_ops = vec![0];
        for txn in self.txns() {
            for op in self.op_range(txn) {
                match self.ranges.get(self.values[op].as_small().unwrap_or(u32::MAX) as usize) {
                    Some(row) if is_range(&self.tags[op]) => {
                        for (i, (key, value)) in names.read(history, row).into_iter().enumerate() {
                            let kind =
                                if names.is_list[key.index()] { OpKind::ReadList } else { OpKind::Read };
                            let continues = if i > 0 { OpTag::CONTINUES } else { 0 };
                            tags.push(OpTag(kind as u8 | OpTag::IN_RANGE | continues));
                            keys.push(key);
                            values.push(value);
                            at.push(self.at[op]);
                        }
                    }
                    _ => {
                        tags.push(self.tags[op].unmarked());
                        keys.push(self.keys[op]);
                        values.push(self.values[op]);
                        at.push(self.at[op]);
                    }
                }
            }
            if tags.len() as u64 > most {
                return Err(Limit { what: "reads of keys in ranges", most });
            }
            txn_ops.push(tags.len() as u32);
        }
        (history.tags, history.keys, history.values, history.at) = (tags, keys, values, at);
        (history.txn_ops, history.ranges) = (txn_ops, Vec::new());
        Ok(())
    }

    /// The names that are keys, each with its initial value: those that an operation uses or that have an initial value of
    /// their own, in the order of their ids, and then those that only rows of range reads have.
    pub fn named_keys(&self) -> Vec<(Value, Value)> {
        let is_key = keys(self);
        let used = self.keys().filter(|key| is_key[key.index()]);
        let mut named: Vec<(Value, Value)> =
            used.map(|key| (self.key_name[key.index()], self.initial(key))).collect();
        let mut met: FxHashSet<Value> = named.iter().map(|&(name, _)| name).collect();
        let rows = self.ranges.iter().flat_map(|row| row.live.iter().chain(&row.dead));
        named.extend(rows.filter(|&&(name, _)| met.insert(name)).map(|&(name, _)| (name, self.initial)));
        named
    }

    /// The first read that comes from the same operation: another one only for reads in a range.
    pub fn start_of(&self, op: Op) -> Op {
        let continues = |op: usize| self.tags[op].0 & OpTag::CONTINUES != 0;
        let mut first = op.index();
        while continues(first) {
            first -= 1;
        }
        Op::at(first)
    }

    /// Whether an operation comes before another one of its transaction. The reads of one range read happen at once.
    pub fn is_before(&self, one: Op, other: Op) -> bool {
        one < other && one < self.start_of(other)
    }
}

/// The keys of a history by their names.
struct Names {
    of: FxHashMap<Value, Key>,
    is_list: Vec<bool>,
    /// The keys that are not absent in the whole history, sorted by name.
    sorted: Vec<Key>,
}

impl Names {
    /// Collects the key names of a history. Adds the keys that only range reads returned to the history.
    fn new(history: &mut History) -> Names {
        let mut of: FxHashMap<Value, Key> =
            history.key_name.iter().zip(0..).map(|(&name, i)| (name, Key(i))).collect();
        let rows = history.ranges.iter().flat_map(|row| row.live.iter().chain(&row.dead));
        for &(name, _) in rows {
            of.entry(name).or_insert_with(|| {
                history.key_name.push(name);
                Key(history.key_name.len() as u32 - 1)
            });
        }
        let known = history.key_writers.len() - 1;
        let last = history.key_writers[known];
        history.key_writers.resize(history.key_name.len() + 1, last);
        if !history.initial_of.is_empty() {
            history.initial_of.resize(history.key_name.len(), history.initial);
        }
        let is_list = lists(history, &of);
        let is_written = |key: Key| history.key_writers[key.index()] < history.key_writers[key.index() + 1];
        let name = |key: Key| history.key_name[key.index()];
        let mut is_key = keys(history);
        for (name, _) in history.ranges.iter().flat_map(|row| row.live.iter().chain(&row.dead)) {
            is_key[of[name].index()] = true;
        }
        let may_exist = |key: Key| is_written(key) || history.initial(key) != Value::NIL;
        let mut sorted: Vec<Key> =
            history.keys().filter(|&key| is_key[key.index()] && may_exist(key)).collect();
        sorted.sort_by(|&a, &b| history.table.total_order(name(a), name(b)));
        Names { of, is_list, sorted }
    }

    /// The reads of single keys that a range read stands for, sorted by name.
    fn read(&self, history: &History, row: &RangeRow) -> Vec<(Key, Value)> {
        let name = |key: Key| history.key_name[key.index()];
        let found: FxHashMap<Key, Value> =
            row.live.iter().chain(&row.dead).map(|&(name, value)| (self.of[&name], value)).collect();
        let others = history.table.between(&self.sorted, |&key| name(key), row.low, row.high).iter().copied();
        let others = others.filter(|key| !found.contains_key(key)).map(|key| (key, Value::NIL));
        let mut reads: Vec<(Key, Value)> =
            others.chain(found.iter().map(|(&key, &value)| (key, value))).collect();
        reads.sort_by(|a, b| history.table.total_order(name(a.0), name(b.0)).then(a.0.cmp(&b.0)));
        reads
    }
}

/// For each entry of the table of keys, whether an operation or an initial value says that it is a key. The others are lower
/// bounds of range reads.
fn keys(history: &History) -> Vec<bool> {
    let mut keys: Vec<bool> =
        history.keys().map(|key| history.initial(key) != history.default_initial()).collect();
    for (tag, key) in history.tags.iter().zip(&history.keys) {
        keys[key.index()] |= tag.kind() != OpKind::RangeRead;
    }
    keys
}

/// For each key, whether it is a list. If no operation on the key says so, its values do: the initial one, and those that range
/// reads returned.
fn lists(history: &History, of: &FxHashMap<Value, Key>) -> Vec<bool> {
    let is_list = |value: Value| matches!(history.table.datum(value), Datum::List(_));
    let mut lists: Vec<bool> = history.keys().map(|key| is_list(history.initial(key))).collect();
    for (name, value) in history.ranges.iter().flat_map(|row| &row.live) {
        lists[of[name].index()] |= is_list(*value);
    }
    let operations = || history.tags.iter().map(|tag| tag.kind()).zip(&history.keys);
    for (_, key) in operations().filter(|(kind, _)| *kind != OpKind::RangeRead) {
        lists[key.index()] = false;
    }
    for (kind, key) in operations() {
        lists[key.index()] |= matches!(kind, OpKind::Append | OpKind::ReadList);
    }
    lists
}

impl Values {
    /// Compares two key names. `None` if they are of different kinds, or of a kind without an order.
    pub fn compare(&self, one: Value, other: Value) -> Option<Ordering> {
        let kind = rank(self.datum(one));
        let has_order = (1..=4).contains(&kind) && kind == rank(self.datum(other));
        has_order.then(|| self.total_order(one, other))
    }

    /// Whether the upper bound of a range is below the lower one.
    pub fn is_reversed(&self, low: Value, high: Value) -> bool {
        self.compare(low, high).is_some_and(Ordering::is_gt)
    }

    /// Whether a key lies outside of a range. Bounds of different kinds exclude no key, and a bound of nil is none.
    pub fn is_outside(&self, key: Value, low: Value, high: Value) -> bool {
        let both = low != Value::NIL && high != Value::NIL;
        !(both && self.compare(low, high).is_none() || self.is_between(key, low, high))
    }

    /// Whether a key lies between two bounds. A bound of nil is none.
    pub(crate) fn is_between(&self, key: Value, low: Value, high: Value) -> bool {
        let in_order = |a, b| self.compare(a, b).is_some_and(Ordering::is_le);
        (low == Value::NIL || in_order(low, key)) && (high == Value::NIL || in_order(key, high))
    }
}

impl Values {
    /// Of items sorted by name, those that lie between two bounds. A bound of nil is none.
    pub(crate) fn between<'i, T>(
        &self,
        items: &'i [T],
        name: impl Fn(&T) -> Value,
        low: Value,
        high: Value,
    ) -> &'i [T] {
        let kind = |value: Value| rank(self.datum(value));
        let is_low = |item: &T| match (low == Value::NIL, high == Value::NIL) {
            (true, true) => false,
            (true, false) => kind(name(item)) < kind(high),
            (false, _) => self.total_order(name(item), low).is_lt(),
        };
        let is_low_or_between = |item: &T| match (low == Value::NIL, high == Value::NIL) {
            (true, true) => true,
            (false, true) => kind(name(item)) <= kind(low),
            (_, false) => self.total_order(name(item), high).is_le(),
        };
        let is_compared = low == Value::NIL || high == Value::NIL || kind(low) == kind(high);
        let from = items.partition_point(is_low);
        let to = if is_compared { items.partition_point(is_low_or_between) } else { from };
        &items[from..to.max(from)]
    }

    /// A total order of names: by kind, and within one kind by size or letter by letter.
    pub(crate) fn total_order(&self, a: Value, b: Value) -> Ordering {
        let (a, b) = (self.datum(a), self.datum(b));
        let whole = |datum: Datum<'_>| match datum {
            Datum::Int(n) => Some(i128::from(n)),
            Datum::Nat(n) => Some(i128::from(n)),
            _ => None,
        };
        let real = |datum: Datum<'_>| match datum {
            Datum::Float(x) => x,
            other => whole(other).unwrap_or(0) as f64,
        };
        match (a, b) {
            (Datum::Bool(a), Datum::Bool(b)) => a.cmp(&b),
            (Datum::Text(a), Datum::Text(b)) | (Datum::Keyword(a), Datum::Keyword(b)) => a.cmp(b),
            (Datum::List(a), Datum::List(b)) => a.cmp(b),
            (a, b) if rank(a) == 2 && rank(b) == 2 => match (whole(a), whole(b)) {
                (Some(a), Some(b)) => a.cmp(&b),
                _ => real(a).total_cmp(&real(b)),
            },
            (a, b) => rank(a).cmp(&rank(b)),
        }
    }
}

/// The kind of a name as a number, so that names of one kind are adjacent.
fn rank(datum: Datum<'_>) -> u8 {
    match datum {
        Datum::Nil | Datum::Unknown => 0,
        Datum::Bool(_) => 1,
        Datum::Int(_) | Datum::Nat(_) | Datum::Float(_) => 2,
        Datum::Text(_) => 3,
        Datum::Keyword(_) => 4,
        Datum::List(_) => 5,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic fails the test")]
mod tests {
    use crate::ids::{Op, Txn};
    use crate::notation::{parse, print};

    fn expanded(text: &str) -> String {
        print(&parse(text).unwrap().expand_ranges().unwrap().unwrap())
    }

    #[test]
    fn a_range_read_is_a_read_of_every_key_in_the_range() {
        assert_eq!(
            expanded("init=nil  T1: i(2,1) i(10,1) i(7,1)  T2: range(2,9,{2=1}) r(10,1)"),
            "init=nil  T1: i(2,1) i(10,1) i(7,1)  T2: r(2,1) r(7,nil) r(10,1)"
        );
        // Initial keys, tombstones, and rows of keys that were never written.
        assert_eq!(
            expanded("init=nil  init(b)=5  T1: d(c,9)  T2: range(a,z,{d=1},{c=9})  T3: range(b,b,{b=5})"),
            "init=nil  init(b)=5  T1: d(c,9)  T2: r(b,nil) r(c,9) r(d,1)  T3: r(b,5)"
        );
        // An empty range, and one whose bounds cannot be compared.
        assert_eq!(
            expanded("init=nil  T1: i(1,1) range(3,5,{})  T2: range(0,x,{1=1})"),
            "init=nil  T1: i(1,1)  T2: r(1,1)"
        );
    }

    /// Neither bound is a key. A key may have the name of a bound.
    #[test]
    fn a_bound_is_no_key() {
        assert_eq!(
            expanded("T1: w(5,1)  T2: range(1,9,{5=1})  T3: range(a,z,{k=0 y=0})"),
            "T1: w(5,1)  T2: r(5,1)  T3: r(k,0) r(y,0)"
        );
        assert_eq!(
            expanded("T1: w(b,1) r(a,0)  T2: range(a,b,{b=1})"),
            "T1: w(b,1) r(a,0)  T2: r(a,nil) r(b,1)"
        );
        assert_eq!(
            expanded("init(a)=2  T2: range(a,b,{})  T3: range(b,c,{})"),
            "init(a)=2  T2: r(a,nil)  T3:"
        );
        assert_eq!(expanded("T1: range(a,c,{b=1})  T2: range(b,c,{})"), "T1: r(b,1)  T2: r(b,nil)");
    }

    #[test]
    fn a_bound_of_nil_is_none() {
        let writes = "init=nil  T1: i(5,1) i(-1,1) i(b,1) i(:k,1)";
        for (range, reads) in [
            ("range(nil,nil,{5=1})", "r(-1,nil) r(5,1) r(b,nil) r(:k,nil)"),
            ("range(nil,4,{})", "r(-1,nil)"),
            ("range(0,nil,{})", "r(5,nil)"),
            ("range(a,nil,{b=1})", "r(b,1)"),
            ("range(nil,a,{})", ""),
        ] {
            let reads = format!("{writes}  T2: {reads}");
            assert_eq!(expanded(&format!("{writes}  T2: {range}")), reads.trim_end(), "{range}");
        }
        assert_eq!(
            parse("T1: range(nil,4,{5=1})").err().map(|e| e.expected),
            Some("a key inside of the range")
        );
        assert_eq!(
            parse("T1: range(6,nil,{5=1})").err().map(|e| e.expected),
            Some("a key inside of the range")
        );
    }

    #[test]
    fn a_key_that_only_range_reads_mention_is_a_list_if_it_holds_one() {
        assert_eq!(
            expanded("init=nil  init(z)=[7]  T1: i(y,5) range(y,z,{y=5})"),
            "init=nil  init(z)=[7]  T1: i(y,5) r(y,5) rl(z,nil)"
        );
        assert_eq!(expanded("init=nil  T1: range(y,z,{z=[9]})"), "init=nil  T1: r(z,[9])");
        assert_eq!(
            expanded("init=nil  T1: i(z,1)  T2: range(y,z,{z=[9]})"),
            "init=nil  T1: i(z,1)  T2: rr(z,[9])"
        );
    }

    #[test]
    fn a_history_without_range_reads_is_not_expanded() {
        assert!(parse("T1: w(x,1)  T2: r(x,1)").unwrap().expand_ranges().unwrap().is_none());
    }

    #[test]
    fn reads_of_one_range_happen_at_once() {
        let text = "init=nil  T1: i(1,1) i(2,1) i(3,1)  T2: r(1,1) range(1,3,{1=1}) range(1,2,{1=1}) r(3,1)";
        let history = parse(text).unwrap().expand_ranges().unwrap().unwrap();
        let ops: Vec<Op> = history.ops_of(Txn(1)).map(|op| op.id).collect();
        let starts: Vec<usize> =
            ops.iter().map(|&op| history.start_of(op).index() - ops[0].index()).collect();
        assert_eq!(starts, [0, 1, 1, 1, 4, 4, 6]);
        let before = |one: usize, other: usize| history.is_before(ops[one], ops[other]);
        assert!(before(0, 1) && before(3, 4) && before(5, 6));
        assert!(!before(1, 2) && !before(2, 1) && !before(2, 3) && !before(4, 5) && !before(6, 0));
    }

    #[test]
    fn reads_in_ranges_are_marked_and_see_own_writes() {
        let history = parse("init=nil  T1: i(1,1) range(1,3,{1=1})  T2: i(2,1) r(1,nil)").unwrap();
        let history = history.expand_ranges().unwrap().unwrap();
        let flags: Vec<(bool, bool)> =
            history.txns().flat_map(|txn| history.ops_of(txn)).map(|op| (op.in_range, op.external)).collect();
        let expected = [(false, false), (true, false), (true, true), (false, false), (false, true)];
        assert_eq!(flags, expected);
    }
}
