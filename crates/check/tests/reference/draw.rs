//! Draws random histories, so that all verdicts are common.
//!
//! A history is drawn as a shape, an order of its transactions, and reads that see those before them in that order, or some of them
//! ([`View`]). Then a few reads are replaced by anything. Half of the histories also hold one that lies between two neighbouring levels
//! ([`CORES`]), because few others do. A [`Kind`] says what is drawn; a seed and a kind determine the history.
//!
//! Never drawn: more than seven transactions or three keys; a key that is a register and a list; intervals that end before they
//! begin; values other than small numbers and nil; tombstones that reads name, which are values like others.

use isoscope_certificate::{Conditions, UnknownOrder};
use isoscope_history::{NO_EVENT, NO_TIME, Outcome};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::plan::{Found, Initial, Initials, Plan, Step, key_written};

/// What kind of history is drawn.
#[derive(Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "each is a feature of its own")]
pub(crate) struct Kind {
    pub(crate) txns: usize,
    pub(crate) steps: usize,
    /// Values come from a set of three.
    pub(crate) repeated: bool,
    /// How many of the three keys are lists: the last ones.
    pub(crate) lists: usize,
    /// Some transactions aborted or have an unknown outcome.
    pub(crate) outcomes: bool,
    pub(crate) clock: Clock,
    /// Reads return anything more often, and what they returned is often not learned.
    pub(crate) wild: bool,
    /// Some reads are of ranges; keys are often deleted.
    pub(crate) ranges: bool,
    /// Reads of one transaction often see different transactions.
    pub(crate) unsteady: bool,
    pub(crate) start: Start,
    /// Half of the transactions have an unknown outcome.
    pub(crate) mostly_unknown: bool,
    /// Reads see what aborted transactions wrote.
    pub(crate) dirty: bool,
    /// Many transactions of unknown outcome cannot have committed: they have a read that no order explains.
    pub(crate) impossible: bool,
    /// Some transactions have no operations.
    pub(crate) empty: bool,
    pub(crate) conditions: Conditions,
}

/// What keys hold initially.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// Registers hold 0, lists are empty.
    Zero,
    /// Registers hold nil, 0 or a value that is also written; lists are empty.
    Registers,
    /// The same, and lists hold elements that no transaction appends.
    Fresh,
    /// The same, and lists hold elements that transactions also append.
    Appended,
}

pub(crate) const SMALL: Kind = Kind {
    txns: 5,
    steps: 4,
    repeated: false,
    lists: 0,
    outcomes: true,
    clock: Clock::Nothing,
    wild: false,
    ranges: false,
    unsteady: false,
    start: Start::Zero,
    mostly_unknown: false,
    dirty: false,
    impossible: false,
    empty: false,
    conditions: Conditions { unknown: UnknownOrder::InOrder, trust_timestamps: false },
};
pub(crate) const LARGE: Kind = Kind { txns: 7, steps: 5, outcomes: false, ..SMALL };
pub(crate) const LISTS: Kind = Kind { txns: 6, lists: 3, ..SMALL };
pub(crate) const MIXED: Kind = Kind { txns: 6, lists: 1, outcomes: false, ..SMALL };
pub(crate) const REPEATED: Kind = Kind { steps: 3, repeated: true, ..SMALL };
pub(crate) const REPEATED_LARGE: Kind = Kind { txns: 7, steps: 2, ..REPEATED };
pub(crate) const REPEATED_LISTS: Kind = Kind { lists: 2, outcomes: false, ..REPEATED };
pub(crate) const OPEN_LISTS: Kind = Kind { txns: 4, lists: 2, ..REPEATED };
pub(crate) const CLOCKED_OPEN_LISTS: Kind = Kind { clock: Clock::Events, ..OPEN_LISTS };
pub(crate) const CLOCKED: Kind = Kind { txns: 6, clock: Clock::Events, ..SMALL };
pub(crate) const CLOCKED_LARGE: Kind =
    Kind { txns: 7, steps: 3, outcomes: false, clock: Clock::Events, ..SMALL };
