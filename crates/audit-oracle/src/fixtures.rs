//! Logs with known verdicts: the corpus in `corpus/audit/`.
//!
//! Each fixture says what each model must answer. For fixtures over the tiny table the judge computes the verdicts of all models; what the
//! paper says about them is asserted in `tests/corpus.rs`. For the others, the verdict is written here.

use isoscope_history::Outcome;
use isoscope_log::{Answer, Class, Ending, Entry, Failure, LOADER, Log, LogHeader, Scalar, Stamps, Vendor};

use crate::model::{Model, Order, Verdict};
use crate::random::Random;
use crate::statement::{Change, Compare, Condition, Filter, Image, Statement, What};
use crate::tiny::{Given, TinyEntry, TinyLog, text_of};

/// A log with its verdicts.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// The file, without `.jsonl`.
    pub name: String,
    /// Its text.
    pub text: String,
    /// What the models answer.
    pub expected: Vec<Expected>,
}

/// What a model answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The model.
    pub model: Model,
    /// Where its order comes from.
    pub order: Order,
    /// The verdict; the entry is one of the whole log.
    pub verdict: Verdict,
    /// Whom a violation is blamed on: `isolation`, `semantic`, or `-` where it is open or there is none.
    pub blame: &'static str,
}

impl Expected {
    /// A line of `expected.tsv`, after the name.
    pub fn line(&self) -> String {
        let order = match self.order {
            Order::Solve => "solve",
            Order::Timestamps => "timestamps",
        };
        let (verdict, entry) = match self.verdict {
            Verdict::Explained => ("explained", "-".to_owned()),
            Verdict::Violated(entry) => ("violated", entry.to_string()),
        };
        format!("{}\t{order}\t{verdict}\t{entry}\t{}", self.model.name(), self.blame)
    }
}

/// All fixtures.
pub fn all() -> Vec<Fixture> {
    let mut all = vec![tiny("figure-1", &figure_1(), "isolation"), procedures()];
    for k in [10, 12, 20, 40] {
        for read in [66, 400] {
            all.push(figure_8_fixture(k, read));
        }
    }
    all.extend(anomalies().into_iter().map(|(name, log)| tiny(name, &log, "-")));
    all.extend(queries());
    all.extend(industrial());
    all
}

/// A fixture over the tiny table, judged by all models.
fn tiny(name: &str, log: &TinyLog, blame: &'static str) -> Fixture {
    let mut expected = Vec::new();
    let both = [Order::Solve, Order::Timestamps];
    let orders = |model: Model| if Model::ENGINES.contains(&model) { &both[..1] } else { &both[..] };
    for model in Model::ENGINES.into_iter().chain(Model::PAPER) {
        for &order in orders(model) {
            let verdict = match crate::judge(log, model, order) {
                Verdict::Violated(entry) => Verdict::Violated(entry + TinyLog::LOADED),
                Verdict::Explained => Verdict::Explained,
            };
            let blame = if verdict == Verdict::Explained { "-" } else { blame };
            expected.push(Expected { model, order, verdict, blame });
        }
    }
    Fixture { name: name.to_owned(), text: log.to_text(Model::PgRr), expected }
}

/// Writes tiny logs statement by statement. A statement takes 5 ns, and 5 ns pass until the next, unless it is given times.
struct Pen {
    log: TinyLog,
    clock: u64,
}

fn key(k: i64) -> Filter {
    vec![Condition::Key(Compare::Equal, k)]
}

fn image(k: i64, v: i64) -> Image {
    Image { k, v: Some(v) }
}

fn rows(rows: &[(i64, i64)]) -> Given {
    Given::Rows(rows.iter().map(|&(k, v)| vec![Some(k), Some(v)]).collect())
}

fn add(n: i64, k: i64) -> Statement {
    Statement::Update(Change::Add(n), key(k))
}

fn set(v: i64, k: i64) -> Statement {
    Statement::Update(Change::To(Some(v)), key(k))
}

fn read(k: i64) -> Statement {
    Statement::Select(What::Rows, key(k))
}

impl Pen {
    fn new(initial: &[(i64, i64)]) -> Pen {
        let initial = initial.iter().map(|&(k, v)| image(k, v)).collect();
        Pen { log: TinyLog { initial, entries: Vec::new() }, clock: 10 }
    }

