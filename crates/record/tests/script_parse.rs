//! Parsing of scripts, and the positions of errors.

use isoscope_record::script::{Action, Expected, ExpectedResult, Place, Script, Sql, parse};
use isoscope_record::{Class, Scalar};

fn steps(text: &str) -> Script {
    parse(&format!("steps:\n{text}")).unwrap_or_else(|error| panic!("{error}"))
}

fn expected(text: &str) -> Option<Expected> {
    steps(&format!("  T1: SELECT 1 {text}")).steps[0].expected.clone()
}

fn rows(rows: &[&[i64]]) -> ExpectedResult {
    ExpectedResult::Rows(rows.iter().map(|row| row.iter().map(|&n| Scalar::Int(n)).collect()).collect())
}

#[test]
fn every_section_is_read() {
    let script = parse(
        "# A comment.\n\
         name: a   name\n\
         about: one line\n\
         \x20 and another\n\
         \n\
         setup:\n\
         \x20 CREATE TABLE t (id INTEGER);\n\
         \x20 INSERT INTO t\n\
         \x20   VALUES (1)\n\
         steps:\n\
         \x20   T1: BEGIN\n\
         \x20   # Another comment.\n\
         \x20   T1.it: SELECT id\n\
         \x20     FROM t => 1\n\
         \x20   T1: commit work;\n\
         anomaly  when: T1 committed\n\
         \x20 and T1.it = 1\n\
         teardown:\n\
         \x20 DROP VIEW v\n",
    )
    .unwrap();
    assert_eq!(script.name, "a   name");
    assert_eq!(script.about, "one line and another");
    let statements = |sql: &[Sql]| {
        sql.iter().map(|sql| (sql.text.clone(), sql.place.line, sql.place.column)).collect::<Vec<_>>()
    };
    let at = |text: &str, line, column| (text.to_owned(), line, column);
    let setup = [at("CREATE TABLE t (id INTEGER)", 7, 3), at("INSERT INTO t\nVALUES (1)", 8, 3)];
    assert_eq!(statements(&script.setup), setup);
    assert_eq!(statements(&script.teardown), [at("DROP VIEW v", 19, 3)]);
    assert_eq!(script.sessions, ["T1"]);
    let actions: Vec<&Action> = script.steps.iter().map(|step| &step.action).collect();
    let select = Action::Statement("SELECT id\nFROM t".to_owned());
    assert_eq!(actions, [&Action::Begin, &select, &Action::Commit]);
    assert_eq!(script.steps[1].label.as_deref(), Some("it"));
    assert_eq!(script.steps[1].place, Place { line: 13, column: 12 });
    assert!(script.anomaly.is_some());
}

#[test]
fn sessions_are_numbered_as_they_appear() {
    let script = steps("  B: SELECT 1\n  A.x: SELECT 2\n  B.x: SELECT 3\n");
    assert_eq!(script.sessions, ["B", "A"]);
    assert_eq!(script.steps.iter().map(|step| step.session).collect::<Vec<_>>(), [0, 1, 0]);
}

/// A failure points at the statement, also where it begins on the line below its session.
#[test]
fn steps_are_located_at_their_statements() {
    let script = steps("  T1:   SELECT 1\n  T1:\n     SELECT 2\n");
    let places: Vec<(u32, u32)> =
        script.steps.iter().map(|step| (step.place.line, step.place.column)).collect();
    assert_eq!(places, [(2, 9), (4, 6)]);
}

