//! Laws that verdicts obey whatever the definitions say: no reference is asked, only the engines.
//!
//! A stronger level implies a weaker one. What things are called, and in which order sessions are written
//! down, changes nothing. Taking away a transaction from which nobody reads never makes a history worse, and
//! an aborted one makes no difference. The number of threads makes none either.

use isoscope_check::{Checker, Options, Verdict};
use isoscope_history::{Builder, History, OpKind, OpView, Outcome, Txn, Value, notation};
use isoscope_levels::Level;
use proptest::prelude::*;
use proptest::strategy::ValueTree;

/// An operation of a generated history: which of three keys, and a number that says what it reads.
#[derive(Clone, Debug)]
enum Act {
    Read(u32, u32),
    Write(u32),
    Append(u32),
    ReadList(u32, u32),
}

/// A transaction: its session, outcome and operations.
type Made = (u32, Outcome, Vec<Act>);

/// Keys 0 and 1 are registers, key 2 is a list.
fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..2u32, 0..8u32).prop_map(|(key, n)| Act::Read(key, n)),
        3 => (0..2u32).prop_map(Act::Write),
        1 => Just(Act::Append(2)),
        1 => (0..6u32).prop_map(|n| Act::ReadList(2, n)),
    ]
}

fn txns() -> impl Strategy<Value = Vec<Made>> {
    let outcome =
        prop_oneof![8 => Just(Outcome::Committed), 1 => Just(Outcome::Aborted), 1 => Just(Outcome::Unknown)];
    prop::collection::vec((0..4u32, outcome, prop::collection::vec(act(), 1..5)), 1..9)
}

/// What a history is called, and which of its transactions it leaves out.
#[derive(Clone, Copy, Default)]
struct Guise {
    /// Sessions are written down from the last to the first.
    backwards: bool,
    /// Keys and values have other names.
    renamed: bool,
    /// One transaction more, which aborted.
    intruder: bool,
    /// The transaction left out.
    without: Option<usize>,
}

/// Builds the history of a plan. Values are unique: the n-th write of a key writes n. A read returns the
/// value whose number it was given, counted down from the last so far, which is mostly right.
fn build(made: &[Made], guise: Guise) -> History {
    let mut b = Builder::new();
    b.initial(value(0, guise));
    if guise.backwards {
        let last = made.iter().map(|txn| txn.0).max().unwrap_or(0);
        for session in (0..=last).rev() {
            b.session(session);
        }
    }
    let mut written = [0u32; 3];
    for (i, (session, outcome, acts)) in made.iter().enumerate() {
        let writes = acts.iter().filter_map(|act| match act {
            Act::Write(key) | Act::Append(key) => Some(*key as usize),
            _ => None,
        });
        if guise.without == Some(i) {
            writes.for_each(|key| written[key] += 1);
            continue;
        }
        let mut txn = b.session(*session).txn().outcome(*outcome);
        for act in acts {
            let (Act::Read(key, _) | Act::Write(key) | Act::Append(key) | Act::ReadList(key, _)) = act;
            let (latest, name) = (&mut written[*key as usize], if guise.renamed { 7 - key } else { *key });
            txn = match *act {
                Act::Read(_, back) => txn.read(name, value(latest.saturating_sub(back / 3), guise)),
                Act::ReadList(_, back) => {
                    let upto = latest.saturating_sub(back / 2);
                    txn.read_list(name, (1..=upto).map(|n| value(n, guise)))
                }
                Act::Write(_) => {
                    *latest += 1;
                    txn.write(name, value(*latest, guise))
                }
                Act::Append(_) => {
                    *latest += 1;
                    txn.append(name, value(*latest, guise))
                }
            };
        }
    }
    if guise.intruder {
        let aborted = b.session("intruder").txn().outcome(Outcome::Aborted);
        aborted.read(0u32, 77u32).write(0u32, 78u32).append(2u32, 79u32);
    }
    b.finish()
}

fn value(n: u32, guise: Guise) -> u32 {
    if guise.renamed { 1000 - n } else { n }
}

/// Whether a level holds; `None` when it is not decided.
fn verdicts(history: &History) -> Vec<Option<bool>> {
    let mut checker = Checker::new(history, Options::default());
    let verdict = |level| match checker.check(level).verdict {
        Verdict::Holds(_) => Some(true),
        Verdict::Violated(_) => Some(false),
        Verdict::Unknown(_) => None,
    };
    Level::ALL.into_iter().map(verdict).collect()
}

