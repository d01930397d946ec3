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
    assert_eq!(code, 255);
    let expected =
        "mine.iso:2:17\n  |\n2 |   acyclic (so | cp)\n  |                 ^^\n  = help: known here: ";
    assert!(error.starts_with("error: unknown relation `cp`\n") && error.contains(expected), "{error}");
    std::fs::write(&file, "level mine in commit-order { acyclic (co | ~co) }").unwrap();
    let (code, out, error) = run(&["compare", path, "ser", "--txns", "2"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("mine@commit-order is stronger than serializable@commit-order within"), "{out}");
    assert!(
        error.contains("warning: mine@commit-order allows no history within 2 transactions and 2 keys"),
        "{error}"
    );
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
    let edges = lattice["edges"].as_array().unwrap();
    assert!(!edges.is_empty());
    for edge in edges {
        let names = |node: &str| &lattice["nodes"][edge[node].as_u64().unwrap() as usize];
        let levels = |side: &str| -> Vec<_> {
            edge["example"][side].as_array().unwrap().iter().map(|one| one["level"].clone()).collect()
        };
        assert_eq!(&serde_json::Value::from(levels("allowed")), names("weaker"), "{edge}");
        assert_eq!(&serde_json::Value::from(levels("forbidden")), names("stronger"), "{edge}");
    }
}

#[test]
fn pictures() {
    let args = ["compare", "prefix", "psi", "--format", "svg"];
    let (code, out, _) = run(&args);
    assert_eq!(code, 0);
    assert!(out.starts_with("<svg ") && out.ends_with("</svg>\n"), "{out}");
    for text in [
        "are incomparable within",
        "lost-update",
        "allowed by prefix@commit-order: T2 &lt; T1",
        ">rw x<",
        ">ww x<",
    ] {
        assert!(out.contains(text), "{text}: {out}");
    }
    assert_eq!(run(&args).1, out, "the same input is the same picture");
    let (code, out, _) =
        run(&["synth", "--allow", "ser", "--forbid", "strict-serializable", "--format", "svg"]);
    assert_eq!(code, 0);
    assert!(out.contains(">rt<"), "{out}");
    let (code, out, _) = run(&["synth", "--allow", "ser", "--forbid", "si", "--format", "svg"]);
    assert_eq!(code, 1);
    assert!(out.contains("No history within 4 transactions and 2 keys"), "{out}");
    let (code, out, _) = run(&["lattice", "--txns", "2", "--format", "svg"]);
    assert_eq!(code, 0);
    let nodes = out.matches("fill=\"#f4f6f8\"").count();
    assert!(nodes > 10 && out.contains(">strict-serializable<"), "{nodes} nodes");
}

