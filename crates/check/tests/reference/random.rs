//! Random histories: larger than all can be enumerated, drawn so that all verdicts are common.
//!
//! A history is drawn as a shape, a serial order of its transactions, and reads that see the state of that
//! order some way back: none for what is nearly serializable, one distance for each transaction or each read
//! for what is weaker. Then a few reads are replaced by anything. Values are unique unless a test wants them
//! not to be. A failure prints its seed and the smallest history found that still shows it.

use std::ops::Range;

use isoscope_check::verify;
use isoscope_history::{History, NO_EVENT, NO_TIME, Outcome};
use isoscope_levels::Level;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::axioms::{self, Explanation};
use crate::compare;
use crate::plan::{Plan, Step};

/// What kind of history is drawn.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) txns: usize,
    pub(crate) steps: usize,
    /// Values come from a set of three.
    repeated: bool,
    /// The last so many of the three keys are lists.
    lists: usize,
    /// Some transactions aborted or have an unknown outcome.
    outcomes: bool,
    clock: Clock,
}

/// What is known of real time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    Nothing,
    Events,
    /// Times by the client's clock, and now and then events as well, which overrule them.
    Times,
}

pub(crate) struct Dice(ChaCha8Rng);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.0.next_u64()) * n as u128) >> 64) as usize
    }

    /// True once in `n` times.
    fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

const KEYS: usize = 3;
const NOBODY_WROTE: u32 = 99;

fn draw(kind: Kind, dice: &mut Dice) -> Vec<Plan> {
    let sessions = 1 + dice.below(4);
    let txns = 1 + dice.below(kind.txns);
    let keys = if dice.once_in(3) { KEYS } else { 1 + dice.below(KEYS) };
    let mut plan: Vec<Plan> = (0..txns).map(|_| draw_txn(kind, sessions, keys, dice)).collect();
    let mut next = [0; KEYS];
    for step in plan.iter_mut().flat_map(|txn| &mut txn.steps) {
        if let Step::Write(key, value) | Step::Insert(key, value) | Step::Append(key, value) = step {
            next[*key] += 1;
            *value = if kind.repeated { 1 + dice.below(3) as u32 } else { next[*key] };
        }
    }
    fill_reads(&mut plan, dice);
    match kind.clock {
        Clock::Nothing => {}
        Clock::Events => set_events(&mut plan, dice),
        Clock::Times => {
            set_times(&mut plan, dice);
            if dice.once_in(4) {
                set_events(&mut plan, dice);
            }
        }
    }
    plan
}

/// An interval around the place of a transaction in the plan's order, so that the order agrees with the clock; now
/// and then any other, and now and then without a beginning or an end. Points may be the same.
fn interval(place: usize, txns: usize, width: usize, dice: &mut Dice) -> (Option<u32>, Option<u32>) {
    let place = if dice.once_in(20) { dice.below(txns) } else { place };
    let middle = 2 * place + 8;
    let (start, end) = (middle - dice.below(width), middle + dice.below(width));
    let (begun, ended) = (!dice.once_in(25), !dice.once_in(10));
    (begun.then_some(start as u32), ended.then_some(end as u32))
}

fn set_events(plan: &mut [Plan], dice: &mut Dice) {
    let (txns, width) = (plan.len(), 1 + dice.below(7));
    for (i, txn) in plan.iter_mut().enumerate() {
        let (start, end) = interval(i, txns, width, dice);
        let events = (start.unwrap_or(NO_EVENT), end.unwrap_or(NO_EVENT));
        txn.events = (!dice.once_in(20)).then_some(events);
    }
}

fn set_times(plan: &mut [Plan], dice: &mut Dice) {
    let (txns, width) = (plan.len(), 1 + dice.below(7));
    for (i, txn) in plan.iter_mut().enumerate() {
        let (start, end) = interval(i, txns, width, dice);
        let time = |point: Option<u32>| point.map_or(NO_TIME, |point| i64::from(point) - 10);
        txn.times = Some((time(start), time(end)));
    }
}

