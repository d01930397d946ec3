//! Known results about levels, found by the search.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use isoscope_check::{Checker, Options, Verdict};
use isoscope_history::notation;
use isoscope_levels::Level;
use isoscope_levels::language::{Definition, Library};
use isoscope_synth::{
    Answer, Lattice, Order, Problem, Scope, Search, SmallHistory, Smallest, Unwatched, allows, compare,
    smallest,
};

fn find(name: &str) -> &'static Definition {
    Library::shipped().find(name).unwrap()
}

fn problem(allow: &[&str], forbid: &[&str]) -> Problem<'static> {
    Problem {
        allow: allow.iter().map(|name| find(name)).collect(),
        forbid: forbid.iter().map(|name| find(name)).collect(),
        conditions: Vec::new(),
    }
}

/// The smallest history with up to this many transactions and two keys. It is checked that the levels allow and forbid it.
fn example(allow: &[&str], forbid: &[&str], scope: Scope) -> Option<String> {
    let problem = problem(allow, forbid);
    let Smallest { histories, stopped } = smallest(&problem, scope, 1, &mut Unwatched);
    assert_eq!(stopped, None);
    let history = histories.first()?;
    let is_allowed = |definition: &Definition| allows(definition, history, &mut || false).unwrap().is_some();
    assert!(problem.allow.iter().all(|definition| is_allowed(definition)), "{history}");
    assert!(!problem.forbid.iter().any(|definition| is_allowed(definition)), "{history}");
    Some(history.to_string())
}

/// Whether no history with this number of transactions and at most as many keys is as asked.
fn is_empty(allow: &[&str], forbid: &[&str], scope: Scope) -> bool {
    let scope = Scope { uses_all_keys: false, ..scope };
    matches!(Search::new(&problem(allow, forbid), scope, &mut || false).next(&mut || false), Answer::Nothing)
}

/// The names of the anomalies that a level finds in a history.
fn anomalies(text: &str, level: Level) -> Vec<String> {
    let history = notation::parse(text).unwrap();
    match Checker::new(&history, Options::default()).check(level).verdict {
        Verdict::Violated(findings) => {
            findings.iter().map(|finding| finding.anomaly.name().to_owned()).collect()
        }
        verdict => panic!("{text}: {verdict:?}"),
    }
}

#[test]
fn plume_read_atomic_as_published_allows_too_much() {
    let isolde = Scope { reads_before_writes: true, ..Scope::new(3, 2) };
    let published = ["plume-read-atomic-published"];
    assert_eq!(example(&published, &["ra"], isolde).unwrap(), "T1: r(x,0) w(x,1) ; T2: r(x,0)");
    // Across frameworks, too: no witness of visibility has the history.
    assert_eq!(example(&published, &["ra@visibility"], isolde).unwrap(), "T1: r(x,0) w(x,1) ; T2: r(x,0)");
    assert_eq!(
        example(&published, &["causal@visibility"], isolde).unwrap(),
        "T1: r(x,0) w(x,1) ; T2: r(x,0)"
    );
    // Without the reads that Isolde asks for, it is shorter.
    assert_eq!(example(&published, &["ra"], Scope::new(2, 1)).unwrap(), "T1: w(x,1) ; T2: r(x,0)");
    for txns in 1..=5 {
        let scope = Scope { values: Some(5), ..Scope::new(txns, 5) };
        assert!(is_empty(&["ra"], &published, scope));
        assert!(is_empty(&["ra"], &["plume-read-atomic"], scope));
        assert!(is_empty(&["plume-read-atomic"], &["ra"], scope));
        assert!(is_empty(&["causal"], &["plume-causal"], scope));
        assert!(is_empty(&["plume-causal"], &["causal"], scope));
    }
}

