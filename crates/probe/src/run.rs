//! Runs one interleaving of a program on a database.
//!
//! All runs use the same connections and the same table. Each run has keys of its own, whose values are 0, so that nothing has to
//! be undone between runs.
//!
//! A step is sent when the step before it was answered or waits for a lock. When a transaction ends, the runner collects the
//! answers of all sessions that no longer wait before it sends anything else. If all open transactions wait, it waits for the
//! database. A transaction is rolled back when one of its statements fails. After all sessions have ended, a transaction of
//! another session reads all keys.
//!
//! **What is recorded is what happened**, even if a session that was taken for waiting was only slow: every answer is noted
//! with the time of its arrival.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use isoscope_record::{
    Answer, Class, Connection, Control, Database, Failure, Scalar, Session, Statement, Vendor,
};

use crate::interleavings::Explorer;
use crate::locks::Locks;
use crate::plan::{Action, Plan, Planned};

const READ: &str = "SELECT v FROM isoscope_probe WHERE k = ?";
const WRITE: &str = "UPDATE isoscope_probe SET v = ? WHERE k = ?";
const READ_ALL: &str = "SELECT v FROM isoscope_probe WHERE k BETWEEN ? AND ? ORDER BY k";

/// How many rows are inserted at once, and by one statement.
const BLOCK: i64 = 10_000;
const ROWS: i64 = 1_000;

/// How long to wait for an answer that is expected soon before the database is asked whether the session waits.
const PATIENCE: Duration = Duration::from_millis(2);
/// The same if the session is expected to wait.
const SOON: Duration = Duration::from_micros(100);
/// The longest pause between two questions.
const LAST_PAUSE: Duration = Duration::from_millis(20);
/// How long to wait for the database to end what looks like a deadlock while another transaction could go on.
const DEADLOCK: Duration = Duration::from_secs(2);
/// The limit for a step until it is answered or waits, and for the database to end a wait that nothing else can end.
const STEP_LIMIT: Duration = Duration::from_secs(30);
/// The limit for closing a connection.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

/// The answer of a step: the value of a read.
type Value = Option<i64>;

/// What came of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepResult {
    /// The value that was read.
    Value(i64),
    /// It was done.
    Done,
    /// It failed, and the transaction was rolled back.
    Failed(Class),
}

/// A step as it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The session, from 0.
    pub session: usize,
    /// The transaction in the program, from 0.
    pub txn: usize,
    /// Whether the transaction began with it.
    pub begins: bool,
    /// What it does.
    pub action: Action,
    /// What came of it.
    pub result: StepResult,
    /// Whether it waited for a lock.
    pub waited: bool,
    /// When it was sent and answered, as positions in the order of all such events.
    pub sent: u32,
    /// See `sent`.
    pub answered: u32,
}

/// What happened in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The steps in the order in which they were sent.
    pub steps: Vec<Step>,
    /// The values of the keys at the end.
    pub last: Vec<i64>,
}

/// The connections and the table of all runs.
pub struct Stage {
    sessions: Vec<Session<Value>>,
    /// Creates and reads the table.
    keeper: Box<dyn Connection>,
    control: Option<Box<dyn Control>>,
    locks: Locks,
    /// The next unused key, and the first one that is not in the table.
    next_key: i64,
    end_of_keys: i64,
    stop: Arc<AtomicBool>,
}

impl Stage {
    /// Opens a connection per session, and creates the table. `stop` ends a run that waits.
    pub fn open(database: &dyn Database, sessions: usize, stop: Arc<AtomicBool>) -> Result<Stage, Failure> {
        let mut keeper = database.connect()?;
        keeper.execute(Statement::plain("DROP TABLE IF EXISTS isoscope_probe"))?;
        keeper.execute(Statement::plain(schema(database.vendor())))?;
        let mut stage = Stage {
            sessions: Vec::new(),
            keeper,
            control: None,
            locks: Locks::default(),
            next_key: 1,
            end_of_keys: 1,
            stop,
        };
        let opened = stage.connect(database, sessions);
        match opened {
            Ok(()) => Ok(stage),
            Err(failure) => {
                // The first failure is the one to report.
                drop(stage.close());
                Err(failure)
            }
        }
    }

