//! Reads one operation map: its fields, with the value only checked for matching brackets.

use std::ops::Range;

use isoscope_history::NO_TIME;

use super::cursor::{Cursor, Stop, Syntax};

/// An operation map.
pub(super) struct OpMap<'a> {
    /// The offset of the map.
    pub(super) at: usize,
    pub(super) kind: OpType,
    pub(super) process: Process,
    pub(super) function: Function,
    /// The offset of its value; `None` if it is missing or nil.
    pub(super) value: Option<usize>,
    pub(super) time: i64,
    pub(super) index: Option<u64>,
    /// Unknown fields: the name, and the range of the value.
    pub(super) notes: Vec<(&'a [u8], Range<usize>)>,
}

/// The `:type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpType {
    Invoke,
    Ok,
    Fail,
    Info,
}

/// The `:process`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Process {
    Missing,
    Client(i64),
    Other,
}

/// The `:f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// A transaction, or missing.
    Txn,
    /// The initial values of keys.
    Init,
    /// An operation whose value need not be a transaction.
    Other,
}

/// The known fields. A map has each at most once.
const FIELDS: [&[u8]; 6] = [b"type", b"value", b"process", b"f", b"time", b"index"];
const A_TYPE: &str = "a type: invoke, ok, fail or info";

/// Reads the map that begins at the cursor. If the map is complete but invalid, the cursor is at the error.
pub(super) fn read<'a, S: Syntax>(cursor: &mut Cursor<'a>) -> Result<OpMap<'a>, Stop> {
    let at = cursor.at;
    let mut kind = None;
    let mut map = OpMap {
        at,
        kind: OpType::Info,
        process: Process::Missing,
        function: Function::Txn,
        value: None,
        time: NO_TIME,
        index: None,
        notes: Vec::new(),
    };
    cursor.expect(b'{', "an operation map")?;
    let mut first = true;
    let mut seen = 0u8;
    while S::more(cursor, b'}', &mut first)? {
        let key_at = cursor.at;
        let name = match S::name(cursor)? {
            Some(name) => name,
            None if S::JSON => return Err(Stop::Expected("a key such as \"type\", or `}`")),
            None if matches!(cursor.peek(), Some(b'{' | b'}' | b']' | b')')) => {
                return Err(Stop::Expected("a key such as :type, or `}`"));
            }
            None => {
                cursor.skip::<S>()?;
                &cursor.bytes[key_at..cursor.at]
            }
        };
        if let Some(field) = FIELDS.iter().position(|field| *field == name) {
            if seen >> field & 1 == 1 {
                cursor.at = key_at;
                return Err(Stop::Expected("a key that the map does not have yet"));
            }
            seen |= 1 << field;
        }
        S::after_key(cursor)?;
        if name == b"type" {
            kind = Some(op_type::<S>(cursor)?);
        } else {
            field::<S>(cursor, name, &mut map)?;
        }
    }
    map.kind = kind.ok_or_else(|| {
        cursor.at = at;
        Stop::Expected("an operation with a :type of invoke, ok, fail or info")
    })?;
    Ok(map)
}

fn op_type<S: Syntax>(cursor: &mut Cursor<'_>) -> Result<OpType, Stop> {
    let start = cursor.at;
    match S::name(cursor)? {
        Some(b"invoke") => Ok(OpType::Invoke),
        Some(b"ok") => Ok(OpType::Ok),
        Some(b"fail") => Ok(OpType::Fail),
        Some(b"info") => Ok(OpType::Info),
        _ => {
            cursor.at = start;
            Err(Stop::Expected(A_TYPE))
        }
    }
}

/// Reads the value of any field except the type.
#[inline]
fn field<'a, S: Syntax>(cursor: &mut Cursor<'a>, name: &'a [u8], map: &mut OpMap<'a>) -> Result<(), Stop> {
    let start = cursor.at;
    match name {
        b"value" => {
            cursor.skip::<S>()?;
            map.value = (!is_nil(&cursor.bytes[start..cursor.at])).then_some(start);
            return Ok(());
        }
        b"process" => {
            map.process = if let Some(process) = cursor.integer()? {
                Process::Client(process)
            } else {
                cursor.skip::<S>()?;
                let nil = is_nil(&cursor.bytes[start..cursor.at]);
                if nil { Process::Missing } else { Process::Other }
            };
            return Ok(());
        }
        b"f" => {
            map.function = match S::name(cursor)? {
                Some(b"txn") => Function::Txn,
                Some(b"init") => Function::Init,
                _ => Function::Other,
            };
            if cursor.at == start {
                cursor.skip::<S>()?;
            }
            let text = &cursor.bytes[start..cursor.at];
            if is_nil(text) {
                map.function = Function::Txn;
            } else if map.function == Function::Other {
                map.notes.push((name, start..cursor.at));
            }
            return Ok(());
        }
        b"time" => {
            if let Some(time) = cursor.integer()? {
                map.time = time;
                return Ok(());
            }
        }
        b"index" => {
            if let Some(index) = cursor.integer()?.and_then(|index| u64::try_from(index).ok()) {
                map.index = Some(index);
                return Ok(());
            }
            cursor.at = start;
        }
        _ => {}
    }
    cursor.skip::<S>()?;
    if !is_nil(&cursor.bytes[start..cursor.at]) {
        map.notes.push((name, start..cursor.at));
    }
    Ok(())
}

fn is_nil(text: &[u8]) -> bool {
    matches!(text, b"nil" | b"null")
}