fn draw_txn(kind: Kind, sessions: usize, keys: usize, dice: &mut Dice) -> Plan {
    let outcome = match dice.below(12) {
        0 if kind.outcomes => Outcome::Aborted,
        1 | 2 if kind.outcomes => Outcome::Unknown,
        _ => Outcome::Committed,
    };
    let session = dice.below(sessions);
    let steps = 1 + dice.below(kind.steps);
    let steps = (0..steps).map(|_| {
        let key = KEYS - keys + dice.below(keys);
        match (dice.below(9), key >= KEYS - kind.lists) {
            (0..5, true) => Step::ReadList(key, Vec::new()),
            (_, true) => Step::Append(key, 0),
            (0..5, false) => Step::Read(key, None),
            (5, false) if kind.repeated => Step::Delete(key),
            (6, false) => Step::Insert(key, 0),
            (_, false) => Step::Write(key, 0),
        }
    });
    Plan { session, outcome, steps: steps.collect(), ..Plan::default() }
}

/// Says what every read returned: the state of a serial order some way back, and now and then anything.
fn fill_reads(plan: &mut [Plan], dice: &mut Dice) {
    // The plan's own order is one that agrees with sessions, and as good as any.
    let given = plan.to_vec();
    let (lag_limit, noise) = (1 + dice.below(4), [3, 8, 20, 1000][dice.below(4)]);
    let each_read = dice.once_in(2);
    for (i, txn) in plan.iter_mut().enumerate() {
        let mut lag = dice.below(lag_limit).min(i);
        for j in 0..txn.steps.len() {
            if each_read {
                lag = dice.below(lag_limit).min(i);
            }
            let own = &given[i].steps[..j];
            let anything = dice.once_in(noise);
            let step = &mut txn.steps[j];
            *step = match step.clone() {
                Step::Read(key, _) if anything => any_read(&given, key, dice),
                Step::Read(key, _) => read_of(key, register(&given[..i - lag], own, key)),
                Step::ReadList(key, _) => {
                    let mut list = elements(&given[..i - lag], own, key);
                    if anything {
                        spoil(&mut list, &given, key, dice);
                    }
                    Step::ReadList(key, list)
                }
                other => other,
            };
        }
    }
}

/// A register's value, or nil.
type Content = Option<u32>;

fn written(step: &Step, key: usize) -> Option<Content> {
    match *step {
        Step::Write(k, value) | Step::Insert(k, value) if k == key => Some(Some(value)),
        Step::Delete(k) if k == key => Some(None),
        _ => None,
    }
}

fn read_of(key: usize, content: Content) -> Step {
    content.map_or(Step::ReadNil(key), |value| Step::Read(key, Some(value)))
}

fn visible(txns: &[Plan]) -> impl DoubleEndedIterator<Item = &Step> {
    txns.iter().filter(|txn| txn.outcome != Outcome::Aborted).flat_map(|txn| &txn.steps)
}

fn register(before: &[Plan], own: &[Step], key: usize) -> Content {
    let mut steps = visible(before).chain(own).rev();
    steps.find_map(|step| written(step, key)).unwrap_or(Some(0))
}

fn elements(before: &[Plan], own: &[Step], key: usize) -> Vec<u32> {
    let appended = |step: &Step| match *step {
        Step::Append(k, value) if k == key => Some(value),
        _ => None,
    };
    visible(before).chain(own).filter_map(appended).collect()
}

/// Any value that was written to the key, an initial one, an unknown one, or one that nobody wrote.
fn any_read(plan: &[Plan], key: usize, dice: &mut Dice) -> Step {
    let contents: Vec<Content> =
        plan.iter().flat_map(|txn| &txn.steps).filter_map(|step| written(step, key)).collect();
    match dice.below(contents.len() + 2) {
        0 => Step::Read(key, Some(0)),
        1 if dice.once_in(2) => Step::Read(key, None),
        1 => Step::Read(key, Some(NOBODY_WROTE)),
        n => read_of(key, contents[n - 2]),
    }
}

