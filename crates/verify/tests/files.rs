//! Certificates as files: a written certificate is read back and confirmed. A file that was tampered with,
//! truncated or made for another history is refused with a reason, and is never accepted for a wrong verdict.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use isoscope_certificate::{Certificate, CertificateError, Conditions, Judgement, Verdict};
use isoscope_check::{Checker, Options};
use isoscope_history::{History, notation};
use isoscope_levels::Level;
use isoscope_verify::verify;
use serde_json::Value as Json;

/// Histories whose certificates together contain every kind of witness and evidence.
const HISTORIES: [&str; 13] = [
    "T1: w(x,1) w(y,1)  T2: r(x,1) r(y,1) w(x,2) ; T3: r(x,2)",
    "T1: w(x,1)  T2: w(x,1)  T3: r(x,1) r(y,0)  T4: w(y,1) r(x,1)",
    "T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)",
    "T1: r(x,0) w(y,1)  T2: r(y,0) w(x,1)",
    "T1: w(x,1)  T2: w(y,1)  T3: r(x,1) r(y,0)  T4: r(x,0) r(y,1)",
    "T1: w(x,1) w(y,2)  T2: r(x,0) r(y,2)",
    "T1: w(x,1) ; T2: w(x,2)  T3: r(x,2) ; T4: r(x,1)",
    "T1!: w(x,1)  T2: r(x,1)  T3: r(x,7) r(x,0)",
    "T1@0-1: w(x,1) ; T2@2-3: w(x,2)  T3@4-5: r(x,1)",
    "T1: a(x,1)  T2: r(x,[1])  T3: a(x,2) r(x,[2])",
    "T1: a(x,1)  T2: a(x,1)  T3: r(x,[1 1]) r(y,0)  T4: w(y,1) r(x,[1])  T5: r(y,1) r(x,[])",
    "T1?: a(x,1)  T2: a(x,2) r(x,[1 2])  T3: r(x,[1]) ; T4: r(x,[])",
    "T1: w(x,1) w(y,1)  T2: w(x,2) w(y,2)  T3: w(x,1) w(y,2)  T4: r(x,1) r(y,2)  T5: r(x,2) r(y,1) ; T6: r(x,1) r(y,1)",
];

fn judgements(history: &History) -> Vec<Judgement> {
    let mut checker = Checker::new(history, Options::default());
    Level::ALL.into_iter().map(|level| checker.check(level)).collect()
}

fn file(history: &History, judgement: &Judgement) -> Option<Vec<u8>> {
    let certificate = Certificate::new(history, Conditions::default(), judgement.clone())?;
    let mut text = Vec::new();
    certificate.write(&mut text).unwrap();
    Some(text)
}

/// Calls `with` for every file of every level, with the history and all correct verdicts on it.
fn each_file(mut with: impl FnMut(&History, &[Judgement], &Judgement, Vec<u8>)) {
    let mut files = 0;
    for text in HISTORIES {
        let history = notation::parse(text).unwrap();
        let judgements = judgements(&history);
        for judgement in &judgements {
            if let Some(file) = file(&history, judgement) {
                files += 1;
                with(&history, &judgements, judgement, file);
            }
        }
    }
    assert!(files > 200, "{files}");
}

#[test]
fn a_written_certificate_is_read_back_and_confirmed() {
    each_file(|history, _, judgement, file| {
        let certificate = Certificate::read(&file[..]).unwrap();
        assert_eq!(certificate.judgement, *judgement);
        certificate.check_subject(history).unwrap();
        verify(history, &certificate.judgement).unwrap();
    });
}

/// Whether a file is accepted. An accepted file must state the correct verdict.
fn accepts(history: &History, right: &[Judgement], file: &[u8]) -> bool {
    let Ok(certificate) = Certificate::read(file) else { return false };
    if certificate.check_subject(history).is_err() || verify(history, &certificate.judgement).is_err() {
        return false;
    }
    let Judgement { level, verdict, .. } = &certificate.judgement;
    let truth = right.iter().find(|judgement| judgement.level == *level).unwrap();
    let same = std::mem::discriminant(&truth.verdict) == std::mem::discriminant(verdict);
    assert!(same, "a wrong verdict was accepted for {level}:\n{}", String::from_utf8_lossy(file));
    true
}

/// The paths of all values of a document that contain no other values.
fn leaves(json: &Json, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match json {
        Json::Array(items) if !items.is_empty() => {
            for (i, item) in items.iter().enumerate() {
                path.push(i.to_string());
                leaves(item, path, found);
                path.pop();
            }
        }
        Json::Object(fields) if !fields.is_empty() => {
            for (name, field) in fields {
                path.push(name.clone());
                leaves(field, path, found);
                path.pop();
            }
        }
        _ => found.push(path.clone()),
    }
}

