//! Builds a history from a program, with one call per operation.
//!
//! ```
//! use isoscope_history::{Builder, Outcome};
//!
//! let mut b = Builder::new();
//! b.session("alice").txn().write("x", 1).append("log", 7);
//! b.session("bob").txn().read("x", 1).read("x", None).outcome(Outcome::Unknown);
//! let history = b.finish();
//! assert_eq!(history.txn_count(), 2);
//! ```

use crate::draft::{Draft, DraftTxn};
use crate::history::{History, OpKind, Outcome, RangeRow};
use crate::ids::Session;
use crate::value::{Datum, Value};

/// A type that can be a key, a value or a name: integers, strings, and `None` for nil.
pub trait IntoValue {
    /// The value in the builder's table.
    fn into_value(self, draft: &mut Draft) -> Value;
}

macro_rules! into_value {
    ($($from:ty => |$x:ident| $datum:expr),+ $(,)?) => {
        $(impl IntoValue for $from {
            fn into_value(self, draft: &mut Draft) -> Value {
                let $x = self;
                draft.values.add($datum)
            }
        })+
    };
}

into_value! {
    i32 => |n| Datum::Int(n.into()),
    i64 => |n| Datum::Int(n),
    u32 => |n| Datum::Int(n.into()),
    u64 => |n| Datum::Nat(n),
    bool => |b| Datum::Bool(b),
    &str => |s| Datum::Text(s),
    Datum<'_> => |d| d,
    Option<std::convert::Infallible> => |_none| Datum::Nil,
}

impl IntoValue for Value {
    fn into_value(self, _: &mut Draft) -> Value {
        self
    }
}

/// A history under construction; see the module documentation.
#[derive(Default)]
pub struct Builder {
    draft: Draft,
    txns: u32,
}

impl Builder {
    /// An empty history in which the initial value of every key is 0.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// The session with this name; it is created if it is new.
    pub fn session(&mut self, name: impl IntoValue) -> SessionBuilder<'_> {
        let name = name.into_value(&mut self.draft);
        let session = self.draft.session(name);
        SessionBuilder { builder: self, session }
    }

    /// Sets the initial value of all keys.
    ///
    /// # Panics
    /// Panics if the value, or an element of a list, is [`Value::UNKNOWN`].
    pub fn initial(&mut self, value: impl IntoValue) -> &mut Self {
        let value = value.into_value(&mut self.draft);
        assert!(!self.draft.values.is_unlearned(value), "an initial value must be known");
        self.draft.set_initial(value);
        self
    }

    /// Sets the initial value of one key.
    ///
    /// # Panics
    /// Panics if the value, or an element of a list, is [`Value::UNKNOWN`].
    pub fn initial_of(&mut self, key: impl IntoValue, value: impl IntoValue) -> &mut Self {
        let key = key.into_value(&mut self.draft);
        let value = value.into_value(&mut self.draft);
        assert!(!self.draft.values.is_unlearned(value), "an initial value must be known");
        self.draft.set_initial_of(key, value);
        self
    }

    /// The finished history.
    ///
    /// # Panics
    /// Panics if there are more than four billion operations.
    pub fn finish(self) -> History {
        self.draft.finish().expect("a built history fits the model")
    }
}

/// A session under construction.
pub struct SessionBuilder<'a> {
    builder: &'a mut Builder,
    session: Session,
}

impl<'a> SessionBuilder<'a> {
    /// Starts a transaction at the end of the session. Its number is its name.
    pub fn txn(self) -> TxnBuilder<'a> {
        let name = self.builder.txns + 1;
        self.named(name)
    }

    /// Starts a transaction with this name at the end of the session.
    pub fn named(self, name: impl IntoValue) -> TxnBuilder<'a> {
        let SessionBuilder { builder, session } = self;
        let name = name.into_value(&mut builder.draft);
        builder.txns += 1;
        let txn = builder.draft.txn(session, name, Outcome::Committed, None);
        TxnBuilder { builder, txn }
    }
}

