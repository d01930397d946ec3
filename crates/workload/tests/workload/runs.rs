//! Tests of the shape of runs: sizes, shares, lists, names, errors, and that a seed always gives the same
//! history.

use std::collections::HashMap;

use isoscope_history::{Datum, History, NO_EVENT, OpKind, Outcome, Stats, Value, notation};
use isoscope_levels::{Anomaly, Level};
use isoscope_workload::{Distribution, Duplication, Injection, Shape, Spec, SpecError, Store, run};

fn must_run(spec: &Spec) -> History {
    run(spec, &mut |_, _| {}).expect("the spec is valid")
}

/// A workload of 20,000 operations.
fn middling() -> Spec {
    Spec { sessions: 20, txns_per_session: 100, ops_per_txn: 10, seed: 5, ..Spec::default() }
}

/// The number of operations on each key name.
fn uses(history: &History) -> HashMap<u32, usize> {
    let mut uses = HashMap::new();
    for op in history.txns().flat_map(|txn| history.ops_of(txn)) {
        *uses.entry(history.key_name(op.key).as_small().expect("keys are small")).or_insert(0) += 1;
    }
    uses
}

fn assert_near(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual - expected).abs() <= tolerance, "{actual} is not {expected} +- {tolerance}");
}

#[test]
fn a_run_has_the_requested_size() {
    let history = must_run(&middling());
    let stats = Stats::of(&history);
    assert_eq!((stats.sessions, stats.transactions, stats.operations), (20, 2000, 20_000));
    assert_eq!((stats.keys, stats.txn_size, stats.committed), (100, (10, 10), 2000));
    assert_eq!(stats.duplicate_values, 0);
    assert_near(stats.read_ratio(), 0.5, 0.02);
    let none = must_run(&Spec { read_ratio: 0.0, ..middling() });
    assert_near(Stats::of(&none).read_ratio(), 0.0, 0.0);
    let all = must_run(&Spec { read_ratio: 1.0, ..middling() });
    assert_near(Stats::of(&all).read_ratio(), 1.0, 0.0);
}

/// Whether a transaction reads every key before it writes it.
fn reads_first(history: &History, txn: isoscope_history::Txn) -> bool {
    let mut read = Vec::new();
    history.ops_of(txn).all(|op| {
        if op.kind.is_read() {
            read.push(op.key);
        }
        op.kind.is_read() || read.contains(&op.key)
    })
}

#[test]
fn read_modify_write_transactions_read_every_key_before_they_write_it() {
    for (shape, level) in
        [Shape::Register, Shape::ListAppend].into_iter().flat_map(|s| Store::LEVELS.map(|l| (s, l)))
    {
        let spec = Spec { read_ratio: 0.2, read_modify_write: 1.0, shape, level, ..middling() };
        let history = must_run(&spec);
        assert!(history.txns().all(|txn| reads_first(&history, txn)), "{shape:?} {level}");
        assert_eq!(Stats::of(&history).txn_size, (10, 10));
        assert!(Stats::of(&history).read_ratio() < 0.65);
    }
    let spec = Spec { read_ratio: 0.0, read_modify_write: 0.3, ..middling() };
    let history = must_run(&spec);
    let share = history.txns().filter(|&txn| reads_first(&history, txn)).count() as f64 / 2000.0;
    assert_near(share, 0.3, 0.05);
    let blind = must_run(&Spec { read_ratio: 0.0, ..middling() });
    assert!(!blind.txns().any(|txn| reads_first(&blind, txn)));
    let wrong = Spec { read_modify_write: 1.5, ..middling() };
    assert!(matches!(run(&wrong, &mut |_, _| {}), Err(SpecError::OutOfRange { .. })));
}

#[test]
fn sessions_overlap_and_events_are_numbered_without_gaps() {
    let history = must_run(&middling());
    let events = history.events().unwrap();
    let mut all: Vec<u32> = events.start.iter().chain(&events.end).copied().collect();
    all.sort_unstable();
    assert!(all.iter().zip(0..).all(|(&event, n)| event == n));
    for session in history.sessions() {
        let txns = history.txn_range(session);
        assert!(txns.clone().all(|t| events.start[t as usize] < events.end[t as usize]));
        assert!(txns.clone().skip(1).all(|t| events.end[t as usize - 1] < events.start[t as usize]));
    }
    // Names count from 1 in the order of invocation.
    let mut by_start: Vec<_> = history.txns().collect();
    by_start.sort_by_key(|txn| events.start[txn.index()]);
    assert!(by_start.iter().zip(1..).all(|(&txn, n)| history.txn_name(txn).as_small() == Some(n)));
    let concurrency = Stats::of(&history).concurrency.unwrap();
    assert!(concurrency.most > 10 && concurrency.mean > 5.0, "{concurrency:?}");
}

