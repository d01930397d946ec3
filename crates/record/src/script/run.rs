//! The runner of scripts: sends the steps in order and records their results.
//!
//! **Determinism.** The next step is sent only when every session is idle or waits for a lock. After sending a step, the
//! runner polls the database until the step is answered or waits; time only decides when to give up. A wait ends only
//! when a transaction ends, and the runner then collects the answer of the waiting session before it sends anything else.
//!
//! **Termination.** If all open transactions wait, no step of the script can release them. The database must, by deadlock
//! detection or a lock timeout. If it does not, the limits here apply: the runner kills the connections and the run
//! fails. It abandons threads that do not end even then.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::transcript::{Ending, StepDone, StepResult, Transcript};
use super::{Action, Place, RunError, Script, Sql};
use crate::database::{Answer, Class, Connection, Control, Database, Failure, Statement};
use crate::session;

/// Limits of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The limit for a step until it is answered or waits for a lock, and the limit for the database to end a wait that no
    /// step can end.
    pub step_limit: Duration,
    /// The limit for the sum of all steps.
    pub run_limit: Duration,
    /// Stops the run once it is true, with the same cleanup as an exceeded limit.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Options {
    fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

impl Default for Options {
    fn default() -> Options {
        Options { step_limit: Duration::from_secs(30), run_limit: Duration::from_secs(120), stop: None }
    }
}

/// A session of a script. Its answers are those of statements; other actions have none.
type Session = session::Session<Option<Answer>>;
type Reply = Result<Option<Answer>, Failure>;

/// The first pause between two polls of a step that is not answered. It doubles up to the last.
const FIRST_PAUSE: Duration = Duration::from_micros(500);
const LAST_PAUSE: Duration = Duration::from_millis(20);

/// The limit for closing a connection.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

pub(super) fn run(
    script: &Script,
    database: &dyn Database,
    options: &Options,
    on_step: &mut dyn FnMut(&StepDone),
) -> Result<Transcript, RunError> {
    let session = Session::open(database).map_err(|failure| during("connecting", failure))?;
    let mut keeper = Keeper { session, tables: Vec::new(), limit: options.step_limit };
    let result = keeper.set_up(&script.setup).and_then(|()| {
        let runner = Runner::open(script, database, options, on_step);
        let result = runner.map_err(RunError::from).and_then(Runner::carry_out);
        let torn = keeper.tear_down(&script.teardown);
        first(result, torn)
    });
    let dropped = keeper.drop_tables();
    keeper.session.close(CLOSE_LIMIT);
    first(result, dropped)
}

/// When a limit ends. It is capped at a year, so that the addition cannot overflow.
fn end_of(limit: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    Instant::now() + limit.min(YEAR)
}

/// The first failure is the one to report.
fn first<T>(result: Result<T, RunError>, later: Result<(), RunError>) -> Result<T, RunError> {
    let value = result?;
    later.map(|()| value)
}

fn during(what: &str, failure: Failure) -> Failure {
    Failure { message: format!("{what}: {}", failure.message), ..failure }
}

/// Runs setup and teardown, and drops the tables that setup created.
struct Keeper {
    session: Session,
    /// The tables that setup created, and no others.
    tables: Vec<String>,
    limit: Duration,
}

impl Keeper {
    fn set_up(&mut self, statements: &[Sql]) -> Result<(), RunError> {
        for Sql { text, place } in statements {
            let done = self.execute(text).map_err(|failure| during(&format!("setup: `{text}`"), failure));
            done.map_err(|failure| RunError { failure, place: Some(*place) })?;
            self.tables.extend(created_table(text));
        }
        Ok(())
    }

    /// Runs all statements, even if some fail. Returns the first failure.
    fn tear_down(&mut self, statements: &[Sql]) -> Result<(), RunError> {
        let all = statements.iter().map(|sql| (sql.text.as_str(), Some(sql.place)));
        self.execute_all(all.collect())
    }

    fn drop_tables(&mut self) -> Result<(), RunError> {
        let drops: Vec<String> =
            self.tables.drain(..).rev().map(|table| format!("DROP TABLE {table}")).collect();
        self.execute_all(drops.iter().map(|sql| (sql.as_str(), None)).collect())
    }

