//! The level language: what is accepted, what is printed, and where errors point.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use isoscope_levels::Level;
use isoscope_levels::language::{Definition, Library, Shape};

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
    // docs/language.md says why these two cannot be expressed.
    let without = [Level::CutIsolation, Level::MonotonicView];
    for level in Level::ALL {
        assert_eq!(library.of(level).next().is_some(), !without.contains(&level), "{level}");
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
        "level ser in commit-order { true }",
        "level PSI in commit-order { true }",
        "",
        "level a in commit-order { forall t: Txn. writes(t, t) }",
        "level a in commit-order { so § co }",
        "level a in commit-order { forall t: Txn, x, y: Key, v, w: Value. writes(t, x, v) & writes(t, y, w) => v = w }",
        "level a in commit-order { forall v: Value. exists t: Txn, x: Key. writes(t, x, v) }",
        "level a in commit-order { exists v, w: Value. v != w }",
        "level a in commit-order { axiom true false }",
        "level a in commit-order { axiom p: true axiom p: false }",
        "level a in commit-order { forall t, t: Txn. true }",
        "level a in commit-order { }",
        "level a in commit-order { empty (co -so) }",
        "level a in commit-order { let acyclic = so empty co }",
        "level a in commit-order { let ww = co empty ww }",
        "level a in commit-order { let p = so let p = co empty p }",
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
        1:33 `b`: there is no level `b` in commit-order (there are: read-committed, read-atomic, causal, prefix, snapshot-isolation, serializable, serializable-updates, strict-serializable, strict-snapshot-isolation, real-time-causal, strict-prefix, plume-read-committed, plume-read-atomic-published, plume-read-atomic, plume-causal)
        1:44 `}`: expected `)`, found `}`
        1:31 ``: expected `}`, found the end of the text
        1:7 `causal`: `causal` is already defined in commit-order
        1:7 `ser`: `ser` is another name of the level `serializable` (choose a name that is not in the catalogue)
        1:7 `PSI`: `PSI` is another name of the level `parallel-snapshot-isolation` (choose a name that is not in the catalogue)
        1:1 ``: the text defines no level (a level looks like this: level my-level in commit-order { acyclic (so | co) })
        1:52 `t`: `t` is a Txn, this place takes a Key
        1:30 `§`: unexpected character `§`
        1:107 `w`: values of different keys cannot be compared (a value is a version of one key; other keys have versions of their own)
        1:34 `v`: the key of a value must be bound before the value (for example: forall x: Key, v: Value. writes(t, x, v) => reads(s, x, v))
        1:34 `v`: this value is of no key (for example: forall x: Key, v: Value. writes(t, x, v) => reads(s, x, v))
        1:38 `false`: expected `axiom`, `let` or `}` (a level with several conditions has `axiom` before each)
        1:47 `p`: there is another axiom `p`
        1:37 `t`: `t` is bound twice
        1:7 `a`: the level has no condition (`true` is a condition that always holds)
        1:37 `-`: the operator `-` has spaces around it
        1:31 `acyclic`: expected the name of a definition, found `acyclic`
        1:31 `ww`: `ww` is a relation of the language (choose another name)
        1:42 `p`: `p` is already defined"]].assert_eq(&found.join("\n"));
}

/// A text is refused before any work that grows with it.
#[test]
fn a_text_has_a_limit() {
    let mut library = Library::shipped().clone();
    let text = "level a in commit-order { true }\n".repeat(40_000);
    let error = library.add(&text).unwrap_err();
    assert_eq!(error.to_string(), "a text of definitions has at most 1048576 bytes, this one has 1320000");
}

