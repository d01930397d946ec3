//! The level language: what is accepted, what is printed, and where errors point.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use isoscope_levels::Level;
use isoscope_levels::language::Library;

/// The error of a text, as the line and the column it points at, the text there, the message and the help.
fn error(text: &str) -> String {
    let error = Library::shipped().clone().add(text).unwrap_err();
    let (line, column) = error.position(text);
    let help = if error.help.is_empty() { String::new() } else { format!(" ({})", error.help) };
    format!("{line}:{column} `{}`: {}{help}", &text[error.span.clone()], error.message)
}

#[test]
fn the_shipped_definitions_are_read() {
    let library = Library::shipped();
    for level in [
        Level::AdyaPl1,
        Level::AdyaPl2,
        Level::AdyaPl299,
        Level::ReadCommitted,
        Level::ReadAtomic,
        Level::Causal,
        Level::Prefix,
        Level::ParallelSnapshot,
        Level::Snapshot,
        Level::Serializable,
        Level::StrictSnapshot,
        Level::StrictSerializable,
        Level::UpdateAtomic,
        Level::ConsistentView,
    ] {
        assert!(library.of(level).next().is_some(), "{level}");
    }
}

#[test]
fn a_printed_definition_reads_as_itself() {
    for definition in Library::shipped().definitions() {
        let mut library = Library::default();
        for other in Library::shipped().definitions() {
            if other.name == definition.name && other.framework == definition.framework {
                break;
            }
            library.add(&other.text).unwrap();
        }
        let again = library.add(&definition.text).unwrap();
        assert_eq!(again[0].text, definition.text);
        let formulas = |axioms: &[isoscope_levels::language::Axiom]| -> Vec<_> {
            axioms.iter().map(|axiom| axiom.formula.clone()).collect()
        };
        assert_eq!(formulas(&again[0].axioms), formulas(&definition.axioms), "{}", definition.name);
    }
}

#[test]
fn errors_point_at_the_text() {
    let cases = [
        "level a in commit-order { acyclic (so | cp) }",
        "level a in commit-order { acyclic (so | vis) }",
        "level a in commit-order {\n  forall t: Txn. co(t, s) }",
        "level a in commit-order { forall t: Txn, x: Key. co(t, x) }",
        "level a in commit-order { forall t: Txn. co(t) }",
        "level a in commit-order { let hb = so | hb ; hb acyclic hb }",
        "level a in commit-order { so }",
        "level a in commit-order { acyclic (so-wr) }",
        "level a in commit-order { forall t: Transaction. true }",
        "level a in commit { true }",
        "level a in commit-order extends b { true }",
        "level a in commit-order { acyclic (so | co }",
        "level a in commit-order { true",
        "level causal in commit-order { true }",
        "",
        "level a in commit-order { forall t: Txn. writes(t, t) }",
        "level a in commit-order { so § co }",
    ];
    let found: Vec<String> = cases.into_iter().map(error).collect();
    expect_test::expect![[r"
        1:41 `cp`: unknown relation `cp` (known here: so, rt, wr, id, co, po, writes, reads)
        1:41 `vis`: a level in commit-order has no relation `vis` (levels in visibility have it)
        2:24 `s`: unbound variable `s` (a variable is bound by a quantifier: forall t: Txn. ..)
        1:56 `x`: `x` is a Key, this place takes a Txn
        1:42 `co(t)`: a relation takes 2 arguments, found 1
        1:41 `hb`: the definition of `hb` uses itself (use `+` or `*` for paths of any length)
        1:27 `so`: expected a formula, found a relation (`acyclic`, `irreflexive`, `empty`, `in` and arguments make a formula of a relation)
        1:35 `(so-wr)`: unknown relation `so-wr` (the operator `-` has spaces around it)
        1:37 `Transaction`: there is no sort `Transaction` (the sorts are Txn, Key and Value)
        1:12 `commit`: there is no framework `commit` (the frameworks are commit-order, visibility, dependency-graph, states)
        1:33 `b`: there is no level `b` in commit-order (there are: read-committed, read-atomic, causal, prefix, snapshot-isolation, serializable, serializable-updates, strict-serializable, strict-snapshot-isolation, plume-read-committed, plume-read-atomic-published, plume-read-atomic, plume-causal)
        1:44 `}`: expected `)`, found `}`
        1:31 ``: expected a formula or a relation, found the end of the text
        1:7 `causal`: `causal` is already defined in commit-order
        1:1 ``: the text defines no level (a level looks like this: level my-level in commit-order { acyclic (so | co) })
        1:52 `t`: `t` is a Txn, this place takes a Key
        1:30 `§`: unexpected character `§`"]].assert_eq(&found.join("\n"));
}
