//! `check --certificates` and `verify`, as a user runs them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

mod support;

use std::fs;
use std::path::Path;

use support::isoscope;

const SKEW: &str = "T1: r(x,0) r(y,0) w(x,1)\nT2: r(x,0) r(y,0) w(y,2)\n";

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("skew.txt"), SKEW).unwrap();
    fs::write(directory.path().join("other.txt"), SKEW.replace("w(y,2)", "w(y,3)")).unwrap();
    directory
}

/// Certificates of snapshot isolation, which holds, and of serializability, which is violated.
fn certified() -> tempfile::TempDir {
    let directory = directory();
    let run =
        isoscope(directory.path(), "check --level si,ser --format concise --certificates proofs skew.txt");
    assert_eq!((run.code, run.err.as_str()), (1, "note: 2 certificates in proofs\n"), "{run:?}");
    directory
}

fn change(directory: &Path, level: &str, from: &str, to: &str) {
    let path = directory.join("proofs").join(format!("{level}.json"));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

const BOTH: &str = "verify skew.txt proofs/snapshot-isolation.json proofs/serializable.json";

#[test]
fn certificates_are_confirmed_by_another_process() {
    let d = certified();
    let run = isoscope(d.path(), BOTH);
    let expected = "proofs/snapshot-isolation.json: confirmed: snapshot-isolation holds\n\
                    proofs/serializable.json: confirmed: serializable is violated\n";
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (0, expected, ""));
}

#[test]
fn conditions_are_part_of_the_certificate() {
    let d = directory();
    let history = "init=nil  T1?: w(:a,1) ; T2: r(:a,nil)\nT3: r(:a,1)\nT4: range(:a,:z,{})\n";
    fs::write(d.path().join("late.txt"), history).unwrap();
    let run = isoscope(d.path(), "check --level ser --unknown late --certificates proofs late.txt");
    assert_eq!(run.code, 0, "{run:?}");
    let text = fs::read_to_string(d.path().join("proofs/serializable.json")).unwrap();
    assert!(text.contains("\"unknown\":\"late\""), "{text}");
    let run = isoscope(d.path(), "verify late.txt proofs/serializable.json");
    assert_eq!(run.code, 0, "{run:?}");
    change(d.path(), "serializable", "\"unknown\":\"late\"", "\"unknown\":\"in-order\"");
    assert_eq!(isoscope(d.path(), "verify late.txt proofs/serializable.json").code, 1);
}

/// A changed certificate is refused, and the other certificates are still checked.
#[test]
fn a_changed_certificate_is_refused() {
    for (level, from, to, why) in [
        ("serializable", "\"version\":1", "\"version\":2", "has version 2; this program reads version 1"),
        ("serializable", "\"certificate\"", "\"history\"", "this is no certificate"),
        ("serializable", "\"serializable\"", "\"snapshot-isolation\"", "the proof does not stand: "),
        ("serializable", "\"misses\"", "\"read-from\"", "the proof does not stand: "),
        (
            "serializable",
            "\"verdict\":\"violated\"",
            "\"verdict\":\"holds\"",
            "needs a witness and no findings",
        ),
        ("snapshot-isolation", "\"order\":[0,1]", "\"order\":[0,7]", "the proof does not stand: "),
        ("snapshot-isolation", "\"snapshot-isolation\"", "\"serializable\"", "the proof does not stand: "),
        ("snapshot-isolation", "\"transactions\":2", "\"transactions\":3", "is about another history"),
    ] {
        let d = certified();
        change(d.path(), level, from, to);
        let run = isoscope(d.path(), BOTH);
        assert_eq!((run.code, run.err.as_str()), (1, ""), "{from} {run:?}");
        let line = run.out.lines().find(|line| line.contains(": refused: ")).unwrap();
        assert!(
            line.starts_with(&format!("proofs/{level}.json")) && line.contains(why),
            "{from}: {}",
            run.out
        );
        assert_eq!(run.out.matches(": confirmed: ").count(), 1, "{}", run.out);
    }
}

