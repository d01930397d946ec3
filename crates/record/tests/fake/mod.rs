//! A database for tests: named values, locks on written values, and statements that misbehave on request. It
//! has no clock: a waiting connection is woken by the event it waits for.
//!
//! ```text
//! CREATE TABLE x, DROP TABLE x    recorded, so that a test can see which tables are left
//! read x                          returns the last committed value, or the connection's own
//! write x 5                       waits until no other connection has written x; deadlocks are found at once
//! fail deadlock                   fails with that class
//! next COMMIT fails with other    the next COMMIT or ROLLBACK of the connection fails with that class and has no effect
//! next COMMIT loses other         the same, but it takes effect
//! slow 3                          returns after it was polled three times
//! hang                            never returns and waits for nothing, until it is killed
//! stall                           waits for a lock that no connection holds, until it is killed
//! panic                           panics
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use isoscope_record::{
    Answer, Class, Connection, ConnectionId, Control, Database, Failure, Scalar, Stamps, Statement, Vendor,
};

#[derive(Default)]
pub(crate) struct State {
    pub(crate) tables: BTreeSet<String>,
    /// Every statement, and every connection that was killed.
    pub(crate) log: Vec<String>,
    /// Statements that succeed without any effect.
    pub(crate) anything: BTreeSet<String>,
    /// The open connections.
    pub(crate) open: BTreeSet<i64>,
    values: BTreeMap<String, i64>,
    /// Uncommitted writes.
    written: BTreeMap<String, (i64, i64)>,
    waiting: BTreeMap<i64, String>,
    looks: BTreeMap<i64, u32>,
    killed: BTreeSet<i64>,
    last: i64,
}

#[derive(Clone, Default)]
pub(crate) struct Fake {
    pub(crate) shared: Arc<(Mutex<State>, Condvar)>,
    /// The maximum number of connections; 0 for no limit.
    pub(crate) limit: usize,
    /// Whether it fails at once instead of waiting, and cannot be monitored.
    pub(crate) never_waits: bool,
}

impl Fake {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn class(name: &str) -> Class {
    Class::ALL.into_iter().find(|class| class.name() == name).unwrap_or(Class::Other)
}

fn failure(class: Class, message: &str) -> Failure {
    Failure { class, code: None, message: message.to_owned() }
}

impl Database for Fake {
    fn vendor(&self) -> Vendor {
        Vendor::Memory
    }

    fn version(&self) -> &'static str {
        "Fake 1.0"
    }

    fn connect(&self) -> Result<Box<dyn Connection>, Failure> {
        let mut state = self.state();
        if self.limit != 0 && state.open.len() == self.limit {
            return Err(failure(Class::Other, "too many connections"));
        }
        state.last += 1;
        let id = state.last;
        state.open.insert(id);
        Ok(Box::new(Session { fake: self.clone(), id, is_open: false, ends: Vec::new() }))
    }

    fn control(&self) -> Result<Option<Box<dyn Control>>, Failure> {
        Ok(if self.never_waits { None } else { Some(Box::new(Watcher(self.clone()))) })
    }
}

struct Watcher(Fake);

impl Control for Watcher {
    fn is_waiting(&mut self, connection: ConnectionId) -> Result<bool, Failure> {
        let mut state = self.0.state();
        *state.looks.entry(connection.0).or_default() += 1;
        self.0.shared.1.notify_all();
        Ok(state.waiting.contains_key(&connection.0))
    }

    fn kill(&mut self, connection: ConnectionId) -> Result<(), Failure> {
        let mut state = self.0.state();
        state.killed.insert(connection.0);
        state.log.push("killed".to_owned());
        self.0.shared.1.notify_all();
        Ok(())
    }
}

struct Session {
    fake: Fake,
    id: i64,
    is_open: bool,
    /// How the next COMMIT and ROLLBACK fail.
    ends: Vec<End>,
}

/// How a COMMIT or ROLLBACK fails.
struct End {
    sql: String,
    class: Class,
    is_done: bool,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end(false);
        self.fake.state().open.remove(&self.id);
    }
}

impl Session {
    /// COMMIT or ROLLBACK, which may have been ordered to fail.
    fn finish(&mut self, sql: &str) -> Result<(), Failure> {
        let ordered = self.ends.iter().position(|end| end.sql == sql).map(|place| self.ends.remove(place));
        if ordered.as_ref().is_none_or(|end| end.is_done) {
            self.end(sql == "COMMIT");
        }
        ordered.map_or(Ok(()), |end| Err(failure(end.class, "as ordered")))
    }