    /// A statement of transaction `txn` from 1, in a session of its own.
    fn run(&mut self, txn: usize, statement: Statement, given: Given) {
        let times = (self.clock, self.clock + 5);
        self.run_at(txn, statement, given, times);
    }

    fn run_at(&mut self, txn: usize, statement: Statement, given: Given, (sent, answered): (u64, u64)) {
        let outcome = match statement {
            Statement::Commit => Some(Outcome::Committed),
            Statement::Rollback => Some(Outcome::Aborted),
            _ => None,
        };
        let (session, txn) = (txn - 1, txn - 1);
        let entry = TinyEntry { session, txn, statement, has_params: false, given, sent, answered, outcome };
        self.log.entries.push(entry);
        self.clock = self.clock.max(answered + 5);
    }

    fn begin(&mut self, txn: usize) {
        self.run(txn, Statement::Begin, Given::Count(0));
    }

    fn update(&mut self, txn: usize, statement: Statement) {
        self.run(txn, statement, Given::Count(1));
    }

    fn commit(&mut self, txn: usize) {
        self.run(txn, Statement::Commit, Given::Count(0));
    }

    fn rollback(&mut self, txn: usize) {
        self.run(txn, Statement::Rollback, Given::Count(0));
    }

    /// A transaction of one query.
    fn check(&mut self, txn: usize, statement: Statement, given: Given) {
        self.begin(txn);
        self.run(txn, statement, given);
        self.commit(txn);
    }
}

/// The paper's Figure 1: a transfer of 10 from account 1 to account 2, a deposit of 100 into account 2, and
/// during it another transfer, all of which commit; a balance-check of account 2 returns 420.
pub fn figure_1() -> TinyLog {
    let mut pen = Pen::new(&[(1, 100), (2, 300)]);
    pen.begin(1);
    pen.update(1, add(10, 2));
    pen.update(1, add(-10, 1));
    pen.commit(1);
    pen.begin(2);
    pen.begin(3);
    pen.update(2, add(100, 2));
    pen.commit(2);
    pen.update(3, add(10, 2));
    pen.update(3, add(-10, 1));
    pen.commit(3);
    pen.check(4, read(2), rows(&[(2, 420)]));
    pen.log
}

/// Figure 8: `k - 1` transfers of 10 from account 1 to account 2, and a read of account 2. The transactions do not overlap.
pub fn figure_8(k: usize, balance: i64) -> TinyLog {
    let mut pen = Pen::new(&[(1, 100), (2, 300)]);
    for txn in 1..k {
        pen.begin(txn);
        pen.update(txn, add(10, 2));
        pen.update(txn, add(-10, 1));
        pen.commit(txn);
    }
    pen.run(k, read(2), rows(&[(2, balance)]));
    if let Some(last) = pen.log.entries.last_mut() {
        last.outcome = Some(Outcome::Committed);
    }
    pen.log
}

/// Figure 8 with its verdicts, which follow from arithmetic: at paper-rc a transfer may read from any state, so that account 2
/// can have `300 + 10 n` for `n` up to `k - 1`. Everywhere else it has `300 + 10 (k - 1)` in the end; paper-s and paper-si
/// have no time, so that the read can be anywhere.
fn figure_8_fixture(k: usize, balance: i64) -> Fixture {
    let log = figure_8(k, balance);
    let last = log.entries.len() - 1 + TinyLog::LOADED;
    let steps = (balance - 300) / 10;
    let is_step = (balance - 300) % 10 == 0 && (0..k as i64).contains(&steps);
    let mut expected = Vec::new();
    for model in Model::ENGINES.into_iter().chain(Model::PAPER) {
        for order in [Order::Solve, Order::Timestamps] {
            let is_engine = Model::ENGINES.contains(&model);
            if is_engine && order == Order::Timestamps {
                continue;
            }
            let is_timeless = match model {
                Model::PaperRc | Model::PaperSi => true,
                Model::PaperS => order == Order::Solve,
                _ => false,
            };
            let is_explained = is_step && (is_timeless || steps == k as i64 - 1);
            let verdict = if is_explained { Verdict::Explained } else { Verdict::Violated(last) };
            // No transaction can have written 66.
            let blame = if !is_explained && balance == 66 { "semantic" } else { "-" };
            expected.push(Expected { model, order, verdict, blame });
        }
    }
    Fixture { name: format!("figure-8-{k}-{balance}"), text: log.to_text(Model::PgRc), expected }
}