#[test]
fn read_only_anomaly() {
    let isolde = Scope { reads_before_writes: true, ..Scope::new(3, 2) };
    let found = example(&["si", "serializable-updates"], &["ser"], isolde).unwrap();
    assert_eq!(anomalies(&found, Level::Serializable), ["write-skew"], "{found}");
    assert!(is_empty(&["si", "serializable-updates"], &["ser"], Scope { txns: 2, ..isolde }));
}

#[test]
fn no_lost_update_is_weaker_than_update_atomic() {
    for txns in 1..=4 {
        assert!(is_empty(&["update-atomic"], &["no-lost-update"], Scope::new(txns, 2)));
    }
    assert!(example(&["no-lost-update"], &["update-atomic"], Scope::new(3, 2)).is_some());
    assert!(is_empty(&["no-lost-update"], &["update-atomic"], Scope::new(2, 2)));
}

/// Levels in a chain, in all frameworks that define them.
#[test]
fn chains_of_levels_in_all_frameworks() {
    let chain = ["serializable", "snapshot-isolation", "prefix", "causal", "read-atomic", "read-committed"];
    let definitions = |name: &str| -> Vec<String> {
        let named = Library::shipped().definitions().iter().filter(move |one| one.name == name);
        let named =
            named.filter(|one| !(one.name == "read-committed" && one.framework.keyword() == "states"));
        named.map(|one| format!("{}@{}", one.name, one.framework.keyword())).collect()
    };
    for pair in chain.windows(2) {
        for stronger in definitions(pair[0]) {
            for weaker in definitions(pair[1]) {
                assert!(is_empty(&[&stronger], &[&weaker], Scope::new(4, 2)), "{stronger} {weaker}");
                let example = example(&[&weaker], &[&stronger], Scope::new(4, 2));
                assert!(example.is_some(), "{weaker} {stronger}");
            }
        }
    }
    for name in chain {
        for one in definitions(name) {
            for other in definitions(name) {
                assert!(is_empty(&[&one], &[&other], Scope::new(4, 2)), "{one} {other}");
            }
        }
    }
}

#[test]
fn neighbours_are_told_apart_by_the_anomalies_of_the_textbooks() {
    let cases = [
        ("psi", "si", Level::Snapshot, "long-fork"),
        ("prefix", "si", Level::Snapshot, "lost-update"),
        ("causal", "psi", Level::ParallelSnapshot, "lost-update"),
        ("si", "ser", Level::Serializable, "write-skew"),
    ];
    let mut text = String::new();
    for (allow, forbid, level, anomaly) in cases {
        let found = example(&[allow], &[forbid], Scope::new(4, 2)).unwrap();
        assert_eq!(anomalies(&found, level), [anomaly], "{found}");
        // Neither fewer transactions nor fewer keys would do.
        let history = SmallHistory::of(&notation::parse(&found).unwrap()).unwrap();
        let (txns, keys) = (history.txns(), history.keys());
        for fewer in 1..txns {
            assert!(is_empty(&[allow], &[forbid], Scope::new(fewer, 3)), "{found}");
        }
        assert!(keys == 1 || is_empty(&[allow], &[forbid], Scope::new(txns, keys - 1)), "{found}");
        text += &format!("{allow}, not {forbid}: {found}\n");
    }
    expect_test::expect![[r"
        psi, not si: T1: w(y,1) ; T2: r(x,0)  T3: w(x,1) ; T4: r(y,0)
        prefix, not si: T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)
        causal, not psi: T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)
        si, not ser: T1: r(x,0) w(y,1)  T2: r(y,0) w(x,1)
    "]]
    .assert_eq(&text);
}

#[test]
fn all_smallest_histories_up_to_renaming() {
    let Smallest { histories, stopped } =
        smallest(&problem(&["si"], &["ser"]), Scope::new(4, 2), 100, &mut Unwatched);
    let texts: Vec<String> = histories.iter().map(ToString::to_string).collect();
    assert_eq!(stopped, None);
    expect_test::expect!["T1: r(x,0) w(y,1)  T2: r(y,0) w(x,1)"].assert_eq(&texts.join("\n"));
}