/// Every shipped definition in English. Formulas are read in one way only: what is nested is in parentheses.
#[test]
fn definitions_in_words() {
    let words = |name: &str| Library::shipped().find(name).unwrap().words().join("\n");
    expect_test::expect![[r"
        A history is allowed if its transactions have a commit order that agrees with sessions and reads, such that the following holds.
        For all keys x, and transactions t1, t2 and t3: if t1 and t2 are different, t3 reads x from t1, t2 writes x, and (one or more steps of (session order or reads from a writer) lead from t2 to t3), then t2 commits before t1."]].assert_eq(&words("causal"));
    expect_test::expect![[r"
        A history is allowed if its transactions have an arbitration order, and each transaction sees some of those before it, such that the following holds.
        ext-visible: For all transactions s and t: if t reads some key from s, then t sees s.
        ext-last: For all keys x, and transactions s, t and u: if t reads x from s, u writes x, t sees u, and u and s are different, then u is before s in the arbitration order.
        session: For all transactions s and t: if s is before t in a session, then t sees s."]].assert_eq(&words("read-atomic@visibility"));
    expect_test::expect![[r"
        A history is allowed if its transactions have an arbitration order, and each transaction sees some of those before it, such that the following holds.
        All conditions of read-atomic@visibility hold.
        prefix: For all transactions s and t: if for some transaction u, s is before u in the arbitration order and t sees u, then t sees s."]].assert_eq(&words("prefix@visibility"));
    expect_test::expect![[r"
        A history is allowed if the writers of each key have an order, the version order, such that the following holds. A transaction misses another one if it reads a version of a key and the other one writes a later version.
        There is no cycle of (session order, reads from a writer or the version order) followed by (at most one step of missed writes)."]].assert_eq(&words("snapshot-isolation@dependency-graph"));
    expect_test::expect![[r"
        A history is allowed if its transactions have an order of execution such that the following holds. After each transaction there is a state, in which each key has the value that was written last.
        `holds(s, w, x)` means: w writes x, (w and s are the same or w is executed before s) and (there is no transaction u such that u writes x, w is executed before u and (u and s are the same or u is executed before s)).
        `complete(s, t)` means: s is executed before t and (for all keys x and transactions w: if t reads x from w, then `holds(s, w, x)`).
        `after-session(s, t)` means: for every transaction u: if u is before t in a session, then u and s are the same or u is executed before s.
        `no-conflict(s, t)` means: there are no transactions u and keys x such that s is executed before u, u is executed before t, u writes x and t writes x.
        snapshot: For every transaction t: if there is a transaction s such that s is executed before t, then there is a transaction s such that `complete(s, t)`, `after-session(s, t)` and `no-conflict(s, t)`."]].assert_eq(&words("snapshot-isolation@states"));
    expect_test::expect![[r"
        A history is allowed if the writers of each key have an order, the version order, such that the following holds. A transaction misses another one if it reads a version of a key and the other one writes a later version.
        All conditions of adya-pl-2@dependency-graph hold.
        no-g-cursor: For every key x: no transaction leads to itself by the version order of x followed by missed writes of x."]].assert_eq(&words("cursor-stability"));
    expect_test::expect![[r"
        A history is allowed if its transactions have a commit order that agrees with sessions and reads, such that the following holds.
        All conditions of plume-read-atomic-published@commit-order hold.
        `hb` is one or more steps of (session order or reads from a writer).
        m: For all keys x, and transactions t1, t2 and t3: if t3 reads x from t1, t2 writes x and `hb` leads from t2 to t3, then it is not the case that `hb` leads from t1 to t2.
        n: For all keys x, and transactions t1, t2 and t3: if t3 reads x from t1, t2 writes x and `hb` leads from t2 to t3, then t1 does not commit before t2."]].assert_eq(&words("plume-causal"));
    for definition in Library::shipped().definitions() {
        let words = definition.words();
        assert!(words.len() > 1, "{}", definition.name);
        for sentence in words {
            assert!(
                sentence.ends_with('.') && !sentence.contains('{') && !sentence.contains("  "),
                "{sentence}"
            );
            assert_eq!(sentence.matches('(').count(), sentence.matches(')').count(), "{sentence}");
        }
    }
}

/// The level of the catalogue that has the same shape as the only definition of a text.
fn shape(text: &str) -> Option<String> {
    let mut library = Library::shipped().clone();
    let definition = library.add(text).unwrap()[0].clone();
    Library::catalogue_level(&definition).map(|(level, _)| level.to_string())
}

#[test]
fn shapes_ignore_names_and_order() {
    let causal = "level mine in commit-order {
      let hb = (wr | so)+
      axiom forall reader, writer, other: Txn, k: Key.
        hb(other, reader) => writes(other, k) & wr[k](writer, reader) & other != writer => co(other, writer)
    }";
    assert_eq!(shape(causal).as_deref(), Some("causal"));
    assert_eq!(shape(&causal.replace("(wr | so)+", "wr+")), None);
    let visible = "level mine in visibility {
      axiom forall s, t: Txn. (so | wr)(s, t) => vis(s, t)
      axiom forall x: Key, s, t, u: Txn. !(wr[x](s, t) & writes(u, x) & vis(u, t)) | u = s | ar(u, s)
      axiom forall a, b: Txn. ar(a, b) => vis(a, b)
    }";
    // `so | wr` is written as one axiom: the conjunction is not split.
    assert_eq!(shape(visible), None);
    let split = visible.replace("(so | wr)(s, t) => vis(s, t)", "so(s, t) => vis(s, t) axiom wr in vis");
    assert_eq!(shape(&split).as_deref(), Some("serializable"));
    assert_eq!(
        shape("level m in dependency-graph { irreflexive (rw | ww | wr | so)+ }").as_deref(),
        Some("serializable")
    );
    assert_eq!(shape("level m in dependency-graph { acyclic (wr | ww | rw) }").as_deref(), Some("adya-pl-3"));
    assert_eq!(shape("level m in states extends read-committed { true }").as_deref(), Some("adya-pl-2"));
    // The same text in another framework is another level.
    assert_eq!(shape("level m in states { (so | wr) in ex }"), None);
}

/// Different shipped definitions have different shapes, except where the files say so.
#[test]
fn every_shipped_definition_has_its_shape() {
    let definitions = Library::shipped().definitions();
    for (i, one) in definitions.iter().enumerate() {
        for other in &definitions[..i] {
            let is_same = Shape::of(one) == Shape::of(other);
            let names = (one.name.as_str(), other.name.as_str());
            assert_eq!(
                is_same,
                names == ("adya-pl-3", "adya-pl-2.99") && one.framework == other.framework,
                "{names:?}"
            );
        }
    }
}

/// A shipped definition stands for its own level, also where two levels have one text. Other definitions mean what they say.
#[test]
fn definitions_are_decided_by_engines() {
    let decided =
        |definition: &Definition| Library::decided_by(definition).map(|(level, _)| level.to_string());
    for name in ["adya-pl-2.99", "adya-pl-3", "adya-pl-1", "strong-read-uncommitted"] {
        assert_eq!(decided(Library::shipped().find(name).unwrap()).as_deref(), Some(name));
    }
    let mut library = Library::shipped().clone();
    let text = "level p in dependency-graph { acyclic (ww | wr | rw) }
      level q in dependency-graph { irreflexive ww+ }
      level parallel-snapshot-isolation in commit-order { true }";
    let added = library.add(text).unwrap().to_vec();
    assert_eq!(decided(&added[0]).as_deref(), Some("adya-pl-3"));
    assert_eq!(decided(&added[1]), None, "it forbids aborted reads, as every definition does");
    assert_eq!(library.find("psi").unwrap().framework.keyword(), "visibility", "the shipped definition");
    assert_eq!(library.find("psi@Commit").unwrap().text, added[2].text);
}

/// Values, twice the inverse, and the mark at the beginning of a file.
#[test]
fn what_is_accepted() {
    for text in [
        "level a in commit-order { forall v: Value, s, t: Txn, x: Key. writes(s, x, v) & reads(t, x, v) => co(s, t) }",
        "level a in commit-order { let same(v, w: Value) = v = w
           forall t: Txn, x: Key, v, w: Value. reads(t, x, v) & same(v, w) => writes(t, x, w) }",
        "level a in commit-order { empty ~~so }",
        "\u{feff}level a in commit-order { empty so }",
        // The bracket on a new line does not hold arguments of `t` or `so`.
        "level a in commit-order { let p(s, t: Txn) = so(s, t) & s != t\n (p & co) in p }",
        "level a in commit-order { let p = so // all\n (p | co) in co }",
    ] {
        assert_eq!(Library::default().add(text).map(<[_]>::len), Ok(1), "{text}");
    }
    // The use is wrong, not what it stands for.
    let lets: Vec<String> = (2..=20).map(|n| format!("let r{n} = r{} | r{}", n - 1, n - 1)).collect();
    let text = format!("level a in commit-order {{\nlet r1 = so\n{}\nempty r20 }}", lets.join("\n"));
    assert!(error(&text).starts_with("16:"), "{}", error(&text));
}

/// A level extends only those above it.
#[test]
fn a_level_extends_only_levels_above_it() {
    let b = "level b in states { true }";
    assert_eq!(
        error(&format!("level a in states extends b {{ true }} {b}")),
        "1:27 `b`: `b` is defined only below (a level extends only levels above it: move this one down)"
    );
    assert_eq!(
        error(
            "level a in states extends b { true } level c in states extends a { true } level b in states extends c { true }"
        ),
        "1:27 `b`: `b` is defined only below (the two extend each other; a level extends only levels above it)"
    );
    // In another framework it is another level.
    let other = error(&format!("level a in visibility extends b {{ true }} {b}"));
    assert!(other.contains("there is no level `b` in visibility"), "{other}");
}

/// What a definition extends, directly or not.
#[test]
fn levels_that_are_extended() {
    let mut library = Library::shipped().clone();
    let text = "level a in visibility extends snapshot-isolation { axiom true }
      level b in visibility extends a { axiom true }
      level c in visibility { true }
      level d in states extends read-committed { axiom true }";
    let levels = library.add(text).unwrap();
    let strongest = |place: usize| Library::extends(&levels[place], |_| true);
    assert_eq!(
        [strongest(0), strongest(1), strongest(2)],
        [Some(Level::Snapshot), Some(Level::Snapshot), None]
    );
    // Read committed by Crooks is Adya's PL-2.
    assert_eq!(strongest(3), Some(Level::AdyaPl2));
    assert_eq!(Library::extends(&levels[1], |level| level == Level::ReadAtomic), Some(Level::ReadAtomic));
    assert_eq!(Library::extends(&levels[1], |level| level == Level::Serializable), None);
}