/// The twelve anomalies of section 8.2.
#[expect(clippy::too_many_lines, reason = "one paragraph for each anomaly")]
pub fn anomalies() -> Vec<(&'static str, TinyLog)> {
    let xy = [(1, 10), (2, 20)];
    let mut all = Vec::new();

    let mut pen = Pen::new(&xy);
    pen.begin(1);
    pen.update(1, add(100, 1));
    pen.rollback(1);
    pen.begin(2);
    pen.update(2, add(1, 1));
    pen.commit(2);
    pen.check(3, read(1), rows(&[(1, 111)]));
    all.push(("dirty-update", pen.log));

    let mut pen = Pen::new(&xy);
    pen.begin(1);
    pen.update(1, add(100, 1));
    pen.commit(1);
    pen.check(2, read(1), rows(&[(1, 210)]));
    all.push(("duplicate-write", pen.log));

    // The second write replaces the first before the first transaction ends, and it sees that.
    let mut pen = Pen::new(&xy);
    pen.begin(1);
    pen.begin(2);
    pen.update(1, set(11, 1));
    pen.update(2, set(12, 1));
    pen.run(1, read(1), rows(&[(1, 12)]));
    pen.commit(1);
    pen.commit(2);
    all.push(("dirty-write", pen.log));

    // Adya's G0: the final x is the first transaction's, the final y the second's.
    let mut pen = Pen::new(&xy);
    pen.begin(1);
    pen.begin(2);
    pen.update(1, set(11, 1));
    pen.update(2, set(12, 1));
    pen.update(2, set(22, 2));
    pen.update(1, set(21, 2));
    pen.commit(1);
    pen.commit(2);
    pen.check(3, Statement::Select(What::Rows, Vec::new()), rows(&[(1, 12), (2, 21)]));
    all.push(("dirty-write-crossed", pen.log));

    let mut pen = Pen::new(&xy);
    pen.begin(1);
    pen.update(1, set(11, 1));
    pen.begin(2);
    pen.run(2, read(1), rows(&[(1, 11)]));
    pen.commit(2);
    pen.rollback(1);
    all.push(("aborted-read", pen.log));

    let mut pen = Pen::new(&xy);
    pen.begin(1);
    pen.update(1, set(11, 1));
    pen.commit(1);
    pen.check(2, read(1), rows(&[(1, 7)]));
    all.push(("garbage-read", pen.log));

    let mut pen = Pen::new(&xy);
    pen.begin(1);
    pen.update(1, set(11, 1));
    pen.begin(2);
    pen.run(2, read(1), rows(&[(1, 11)]));
    pen.update(1, set(12, 1));
    pen.commit(1);
    pen.commit(2);
    all.push(("intermediate-read", pen.log));

    let mut pen = Pen::new(&xy);
    pen.begin(1);
    pen.begin(2);
    pen.update(1, set(11, 1));
    pen.update(2, set(21, 2));
    pen.run(1, read(2), rows(&[(2, 21)]));
    pen.run(2, read(1), rows(&[(1, 11)]));
    pen.commit(1);
    pen.commit(2);
    all.push(("circular-information-flow", pen.log));

    let above = |n| vec![Condition::Value(Compare::AtLeast, n)];
    let mut pen = Pen::new(&xy);
    pen.begin(1);
    pen.run(1, Statement::Select(What::Rows, above(20)), rows(&[(2, 20)]));
    pen.begin(2);
    pen.update(2, Statement::Insert(image(3, 30)));
    pen.commit(2);
    pen.run(1, Statement::Select(What::Rows, above(20)), rows(&[(2, 20), (3, 30)]));
    pen.commit(1);
    all.push(("phantom", pen.log));

    let mut pen = Pen::new(&xy);
    pen.begin(1);
    pen.begin(2);
    pen.run(1, read(1), rows(&[(1, 10)]));
    pen.run(2, read(1), rows(&[(1, 10)]));
    pen.update(1, set(11, 1));
    pen.commit(1);
    pen.update(2, set(12, 1));
    pen.commit(2);
    all.push(("lost-update", pen.log));

    let mut pen = Pen::new(&xy);
    pen.begin(1);
    pen.run(1, read(1), rows(&[(1, 10)]));
    pen.begin(2);
    pen.update(2, set(11, 1));
    pen.update(2, set(21, 2));
    pen.commit(2);
    pen.run(1, read(2), rows(&[(2, 21)]));
    pen.commit(1);
    all.push(("read-skew", pen.log));

    let mut pen = Pen::new(&xy);
    pen.begin(1);
    pen.run(1, read(1), rows(&[(1, 10)]));
    pen.begin(2);
    pen.update(2, set(11, 1));
    pen.commit(2);
    pen.run(1, read(1), rows(&[(1, 11)]));
    pen.commit(1);
    all.push(("internal-inconsistency", pen.log));

    let mut pen = Pen::new(&xy);
    let sum = Statement::Select(What::Sum, Vec::new());
    let thirty = Given::Rows(vec![vec![Some(30)]]);
    pen.begin(1);
    pen.begin(2);
    pen.run(1, sum.clone(), thirty.clone());
    pen.run(2, sum, thirty);
    pen.update(1, add(-25, 1));
    pen.update(2, add(-25, 2));
    pen.commit(1);
    pen.commit(2);
    all.push(("write-skew", pen.log));
    all
}