#[test]
fn keys_follow_their_distribution() {
    let with = |distribution| uses(&must_run(&Spec { distribution, ..middling() }));
    let uniform = with(Distribution::Uniform);
    assert!(uniform.len() == 100 && uniform.values().all(|&n| (120..=280).contains(&n)), "{uniform:?}");

    let zipf = with(Distribution::Zipfian { theta: 1.0 });
    // The harmonic number of 100 is 5.187: key 0 gets 20,000 / 5.187 operations, key 9 a tenth of that.
    assert_near(zipf[&0] as f64, 3856.0, 250.0);
    assert_near(zipf[&9] as f64, 385.6, 80.0);
    let flat = with(Distribution::Zipfian { theta: 0.0 });
    assert!(flat.values().all(|&n| (120..=280).contains(&n)), "{flat:?}");

    let hotspot = with(Distribution::Hotspot { keys: 0.1, ops: 0.8 });
    let hot: usize = (0..10).map(|key| hotspot[&key]).sum();
    assert_near(hot as f64, 16_000.0, 400.0);
    assert!((0..10).all(|key| (1300..=1900).contains(&hotspot[&key])), "{hotspot:?}");
    let all_hot = with(Distribution::Hotspot { keys: 1.0, ops: 0.3 });
    assert!(all_hot.values().all(|&n| (120..=280).contains(&n)), "{all_hot:?}");
}

#[test]
fn a_share_of_the_keys_repeats_values() {
    let duplication = Some(Duplication { keys: 0.3, domain: 4, theta: 1.0 });
    let history = must_run(&Spec { duplication, ..middling() });
    let stats = Stats::of(&history);
    assert_eq!((stats.keys_with_duplicates, stats.duplicate_values), (30, 120));
    let mut by_value = [0usize; 5];
    for op in history.txns().flat_map(|txn| history.ops_of(txn)) {
        let repeats =
            history.key_name(op.key).as_small().is_some_and(|key| (key + 1) * 3 / 10 > key * 3 / 10);
        if op.kind == OpKind::Write && repeats {
            by_value[op.value.as_small().unwrap() as usize] += 1;
        }
    }
    // About 3,000 writes in proportion to 1, 1/2, 1/3 and 1/4, which sum to 25/12.
    assert_near(by_value[1] as f64, 1440.0, 150.0);
    assert_near(by_value[4] as f64, 360.0, 80.0);
}

#[test]
fn outcomes_follow_their_rates() {
    for level in Store::LEVELS {
        let history = must_run(&Spec { abort_rate: 0.1, unknown_rate: 0.2, level, ..middling() });
        let stats = Stats::of(&history);
        assert_near(stats.aborted as f64, 200.0, 50.0);
        assert_near(stats.unknown as f64, 400.0, 70.0);
        let writer: HashMap<Value, _> = history
            .txns()
            .flat_map(|txn| history.ops_of(txn).map(move |op| (op, txn)))
            .filter(|(op, _)| op.kind == OpKind::Write)
            .map(|(op, txn)| (op.value, (txn, op.last_write)))
            .collect();
        let mut unknown_read = 0;
        for reader in history.txns() {
            for op in history.ops_of(reader).filter(|op| op.external && op.value.as_small() != Some(0)) {
                let (txn, last) = writer[&op.value];
                assert!(last && history.outcome(txn) != Outcome::Aborted, "{level}");
                unknown_read += u32::from(history.outcome(txn) == Outcome::Unknown);
            }
        }
        assert!(unknown_read > 0, "{level}: some unknown transactions did commit");
        let ends = &history.events().unwrap().end;
        assert!(
            history
                .txns()
                .all(|txn| (history.outcome(txn) == Outcome::Unknown) == (ends[txn.index()] == NO_EVENT))
        );
    }
}