#[test]
fn what_is_expected() {
    let only = |then| Some(Expected { waits: false, then: Some(then) });
    assert_eq!(expected(""), None);
    assert_eq!(expected("=> 10"), only(rows(&[&[10]])));
    assert_eq!(expected("=> 10, -20"), only(rows(&[&[10], &[-20]])));
    assert_eq!(expected("=> (1, 10), (2, 20)"), only(rows(&[&[1, 10], &[2, 20]])));
    assert_eq!(expected("=> none"), only(rows(&[])));
    assert_eq!(expected("=> fails"), only(ExpectedResult::Fails(None)));
    assert_eq!(expected("=> fails with deadlock"), only(ExpectedResult::Fails(Some(Class::Deadlock))));
    assert_eq!(expected("=> fails with lock-timeout"), only(ExpectedResult::Fails(Some(Class::LockTimeout))));
    assert_eq!(expected("=> waits"), Some(Expected { waits: true, then: None }));
    assert_eq!(expected("=> waits, then 1"), Some(Expected { waits: true, then: Some(rows(&[&[1]])) }));
    let values = vec![
        Scalar::Text("it's".to_owned()),
        Scalar::Null,
        Scalar::Bool(true),
        Scalar::Bool(false),
        Scalar::Float(1.5),
    ];
    assert_eq!(expected("=> ('it''s', null, TRUE, false, 1.5)"), only(ExpectedResult::Rows(vec![values])));
}

#[test]
fn an_arrow_inside_the_statement_is_not_an_expectation() {
    for sql in ["SELECT f(a => 1)", "SELECT ' => 1'", "SELECT a <=> 1", "SELECT \"=> \" FROM t"] {
        let script = steps(&format!("  T1: {sql}"));
        assert_eq!(script.steps[0].action, Action::Statement(sql.to_owned()));
        assert_eq!(script.steps[0].expected, None);
        let script = steps(&format!("  T1: {sql} => 1"));
        assert_eq!(script.steps[0].action, Action::Statement(sql.to_owned()));
        assert!(script.steps[0].expected.is_some());
    }
}

/// Each script, with the position, the start of the message, and a part of the help.
const BAD: [(&str, u32, u32, &str, &str); 38] = [
    ("", 1, 1, "the script has no steps", "`steps:`"),
    ("name: x\n\n", 2, 1, "the script has no steps", ""),
    ("  T1: BEGIN", 1, 3, "expected a section, found an indented line", "`steps:`"),
    ("stpes:\n  T1: BEGIN", 1, 1, "expected a section, found `stpes:`", "`steps:`"),
    ("T1 BEGIN", 1, 1, "expected a section, found `T1 BEGIN`", "`steps:`"),
    ("name: a\nname: b", 2, 1, "duplicate section", ""),
    ("setup: CREATE TABLE t (x INT)", 1, 8, "expected the end of the line", "lines below"),
    ("steps:\n    T1: BEGIN\n  T1: COMMIT", 3, 3, "expected column 5", ""),
    (
        "steps:\n  BEGIN",
        2,
        8,
        "expected `:` or `.` and a label, found the end of the line",
        "session: statement",
    ),
    ("steps:\n  1: BEGIN", 2, 3, "expected a session, found `1: BEGIN`", "session: statement"),
    ("steps:\n  T1.: BEGIN", 2, 6, "expected a label, found `: BEGIN`", "session.label"),
    ("steps:\n  T1.a BEGIN", 2, 8, "expected `:`, found `BEGIN`", ""),
    ("steps:\n  T1:", 2, 6, "expected a statement", ""),
    ("steps:\n  T1: => 1", 2, 7, "expected a statement", ""),
    ("steps:\n  not: BEGIN", 2, 3, "expected a name, found `not`", ""),
    ("steps:\n  T1.null: BEGIN", 2, 6, "expected a name, found `null`", ""),
    ("steps:\n  T1.a: SELECT 1\n  T1.a: SELECT 2", 3, 6, "duplicate label `a`", ""),
    ("steps:\n  T1: COMMIT", 2, 7, "T1 has no open transaction", ""),
    ("steps:\n  T1: BEGIN\n  T1: BEGIN", 3, 7, "T1 already has an open transaction", ""),
    ("steps:\n  T1: BEGIN ISOLATION LEVEL X", 2, 7, "`BEGIN` takes no options", "isolation level"),
    ("steps:\n  T1: BEGIN\n  T1: COMMIT AND CHAIN", 3, 7, "`COMMIT` and `ROLLBACK` take no options", ""),
    ("steps:\n  T1: SELECT 1 =>", 2, 16, "expected an expectation", ""),
    (
        "steps:\n  T1: SELECT 1 => maybe",
        2,
        19,
        "expected `waits`, `fails`, `none` or a value, found `maybe`",
        "",
    ),
    ("steps:\n  T1: SELECT 1 => 1 2", 2, 21, "expected the end of the expectation, found `2`", ""),
    ("steps:\n  T1: SELECT 1 => (1, 2", 2, 24, "expected `,` or `)`, found the end", ""),
    ("steps:\n  T1: SELECT 1 => 'a", 2, 19, "expected a closing quote", ""),
    ("steps:\n  T1: SELECT 1 => waits, 1", 2, 26, "expected `then`, found `1`", ""),
    (
        "steps:\n  T1: SELECT 1 => fails with love",
        2,
        30,
        "expected a failure class, found `love`",
        "deadlock",
    ),
    ("steps:\n  T1: SELECT 1 => 1.2.3", 2, 19, "expected a number, found `1.2.3`", ""),
    ("steps:\n  T1: SELECT 1 => §", 2, 19, "expected a name, a value or a symbol, found `§`", ""),
    ("steps:\n  T1: BEGIN\nanomaly when:", 3, 1, "expected a condition", ""),
    ("steps:\n  T1: BEGIN\nanomaly when: T2 committed", 3, 15, "unknown session `T2`", "the sessions are T1"),
    (
        "steps:\n  T1.a: BEGIN\nanomaly when: T1.b = 1",
        3,
        18,
        "T1 has no step with the label `b`",
        "labels are a",
    ),
    (
        "steps:\n  T1: BEGIN\nanomaly when: T1.b = 1",
        3,
        18,
        "T1 has no step with the label `b`",
        "`T1.b: SELECT ...`",
    ),
    ("steps:\n  T1: BEGIN\nanomaly when:\n  T1 won", 4, 6, "expected `.` and a label, `committed`", ""),
    ("steps:\n  T1: BEGIN\nanomaly when:\n  (T1 committed", 4, 16, "expected `)`, found the end", ""),
    (
        "steps:\n  T1: BEGIN\nanomaly when:\n  T1 committed T1 failed",
        4,
        16,
        "expected `and`, `or` or the end",
        "",
    ),
    ("steps:\n  T1.a: BEGIN\nanomaly when:\n  T1.a is 3", 4, 8, "expected `=`, `!=`", ""),
];