/// A correct log of 50 one-operation transactions at read committed: each reads or writes one of 10 keys, and there are 100
/// values, as in section 8.2. The reads are from committed states that are not older than the last one by more than 3.
pub fn one_operation(seed: u64) -> TinyLog {
    let random = &mut Random::new(seed);
    let initial: Vec<(i64, i64)> = (1..=10).map(|k| (k, 0)).collect();
    let mut pen = Pen::new(&initial);
    let mut states = vec![initial];
    for txn in 1..=50 {
        let place = random.below(10) as usize;
        let k = place as i64 + 1;
        if random.percent(50) {
            let v = 1 + random.below(100) as i64;
            pen.update(txn, set(v, k));
            let mut next = states[states.len() - 1].clone();
            next[place].1 = v;
            states.push(next);
        } else {
            let back = random.below(4).min(states.len() as u64 - 1) as usize;
            let row = states[states.len() - 1 - back][place];
            pen.run(txn, read(k), rows(&[row]));
        }
        if let Some(last) = pen.log.entries.last_mut() {
            last.outcome = Some(Outcome::Committed);
        }
    }
    pen.log
}

/// A log of SQL that is written down here.
struct Script {
    log: Log,
    clock: u64,
}

impl Script {
    fn new(vendor: Vendor, database: &str, isolation: &str, schema: &[&str]) -> Script {
        let header = LogHeader {
            database: database.to_owned(),
            vendor,
            isolation: isolation.to_owned(),
            workload: "fixture".to_owned(),
            parameters: None,
            sessions: None,
            seed: None,
            schema: schema.iter().map(|&text| text.to_owned()).collect(),
        };
        Script { log: Log { header, entries: Vec::new(), warnings: Vec::new() }, clock: 10 }
    }

    fn line(
        &mut self,
        session: Scalar,
        txn: Scalar,
        sql: &str,
        answer: Result<Answer, Failure>,
        is_last: bool,
    ) {
        let number = self.log.entries.iter().filter(|entry| entry.txn == txn).count() as u32;
        let committed = Ending { outcome: Outcome::Committed, stamps: Stamps::default() };
        let failed = Ending { outcome: Outcome::Aborted, stamps: Stamps::default() };
        let ending = if answer.is_ok() { committed } else { failed };
        self.log.entries.push(Entry {
            session,
            txn,
            number,
            sql: sql.to_owned(),
            params: Vec::new(),
            answer,
            sent: self.clock,
            answered: self.clock + 5,
            ending: is_last.then_some(ending),
        });
        self.clock += 10;
    }

    /// The loader's transaction.
    fn load(&mut self, statements: &[(&str, u64)]) {
        let (session, txn) = (Scalar::from(LOADER), Scalar::from("load"));
        self.line(session.clone(), txn.clone(), "BEGIN", Ok(Answer::Count(0)), false);
        for &(sql, count) in statements {
            self.line(session.clone(), txn.clone(), sql, Ok(Answer::Count(count)), false);
        }
        self.line(session, txn, "COMMIT", Ok(Answer::Count(0)), true);
    }