/// A transaction under construction. It is committed unless [`TxnBuilder::outcome`] is called.
pub struct TxnBuilder<'a> {
    builder: &'a mut Builder,
    txn: DraftTxn,
}

impl TxnBuilder<'_> {
    fn push(self, kind: OpKind, key: impl IntoValue, value: impl IntoValue) -> Self {
        let draft = &mut self.builder.draft;
        let key = key.into_value(draft);
        let value = value.into_value(draft);
        draft.push(self.txn, kind, key, value, None);
        self
    }

    /// Reads a register.
    pub fn read(self, key: impl IntoValue, value: impl IntoValue) -> Self {
        self.push(OpKind::Read, key, value)
    }

    /// Writes a register.
    pub fn write(self, key: impl IntoValue, value: impl IntoValue) -> Self {
        self.push(OpKind::Write, key, value)
    }

    /// Appends to a list.
    pub fn append(self, key: impl IntoValue, value: impl IntoValue) -> Self {
        self.push(OpKind::Append, key, value)
    }

    /// Reads a list.
    pub fn read_list<V: IntoValue>(self, key: impl IntoValue, elements: impl IntoIterator<Item = V>) -> Self {
        let draft = &mut self.builder.draft;
        let elements: Vec<Value> = elements.into_iter().map(|v| v.into_value(draft)).collect();
        let list = draft.values.list(&elements);
        self.push(OpKind::ReadList, key, list)
    }

    /// Reads the list of a key; the result was not learned.
    pub fn read_list_unlearned(self, key: impl IntoValue) -> Self {
        self.push(OpKind::ReadList, key, Value::UNKNOWN)
    }

    /// Creates a key.
    pub fn insert(self, key: impl IntoValue, value: impl IntoValue) -> Self {
        self.push(OpKind::Insert, key, value)
    }

    /// Removes a key.
    pub fn delete(self, key: impl IntoValue) -> Self {
        self.push(OpKind::Delete, key, Value::NIL)
    }

    /// Removes a key and leaves a tombstone, which identifies the delete to reads that name it.
    pub fn delete_leaving(self, key: impl IntoValue, tombstone: impl IntoValue) -> Self {
        self.push(OpKind::Delete, key, tombstone)
    }

    /// Reads a range of keys; the result is the given rows. A bound of nil is none.
    ///
    /// # Panics
    /// Panics if the upper bound is below the lower one, if a row lies outside of the range, or if a key occurs twice.
    pub fn range<K: IntoValue, V: IntoValue>(
        self,
        low: impl IntoValue,
        high: impl IntoValue,
        rows: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let draft = &mut self.builder.draft;
        let (low, high) = (low.into_value(draft), high.into_value(draft));
        let live = rows.into_iter().map(|(k, v)| (k.into_value(draft), v.into_value(draft))).collect();
        let row = RangeRow { low, high, live, dead: Vec::new() };
        assert!(!draft.values.is_reversed(low, high), "the upper bound of a range is below the lower one");
        let is_outside = |&(key, _): &(Value, Value)| draft.values.is_outside(key, low, high);
        assert!(!row.live.iter().any(is_outside), "a row lies outside of its range");
        assert!(!row.repeats_a_key(), "a range read returns a key twice");
        draft.push_range(self.txn, row, None);
        self
    }

    /// Sets the outcome of the transaction.
    pub fn outcome(self, outcome: Outcome) -> Self {
        self.builder.draft.set_outcome(self.txn, outcome);
        self
    }

    /// Sets when it was invoked and returned, as positions in the order of all such events.
    pub fn events(self, invoke: u32, complete: u32) -> Self {
        self.builder.draft.set_events(self.txn, invoke, complete);
        self
    }

    /// Sets when it was invoked and returned, in nanoseconds.
    pub fn times(self, invoke: i64, complete: i64) -> Self {
        self.builder.draft.set_times(self.txn, invoke, complete);
        self
    }

    /// Sets when it began and committed by the database's own clock.
    pub fn timestamps(self, begin: i64, commit: i64) -> Self {
        self.builder.draft.set_timestamps(self.txn, begin, commit);
        self
    }
}
