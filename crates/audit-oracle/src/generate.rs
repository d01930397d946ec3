//! Random tiny logs that are correct: a random client of the [`machine`](crate::machine) writes down what it is answered.
//!
//! Each action of a session takes a little time, sometimes none: it sends a statement, lets the machine take a step, or receives the
//! answer. How often the sessions take turns is random for each log. If all sessions wait for locks, one becomes the victim of a deadlock.

use isoscope_history::Outcome;
use isoscope_log::Class;

use crate::machine::{Step, World};
use crate::model::{Model, Order, Verdict};
use crate::mutate;
use crate::paper;
use crate::random::Random;
use crate::statement::{Change, Compare, Condition, Filter, Image, Statement, What};
use crate::tiny::{Given, TinyEntry, TinyLog};

/// How large and how varied logs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The most transactions.
    pub txns: u64,
    /// The most statements of a transaction, without BEGIN and COMMIT.
    pub statements: u64,
    /// The most rows at the beginning; there is one more key.
    pub rows: u64,
}

impl Size {
    /// The largest that the judge is meant for.
    pub const TINY: Size = Size { txns: 4, statements: 3, rows: 3 };
}

/// A correct log of an engine model. For a paper's model the log is that of a random engine, which is usually correct.
pub fn correct(model: Model, size: Size, random: &mut Random) -> TinyLog {
    match model {
        Model::PgRc | Model::PgRr | Model::Sqlite => run(model, size, random),
        Model::PgSer => loop {
            let log = run(model, size, random);
            if crate::judge(&log, model, Order::Solve) == Verdict::Explained {
                return log;
            }
        },
        _ => {
            let engine = *random.pick(&Model::ENGINES);
            run(engine, size, random)
        }
    }
}

/// A random log to be judged by a model: a correct one, a changed one, or one of another engine. Many are correct, and many are not.
pub fn any(model: Model, size: Size, random: &mut Random) -> TinyLog {
    let engine = match model {
        Model::PgRc | Model::PgRr | Model::PgSer | Model::Sqlite if random.percent(70) => model,
        _ => *random.pick(&Model::ENGINES),
    };
    let mut log = run(engine, size, random);
    if Model::PAPER.contains(&model) && random.percent(50) {
        paper::answer(&mut log, model, random);
    }
    if random.percent(60) {
        blur(&mut log, random);
    }
    if random.percent(50) {
        log = mutate::any(&log, random).0;
    }
    log
}

/// Makes the intervals of statements longer. What was correct stays correct.
pub fn blur(log: &mut TinyLog, random: &mut Random) {
    let most = *random.pick(&[1, 4, 15, 40]);
    for session in 0..log.sessions() {
        let entries: Vec<usize> =
            (0..log.entries.len()).filter(|&e| log.entries[e].session == session).collect();
        let mut last = 0;
        for (i, &e) in entries.iter().enumerate() {
            let next = entries.get(i + 1).map_or(u64::MAX, |&next| log.entries[next].sent);
            let entry = &mut log.entries[e];
            entry.sent = entry.sent.saturating_sub(random.below(most + 1)).max(last);
            entry.answered = (entry.answered + random.below(most + 1)).min(next);
            last = entry.answered;
        }
    }
}

/// A transaction to be sent.
#[derive(Clone, Debug)]
struct Program {
    txn: usize,
    statements: Vec<Statement>,
    is_autocommit: bool,
    /// Whether the client stops before the end.
    is_cut: bool,
}

/// What a session is doing.
enum Phase {
    Idle,
    Sent(usize),
    Running(usize),
    Ready(usize, Given, Option<Outcome>),
}

struct Session {
    programs: Vec<Program>,
    /// The next statement of the first program.
    next: usize,
    phase: Phase,
}

struct Client<'a> {
    model: Model,
    random: &'a mut Random,
    world: World,
    log: TinyLog,
    sessions: Vec<Session>,
    /// Transactions with unknown outcome that are still to commit.
    limbo: Vec<usize>,
    clock: u64,
}

fn run(model: Model, size: Size, random: &mut Random) -> TinyLog {
    let style = Style::new(random);
    let rows = random.below(size.rows + 1).max(1);
    let initial: Vec<Image> =
        (1..=rows as i64).map(|k| Image { k, v: style.clone().value(random, true) }).collect();
    let count = *random.pick(&[1, 2, 2, 3, 3, 4]);
    let mut sessions: Vec<Session> =
        (0..count).map(|_| Session { programs: Vec::new(), next: 0, phase: Phase::Idle }).collect();
    let txns = (1 + random.below(size.txns)).max(1 + random.below(size.txns)) as usize;
    let mut style = style;
    for txn in 0..txns {
        let session = &mut sessions[random.below(count as u64) as usize];
        if session.programs.last().is_none_or(|last| !last.is_cut) {
            session.programs.push(program(txn, size, &mut style, random));
        }
    }
    let world = World::new((0..).zip(initial.iter().copied()).collect(), txns);
    let log = TinyLog { initial, entries: Vec::new() };
    let mut client = Client { model, random, world, log, sessions, limbo: Vec::new(), clock: 1 };
    client.run();
    tidy(client.log)
}