    /// A statement in a transaction that others follow.
    fn step(&mut self, txn: i64, sql: &str, answer: Answer) {
        self.line(Scalar::Int(txn), Scalar::Int(txn), sql, Ok(answer), false);
    }

    /// The last or only statement of a transaction.
    fn end(&mut self, txn: i64, sql: &str, answer: Result<Answer, Failure>) {
        self.line(Scalar::Int(txn), Scalar::Int(txn), sql, answer, true);
    }

    /// The log, in which each of these models must find this verdict.
    fn fixture(self, name: &str, models: &[Model], is_right: bool, blame: &'static str) -> Fixture {
        let last = self.log.entries.len() - 1;
        let verdict = if is_right { Verdict::Explained } else { Verdict::Violated(last) };
        let blame = if is_right { "-" } else { blame };
        let expected = models
            .iter()
            .flat_map(|&model| [Order::Solve, Order::Timestamps].map(|order| (model, order)))
            .filter(|(model, order)| *order == Order::Solve || Model::PAPER.contains(model))
            .map(|(model, order)| Expected { model, order, verdict, blame })
            .collect();
        Fixture { name: name.to_owned(), text: text_of(&self.log), expected }
    }
}

/// Figure 1 with the stored procedures of Figure 2. MariaDB counts the rows of all statements of a call.
fn procedures() -> Fixture {
    let schema = [
        "CREATE TABLE accounts (acc_id INT PRIMARY KEY, balance DECIMAL(12,2))",
        "CREATE PROCEDURE Deposit (IN tgt INT, IN amt DECIMAL(12,2)) BEGIN UPDATE accounts SET balance = balance + amt WHERE acc_id = tgt; END",
        "CREATE PROCEDURE Transfer (IN src INT, IN tgt INT, IN amt DECIMAL(12,2)) BEGIN CALL Deposit(tgt, amt); UPDATE accounts SET balance = balance - amt WHERE acc_id = src; END",
    ];
    let mut script = Script::new(Vendor::MariaDb, "MariaDB 11", "snapshot", &schema);
    script.load(&[("INSERT INTO accounts VALUES (1, 100), (2, 300)", 2)]);
    let none = || Answer::Count(0);
    script.step(1, "BEGIN", none());
    script.step(1, "CALL Transfer(1, 2, 10)", Answer::Count(2));
    script.end(1, "COMMIT", Ok(none()));
    script.step(2, "BEGIN", none());
    script.step(3, "BEGIN", none());
    script.step(2, "CALL Deposit(2, 100)", Answer::Count(1));
    script.end(2, "COMMIT", Ok(none()));
    script.step(3, "CALL Transfer(1, 2, 10)", Answer::Count(2));
    script.end(3, "COMMIT", Ok(none()));
    let conflict = script.log.entries.len() - 1;
    let balance = Answer::Rows(vec![vec![Scalar::from("420.00")]]);
    script.end(4, "SELECT balance FROM accounts WHERE acc_id = 2", Ok(balance));
    let mut fixture = script.fixture("figure-1-procedures", &Model::PAPER, true, "-");
    for expected in fixture.expected.iter_mut().filter(|expected| expected.model == Model::PaperSsi) {
        (expected.verdict, expected.blame) = (Verdict::Violated(conflict), "isolation");
    }
    // With any snapshot before the end, the state after transaction 2 is one.
    fixture
}

/// A query of one table or two, its correct answer and the wrong one.
struct Query {
    name: &'static str,
    schema: &'static [&'static str],
    load: &'static [(&'static str, u64)],
    sql: &'static str,
    right: Vec<Vec<Scalar>>,
    /// `None` is error 1032.
    wrong: Option<Vec<Vec<Scalar>>>,
}