/// The replacements to try for a value.
fn changes(value: &Json) -> Vec<Json> {
    let others = [
        Json::Null,
        0.into(),
        1.into(),
        2.into(),
        5.into(),
        u32::MAX.into(),
        (u64::from(u32::MAX) + 1).into(),
        (-1).into(),
        "initial".into(),
        "holds".into(),
        "violated".into(),
        "session".into(),
        "real-time".into(),
        "sessions".into(),
        "serializable".into(),
        "adya-pl-1".into(),
        "lost-update".into(),
        "dirty-write".into(),
        "0000000000000000".into(),
        true.into(),
        Json::Array(Vec::new()),
        Json::Object(serde_json::Map::new()),
    ];
    others.into_iter().filter(|other| other != value).collect()
}

#[test]
fn a_changed_value_is_refused_or_harmless() {
    let (mut tried, mut refused) = (0, 0);
    each_file(|history, right, _, file| {
        let document: Json = serde_json::from_slice(&file).unwrap();
        let mut paths = Vec::new();
        leaves(&document, &mut Vec::new(), &mut paths);
        for path in paths {
            let pointer = format!("/{}", path.join("/"));
            for change in changes(document.pointer(&pointer).unwrap()) {
                let mut changed = document.clone();
                *changed.pointer_mut(&pointer).unwrap() = change;
                tried += 1;
                let accepted = accepts(history, right, changed.to_string().as_bytes());
                refused += u32::from(!accepted);
                let about_the_history = pointer.starts_with("/history") || pointer.starts_with("/version");
                assert!(!(accepted && about_the_history), "{changed}");
            }
        }
    });
    assert!(refused > tried * 3 / 4, "only {refused} of {tried} changed files were refused");
}

#[test]
fn a_removed_or_added_field_is_refused_or_harmless() {
    each_file(|history, right, _, file| {
        let document: Json = serde_json::from_slice(&file).unwrap();
        for name in document.as_object().unwrap().keys() {
            let mut changed = document.clone();
            changed.as_object_mut().unwrap().remove(name);
            let optional = name == "implied_by";
            assert!(optional || !accepts(history, right, changed.to_string().as_bytes()), "{name}");
        }
        let mut changed = document.clone();
        changed["more"] = 1.into();
        assert!(!accepts(history, right, changed.to_string().as_bytes()));
    });
}

#[test]
fn a_truncated_file_is_refused() {
    each_file(|_, _, _, file| {
        for end in 0..file.len() - 1 {
            assert!(Certificate::read(&file[..end]).is_err());
        }
    });
}

#[test]
fn a_certificate_of_another_history_is_refused_with_the_reason() {
    let history = notation::parse(HISTORIES[0]).unwrap();
    let other = notation::parse("T1: w(x,1) w(y,1)  T2: r(x,1) r(y,1) w(x,3) ; T3: r(x,3)").unwrap();
    let judgement = Checker::new(&history, Options::default()).check(Level::Serializable);
    let certificate = Certificate::new(&history, Conditions::default(), judgement).unwrap();
    let error = certificate.check_subject(&other).unwrap_err();
    assert!(matches!(error, CertificateError::Foreign { .. }));
    assert!(error.to_string().starts_with("the certificate is about another history: "), "{error}");
}

#[test]
fn other_files_are_refused_with_the_reason() {
    let error = |text: &str| Certificate::read(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(error("{}"), "this is no certificate: the field `isoscope` is not \"certificate\"");
    assert_eq!(
        error(r#"{"isoscope":"history","version":1}"#),
        "this is no certificate: the field `isoscope` is not \"certificate\""
    );
    assert_eq!(
        error(r#"{"isoscope":"certificate","version":2}"#),
        "the certificate has version 2; this program reads version 1"
    );
    assert_eq!(
        error("{\n \"isoscope\": 7"),
        "malformed certificate at 2:14: invalid type: integer `7`, expected a string"
    );
    assert!(error("").starts_with("malformed certificate at 1:0: "));
    let nested = format!("{{\"isoscope\":\"certificate\",\"version\":1,\"findings\":{}", "[".repeat(100_000));
    assert!(error(&nested).starts_with("malformed certificate at 1:"), "{}", error(&nested));
}

/// An unknown verdict has no proof, and so no file.
#[test]
fn an_unknown_verdict_has_no_certificate() {
    let history = notation::parse("T1: w(x,1)").unwrap();
    for judgement in judgements(&history) {
        assert!(matches!(judgement.verdict, Verdict::Unknown(_)));
        assert!(file(&history, &judgement).is_none());
    }
}