    fn execute_all(&mut self, statements: Vec<(&str, Option<Place>)>) -> Result<(), RunError> {
        let mut result = Ok(());
        for (sql, place) in statements {
            let done = self.execute(sql).map_err(|failure| during(&format!("teardown: `{sql}`"), failure));
            result = result.and(done.map_err(|failure| RunError { failure, place }));
        }
        result
    }

    fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        if self.session.is_busy() {
            return Err(gave_up("the previous statement has not been answered yet".to_owned()));
        }
        call(&mut self.session, &Action::Statement(sql.to_owned()), self.limit).map(|_| ())
    }
}

/// The table that a statement creates, if it is a CREATE TABLE that fails if the table exists.
fn created_table(sql: &str) -> Option<String> {
    let rest = after_word(sql, "CREATE")?;
    let rest = after_word(after_word(rest, "UNLOGGED").unwrap_or(rest), "TABLE")?;
    if after_word(rest, "IF").is_some() {
        return None;
    }
    let mut quote = None;
    let is_end = |c: char| {
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '"' | '`') => quote = Some(c),
            None => return c.is_whitespace() || c == '(',
            Some(_) => {}
        }
        false
    };
    let name = &rest[..rest.find(is_end).unwrap_or(rest.len())];
    (!name.is_empty()).then(|| name.to_owned())
}

/// The rest of the statement after its first word, if that is `word`.
fn after_word<'a>(sql: &'a str, word: &str) -> Option<&'a str> {
    let (first, rest) = sql.trim_start().split_once(char::is_whitespace)?;
    first.eq_ignore_ascii_case(word).then(|| rest.trim_start())
}

/// A session and its state in the script.
struct Lane {
    session: Session,
    /// The step that waits for a lock.
    waiting: Option<usize>,
    /// The steps held back while the session waits. Empty if it does not wait.
    kept: VecDeque<usize>,
    is_open: bool,
    /// Whether its transaction has failed and its remaining steps are skipped.
    is_skipping: bool,
    ending: Option<Ending>,
}

impl Lane {
    fn is_idle_and_open(&self) -> bool {
        self.is_open && self.waiting.is_none()
    }
}

struct Runner<'a> {
    script: &'a Script,
    options: &'a Options,
    control: Option<Box<dyn Control>>,
    lanes: Vec<Lane>,
    events: Vec<StepDone>,
    on_step: &'a mut dyn FnMut(&StepDone),
    /// When all steps must be done.
    end: Instant,
}