/// Queries like those of section 8.2: each shows the trap of one bug that `SQLancer` found. The statements are ours.
fn queries() -> Vec<Fixture> {
    const ONE_TEXT: &[&str] = &["CREATE TABLE t0 (c0 TEXT)"];
    let int = Scalar::Int;
    let empty = || Some(Vec::new());
    let all = vec![
        Query {
            name: "mysql-2-null-in-subquery",
            schema: &["CREATE TABLE t0 (c0 INT PRIMARY KEY, c3 INT) ENGINE = MyISAM"],
            load: &[("INSERT IGNORE INTO t0 VALUES (1, 5)", 1), ("REPLACE INTO t0 VALUES (1, 6)", 2)],
            sql: "SELECT c0 FROM t0 WHERE NULL IN (SELECT c3 FROM t0 WHERE c0)",
            right: vec![],
            wrong: None,
        },
        Query {
            name: "mysql-3-null-in-subquery-heap",
            schema: &["CREATE TABLE t0 (c0 INT PRIMARY KEY, c3 INT) ENGINE = HEAP"],
            load: &[("INSERT IGNORE INTO t0 VALUES (1, 5)", 1), ("REPLACE INTO t0 VALUES (1, 6)", 2)],
            sql: "SELECT c0 FROM t0 WHERE NULL IN (SELECT c3 FROM t0 WHERE c0)",
            right: vec![],
            wrong: None,
        },
        Query {
            name: "mysql-9-if-decimal",
            schema: &["CREATE TABLE t0 (c0 INT)"],
            load: &[("INSERT INTO t0 VALUES (1)", 1)],
            sql: "SELECT c0 FROM t0 WHERE IF(FALSE, c0, 0.1)",
            right: vec![vec![int(1)]],
            wrong: empty(),
        },
        Query {
            name: "mysql-15-text-as-truth",
            schema: ONE_TEXT,
            load: &[("INSERT INTO t0 VALUES ('0.9')", 1)],
            sql: "SELECT c0 FROM t0 WHERE c0",
            right: vec![vec![Scalar::from("0.9")]],
            wrong: empty(),
        },
        Query {
            name: "mysql-16-cast-unsigned",
            schema: &["CREATE TABLE t0 (c0 INT)"],
            load: &[("INSERT INTO t0 VALUES (NULL)", 1)],
            sql: "SELECT c0 FROM t0 WHERE CAST(COALESCE(c0, -1) AS UNSIGNED) AND CAST(IFNULL(c0, -1) AS UNSIGNED) = 18446744073709551615",
            right: vec![vec![Scalar::Null]],
            wrong: empty(),
        },
        Query {
            name: "mysql-18-text-in-logic",
            schema: ONE_TEXT,
            load: &[("INSERT INTO t0 VALUES ('0.5')", 1)],
            sql: "SELECT c0 FROM t0 WHERE (c0 AND TRUE) AND (c0 OR FALSE) AND (c0 XOR FALSE)",
            right: vec![vec![Scalar::from("0.5")]],
            wrong: empty(),
        },
        Query {
            name: "mysql-19-text-in-bits",
            schema: &["CREATE TABLE t0 (c0 INT)"],
            load: &[("INSERT INTO t0 VALUES (0)", 1)],
            sql: "SELECT '\n1' & 1, '\n1' | 1, '\n1' ^ 1 FROM t0",
            right: vec![vec![int(1), int(1), int(0)]],
            wrong: Some(vec![vec![int(0), int(1), int(1)]]),
        },
        Query {
            name: "tidb-1-not-not",
            schema: &["CREATE TABLE t0 (c0 INT)"],
            load: &[("INSERT INTO t0 VALUES (7)", 1)],
            sql: "SELECT c0 FROM t0 WHERE (NOT NOT c0) = c0",
            right: vec![],
            wrong: Some(vec![vec![int(7)]]),
        },
        Query {
            name: "tidb-3-and-fraction",
            schema: &["CREATE TABLE t0 (c0 INT)"],
            load: &[("INSERT INTO t0 VALUES (3)", 1)],
            sql: "SELECT c0 FROM t0 WHERE 1 AND 0.4",
            right: vec![vec![int(3)]],
            wrong: empty(),
        },
        Query {
            name: "tidb-10-negative-zero",
            schema: &["CREATE TABLE t0 (c0 FLOAT)", "CREATE TABLE t1 (c0 FLOAT)"],
            load: &[("INSERT INTO t0 VALUES (0)", 1), ("INSERT INTO t1 VALUES (0)", 1)],
            sql: "SELECT COUNT(*) FROM t0 JOIN t1 ON t0.c0 = -t1.c0",
            right: vec![vec![int(1)]],
            wrong: Some(vec![vec![int(0)]]),
        },
        Query {
            name: "tidb-13-left-join-nulls",
            schema: &["CREATE TABLE t0 (c0 INT UNIQUE)", "CREATE TABLE t1 (c0 INT)"],
            load: &[("INSERT INTO t1 VALUES (0)", 1), ("INSERT INTO t0 VALUES (NULL), (NULL)", 2)],
            sql: "SELECT t1.c0 FROM t1 LEFT JOIN t0 ON 1",
            right: vec![vec![int(0)], vec![int(0)]],
            wrong: Some(vec![vec![int(0)]]),
        },
    ];
    all.into_iter().flat_map(|query| [query_fixture(&query, true), query_fixture(&query, false)]).collect()
}