#[test]
fn errors_have_a_place_and_an_expectation() {
    for (text, line, column, message, help) in BAD {
        let error = parse(text).expect_err(text);
        assert_eq!((error.line, error.column), (line, column), "{text:?}: {error}");
        assert!(error.message.starts_with(message), "{text:?}: {error}");
        assert!(error.help.clone().unwrap_or_default().contains(help), "{text:?}: {error}");
    }
}

#[test]
fn columns_are_characters() {
    let error = parse("steps:\n  Jürgen: SELECT 'ä' => ö").expect_err("no such word");
    assert_eq!((error.line, error.column), (2, 25));
}

#[test]
fn nesting_is_limited() {
    let deep = format!("steps:\n  T1: BEGIN\nanomaly when: {}T1 committed", "(".repeat(100_000));
    assert!(parse(&deep).expect_err("deep").message.contains("nested more than"));
    let deep = format!("steps:\n  T1: BEGIN\nanomaly when: {}T1 committed", "not ".repeat(100_000));
    assert!(parse(&deep).expect_err("deep").message.contains("nested more than"));
}

#[test]
fn there_are_limits() {
    let long = format!("steps:\n{}", "  T1: SELECT 1\n".repeat(10_001));
    assert!(parse(&long).expect_err("long").message.contains("too many steps"));
    let wide: Vec<String> = (0..65).map(|n| format!("  T{n}: SELECT 1\n")).collect();
    assert!(
        parse(&format!("steps:\n{}", wide.concat())).expect_err("wide").message.contains("too many sessions")
    );
    let big = " ".repeat(2 << 20);
    assert!(parse(&big).expect_err("big").message.contains("too long"));
}

#[test]
fn no_prefix_of_a_script_makes_it_panic() {
    let text = include_str!("../scenarios/otv.script");
    for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
        drop(parse(&text[..end]));
        drop(parse(&text[end..]));
    }
}
