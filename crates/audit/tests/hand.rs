//! Small logs by hand, one for each rule.

use isoscope_audit::{AuditError, Blame, Model, Options, Rung, Verdict, audit, verify};

const HEAD: &str = r#"{"isoscope":"log","version":1,"database":"PostgreSQL 15","vendor":"postgres","isolation":"repeatable-read","workload":"hand","schema":["CREATE TABLE t (k INT PRIMARY KEY, v INT)"]}
{"session":"loader","txn":"load","number":0,"sql":"BEGIN","count":0,"times":[0,1]}
{"session":"loader","txn":"load","number":1,"sql":"INSERT INTO t (k, v) VALUES (1, 0), (2, 0)","count":2,"times":[2,3]}
{"session":"loader","txn":"load","number":2,"sql":"COMMIT","count":0,"times":[4,5],"outcome":"committed"}
"#;

/// Lines of `session txn sent answered sql => answer [outcome]`, as a log.
fn log_of(lines: &[&str]) -> isoscope_log::Log {
    let mut text = HEAD.to_owned();
    for line in lines {
        let (left, right) = line.split_once(" => ").expect("a line has an answer");
        let words: Vec<&str> = left.splitn(5, ' ').collect();
        let [session, txn, sent, answered, sql] = words[..] else { panic!("a line has five words") };
        let (answer, outcome) = right.split_once(" ; ").map_or((right, None), |(a, b)| (a, Some(b)));
        let outcome = outcome.map_or(String::new(), |outcome| format!(r#","outcome":"{outcome}""#));
        text += &format!(
            r#"{{"session":{session},"txn":{txn},"number":0,"sql":"{sql}",{answer},"times":[{sent},{answered}]{outcome}}}"#
        );
        text += "\n";
    }
    isoscope_log::read(text.as_bytes()).expect("the log is valid")
}

fn verdict(model: Model, lines: &[&str]) -> Result<Option<usize>, AuditError> {
    let log = log_of(lines);
    match audit(&log, &Options::new(model), &())?.verdict {
        Verdict::Explained(explanation) => {
            verify(&log, &explanation).expect("the explanation is right");
            Ok(None)
        }
        Verdict::Violated(violation) => Ok(Some(violation.entry - 3)),
        Verdict::Undecided(undecided) => panic!("undecided: {}", undecided.why),
    }
}

const SKEW: [&str; 8] = [
    r#"0 1 10 11 BEGIN => "count":0"#,
    r#"0 1 12 13 SELECT v FROM t WHERE k = 1 => "rows":[[0]]"#,
    r#"1 2 14 15 UPDATE t SET v = v + 1 => "count":2 ; committed"#,
    r#"0 1 16 17 SELECT v FROM t WHERE k = 2 => "rows":[[1]]"#,
    r#"0 1 18 19 COMMIT => "count":0 ; committed"#,
    r#"2 3 20 21 SELECT SUM(v) FROM t => "rows":[[2]] ; committed"#,
    r#"2 4 22 23 INSERT INTO t (k, v) VALUES (1, 5) => "error":{"class":"constraint","message":"duplicate"} ; aborted"#,
    r#"2 5 24 25 DELETE FROM t WHERE k = 1 => "count":1 ; committed"#,
];

#[test]
fn read_skew_is_allowed_at_read_committed_only() {
    assert_eq!(verdict(Model::PgRc, &SKEW), Ok(None));
    assert_eq!(verdict(Model::PgRr, &SKEW), Ok(Some(3)));
}

#[test]
fn a_stale_read_is_never_allowed() {
    let log = [
        r#"0 1 10 11 UPDATE t SET v = 7 WHERE k = 1 => "count":1 ; committed"#,
        r#"1 2 12 13 SELECT v FROM t WHERE k = 1 => "rows":[[0]] ; committed"#,
    ];
    for model in [Model::PgRc, Model::PgRr, Model::PgSer] {
        assert_eq!(verdict(model, &log), Ok(Some(1)));
    }
}

#[test]
fn an_unknown_outcome_is_decided_by_who_sees_it() {
    let log = [
        r#"0 1 10 11 UPDATE t SET v = 7 WHERE k = 1 => "error":{"class":"connection","message":"lost"} ; unknown"#,
        r#"1 2 12 13 SELECT v FROM t WHERE k = 1 => "rows":[[0]] ; committed"#,
        r#"1 3 14 15 SELECT v FROM t WHERE k = 1 => "rows":[[7]] ; committed"#,
        r#"1 4 16 17 SELECT v FROM t WHERE k = 1 => "rows":[[0]] ; committed"#,
    ];
    assert_eq!(verdict(Model::PgRr, &log[..3]), Ok(None));
    assert_eq!(verdict(Model::PgRr, &log), Ok(Some(3)));
}

#[test]
fn a_dirty_write_is_convicted_at_once() {
    let log = [
        r#"0 1 10 11 BEGIN => "count":0"#,
        r#"0 1 12 13 UPDATE t SET v = 7 WHERE k = 1 => "count":1"#,
        r#"1 2 14 15 UPDATE t SET v = 8 WHERE k = 1 => "count":1 ; committed"#,
        r#"0 1 16 17 COMMIT => "count":0 ; committed"#,
    ];
    assert_eq!(verdict(Model::PgRc, &log), Ok(Some(2)));
}

const WRITE_SKEW: [&str; 8] = [
    r#"0 1 10 11 BEGIN => "count":0"#,
    r#"1 2 10 11 BEGIN => "count":0"#,
    r#"0 1 12 13 SELECT v FROM t WHERE k = 1 => "rows":[[0]]"#,
    r#"1 2 12 13 SELECT v FROM t WHERE k = 2 => "rows":[[0]]"#,
    r#"0 1 14 15 UPDATE t SET v = 5 WHERE k = 2 => "count":1"#,
    r#"1 2 14 15 UPDATE t SET v = 5 WHERE k = 1 => "count":1"#,
    r#"0 1 16 17 COMMIT => "count":0 ; committed"#,
    r#"1 2 18 19 COMMIT => "count":0 ; committed"#,
];

#[test]
fn write_skew_is_a_violation_at_serializable_only() {
    assert_eq!(verdict(Model::PgRr, &WRITE_SKEW), Ok(None));
    assert_eq!(verdict(Model::PgSer, &WRITE_SKEW), Ok(Some(7)));
}

#[test]
fn a_statement_after_the_outcome_is_an_error_with_its_place() {
    let log = [
        r#"0 1 10 11 SELECT v FROM t => "rows":[[0],[0]] ; committed"#,
        r#"0 1 12 13 SELECT v FROM t => "rows":[[0],[0]]"#,
    ];
    assert_eq!(verdict(Model::PgRr, &log).map_err(|error| error.entry), Err(Some(4)));
}

/// A statement with values, at a log whose schema is `t (k, v)`.
fn with_params(sql: &str, rest: &str) -> Result<Option<usize>, AuditError> {
    let line = format!(
        r#"{{"session":0,"txn":1,"number":0,"sql":"{sql}",{rest},"times":[10,11],"outcome":"committed"}}"#
    );
    let log = isoscope_log::read(format!("{HEAD}{line}\n").as_bytes()).expect("the log is valid");
    match audit(&log, &Options::new(Model::PgRc), &())?.verdict {
        Verdict::Violated(violation) => Ok(Some(violation.entry - 3)),
        _ => Ok(None),
    }
}

#[test]
fn a_log_whose_sql_is_not_understood_accuses_nobody() {
    let rows = r#""rows":[[0]]"#;
    let other = r#""error":{"class":"other","message":"no"}"#;
    let wrong = [
        ("SELECT v FROM t WHERE k = ?", rows),
        ("SELECT v FROM t WHERE k = 1", r#""params":[1],"rows":[[0]]"#),
        ("SELEC v FROM t WHERE k = 1", rows),
        ("SELECT v FROM u WHERE k = 1", rows),
        ("SELECT w FROM t WHERE k = 1", rows),
        ("INSERT INTO t (k, w) VALUES (3, 3)", r#""count":1"#),
        ("UPDATE u SET v = 1", r#""count":1"#),
    ];
    for (sql, answer) in wrong {
        assert_eq!(with_params(sql, answer).map_err(|error| error.entry), Err(Some(3)), "{sql}");
    }
    // The second is valid without its value.
    for (sql, _) in wrong.into_iter().filter(|(_, answer)| !answer.contains("params")) {
        assert_eq!(with_params(sql, other), Ok(None), "{sql}");
    }
    assert_eq!(with_params("SELECT v FROM t WHERE k = ?", r#""params":[1],"rows":[[0]]"#), Ok(None));
}

#[test]
fn a_table_that_the_log_drops_does_not_answer() {
    let log = [
        r#"0 1 10 11 CREATE TABLE u (k INT PRIMARY KEY) => "count":0 ; committed"#,
        r#"0 2 12 13 SELECT k FROM u => "rows":[] ; committed"#,
        r#"0 3 14 15 DROP TABLE u => "count":0 ; committed"#,
        r#"0 4 16 17 SELECT k FROM u => "rows":[] ; committed"#,
    ];
    assert_eq!(verdict(Model::PgRc, &log[..3]), Ok(None));
    assert_eq!(verdict(Model::PgRc, &log), Ok(Some(3)));
}

fn blame(model: Model, lines: &[&str]) -> Option<Blame> {
    match audit(&log_of(lines), &Options::new(model), &()).expect("the log can be audited").verdict {
        Verdict::Violated(violation) => Some(violation.blame),
        _ => None,
    }
}

#[test]
fn the_strongest_weaker_model_that_explains_is_the_blame() {
    assert_eq!(blame(Model::PgSer, &WRITE_SKEW), Some(Blame::Isolation(Rung::Model(Model::PgRr))));
    assert_eq!(blame(Model::PgSer, &SKEW), Some(Blame::Isolation(Rung::Model(Model::PgRc))));
    assert_eq!(blame(Model::PgRr, &SKEW), Some(Blame::Isolation(Rung::Model(Model::PgRc))));
    assert_eq!(blame(Model::PgRc, &SKEW), None);
    // Only what comes after the violation is wrong at read committed.
    let mut later = SKEW.to_vec();
    later.push(r#"2 6 26 27 SELECT v FROM t WHERE k = 2 => "rows":[[77]] ; committed"#);
    assert_eq!(blame(Model::PgRr, &later), Some(Blame::Isolation(Rung::Model(Model::PgRc))));
    assert_eq!(verdict(Model::PgRc, &later), Ok(Some(8)));
    assert_eq!(blame(Model::PgRc, &later), Some(Blame::Undetermined));
}

/// A cycle among more transactions than are compared by their values is no violation.
#[test]
fn a_cycle_among_many_transactions_is_not_decided() {
    let mut log: Vec<String> = WRITE_SKEW.iter().map(|line| (*line).to_owned()).collect();
    for n in 0..9 {
        let (txn, at) = (n + 10, 30 + 2 * n);
        log.push(format!(
            r#"2 {txn} {at} {} INSERT INTO t (k, v) VALUES ({txn}, 1) => "count":1 ; committed"#,
            at + 1
        ));
    }
    let log: Vec<&str> = log.iter().map(String::as_str).collect();
    let found = audit(&log_of(&log), &Options::new(Model::PgSer), &()).expect("the log can be audited");
    assert!(matches!(found.verdict, Verdict::Undecided(_)), "{:?}", found.verdict);
}

/// Both transactions overwrite what the other has read with the same value: any order gives the same answers.
#[test]
fn a_serial_order_by_values_explains_a_cycle() {
    let mut log = WRITE_SKEW;
    log[4] = r#"0 1 14 15 UPDATE t SET v = 0 WHERE k = 2 => "count":1"#;
    assert_eq!(verdict(Model::PgSer, &log), Ok(None));
}

#[test]
fn the_rows_that_would_give_an_answer_are_the_blame() {
    let query = r#"1 9 90 91 SELECT v FROM t WHERE k = 1 => "rows":[[V]] ; committed"#;
    let log = |line: &str, value: &str| blame(Model::PgRc, &[line, &query.replace('V', value)]);
    let committed = r#"0 1 10 11 UPDATE t SET v = 7 WHERE k = 1 => "count":1 ; committed"#;
    let open = r#"0 1 10 11 UPDATE t SET v = 7 WHERE k = 1 => "count":1"#;
    assert_eq!(log(committed, "7"), None);
    assert_eq!(log(committed, "0"), Some(Blame::Isolation(Rung::AnyCommitted)));
    assert_eq!(log(open, "7"), Some(Blame::Isolation(Rung::AnyWritten)));
    assert_eq!(log(committed, "8"), Some(Blame::Undetermined));
}