fn query_fixture(query: &Query, is_right: bool) -> Fixture {
    let mut script = Script::new(Vendor::MySql, "MySQL 8", "serializable", query.schema);
    script.load(query.load);
    let not_found = Failure {
        class: Class::Other,
        code: Some("1032".to_owned()),
        message: "Can't find record in 't0'".to_owned(),
    };
    let answer = match (is_right, &query.wrong) {
        (true, _) => Ok(Answer::Rows(query.right.clone())),
        (false, Some(rows)) => Ok(Answer::Rows(rows.clone())),
        (false, None) => Err(not_found),
    };
    let is_error = answer.is_err();
    if is_error {
        // A transaction that goes on after the error, because the paper drops those that abort.
        script.step(1, "BEGIN", Answer::Count(0));
        script.line(Scalar::Int(1), Scalar::Int(1), query.sql, answer, false);
        script.end(1, "COMMIT", Ok(Answer::Count(0)));
    } else {
        script.end(1, query.sql, answer);
    }
    let name = format!("{}-{}", query.name, if is_right { "right" } else { "wrong" });
    script.fixture(&name, &Model::PAPER, is_right, "semantic")
}

/// The two bugs of section 8.5, right and wrong.
fn industrial() -> Vec<Fixture> {
    let mut all = Vec::new();
    let models = [Model::PgRc, Model::PgRr, Model::PgSer, Model::PaperS, Model::PaperSs, Model::PaperSsi];
    for is_right in [true, false] {
        let suffix = if is_right { "right" } else { "wrong" };
        let row = |id: i64, name: &str| vec![Scalar::Int(id), Scalar::from(name)];

        let mut script = Script::new(Vendor::Postgres, "PostgreSQL 15", "repeatable-read", &[]);
        script.step(1, "BEGIN", Answer::Count(0));
        script.step(1, "CREATE TABLE item (id INT PRIMARY KEY, name TEXT)", Answer::Count(0));
        script.step(1, "INSERT INTO item VALUES (1, 'a'), (2, 'b')", Answer::Count(2));
        script.end(1, "COMMIT", Ok(Answer::Count(0)));
        script.end(2, "SELECT id, name FROM item", Ok(Answer::Rows(vec![row(1, "a"), row(2, "b")])));
        let found = if is_right { vec![row(2, "b")] } else { Vec::new() };
        script.end(3, "SELECT id, name FROM item WHERE id = 2", Ok(Answer::Rows(found)));
        let name = format!("industrial-where-on-new-table-{suffix}");
        all.push(script.fixture(&name, &models, is_right, "-"));

        let schema = ["CREATE TABLE item (id INT PRIMARY KEY, name TEXT)"];
        let mut script = Script::new(Vendor::Postgres, "PostgreSQL 15", "repeatable-read", &schema);
        script.load(&[("INSERT INTO item VALUES (1, 'a'), (2, 'b')", 2)]);
        script.end(1, "UPDATE item SET name = 'c' WHERE id = 2", Ok(Answer::Count(1)));
        let found = if is_right { vec![row(2, "c")] } else { vec![row(2, "b"), row(2, "c")] };
        script.end(2, "SELECT id, name FROM item WHERE id = 2", Ok(Answer::Rows(found)));
        let name = format!("industrial-duplicate-rows-{suffix}");
        all.push(script.fixture(&name, &models, is_right, "-"));
    }
    all
}
