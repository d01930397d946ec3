//! Applications: SQL workloads with their own tables, transactions and invariants.
//!
//! An [`Application`] defines the tables and transactions, and a [`client()`] runs them. [`Bank`] and [`SmallBank`] are
//! the two that exist. `docs/workloads.md` describes them, and how to add another.

mod application;
mod bank;
mod smallbank;

pub use application::{Application, Cells, Hotspot, Ledger, SpecError, Table, Transaction, client};
pub use bank::{Bank, BankSpec};
pub use smallbank::{SmallBank, SmallBankSpec};
