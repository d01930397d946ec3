//! Micro-operations: `[:append k v]`, `[:w k v]`, `[:r k v]`, and of rows `[:insert k v]`, `[:delete k]` and
//! `[:rp predicate {k v}]`.

use isoscope_history::{Datum, Value, Values};

use super::composite;
use super::cursor::{Cursor, Stop, Syntax};

/// A micro-operation, 16 bytes. The kind of read of a [`Kind::ReadNil`] or [`Kind::ReadUnknown`] depends on
/// the rest of the history.
#[derive(Clone, Copy, Debug)]
pub(super) struct MicroOp {
    pub(super) kind: Kind,
    pub(super) key: Value,
    pub(super) value: Value,
    /// Its offset in its piece of the text.
    pub(super) at: u32,
}

/// The kind of a micro-operation, as far as it is known without the rest of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Append,
    Write,
    /// A read of a scalar that is not nil.
    Read,
    ReadList,
    /// A read of nil: the initial state of a register or of a list.
    ReadNil,
    /// A read whose result is unknown.
    ReadUnknown,
    Insert,
    Delete,
    /// An initial value, if its operation is accepted as `:init`; otherwise an insert.
    Init,
    /// A read of all keys; the value is the index of a row of [`MicroOps::ranges`].
    Range,
}

/// The name of a micro-operation.
#[derive(Clone, Copy)]
enum Name {
    /// An operation on one key.
    Item(Item),
    Predicate,
}

/// The kind of an operation on one key.
#[derive(Clone, Copy)]
enum Item {
    Read,
    Write(Kind),
    Delete,
}

/// Keys with their values.
pub(super) type Rows = Vec<(Value, Value)>;

/// Collects micro-operations, with the buffer for reading lists.
#[derive(Default)]
pub(super) struct MicroOps {
    pub(super) values: Values,
    elements: Vec<Value>,
    /// Whether some key is known to be a list.
    pub(super) lists: bool,
    /// Whether some key is known to be a register.
    pub(super) registers: bool,
    /// The rows that each [`Kind::Range`] returned.
    pub(super) ranges: Vec<Rows>,
    /// The number of predicate reads for which only the returned rows count, and the position of the first.
    pub(super) partial: Option<(u64, u32)>,
}

/// The form of a transaction's value, for messages.
const A_TRANSACTION: &str = "a vector of micro-operations such as [[:append 1 2] [:r 1 nil]]";
/// The form of rows, for messages.
const ROWS: &str = "the rows: a map from keys to values such as {:x 1}, or nil";
const THE_END: Stop = Stop::Expected("the end of the micro-operation after its value");

impl MicroOps {
    /// Reads the value of a transaction. Unless it `happened`, the results of its reads are unknown.
    pub(super) fn read<S: Syntax>(
        &mut self,
        cursor: &mut Cursor<'_>,
        happened: bool,
        out: &mut Vec<MicroOp>,
    ) -> Result<(), Stop> {
        let close = S::open(cursor).ok_or(Stop::Expected(A_TRANSACTION))?;
        let mut first = true;
        while S::more(cursor, close, &mut first)? {
            if let Some(op) = self.micro_op::<S>(cursor, happened, out)? {
                match op.kind {
                    Kind::Append | Kind::ReadList => self.lists = true,
                    Kind::ReadNil | Kind::ReadUnknown => {}
                    _ => self.registers = true,
                }
                out.push(op);
            }
        }
        Ok(())
    }

