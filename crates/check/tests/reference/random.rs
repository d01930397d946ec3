//! Random histories: larger than all can be enumerated, drawn so that all verdicts are common.
//!
//! A history is drawn as a shape, an order of its transactions, and reads that see those before them in that order,
//! or some of them ([`View`]). Then a few reads are replaced by anything. Half of the histories also hold one that
//! lies between two neighbouring levels ([`CORES`]), for few others do. Values are unique unless a test wants them not to be. A failure prints its seed and the smallest history found that still shows it.

use std::ops::Range;

use isoscope_history::{History, NO_EVENT, NO_TIME, Outcome, Txn};
use isoscope_levels::{EDGES, Level};
use isoscope_verify::verify;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::axioms::{self, Explanation, LEVELS};
use crate::compare;
use crate::plan::{Plan, Step};

/// What kind of history is drawn.
#[derive(Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "each is a feature of its own")]
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
    /// Reads return anything more often, and what they returned is often not learned.
    wild: bool,
    /// Some reads are of ranges; keys are often deleted.
    ranges: bool,
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

/// Small histories that lie between two neighbouring levels: sessions of transactions of operations `r` or `w` on a
/// key `x` or `y` with a value. Half of all random histories hold one of them, among others.
const CORES: [&str; 19] = [
    "rx0 wy1 | ry0 wx1",
    "rx0 ry0 wx1 | rx0 ry0 wy1",
    "rx0 wx1 | rx0 wx2",
    "wx1 | rx1 wx2 | rx1 wx3",
    "wx1 | wy1 | rx1 ry0 | ry1 rx0",
    "wx1 ; ry0 | wy1 ; rx0",
    "wx1 | wx2 | wy1 | rx2 ry0 | ry1 rx0",
    "wx1 | rx1 wy1 | ry1 rx0",
    "wx1 ; wy1 | ry1 | ry1 wx2 | rx1",
    "rx0 wx1 | ry0 wx2 | wy3 | ry3 rx0",
    "wy1 ; rx0 | ry0 wx2",
    "rx0 ry0 wx1 | ry0 wy1 | rx0 ry1",
    "rx0 wy1 | wx2 | ry0",
    "rx0 wx1 ; rx0",
    "wx1 wy1 | rx0 ry1",
    "wx1 wy1 | ry1 rx0",
    "wx1 | rx0 rx1",
    "wx1 | wx2 | rx2 rx1",
    "rx1 wy1 | ry1 wx1",
];

