//! The log: written logs read back unchanged, and errors have their line and column.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use isoscope_history::Outcome;
use isoscope_log::{
    Answer, Class, Ending, Entry, Event, Failure, Log, LogError, LogHeader, Place, Scalar, Stamps, Vendor,
    read, write_ending, write_event, write_header, write_load,
};
use proptest::prelude::*;

fn header() -> LogHeader {
    LogHeader {
        database: "PostgreSQL 15.18".to_owned(),
        vendor: Vendor::Postgres,
        isolation: "repeatable read".to_owned(),
        workload: "bank".to_owned(),
        parameters: Some(serde_json::json!({ "accounts": 40, "mix": [3, 4, 2, 4, 2] })),
        sessions: Some(8),
        seed: Some(u64::MAX),
        schema: vec!["CREATE TABLE \"t\" (\n\tid BIGINT)".to_owned()],
    }
}

fn write(header: &LogHeader, entries: &[Entry]) -> Vec<u8> {
    let epoch = Instant::now();
    let mut out = Vec::new();
    write_header(&mut out, header);
    for entry in entries {
        let place = Place { session: &entry.session, txn: &entry.txn, number: entry.number, epoch };
        let event = Event {
            sql: entry.sql.clone(),
            params: entry.params.clone(),
            answer: entry.answer.clone(),
            sent: epoch + Duration::from_nanos(entry.sent),
            answered: epoch + Duration::from_nanos(entry.answered),
        };
        match entry.ending {
            None => write_event(&mut out, &place, &event),
            Some(ending) => write_ending(&mut out, &place, &event, ending),
        }
    }
    out
}

/// A log as text, with floating-point numbers as bits so that NaN equals itself.
fn spelled(log: &Log) -> String {
    let bits = |scalar: &Scalar| match scalar {
        Scalar::Float(x) => format!("float {:x}", x.to_bits()),
        other => format!("{other:?}"),
    };
    let row = |row: &Vec<Scalar>| row.iter().map(bits).collect::<Vec<_>>();
    let mut out = format!("{:?} {:?}\n", log.header, log.warnings);
    for e in &log.entries {
        let answer = match &e.answer {
            Ok(Answer::Rows(rows)) => format!("{:?}", rows.iter().map(row).collect::<Vec<_>>()),
            other => format!("{other:?}"),
        };
        let names = (bits(&e.session), bits(&e.txn), e.number, &e.sql, row(&e.params));
        out += &format!("{names:?} {answer} {} {} {:?}\n", e.sent, e.answered, e.ending);
    }
    out
}

/// The number of lines that end with a newline.
fn lines_of(bytes: &[u8]) -> usize {
    bytes.split(|&b| b == b'\n').count() - 1
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![".*", "[\\x00-\\x20\"\\\\/\u{7f}\u{2028}\u{fffd}𝄞é?]{0,12}"]
}

fn scalars() -> impl Strategy<Value = Scalar> {
    prop_oneof![
        Just(Scalar::Null),
        any::<bool>().prop_map(Scalar::Bool),
        any::<i64>().prop_map(Scalar::Int),
        prop::sample::select(vec![i64::MIN, i64::MAX, (1 << 53) + 1, 0, -1]).prop_map(Scalar::Int),
        any::<u64>().prop_map(|bits| Scalar::Float(f64::from_bits(bits))),
        prop::sample::select(vec![
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            -0.0,
            1e300,
            5e-324,
            1e16,
            3.0
        ])
        .prop_map(Scalar::Float),
        words().prop_map(Scalar::Text),
    ]
}

fn rows() -> impl Strategy<Value = Vec<Vec<Scalar>>> {
    prop::collection::vec(prop::collection::vec(scalars(), 0..4), 0..4)
}

fn answers() -> impl Strategy<Value = Result<Answer, Failure>> {
    let failures = (prop::sample::select(Class::ALL.to_vec()), prop::option::of(words()), words());
    prop_oneof![
        rows().prop_map(|rows| Ok(Answer::Rows(rows))),
        any::<u64>().prop_map(|count| Ok(Answer::Count(count))),
        failures.prop_map(|(class, code, message)| Err(Failure { class, code, message })),
    ]
}