    /// Reads a micro-operation. `None` for a predicate read, which may give several operations or none and
    /// adds them to `out` itself.
    #[inline]
    fn micro_op<S: Syntax>(
        &mut self,
        cursor: &mut Cursor<'_>,
        happened: bool,
        out: &mut Vec<MicroOp>,
    ) -> Result<Option<MicroOp>, Stop> {
        let at = cursor.at as u32;
        let close = S::open(cursor).ok_or(Stop::Expected("a micro-operation such as [:r 1 nil]"))?;
        let mut first = true;
        let Name::Item(item) = name::<S>(cursor, close, &mut first)? else {
            self.predicate::<S>(cursor, close, happened, at, out)?;
            return Ok(None);
        };
        element::<S>(cursor, close, &mut first, "a key after the name of the micro-operation")?;
        let key = self.key::<S>(cursor)?;
        let unknown = MicroOp { kind: Kind::ReadUnknown, key, value: Value::UNKNOWN, at };
        let (kind, value) = match item {
            Item::Read if !happened => {
                while S::more(cursor, close, &mut first)? {
                    cursor.skip::<S>()?;
                }
                return Ok(Some(unknown));
            }
            Item::Read => {
                if !S::more(cursor, close, &mut first)? {
                    return Ok(Some(unknown));
                }
                self.result::<S>(cursor)?
            }
            Item::Write(kind) => {
                element::<S>(cursor, close, &mut first, "the value written")?;
                (kind, S::scalar(cursor, &mut self.values)?)
            }
            Item::Delete => (Kind::Delete, Value::NIL),
        };
        if S::more(cursor, close, &mut first)? {
            return Err(THE_END);
        }
        Ok(Some(MicroOp { kind, key, value, at }))
    }

    #[inline]
    fn key<S: Syntax>(&mut self, cursor: &mut Cursor<'_>) -> Result<Value, Stop> {
        if matches!(cursor.peek(), Some(b'[' | b'(' | b'{' | b'#'))
            && let Some(key) = composite::key::<S>(cursor, &mut self.values)?
        {
            return Ok(key);
        }
        S::scalar(cursor, &mut self.values)
    }

    /// Reads what follows `:rp`: the predicate and the returned rows.
    #[cold]
    fn predicate<S: Syntax>(
        &mut self,
        cursor: &mut Cursor<'_>,
        close: u8,
        happened: bool,
        at: u32,
        out: &mut Vec<MicroOp>,
    ) -> Result<(), Stop> {
        let mut first = false;
        element::<S>(cursor, close, &mut first, "a predicate such as :true or [:= 1]")?;
        let start = cursor.at;
        cursor.skip::<S>()?;
        let all = matches!(&cursor.bytes[start..cursor.at], b":true" | b"true" | b"\"true\"");
        let more = S::more(cursor, close, &mut first)?;
        if !happened || !more {
            // The result is unknown.
            let mut more = more;
            while more {
                cursor.skip::<S>()?;
                more = S::more(cursor, close, &mut first)?;
            }
            return Ok(());
        }
        let rows = self.rows::<S>(cursor, false)?;
        if S::more(cursor, close, &mut first)? {
            return Err(THE_END);
        }
        self.registers = true;
        if all {
            let number = Value::small(self.ranges.len() as u64).unwrap_or(Value::UNKNOWN);
            self.ranges.push(rows);
            out.push(MicroOp { kind: Kind::Range, key: Value::NIL, value: number, at });
        } else {
            self.partial.get_or_insert((0, at)).0 += 1;
            out.extend(rows.into_iter().map(|(key, value)| found(key, value, at)));
        }
        Ok(())
    }

    /// Reads the value of an `:init`: the initial value of each key.
    #[cold]
    pub(super) fn init<S: Syntax>(
        &mut self,
        cursor: &mut Cursor<'_>,
        out: &mut Vec<MicroOp>,
    ) -> Result<(), Stop> {
        let at = cursor.at as u32;
        let rows = self.rows::<S>(cursor, true)?;
        for &(_, value) in &rows {
            let is_list = matches!(self.values.datum(value), Datum::List(_));
            self.lists |= is_list;
            self.registers |= !is_list;
        }
        out.extend(rows.into_iter().map(|(key, value)| MicroOp { kind: Kind::Init, key, value, at }));
        Ok(())
    }

    /// Reads keys with their values: a map, pairs, or nil for no rows. A value is a scalar, or a list if `lists`.
    fn rows<S: Syntax>(&mut self, cursor: &mut Cursor<'_>, lists: bool) -> Result<Rows, Stop> {
        let mut rows = Vec::new();
        let mut first = true;
        if let Some(close) = S::open(cursor) {
            while S::more(cursor, close, &mut first)? {
                let close = S::open(cursor).ok_or(Stop::Expected("a row such as [:x 1]"))?;
                let mut inside = true;
                element::<S>(cursor, close, &mut inside, "the key of a row")?;
                let key = self.key::<S>(cursor)?;
                element::<S>(cursor, close, &mut inside, "the value of a row")?;
                rows.push((key, self.row_value::<S>(cursor, lists)?));
                if S::more(cursor, close, &mut inside)? {
                    return Err(Stop::Expected("the end of the row after its value"));
                }
            }
        } else if cursor.peek() == Some(b'{') {
            cursor.at += 1;
            while S::more(cursor, b'}', &mut first)? {
                let key = if S::JSON { self.json_key::<S>(cursor)? } else { self.key::<S>(cursor)? };
                S::after_key(cursor)?;
                rows.push((key, self.row_value::<S>(cursor, lists)?));
            }
        } else if S::scalar(cursor, &mut self.values)? != Value::NIL {
            return Err(Stop::Expected(ROWS));
        }
        Ok(rows)
    }