/// Changes a list: an element lost, doubled, invented or taken from anywhere, two exchanged, the end lost.
fn spoil(list: &mut Vec<u32>, plan: &[Plan], key: usize, dice: &mut Dice) {
    let at = dice.below(list.len() + 1);
    let other = dice.below(list.len() + 1);
    match dice.below(6) {
        0 if at < list.len() => drop(list.remove(at)),
        1 if at < list.len() => list.push(list[at]),
        2 if at < list.len() && other < list.len() => list.swap(at, other),
        3 if dice.once_in(4) => list.push(NOBODY_WROTE),
        4 => {
            let all = elements(plan, &[], key);
            if !all.is_empty() {
                list.insert(at, all[dice.below(all.len())]);
            }
        }
        _ => list.truncate(at),
    }
}

/// A history of few operations, with or without lists.
pub(crate) fn draw_small(dice: &mut Dice) -> Vec<Plan> {
    let kind = [SMALL, LISTS][dice.below(2)];
    draw(Kind { txns: 4, steps: 3, ..kind }, dice)
}

/// How many orders the reference is asked to try, in all worlds together.
const ORDERS: usize = 20_000;

fn is_affordable(history: &History) -> bool {
    let txns = history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted).count();
    axioms::world_count(history).saturating_mul((1..=txns).product()) <= ORDERS
}

fn compare_random(kind: Kind, seeds: Range<u64>) {
    let drawn = seeds.end - seeds.start;
    let mut compared = 0;
    compare::alone(|| {
        for seed in seeds {
            let plan = draw(kind, &mut Dice::new(seed));
            if is_affordable(&crate::plan::build(&plan)) {
                compared += 1;
                compare::agree(plan, format_args!("seed {seed}"));
            }
        }
    });
    assert!(compared * 10 >= drawn * 9, "only {compared} of {drawn} could be compared");
}

const SMALL: Kind =
    Kind { txns: 5, steps: 4, repeated: false, lists: 0, outcomes: true, clock: Clock::Nothing };
const LARGE: Kind = Kind { txns: 7, steps: 5, outcomes: false, ..SMALL };
const LISTS: Kind = Kind { txns: 6, lists: 3, ..SMALL };
const MIXED: Kind = Kind { txns: 6, lists: 1, outcomes: false, ..SMALL };
const REPEATED: Kind = Kind { steps: 3, repeated: true, ..SMALL };
const REPEATED_LARGE: Kind = Kind { txns: 7, steps: 2, ..REPEATED };
const REPEATED_LISTS: Kind = Kind { lists: 2, outcomes: false, ..REPEATED };
const CLOCKED: Kind = Kind { txns: 6, clock: Clock::Events, ..SMALL };
const CLOCKED_LARGE: Kind = Kind { txns: 7, steps: 3, outcomes: false, clock: Clock::Events, ..SMALL };
const CLOCKED_LISTS: Kind = Kind { txns: 5, lists: 2, clock: Clock::Times, ..SMALL };
const CLOCKED_REPEATED: Kind = Kind { clock: Clock::Events, ..REPEATED };
const TIMED: Kind = Kind { txns: 6, clock: Clock::Times, ..SMALL };

/// Registers of every kind, up to so many transactions.
pub(crate) fn draw_registers(txns: usize, dice: &mut Dice) -> Vec<Plan> {
    let kind = [SMALL, REPEATED, CLOCKED, CLOCKED_REPEATED, TIMED][dice.below(5)];
    draw(Kind { txns, steps: 3, ..kind }, dice)
}

macro_rules! parts {
    ($($name:ident: $kind:ident, $seeds:expr;)+) => {
        $(#[test]
        fn $name() {
            compare_random($kind, $seeds);
        })+
    };
}

