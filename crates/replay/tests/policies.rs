//! The three policies at every level, on every application.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use isoscope_application::{
    Application, Bank, BankSpec, Call, SmallBank, SmallBankSpec, Tpcc, TpccSpec, Voter, VoterSpec, Wikipedia,
    WikipediaSpec,
};
use isoscope_check::{Checker, Options, Verdict};
use isoscope_history::{History, Outcome};
use isoscope_levels::Level;
use isoscope_replay::{Content, End, Latest, Operation, Origin, RandomLegal, Source, Store, Told, Trouble};
use isoscope_verify::Verifier;

const LEVELS: [Level; 6] = [
    Level::ReadCommitted,
    Level::ReadAtomic,
    Level::Causal,
    Level::Prefix,
    Level::ParallelSnapshot,
    Level::Snapshot,
];

fn applications() -> Vec<Box<dyn Application>> {
    let bank = BankSpec { accounts: 8, ..BankSpec::default() };
    let small_bank = SmallBankSpec { customers: 4, ..SmallBankSpec::default() };
    // More writers than the usual mix has.
    let wikipedia = WikipediaSpec { mix: [2, 2, 4, 4, 2], ..WikipediaSpec::paper() };
    vec![
        Box::new(Bank::new(bank).unwrap()),
        Box::new(SmallBank::new(small_bank).unwrap()),
        Box::new(Voter::new(VoterSpec::paper()).unwrap()),
        Box::new(Tpcc::new(TpccSpec::paper()).unwrap()),
        Box::new(Wikipedia::new(wikipedia).unwrap()),
    ]
}

/// Sessions that take turns.
fn calls(sessions: u32, txns: u64) -> Vec<Call> {
    (0..txns).flat_map(|number| (0..sessions).map(move |session| Call { session, number })).collect()
}

/// The verdict, confirmed by the verifier.
fn holds(history: &History, level: Level) -> bool {
    let judgement = Checker::new(history, Options::default()).check(level);
    let verified = Verifier::new(history).verify(&judgement);
    assert!(verified.is_ok(), "{level}: {verified:?}");
    match judgement.verdict {
        Verdict::Holds(_) => true,
        Verdict::Violated(_) => false,
        Verdict::Unknown(why) => panic!("{level}: {why:?}"),
    }
}

#[test]
fn the_newest_versions_are_a_serial_run() {
    for application in applications() {
        for level in LEVELS.into_iter().chain([Level::Serializable]) {
            let mut store = Store::new(&*application, level, 1).unwrap();
            store.run_all(calls(3, 8), &mut Latest).unwrap();
            let what = format!("{} at {level}", application.name());
            assert!(
                store.ran().iter().all(|ran| matches!(ran.end, End::Committed | End::RolledBack)),
                "{what}"
            );
            assert!(holds(&store.history().unwrap(), Level::Serializable), "{what}");
            let by_values = store.history_by_values(&application.tables()).unwrap();
            let by_values = by_values.expand_ranges().unwrap().unwrap_or(by_values);
            assert!(holds(&by_values, Level::Serializable), "{what}");
            assert_eq!(store.broken_rules(), [""; 0], "{what}");
        }
    }
}

#[test]
fn every_random_run_satisfies_its_level() {
    let (mut runs, mut weak) = (vec![0; LEVELS.len()], vec![0; LEVELS.len()]);
    for application in applications() {
        let mut of_application = [0; LEVELS.len()];
        for (place, level) in LEVELS.into_iter().enumerate() {
            for seed in 0..10 {
                let mut store = Store::new(&*application, level, seed).unwrap();
                store.run_all(calls(3, 4), &mut RandomLegal::new(seed)).unwrap();
                let history = store.history().unwrap();
                assert!(holds(&history, level), "{} at {level}, seed {seed}", application.name());
                runs[place] += 1;
                let is_weak = !holds(&history, Level::Serializable);
                weak[place] += u32::from(is_weak);
                of_application[place] += u32::from(is_weak);
            }
        }
        let name = application.name();
        assert!(of_application[0] > 1 && of_application[2] > 0, "{name}: {of_application:?} of 10 each");
    }
    // Read committed and causal: a good part is not serializable. No level is accidentally serializable.
    assert!(weak[0] * 2 > runs[0] && weak[2] * 3 > runs[2], "{weak:?} of {runs:?} are not serializable");
    assert!(weak[..4].iter().all(|&n| n > 0), "{weak:?} of {runs:?} are not serializable");
}

/// A random run can be told: the same choices give the same run.
#[test]
fn a_run_that_is_told_what_happened_happens_again() {
    for application in applications() {
        for (seed, level) in (20..).zip(LEVELS) {
            let mut first = Store::new(&*application, level, seed).unwrap();
            first.run_all(calls(3, 6), &mut RandomLegal::new(seed)).unwrap();
            let mut told = Told::default();
            for ran in first.ran() {
                ran.reads().for_each(|(key, source)| told.tell(ran.call, key, source));
            }
            let mut second = Store::new(&*application, level, seed).unwrap();
            second.run_all(calls(3, 6), &mut told).unwrap();
            assert_eq!(first.ran(), second.ran());
            assert!(told.unforeseen().is_empty() && told.left().is_empty());
            // And so does each of its transactions by itself.
            for ran in first.ran() {
                let reads: Vec<(String, Source)> =
                    ran.reads().map(|(key, source)| (key.to_owned(), source)).collect();
                let mut reads = reads.into_iter();
                // Later keys of a range are absent in the initial state.
                let again = first.rerun(ran.call, &mut |key| match reads.as_slice().first() {
                    Some((next, source)) if next == key => {
                        let source = *source;
                        reads.next();
                        source
                    }
                    _ => Source::Initial,
                });
                let again = again.unwrap();
                let written =
                    |ran: &isoscope_replay::Ran| ran.writes().map(str::to_owned).collect::<Vec<_>>();
                assert_eq!(written(&again), written(ran));
                if ran.end != End::Refused {
                    assert_eq!(again.end, ran.end);
                }
            }
        }
    }
}