#[test]
fn a_definition_is_explained() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.iso");
    let text = "// Writers see what is causally before them.\nlevel mine in commit-order {
      forall x: Key, t1, t2, t3: Txn.
        t1 != t2 & wr[x](t1, t3) & writes(t2, x) & writes(t3) & (so | wr)+(t2, t3) => co(t2, t1)
    }
    level same in dependency-graph extends adya-pl-2 { irreflexive (ww | wr)+ ; rw }
    level nothing in states { true }";
    std::fs::write(&file, text).unwrap();
    let (code, out, error) = run(&["explain", file.to_str().unwrap()]);
    assert_eq!(
        (code, error.as_str()),
        (0, "warning: nothing@states allows every history within 4 transactions and 2 keys\n")
    );
    expect![[r"
        mine@commit-order  definition

          // Writers see what is causally before them.
          level mine in commit-order {
            axiom forall x: Key, t1, t2, t3: Txn. t1 != t2 & wr[x](t1, t3) & writes(t2, x) &
                writes(t3) & (so | wr)+(t2, t3) => co(t2, t1)
          }

        In words
          A history is allowed if its transactions have a commit order that agrees with sessions
            and reads, such that the following holds.
          For all keys x, and transactions t1, t2 and t3: if t1 and t2 are different, t3 reads x
            from t1, t2 writes x, t3 writes something, and (one or more steps of (session order or
            reads from a writer) lead from t2 to t3), then t2 commits before t1.

        A smallest history that it forbids
            T1: r(x,1) ; T2: w(x,1)
          It shows cyclic-causality.
          The strongest common levels that allow it: adya-pl-2.99.

        same@dependency-graph  definition

          level same in dependency-graph extends adya-pl-2 {
            axiom irreflexive (ww | wr)+ ; rw
          }

        In words
          A history is allowed if the writers of each key have an order, the version order, such
            that the following holds. A transaction misses another one if it reads a version of a
            key and the other one writes a later version.
          All conditions of adya-pl-2@dependency-graph hold.
          No transaction leads to itself by (one or more steps of (the version order or reads from
            a writer)) followed by missed writes.

        adya-pl-2@dependency-graph, in words
          There is no cycle of reads from a writer or the version order.

        Catalogue
          It says the same as consistent-view@dependency-graph, a definition of consistent-view.

        A smallest history that it forbids
            T1: r(x,2) w(x,1)  T2: r(x,1) w(x,2)
          It shows cyclic-causality.
          The strongest common levels that allow it: cut-isolation, adya-pl-1.

        nothing@states  definition

          level nothing in states {
            axiom true
          }

        In words
          A history is allowed if its transactions have an order of execution such that the
            following holds. After each transaction there is a state, in which each key has the
            value that was written last.
          This always holds.

        A smallest history that it forbids
          There is none within 4 transactions and 2 keys: it allows all of them.
    "]]
    .assert_eq(&out);
    let (code, out, _) = run(&["explain", "no-lost-update"]);
    assert_eq!(code, 0);
    assert!(out.contains("In words") && out.contains("A smallest history that it forbids"), "{out}");
    let (code, out, _) = run(&["explain", &format!("{}:same", file.display())]);
    assert_eq!(code, 0);
    assert!(out.starts_with("same@dependency-graph") && !out.contains("mine@commit-order"), "{out}");
    let (code, ..) = run(&["explain", "causal@nowhere"]);
    assert_eq!(code, 254);
}

#[test]
fn the_catalogue_lists_the_definitions() {
    let (_, out, _) = run(&["levels"]);
    assert!(
        out.contains("\ncausal                           commit-order, visibility, dependency-graph\n"),
        "{out}"
    );
    let (_, out, _) = run(&["levels", "--format", "json"]);
    let catalogue: serde_json::Value = serde_json::from_str(&out).unwrap();
    let definitions = catalogue["definitions"].as_array().unwrap();
    assert!(definitions.iter().any(|one| one["name"] == "plume-causal" && one["level"] == "causal"));
    assert!(definitions.iter().all(|one| one["text"].as_str().unwrap().starts_with("level ")));
}

#[test]
fn progress_and_figures() {
    let (_, _, error) = run(&["-v", "synth", "--allow", "si", "--forbid", "ser"]);
    for word in [" candidates, ", " witnesses learnt, ", " variables, ", " clauses, ", " conflicts, ", " s\n"]
    {
        assert!(error.contains(word), "{word}: {error}");
    }
    let (_, _, error) = run(&["-v", "lattice", "--txns", "1", "--keys", "1"]);
    assert!(error.contains(" witnesses learnt, "), "{error}");
}

/// Limits hold while formulas are built, not only while they are solved.
#[test]
fn a_time_limit_ends_everything() {
    // 13 transactions have 13^8 choices of these, and no part of the formula is decided before the last one.
    let large = "forall a, b, c, d, e, f, g, h: Txn. so(a, b) & so(c, d) & so(e, f) & so(g, h) => wr(a, h)";
    let limits = ["--txns", "12", "--timeout", "50ms"];
    let args = ["synth", "--allow", "ser", "--forbid", "si", "--where", large];
    assert_eq!(run(&[&args[..], &limits].concat()).0, 2);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("large.iso");
    // Every history satisfies this.
    let always = large.replace("=> wr(a, h)", "& co(h, a) => co(g, a)");
    std::fs::write(&file, format!("level large in commit-order extends serializable {{ {always} }}"))
        .unwrap();
    let path = file.to_str().unwrap();
    assert_eq!(run(&[&["compare", path, "ser"][..], &limits].concat()).0, 2);
    assert_eq!(run(&[&["lattice", path][..], &limits].concat()).0, 2);
    let history = directory.path().join("history");
    let txns: Vec<String> = (1..=40).map(|txn| format!("T{txn}: r(x,{}) w(x,{txn})", txn - 1)).collect();
    std::fs::write(&history, txns.join(" ; ")).unwrap();
    let (code, out, _) = run(&["check", "--level", path, "--timeout", "50ms", history.to_str().unwrap()]);
    assert_eq!(code, 2, "{out}");
    // A large file is refused at once.
    std::fs::write(&file, "level a in commit-order { true }\n".repeat(400_000)).unwrap();
    let (code, _, error) = run(&["compare", path, "ser"]);
    assert_eq!(code, 255);
    assert!(error.contains("a text of definitions has at most 1048576 bytes"), "{error}");
}

#[test]
fn named_conditions() {
    let common = ["synth", "--allow", "causal", "--forbid", "psi", "--where"];
    let found = |condition: &str| run(&[&common[..], &[condition]].concat());
    let (_, out, _) = found("no blind writes");
    assert!(out.starts_with("T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)\n"), "{out}");
    let (_, out, _) = found("two-sessions");
    assert!(out.starts_with("T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)\n"), "{out}");
    // A long fork of two sessions.
    let (code, out, _) = run(&["synth", "--allow", "psi", "--forbid", "si", "--where", "two sessions"]);
    assert_eq!(code, 0);
    assert_eq!(out.lines().next().unwrap().split("  ").count(), 2, "{out}");
    let (code, _, error) = found("forall t: Txn, x: Key. writes(t, x) => reads(t)");
    assert_eq!(code, 1);
    assert!(
        error.contains("warning: no history within 4 transactions and 2 keys satisfies the conditions"),
        "{error}"
    );
}

/// `check --level FILE.iso`: a definition of the user, one with the text of a shipped one, and the limit of the size.
#[test]
fn a_history_is_checked_by_a_definition() {
    let directory = tempfile::tempdir().unwrap();
    let (file, history) = (directory.path().join("mine.iso"), directory.path().join("history"));
    let (path, input) = (file.to_str().unwrap(), history.to_str().unwrap());
    std::fs::write(&history, "T1: r(x,0) w(y,1) w(u,1)\nT2: r(y,0) w(x,1)\nT3: r(u,1)\n").unwrap();
    std::fs::write(&file, "level mine in visibility extends read-atomic { axiom all: (ar - so) in vis }")
        .unwrap();
    let (code, out, _) = run(&["check", "--level", path, input]);
    expect![[r"
        history  3 sessions, 3 transactions, 6 operations

          ✗ mine@visibility

        ✗ mine@visibility is violated

          No visibility and arbitration order of these 2 transactions satisfies axioms ext-last and all:
            T1: reads x=0, writes y=1
            T2: reads y=0, writes x=1
          axiom ext-last: forall x: Key, s, t, u: Txn. wr[x](s, t) & writes(u, x) & vis(u, t) & u != s =>
            ar(u, s)
          axiom all: ar - so in vis
           --> history:1:5
            |
          1 | T1: r(x,0) w(y,1) w(u,1)
            |     - T1 reads x=0
            |            - T1 writes y=1
          2 | T2: r(y,0) w(x,1)
            |     - T2 reads y=0
            |            - T2 writes x=1

        violated: mine@visibility
    "]]
    .assert_eq(&out.replace(input, "history"));
    assert_eq!(code, 1);
    // The text of a shipped definition: the engine answers, with its evidence.
    std::fs::write(&file, "level mine in dependency-graph { acyclic (rw | ww | wr | so) }").unwrap();
    let (code, out, _) = run(&["check", "--level", path, input]);
    assert_eq!(code, 1);
    assert!(out.contains("write skew"), "{out}");
    // Too many transactions for a search.
    let txns: Vec<String> = (1..=201).map(|txn| format!("T{txn}: r(x,0) w(y,{txn})")).collect();
    std::fs::write(&history, txns.join("\n")).unwrap();
    std::fs::write(&file, "level mine in visibility extends read-atomic { axiom all: (ar - so) in vis }")
        .unwrap();
    let (code, out, _) = run(&["check", "--level", path, input]);
    assert_eq!(code, 2);
    assert!(
        out.contains("the history has 201 transactions; this definition is checked on at most 200"),
        "{out}"
    );
}

/// A level without a place in the catalogue has no anomalies of its own; the history is named by those that it shows.
#[test]
fn anomalies_at_any_level() {
    let (_, out, _) = run(&["compare", "no-lost-update", "read-atomic"]);
    assert!(out.ends_with("  ✗ no-lost-update@visibility: lost-update\n"), "{out}");
    let (_, out, _) =
        run(&["synth", "--allow", "psi", "--forbid", "serializable-updates", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        report["histories"][0]["forbidden"][0]["anomalies"],
        serde_json::json!(["write-skew"]),
        "{out}"
    );
}

#[test]
fn a_check_warns_of_a_definition_without_effect() {
    let directory = tempfile::tempdir().unwrap();
    let (file, history) = (directory.path().join("odd.iso"), directory.path().join("history"));
    std::fs::write(&history, "T1: r(x,0) w(x,1)\n").unwrap();
    let text = "level none in states { forall s: Txn. exists t: Txn. ex(s, t) }
      level all in dependency-graph { true }
      level some in dependency-graph { acyclic (wr | ww) }";
    std::fs::write(&file, text).unwrap();
    let (code, _, error) = run(&["check", "--level", file.to_str().unwrap(), history.to_str().unwrap()]);
    assert_eq!(code, 1);
    expect![[r"
        warning: none@states allows no history within 3 transactions and 2 keys
        warning: all@dependency-graph allows every history within 3 transactions and 2 keys
    "]]
    .assert_eq(&error);
    let (_, out, error) = run(&["check", "--level", "ser@states", history.to_str().unwrap()]);
    assert_eq!(error, "");
    assert!(out.contains("✓ serializable@states\n    checked as serializable\n"), "{out}");
}

/// By its name, a shipped definition is its level; by its text, a definition of the user forbids what every definition forbids.
#[test]
fn a_definition_is_checked_as_what_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let (file, history) = (directory.path().join("mine.iso"), directory.path().join("history"));
    let (path, input) = (file.to_str().unwrap(), history.to_str().unwrap());
    let verdict = |level: &str, text: &str| {
        std::fs::write(&history, text).unwrap();
        run(&["check", "--level", level, input]).0
    };
    // A phantom: what is inserted is in the range that was read as empty, and neither saw the other.
    let phantom = r#"{"isoscope":"history","version":1,"initial":null}
{"session":0,"txn":"T1","ops":[["range",1,9,[]],["w",10,1]]}
{"session":1,"txn":"T2","ops":[["r",10,null],["insert",5,2]]}
"#;
    for name in ["pl-2.99", "pl-2.99@dep"] {
        assert_eq!(verdict(name, phantom), 0, "{name}");
    }
    for name in ["pl-3", "pl-3@dep"] {
        assert_eq!(verdict(name, phantom), 1, "{name}");
    }
    let text = "level p in dependency-graph { acyclic (ww | so - so) }
      level q in dependency-graph { irreflexive ww+ }
      level strict in dependency-graph { acyclic (so | rt | wr | ww | rw) }
      level searched in dependency-graph { acyclic (so | rt | wr | ww | rw | so - so) }";
    std::fs::write(&file, text).unwrap();
    let aborted = "T1!: w(x,1)\nT2: r(x,1)\nT3: w(y,1)\nT4: r(y,1)\n";
    for name in ["p", "q"] {
        assert_eq!(verdict(&format!("{path}:{name}"), aborted), 1, "{name}");
    }
    assert_eq!(verdict("adya-pl-1@dep", aborted), verdict("adya-pl-1", aborted));
    for (text, code) in [("T1: w(x,1)\nT2: r(x,1)\n", 2), ("T1@1-2: w(x,1)\nT2@3-4: r(x,1)\n", 0)] {
        for name in ["strict", "searched"] {
            assert_eq!(verdict(&format!("{path}:{name}@dep"), text), code, "{name}: {text}");
        }
    }
}

#[test]
fn files_that_do_not_go_together() {
    let directory = tempfile::tempdir().unwrap();
    let [one, two] =
        ["one.iso", "two.iso"].map(|name| directory.path().join(name).to_str().unwrap().to_owned());
    std::fs::write(&one, "level a in commit-order { true }\nlevel a in states { true }").unwrap();
    std::fs::write(&two, "level a in commit-order { true }").unwrap();
    let (code, _, error) = run(&["compare", &format!("{one}:a@commit"), &format!("{two}:a")]);
    assert_eq!(code, 255);
    assert!(error.contains(&format!("help: {one} defines it")), "{error}");
    let (code, _, error) = run(&["compare", &format!("{one}:a"), "ser"]);
    assert_eq!(code, 254);
    assert!(error.contains(":a is defined in 2 frameworks: write a@commit-order, for example"), "{error}");
    // The place is right behind a tab, and in a long line; what is not text is not printed as it is.
    std::fs::write(&two, "level b in commit-order {\n\tacyclic cp }").unwrap();
    let (_, _, error) = run(&["compare", &two, "ser"]);
    assert!(error.contains("2 |  acyclic cp }\n  |          ^^\n"), "{error}");
    std::fs::write(
        &two,
        format!("level b in commit-order {{ {}§\0 {} }}", "so | ".repeat(1_000), "z".repeat(9_999)),
    )
    .unwrap();
    let (_, _, error) = run(&["compare", &two, "ser"]);
    assert!(
        error.len() < 1_000 && error.contains("..") && error.contains("unexpected character `§`"),
        "{error}"
    );
    std::fs::write(&two, format!("level b in commit-order {{ acyclic {} }}", "z".repeat(9_999))).unwrap();
    let (_, _, error) = run(&["compare", &two, "ser"]);
    assert!(error.len() < 1_000 && error.contains("unknown relation `zzz"), "{error}");
}

/// What was not compared is said in every format, and what was found is shown.
#[test]
fn a_lattice_without_time() {
    let limits = ["--txns", "3", "--timeout", "1ms", "-q"];
    let (code, out, _) = run(&[&["lattice"][..], &limits].concat());
    assert_eq!(code, 2);
    assert!(out.contains("  may imply, not compared before the limit: "), "{out}");
    let (_, out, _) = run(&[&["lattice", "--format", "dot"][..], &limits].concat());
    assert!(out.contains("label=\"not compared\""), "{out}");
    let (_, out, _) = run(&[&["lattice", "--format", "json"][..], &limits].concat());
    let lattice: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(!lattice["not_compared"].as_array().unwrap().is_empty() && lattice["complete"] == false);
    assert_eq!(lattice["scope"]["txns"], 3);
}

#[test]
fn what_a_definition_extends_is_explained_to_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.iso");
    let text =
        "level mine in visibility extends snapshot-isolation { axiom more: forall t: Txn. !vis(t, t) }";
    std::fs::write(&file, text).unwrap();
    let (code, out, _) = run(&["explain", file.to_str().unwrap()]);
    assert_eq!(code, 0);
    let headings: Vec<&str> = out.lines().filter(|line| line.ends_with(", in words")).collect();
    let expected =
        ["snapshot-isolation", "prefix", "read-atomic"].map(|name| format!("{name}@visibility, in words"));
    assert_eq!(headings, expected, "{out}");
}

#[test]
fn what_is_missing_is_said() {
    let (code, _, error) = run(&["explain", "adya-pl-2@states"]);
    assert_ne!(code, 0);
    assert!(error.contains("`adya-pl-2` is defined only in dependency-graph"), "{error}");
    let (code, _, error) = run(&["check", "--level", "adya-pl-2@states", "history"]);
    assert_ne!(code, 0);
    assert!(error.contains("`adya-pl-2` is defined only in dependency-graph"), "{error}");
    let (code, _, error) = run(&["synth"]);
    assert_ne!(code, 0);
    assert_eq!(error, "error: at least one of --allow, --forbid and --where is required\n");
}

/// Two reads of one key, and a transaction that matters only by its session.
#[test]
fn violations_of_a_definition_in_words() {
    let directory = tempfile::tempdir().unwrap();
    let (file, history) = (directory.path().join("mine.iso"), directory.path().join("history"));
    let (path, input) = (file.to_str().unwrap(), history.to_str().unwrap());
    let text = "level mine in commit-order extends serializable { axiom more: forall t: Txn. !co(t, t) }";
    std::fs::write(&file, text).unwrap();
    std::fs::write(&history, "T1: r(x,0) r(x,1)\nT2: w(x,1)\n").unwrap();
    let (code, out, _) = run(&["check", "--level", path, input]);
    expect![[r"
        history  2 sessions, 2 transactions, 3 operations

          ✗ mine@commit-order

        ✗ mine@commit-order is violated: it extends serializable, which forbids these reads

          - T1 reads x=0 (non-repeatable read)
          - T1 reads x=1 (non-repeatable read)
           --> history:1:5
            |
          1 | T1: r(x,0) r(x,1)
            |     ^ T1 reads x=0
            |            ^ T1 reads x=1

        violated: mine@commit-order
    "]]
    .assert_eq(&out.replace(input, "history"));
    assert_eq!(code, 1);
    // T2 matters only because it is after T1.
    let text =
        "level mine in commit-order { axiom pairs: forall r, s, t: Txn. so(r, s) & so(s, t) => r = s }";
    std::fs::write(&file, text).unwrap();
    std::fs::write(&history, "T1: w(x,1) ; T2: r(y,0)\nT3: r(x,1)\n").unwrap();
    let (code, out, _) = run(&["check", "--level", path, input]);
    expect![[r"
        history  2 sessions, 3 transactions, 3 operations

          ✗ mine@commit-order

        ✗ mine@commit-order is violated

          No commit order of these 2 transactions satisfies axiom pairs:
            T1: writes x=1
            T2, after T1 in its session: does nothing that matters
          axiom pairs: forall r, s, t: Txn. so(r, s) & so(s, t) => r = s
           --> history:1:5
            |
          1 | T1: w(x,1) ; T2: r(y,0)
            |     - T1 writes x=1

        violated: mine@commit-order
    "]]
    .assert_eq(&out.replace(input, "history"));
    assert_eq!(code, 1);
}