#[test]
fn conditions_on_the_history() {
    let mut problem = problem(&["causal"], &["psi"]);
    problem.conditions =
        vec![Library::condition("forall t: Txn, x: Key. writes(t, x) => t = t & reads(t)").unwrap()];
    assert!(smallest(&problem, Scope::new(3, 2), 1, &mut Unwatched).histories.is_empty(), "T0 reads nothing");
    problem.conditions = vec![Library::condition("forall s, t: Txn. so(s, t) => writes(s)").unwrap()];
    assert!(!smallest(&problem, Scope::new(3, 2), 1, &mut Unwatched).histories.is_empty());
}

#[test]
fn a_search_stops() {
    struct Stop;
    impl isoscope_synth::Watch for Stop {
        fn stops(&mut self) -> bool {
            true
        }
    }
    assert!(smallest(&problem(&["si"], &["ser"]), Scope::new(4, 2), 1, &mut Stop).stopped.is_some());
}

#[test]
fn levels_are_compared() {
    let order = |first: &str, second: &str| {
        compare(find(first), find(second), Scope::new(4, 2), &mut Unwatched).order().unwrap()
    };
    assert_eq!(order("ser", "si"), Order::Stronger);
    assert_eq!(order("ra", "causal"), Order::Weaker);
    assert_eq!(order("prefix", "psi"), Order::Incomparable);
    assert_eq!(order("si@states", "si@dependency-graph"), Order::Equivalent);
    assert_eq!(order("read-committed@states", "adya-pl-2"), Order::Equivalent);
}

