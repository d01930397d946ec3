//! Recorded histories judged by definitions: against the engines of `check`, and what is shown.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use isoscope_check::{Checker, Options, Unknown, Verdict};
use isoscope_history::notation;
use isoscope_levels::language::{Definition, Library};
use isoscope_levels::{Framework, Level};
use isoscope_synth::{Clock, Core, Ruling, Unsupported, Why, judge};

fn find(name: &str) -> &'static Definition {
    Library::shipped().find(name).unwrap()
}

fn rule(definition: &Definition, text: &str) -> Ruling {
    judge(definition, &notation::parse(text).unwrap(), Clock::Clients, &mut || false, &mut || false)
}

/// The names of the transactions of a core, and its axioms.
fn core(definition: &Definition, text: &str) -> (Vec<u32>, Vec<usize>) {
    match rule(definition, text) {
        Ruling::Forbidden(Core { txns, axioms, is_minimal, .. }) => {
            assert!(is_minimal);
            (txns.iter().map(|txn| txn.txn.0 + 1).collect(), axioms)
        }
        ruling => panic!("{text}: {ruling:?}"),
    }
}

#[test]
fn a_core_has_what_matters() {
    // T3 and T4 do not matter; neither do the operations on z.
    let text = "T1: r(x,0) w(y,1) w(z,1)  T2: r(y,0) w(x,1) r(z,0)  T3: r(x,1)  T4: w(u,1) r(y,1)";
    assert_eq!(core(find("serializable"), text), (vec![1, 2], vec![0]));
    let Ruling::Forbidden(found) = rule(find("serializable"), text) else { panic!("it is write skew") };
    assert!(found.txns.iter().all(|txn| txn.reads.len() == 1 && txn.writes.len() == 1), "{found:?}");
    // In visibility, three axioms take part: reads see, the last visible write is read, everything before is visible.
    assert_eq!(core(find("serializable@visibility"), text), (vec![1, 2], vec![1, 3]));
    assert_eq!(
        core(find("causal"), "T1: r(x,1) w(y,1)  T2: r(y,1) w(x,1)  T3: r(x,1)"),
        (vec![1, 2], vec![])
    );
}

/// What is left out of a history must not be what an axiom asks for.
#[test]
fn a_core_is_a_reason_for_the_whole_history() {
    let mut library = Library::default();
    let text = "level nm in commit-order {
      axiom two: exists a, b, c: Txn. a != b & b != c & a != c
      axiom ser: forall x: Key, t1, t2, t3: Txn.
        t1 != t2 & wr[x](t1, t3) & writes(t2, x) & co(t2, t3) => co(t2, t1)
    }
    level follows in commit-order { axiom seen: forall t: Txn. writes(t) => exists s: Txn. t != s & wr(t, s) }
    level reads in commit-order { axiom reads: forall t: Txn. writes(t) => reads(t) }
    level stale in visibility { axiom sees: forall s, t: Txn. vis(s, t) | vis(t, s) | s = t  axiom none: empty vis }";
    let levels = library.add(text).unwrap();
    let skew = "T1: r(x,0) w(y,1)  T2: r(y,0) w(x,1)  T3: r(x,0)";
    assert_eq!(core(&levels[0], skew), (vec![1, 2], vec![1]));
    // T3 reads from T1; that nobody reads from T2 is seen only in the whole history.
    assert_eq!(core(&levels[1], "T1: w(x,1)  T2: w(y,1)  T3: r(x,1)"), (vec![1, 2, 3], vec![0]));
    // Without its read, any writer would violate it. The initial transaction does by itself.
    let Ruling::Forbidden(found) = rule(&levels[2], "T1: r(x,0) w(x,1)  T2: r(x,1)") else { panic!("T0") };
    assert_eq!(found.txns.iter().map(|txn| txn.reads.len()).sum::<usize>(), found.txns.len());
    assert_eq!(core(&levels[3], "T1: r(x,0)  T2: r(x,0) w(x,1)").1, [0, 1]);
}

#[test]
fn a_writer_stays_as_long_as_it_is_read_from() {
    let text = "T1: w(x,1)  T2: r(x,1) w(y,1)  T3: r(y,1) r(x,0)";
    assert_eq!(core(find("causal"), text).0, [1, 2, 3]);
}