fn endings() -> impl Strategy<Value = Ending> {
    let outcomes = prop::sample::select(vec![Outcome::Committed, Outcome::Aborted, Outcome::Unknown]);
    (outcomes, any::<Option<i64>>(), any::<Option<i64>>())
        .prop_map(|(outcome, begin, commit)| Ending { outcome, stamps: Stamps { begin, commit } })
}

fn entries() -> impl Strategy<Value = Entry> {
    let names = (scalars(), scalars(), any::<u32>());
    let statement = (words(), prop::collection::vec(scalars(), 0..4), answers());
    let times = (0..u64::MAX / 4, 0..u64::MAX / 4);
    (names, statement, times, prop::option::of(endings())).prop_map(
        |((session, txn, number), (sql, params, answer), (sent, answered), ending)| Entry {
            session,
            txn,
            number,
            sql,
            params,
            answer,
            sent,
            answered,
            ending,
        },
    )
}

fn headers() -> impl Strategy<Value = LogHeader> {
    let vendors = vec![Vendor::Postgres, Vendor::MySql, Vendor::MariaDb, Vendor::Sqlite, Vendor::Memory];
    let texts = (words(), words(), words());
    let parameters = prop::option::of(words().prop_map(|word| serde_json::json!({ word: [1, 0.5] })));
    let numbers = (any::<Option<u32>>(), any::<Option<u64>>());
    (texts, prop::sample::select(vendors), parameters, numbers, prop::collection::vec(words(), 0..3))
        .prop_map(|((database, isolation, workload), vendor, parameters, (sessions, seed), schema)| {
            LogHeader { database, vendor, isolation, workload, parameters, sessions, seed, schema }
        })
}

proptest! {
    #[test]
    fn a_written_log_reads_back_unchanged(header in headers(), entries in prop::collection::vec(entries(), 0..6)) {
        let bytes = write(&header, &entries);
        prop_assert_eq!(lines_of(&bytes), entries.len() + 1);
        let log = read(&bytes[..]).unwrap();
        prop_assert_eq!(spelled(&log), spelled(&Log { header, entries, warnings: Vec::new() }));
    }

    #[test]
    fn a_truncated_log_keeps_all_complete_lines(entries in prop::collection::vec(entries(), 1..4), cut in any::<prop::sample::Index>()) {
        let bytes = write(&header(), &entries);
        let first = bytes.iter().position(|&b| b == b'\n').unwrap() + 1;
        let cut = first + cut.index(bytes.len() - first);
        let log = read(&bytes[..cut]).unwrap();
        let whole = lines_of(&bytes[..cut]) - 1;
        let at_an_end = bytes[cut - 1] == b'\n';
        // A line that lacks only its newline is complete.
        let lacks_its_end = !at_an_end && bytes[cut] == b'\n';
        prop_assert_eq!(log.entries.len(), whole + usize::from(lacks_its_end));
        prop_assert_eq!(log.warnings.len(), usize::from(!at_an_end && !lacks_its_end));
        let kept = Log { header: header(), entries: entries[..log.entries.len()].to_vec(), warnings: log.warnings.clone() };
        prop_assert_eq!(spelled(&log), spelled(&kept));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes[..]);
        let _ = read(&[write(&header(), &[]), bytes].concat()[..]);
    }
}

const HEADER: &str = r#"{"isoscope":"log","version":1,"database":"d","vendor":"sqlite","isolation":"i","workload":"w","seed":1,"schema":[]}"#;