/// What a store serves and records is consistent by itself: a read returns what its source wrote last, and a history by
/// values has the same transactions.
#[test]
fn reads_return_what_their_source_wrote() {
    for application in applications() {
        let mut store = Store::new(&*application, Level::ReadCommitted, 5).unwrap();
        store.run_all(calls(4, 5), &mut RandomLegal::new(5)).unwrap();
        for ran in store.ran() {
            for operation in &ran.operations {
                if let Operation::Read { key, from: Origin::Store(source), content } = operation {
                    assert_eq!(store.content(key, *source).as_ref(), Some(content));
                    assert!(store.writers(key).contains(source));
                }
            }
        }
        let by_values = store.history_by_values(&application.tables()).unwrap();
        let aborted = by_values.txns().filter(|&txn| by_values.outcome(txn) == Outcome::Aborted).count();
        let not_committed = store.ran().iter().filter(|ran| ran.end != End::Committed).count();
        assert_eq!((by_values.txn_count(), aborted), (20, not_committed));
    }
}

/// Deposits only: each reads and writes one account.
fn deposits() -> Bank {
    Bank::new(BankSpec { accounts: 4, mix: [0, 1, 0, 0, 0], ..BankSpec::default() }).unwrap()
}

/// Two deposits to one account, the second of which is told to miss the first.
fn lost_update(level: Level) -> (Result<End, Trouble>, Bank) {
    let bank = deposits();
    let key = |call: Call| {
        let mut store = Store::new(&bank, level, 3).unwrap();
        store.run(call, &mut Latest).unwrap().writes().next().unwrap().to_owned()
    };
    let first = Call { session: 0, number: 0 };
    let second = (0..100).map(|number| Call { session: 1, number }).find(|&call| key(call) == key(first));
    let second = second.unwrap();
    let mut store = Store::new(&bank, level, 3).unwrap();
    store.run(first, &mut Latest).unwrap();
    let mut told = Told::default();
    told.tell(second, &key(first), Source::Initial);
    let end = store.run(second, &mut told).map(|ran| ran.end.clone());
    if end == Ok(End::Committed) {
        assert!(!holds(&store.history().unwrap(), Level::Serializable));
        let broken = store.broken_rules();
        assert!(broken[0].contains("are missing"), "{broken:?}");
    }
    (end, bank)
}

#[test]
fn a_lost_update_is_possible_up_to_prefix_only() {
    for level in [Level::ReadCommitted, Level::ReadAtomic, Level::Causal, Level::Prefix] {
        assert_eq!(lost_update(level).0, Ok(End::Committed), "{level}");
    }
    for level in [Level::ParallelSnapshot, Level::Snapshot, Level::Serializable] {
        assert_eq!(lost_update(level).0, Ok(End::Refused), "{level}");
    }
}

#[test]
fn wrong_choices_are_failures() {
    let bank = deposits();
    let mut store = Store::new(&bank, Level::ReadAtomic, 3).unwrap();
    let call = Call { session: 0, number: 0 };
    let key = store.run(call, &mut Latest).unwrap().writes().next().unwrap().to_owned();
    assert_eq!(store.run(call, &mut Latest).err(), Some(Trouble::Again(call)));
    let same = |number: u64| {
        let mut fresh = Store::new(&bank, Level::ReadAtomic, 3).unwrap();
        let call = Call { session: 0, number };
        fresh.run(call, &mut Latest).unwrap().writes().any(|written| written == key)
    };
    let next = Call { session: 0, number: (1..100).find(|&number| same(number)).unwrap() };
    let other = Source::Txn(Call { session: 7, number: 7 });
    for (from, trouble) in [
        // It has not run.
        (other, Trouble::NotWritten { call: next, key: key.clone(), from: other }),
        // It misses a transaction of its own session.
        (Source::Initial, Trouble::Illegal { call: next, key: key.clone(), from: Source::Initial }),
    ] {
        let mut told = Told::default();
        told.tell(next, &key, from);
        assert_eq!(store.run(next, &mut told).err(), Some(trouble));
        // The failed run left nothing behind.
        assert_eq!((store.ran().len(), store.writers(&key).len()), (1, 2));
    }
    let rerun = store.rerun(next, &mut |_| other);
    assert!(matches!(rerun, Err(Trouble::NotWritten { .. })));
    assert_eq!(store.content(&key, other), None);
    assert_eq!(store.content("no such key", Source::Initial), Some(Content::Absent));
    assert_eq!(store.run(next, &mut Latest).unwrap().end, End::Committed);
}

#[test]
fn a_run_without_a_commit_is_a_failure() {
    // Withdrawals from empty accounts roll back.
    let spec = BankSpec { initial: 0, mix: [0, 0, 1, 0, 0], ..BankSpec::default() };
    let bank = Bank::new(spec).unwrap();
    let mut store = Store::new(&bank, Level::Causal, 1).unwrap();
    assert_eq!(store.history().err(), Some(Trouble::Empty));
    store.run_all(calls(2, 3), &mut Latest).unwrap();
    assert!(store.ran().iter().all(|ran| ran.end == End::RolledBack));
    assert_eq!(store.history().err(), Some(Trouble::Empty));
    assert_eq!(store.history_by_values(&bank.tables()).err(), Some(Trouble::Empty));
    let unsupported = Store::new(&bank, Level::AdyaPl1, 1).err();
    assert_eq!(unsupported, Some(Trouble::Unsupported(Level::AdyaPl1)));
}