    fn row_value<S: Syntax>(&mut self, cursor: &mut Cursor<'_>, lists: bool) -> Result<Value, Stop> {
        if lists { Ok(self.result::<S>(cursor)?.1) } else { S::scalar(cursor, &mut self.values) }
    }

    /// Names in JSON are strings. A name that spells an integer is that integer.
    fn json_key<S: Syntax>(&mut self, cursor: &mut Cursor<'_>) -> Result<Value, Stop> {
        let start = cursor.at;
        let name = S::name(cursor)?.and_then(|name| std::str::from_utf8(name).ok());
        let number = name.and_then(|name| name.parse::<i64>().ok().filter(|n| n.to_string() == name));
        if let Some(number) = number {
            return Ok(self.values.int(number));
        }
        cursor.at = start;
        S::scalar(cursor, &mut self.values)
    }

    /// Reads the result of a read: nil, a scalar, or a list of scalars.
    #[inline]
    fn result<S: Syntax>(&mut self, cursor: &mut Cursor<'_>) -> Result<(Kind, Value), Stop> {
        let Some(close) = S::open(cursor) else {
            let value = S::scalar(cursor, &mut self.values)?;
            return Ok((if value == Value::NIL { Kind::ReadNil } else { Kind::Read }, value));
        };
        self.elements.clear();
        let mut first = true;
        while S::more(cursor, close, &mut first)? {
            self.elements.push(S::scalar(cursor, &mut self.values)?);
        }
        Ok((Kind::ReadList, self.values.list(&self.elements)))
    }
}

/// A returned row, as a read.
pub(super) fn found(key: Value, value: Value, at: u32) -> MicroOp {
    let kind = if value == Value::NIL { Kind::ReadNil } else { Kind::Read };
    MicroOp { kind, key, value, at }
}

/// Whether the text here begins like the value of a transaction, independent of the operation's name.
pub(super) fn begins_transaction<S: Syntax>(cursor: &mut Cursor<'_>) -> bool {
    let mut begins = || {
        let close = S::open(cursor)?;
        let mut first = true;
        S::more(cursor, close, &mut first).ok().filter(|&more| more)?;
        let close = S::open(cursor)?;
        name::<S>(cursor, close, &mut true).ok()
    };
    begins().is_some()
}

/// Reads the name of a micro-operation.
#[inline]
fn name<S: Syntax>(cursor: &mut Cursor<'_>, close: u8, first: &mut bool) -> Result<Name, Stop> {
    const A_NAME: &str = "the name of a micro-operation: r, w, append, insert, delete or rp";
    element::<S>(cursor, close, first, A_NAME)?;
    let start = cursor.at;
    match S::name(cursor)? {
        Some(b"r" | b"read") => Ok(Name::Item(Item::Read)),
        Some(b"w" | b"write") => Ok(Name::Item(Item::Write(Kind::Write))),
        Some(b"append") => Ok(Name::Item(Item::Write(Kind::Append))),
        Some(b"insert") => Ok(Name::Item(Item::Write(Kind::Insert))),
        Some(b"delete") => Ok(Name::Item(Item::Delete)),
        Some(b"rp") => Ok(Name::Predicate),
        _ => {
            cursor.at = start;
            Err(Stop::Expected(A_NAME))
        }
    }
}

/// Moves to the next element, which must exist.
#[inline]
fn element<S: Syntax>(
    cursor: &mut Cursor<'_>,
    close: u8,
    first: &mut bool,
    what: &'static str,
) -> Result<(), Stop> {
    if S::more(cursor, close, first)? {
        return Ok(());
    }
    cursor.at -= 1;
    Err(Stop::Expected(what))
}