/// All shipped definitions: the nodes, and the steps between them.
#[test]
fn the_lattice_of_the_shipped_definitions() {
    let definitions: Vec<&Definition> = Library::shipped().definitions().iter().collect();
    let lattice = Lattice::new(&definitions, Scope::new(3, 2), &mut Unwatched);
    let mut text = String::new();
    let name = |node: usize| definitions[lattice.nodes[node][0]].name.as_str();
    for node in &lattice.nodes {
        let names = node
            .iter()
            .map(|&one| format!("{}@{}", definitions[one].name, definitions[one].framework.keyword()));
        text += &format!("{}\n", names.collect::<Vec<_>>().join(" = "));
    }
    for edge in &lattice.edges {
        let example = edge.example.as_ref().unwrap();
        text += &format!("{} > {}: {example}\n", name(edge.stronger), name(edge.weaker));
    }
    expect_test::expect![[r"
        strict-serializable@commit-order = strict-serializable@visibility = strict-serializable@dependency-graph = strict-serializable@states
        strict-snapshot-isolation@commit-order = strict-snapshot-isolation@visibility = strict-snapshot-isolation@dependency-graph = strict-snapshot-isolation@states
        serializable@commit-order = serializable@visibility = serializable@dependency-graph = serializable@states
        parallel-snapshot-isolation@visibility = parallel-snapshot-isolation@dependency-graph = snapshot-isolation@commit-order = snapshot-isolation@visibility = snapshot-isolation@dependency-graph = snapshot-isolation@states
        strict-prefix@commit-order = strict-prefix@visibility = strict-prefix@dependency-graph
        real-time-causal@commit-order = real-time-causal@visibility = real-time-causal@dependency-graph
        causal@commit-order = causal@visibility = causal@dependency-graph = prefix@commit-order = prefix@visibility = prefix@dependency-graph = plume-causal@commit-order
        serializable-updates@visibility
        update-atomic@visibility = update-atomic@dependency-graph
        no-lost-update@visibility
        read-atomic@commit-order = read-atomic@visibility = read-atomic@dependency-graph = read-atomic@states = plume-read-atomic@commit-order
        adya-pl-2.99@dependency-graph = adya-pl-3@dependency-graph = update-serializable@dependency-graph = adya-pl-3@states
        plume-read-atomic-published@commit-order
        consistent-view@dependency-graph = adya-pl-si@dependency-graph = adya-pl-si@states
        read-committed@commit-order = read-committed@dependency-graph = plume-read-committed@commit-order
        serializable-updates@commit-order
        strong-read-committed@dependency-graph
        cursor-stability@dependency-graph
        monotonic-atomic-view@dependency-graph
        strong-session-read-committed@dependency-graph
        adya-pl-2@dependency-graph = read-committed@states
        adya-pl-1@dependency-graph = strong-session-read-uncommitted@dependency-graph = strong-read-uncommitted@dependency-graph = plume-cut-isolation@dependency-graph
        strict-serializable > strict-snapshot-isolation: T1@0-1: r(x,0) w(y,1)  T2@0-1: r(y,0) w(x,1)
        strict-serializable > serializable: T1@2-3: r(x,0)  T2@0-1: w(x,1)
        strict-snapshot-isolation > parallel-snapshot-isolation: T1@2-3: r(x,0)  T2@0-1: w(x,1)
        strict-snapshot-isolation > strict-prefix: T1@0-1: r(x,0) w(x,1)  T2@0-1: r(x,0) w(x,2)
        serializable > parallel-snapshot-isolation: T1: r(x,0) w(y,1)  T2: r(y,0) w(x,1)
        serializable > serializable-updates: T1: r(x,1) ; T2: r(x,0)  T3: w(x,1)
        serializable > adya-pl-2.99: T1: w(x,1) ; T2: r(x,0)
        parallel-snapshot-isolation > causal: T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)
        parallel-snapshot-isolation > update-atomic: T1: r(x,1) ; T2: r(x,0)  T3: w(x,1)
        parallel-snapshot-isolation > consistent-view: T1: w(x,1) ; T2: r(x,0)
        strict-prefix > real-time-causal: T1@2-3: r(x,0)  T2@0-1: w(x,1)
        real-time-causal > causal: T1@0-1: r(x,1)  T2@2-3: w(x,1)
        real-time-causal > strong-read-committed: T1@0-1: w(x,1) ; T2@2-3: r(x,0)
        causal > read-atomic: T1: r(x,1) ; T2: r(x,0)  T3: w(x,1)
        serializable-updates > update-atomic: T1: r(x,0) w(y,1)  T2: r(y,0) w(x,1)
        serializable-updates > serializable-updates: T1: w(x,1) ; T2: r(x,0)
        update-atomic > no-lost-update: T1: r(x,1) w(y,1) ; T2: r(x,0) w(y,2)  T3: w(x,1) w(y,3)
        no-lost-update > read-atomic: T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)
        no-lost-update > cursor-stability: T1: w(x,1) ; T2: r(x,0)
        read-atomic > plume-read-atomic-published: T1: w(x,1) ; T2: r(x,0)
        adya-pl-2.99 > consistent-view: T1: r(x,0) w(y,1)  T2: r(y,0) w(x,1)
        plume-read-atomic-published > read-committed: T1: r(x,0) r(y,1)  T2: w(x,1) w(y,1)
        consistent-view > cursor-stability: T1: r(x,0) r(y,1)  T2: w(x,1) w(y,1)
        consistent-view > monotonic-atomic-view: T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)
        read-committed > monotonic-atomic-view: T1: r(x,1) ; T2: w(x,1)
        read-committed > strong-session-read-committed: T1: r(y,1) r(x,0)  T2: w(x,1) w(y,1)
        serializable-updates > cursor-stability: T1: r(x,1) ; T2: w(x,1)
        serializable-updates > strong-session-read-committed: T1: w(x,1) ; T2: r(x,0) w(x,2)
        strong-read-committed > strong-session-read-committed: T1@0-1: r(x,1)  T2@2-3: w(x,1)
        cursor-stability > adya-pl-2: T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)
        monotonic-atomic-view > adya-pl-2: T1: r(y,1) r(x,0)  T2: w(x,1) w(y,1)
        strong-session-read-committed > adya-pl-2: T1: r(x,1) ; T2: w(x,1)
        adya-pl-2 > adya-pl-1: T1: r(x,2) w(x,1)  T2: r(x,1) w(x,2)
    "]].assert_eq(&text);
}