    fn connect(&mut self, database: &dyn Database, sessions: usize) -> Result<(), Failure> {
        self.control = database.control()?;
        for _ in 0..sessions {
            let mut session = Session::open(database)?;
            if let Some(setting) = faster(database.vendor()) {
                session.tell(move |connection| {
                    // If the user may not change it, runs take longer.
                    drop(connection.execute(Statement::plain(setting)));
                    Ok(None)
                });
                session.reply(STEP_LIMIT).unwrap_or_else(|| Err(late("connecting")))?;
            }
            self.sessions.push(session);
        }
        Ok(())
    }

    /// Runs the next interleaving of a program.
    pub(crate) fn run(&mut self, plan: &Plan, explorer: &mut Explorer) -> Result<Run, Failure> {
        let first_key = self.fresh_keys(signed(plan.keys))?;
        self.locks.clear();
        let lanes = vec![Lane { next: 0, waiting: None }; plan.sessions.len()];
        let mut turn = Turn { stage: self, plan, first_key, lanes, steps: Vec::new(), clock: 0 };
        turn.carry_out(explorer)?;
        let steps = turn.steps;
        let last = self.read_all(first_key, plan.keys)?;
        Ok(Run { steps, last })
    }

    /// Whether runs were to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Keys that no run has used.
    fn fresh_keys(&mut self, count: i64) -> Result<i64, Failure> {
        if self.next_key + count > self.end_of_keys {
            for first in (self.end_of_keys..self.end_of_keys + BLOCK).step_by(ROWS as usize) {
                let rows: Vec<String> = (first..first + ROWS).map(|key| format!("({key}, 0)")).collect();
                let sql = format!("INSERT INTO isoscope_probe (k, v) VALUES {}", rows.join(", "));
                self.keeper.execute(Statement::plain(&sql))?;
            }
            self.end_of_keys += BLOCK;
        }
        self.next_key += count;
        Ok(self.next_key - count)
    }

    fn read_all(&mut self, first: i64, count: usize) -> Result<Vec<i64>, Failure> {
        let params = [Scalar::Int(first), Scalar::Int(first + signed(count) - 1)];
        let answer = self.keeper.execute(Statement { sql: READ_ALL, params: &params })?;
        let values = match &answer {
            Answer::Rows(rows) if rows.len() == count => rows.iter().map(|row| value(row)).collect(),
            _ => None,
        };
        values.ok_or_else(|| odd(READ_ALL, &answer))
    }

    /// Closes the connections and drops the table.
    pub fn close(mut self) -> Result<(), Failure> {
        for session in self.sessions.drain(..) {
            if session.is_busy() {
                session.kill(self.control.as_deref_mut());
            }
            session.close(CLOSE_LIMIT);
        }
        self.keeper.execute(Statement::plain("DROP TABLE IF EXISTS isoscope_probe")).map(drop)
    }
}

/// A setting of a session that saves time and does not concern isolation.
fn faster(vendor: Vendor) -> Option<&'static str> {
    match vendor {
        // After this time a waiting session looks for a deadlock; the default of 1 s would dominate. A shorter time than a few
        // steps would make the choice of the victim depend on chance.
        Vendor::Postgres => Some("SET deadlock_timeout = '5ms'"),
        // No run has to survive a crash of the machine.
        Vendor::Sqlite => Some("PRAGMA synchronous = OFF"),
        Vendor::MySql | Vendor::MariaDb | Vendor::Memory => None,
    }
}

fn schema(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::MySql | Vendor::MariaDb => {
            "CREATE TABLE isoscope_probe (k BIGINT PRIMARY KEY, v BIGINT NOT NULL) ENGINE=InnoDB"
        }
        // Room for new versions in the page of the old one: the index then does not change, and PostgreSQL's serializable
        // level finds fewer conflicts that are none.
        Vendor::Postgres => {
            "CREATE TABLE isoscope_probe (k BIGINT PRIMARY KEY, v BIGINT NOT NULL) \
             WITH (fillfactor = 50, autovacuum_enabled = false)"
        }
        Vendor::Sqlite | Vendor::Memory => {
            "CREATE TABLE isoscope_probe (k BIGINT PRIMARY KEY, v BIGINT NOT NULL)"
        }
    }
}