#[test]
fn worlds_settle_outcomes_and_writers() {
    let causal = find("causal");
    // T1 is read from, so it took effect; then T3 reads a stale value.
    assert!(matches!(rule(causal, "T1?: w(x,1) w(y,1)  T3: r(x,1) r(y,0)"), Ruling::Forbidden(_)));
    assert!(matches!(rule(causal, "T1?: w(x,1) w(y,1)  T2: w(y,2)  T3: r(x,0) r(y,2)"), Ruling::Allowed(_)));
    // One of the two writers of x=1 explains the reads of T3.
    assert!(matches!(rule(causal, "T1: w(x,1) w(y,1)  T2: w(x,1)  T3: r(x,1) r(y,0)"), Ruling::Allowed(_)));
    assert!(matches!(
        rule(causal, "T1: w(x,1) w(y,1)  T2: w(x,1) w(y,2)  T3: r(x,1) r(y,0)"),
        Ruling::Forbidden(Core { worlds: 2, .. })
    ));
}

/// A definition may ask for a transaction that nothing reads from.
#[test]
fn no_outcome_is_taken_for_granted() {
    let mut library = Library::default();
    let text = "level two in commit-order { exists s, t: Txn, x: Key. s != t & reads(s, x) & reads(t, x) }";
    let two = &library.add(text).unwrap()[0];
    assert!(matches!(rule(two, "T1: w(x,1)  T2: r(x,1)  T3?: r(x,0)"), Ruling::Allowed(_)));
    assert!(matches!(rule(two, "T1: w(x,1)  T2: r(x,1)  T3!: r(x,0)"), Ruling::Forbidden(_)));
}

#[test]
fn wrong_reads_violate_every_definition() {
    let allows_all = find("plume-cut-isolation");
    let cases = [
        ("T1: r(x,7)", "thin-air-read"),
        ("T1!: w(x,1)  T2: r(x,1)", "aborted-read"),
        ("T1: w(x,1) w(x,2)  T2: r(x,1)", "intermediate-read"),
        ("T1: r(x,1) w(x,1)", "future-read"),
        ("T1: w(x,1) w(x,2) r(x,1)", "not-my-last-write"),
        ("T1: w(x,1) r(x,2)  T2: w(x,2)", "not-my-own-write"),
    ];
    for (text, name) in cases {
        match rule(allows_all, text) {
            Ruling::WrongReads(wrong) => assert_eq!(wrong[0].anomaly.name(), name, "{text}"),
            ruling => panic!("{text}: {ruling:?}"),
        }
    }
    // A transaction of unknown outcome with such a read did not take effect.
    assert!(matches!(rule(allows_all, "T1?: r(x,7) w(y,1)  T2: r(z,1)  T3: w(z,1)"), Ruling::Allowed(_)));
    assert!(matches!(rule(allows_all, "T1?: r(x,7) w(y,1)  T2: r(y,1)"), Ruling::WrongReads(_)));
}

#[test]
fn what_definitions_do_not_speak_of_is_unknown() {
    let why = |text: &str| match rule(find("causal"), text) {
        Ruling::Unknown(Why::Unsupported(Unsupported::Txn { why, .. })) => why.to_owned(),
        Ruling::Unknown(why) => format!("{why:?}"),
        ruling => panic!("{text}: {ruling:?}"),
    };
    assert!(why("T1: a(x,1)  T2: r(x,[1])").contains("lists"));
    assert!(why("T1: w(x,1)  T2: r(x,?)").contains("not recorded"));
    assert_eq!(why("T1: w(x,1)"), "NothingToCheck");
    // The world in which T2 took effect is not known; the other one is.
    assert!(matches!(rule(find("causal"), "T1: w(x,1)  T2?: r(x,?)  T3: r(x,1)"), Ruling::Allowed(_)));
    assert!(matches!(
        rule(find("strict-serializable"), "T1: w(x,1)  T2: r(x,0)"),
        Ruling::Unknown(Why::NoTimes)
    ));
    let large: Vec<String> = (1..=201).map(|txn| format!("T{txn}: w(x,{txn}) r(y,0)")).collect();
    assert!(why(&large.join("  ")).contains("Large"));
}

