//! A brute-force judge of tiny logs, and a generator of correct and wrong ones. For tests only.
//!
//! The audit engine is declarative: it solves for points, guards and orders. This crate is operational. It *runs* tiny
//! logs in every possible way and compares the answers. It has its own statements ([`Statement`]), its own interpreter,
//! and shares no code and no idea with the engine, the evaluator of SQL, or their verifier. The generator prints the text of
//! each statement into the log; the judge reads the statement itself.
//!
//! - [`statement`]: a limited form of SQL over one table `t (k INT PRIMARY KEY, v INT)`, and what it means.
//! - [`tiny`]: tiny logs, and their conversion to `isoscope_log::Log`.
//! - [`machine`]: a database engine that executes statements step by step.
//! - [`engines`]: the verdict of the engine models, by a search of all runs of the machine.
//! - [`paper`]: the verdict of the paper's models, by enumerating orders, state ids and outcomes.
//! - [`generate`], [`mutate`]: random logs.
//! - [`fixtures`]: logs with known verdicts.
//!
//! # Definitions of the engine models
//!
//! An entry *fails* if no execution gives the answers of all entries answered up to and including it. The verdict is the first
//! entry that fails, by the time of the answer and then by line. In the log up to an entry, a statement that was sent but
//! not answered is *in flight*: a `COMMIT` may have happened or not, and an autocommit statement may have been executed
//! with any answer, or not. Any other statement in flight may have failed or rolled back, and released the locks of its transaction.
//!
//! Each statement takes effect in steps, at moments between its sending and its answer. A statement whose answer arrived
//! before another was sent is over before the other begins; intervals that touch are concurrent. Statements of one session do
//! not overlap.
//!
//! *Rows* are identified by the INSERT that made them, not by their key.
//!
//! *Outcomes.* A transaction with outcome *unknown* commits at any later moment, or never. A transaction without outcome did
//! not commit. Its row locks are certain until its last answer; the judge releases them then. All answers
//! count, also those of aborted transactions.
//!
//! *Errors.* `constraint` needs a conflicting row in the newest committed state or among the own changes, and a
//! successful INSERT needs its absence. All other errors are always allowed. In PostgreSQL an error ends the transaction and
//! releases its locks at once; in SQLite a statement that fails has no effect and the transaction continues.
//!
//! **pg-rc.** A statement takes a snapshot: everything committed by then, plus own changes. `SELECT` answers from it. `UPDATE`
//! and `DELETE` find their rows in it and then lock each, one at a time and in any order. A row is locked when no other
//! transaction in progress has changed it. Then WHERE and SET are evaluated on its newest version; a row that does not
//! match any more, or is deleted, is skipped and not counted. The lock lasts until the transaction ends. `INSERT` waits until
//! no other transaction in progress has inserted or deleted its key, and compares with the newest version.
//!
//! **pg-rr.** One snapshot, at the first statement that is not `BEGIN`. Locks as in pg-rc, but a row that somebody else
//! changed since the snapshot gives a `serialization` error; success would be wrong. This is first-updater-wins. An
//! UPDATE that sets the same value changes the row: PostgreSQL writes a version.
//!
//! **pg-ser.** As pg-rr, and there is a total order of the committed transactions, in which those of a session keep their
//! order, such that executing them one after another gives each the same answers and the same changes as in the execution.
//! This does not need to be the order of the commits. Transactions that aborted or are in progress are judged as in pg-rr.
//!
//! **sqlite.** One snapshot per transaction, at its first statement that is not `BEGIN`. The first INSERT, UPDATE or DELETE of a
//! transaction takes the only write lock, which lasts until the transaction ends; it fails with `busy` if anybody committed a
//! change since the snapshot. So everything that a transaction reads and writes is the newest state at its commit.
//!
//! The definitions of the paper's models are in [`paper`].

#![expect(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "numbers in tiny logs are small, and generated values are not negative before the cast"
)]

pub mod engines;
pub mod fixtures;
pub mod generate;
pub mod machine;
pub mod model;
pub mod mutate;
pub mod paper;
pub mod random;
pub mod statement;
pub mod tiny;

pub use model::{Model, Order, Verdict};
pub use random::Random;
pub use statement::{Change, Condition, Filter, Image, RowId, Statement, Table, What};
pub use tiny::{Given, TinyEntry, TinyLog};

/// The verdict on a log.
pub fn judge(log: &TinyLog, model: Model, order: Order) -> Verdict {
    match model {
        Model::PgRc | Model::PgRr | Model::PgSer | Model::Sqlite => engines::judge(log, model),
        Model::PaperS | Model::PaperSs | Model::PaperSi | Model::PaperSsi | Model::PaperRc => {
            paper::judge(log, model, order)
        }
    }
}