pub(crate) const CLOCKED_LISTS: Kind = Kind { txns: 5, lists: 2, clock: Clock::Times, ..SMALL };
pub(crate) const CLOCKED_REPEATED: Kind = Kind { clock: Clock::Events, ..REPEATED };
pub(crate) const WILD: Kind = Kind { txns: 5, lists: 1, repeated: true, wild: true, ..SMALL };
pub(crate) const WILD_LISTS: Kind = Kind { lists: 3, ..WILD };
pub(crate) const WILD_UNIQUE: Kind = Kind { lists: 2, repeated: false, ..WILD };
pub(crate) const RANGES: Kind = Kind { ranges: true, ..SMALL };
pub(crate) const REPEATED_RANGES: Kind = Kind { txns: 4, steps: 3, repeated: true, ..RANGES };
pub(crate) const CLOCKED_RANGES: Kind = Kind { clock: Clock::Events, ..RANGES };
pub(crate) const TIMED: Kind = Kind { txns: 6, clock: Clock::Times, ..SMALL };
pub(crate) const INITIALS: Kind = Kind { start: Start::Registers, ..REPEATED };
pub(crate) const INITIAL_UNIQUE: Kind = Kind { start: Start::Fresh, lists: 1, empty: true, ..SMALL };
pub(crate) const INITIAL_RANGES: Kind = Kind { start: Start::Registers, empty: true, ..RANGES };
pub(crate) const INITIAL_REPEATED_RANGES: Kind = Kind { start: Start::Registers, ..REPEATED_RANGES };
pub(crate) const INITIAL_LISTS: Kind = Kind { txns: 4, lists: 3, start: Start::Fresh, ..REPEATED };
pub(crate) const INITIAL_UNIQUE_LISTS: Kind = Kind { txns: 5, lists: 2, start: Start::Fresh, ..SMALL };
pub(crate) const APPENDED: Kind = Kind { start: Start::Appended, ..INITIAL_LISTS };
pub(crate) const APPENDED_MIXED: Kind = Kind { lists: 1, wild: true, ..APPENDED };
pub(crate) const RANGES_OF_ZERO_LISTS: Kind = Kind { lists: 1, wild: true, txns: 4, ..RANGES };
pub(crate) const RANGES_OF_LISTS: Kind = Kind { start: Start::Fresh, ..RANGES_OF_ZERO_LISTS };
pub(crate) const REPEATED_RANGES_OF_LISTS: Kind = Kind { repeated: true, steps: 3, ..RANGES_OF_LISTS };
/// Range reads of lists beside plain ones that see more or less, so that the two are from two others in a world of repeated elements.
pub(crate) const UNSTEADY_RANGES_OF_LISTS: Kind = Kind {
    lists: 3,
    unsteady: true,
    repeated: true,
    steps: 3,
    start: Start::Zero,
    wild: false,
    ..RANGES_OF_LISTS
};
pub(crate) const APPENDED_RANGES: Kind = Kind { start: Start::Appended, ..REPEATED_RANGES_OF_LISTS };
pub(crate) const APPENDED_UNKNOWN: Kind = Kind { mostly_unknown: true, lists: 2, ..APPENDED };
pub(crate) const DIRTY: Kind = Kind { dirty: true, empty: true, lists: 1, wild: true, ..SMALL };
pub(crate) const DIRTY_REPEATED: Kind = Kind { dirty: true, empty: true, lists: 1, txns: 4, ..REPEATED };
pub(crate) const UNKNOWN: Kind = Kind { mostly_unknown: true, lists: 1, txns: 5, ..SMALL };
pub(crate) const UNKNOWN_REPEATED: Kind = Kind { mostly_unknown: true, lists: 2, txns: 4, ..REPEATED };
pub(crate) const IMPOSSIBLE: Kind =
    Kind { txns: 4, lists: 0, mostly_unknown: true, impossible: true, dirty: true, ..REPEATED };
pub(crate) const IMPOSSIBLE_LARGE: Kind = Kind { txns: 5, steps: 2, ..IMPOSSIBLE };
pub(crate) const IMPOSSIBLE_CLOCKED: Kind = Kind { clock: Clock::Events, ..IMPOSSIBLE };
pub(crate) const IMPOSSIBLE_LISTS: Kind = Kind { lists: 1, ..IMPOSSIBLE };
pub(crate) const IMPOSSIBLE_RANGES: Kind = Kind { ranges: true, ..IMPOSSIBLE };
pub(crate) const IMPOSSIBLE_LATE: Kind = Kind { conditions: LATE.conditions, ..IMPOSSIBLE };
pub(crate) const LATE: Kind =
    Kind { conditions: Conditions { unknown: UnknownOrder::Late, trust_timestamps: false }, ..UNKNOWN };
