//! The commands about definitions of levels, as a user runs them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::process::Command;

use expect_test::expect;

/// The exit code, standard output and standard error of a run.
fn run(args: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_isoscope")).args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_history_that_tells_two_levels_apart() {
    let (code, out, _) = run(&["synth", "--allow", "si", "--forbid", "ser"]);
    expect![[r"
        T1: r(x,0) w(y,1)  T2: r(y,0) w(x,1)
          ✓ snapshot-isolation@commit-order: T2 < T1
          ✗ serializable@commit-order: write-skew
    "]]
    .assert_eq(&out);
    assert_eq!(code, 0);
    let (code, out, _) = run(&["synth", "--allow", "ser", "--forbid", "si"]);
    assert_eq!((code, out.as_str()), (1, "none within 4 transactions and 2 keys\n"));
}

#[test]
fn all_histories_and_conditions() {
    let common = ["synth", "--allow", "causal", "--forbid", "prefix@visibility", "--all"];
    let (code, out, _) = run(&[&common[..], &["--where", "one-transaction-per-session"]].concat());
    expect![[r"
        T1: r(x,0) r(y,1)  T2: r(x,1) r(y,0)  T3: w(y,1)  T4: w(x,1)
          ✓ causal@commit-order: T4 < T3 < T2 < T1
          ✗ prefix@visibility: long-fork
        the only smallest history, up to renaming
    "]]
    .assert_eq(&out);
    assert_eq!(code, 0);
}

#[test]
fn levels_are_compared() {
    let (code, out, _) = run(&["compare", "prefix", "psi"]);
    expect![[r"
        prefix@commit-order and parallel-snapshot-isolation@visibility are incomparable within 4 transactions and 2 keys

        T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)
          ✓ prefix@commit-order: T2 < T1
          ✗ parallel-snapshot-isolation@visibility: lost-update

        T1: w(y,1) ; T2: r(x,0)  T3: w(x,1) ; T4: r(y,0)
          ✓ parallel-snapshot-isolation@visibility: T3 < T1 < T2 < T4; T2 sees T1, T4 sees T3
          ✗ prefix@commit-order: long-fork
    "]]
    .assert_eq(&out);
    assert_eq!(code, 0);
    let (_, out, _) = run(&["compare", "si@states", "si@visibility"]);
    let expected = "snapshot-isolation@states and snapshot-isolation@visibility are equivalent within";
    assert!(out.starts_with(expected), "{out}");
}

#[test]
fn json_has_the_witnesses() {
    let (_, out, _) = run(&["synth", "--allow", "psi", "--forbid", "si", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["histories"][0]["forbidden"][0]["anomalies"], serde_json::json!(["long-fork"]));
    assert!(
        report["histories"][0]["allowed"][0]["visible"].as_array().is_some_and(|pairs| !pairs.is_empty())
    );
}

#[test]
fn definitions_of_the_user() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.iso");
    let path = file.to_str().unwrap();
    std::fs::write(&file, "level mine in commit-order extends causal {\n  acyclic (so | cp)\n}\n").unwrap();
    let (code, _, error) = run(&["compare", path, "causal"]);
    assert_eq!(code, 254);
    let expected =
        "mine.iso:2:17\n  |\n2 |   acyclic (so | cp)\n  |                 ^^\n  = help: known here: ";
    assert!(error.starts_with("error: unknown relation `cp`\n") && error.contains(expected), "{error}");
    std::fs::write(&file, "level mine in commit-order { acyclic (co | ~co) }").unwrap();
    let (code, out, error) = run(&["compare", path, "ser", "--txns", "2"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("mine@commit-order is stronger than serializable@commit-order within"), "{out}");
    assert!(error.contains("warning: mine@commit-order allows no history within 2 transactions"), "{error}");
    std::fs::write(&file, "level mine in dependency-graph { true }").unwrap();
    let (_, _, error) = run(&["compare", path, "ser", "--txns", "2"]);
    assert!(error.contains("warning: mine@dependency-graph allows every history"), "{error}");
    let (code, out, _) = run(&["lattice", path, "--txns", "2"]);
    assert_eq!(code, 0);
    assert!(out.contains("mine (dependency-graph)"), "{out}");
}

#[test]
fn bad_names_and_conditions() {
    let (code, _, error) = run(&["synth", "--allow", "nope"]);
    assert_eq!(
        (code, error.lines().next().unwrap()),
        (254, "error: there is no definition of `nope`; `isoscope lattice` lists the definitions")
    );
    let (code, _, error) = run(&["synth", "--allow", "si@state"]);
    assert_eq!((code, error.as_str()), (0, ""), "a prefix of a framework is enough");
    let (code, _, error) = run(&["synth", "--allow", "psi@commit-order"]);
    assert_eq!(code, 254);
    assert!(error.contains("is defined only in visibility, dependency-graph"), "{error}");
    let (code, _, error) = run(&["synth", "--allow", "si", "--where", "vis(t, t)"]);
    assert_eq!(code, 254);
    assert!(error.contains("a condition on histories has no relation `vis`"), "{error}");
}

#[test]
fn a_time_limit_ends_the_search() {
    let args =
        ["synth", "--allow", "ser", "--forbid", "si", "--txns", "12", "--keys", "8", "--timeout", "1ms"];
    let (code, out, _) = run(&args);
    assert_eq!(
        (code, out.as_str()),
        (2, "none found before the time limit, within 12 transactions and 8 keys\n")
    );
}

#[test]
fn the_lattice_as_a_graph() {
    let (code, out, _) = run(&["lattice", "--txns", "2", "--format", "dot"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("digraph levels {\n") && out.ends_with("}\n"), "{out}");
    let (_, out, _) = run(&["lattice", "--txns", "2", "--format", "json"]);
    let lattice: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(lattice["nodes"].as_array().unwrap().len() > 5);
}