/// Numbers sessions and transactions without gaps, and removes what was not answered.
fn tidy(mut log: TinyLog) -> TinyLog {
    log.entries.retain(|entry| entry.answered != u64::MAX);
    let mut names: Vec<usize> = Vec::new();
    for entry in &mut log.entries {
        let place = names.iter().position(|&name| name == entry.txn).unwrap_or_else(|| {
            names.push(entry.txn);
            names.len() - 1
        });
        entry.txn = place;
    }
    let mut sessions: Vec<usize> = log.entries.iter().map(|entry| entry.session).collect();
    sessions.sort_unstable();
    sessions.dedup();
    for entry in &mut log.entries {
        entry.session = sessions.iter().position(|&name| name == entry.session).unwrap_or(0);
    }
    log
}

impl Client<'_> {
    fn run(&mut self) {
        let stickiness = *self.random.pick(&[0, 30, 60, 85, 95]);
        let mut session = 0;
        let mut blocked = 0;
        while self.sessions.iter().any(|s| !s.programs.is_empty()) {
            if !self.random.percent(stickiness) || self.sessions[session].programs.is_empty() || blocked > 0 {
                session = self.random.below(self.sessions.len() as u64) as usize;
            }
            if self.sessions[session].programs.is_empty() {
                continue;
            }
            if !self.limbo.is_empty() && self.random.percent(10) {
                let txn = self.limbo.swap_remove(0);
                self.world.commit(txn);
            }
            blocked = if self.act(session, blocked > 40) { 0 } else { blocked + 1 };
            self.clock += *self.random.pick(&[0, 1, 1, 2, 3]);
        }
    }

    /// Lets a session act; whether it could. A victim that cannot gets an error.
    fn act(&mut self, session: usize, is_victim: bool) -> bool {
        match std::mem::replace(&mut self.sessions[session].phase, Phase::Idle) {
            Phase::Idle => self.send(session),
            Phase::Sent(e) | Phase::Running(e) => return self.step(session, e, is_victim),
            Phase::Ready(e, given, outcome) => self.receive(session, e, given, outcome),
        }
        true
    }

    fn send(&mut self, session: usize) {
        let Session { programs, next, .. } = &self.sessions[session];
        let program = &programs[0];
        self.log.entries.push(TinyEntry {
            session,
            txn: program.txn,
            statement: program.statements[*next].clone(),
            has_params: self.random.percent(30),
            given: Given::Count(0),
            sent: self.clock,
            answered: u64::MAX,
            outcome: None,
        });
        self.sessions[session].phase = Phase::Sent(self.log.entries.len() - 1);
    }

    fn step(&mut self, session: usize, e: usize, is_victim: bool) -> bool {
        let statement = self.log.entries[e].statement.clone();
        let txn = self.log.entries[e].txn;
        let is_running = self.world.txns[txn].doing.is_some();
        self.sessions[session].phase = if is_running { Phase::Running(e) } else { Phase::Sent(e) };
        if !is_running && statement != Statement::Begin && self.random.percent(2) {
            self.lose(session, e);
            return true;
        }
        let before = self.world.clone();
        let step = match statement {
            Statement::Begin => Step::Done(Given::Count(0)),
            Statement::Commit => {
                self.world.commit(txn);
                self.ready(session, e, Given::Count(0), Some(Outcome::Committed));
                return true;
            }
            Statement::Rollback => {
                self.world.abort(txn);
                self.ready(session, e, Given::Count(0), Some(Outcome::Aborted));
                return true;
            }
            _ if !is_running => self.world.start(self.model, txn, e, &statement),
            Statement::Insert(row) => self.world.insert_row(txn, e, row),
            _ => {
                let todo: Vec<_> =
                    self.world.txns[txn].doing.iter().flat_map(|doing| doing.todo.iter().copied()).collect();
                let row = *self.random.pick(&todo);
                self.world.change_row(self.model, txn, &statement, row)
            }
        };
        match step {
            Step::Blocked if is_victim => {
                self.world = before;
                self.done(session, e, Given::Error(Class::Deadlock));
            }
            Step::Blocked => {
                self.world = before;
                return false;
            }
            Step::Going => self.sessions[session].phase = Phase::Running(e),
            Step::Done(given) => self.done(session, e, given),
        }
        true
    }

    /// The connection is lost, or the database refuses to go on.
    fn lose(&mut self, session: usize, e: usize) {
        let (txn, statement) = (self.log.entries[e].txn, self.log.entries[e].statement.clone());
        let commits = statement == Statement::Commit;
        if self.random.percent(40) && statement != Statement::Rollback {
            let class = if self.model == Model::Sqlite { Class::Busy } else { Class::Serialization };
            if commits {
                self.world.abort(txn);
                self.ready(session, e, Given::Error(class), Some(Outcome::Aborted));
            } else {
                self.done(session, e, Given::Error(class));
            }
            return;
        }
        let outcome = if commits { Outcome::Unknown } else { Outcome::Aborted };
        match self.random.below(3) {
            _ if !commits => self.world.abort(txn),
            0 => self.world.abort(txn),
            1 => self.world.commit(txn),
            _ => self.limbo.push(txn),
        }
        let is_autocommit = self.sessions[session].programs[0].is_autocommit;
        let outcome = if is_autocommit { Outcome::Unknown } else { outcome };
        self.ready(session, e, Given::Error(Class::Connection), Some(outcome));
    }

    /// A statement is over: an error ends the transaction in PostgreSQL, and an autocommit statement ends anyway.
    fn done(&mut self, session: usize, e: usize, given: Given) {
        let txn = self.log.entries[e].txn;
        let is_autocommit = self.sessions[session].programs[0].is_autocommit;
        let is_error = matches!(given, Given::Error(_));
        if is_error && (is_autocommit || self.model != Model::Sqlite) {
            self.world.abort(txn);
        } else if is_autocommit {
            self.world.commit(txn);
        }
        if is_error && !is_autocommit && self.model != Model::Sqlite {
            // The rest is ROLLBACK.
            let session = &mut self.sessions[session];
            session.programs[0].statements.truncate(session.next + 1);
            session.programs[0].statements.push(Statement::Rollback);
        }
        let outcome = if is_error { Outcome::Aborted } else { Outcome::Committed };
        self.ready(session, e, given, is_autocommit.then_some(outcome));
    }

    fn ready(&mut self, session: usize, e: usize, given: Given, outcome: Option<Outcome>) {
        self.sessions[session].phase = Phase::Ready(e, given, outcome);
    }

    fn receive(&mut self, session: usize, e: usize, given: Given, outcome: Option<Outcome>) {
        let entry = &mut self.log.entries[e];
        (entry.given, entry.outcome, entry.answered) = (given, outcome, self.clock);
        let session = &mut self.sessions[session];
        session.next += 1;
        if outcome.is_some() || session.next == session.programs[0].statements.len() {
            session.programs.remove(0);
            session.next = 0;
        }
    }
}

