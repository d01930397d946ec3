//! Micro-operations: `[:append k v]`, `[:w k v]`, `[:r k v]`.

use isoscope_history::{Value, Values};

use super::cursor::{Cursor, Stop, Syntax};

/// A micro-operation, 16 bytes. What kind of read a [`Kind::ReadNil`] or [`Kind::ReadUnknown`] is depends on
/// the rest of the history.
#[derive(Clone, Copy, Debug)]
pub(super) struct MicroOp {
    pub(super) kind: Kind,
    pub(super) key: Value,
    pub(super) value: Value,
    /// Where it begins in its piece of the text.
    pub(super) at: u32,
}

/// What a micro-operation does, as far as it says itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Append,
    Write,
    /// A read of a scalar that is not nil.
    Read,
    ReadList,
    /// A read of nil: the initial state of a register or of a list.
    ReadNil,
    /// A read whose result nobody learned.
    ReadUnknown,
}

/// Where micro-operations go, with the buffer that reading lists needs.
#[derive(Default)]
pub(super) struct MicroOps {
    pub(super) values: Values,
    elements: Vec<Value>,
    /// Whether something shows that some keys are lists.
    pub(super) lists: bool,
    /// Whether something shows that some keys are registers.
    pub(super) registers: bool,
}

/// What a transaction's value must be, for messages.
const A_TRANSACTION: &str = "a vector of micro-operations such as [[:append 1 2] [:r 1 nil]]";

impl MicroOps {
    /// Reads the value of a transaction. Unless it is known to have `happened`, what it read is unknown.
    pub(super) fn read<S: Syntax>(
        &mut self,
        cursor: &mut Cursor<'_>,
        happened: bool,
        out: &mut Vec<MicroOp>,
    ) -> Result<(), Stop> {
        let close = S::open(cursor).ok_or(Stop::Expected(A_TRANSACTION))?;
        let mut first = true;
        while S::more(cursor, close, &mut first)? {
            let op = self.micro_op::<S>(cursor, happened)?;
            match op.kind {
                Kind::Append | Kind::ReadList => self.lists = true,
                Kind::Write | Kind::Read => self.registers = true,
                Kind::ReadNil | Kind::ReadUnknown => {}
            }
            out.push(op);
        }
        Ok(())
    }

    #[inline]
    fn micro_op<S: Syntax>(&mut self, cursor: &mut Cursor<'_>, happened: bool) -> Result<MicroOp, Stop> {
        let at = cursor.at as u32;
        let close = S::open(cursor).ok_or(Stop::Expected("a micro-operation such as [:r 1 nil]"))?;
        let mut first = true;
        let kind = name::<S>(cursor, close, &mut first)?;
        element::<S>(cursor, close, &mut first, "a key after the name of the micro-operation")?;
        let key = S::scalar(cursor, &mut self.values)?;
        let (kind, value) = match kind {
            Kind::Read if !happened => {
                while S::more(cursor, close, &mut first)? {
                    cursor.skip::<S>()?;
                }
                return Ok(MicroOp { kind: Kind::ReadUnknown, key, value: Value::UNKNOWN, at });
            }
            Kind::Read => {
                element::<S>(cursor, close, &mut first, "the value read: nil, a scalar or a list")?;
                self.result::<S>(cursor)?
            }
            write => {
                element::<S>(cursor, close, &mut first, "the value written")?;
                (write, S::scalar(cursor, &mut self.values)?)
            }
        };
        if S::more(cursor, close, &mut first)? {
            return Err(Stop::Expected("the end of the micro-operation after its value"));
        }
        Ok(MicroOp { kind, key, value, at })
    }

    /// The result of a read: nil, a scalar, or a list of scalars.
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

/// Whether what stands here begins like the value of a transaction, whatever the operation is called.
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

/// The name of a micro-operation.
#[inline]
fn name<S: Syntax>(cursor: &mut Cursor<'_>, close: u8, first: &mut bool) -> Result<Kind, Stop> {
    const A_NAME: &str = "the name of a micro-operation: r, w or append";
    element::<S>(cursor, close, first, A_NAME)?;
    let start = cursor.at;
    match S::name(cursor)? {
        Some(b"r" | b"read") => Ok(Kind::Read),
        Some(b"w" | b"write") => Ok(Kind::Write),
        Some(b"append") => Ok(Kind::Append),
        _ => {
            cursor.at = start;
            Err(Stop::Expected(A_NAME))
        }
    }
}

/// Goes to the next element, which must be there.
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