pub(crate) const LATE_CLOCKED: Kind = Kind { clock: Clock::Events, ..LATE };
pub(crate) const LATE_RANGES: Kind =
    Kind { mostly_unknown: true, conditions: LATE.conditions, ..INITIAL_RANGES };
pub(crate) const LATE_REPEATED: Kind = Kind { conditions: LATE.conditions, ..UNKNOWN_REPEATED };
pub(crate) const HINTED: Kind = Kind { clock: Clock::Timestamps, ..SMALL };
pub(crate) const TRUSTED: Kind =
    Kind { conditions: Conditions { unknown: UnknownOrder::InOrder, trust_timestamps: true }, ..HINTED };
pub(crate) const TRUSTED_REPEATED: Kind = Kind { txns: 4, repeated: true, lists: 1, ..TRUSTED };
pub(crate) const TRUSTED_LATE: Kind = Kind {
    conditions: Conditions { unknown: UnknownOrder::Late, trust_timestamps: true },
    mostly_unknown: true,
    lists: 1,
    ..TRUSTED
};

/// What is known of real time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    Nothing,
    Events,
    /// Times by the client's clock, and now and then events as well, which overrule them.
    Times,
    /// Times by the database's clock, and now and then times or events of the client.
    Timestamps,
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

pub(crate) const KEYS: usize = 3;

const NEVER_WRITTEN: u32 = 99;

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

pub(crate) fn draw(kind: Kind, dice: &mut Dice) -> Vec<Plan> {
    draw_from(kind, &[], dice)
}

pub(crate) fn draw_initials(kind: Kind, dice: &mut Dice) -> Vec<Initial> {
    if kind.start == Start::Zero || dice.once_in(8) {
        return Vec::new();
    }
    if dice.once_in(3) {
        // A list whose initial value is nil is empty.
        return vec![Initial::Register(None); KEYS];
    }
    let registers = KEYS - kind.lists;
    let mut initials: Vec<Initial> = (0..registers)
        .map(|_| Initial::Register((!dice.once_in(3)).then_some(dice.below(4) as u32)))
        .collect();
    let first = match kind.start {
        Start::Zero | Start::Registers => return initials,
        Start::Fresh => 71,
        Start::Appended => 1,
    };
    let list = |_| Initial::List((0..dice.below(4)).map(|_| first + dice.below(3) as u32).collect());
    initials.extend((registers..KEYS).map(list));
    initials
}

/// What a register holds initially.
fn initial_content(initials: &Initials, key: usize) -> Content {
    match initials.get(key) {
        Some(Initial::Register(content)) => *content,
        _ => Some(0),
    }
}

/// What a list holds initially.
fn initial_elements(initials: &Initials, key: usize) -> &[u32] {
    match initials.get(key) {
        Some(Initial::List(list)) => list,
        _ => &[],
    }
}

pub(crate) fn draw_from(kind: Kind, initials: &Initials, dice: &mut Dice) -> Vec<Plan> {
    let core = if dice.once_in(2) { draw_core(kind, initials, dice) } else { Vec::new() };
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
    fill_reads(kind, initials, &mut plan, &is_core, dice);
    if kind.impossible {
        make_impossible(kind, initials, &mut plan, dice);
    }
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
        Clock::Timestamps => {
            set_timestamps(&mut plan, dice);
            match dice.below(4) {
                0 => set_events(&mut plan, dice),
                1 => set_times(&mut plan, dice),
                _ => {}
            }
        }
    }
    plan
}

/// One of [`CORES`], on any keys, with values of its own unless they may repeat.
fn draw_core(kind: Kind, initials: &Initials, dice: &mut Dice) -> Vec<Plan> {
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
            // A list holds the elements that were appended before, in the order of the core.
            let held = versions[key].iter().position(|&version| version == value).map_or(0, |last| last + 1);
            steps.push(match (is_write, is_list) {
                (true, true) => Step::Append(key, value),
                (true, false) => Step::Write(key, value),
                (false, true) => {
                    Step::ReadList(key, [initial_elements(initials, key), &versions[key][..held]].concat())
                }
                (false, false) if value == 0 => read_of(key, initial_content(initials, key)),
                (false, false) => Step::Read(key, Some(value)),
            });
        }
        let is_unknown = kind.outcomes && dice.once_in(if kind.mostly_unknown { 3 } else { 8 });
        let outcome = if is_unknown { Outcome::Unknown } else { Outcome::Committed };
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

