//! Dense identifiers. Every id is a `u32` that counts from zero, so a table indexed by ids is a plain array.
//! The newtypes prevent a transaction from being used as a key.

use std::fmt;

macro_rules! dense_id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into a table.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the entry at `index`. Lengths are checked where tables are made (see
            /// [`crate::Draft::finish`]), so the conversion never truncates.
            #[inline]
            pub const fn at(index: usize) -> Self {
                debug_assert!(index <= u32::MAX as usize);
                Self(index as u32)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }
    };
}

dense_id! {
    /// A session: a client whose transactions ran one after the other.
    Session, "S"
}
dense_id! {
    /// A transaction. Transactions are numbered session by session, in session order. So the transactions of
    /// one session are a contiguous range, and `t < s` inside a session is session order.
    Txn, "T"
}
dense_id! {
    /// An operation: its index in the flat array of operations, transaction by transaction.
    Op, "O"
}
dense_id! {
    /// A key (an object, a variable, a row).
    Key, "K"
}