parts! {
    random_small_histories_with_all_outcomes_1: SMALL, 0..20_000;
    random_small_histories_with_all_outcomes_2: SMALL, 20_000..40_000;
    random_larger_histories_1: LARGE, 100_000..115_000;
    random_larger_histories_2: LARGE, 115_000..130_000;
    random_lists_1: LISTS, 200_000..215_000;
    random_lists_2: LISTS, 215_000..230_000;
    random_lists_and_registers: MIXED, 300_000..315_000;
    random_repeated_values_1: REPEATED, 400_000..415_000;
    random_repeated_values_2: REPEATED, 415_000..430_000;
    random_repeated_values_of_many: REPEATED_LARGE, 450_000..460_000;
    random_repeated_elements: REPEATED_LISTS, 500_000..510_000;
    random_real_time_1: CLOCKED, 600_000..615_000;
    random_real_time_2: CLOCKED, 615_000..630_000;
    random_real_time_of_many: CLOCKED_LARGE, 650_000..665_000;
    random_real_time_and_lists: CLOCKED_LISTS, 700_000..715_000;
    random_real_time_and_repeated_values: CLOCKED_REPEATED, 750_000..765_000;
    random_times: TIMED, 800_000..815_000;
}

/// The draws are worth something only if each level is often satisfied and often violated.
#[test]
fn random_histories_satisfy_and_violate_every_level() {
    for (name, kind) in [
        ("small", SMALL),
        ("large", LARGE),
        ("lists", LISTS),
        ("mixed", MIXED),
        ("repeated", REPEATED),
        ("clocked", CLOCKED),
        ("clocked large", CLOCKED_LARGE),
        ("clocked lists", CLOCKED_LISTS),
        ("clocked repeated", CLOCKED_REPEATED),
        ("timed", TIMED),
    ] {
        let mut held = [0; axioms::LEVELS.len()];
        for seed in 0..400 {
            let history = crate::plan::build(&draw(kind, &mut Dice::new(seed)));
            if is_affordable(&history) {
                let verdicts = axioms::judge(&history, &axioms::LEVELS);
                held.iter_mut()
                    .zip(&verdicts)
                    .for_each(|(held, verdict)| *held += u32::from(verdict.is_some()));
            }
        }
        for (level, held) in axioms::LEVELS.iter().zip(held) {
            let always = *level == Level::AdyaPl1;
            assert!(held > 20 && (always || held < 390), "{name}, {level}: {held} of 400");
        }
        let held =
            |level: Level| held[axioms::LEVELS.iter().position(|&l| l == level).expect("all are there")];
        if kind.clock != Clock::Nothing {
            assert!(held(Level::StrictSnapshot) < held(Level::Snapshot), "{name}: the clock says nothing");
            assert!(held(Level::StrictSerializable) < held(Level::Serializable), "{name}: nor here");
        }
    }
}

/// Every order, not only good ones: the verifier accepts it exactly when the axiom does.
#[test]
fn the_verifier_accepts_an_order_exactly_when_the_axiom_does() {
    let mut accepted = 0;
    for seed in 0..6_000 {
        let mut dice = Dice::new(seed);
        let kind = [SMALL, LISTS, MIXED][dice.below(3)];
        let history = crate::plan::build(&draw(Kind { txns: 5, ..kind }, &mut dice));
        if axioms::lists_contradict(&history) && history.has_lists() {
            continue;
        }
        let mut order = axioms::present(&history);
        for level in &axioms::WEAK[1..] {
            for i in (1..order.len()).rev() {
                order.swap(i, dice.below(i + 1));
            }
            if dice.once_in(2) {
                order.sort_unstable();
            }
            let explanation = Explanation { order: order.clone(), ..Explanation::default() };
            let expected = axioms::accepts(&history, *level, &explanation);
            let verified = verify(&history, &compare::judgement_of(*level, &explanation));
            assert_eq!(
                verified.is_ok(),
                expected,
                "seed {seed}: {level} {order:?} {verified:?}\n{history:?}"
            );
            accepted += u32::from(expected);
        }
    }
    assert!(accepted > 5_000, "only {accepted}");
}