/// Of any two reads of a list one is a prefix of the other, after the reader's own elements are removed if
/// the reader did not commit. The elements that a transaction appends to one list are adjacent.
#[test]
fn lists_are_prefixes_of_one_another() {
    for level in Store::LEVELS {
        let spec = Spec {
            shape: Shape::ListAppend,
            level,
            keys: 20,
            abort_rate: 0.1,
            unknown_rate: 0.1,
            ..middling()
        };
        let history = must_run(&spec);
        let mut longest: HashMap<u32, &[Value]> = HashMap::new();
        let mut reads = Vec::new();
        let mut writer = HashMap::new();
        for txn in history.txns() {
            for op in history.ops_of(txn) {
                match history.datum(op.value) {
                    Datum::List(elements) if history.outcome(txn) == Outcome::Committed => {
                        reads.push((op.key.0, elements));
                        let longest = longest.entry(op.key.0).or_insert(elements);
                        *longest = if elements.len() > longest.len() { elements } else { longest };
                    }
                    Datum::List(_) => {}
                    _ => assert_eq!(writer.insert(op.value, txn), None),
                }
            }
        }
        assert!(reads.len() > 5000);
        assert!(reads.iter().all(|(key, elements)| longest[key].starts_with(elements)), "{level}");
        assert!(longest.values().all(|list| list.len() > 200));
        for list in longest.values() {
            let mut writers: Vec<_> = list.iter().map(|element| writer[element]).collect();
            assert!(writers.iter().all(|&txn| history.outcome(txn) != Outcome::Aborted));
            writers.dedup();
            let runs = writers.len();
            writers.sort_unstable();
            writers.dedup();
            assert_eq!(writers.len(), runs, "{level}: a transaction's elements are not adjacent");
        }
    }
}

/// The store lags, but not forever: towards the end no read returns an initial value.
#[test]
fn reads_lag_within_the_horizon() {
    for level in Store::LEVELS {
        let spec = Spec { level, keys: 10, ..middling() };
        let history = must_run(&spec);
        let late = |txn| history.txn_name(txn).as_small() > Some(500);
        let mut stale = history.txns().filter(|&txn| late(txn)).flat_map(|txn| history.ops_of(txn));
        assert!(stale.all(|op| op.value.as_small() != Some(0)), "{level}");
    }
}

#[test]
fn a_run_is_a_function_of_its_spec() {
    for level in Store::LEVELS {
        for shape in [Shape::Register, Shape::ListAppend] {
            let spec = Spec { level, shape, txns_per_session: 20, ..middling() };
            let print = |spec: &Spec| notation::print(&must_run(spec));
            assert_eq!(print(&spec), print(&spec));
            assert_ne!(print(&spec), print(&Spec { seed: 6, ..spec.clone() }));
        }
    }
}

/// These never change: a recorded seed must give the same history again.
#[test]
fn golden_runs() {
    let small = Spec {
        sessions: 2,
        txns_per_session: 2,
        ops_per_txn: 3,
        keys: 3,
        distribution: Distribution::Zipfian { theta: 0.99 },
        seed: 42,
        ..Spec::default()
    };
    assert_eq!(
        notation::print(&must_run(&small)),
        "T3@4-5: w(2,5) w(0,6) r(2,5) ; T4@6-7: r(0,6) w(1,7) r(0,6)  \
         T1@0-1: w(0,1) w(2,2) w(2,3) ; T2@2-3: w(2,4) r(1,0) r(2,4)"
    );
    let lists = Spec { shape: Shape::ListAppend, level: Level::ReadAtomic, ..small };
    assert_eq!(
        notation::print(&must_run(&lists)),
        "init=nil  T3@4-5: a(2,5) a(0,6) r(2,[2 3 4 5]) ; T4@6-7: r(0,[1 6]) a(1,7) r(0,[1 6])  \
         T1@0-1: a(0,1) a(2,2) a(2,3) ; T2@2-3: a(2,4) r(1,[]) r(2,[2 3 4])"
    );
    let hashes = Store::LEVELS.map(|level| {
        [Shape::Register, Shape::ListAppend].map(|shape| {
            let zipfian = Distribution::Zipfian { theta: 0.8 };
            let spec =
                Spec { level, shape, distribution: zipfian, keys: 50, txns_per_session: 20, ..middling() };
            fnv(&notation::print(&must_run(&spec))) as u32
        })
    });
    assert_eq!(
        hashes,
        [
            [692_202_472, 3_208_700_909],
            [2_029_720_771, 1_516_175_600],
            [2_125_651_217, 4_269_697_896],
            [3_136_934_677, 1_932_377_166],
            [3_144_664_995, 1_414_676_901],
            [1_457_334_367, 4_210_008_699],
        ]
    );
    let long = Spec {
        duplication: Some(Duplication { keys: 0.5, domain: 10, theta: 0.7 }),
        distribution: Distribution::Hotspot { keys: 0.1, ops: 0.9 },
        abort_rate: 0.05,
        unknown_rate: 0.05,
        level: Level::Snapshot,
        injections: vec![Injection { kind: Anomaly::LongFork, count: 2 }],
        ..middling()
    };
    assert_eq!(fnv(&notation::print(&must_run(&long))), 0xc957_7291_916c_0dc7);
}