/// What the statements of a log are like.
#[derive(Clone, Debug)]
struct Style {
    /// Whether written values are distinct.
    is_distinct: bool,
    has_nulls: bool,
    next: i64,
    keys: u64,
}

impl Style {
    fn new(random: &mut Random) -> Style {
        Style {
            is_distinct: random.percent(50),
            has_nulls: random.percent(25),
            next: 10,
            keys: 1 + random.below(3),
        }
    }

    fn value(&mut self, random: &mut Random, is_initial: bool) -> Option<i64> {
        if self.has_nulls && random.percent(20) {
            return None;
        }
        if is_initial || !self.is_distinct {
            return Some(random.below(3) as i64);
        }
        self.next += 10;
        Some(self.next)
    }

    fn filter(&self, random: &mut Random) -> Filter {
        let compare = *random.pick(&[Compare::Equal, Compare::Unequal, Compare::Less, Compare::AtLeast]);
        let key = 1 + random.below(self.keys) as i64;
        let value = if self.is_distinct && random.percent(50) {
            10 * random.below(5) as i64
        } else {
            random.below(3) as i64
        };
        match random.below(12) {
            0..=5 => vec![Condition::Key(Compare::Equal, key)],
            6 | 7 => Vec::new(),
            8 => vec![Condition::Key(compare, key)],
            9 => vec![Condition::Value(compare, value), Condition::Key(Compare::AtLeast, key)],
            10 if self.has_nulls => vec![Condition::Null],
            _ => vec![Condition::Value(compare, value)],
        }
    }

    fn statement(&mut self, random: &mut Random) -> Statement {
        match random.below(20) {
            0..=5 => Statement::Select(*random.pick(&[What::Rows, What::Sorted]), self.filter(random)),
            6..=8 => {
                let what = *random.pick(&[What::Sum, What::Sum, What::Count, What::Max, What::Min]);
                Statement::Select(what, self.filter(random))
            }
            9..=15 => {
                let change = match random.below(8) {
                    0..=3 => Change::Add(if self.is_distinct { 10 } else { 1 }),
                    4 => Change::Double,
                    _ => Change::To(self.value(random, false)),
                };
                Statement::Update(change, self.filter(random))
            }
            16 | 17 => Statement::Delete(self.filter(random)),
            _ => {
                let k = 1 + random.below(self.keys + 1) as i64;
                Statement::Insert(Image { k, v: self.value(random, false) })
            }
        }
    }
}

fn program(txn: usize, size: Size, style: &mut Style, random: &mut Random) -> Program {
    if random.percent(20) {
        let statements = vec![style.statement(random)];
        return Program { txn, statements, is_autocommit: true, is_cut: false };
    }
    let count = 1 + random.below(size.statements);
    let mut statements = vec![Statement::Begin];
    statements.extend((0..count).map(|_| style.statement(random)));
    let is_cut = random.percent(6);
    if !is_cut {
        statements.push(if random.percent(10) { Statement::Rollback } else { Statement::Commit });
    }
    Program { txn, statements, is_autocommit: false, is_cut }
}