/// Whether anybody else may have read from a transaction.
fn is_read_from(history: &History, writer: Txn) -> bool {
    let wrote: Vec<OpView> = history.ops_of(writer).filter(|op| op.kind.is_write()).collect();
    let returned = |read: OpView| match read.kind {
        OpKind::ReadList => history.table().elements(read.value).to_vec(),
        _ => vec![read.value],
    };
    let others = history.txns().filter(|&txn| txn != writer);
    others.flat_map(|txn| history.ops_of(txn)).filter(|op| op.kind.is_read()).any(|read| {
        let values: Vec<Value> = returned(read);
        wrote.iter().any(|write| write.key == read.key && values.contains(&write.value))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_stronger_level_implies_a_weaker(made in txns()) {
        let history = build(&made, Guise::default());
        let verdicts = verdicts(&history);
        for (&strong, &holds) in Level::ALL.iter().zip(&verdicts) {
            for (&weak, &weak_holds) in Level::ALL.iter().zip(&verdicts) {
                if strong.implies(weak) {
                    prop_assert!(
                        !(holds == Some(true) && weak_holds == Some(false)),
                        "{strong} holds and {weak} does not: {}", notation::print(&history)
                    );
                    let inherited = weak_holds != Some(false) || holds == Some(false);
                    prop_assert!(inherited, "{weak} fails and {strong} does not: {}", notation::print(&history));
                }
            }
        }
    }

    #[test]
    fn names_and_the_order_of_sessions_do_not_matter(made in txns(), backwards: bool, renamed: bool) {
        let history = build(&made, Guise::default());
        let other = build(&made, Guise { backwards, renamed, ..Guise::default() });
        prop_assert_eq!(verdicts(&history), verdicts(&other), "{}", notation::print(&history));
    }

    #[test]
    fn who_aborted_and_was_not_read_does_not_matter(made in txns()) {
        let history = build(&made, Guise::default());
        let other = build(&made, Guise { intruder: true, ..Guise::default() });
        prop_assert_eq!(verdicts(&history), verdicts(&other), "{}", notation::print(&history));
    }

    #[test]
    fn leaving_out_who_was_not_read_makes_nothing_worse(made in txns(), which: prop::sample::Index) {
        let history = build(&made, Guise::default());
        let i = which.index(made.len());
        let txn = history.txns().find(|&txn| history.txn_name(txn).as_small() == Some(i as u32 + 1));
        let txn = txn.expect("transactions are named by their number");
        prop_assume!(!is_read_from(&history, txn));
        let other = build(&made, Guise { without: Some(i), ..Guise::default() });
        for ((level, before), after) in Level::ALL.iter().zip(verdicts(&history)).zip(verdicts(&other)) {
            prop_assert!(
                !(before == Some(true) && after == Some(false)),
                "{level} fails without {txn:?}: {}", notation::print(&history)
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_number_of_threads_does_not_matter(made in txns()) {
        let history = build(&made, Guise::default());
        let with_threads = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
            pool.install(|| {
                let mut checker = Checker::new(&history, Options::default());
                Level::ALL.map(|level| checker.check(level))
            })
        };
        prop_assert_eq!(with_threads(1), with_threads(4));
    }
}

/// The laws say something only if each level that an engine decides often holds and often does not.
#[test]
fn both_verdicts_are_common() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut held = [0u32; Level::ALL.len()];
    for _ in 0..500 {
        let made = txns().new_tree(&mut runner).expect("nothing is rejected").current();
        let verdicts = verdicts(&build(&made, Guise::default()));
        held.iter_mut().zip(verdicts).for_each(|(held, verdict)| *held += u32::from(verdict == Some(true)));
    }
    for (level, held) in Level::ALL.into_iter().zip(held) {
        if [Level::CutIsolation, Level::AdyaPl2, Level::ReadCommitted, Level::Causal].contains(&level) {
            assert!((50..=480).contains(&held), "{level} holds {held} times in 500");
        }
    }
}

/// Large enough to be cut into pieces: many copies of anomalies among many good transactions.
#[test]
fn the_number_of_threads_does_not_matter_to_large_histories() {
    let mut b = Builder::new();
    for i in 0..6_000u32 {
        let key = i % 50;
        let stale = if i % 997 == 0 { 100 } else { 50 };
        let seen = if i < stale { 0 } else { i - stale + 1 };
        let txn = b.session(i % 7).txn().read(key, seen).write(key, i + 1);
        if i % 1_501 == 1_500 {
            txn.read(key + 1, 999_999u32);
        }
    }
    let history = b.finish();
    let with_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
        pool.install(|| {
            let mut checker = Checker::new(&history, Options::default());
            Level::ALL.map(|level| checker.check(level))
        })
    };
    let one = with_threads(1);
    assert!(one.iter().any(|judgement| matches!(judgement.verdict, Verdict::Violated(_))));
    assert_eq!(one, with_threads(4));
    assert_eq!(one, with_threads(3));
}
