//! Real engines: can a candidate happen on a database, statement by statement?
//!
//! A level says which reads are permitted. An engine permits fewer executions, because it takes snapshots at certain statements and locks
//! rows. A candidate is *feasible* on an engine if its statements and commits have an order that gives every read its writer and in which
//! no statement has to wait for a lock or fails:
//!
//! - A read of `k` from `w` at the snapshot `S`: `C(w) < S`, and `C(u) < C(w)` or `S < C(u)` for every other included writer `u` of `k`.
//! - Two included writers `a`, `b` of one row: `C(a) < X(b)` or `C(b) < X(a)`.
//!
//! | engine | level | `S` | `X` |
//! |---|---|---|---|
//! | `pg-rc`, `mariadb-rc` | read committed | the statement | the first write of the row |
//! | `pg-rr` | snapshot isolation | the first statement of the transaction | `S` |
//! | `mariadb-rr` | prefix | the first read; the first write of the row, if that is earlier than the read | the first write of the row |
//! | `mariadb-si` | snapshot isolation | the first read | `S`, or the first write of the row if that is earlier |
//!
//! Rows are locked, not columns: `table.column/row` and `table/row` are keys of the same row. Any other key is a row of its own.
//! If nothing is known about statements ([`crate::Observed::set_statements`]), every operation counts as a statement of its own.
//! This permits more, so that *none* stays a proof. For the same reason the snapshot of `mariadb-rr` may be taken before the first read of the
//! history: statements on tables that never change are not in it.
//!
//! Full transactions are interleaved too: in the read-only anomaly, two of the three transactions can be full and concurrent.
//!
//! A prediction for an engine also satisfies its level. `mariadb-rr` goes beyond prefix in one case, which is not predicted: a transaction
//! that reads another column of a row that it has written may see a newer version than that of its snapshot.
//!
//! Not modelled: gap locks, foreign keys, locking reads, and that PostgreSQL computes an update anew on the newest row.

mod arrange;
mod model;
#[cfg(test)]
mod tests;

use std::fmt;

use isoscope_history::notation::ValueText;
use isoscope_history::{Datum, History, Key, Op, Txn};
use isoscope_levels::Level;
use rustc_hash::FxHashMap;

pub(crate) use model::{Answer, Fact, Model};

/// A database at an isolation level; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// PostgreSQL at `read committed`.
    PgRc,
    /// PostgreSQL at `repeatable read`.
    PgRr,
    /// MariaDB at `READ COMMITTED`.
    MariadbRc,
    /// MariaDB at `REPEATABLE READ`.
    MariadbRr,
    /// MariaDB at `REPEATABLE READ` with `innodb_snapshot_isolation=ON`.
    MariadbSi,
}

impl Engine {
    /// All engines.
    pub const ALL: [Engine; 5] =
        [Engine::PgRc, Engine::PgRr, Engine::MariadbRc, Engine::MariadbRr, Engine::MariadbSi];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Engine::PgRc => "pg-rc",
            Engine::PgRr => "pg-rr",
            Engine::MariadbRc => "mariadb-rc",
            Engine::MariadbRr => "mariadb-rr",
            Engine::MariadbSi => "mariadb-si",
        }
    }

    /// The engine of that name.
    pub fn parse(name: &str) -> Option<Engine> {
        Engine::ALL.into_iter().find(|engine| engine.name().eq_ignore_ascii_case(name))
    }

    /// The level that it implements.
    pub const fn level(self) -> Level {
        match self {
            Engine::PgRc | Engine::MariadbRc => Level::ReadCommitted,
            Engine::PgRr | Engine::MariadbSi => Level::Snapshot,
            Engine::MariadbRr => Level::Prefix,
        }
    }

    /// The isolation level by the database's name, as in `--isolation`.
    pub const fn isolation(self) -> &'static str {
        match self {
            Engine::PgRc | Engine::MariadbRc => "read-committed",
            Engine::PgRr | Engine::MariadbRr | Engine::MariadbSi => "repeatable-read",
        }
    }

    /// Whether it is a MariaDB.
    pub const fn is_mariadb(self) -> bool {
        matches!(self, Engine::MariadbRc | Engine::MariadbRr | Engine::MariadbSi)
    }

    /// The setting of the server that it needs, if it is not the default.
    pub const fn setting(self) -> Option<&'static str> {
        match self {
            Engine::MariadbSi => Some("innodb_snapshot_isolation=ON"),
            Engine::MariadbRc | Engine::MariadbRr => Some("innodb_snapshot_isolation=OFF"),
            Engine::PgRc | Engine::PgRr => None,
        }
    }

    /// Whether a transaction reads from one snapshot.
    const fn has_snapshot(self) -> bool {
        !matches!(self, Engine::PgRc | Engine::MariadbRc)
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A step of an interleaving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The transaction of the predicted history.
    pub txn: Txn,
    /// What it does.
    pub action: Action,
}

/// What a transaction does in a step of an interleaving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Its snapshot is taken: by its first statement, or by its first read.
    Snapshot,
    /// It reads the key of this name, from another transaction.
    Read(String),
    /// It writes the key of this name.
    Write(String),
    /// It commits.
    Commit,
}

/// A step of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    /// The number of the transaction.
    pub(crate) number: u32,
    pub(crate) what: What,
}

/// See [`Action`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Snapshot,
    Operation(Op),
    Commit,
}

/// The name of a key as text.
pub(crate) fn key_text(history: &History, key: Key) -> String {
    match history.datum(history.key_name(key)) {
        Datum::Text(text) => text.to_owned(),
        _ => ValueText(history, history.key_name(key)).to_string(),
    }
}

/// The steps of a candidate, whose transactions are these numbers.
pub(crate) fn steps(history: &History, numbers: &[u32], moves: &[Move]) -> Vec<Step> {
    let place: FxHashMap<u32, u32> = numbers.iter().copied().zip(0..).collect();
    let name = |key: Key| key_text(history, key);
    let action = |what: What| match what {
        What::Snapshot => Action::Snapshot,
        What::Commit => Action::Commit,
        What::Operation(op) => {
            let op = history.op(op);
            if op.kind.is_write() { Action::Write(name(op.key)) } else { Action::Read(name(op.key)) }
        }
    };
    let step =
        |one: &Move| place.get(&one.number).map(|&txn| Step { txn: Txn(txn), action: action(one.what) });
    moves.iter().filter_map(step).collect()
}
