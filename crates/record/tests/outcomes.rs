//! The recorded outcome of transactions whose COMMIT or ROLLBACK fails. It never leads to a false violation.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

#[allow(dead_code, reason = "not every test uses everything")]
mod fake;
#[path = "support/page.rs"]
mod page;

use std::time::Duration;

use fake::Fake;
use isoscope_check::{Checker, Options, Verdict};
use isoscope_history::{History, Outcome};
use isoscope_levels::Level;
use isoscope_record::{
    Answer, Class, Client, Connection, ConnectionId, Database, Failure, Header, Limits, Monitor, Record,
    Scalar, Seen, Sink, Stamps, Statement, Step, run,
};
use page::Page;

/// A session whose transactions each read x, write x, and then order the database to fail in some way.
struct Failing<'a> {
    database: &'a Fake,
    connection: Box<dyn Connection>,
    /// For each transaction, the statements after its write.
    orders: &'a [Vec<String>],
    /// Whether transactions with such statements roll back.
    rolls_back: bool,
}

impl Client for Failing<'_> {
    fn connection(&self) -> Option<ConnectionId> {
        self.connection.id()
    }

    fn execute(&mut self, number: u64, attempt: u32, record: &mut Record) -> Result<bool, Failure> {
        self.connection.begin()?;
        let x = || Scalar::from("x");
        let value = i64::try_from(number).unwrap() * 10 + i64::from(attempt) + 1;
        let Answer::Rows(rows) = self.connection.execute(Statement::plain("read x"))? else {
            panic!("no rows")
        };
        let found = match rows.first().map(Vec::as_slice) {
            Some(&[Scalar::Int(found)]) => Some(found),
            _ => None,
        };
        record.step(Step::Read(x()), Seen::Value(found));
        self.connection.execute(Statement::plain(&format!("write x {value}")))?;
        record.step(Step::Write(x(), value), Seen::Done);
        for order in self.orders.get(number as usize).into_iter().flatten() {
            self.connection.execute(Statement::plain(order))?;
        }
        Ok(!self.rolls_back || self.orders.get(number as usize).is_none_or(Vec::is_empty))
    }

    fn commit(&mut self) -> Result<Stamps, Failure> {
        self.connection.commit()
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.connection.rollback()
    }

    fn reconnect(&mut self) -> Result<(), Failure> {
        self.connection = self.database.connect()?;
        Ok(())
    }
}

/// Runs a session with one transaction per order, and a session that only reads the result.
fn recorded(orders: &[Vec<String>], rolls_back: bool, retries: u32) -> (History, Monitor) {
    let database = Fake::default();
    let connection = database.connect().unwrap();
    let client = Failing { database: &database, connection, orders, rolls_back };
    let page = Page::default();
    let (workload, recorder) = (serde_json::Value::Null, serde_json::Value::Null);
    let header = Header { initial: None, initials: Vec::new(), workload, recorder };
    let sink: Sink = page.sink(&header, Duration::from_secs(1));
    let monitor = Monitor::new(1);
    let limits = Limits { txns: Some(orders.len() as u64 + 1), retries, ..Limits::default() };
    run(vec![Box::new(client)], &limits, &sink, &monitor).unwrap();
    sink.finish().unwrap();
    (page.history(), monitor)
}

fn outcomes(history: &History) -> Vec<Outcome> {
    history.txns().map(|txn| history.outcome(txn)).collect()
}

fn assert_fine(history: &History, what: &str) {
    let judgement = Checker::new(history, Options::default()).check(Level::Serializable);
    assert!(matches!(judgement.verdict, Verdict::Holds(_)), "{what}: {:?}", judgement.verdict);
}

/// The meaning of a failed COMMIT depends on what the database promises, not on the result of a ROLLBACK
/// afterwards. A Galera node without its cluster answers COMMIT with 1180 and ROLLBACK with 1047, and the
/// other nodes apply the transaction.
#[test]
fn a_failed_commit_is_aborted_only_if_the_database_promises_it() {
    let promises = [Class::Serialization, Class::Deadlock, Class::Constraint, Class::Busy, Class::RolledBack];
    for class in Class::ALL.into_iter().filter(|class| *class != Class::Denied) {
        let is_promised = promises.contains(&class);
        for commit in ["fails with", "loses"] {
            for rollback in [None, Some(Class::Other), Some(Class::Connection)] {
                if commit == "loses" && is_promised {
                    continue;
                }
                let mut order = vec![format!("next COMMIT {commit} {}", class.name())];
                order.extend(rollback.map(|class| format!("next ROLLBACK fails with {}", class.name())));
                let what = order.join(", ");
                let (history, monitor) = recorded(&[Vec::new(), order], false, 0);
                assert_fine(&history, &what);
                let expected = if is_promised { Outcome::Aborted } else { Outcome::Unknown };
                assert_eq!(outcomes(&history), [Outcome::Committed, expected, Outcome::Committed], "{what}");
                // A transaction that may still take effect precedes nothing, so the client continues as
                // another session.
                assert_eq!(history.session_count(), if is_promised { 1 } else { 2 }, "{what}");
                let figures = monitor.figures();
                assert_eq!(
                    (figures.unknown, figures.aborted()),
                    (u64::from(!is_promised), u64::from(is_promised))
                );
            }
        }
    }
}

/// If the COMMIT was never sent, the transaction aborted, whatever failed. A connection that cannot roll back
/// is replaced; otherwise its next BEGIN would commit.
#[test]
fn without_a_commit_the_transaction_aborted() {
    for class in Class::ALL.into_iter().filter(|class| *class != Class::Denied) {
        for rollback in [None, Some(Class::Other)] {
            let mut order: Vec<String> = rollback
                .map(|class| format!("next ROLLBACK fails with {}", class.name()))
                .into_iter()
                .collect();
            order.push(format!("fail {}", class.name()));
            let what = order.join(", ");
            let (history, monitor) = recorded(&[Vec::new(), order], false, 0);
            assert_fine(&history, &what);
            assert_eq!(
                outcomes(&history),
                [Outcome::Committed, Outcome::Aborted, Outcome::Committed],
                "{what}"
            );
            let is_replaced = rollback.is_some() || class == Class::Connection;
            assert_eq!(monitor.figures().reconnects, u64::from(is_replaced), "{what}");
        }
    }
    let (history, monitor) =
        recorded(&[Vec::new(), vec!["next ROLLBACK fails with other".to_owned()]], true, 0);
    assert_fine(&history, "a rollback that fails");
    assert_eq!(outcomes(&history), [Outcome::Committed, Outcome::Aborted, Outcome::Committed]);
    assert_eq!(monitor.figures().reconnects, 1);
}

/// A transaction that may have committed is not retried, even if its failure is retryable.
#[test]
fn an_unknown_outcome_is_not_retried() {
    let order = vec!["next COMMIT loses lock-timeout".to_owned()];
    let (history, monitor) = recorded(&[Vec::new(), order], false, 3);
    assert_eq!((history.txn_count(), monitor.figures().retried), (3, 0));
    let order = vec!["next COMMIT fails with deadlock".to_owned()];
    let (history, monitor) = recorded(&[Vec::new(), order], false, 3);
    assert!(monitor.figures().retried > 0, "{}", history.txn_count());
}