/// Two reads of one key that return different versions violate what extends a level that forbids this. The engines agree.
#[test]
fn two_versions_violate_what_extends_a_level_that_forbids_them() {
    let text = "T1: w(x,1)  T2: r(x,0) r(x,1)";
    let history = notation::parse(text).unwrap();
    let mut checker = Checker::new(&history, Options::default());
    let mut forbidding = 0;
    for definition in Library::shipped().definitions() {
        let mut library = Library::shipped().clone();
        let (name, framework) = (&definition.name, definition.framework.keyword());
        let axiom = "axiom more: forall t: Txn. t = t";
        let text = format!(
            "level mine in {framework} extends {name} {{ {axiom} }} level yours in {framework} extends mine {{ {axiom} }}"
        );
        let yours = library.add(&text).unwrap()[1].clone();
        let ruling = judge(&yours, &history, Clock::Clients, &mut || false, &mut || false);
        let level = Library::catalogue_level(definition).map(|(level, _)| level);
        let is_violated =
            level.is_some_and(|level| matches!(checker.check(level).verdict, Verdict::Violated(_)));
        match ruling {
            Ruling::TwoVersions { level, .. } => {
                assert!(matches!(checker.check(level).verdict, Verdict::Violated(_)), "{name}");
                forbidding += 1;
            }
            Ruling::Unknown(Why::Unsupported(Unsupported::Txn { why, .. })) => {
                assert!(!is_violated && why.contains("two versions"), "{name}");
            }
            Ruling::Unknown(Why::NoTimes) => assert!(!is_violated, "{name}"),
            ruling => panic!("{name}: {ruling:?}"),
        }
    }
    assert!(forbidding > 25, "{forbidding}");
    // A transaction of unknown outcome with such reads did not take effect, unless it was read from.
    let causal = find("causal");
    assert!(matches!(rule(causal, "T1: w(x,1)  T2?: r(x,0) r(x,1) w(y,1)  T3: r(y,0)"), Ruling::Allowed(_)));
    let read = "T1: w(x,1)  T2?: r(x,0) r(x,1) w(y,1)  T3: r(y,1)";
    assert!(matches!(rule(causal, read), Ruling::TwoVersions { .. }));
    // The same value twice: if it was two versions, that is forbidden, too.
    let twice = "T1: w(x,1)  T2: w(x,1)  T3: r(x,1) r(x,1) r(y,1) w(z,1)  T4: r(z,1) w(y,1)";
    assert!(matches!(rule(causal, twice), Ruling::Forbidden(_)));
}

/// Transactions that run one after the other, in 10 sessions, and each read returns the latest version or, seldom, an older one.
fn long(seed: u64, txns: usize, keys: usize, stale: u64) -> String {
    let mut next = numbers(seed);
    let mut sessions: Vec<Vec<String>> = vec![Vec::new(); 10];
    let mut versions = vec![0; keys];
    for txn in 0..txns {
        let mut text = String::new();
        let first = next(keys as u64) as usize;
        for step in 0..3 {
            let key = (first + step * 7) % keys;
            if next(2) == 0 {
                versions[key] += 1;
                text += &format!(" w(k{key},{})", versions[key]);
            } else {
                let old = u64::from(next(100) < stale) * next(3);
                text += &format!(" r(k{key},{})", versions[key] - old.min(versions[key]));
            }
        }
        let session = next(10) as usize;
        sessions[session].push(format!("T{}@{}-{}:{text}", txn + 1, 2 * txn, 2 * txn + 1));
    }
    let sessions = sessions.iter().filter(|session| !session.is_empty());
    sessions.map(|session| session.join(" ; ")).collect::<Vec<_>>().join("  ")
}

/// Histories as large as they may be: the search agrees with the engines, whatever the framework.
#[test]
fn large_histories_are_decided() {
    let mut library = Library::shipped().clone();
    let text = "level a in dependency-graph extends parallel-snapshot-isolation { axiom more: forall t: Txn. !ww(t,t) }
      level b in dependency-graph extends causal { axiom more: empty (wr - wr) }
      level c in dependency-graph extends snapshot-isolation { axiom more: forall t: Txn. !ww(t,t) }
      level d in visibility extends snapshot-isolation { axiom more: forall t: Txn. !vis(t,t) }
      level e in commit-order extends serializable { axiom more: forall t: Txn. !co(t,t) }
      level f in dependency-graph { irreflexive (so | wr | ww)+ ; rw axiom order: acyclic (so | wr | ww) }";
    let levels = [
        Level::ParallelSnapshot,
        Level::Causal,
        Level::Snapshot,
        Level::Snapshot,
        Level::Serializable,
        Level::ParallelSnapshot,
    ];
    let definitions = library.add(text).unwrap().to_vec();
    let mut compared = [0, 0];
    for (seed, stale) in [(1, 0), (2, 1), (3, 4)] {
        let history = notation::parse(&long(seed, 200, 50, stale)).unwrap();
        let mut checker = Checker::new(&history, Options::default());
        for (definition, level) in definitions.iter().zip(levels) {
            let ruling = judge(definition, &history, Clock::Clients, &mut || false, &mut || true);
            let holds = matches!(checker.check(level).verdict, Verdict::Holds(_));
            compared[usize::from(holds)] += 1;
            match ruling {
                Ruling::Allowed(_) => assert!(holds, "{seed}: {}", definition.name),
                Ruling::Forbidden(core) => assert!(!holds && !core.is_minimal, "{seed}: {}", definition.name),
                ruling => panic!("{seed}: {}: {ruling:?}", definition.name),
            }
        }
    }
    assert!(compared[0] > 2 && compared[1] > 2, "{compared:?}");
}