/// A session in a run.
#[derive(Clone, Debug)]
struct Lane {
    /// Its next step in the plan.
    next: usize,
    /// The step that waits for a lock, in the list of steps that were sent.
    waiting: Option<usize>,
}

/// One run.
struct Turn<'a> {
    stage: &'a mut Stage,
    plan: &'a Plan,
    first_key: i64,
    lanes: Vec<Lane>,
    steps: Vec<Step>,
    /// The number of events so far.
    clock: u32,
}

impl Turn<'_> {
    fn carry_out(&mut self, explorer: &mut Explorer) -> Result<(), Failure> {
        loop {
            let is_enabled = |&session: &usize| {
                let lane = &self.lanes[session];
                lane.waiting.is_none() && lane.next < self.plan.sessions[session].len()
            };
            let enabled: Vec<usize> = (0..self.lanes.len()).filter(is_enabled).collect();
            if !enabled.is_empty() {
                self.perform(explorer.choose(&enabled))?;
            } else if self.someone_waits() {
                if !self.await_database(STEP_LIMIT)? {
                    return Err(late("waiting for a lock that no transaction can release"));
                }
            } else {
                return Ok(());
            }
        }
    }

    fn someone_waits(&self) -> bool {
        self.lanes.iter().any(|lane| lane.waiting.is_some())
    }

    fn tick(&mut self) -> u32 {
        self.clock += 1;
        self.clock - 1
    }

    /// Sends the next step of a session, and whatever follows from it.
    fn perform(&mut self, session: usize) -> Result<(), Failure> {
        let Planned { txn, begins, action } = self.plan.sessions[session][self.lanes[session].next];
        let first_key = self.first_key;
        let sent = self.tick();
        let expects_wait = self.stage.locks.blockers(session, action).next().is_some();
        self.stage.sessions[session].tell(move |connection| act(connection, begins, action, first_key));
        let number = self.steps.len();
        // The result is a placeholder until the answer arrives; a run ends only after all answers.
        let result = StepResult::Done;
        self.steps.push(Step { session, txn, begins, action, result, waited: false, sent, answered: sent });
        match self.look(session, if expects_wait { SOON } else { PATIENCE })? {
            Some(reply) => {
                let has_ended = self.answered(number, reply)?;
                // An answer without the expected wait: the database has ended another transaction.
                if (has_ended || expects_wait) && self.someone_waits() {
                    self.settle()?;
                }
                Ok(())
            }
            None => self.waits(session, number),
        }
    }

    fn waits(&mut self, session: usize, number: usize) -> Result<(), Failure> {
        self.lanes[session].waiting = Some(number);
        let step = &mut self.steps[number];
        step.waited = true;
        self.stage.locks.waits(session, step.action);
        let waiting: Vec<(usize, Action)> = self
            .lanes
            .iter()
            .filter_map(|lane| lane.waiting)
            .map(|step| (self.steps[step].session, self.steps[step].action))
            .collect();
        if waiting.len() > 1 && self.stage.locks.is_deadlock(&waiting) {
            // If it is none, go on after a while.
            self.await_database(DEADLOCK)?;
        }
        Ok(())
    }

    /// Waits until a step that was sent is answered, or waits for a lock (`None`).
    fn look(
        &mut self,
        session: usize,
        patience: Duration,
    ) -> Result<Option<Result<Value, Failure>>, Failure> {
        let Stage { sessions, control, stop, .. } = &mut *self.stage;
        let session = &mut sessions[session];
        let start = Instant::now();
        let mut pause = patience;
        loop {
            if let Some(reply) = session.reply(pause) {
                return Ok(Some(reply));
            }
            let waits = match (&mut *control, session.id()) {
                (Some(control), Some(id)) => control.is_waiting(id)?,
                _ => false,
            };
            if waits {
                // It may have been answered in the meantime.
                return Ok(session.reply(Duration::ZERO));
            }
            if stop.load(Ordering::Relaxed) {
                return Err(late("stopped"));
            }
            if start.elapsed() >= STEP_LIMIT {
                return Err(late("neither answered nor waiting for a lock"));
            }
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    /// Notes an answer. Returns whether the transaction has ended.
    fn answered(&mut self, number: usize, reply: Result<Value, Failure>) -> Result<bool, Failure> {
        let answered = self.tick();
        let step = &mut self.steps[number];
        let lane = &mut self.lanes[step.session];
        lane.waiting = None;
        step.answered = answered;
        let has_ended = match reply {
            Ok(value) => {
                step.result = value.map_or(StepResult::Done, StepResult::Value);
                lane.next += 1;
                step.action == Action::Commit
            }
            Err(failure) if failure.class.promises_rollback() || failure.class == Class::LockTimeout => {
                step.result = StepResult::Failed(failure.class);
                // The session goes on with its next transaction.
                let plan = &self.plan.sessions[step.session];
                let ends = |planned: &Planned| planned.txn > step.txn;
                lane.next = plan.iter().position(ends).unwrap_or(plan.len());
                true
            }
            Err(failure) => return Err(failure),
        };
        if has_ended {
            self.stage.locks.release(step.session);
        } else {
            self.stage.locks.take(step.session, step.action);
        }
        Ok(has_ended)
    }

    /// Collects the answers of all sessions that no longer wait.
    fn settle(&mut self) -> Result<(), Failure> {
        loop {
            let mut is_changed = false;
            for session in 0..self.lanes.len() {
                let Some(number) = self.lanes[session].waiting else { continue };
                let action = self.steps[number].action;
                let still_waits = self.stage.locks.blockers(session, action).next().is_some();
                if let Some(reply) = self.look(session, if still_waits { SOON } else { PATIENCE })? {
                    self.answered(number, reply)?;
                    is_changed = true;
                }
            }
            if !is_changed {
                return Ok(());
            }
        }
    }

    /// Waits until the database answers a session that waits. False if it does not within the limit.
    fn await_database(&mut self, limit: Duration) -> Result<bool, Failure> {
        let start = Instant::now();
        let mut pause = SOON;
        loop {
            for session in 0..self.lanes.len() {
                let Some(number) = self.lanes[session].waiting else { continue };
                if let Some(reply) = self.stage.sessions[session].reply(pause) {
                    self.answered(number, reply)?;
                    self.settle()?;
                    return Ok(true);
                }
            }
            if self.stage.stop.load(Ordering::Relaxed) {
                return Err(late("stopped"));
            }
            if start.elapsed() >= limit {
                return Ok(false);
            }
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }
}

/// Executes a step. If it fails, the transaction is rolled back, to release its locks.
fn act(
    connection: &mut dyn Connection,
    begins: bool,
    action: Action,
    first_key: i64,
) -> Result<Value, Failure> {
    let result = execute(connection, begins, action, first_key);
    if result.is_err() {
        // If this fails, the connection is lost, and so is the transaction. The next step reports it.
        drop(connection.rollback());
    }
    result
}

fn execute(
    connection: &mut dyn Connection,
    begins: bool,
    action: Action,
    first_key: i64,
) -> Result<Value, Failure> {
    let key = |key: usize| Scalar::Int(first_key + signed(key));
    let mut execute = |statement: Statement<'_>| {
        if begins { connection.begin_with(statement) } else { connection.execute(statement) }
    };
    match action {
        Action::Read(at) => {
            let answer = execute(Statement { sql: READ, params: &[key(at)] })?;
            let value = match &answer {
                Answer::Rows(rows) if rows.len() == 1 => value(&rows[0]),
                _ => None,
            };
            value.map(Some).ok_or_else(|| odd(READ, &answer))
        }
        Action::Write(at, new) => {
            let params = [Scalar::Int(new), key(at)];
            match execute(Statement { sql: WRITE, params: &params })? {
                Answer::Count(1) => Ok(None),
                answer => Err(odd(WRITE, &answer)),
            }
        }
        Action::Commit => connection.commit().map(|_| None),
    }
}

/// The number of a key or of keys, which are few.
fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The integer of a row of one column.
fn value(row: &[Scalar]) -> Option<i64> {
    match row {
        [Scalar::Int(value)] => Some(*value),
        _ => None,
    }
}

/// An answer that is impossible unless another client changes the table.
fn odd(sql: &str, answer: &Answer) -> Failure {
    let message = format!(
        "unexpected answer {answer:?} to `{sql}`; make sure that no other client uses the table isoscope_probe"
    );
    Failure { class: Class::Other, code: None, message }
}

fn late(what: &str) -> Failure {
    Failure { class: Class::Other, code: None, message: format!("a step is still {what}") }
}
