//! Values and names: the values read and written, and the names of keys, sessions and transactions.
//!
//! A [`Value`] is four bytes. Integers below 2^31 are stored in it; everything else (larger or negative
//! integers, text, keywords, lists, nil) is a row of the history's [`Values`] table. Rows are interned, so
//! two values of one history are equal exactly when their four bytes are. There are two exceptions. Each list
//! read has a row of its own, because lists are never compared by identity and hashing them would cost more
//! than storing them. And a copy of a history may contain twins (`edit.rs`).

use std::hash::{BuildHasher, Hash};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// A value or a name; see the module documentation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Value(u32);

/// If this bit is set, the other bits are a row of the table.
const ROW: u32 = 1 << 31;

impl Value {
    /// The absence of a value: SQL's `NULL`, EDN's `nil`.
    pub const NIL: Value = Value(ROW);
    /// A value the recorder did not learn, for example of a read that never returned.
    pub const UNKNOWN: Value = Value(ROW | 1);

    /// A small integer, stored in the value itself; `None` if it needs a row.
    #[inline]
    pub const fn small(n: u64) -> Option<Value> {
        if n < ROW as u64 { Some(Value(n as u32)) } else { None }
    }

    /// The integer, if the value is small.
    #[inline]
    pub const fn as_small(self) -> Option<u32> {
        if self.0 & ROW == 0 { Some(self.0) } else { None }
    }

    /// The row, if the value is not small.
    #[inline]
    pub const fn row(self) -> Option<usize> {
        if self.0 & ROW == 0 { None } else { Some((self.0 & !ROW) as usize) }
    }

    /// The four bytes; values of one history are equal exactly when their bits are (except lists).
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0
    }

    pub(crate) fn from_row(row: usize) -> Value {
        assert!(row < ROW as usize, "a history has at most 2^31 distinct values that are not small integers");
        Value(ROW | row as u32)
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.as_small() {
            Some(n) => write!(f, "{n}"),
            None => write!(f, "#{}", self.0 & !ROW),
        }
    }
}