fn wrong(text: &str) -> (u64, usize, String) {
    match read(text.as_bytes()) {
        Err(LogError::Wrong { line, column, message }) => (line, column, message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn errors_have_their_line_and_column() {
    let cases = [
        (r#"{"session":1,"txn":1,"number":0,"sql":5,"count":0,"times":[0,1]}"#, 39, "invalid type: integer"),
        (
            r#"{"session":1,"txn":1,"number":0,"sql":"","times":[0,1]}"#,
            55,
            "missing answer: rows, count or error",
        ),
        (r#"{"session":1,"txn":1,"number":0,"sql":"","count":0}"#, 51, "missing field `times`"),
        (r#"{"session":1,"count":0,"rows":[]}"#, 29, "a statement has only one of rows, count and error"),
        (r#"{"session":1,"error":{"class":"sad","message":""}}"#, 50, "unknown error class \"sad\""),
        (r#"{"session":1,"outcome":"perhaps"}"#, 33, "unknown variant `perhaps`"),
        (r#"{"session":9223372036854775808}"#, 30, "the integer exceeds the signed 64-bit range"),
        (r#"{"session":{"float":"7ff"}}"#, 26, "expected {\"float\":\"..\"}"),
        (r#"{"session":[1]}"#, 12, "invalid type: sequence, expected a scalar"),
        ("[]", 1, "invalid type: sequence, expected a statement"),
        ("", 1, "EOF"),
        ("{", 2, "EOF"),
    ];
    for (line, column, message) in cases {
        let (at, found_column, found) = wrong(&format!("{HEADER}\n{line}\n"));
        assert!(found.starts_with(message), "{line}: {found}");
        assert_eq!((at, found_column), (2, column), "{line}: {found}");
    }
    let timestamps =
        r#"{"session":1,"txn":1,"number":0,"sql":"","count":0,"times":[0,1],"timestamps":[1,2]}"#;
    assert_eq!(wrong(&format!("{HEADER}\n{timestamps}\n")).2, "timestamps without an outcome");
}

#[test]
fn other_files_are_refused() {
    assert_eq!(wrong("").2, "the file is empty; a log begins with a header");
    let history = HEADER.replace("\"log\"", "\"history\"");
    assert_eq!(wrong(&history).2, "this is not a log: expected \"log\", found \"history\"");
    let later = HEADER.replace("\"version\":1", "\"version\":2");
    assert_eq!(wrong(&later).2, "unsupported version: expected 1, found 2");
    assert!(wrong(&HEADER[..40]).2.starts_with("EOF"), "a truncated header is an error");
    assert_eq!(wrong("{}\n").2, "missing field `isoscope`");
    let vendor = HEADER.replace("sqlite", "dbase");
    assert!(wrong(&vendor).2.starts_with("unknown variant `dbase`"));
}

#[test]
fn unknown_fields_are_ignored_with_one_warning_each() {
    let line = r#"{"session":1,"txn":1,"number":0,"sql":"","plan":{"cost":[1]},"count":0,"times":[0,1]}"#;
    let log = read(format!("{HEADER}\r\n{line}\r\n{line}\r\n").as_bytes()).unwrap();
    assert_eq!(log.entries.len(), 2);
    assert_eq!(log.warnings.len(), 1);
    assert_eq!(log.warnings[0].line, 2);
    assert_eq!(log.warnings[0].message, "unknown field \"plan\"; it was ignored");
}

#[test]
fn a_load_is_one_transaction_of_the_loader() {
    let now = Instant::now();
    let event = |sql: &str| Event {
        sql: sql.to_owned(),
        params: Vec::new(),
        answer: Ok(Answer::Count(0)),
        sent: now,
        answered: now,
    };
    let mut bytes = Vec::new();
    write_header(&mut bytes, &header());
    write_load(&mut bytes, now, &["BEGIN", "INSERT", "COMMIT"].map(event));
    let log = read(&bytes[..]).unwrap();
    assert!(log.entries.iter().all(|e| e.session == Scalar::from("loader") && e.txn == Scalar::from("load")));
    assert_eq!(log.entries.iter().map(|e| e.number).collect::<Vec<_>>(), [0, 1, 2]);
    let outcomes: Vec<_> = log.entries.iter().map(|e| e.ending.map(|end| end.outcome)).collect();
    assert_eq!(outcomes, [None, None, Some(Outcome::Committed)]);
}

/// The reader knows exactly the fields of the schema, and the writer writes all of them.
#[test]
fn the_schema_matches_reader_and_writer() {
    let schema: serde_json::Value = serde_json::from_str(include_str!("../schema/log.schema.json")).unwrap();
    let entry = Entry {
        session: Scalar::Int(1),
        txn: Scalar::Int(2),
        number: 3,
        sql: "?".to_owned(),
        params: vec![Scalar::Null],
        answer: Ok(Answer::Rows(vec![vec![Scalar::Float(f64::NAN)]])),
        sent: 1,
        answered: 2,
        ending: Some(Ending { outcome: Outcome::Unknown, stamps: Stamps { begin: None, commit: Some(-1) } }),
    };
    let failure = Failure { class: Class::Other, code: Some("1".to_owned()), message: "m".to_owned() };
    let failed = Entry { answer: Err(failure), ..entry.clone() };
    let counted = Entry { answer: Ok(Answer::Count(1)), ..entry.clone() };
    let bytes = write(&header(), &[entry, failed, counted]);
    assert!(read(&bytes[..]).unwrap().warnings.is_empty());
    let names = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let (mut written, mut in_error) = (Vec::new(), Vec::new());
    for (i, line) in std::str::from_utf8(&bytes).unwrap().lines().enumerate() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let kind = if i == 0 { "header" } else { "statement" };
        written.extend(names(&line).into_iter().map(|name| (kind, name)));
        if let Some(error) = line.get("error") {
            in_error = names(error);
        }
    }
    written.sort();
    written.dedup();
    let mut known: Vec<(&str, String)> = ["header", "statement"]
        .into_iter()
        .flat_map(|kind| {
            names(&schema["$defs"][kind]["properties"]).into_iter().map(move |name| (kind, name))
        })
        .collect();
    known.sort();
    assert_eq!(written, known);
    let error = &schema["$defs"]["statement"]["properties"]["error"]["properties"];
    assert_eq!(in_error, names(error));
    let classes: [serde_json::Value; 9] = Class::ALL.map(|class| class.name().into());
    assert_eq!(error["class"]["enum"].as_array().unwrap()[..], classes);
}

/// The example in docs/log.md is a valid log with the content that the document describes.
#[test]
fn the_documented_example_is_a_log() {
    let document = include_str!("../../../docs/log.md");
    let example = document.split("```jsonl\n").nth(1).unwrap().split("```").next().unwrap();
    let log = read(example.as_bytes()).unwrap();
    assert_eq!(log.warnings, []);
    assert_eq!((log.header.vendor, log.header.isolation.as_str()), (Vendor::Postgres, "repeatable-read"));
    let outcomes: Vec<Outcome> = log.entries.iter().filter_map(|e| e.ending).map(|end| end.outcome).collect();
    let (committed, aborted) = (Outcome::Committed, Outcome::Aborted);
    assert_eq!(outcomes, [committed, committed, committed, aborted, committed]);
    let mut again = Vec::new();
    write_header(&mut again, &log.header);
    assert_eq!(again, format!("{}\n", example.lines().next().unwrap()).into_bytes());
    let schema: serde_json::Value = serde_json::from_str(include_str!("../schema/log.schema.json")).unwrap();
    for kind in ["header", "statement"] {
        for field in schema["$defs"][kind]["properties"].as_object().unwrap().keys() {
            assert!(document.contains(&format!("| `{field}` |")), "{field} is not described");
        }
    }
}

#[test]
fn names_of_transactions_say_which_they_are() {
    let calls = ["1", "8", "9", "17/2", "0", "x", ""].map(|name| isoscope_log::call_of(name, 8));
    assert_eq!(calls, [Some((0, 0)), Some((7, 0)), Some((0, 1)), Some((0, 2)), None, None, None]);
    assert_eq!(isoscope_log::call_of("5", 0), None);
}