    fn end(&mut self, keep: bool) {
        let mut state = self.fake.state();
        let mine: Vec<String> =
            state.written.iter().filter(|(_, (id, _))| *id == self.id).map(|(key, _)| key.clone()).collect();
        for key in mine {
            if let Some((_, value)) = state.written.remove(&key).filter(|_| keep) {
                state.values.insert(key, value);
            }
        }
        self.is_open = false;
        // The waits end here, before another connection can look, as in the lock tables of real databases.
        let free: Vec<i64> = state
            .waiting
            .iter()
            .filter(|(_, key)| !key.is_empty() && !state.written.contains_key(*key))
            .map(|(id, _)| *id)
            .collect();
        for id in free {
            state.waiting.remove(&id);
        }
        self.fake.shared.1.notify_all();
    }

    /// Waits until `ready`; fails if the connection is killed.
    fn until(&self, mut ready: impl FnMut(&mut State) -> bool) -> Result<(), Failure> {
        let mut state = self.fake.state();
        while !ready(&mut state) {
            if state.killed.contains(&self.id) {
                state.waiting.remove(&self.id);
                return Err(failure(Class::Connection, "killed"));
            }
            state = self.fake.shared.1.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        Ok(())
    }

    fn write(&mut self, key: &str, value: i64) -> Result<Answer, Failure> {
        let (me, mut deadlock) = (self.id, false);
        let never_waits = self.fake.never_waits;
        self.until(|state| {
            let owner = state.written.get(key).map(|(owner, _)| *owner).filter(|owner| *owner != me);
            let Some(mut owner) = owner else { return true };
            state.waiting.insert(me, key.to_owned());
            while let Some(next) = state.waiting.get(&owner).and_then(|key| state.written.get(key)) {
                owner = next.0;
                deadlock |= owner == me;
                if deadlock {
                    break;
                }
            }
            if deadlock || never_waits {
                state.waiting.remove(&me);
            }
            deadlock || never_waits
        })?;
        let mut state = self.fake.state();
        let is_taken = state.written.get(key).is_some_and(|(owner, _)| *owner != me);
        if is_taken {
            let class = if deadlock { Class::Deadlock } else { Class::LockTimeout };
            return Err(failure(class, "locked"));
        }
        if self.is_open {
            state.written.insert(key.to_owned(), (me, value));
        } else {
            state.values.insert(key.to_owned(), value);
        }
        Ok(Answer::Count(1))
    }

    fn read(&self, key: &str) -> Answer {
        let state = self.fake.state();
        let own = state.written.get(key).filter(|(owner, _)| *owner == self.id).map(|(_, value)| value);
        let value = own.or_else(|| state.values.get(key));
        Answer::Rows(value.map(|value| vec![Scalar::Int(*value)]).into_iter().collect())
    }

    fn table(&self, name: &str, is_made: bool) -> Result<Answer, Failure> {
        let mut state = self.fake.state();
        let is_done = if is_made { state.tables.insert(name.to_owned()) } else { state.tables.remove(name) };
        if is_done {
            Ok(Answer::Count(0))
        } else {
            Err(failure(Class::Other, "no such thing, or already there"))
        }
    }
}

impl Connection for Session {
    fn id(&self) -> Option<ConnectionId> {
        Some(ConnectionId(self.id))
    }

    /// As in MySQL, an open transaction is committed.
    fn begin(&mut self) -> Result<(), Failure> {
        self.end(true);
        self.is_open = true;
        Ok(())
    }

    fn execute(&mut self, statement: Statement<'_>) -> Result<Answer, Failure> {
        self.fake.state().log.push(statement.sql.to_owned());
        if self.fake.state().anything.contains(statement.sql) {
            return Ok(Answer::Count(0));
        }
        let me = self.id;
        match statement.sql.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["CREATE", "TABLE", name] => self.table(name, true),
            ["DROP", "TABLE", name] => self.table(name, false),
            ["read", key] => Ok(self.read(key)),
            ["write", key, value] => {
                let value = value.parse().map_err(|_| failure(Class::Other, "no number"))?;
                self.write(key, value)
            }
            ["fail", name] => Err(failure(class(name), "as asked")),
            ["next", sql @ ("COMMIT" | "ROLLBACK"), how, .., name] => {
                self.ends.push(End { sql: (*sql).to_owned(), class: class(name), is_done: *how == "loses" });
                Ok(Answer::Count(0))
            }
            ["slow", times] => {
                let times = times.parse().unwrap_or(1);
                self.until(|state| state.looks.get(&me).is_some_and(|&looks| looks >= times))?;
                Ok(Answer::Count(0))
            }
            ["hang"] => self.until(|_| false).map(|()| Answer::Count(0)),
            ["stall"] => {
                self.fake.state().waiting.insert(me, String::new());
                self.until(|_| false).map(|()| Answer::Count(0))
            }
            ["panic"] => panic!("as asked"),
            _ => Err(failure(Class::Other, "syntax error")),
        }
    }

    fn commit(&mut self) -> Result<Stamps, Failure> {
        self.finish("COMMIT").map(|()| Stamps::default())
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.finish("ROLLBACK")
    }
}