/// The content of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Datum<'a> {
    /// No value.
    Nil,
    /// A value that was not recorded.
    Unknown,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer above `i64::MAX`; smaller ones are always [`Datum::Int`].
    Nat(u64),
    /// A floating-point number.
    Float(f64),
    /// A string.
    Text(&'a str),
    /// A keyword or symbol, as in EDN; without the colon.
    Keyword(&'a str),
    /// A list of values.
    List(&'a [Value]),
}

/// One row of the table, 16 bytes.
#[derive(Clone, Copy, Debug)]
enum Cell {
    Nil,
    Unknown,
    Bool(bool),
    Int(i64),
    Nat(u64),
    Float(u64),
    Text { start: u64, len: u32 },
    Keyword { start: u64, len: u32 },
    List { start: u64, len: u32 },
}

/// The table of all values of a history that are not small integers.
#[derive(Clone)]
pub struct Values {
    cells: Vec<Cell>,
    text: String,
    elements: Vec<Value>,
    /// Rows by content. Empty in a finished history, which interns nothing.
    index: HashTable<u32>,
}

impl Default for Values {
    fn default() -> Self {
        let mut values =
            Values { cells: Vec::new(), text: String::new(), elements: Vec::new(), index: HashTable::new() };
        assert_eq!(values.add(Datum::Nil), Value::NIL);
        assert_eq!(values.add(Datum::Unknown), Value::UNKNOWN);
        values
    }
}

impl Values {
    /// Interns an unsigned integer.
    #[inline]
    pub fn nat(&mut self, n: u64) -> Value {
        match Value::small(n) {
            Some(value) => value,
            None => match i64::try_from(n) {
                Ok(int) => self.add(Datum::Int(int)),
                Err(_) => self.add(Datum::Nat(n)),
            },
        }
    }

    /// Interns a signed integer.
    #[inline]
    pub fn int(&mut self, n: i64) -> Value {
        self.add(Datum::Int(n))
    }

    /// Interns a string.
    pub fn text(&mut self, text: &str) -> Value {
        self.add(Datum::Text(text))
    }

    /// Interns a keyword, given without its colon.
    pub fn keyword(&mut self, name: &str) -> Value {
        self.add(Datum::Keyword(name))
    }

    /// Adds a list of values of this table. Every call creates a new row.
    pub fn list(&mut self, elements: &[Value]) -> Value {
        let start = self.elements.len() as u64;
        self.elements.extend_from_slice(elements);
        let value = Value::from_row(self.cells.len());
        self.cells.push(Cell::List { start, len: elements.len() as u32 });
        value
    }

    /// Interns any datum.
    pub fn add(&mut self, datum: Datum<'_>) -> Value {
        match datum {
            Datum::Int(n) => {
                if let Some(small) = u64::try_from(n).ok().and_then(Value::small) {
                    return small;
                }
            }
            Datum::Nat(n) => {
                if let Ok(n) = i64::try_from(n) {
                    return self.int(n);
                }
            }
            Datum::List(elements) => return self.list(elements),
            _ => {}
        }
        let hash = hash(&datum);
        let found = self.index.find(hash, |&row| same(self.datum_at(row as usize), datum));
        if let Some(&row) = found {
            return Value::from_row(row as usize);
        }
        let row = self.cells.len();
        let value = Value::from_row(row);
        let cell = self.store(datum);
        self.cells.push(cell);
        let Values { cells, text, elements, index } = self;
        index.insert_unique(hash, row as u32, |&row| hash_cell(cells[row as usize], text, elements));
        value
    }

    fn store(&mut self, datum: Datum<'_>) -> Cell {
        match datum {
            Datum::Nil => Cell::Nil,
            Datum::Unknown => Cell::Unknown,
            Datum::Bool(b) => Cell::Bool(b),
            Datum::Int(n) => Cell::Int(n),
            Datum::Nat(n) => Cell::Nat(n),
            Datum::Float(x) => Cell::Float(x.to_bits()),
            Datum::Text(s) => {
                let (start, len) = self.store_text(s);
                Cell::Text { start, len }
            }
            Datum::Keyword(s) => {
                let (start, len) = self.store_text(s);
                Cell::Keyword { start, len }
            }
            Datum::List(_) => unreachable!("lists are added by `list`"),
        }
    }

    fn store_text(&mut self, s: &str) -> (u64, u32) {
        let start = self.text.len() as u64;
        self.text.push_str(s);
        (start, s.len() as u32)
    }

    /// The content of a value of this table.
    #[inline]
    pub fn datum(&self, value: Value) -> Datum<'_> {
        match value.as_small() {
            Some(n) => Datum::Int(i64::from(n)),
            None => self.datum_at((value.0 & !ROW) as usize),
        }
    }

    fn datum_at(&self, row: usize) -> Datum<'_> {
        datum_of(self.cells[row], &self.text, &self.elements)
    }

    /// The elements of a list value; empty for anything else.
    #[inline]
    pub fn elements(&self, value: Value) -> &[Value] {
        match self.datum(value) {
            Datum::List(elements) => elements,
            _ => &[],
        }
    }

    /// Whether a value, or an element of a list, was not learned.
    pub fn is_unlearned(&self, value: Value) -> bool {
        value == Value::UNKNOWN || self.elements(value).contains(&Value::UNKNOWN)
    }

    /// A value that prints like another and is equal to no other: it gets its own row, as lists do.
    pub(crate) fn twin(&mut self, value: Value) -> Value {
        let cell = match value.as_small() {
            Some(n) => Cell::Int(i64::from(n)),
            None => self.cells[(value.0 & !ROW) as usize],
        };
        let twin = Value::from_row(self.cells.len());
        self.cells.push(cell);
        twin
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether the table has only the two rows that every table has.
    pub fn is_empty(&self) -> bool {
        self.cells.len() <= 2
    }

    /// Adds all values of another table and returns their values in this one.
    pub fn absorb(&mut self, other: &Values) -> Remap {
        let mut rows = Vec::with_capacity(other.cells.len());
        let mut elements = Vec::new();
        for row in 0..other.cells.len() {
            let value = match other.datum_at(row) {
                Datum::List(list) => {
                    // A list's elements are added before the list, so their rows are already mapped.
                    elements.clear();
                    elements.extend(list.iter().map(|&v| map(v, &rows)));
                    self.list(&elements)
                }
                datum => self.add(datum),
            };
            rows.push(value);
        }
        Remap { rows }
    }

    /// Drops the intern index, which a finished history does not need, and frees its memory.
    pub(crate) fn freeze(&mut self) {
        self.index = HashTable::new();
        self.cells.shrink_to_fit();
        self.text.shrink_to_fit();
        self.elements.shrink_to_fit();
    }

    /// The number of bytes held.
    pub fn bytes(&self) -> usize {
        self.cells.capacity() * size_of::<Cell>()
            + self.text.capacity()
            + self.elements.capacity() * size_of::<Value>()
            + self.index.capacity() * (size_of::<u32>() + 1)
    }
}

/// The mapping from the values of one table to those of another; see [`Values::absorb`].
pub struct Remap {
    rows: Vec<Value>,
}

impl Remap {
    /// The value in the new table.
    #[inline]
    pub fn apply(&self, value: Value) -> Value {
        map(value, &self.rows)
    }
}

#[inline]
fn map(value: Value, rows: &[Value]) -> Value {
    match value.row() {
        None => value,
        Some(row) => rows[row],
    }
}

fn datum_of<'a>(cell: Cell, text: &'a str, elements: &'a [Value]) -> Datum<'a> {
    let slice = |start: u64, len: u32| &text[start as usize..start as usize + len as usize];
    match cell {
        Cell::Nil => Datum::Nil,
        Cell::Unknown => Datum::Unknown,
        Cell::Bool(b) => Datum::Bool(b),
        Cell::Int(n) => Datum::Int(n),
        Cell::Nat(n) => Datum::Nat(n),
        Cell::Float(bits) => Datum::Float(f64::from_bits(bits)),
        Cell::Text { start, len } => Datum::Text(slice(start, len)),
        Cell::Keyword { start, len } => Datum::Keyword(slice(start, len)),
        Cell::List { start, len } => Datum::List(&elements[start as usize..start as usize + len as usize]),
    }
}

/// Equality of interned data: floats by their bits, so that a NaN equals itself.
fn same(a: Datum<'_>, b: Datum<'_>) -> bool {
    match (a, b) {
        (Datum::Float(x), Datum::Float(y)) => x.to_bits() == y.to_bits(),
        (Datum::List(_), _) | (_, Datum::List(_)) => false,
        _ => a == b,
    }
}

fn hash(datum: &Datum<'_>) -> u64 {
    let hasher = FxBuildHasher;
    match datum {
        Datum::Nil => 0,
        Datum::Unknown => 1,
        Datum::Bool(b) => hasher.hash_one(b),
        Datum::Int(n) => hasher.hash_one(n),
        Datum::Nat(n) => hasher.hash_one(n),
        Datum::Float(x) => hasher.hash_one(x.to_bits()),
        Datum::Text(s) | Datum::Keyword(s) => hash_str(s),
        Datum::List(_) => 2,
    }
}

fn hash_str(s: &str) -> u64 {
    let mut hasher = FxBuildHasher.build_hasher();
    s.hash(&mut hasher);
    std::hash::Hasher::finish(&hasher)
}

fn hash_cell(cell: Cell, text: &str, elements: &[Value]) -> u64 {
    hash(&datum_of(cell, text, elements))
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;

    #[test]
    fn equal_data_get_equal_values() {
        let mut values = Values::default();
        let data = [
            Datum::Nil,
            Datum::Bool(true),
            Datum::Int(-1),
            Datum::Int(1 << 31),
            Datum::Nat(u64::MAX),
            Datum::Float(0.5),
            Datum::Text("x"),
            Datum::Keyword("x"),
            Datum::Int(7),
        ];
        let first: Vec<Value> = data.iter().map(|&d| values.add(d)).collect();
        let second: Vec<Value> = data.iter().map(|&d| values.add(d)).collect();
        assert_eq!(first, second);
        for (i, &value) in first.iter().enumerate() {
            assert_eq!(values.datum(value), data[i]);
            assert!(first[..i].iter().all(|&other| other != value), "{:?} is not distinct", data[i]);
        }
        assert_eq!(values.nat(7).as_small(), Some(7));
        assert_eq!(values.nat(1 << 31), values.int(1 << 31));
    }

    #[test]
    fn names_of_one_kind_have_an_order() {
        let mut values = Values::default();
        let names = [values.int(-3), values.nat(7), values.nat(1 << 40), values.nat(u64::MAX)];
        assert!(names.windows(2).all(|pair| values.compare(pair[0], pair[1]) == Some(Ordering::Less)));
        let (a, b, keyword) = (values.text("10"), values.text("9"), values.keyword("9"));
        assert_eq!(values.compare(b, a), Some(Ordering::Greater));
        assert_eq!(values.compare(b, b), Some(Ordering::Equal));
        assert_eq!(values.compare(b, keyword), None);
        assert_eq!(values.compare(a, names[0]), None);
        assert_eq!(values.compare(Value::NIL, Value::NIL), None);
    }

    #[test]
    fn absorbing_a_table_keeps_every_value() {
        let mut here = Values::default();
        here.text("only here");
        let mut there = Values::default();
        let word = there.text("word");
        let list = there.list(&[word, Value::small(3).unwrap()]);
        let remap = here.absorb(&there);
        assert_eq!(here.datum(remap.apply(word)), Datum::Text("word"));
        assert_eq!(here.elements(remap.apply(list)), &[remap.apply(word), Value::small(3).unwrap()]);
        assert_eq!(remap.apply(Value::NIL), Value::NIL);
    }
}
