//! What a value-aware boundary predicts happens: every prediction of every application is validated.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use isoscope_application::{
    Application, Bank, BankSpec, Call, SmallBank, SmallBankSpec, Tpcc, TpccSpec, Voter, VoterSpec, Wikipedia,
    WikipediaSpec,
};
use isoscope_history::{Datum, History, Txn};
use isoscope_levels::Level;
use isoscope_predict::{Boundary, Executions, Observed, Predictions, Refusal, Settings, Unwatched, predict};
use isoscope_replay::{Latest, Store};
use isoscope_validate::{Class, Run, StorePrograms, Tally, interleaved, validate};
use rustc_hash::FxHashMap;

/// A run in the store, as a recorder of a database sees it: by values, and with ranges.
fn record(application: &dyn Application, seed: u64, calls: Vec<Call>) -> (History, FxHashMap<Txn, Call>) {
    let mut store = Store::new(application, Level::Serializable, seed).unwrap();
    store.run_all(calls, &mut Latest).unwrap();
    let history = store.history_by_values(&application.tables()).unwrap();
    let call = |txn: Txn| {
        let Datum::Text(name) = history.datum(history.txn_name(txn)) else { panic!("no name") };
        let (session, number) = name.split_once('.').unwrap();
        (txn, Call { session: session.parse().unwrap(), number: number.parse().unwrap() })
    };
    let calls = history.txns().map(call).collect();
    (history, calls)
}

/// The predictions of a run, each with its class, and how many have transactions with other accesses than in the run.
fn classes(
    application: &dyn Application,
    seed: u64,
    (sessions, txns): (u32, u64),
    settings: &Settings,
) -> (Vec<Class>, usize) {
    let (history, calls) = record(application, seed, interleaved(sessions, txns, seed));
    let base = history.expand_ranges().unwrap().unwrap_or_else(|| history.clone());
    let observed = match Observed::new(&base, &Unwatched) {
        Err(Refusal::NothingRead | Refusal::NoWrites) => return (Vec::new(), 0),
        observed => observed.unwrap(),
    };
    let run = Run::new(application, seed, &observed, &calls);
    let programs = StorePrograms::new(&run, &history).unwrap();
    let executions = Executions::explore(&history, &programs, &Unwatched)
        .unwrap_or_else(|refusal| panic!("{} seed {seed}: {refusal}", application.name()));
    let run = run.with_forms(&executions);
    let observed = executions.observed();
    let found: Predictions = match predict(&observed, settings, &Unwatched) {
        Err(Refusal::NoWrites) => return (Vec::new(), 0),
        found => found.unwrap(),
    };
    let is_other = |txn: &Txn| txn.index() >= history.txn_count();
    let other = found.found.iter().filter(|one| one.boundary.iter().any(is_other)).count();
    let mut tally = Tally::new(found.found.len());
    let mut classes = Vec::new();
    for (place, prediction) in found.found.iter().enumerate() {
        let validation = validate(prediction, &run, settings, &Unwatched);
        tally.note(place, &validation.class);
        assert_eq!(
            validation.class,
            Class::Validated,
            "{} at {}, seed {seed}: {:?} {:?}",
            application.name(),
            settings.level,
            validation.differences,
            prediction.history
        );
        classes.push(validation.class);
    }
    assert_eq!(tally.counts().unwrap().validated, classes.len());
    (classes, other)
}

fn at(level: Level) -> Settings {
    Settings { boundary: Boundary::ValueAware, most: 5, ..Settings::new(level) }
}

#[test]
fn what_a_value_aware_boundary_predicts_happens() {
    let small_bank = SmallBankSpec { customers: 4, ..SmallBankSpec::default() };
    let bank = BankSpec { accounts: 4, ..BankSpec::default() };
    let wikipedia = WikipediaSpec { mix: [2, 2, 4, 4, 2], ..WikipediaSpec::paper() };
    let applications: Vec<Box<dyn Application>> = vec![
        Box::new(SmallBank::new(small_bank).unwrap()),
        Box::new(Bank::new(bank).unwrap()),
        Box::new(Voter::new(VoterSpec::paper()).unwrap()),
        Box::new(Tpcc::new(TpccSpec::paper()).unwrap()),
        Box::new(Wikipedia::new(wikipedia).unwrap()),
    ];
    let (mut all, mut others) = (0, 0);
    for application in &applications {
        let mut own = 0;
        for level in [Level::ReadCommitted, Level::Causal, Level::Snapshot] {
            for seed in 1..=3 {
                let (classes, other) = classes(&**application, seed, (3, 4), &at(level));
                own += classes.len();
                others += other;
            }
        }
        println!("{}: {own}", application.name());
        all += own;
    }
    assert!(all > 30 && others > 0, "{all} predictions, {others} with other accesses");
}

/// Each telephone may vote once. In the run, only the first vote counted. At causal, a second transaction may not see the first vote,
/// and vote too: it has writes that no transaction of the run had.
#[test]
fn voter_at_causal_votes_twice() {
    let voter = Voter::new(VoterSpec::paper()).unwrap();
    let mut found = 0;
    for seed in 1..=5 {
        let (classes, other) = classes(&voter, seed, (3, 4), &at(Level::Causal));
        assert_eq!(classes.len(), other, "all transactions that vote in the run are one");
        found += other;
    }
    assert!(found >= 5, "{found}");
}