impl<'a> Runner<'a> {
    fn open(
        script: &'a Script,
        database: &dyn Database,
        options: &'a Options,
        on_step: &'a mut dyn FnMut(&StepDone),
    ) -> Result<Runner<'a>, Failure> {
        let control =
            database.control().map_err(|failure| during("connecting to observe lock waits", failure))?;
        let lanes = script.sessions.iter().map(|name| {
            let session = Session::open(database)
                .map_err(|failure| during(&format!("connecting for session {name}"), failure))?;
            let kept = VecDeque::new();
            Ok(Lane { session, waiting: None, kept, is_open: false, is_skipping: false, ending: None })
        });
        let lanes = lanes.collect::<Result<Vec<Lane>, Failure>>()?;
        let end = end_of(options.run_limit);
        Ok(Runner { script, options, control, lanes, events: Vec::new(), on_step, end })
    }

    fn carry_out(mut self) -> Result<Transcript, RunError> {
        let result = self.send_all().and_then(|()| self.finish());
        let endings: Vec<Option<Ending>> = self.lanes.iter().map(|lane| lane.ending).collect();
        self.close();
        result.map(|()| Transcript::new(self.script, self.events, &endings))
    }

    fn send_all(&mut self) -> Result<(), RunError> {
        for (number, step) in self.script.steps.iter().enumerate() {
            let lane = &mut self.lanes[step.session];
            if lane.waiting.is_some() {
                lane.kept.push_back(number);
                continue;
            }
            self.perform(number)?;
            self.settle()?;
        }
        Ok(())
    }

    /// Rolls back the transactions that the script leaves open. Those that do not wait go first, since others may wait for
    /// them.
    fn finish(&mut self) -> Result<(), RunError> {
        loop {
            self.settle()?;
            let Some(open) = self.lanes.iter().position(Lane::is_idle_and_open) else { return Ok(()) };
            self.roll_back(open)?;
            self.lanes[open].ending = Some(Ending::LeftOpen);
        }
    }

    /// Sends a step and polls until it is answered or waits.
    fn perform(&mut self, number: usize) -> Result<(), RunError> {
        if self.options.is_stopped() {
            return Err(stopped().into());
        }
        let step = &self.script.steps[number];
        let lane = &mut self.lanes[step.session];
        if lane.is_skipping {
            lane.is_skipping = !step.action.is_end();
            self.note(number, StepResult::Skipped, false);
            return Ok(());
        }
        tell(&mut lane.session, &step.action);
        if let Some(reply) = self.look(number)? {
            return self.answered(number, reply, false);
        }
        self.lanes[step.session].waiting = Some(number);
        self.note(number, StepResult::Waits, true);
        Ok(())
    }

    /// Polls a step that was sent until it is answered, or waits (`None`).
    fn look(&mut self, number: usize) -> Result<Option<Reply>, RunError> {
        let lane = &mut self.lanes[self.script.steps[number].session];
        let end = self.end.min(end_of(self.options.step_limit));
        let mut pause = FIRST_PAUSE;
        loop {
            if let Some(reply) = lane.session.reply(pause) {
                return Ok(Some(reply));
            }
            let waits = match (&mut self.control, lane.session.id()) {
                (Some(control), Some(id)) => control
                    .is_waiting(id)
                    .map_err(|failure| during("asking the database whether a step waits", failure))?,
                _ => false,
            };
            if waits {
                // The step may have been answered in the meantime.
                return Ok(lane.session.reply(Duration::ZERO));
            }
            if self.options.is_stopped() {
                return Err(stopped().into());
            }
            if Instant::now() >= end {
                return Err(self.too_late(number, "neither answered nor waiting for a lock"));
            }
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    /// Records the answer and updates the state of the transaction.
    fn answered(&mut self, number: usize, reply: Reply, waited: bool) -> Result<(), RunError> {
        let step = &self.script.steps[number];
        let lane = &mut self.lanes[step.session];
        lane.waiting = None;
        let result = match reply {
            Ok(answer) => {
                match step.action {
                    Action::Begin => (lane.is_open, lane.ending) = (true, None),
                    Action::Commit => (lane.is_open, lane.ending) = (false, Some(Ending::Committed)),
                    Action::Rollback => (lane.is_open, lane.ending) = (false, Some(Ending::RolledBack)),
                    Action::Statement(_) => {}
                }
                StepResult::Done(answer)
            }
            Err(failure) => {
                if lane.is_open || step.action == Action::Begin {
                    lane.ending = Some(Ending::Failed(failure.class));
                    lane.is_skipping = !step.action.is_end();
                    self.roll_back(step.session)?;
                }
                StepResult::Failed(failure)
            }
        };
        self.note(number, result, waited);
        Ok(())
    }

    /// Rolls back a session's transaction, to release its locks. A failure matters only if the rollback hangs: a lost
    /// connection has rolled back.
    fn roll_back(&mut self, lane: usize) -> Result<(), RunError> {
        let name = &self.script.sessions[lane];
        let lane = &mut self.lanes[lane];
        lane.is_open = false;
        match call(&mut lane.session, &Action::Rollback, self.options.step_limit) {
            Err(failure) if lane.session.is_busy() => Err(during(name, failure).into()),
            _ => Ok(()),
        }
    }

    /// Collects the answers of all sessions that no longer wait, and runs their held-back steps.
    fn settle(&mut self) -> Result<(), RunError> {
        loop {
            let mut is_changed = false;
            for lane in 0..self.lanes.len() {
                let Some(number) = self.lanes[lane].waiting else { continue };
                if let Some(reply) = self.look(number)? {
                    self.resume(number, reply)?;
                    is_changed = true;
                }
            }
            let someone_waits = self.lanes.iter().any(|lane| lane.waiting.is_some());
            let someone_can_end_it = self.lanes.iter().any(Lane::is_idle_and_open);
            if someone_waits && !someone_can_end_it && !is_changed {
                self.await_database()?;
            } else if !is_changed {
                return Ok(());
            }
        }
    }

    /// Continues with a session that has waited.
    fn resume(&mut self, number: usize, reply: Reply) -> Result<(), RunError> {
        self.answered(number, reply, true)?;
        let session = self.script.steps[number].session;
        while self.lanes[session].waiting.is_none() {
            let Some(next) = self.lanes[session].kept.pop_front() else { break };
            self.perform(next)?;
        }
        Ok(())
    }

    /// All open transactions wait: waits until the database answers one of them.
    fn await_database(&mut self) -> Result<(), RunError> {
        let end = self.end.min(end_of(self.options.step_limit));
        let waiting: Vec<usize> = self.lanes.iter().filter_map(|lane| lane.waiting).collect();
        loop {
            for &number in &waiting {
                let lane = &mut self.lanes[self.script.steps[number].session];
                if let Some(reply) = lane.session.reply(FIRST_PAUSE) {
                    return self.let_go(number, reply, &waiting);
                }
            }
            let Some(&last) = waiting.last() else { return Ok(()) };
            if self.options.is_stopped() {
                return Err(stopped().into());
            }
            if Instant::now() >= end {
                return Err(self.too_late(last, "waiting for a lock that no step can release"));
            }
        }
    }

    /// Continues with the session that the database answered, and with those that no longer wait because of it. A failure is
    /// what released the others, so it is reported first, even if its answer arrived later.
    fn let_go(&mut self, number: usize, reply: Reply, waiting: &[usize]) -> Result<(), RunError> {
        let mut replies = vec![(number, reply)];
        for &other in waiting.iter().filter(|&&other| other != number) {
            if let Some(reply) = self.look(other)? {
                replies.push((other, reply));
            }
        }
        replies.sort_by_key(|(number, reply)| (reply.is_ok(), self.script.steps[*number].session));
        replies.into_iter().try_for_each(|(number, reply)| self.resume(number, reply))
    }

    fn note(&mut self, number: usize, result: StepResult, waited: bool) {
        let step = &self.script.steps[number];
        let expected = step.expected.clone().filter(|expected| !result.is(expected, waited));
        let done = StepDone {
            step: number,
            session: self.script.sessions[step.session].clone(),
            label: step.label.clone(),
            action: step.action.clone(),
            result,
            waited,
            expected,
        };
        (self.on_step)(&done);
        self.events.push(done);
    }

    fn too_late(&self, number: usize, state: &str) -> RunError {
        let step = &self.script.steps[number];
        let session = &self.script.sessions[step.session];
        let limit = self.options.step_limit.min(self.options.run_limit).as_secs_f64();
        let Place { line, .. } = step.place;
        let message = format!("line {line}, {session}: `{}` is still {state} after {limit} s", step.action);
        RunError { failure: gave_up(message), place: Some(step.place) }
    }

    /// Rolls back open transactions, kills connections with a pending statement, and closes all sessions.
    fn close(&mut self) {
        for lane in &mut self.lanes {
            if lane.session.is_busy() {
                lane.session.kill(self.control.as_deref_mut());
            } else if lane.is_open {
                drop(call(&mut lane.session, &Action::Rollback, CLOSE_LIMIT));
            }
        }
        for lane in self.lanes.drain(..) {
            lane.session.close(CLOSE_LIMIT);
        }
    }
}

/// Sends an action.
fn tell(session: &mut Session, action: &Action) {
    let action = action.clone();
    session.tell(move |connection| act(connection, &action));
}

/// Sends an action and waits for its result.
fn call(session: &mut Session, action: &Action, limit: Duration) -> Reply {
    tell(session, action);
    session.reply(limit).unwrap_or_else(|| {
        Err(gave_up(format!("`{action}` was not answered within {} s", limit.as_secs_f64())))
    })
}

fn act(connection: &mut dyn Connection, action: &Action) -> Reply {
    match action {
        Action::Begin => connection.begin().map(|()| None),
        Action::Commit => connection.commit().map(|_| None),
        Action::Rollback => connection.rollback().map(|()| None),
        Action::Statement(sql) => connection.execute(Statement::plain(sql)).map(Some),
    }
}

fn stopped() -> Failure {
    Failure { class: Class::Other, code: None, message: "stopped".to_owned() }
}

fn gave_up(message: String) -> Failure {
    Failure { class: Class::LockTimeout, code: None, message }
}