#[test]
fn a_truncated_certificate_is_refused() {
    let d = certified();
    let path = d.path().join("proofs/serializable.json");
    let text = fs::read_to_string(&path).unwrap();
    for length in [0, 1, text.len() / 2, text.len() - 2] {
        fs::write(&path, &text[..length]).unwrap();
        let run = isoscope(d.path(), "verify skew.txt proofs/serializable.json");
        assert_eq!(run.code, 1, "{length} {run:?}");
        assert!(run.out.contains("refused: malformed certificate at 1:"), "{length} {}", run.out);
    }
}

#[test]
fn a_certificate_of_another_history_is_refused() {
    let d = certified();
    let run = isoscope(d.path(), "verify other.txt proofs/serializable.json");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(
        run.out.contains("refused: the certificate is about another history: 2 sessions, 2 transactions")
    );
}

#[test]
fn unreadable_files_exit_with_255() {
    let d = certified();
    let run = isoscope(d.path(), "verify skew.txt proofs/none.json proofs/serializable.json");
    assert_eq!(run.code, 255, "{run:?}");
    assert!(run.err.contains("cannot read proofs/none.json: ") && run.out.contains("confirmed"), "{run:?}");
    assert_eq!(isoscope(d.path(), "verify none.txt proofs/serializable.json").code, 255);
    assert_eq!(isoscope(d.path(), "verify skew.txt").code, 254);
}

#[test]
fn an_unknown_level_has_no_certificate() {
    let d = directory();
    // No write takes effect, so there is nothing to check.
    fs::write(d.path().join("reads.txt"), "T1: r(x,0)\n").unwrap();
    let run = isoscope(d.path(), "check --level ser,si --certificates proofs reads.txt");
    assert_eq!(run.code, 2, "{run:?}");
    let none = "note: no certificate for unknown levels: serializable, snapshot-isolation\n";
    assert!(run.err.contains(&format!("note: 0 certificates in proofs\n{none}")), "{}", run.err);
    assert!(!d.path().join("proofs/serializable.json").exists());
}

#[test]
fn certificates_of_another_history_are_not_overwritten() {
    let d = certified();
    let text = || fs::read_to_string(d.path().join("proofs/serializable.json")).unwrap();
    let before = text();
    let run = isoscope(d.path(), "check --level ser --certificates proofs other.txt");
    assert_eq!(run.code, 255, "{run:?}");
    assert!(run.out.contains("serializable\n"), "the verdict stands: {}", run.out);
    let message = "proofs/serializable.json is not a certificate of this history and is not overwritten";
    assert!(run.err.contains(message), "{}", run.err);
    assert_eq!(text(), before);
    // The same history may be checked again.
    let run = isoscope(d.path(), "check --level si,ser,rc --certificates proofs skew.txt");
    assert_eq!((run.code, run.err.as_str()), (1, "note: 3 certificates in proofs, 2 of them replaced\n"));
}

/// A directory that cannot be created does not make the history unreadable.
#[test]
fn the_verdict_is_printed_even_if_the_directory_fails() {
    let d = directory();
    let run =
        isoscope(d.path(), "check --level ser --format concise --certificates skew.txt/proofs skew.txt");
    assert_eq!((run.code, run.out.as_str()), (255, "skew.txt: violated: serializable (1 write-skew)\n"));
    assert!(run.err.starts_with("error: cannot create the directory skew.txt/proofs: "), "{}", run.err);
}

#[test]
fn each_of_several_histories_has_its_own_directory() {
    let d = directory();
    let run = isoscope(d.path(), "check --level ser --certificates proofs skew.txt other.txt ./skew.txt");
    assert_eq!(run.code, 1, "{run:?}");
    for (history, directory) in
        [("skew.txt", "skew.txt"), ("other.txt", "other.txt"), ("skew.txt", "skew.txt-2")]
    {
        let run = isoscope(d.path(), &format!("verify {history} proofs/{directory}/serializable.json"));
        assert_eq!(run.code, 0, "{run:?}");
    }
}