/// The FNV hash, written out here so that it does not depend on a library.
fn fnv(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn progress_ends_at_the_total() {
    let mut reports = Vec::new();
    let spec = Spec { txns_per_session: 1000, ops_per_txn: 1, ..middling() };
    run(&spec, &mut |done, total| reports.push((done, total))).unwrap();
    assert_eq!(reports, [(8192, 20_000), (16_384, 20_000), (20_000, 20_000)]);
}

#[test]
fn invalid_specs_are_rejected() {
    let ok = Spec::default;
    let zipf = |theta| Distribution::Zipfian { theta };
    let duplication = |keys, domain, theta| Some(Duplication { keys, domain, theta });
    let lists = Shape::ListAppend;
    let many = vec![Injection { kind: Anomaly::LongFork, count: u32::MAX }];
    for (spec, message) in [
        (
            Spec { level: Level::CutIsolation, ..ok() },
            "the store cannot run cut-isolation; it runs read-committed, read-atomic, causal, prefix, \
             snapshot-isolation, serializable",
        ),
        (
            Spec { injections: vec![Injection { kind: Anomaly::DirtyWrite, count: 1 }], ..ok() },
            "dirty-write cannot be injected; these can: lost-update, write-skew, long-fork, fractured-read, \
             aborted-read, intermediate-read, non-repeatable-read, causality-violation",
        ),
        (Spec { keys: 0, ..ok() }, "keys must be at least 1"),
        (Spec { sessions: 0, ..ok() }, "sessions must be at least 1"),
        (Spec { ops_per_txn: 0, ..ok() }, "ops per txn must be at least 1"),
        (Spec { read_ratio: 1.5, ..ok() }, "read ratio must be between 0 and 1, not 1.5"),
        (Spec { read_ratio: f64::NAN, ..ok() }, "read ratio must be between 0 and 1, not NaN"),
        (Spec { abort_rate: -0.1, ..ok() }, "abort rate must be between 0 and 1, not -0.1"),
        (Spec { unknown_rate: f64::INFINITY, ..ok() }, "unknown rate must be between 0 and 1, not inf"),
        (
            Spec { abort_rate: 0.75, unknown_rate: 0.5, ..ok() },
            "abort rate and unknown rate together must be at most 1, not 1.25",
        ),
        (Spec { distribution: zipf(-1.0), ..ok() }, "theta of the keys must be between 0 and 16, not -1"),
        (
            Spec { distribution: Distribution::Hotspot { keys: 2.0, ops: 0.5 }, ..ok() },
            "hot keys must be between 0 and 1, not 2",
        ),
        (
            Spec { distribution: Distribution::Hotspot { keys: 0.5, ops: f64::NAN }, ..ok() },
            "hot operations must be between 0 and 1, not NaN",
        ),
        (
            Spec { duplication: duplication(1.1, 5, 0.0), ..ok() },
            "duplicated keys must be between 0 and 1, not 1.1",
        ),
        (Spec { duplication: duplication(0.5, 0, 0.0), ..ok() }, "domain of the values must be at least 1"),
        (
            Spec { duplication: duplication(0.5, 5, 99.0), ..ok() },
            "theta of the values must be between 0 and 16, not 99",
        ),
        (
            Spec { duplication: duplication(0.5, 5, 0.0), shape: lists, ..ok() },
            "list elements must be unique: value duplication works on registers only",
        ),
        (
            Spec { sessions: 1 << 20, txns_per_session: 1 << 20, ..ok() },
            "1099511627776 transactions are too many: at most 2147483647",
        ),
        (
            Spec { txns_per_session: 1000, ops_per_txn: 1 << 20, ..ok() },
            "10485760000 operations are too many: at most 2147483647",
        ),
        (Spec { keys: u32::MAX, ..ok() }, "4294967295 keys are too many: at most 268435456"),
        (Spec { injections: many, ..ok() }, "8589934690 keys are too many: at most 268435456"),
        (
            Spec { shape: lists, txns_per_session: 100_000, ..ok() },
            "the lists read would hold about 8.0e10 elements, more than 4e9: \
             use more keys, fewer operations or a flatter distribution",
        ),
    ] {
        let error = run(&spec, &mut |_, _| {}).err();
        assert_eq!(error.map(|e| e.to_string()).as_deref(), Some(message));
    }
    assert_eq!(Spec { keys: 0, ..ok() }.validate(), Err(SpecError::Zero { field: "keys" }));
    assert_eq!(ok().validate(), Ok(()));
}
