//! Applications on SQL databases.
//!
//! The crate `isoscope-application` has the applications: their tables, transactions and rules. Here they run in SQL.
//! [`Hosted`] is an application with what the recorder keeps about it, a [`client()`] is one of its sessions, and `sql.rs`
//! turns its operations into statements and records both. `docs/workloads.md` describes the applications, and how to add
//! another.

mod hosted;
mod sql;

use isoscope_application as application;

pub use application::{
    BankSpec, Hotspot, SmallBankSpec, SpecError, Tpcc, TpccSpec, Voter, VoterSpec, Wikipedia, WikipediaSpec,
};
pub use hosted::{Application, Hosted, Ledger, client};
pub use sql::{Transaction, definition};

/// The bank, in SQL.
pub type Bank = Hosted<application::Bank>;
/// `SmallBank`, in SQL.
pub type SmallBank = Hosted<application::SmallBank>;

impl Bank {
    /// Checks the parameters and creates the bank.
    pub fn new(spec: BankSpec) -> Result<Bank, SpecError> {
        application::Bank::new(spec).map(Hosted::of)
    }
}

impl SmallBank {
    /// Checks the parameters and creates the bank.
    pub fn new(spec: SmallBankSpec) -> Result<SmallBank, SpecError> {
        application::SmallBank::new(spec).map(Hosted::of)
    }
}
