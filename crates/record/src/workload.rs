//! Applications: workloads with tables, transactions and rules of their own, in SQL.
//!
//! An [`Application`] says what its tables and transactions are, and a [`client()`] runs them; [`Bank`] and [`SmallBank`] are
//! two. `docs/workloads.md` describes them, and how to add another.

mod application;
mod bank;
mod smallbank;

pub use application::{Application, Cells, Hotspot, Ledger, SpecError, Table, Transaction, client};
pub use bank::{Bank, BankSpec};
pub use smallbank::{SmallBank, SmallBankSpec};