/// Like the times, and now and then of a clock that disagrees with the order of transactions.
fn set_timestamps(plan: &mut [Plan], dice: &mut Dice) {
    let clients: Vec<_> = plan.iter().map(|txn| txn.times).collect();
    set_times(plan, dice);
    for (txn, client) in plan.iter_mut().zip(clients) {
        txn.timestamps = std::mem::replace(&mut txn.times, client).filter(|_| !dice.once_in(20));
    }
}

fn draw_txn(kind: Kind, sessions: usize, keys: usize, dice: &mut Dice) -> Plan {
    let outcome = match dice.below(12) {
        0 if kind.outcomes => Outcome::Aborted,
        1 | 2 if kind.outcomes => Outcome::Unknown,
        3..7 if kind.mostly_unknown => Outcome::Unknown,
        7 if kind.dirty => Outcome::Aborted,
        _ => Outcome::Committed,
    };
    let session = dice.below(sessions);
    let count = if kind.empty && dice.once_in(6) { 0 } else { 1 + dice.below(kind.steps) };
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
            (0..3, _) if kind.ranges => {
                let other = KEYS - keys + dice.below(keys);
                let (low, high) = (key.min(other), key.max(other));
                Step::Range(low, high, vec![Found::Absent; high - low + 1])
            }
            (0..5, true) => Step::ReadList(key, Vec::new()),
            (_, true) => Step::Append(key, 0),
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

fn writes(txn: &Plan, key: usize) -> bool {
    txn.outcome != Outcome::Aborted && txn.steps.iter().any(|step| key_written(step) == Some(key))
}

/// Says what every read returned that is not of a core: the state that its transaction sees, and now and then anything.
fn fill_reads(kind: Kind, initials: &Initials, plan: &mut [Plan], is_core: &[bool], dice: &mut Dice) {
    // The plan's own order is one that agrees with sessions, and as good as any.
    let given = plan.to_vec();
    let noises = if kind.wild { [2, 5, 20, 100] } else { [5, 20, 100, 1000] };
    let (lag, noise) = (1 + dice.below(4), noises[dice.below(4)]);
    let is_unsteady = kind.unsteady && !dice.once_in(4);
    let view = if is_unsteady { View::EachRead } else { VIEWS[dice.below(VIEWS.len())] };
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
                    let state = State { kind, initials, given: &given, seen: seen & ((1 << i) - 1), own };
                    let mut found: Vec<Found> = (low..=high).map(|key| state.found(key)).collect();
                    if anything {
                        let key = low + dice.below(found.len());
                        found[key - low] = if state.is_list(key) {
                            any_list(state.elements(key), &given, key, dice)
                        } else {
                            any_value(initials, &given, key, dice)
                        };
                    }
                    Step::Range(low, high, found)
                }
                Step::Read(key, _) if anything => any_read(initials, &given, key, dice),
                Step::Read(key, _) => {
                    let state = State { kind, initials, given: &given, seen: seen & ((1 << i) - 1), own };
                    read_of(key, state.register(key))
                }
                Step::ReadList(key, _) => {
                    let state = State { kind, initials, given: &given, seen: seen & ((1 << i) - 1), own };
                    let mut list = state.elements(key);
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

/// Gives half of the transactions of unknown outcome a read that is likely to be wrong, and a write that another transaction has too. So
/// a read of that value may be from a transaction that cannot have committed. The read returns a value that no transaction writes, or
/// any other: then it may be a future read, or one of an overwritten or aborted write, or a right one.
fn make_impossible(kind: Kind, initials: &Initials, plan: &mut [Plan], dice: &mut Dice) {
    let given = plan.to_vec();
    let is_write = |step: &&Step| key_written(step).is_some();
    let writes: Vec<&Step> = given.iter().flat_map(|txn| &txn.steps).filter(is_write).collect();
    for txn in plan.iter_mut().filter(|txn| txn.outcome == Outcome::Unknown) {
        if dice.once_in(2) {
            continue;
        }
        let key = dice.below(KEYS);
        let read = match (key >= KEYS - kind.lists, dice.below(4)) {
            (true, 0) => Step::ReadList(key, vec![NEVER_WRITTEN]),
            (true, _) => {
                let mut list = initial_elements(initials, key).to_vec();
                spoil(&mut list, &given, key, dice);
                Step::ReadList(key, list)
            }
            (false, 0) => Step::Read(key, Some(NEVER_WRITTEN)),
            (false, 1) => Step::Read(key, Some(1 + dice.below(3) as u32)),
            (false, _) => any_read(initials, &given, key, dice),
        };
        let write = (!writes.is_empty()).then(|| writes[dice.below(writes.len())].clone());
        for step in std::iter::once(read).chain(write) {
            txn.steps.insert(dice.below(txn.steps.len() + 1), step);
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

/// What a read sees: some transactions of a plan, and the steps before it in its own.
struct State<'p> {
    kind: Kind,
    initials: &'p Initials,
    given: &'p [Plan],
    /// The transactions that it sees, as a set of bits.
    seen: u32,
    own: &'p [Step],
}

impl<'p> State<'p> {
    fn visible(&self, seen: u32) -> impl DoubleEndedIterator<Item = &'p Step> {
        let dirty = self.kind.dirty;
        let txns = self.given.iter().enumerate().filter(move |(j, _)| seen & 1 << j != 0);
        let visible = txns.filter(move |(_, txn)| dirty || txn.outcome != Outcome::Aborted);
        visible.flat_map(|(_, txn)| &txn.steps).chain(self.own)
    }

    fn register(&self, key: usize) -> Content {
        let written = self.visible(self.seen).rev().find_map(|step| written(step, key));
        written.unwrap_or(initial_content(self.initials, key))
    }

    /// A version of a list holds all earlier ones, so it holds those of unseen transactions before the last seen.
    fn elements(&self, key: usize) -> Vec<u32> {
        let writes = |&j: &usize| self.seen & 1 << j != 0 && writes(&self.given[j], key);
        let last = (0..self.given.len()).rfind(writes);
        let before = last.map_or(0, |last| (2 << last) - 1);
        let appended = self.visible(before).filter_map(|step| appended(step, key));
        initial_elements(self.initials, key).iter().copied().chain(appended).collect()
    }

    fn is_list(&self, key: usize) -> bool {
        key >= KEYS - self.kind.lists
    }

    /// What a range read finds. It does not find an empty list.
    fn found(&self, key: usize) -> Found {
        if self.is_list(key) {
            return found_list(self.elements(key));
        }
        self.register(key).map_or(Found::Absent, Found::Value)
    }
}

fn found_list(list: Vec<u32>) -> Found {
    if list.is_empty() { Found::Absent } else { Found::List(list) }
}

fn appended(step: &Step, key: usize) -> Option<u32> {
    match *step {
        Step::Append(k, value) if k == key => Some(value),
        _ => None,
    }
}

/// What a range read may find of a list instead of its elements.
fn any_list(mut list: Vec<u32>, plan: &[Plan], key: usize, dice: &mut Dice) -> Found {
    spoil(&mut list, plan, key, dice);
    found_list(list)
}

/// What a range read may find of a register.
fn any_value(initials: &Initials, plan: &[Plan], key: usize, dice: &mut Dice) -> Found {
    match any_read(initials, plan, key, dice) {
        Step::Read(_, Some(value)) => Found::Value(value),
        _ => Found::Absent,
    }
}

/// Any value that was written to the key, the initial one, one that was not learned, or one that no transaction wrote.
fn any_read(initials: &Initials, plan: &[Plan], key: usize, dice: &mut Dice) -> Step {
    let contents: Vec<Content> =
        plan.iter().flat_map(|txn| &txn.steps).filter_map(|step| written(step, key)).collect();
    match dice.below(contents.len() + 2) {
        0 => read_of(key, initial_content(initials, key)),
        1 if dice.once_in(2) => Step::Read(key, None),
        1 => Step::Read(key, Some(NEVER_WRITTEN)),
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
        3 if dice.once_in(4) => list.push(NEVER_WRITTEN),
        4 => {
            let committed = plan.iter().filter(|txn| txn.outcome != Outcome::Aborted);
            let steps = committed.flat_map(|txn| &txn.steps);
            let all: Vec<u32> = steps.filter_map(|step| appended(step, key)).collect();
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

/// Registers of every kind, up to that many transactions.
pub(crate) fn draw_registers(txns: usize, dice: &mut Dice) -> Vec<Plan> {
    let kind = [SMALL, REPEATED, CLOCKED, CLOCKED_REPEATED, TIMED][dice.below(5)];
    draw(Kind { txns, steps: 3, ..kind }, dice)
}

/// Lists of every kind, among registers or not.
pub(crate) fn draw_lists(txns: usize, dice: &mut Dice) -> Vec<Plan> {
    let kind = [LISTS, MIXED, REPEATED_LISTS, CLOCKED_LISTS][dice.below(4)];
    draw(Kind { txns, ..kind }, dice)
}