/// Whenever the search is to stop, it stops at once, in formulas, clauses and the solver.
#[test]
fn a_search_stops_when_it_is_asked_to() {
    let mut library = Library::shipped().clone();
    let text = "level a in dependency-graph { irreflexive (so | wr | ww)+ ; rw }
      level b in dependency-graph { !(acyclic (so | wr | ww | rw)) | irreflexive (so | wr | ww)+ ; rw }
      level c in visibility { axiom seen: wr in vis axiom closed: transitive vis axiom more: forall s, t: Txn. so(s, t) => vis(s, t) | writes(t) }";
    let history = notation::parse(&long(3, 60, 20, 3)).unwrap();
    for definition in library.add(text).unwrap() {
        for patience in [1, 10, 100] {
            let mut asked = 0;
            let mut stop = || {
                asked += 1;
                asked >= patience
            };
            let ruling = judge(definition, &history, Clock::Clients, &mut stop, &mut || true);
            let is_late = asked > patience + 2;
            assert!(
                !is_late && (asked < patience || ruling == Ruling::Unknown(Why::Stopped)),
                "{patience}: {asked}, {ruling:?}"
            );
        }
    }
}

/// A key that is read again, after another one, counts for `po`.
#[test]
fn reads_are_in_program_order() {
    let text = "T1: w(x,1) w(y,1)  T2: r(x,0) r(y,1) r(x,0)";
    assert!(matches!(rule(find("read-committed"), text), Ruling::Forbidden(_)));
    let text = "T1: w(x,1) w(y,1)  T2: r(x,0) r(y,1)";
    assert!(matches!(rule(find("read-committed"), text), Ruling::Allowed(_)));
}

/// A generator of numbers below a bound.
fn numbers(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |bound| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    }
}

/// A history with every outcome, values that are written twice, and reads of any value.
fn random(seed: u64) -> String {
    let mut next = numbers(seed);
    let mut text = String::new();
    let (txns, values) = (2 + next(3), 2 + next(3));
    for txn in 1..=txns {
        let joined = if txn == 1 { "" } else { ["  ", " ; "][usize::from(next(3) == 0)] };
        let outcome = ["", "", "", "?", "!"][next(5) as usize];
        text += &format!("{joined}T{txn}{outcome}@{}-{}:", 3 * txn + next(3), 3 * txn + 3 + next(6));
        for _ in 0..=next(3) {
            let op = ["r", "w"][next(2) as usize];
            text +=
                &format!(" {op}({},{})", ["x", "y"][next(2) as usize], next(values) + u64::from(op == "w"));
        }
    }
    text
}

/// The engines agree, whatever a history leaves open.
#[test]
fn engines_agree_on_open_histories() {
    let mut compared = [0, 0];
    for seed in 0..3_000 {
        let text = random(seed);
        let Ok(history) = notation::parse(&text) else { continue };
        let mut checker = Checker::new(&history, Options::default());
        for definition in Library::shipped().definitions() {
            let is_crooks = definition.framework == Framework::States && definition.name == "read-committed";
            let level = Level::ALL.into_iter().find(|level| level.name() == definition.name);
            let level = if is_crooks { Some(Level::AdyaPl2) } else { level };
            let Some(level) = level else { continue };
            let ruling = judge(definition, &history, Clock::Clients, &mut || false, &mut || false);
            let allowed = match ruling {
                Ruling::Allowed(_) => true,
                // PL-1 and its forms do not look at reads.
                Ruling::WrongReads(_) if !level.implies(Level::AdyaPl2) => continue,
                Ruling::Forbidden(_) | Ruling::WrongReads(_) | Ruling::TwoVersions { .. } => false,
                Ruling::Unknown(_) => continue,
            };
            let holds = match checker.check(level).verdict {
                Verdict::Holds(_) | Verdict::Unknown(Unknown::NothingToCheck) => true,
                Verdict::Violated(_) => false,
                Verdict::Unknown(_) => continue,
            };
            compared[usize::from(holds)] += 1;
            assert_eq!(allowed, holds, "seed {seed}: {text}: {level} in {}", definition.framework.keyword());
        }
    }
    assert!(compared[0] > 10_000 && compared[1] > 10_000, "{compared:?}");
}