fn draw(kind: Kind, dice: &mut Dice) -> Vec<Plan> {
    let core = if dice.once_in(2) { draw_core(kind, dice) } else { Vec::new() };
    let room = kind.txns.saturating_sub(core.len());
    let others = match core.len() {
        0 => 1 + dice.below(room).max(dice.below(room)),
        _ => dice.below(room + 1),
    };
    let sessions = 1 + dice.below(4).max(dice.below(7));
    let keys = [1, 2, 2, 2, 3, 3][dice.below(6)];
    let mut plan: Vec<Plan> = (0..others).map(|_| draw_txn(kind, sessions, keys, dice)).collect();
    let mut next = [0; KEYS];
    for step in plan.iter_mut().flat_map(|txn| &mut txn.steps) {
        if let Step::Write(key, value) | Step::Insert(key, value) | Step::Append(key, value) = step {
            next[*key] += 1;
            *value = if kind.repeated { 1 + dice.below(3) as u32 } else { next[*key] };
        }
    }
    let mut is_core = vec![false; plan.len()];
    let mut at = 0;
    for txn in core {
        at += dice.below(plan.len() + 1 - at);
        plan.insert(at, txn);
        is_core.insert(at, true);
        at += 1;
    }
    fill_reads(kind, &mut plan, &is_core, dice);
    if dice.once_in(6) {
        // Perhaps not in the order of sessions any more.
        let (i, j) = (dice.below(plan.len()), dice.below(plan.len()));
        plan.swap(i, j);
    }
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

/// One of [`CORES`], on any keys, with values of its own unless they may repeat.
fn draw_core(kind: Kind, dice: &mut Dice) -> Vec<Plan> {
    let (x, session, shift) = (dice.below(KEYS), dice.below(4), dice.below(3) as u32);
    let y = (x + 1 + dice.below(KEYS - 1)) % KEYS;
    let value = |n: u32| match n {
        0 => 0,
        n if kind.repeated => 1 + (n + shift) % 3,
        n => 50 + n,
    };
    let core = CORES[dice.below(CORES.len())];
    let txns =
        core.split('|').enumerate().flat_map(|(i, session)| session.split(';').map(move |txn| (i, txn)));
    let mut versions: [Vec<u32>; KEYS] = Default::default();
    let mut plan = Vec::new();
    for (i, txn) in txns {
        let mut steps = Vec::new();
        for step in txn.split_whitespace() {
            let mut signs = step.chars();
            let is_write = signs.next() == Some('w');
            let key = if signs.next() == Some('x') { x } else { y };
            let value = value(signs.next().and_then(|digit| digit.to_digit(10)).expect("a value is a digit"));
            let is_list = key >= KEYS - kind.lists;
            if is_write {
                versions[key].push(value);
            }
            // What a list holds is told by the writes before, in the order of the core.
            let held = versions[key].iter().position(|&version| version == value).map_or(0, |last| last + 1);
            steps.push(match (is_write, is_list) {
                (true, true) => Step::Append(key, value),
                (true, false) => Step::Write(key, value),
                (false, true) => Step::ReadList(key, versions[key][..held].to_vec()),
                (false, false) => Step::Read(key, Some(value)),
            });
        }
        let outcome = if kind.outcomes && dice.once_in(8) { Outcome::Unknown } else { Outcome::Committed };
        plan.push(Plan { session: (session + i) % 8, outcome, steps, ..Plan::default() });
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
    let count = 1 + dice.below(kind.steps);
    // Some only read, all keys as far as they go, some only write, and the rest do what comes.
    let (role, first) = (dice.below(4), dice.below(keys));
    let steps = (0..count).map(|i| {
        let key = KEYS - keys + if role == 0 { (first + i) % keys } else { dice.below(keys) };
        let act = match role {
            0 => 0,
            1 => 5 + dice.below(4),
            _ => dice.below(9),
        };
        match (act, key >= KEYS - kind.lists) {
            (0..5, true) => Step::ReadList(key, Vec::new()),
            (_, true) => Step::Append(key, 0),
            (0..3, false) if kind.ranges => {
                let other = KEYS - keys + dice.below(keys);
                let (low, high) = (key.min(other), key.max(other));
                Step::Range(low, high, vec![None; high - low + 1])
            }
            (0..5, false) => Step::Read(key, None),
            (5, false) if kind.repeated || kind.ranges => Step::Delete(key),
            (6, false) => Step::Insert(key, 0),
            (_, false) => Step::Write(key, 0),
        }
    });
    Plan { session, outcome, steps: steps.collect(), ..Plan::default() }
}

/// What transactions see of those before them in the plan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    /// For each read anew: all but the last few.
    EachRead,
    /// All but the last few.
    Stale,
    /// All but the last few, and all up to the last of its session: this is nearly prefix consistency.
    Prefix,
    /// The same, and up to the last that writes what it writes: nearly snapshot isolation.
    Snapshot,
    /// Its session, some others, and what those see: nearly causal consistency.
    Causal,
    /// The same, and who writes what it writes: nearly parallel snapshot isolation.
    Parallel,
}

const VIEWS: [View; 6] =
    [View::EachRead, View::Stale, View::Prefix, View::Snapshot, View::Causal, View::Parallel];

/// For each transaction, those before it that it sees, as sets of bits.
fn views(plan: &[Plan], view: View, lag: usize, dice: &mut Dice) -> Vec<u32> {
    let mut views: Vec<u32> = Vec::new();
    for i in 0..plan.len() {
        let session = |j: usize| plan[j].session == plan[i].session;
        let conflict = |j: usize| {
            let both = |step: &Step| key_written(step).is_some_and(|key| writes(&plan[i], key));
            plan[j].steps.iter().any(both)
        };
        let is_needed = |j: usize| match view {
            View::EachRead | View::Stale => false,
            View::Prefix | View::Causal => session(j),
            View::Snapshot | View::Parallel => session(j) || conflict(j),
        };
        let fresh = i - dice.below(lag).min(i);
        let mut seen = 0;
        for j in (0..i).rev() {
            match view {
                View::Causal | View::Parallel if is_needed(j) || dice.once_in(2) => seen |= 1 << j | views[j],
                View::Causal | View::Parallel => {}
                _ if j < fresh || is_needed(j) => seen |= (2 << j) - 1,
                _ => {}
            }
        }
        views.push(seen);
    }
    views
}

fn key_written(step: &Step) -> Option<usize> {
    match *step {
        Step::Write(key, _) | Step::Insert(key, _) | Step::Delete(key) | Step::Append(key, _) => Some(key),
        _ => None,
    }
}

fn writes(txn: &Plan, key: usize) -> bool {
    txn.outcome != Outcome::Aborted && txn.steps.iter().any(|step| key_written(step) == Some(key))
}

/// Says what every read returned that is not of a core: the state that its transaction sees, and now and then anything.
fn fill_reads(kind: Kind, plan: &mut [Plan], is_core: &[bool], dice: &mut Dice) {
    // The plan's own order is one that agrees with sessions, and as good as any.
    let given = plan.to_vec();
    let noises = if kind.wild { [2, 5, 20, 100] } else { [5, 20, 100, 1000] };
    let (lag, noise) = (1 + dice.below(4), noises[dice.below(4)]);
    let view = VIEWS[dice.below(VIEWS.len())];
    let views = views(&given, view, lag, dice);
    for (i, txn) in plan.iter_mut().enumerate().filter(|(i, _)| !is_core[*i]) {
        for j in 0..txn.steps.len() {
            let seen = match view {
                View::EachRead => (1 << (i - dice.below(lag).min(i))) - 1,
                _ => views[i],
            };
            let own = &given[i].steps[..j];
            let anything = dice.once_in(noise);
            let unlearned = kind.wild && dice.once_in(if txn.outcome == Outcome::Unknown { 2 } else { 15 });
            let step = &mut txn.steps[j];
            *step = match step.clone() {
                Step::Read(key, _) if unlearned => Step::Read(key, None),
                Step::ReadList(key, _) if unlearned => Step::ReadListUnlearned(key),
                Step::Range(low, high, _) => {
                    let before: Vec<&Plan> =
                        (0..i).filter(|&j| seen & 1 << j != 0).map(|j| &given[j]).collect();
                    let mut found: Vec<Content> =
                        (low..=high).map(|key| register(&before, own, key)).collect();
                    if anything {
                        let key = low + dice.below(found.len());
                        found[key - low] = match any_read(&given, key, dice) {
                            Step::Read(_, value) => value,
                            _ => None,
                        };
                    }
                    Step::Range(low, high, found)
                }
                Step::Read(key, _) if anything => any_read(&given, key, dice),
                Step::Read(key, _) => {
                    let before: Vec<&Plan> =
                        (0..i).filter(|&j| seen & 1 << j != 0).map(|j| &given[j]).collect();
                    read_of(key, register(&before, own, key))
                }
                Step::ReadList(key, _) => {
                    // Versions of a list hold all earlier ones.
                    let last = (0..i).rfind(|&j| seen & 1 << j != 0 && writes(&given[j], key));
                    let before: Vec<&Plan> = given[..last.map_or(0, |last| last + 1)].iter().collect();
                    let mut list = elements(&before, own, key);
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

fn visible<'p>(txns: &[&'p Plan]) -> impl DoubleEndedIterator<Item = &'p Step> {
    txns.iter().filter(|txn| txn.outcome != Outcome::Aborted).flat_map(|txn| &txn.steps)
}

fn register(before: &[&Plan], own: &[Step], key: usize) -> Content {
    let mut steps = visible(before).chain(own).rev();
    steps.find_map(|step| written(step, key)).unwrap_or(Some(0))
}

fn elements(before: &[&Plan], own: &[Step], key: usize) -> Vec<u32> {
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
            let all = elements(&plan.iter().collect::<Vec<_>>(), &[], key);
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

const SMALL: Kind = Kind {
    txns: 5,
    steps: 4,
    repeated: false,
    lists: 0,
    outcomes: true,
    clock: Clock::Nothing,
    wild: false,
    ranges: false,
};
const LARGE: Kind = Kind { txns: 7, steps: 5, outcomes: false, ..SMALL };
const LISTS: Kind = Kind { txns: 6, lists: 3, ..SMALL };
const MIXED: Kind = Kind { txns: 6, lists: 1, outcomes: false, ..SMALL };
const REPEATED: Kind = Kind { steps: 3, repeated: true, ..SMALL };
const REPEATED_LARGE: Kind = Kind { txns: 7, steps: 2, ..REPEATED };
const REPEATED_LISTS: Kind = Kind { lists: 2, outcomes: false, ..REPEATED };
const OPEN_LISTS: Kind = Kind { txns: 4, lists: 2, ..REPEATED };
const CLOCKED_OPEN_LISTS: Kind = Kind { clock: Clock::Events, ..OPEN_LISTS };
const CLOCKED: Kind = Kind { txns: 6, clock: Clock::Events, ..SMALL };
const CLOCKED_LARGE: Kind = Kind { txns: 7, steps: 3, outcomes: false, clock: Clock::Events, ..SMALL };
const CLOCKED_LISTS: Kind = Kind { txns: 5, lists: 2, clock: Clock::Times, ..SMALL };
const CLOCKED_REPEATED: Kind = Kind { clock: Clock::Events, ..REPEATED };
const WILD: Kind = Kind { txns: 5, lists: 1, repeated: true, wild: true, ..SMALL };
const WILD_LISTS: Kind = Kind { lists: 3, ..WILD };
const WILD_UNIQUE: Kind = Kind { lists: 2, repeated: false, ..WILD };
const RANGES: Kind = Kind { ranges: true, ..SMALL };
const REPEATED_RANGES: Kind = Kind { txns: 4, steps: 3, repeated: true, ..RANGES };
const CLOCKED_RANGES: Kind = Kind { clock: Clock::Events, ..RANGES };
const TIMED: Kind = Kind { txns: 6, clock: Clock::Times, ..SMALL };

/// Registers of every kind, up to so many transactions.
pub(crate) fn draw_registers(txns: usize, dice: &mut Dice) -> Vec<Plan> {
    let kind = [SMALL, REPEATED, CLOCKED, CLOCKED_REPEATED, TIMED][dice.below(5)];
    draw(Kind { txns, steps: 3, ..kind }, dice)
}

/// Lists of every kind, among registers or not.
pub(crate) fn draw_lists(txns: usize, dice: &mut Dice) -> Vec<Plan> {
    let kind = [LISTS, MIXED, REPEATED_LISTS, CLOCKED_LISTS][dice.below(4)];
    draw(Kind { txns, ..kind }, dice)
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
    random_repeated_elements_and_outcomes: OPEN_LISTS, 520_000..532_000;
    random_repeated_elements_outcomes_and_real_time: CLOCKED_OPEN_LISTS, 540_000..546_000;
    random_real_time_1: CLOCKED, 600_000..615_000;
    random_real_time_2: CLOCKED, 615_000..630_000;
    random_real_time_of_many: CLOCKED_LARGE, 650_000..665_000;
    random_real_time_and_lists: CLOCKED_LISTS, 700_000..715_000;
    random_real_time_and_repeated_values: CLOCKED_REPEATED, 750_000..765_000;
    random_times: TIMED, 800_000..815_000;
    random_operations_of_all_kinds: WILD, 900_000..910_000;
    random_wild_lists: WILD_LISTS, 910_000..920_000;
    random_wild_lists_of_unique_elements: WILD_UNIQUE, 920_000..930_000;
    random_ranges: RANGES, 930_000..940_000;
    random_ranges_of_repeated_values: REPEATED_RANGES, 940_000..950_000;
    random_ranges_and_real_time: CLOCKED_RANGES, 950_000..955_000;
}

/// A million histories of all kinds of operations.
macro_rules! million {
    ($($name:ident: $kind:ident, $seeds:expr;)+) => {
        $(#[test]
        #[ignore = "takes many minutes"]
        fn $name() {
            compare_random($kind, $seeds);
        })+
    };
}

million! {
    million_of_all_kinds_1: WILD, 1_000_000..1_250_000;
    million_of_all_kinds_2: WILD_LISTS, 1_250_000..1_500_000;
    million_of_all_kinds_3: WILD_UNIQUE, 1_500_000..1_750_000;
    million_of_all_kinds_4: RANGES, 1_750_000..1_900_000;
    million_of_all_kinds_5: REPEATED_RANGES, 1_900_000..2_000_000;
}

/// What lists hold before any transaction changes no verdict.
#[test]
fn initial_elements_change_nothing() {
    for seed in 0..6_000 {
        let mut dice = Dice::new(seed);
        let kind = [LISTS, WILD_LISTS, WILD_UNIQUE][dice.below(3)];
        let history = crate::plan::build(&draw(Kind { txns: 4, ..kind }, &mut dice));
        let text = isoscope_history::notation::print(&history);
        let begun = text.replace("[]", "[77]").replace('[', "[77 ").replace("[77 77]", "[77]");
        let begun = format!("init(x)=[77]  init(y)=[77]  init(z)=[77]  {begun}");
        // Registers are not lists.
        let is_list = |key: &str| text.contains(&format!("a({key},")) || text.contains(&format!("({key},["));
        let registers = ["x", "y", "z"].into_iter().filter(|key| !is_list(key));
        let begun = registers.fold(begun, |text, key| text.replace(&format!("init({key})=[77]  "), ""));
        let begun = isoscope_history::notation::parse(&begun).expect("it is a history");
        let verdicts = |history: &History| {
            let mut checker = isoscope_check::Checker::new(history, isoscope_check::Options::default());
            LEVELS.map(|level| {
                let judgement = checker.check(level);
                let verified = verify(history, &judgement);
                assert!(verified.is_ok(), "seed {seed}: {level}: {verified:?}\n{history:?}");
                std::mem::discriminant(&judgement.verdict)
            })
        };
        assert_eq!(verdicts(&history), verdicts(&begun), "seed {seed}\n{history:?}\n{begun:?}");
    }
}

/// The draws are worth something only if each level is often satisfied and often violated, and if what lies between
/// two neighbouring levels is met again and again.
#[test]
fn random_histories_satisfy_and_violate_every_level() {
    for (name, kind) in [
        ("small", SMALL),
        ("large", LARGE),
        ("lists", LISTS),
        ("mixed", MIXED),
        ("repeated", REPEATED),
        ("many repeated", REPEATED_LARGE),
        ("clocked", CLOCKED),
        ("many clocked", CLOCKED_LARGE),
        ("clocked lists", CLOCKED_LISTS),
        ("clocked repeated", CLOCKED_REPEATED),
        ("timed", TIMED),
    ] {
        let mut held = [0; LEVELS.len()];
        let mut between = [0; EDGES.len()];
        for seed in 0..1_000 {
            let history = crate::plan::build(&draw(kind, &mut Dice::new(seed)));
            if !is_affordable(&history) {
                continue;
            }
            let holds: Vec<bool> = axioms::judge(&history, &LEVELS).iter().map(Option::is_some).collect();
            let holds_at = |level| holds[LEVELS.iter().position(|&l| l == level).expect("all are there")];
            held.iter_mut().zip(&holds).for_each(|(held, &holds)| *held += u32::from(holds));
            for (edge, between) in EDGES.iter().zip(&mut between) {
                *between += u32::from(holds_at(edge.weaker) && !holds_at(edge.stronger));
                assert!(
                    !holds_at(edge.stronger) || holds_at(edge.weaker),
                    "{} implies {}",
                    edge.stronger,
                    edge.weaker
                );
            }
        }
        for (level, held) in LEVELS.iter().zip(held) {
            // Nothing but lists violates PL-1, and where it says something the clock of a session.
            let always = !level.implies(Level::AdyaPl2) && *level != Level::CutIsolation;
            assert!(held > 100 && (always || held < 985), "{name}, {level}: {held} of 1,000");
        }
        for (edge, between) in EDGES.iter().zip(between) {
            let is_strict = Level::has_real_time;
            let by_the_clock = is_strict(edge.stronger) && !is_strict(edge.weaker);
            // Predicates are not drawn.
            let by_predicates = (edge.stronger, edge.weaker) == (Level::AdyaPl3, Level::AdyaPl299);
            let by_versions = !edge.stronger.implies(Level::AdyaPl2);
            let expected = match () {
                () if by_predicates || by_the_clock && kind.clock == Clock::Nothing => 0..=0,
                () if by_versions => 0..=1_000,
                () if edge.stronger.has_sessions() && !edge.weaker.has_sessions() => 3..=1_000,
                () => 10..=1_000,
            };
            let (stronger, weaker) = (edge.stronger, edge.weaker);
            assert!(expected.contains(&between), "{name}: {weaker} and not {stronger}: {between} of 1,000");
        }
    }
}

/// Explanations good and bad: the verifier accepts one exactly when the axiom does.
#[test]
fn the_verifier_accepts_an_explanation_exactly_when_the_axiom_does() {
    let (mut accepted, mut refused) = (0, 0);
    let kinds = [SMALL, LISTS, MIXED, CLOCKED, TIMED, REPEATED, CLOCKED_REPEATED];
    for seed in 0..14_000 {
        let mut dice = Dice::new(seed);
        let kind = kinds[dice.below(kinds.len())];
        let history = crate::plan::build(&draw(Kind { txns: 5, ..kind }, &mut dice));
        if !is_affordable(&history) {
            continue;
        }
        for (level, found) in LEVELS.into_iter().zip(axioms::judge(&history, &LEVELS)).skip(1) {
            let mut explanation = found.unwrap_or_else(|| guess(&history, level));
            for _ in 0..dice.below(3) {
                change(&history, &mut explanation, &mut dice);
            }
            let expected = match explanation.snapshots {
                Some(_) => axioms::accepts_snapshots(&history, level, &explanation),
                None => axioms::accepts(&history, level, &explanation),
            };
            let verified = verify(&history, &compare::judgement_of(level, &explanation));
            assert_eq!(
                verified.is_ok(),
                expected,
                "seed {seed}: {level} {explanation:?} {verified:?}\n{history:?}"
            );
            *(if expected { &mut accepted } else { &mut refused }) += 1;
        }
    }
    assert!(accepted > 5_000 && refused > 5_000, "{accepted} accepted, {refused} refused");
}

/// What might explain a history that has no explanation.
fn guess(history: &History, level: Level) -> Explanation {
    let order = axioms::present(history);
    let sees_snapshot = axioms::sees_snapshot(level);
    let snapshots = sees_snapshot.then(|| (0..order.len() as u32).collect());
    let open = axioms::open_reads(history, &order).into_iter();
    let first = |(op, writers): (_, Vec<_>)| writers.first().map(|&writer| (op, writer));
    let says_it = sees_snapshot || axioms::sees_all_before(level);
    let sources = if says_it { Vec::new() } else { open.filter_map(first).collect() };
    Explanation { order, snapshots, sources }
}

/// Changes something about an explanation: two places of the order, a snapshot or a writer.
fn change(history: &History, explanation: &mut Explanation, dice: &mut Dice) {
    let Explanation { order, snapshots, sources } = explanation;
    if order.is_empty() {
        return;
    }
    let (i, j) = (dice.below(order.len()), dice.below(order.len()));
    match (snapshots, dice.below(3)) {
        (Some(snapshots), 0) => snapshots[i] = dice.below(i + 2) as u32,
        (Some(snapshots), 1) => snapshots[i] = i as u32,
        (None, 0) if !sources.is_empty() => {
            let chosen = dice.below(sources.len());
            let open = axioms::open_reads(history, &sorted(order));
            let (_, writers) = open.iter().find(|(op, _)| *op == sources[chosen].0).expect("it is open");
            sources[chosen].1 = writers[dice.below(writers.len())];
        }
        (None, 1) => order.sort_unstable(),
        _ => order.swap(i, j),
    }
}

fn sorted(order: &[Txn]) -> Vec<Txn> {
    let mut txns = order.to_vec();
    txns.sort_unstable();
    txns
}