/// The definitions of a text.
fn defined(text: &str) -> Vec<Definition> {
    Library::default().add(text).unwrap().to_vec()
}

/// Formulas speak of the keys of the history only.
#[test]
fn every_key_occurs() {
    let levels = defined(
        "level two-keys in commit-order { exists x, y: Key. x != y }
         level one-key in commit-order { forall x, y: Key. x = y }",
    );
    let comparison = compare(&levels[0], &levels[1], Scope::new(2, 2), &mut Unwatched);
    let found = |side: &Smallest| side.histories[0].to_string();
    assert_eq!(found(&comparison.only_first), "T1: r(x,0) r(y,0)");
    assert_eq!(found(&comparison.only_second), "T1: r(x,0)");
    let all: Vec<&Definition> = levels.iter().collect();
    let lattice = Lattice::new(&all, Scope::new(2, 2), &mut Unwatched);
    assert_eq!((lattice.nodes.len(), lattice.edges.len(), lattice.open.len()), (2, 0, 0));
}

/// A history has times if a condition speaks of them, and session order is inside real time.
#[test]
fn conditions_on_real_time() {
    let found = |level: &'static str, text: &str| {
        let conditions = vec![Library::condition(text).unwrap()];
        let problem = Problem { conditions, ..problem(&[level], &[]) };
        let Smallest { histories, .. } = smallest(&problem, Scope::new(2, 1), 1, &mut Unwatched);
        histories.first().map(ToString::to_string)
    };
    assert_eq!(found("ser", "!(rt in so)").as_deref(), Some("T1@2-3: r(x,0)  T2@0-1: r(x,0)"));
    assert_eq!(found("causal", "!(so in rt)"), None);
}

/// What was not compared before the limit of time is neither equivalent nor incomparable.
#[test]
fn a_lattice_that_was_stopped() {
    struct After(u32);
    impl isoscope_synth::Watch for After {
        fn stops(&mut self) -> bool {
            self.0 = self.0.saturating_sub(1);
            self.0 == 0
        }
    }
    let definitions = ["ser", "ser@states", "si", "adya-pl-1"].map(find);
    let lattice = Lattice::new(&definitions, Scope::new(3, 2), &mut After(1));
    assert!(lattice.stopped && lattice.edges.is_empty());
    assert_eq!((lattice.nodes.len(), lattice.open.len()), (4, 12));
    let whole = Lattice::new(&definitions, Scope::new(3, 2), &mut Unwatched);
    assert_eq!((whole.nodes.len(), whole.open.len(), whole.stopped), (3, 0, false));
}

/// A value ranges over the versions of its key, whatever other keys have.
#[test]
fn values_are_versions_of_a_key() {
    let levels = defined(
        "level read in commit-order { forall x: Key, v: Value. exists t: Txn. reads(t, x, v) }
         level one in commit-order { forall x: Key, v, w: Value. v = w & (exists t: Txn. reads(t, x, v)) }",
    );
    let allowed = |text: &str| -> Vec<bool> {
        let history = SmallHistory::of(&notation::parse(text).unwrap()).unwrap();
        levels.iter().map(|level| allows(level, &history, &mut || false).unwrap().is_some()).collect()
    };
    assert_eq!(allowed("T1: r(x,0) w(x,1)  T2: r(x,1) r(y,0)"), [true, false]);
    assert_eq!(allowed("T1: w(x,1)  T2: r(x,1)"), [false, false]);
    assert_eq!(allowed("T1: r(x,0)  T2: r(y,0)"), [true, true]);
}
