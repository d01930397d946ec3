//! Histories as plain data: tests enumerate them, draw them at random and make them smaller.
//!
//! A history is what its keys hold initially ([`Initial`]) and a list of transactions ([`Plan`]). Two functions say what
//! the options of a check do to such data ([`as_late`], [`as_trusted`]), without the code that does it to a [`History`].

use isoscope_certificate::{Conditions, UnknownOrder};
use isoscope_history::{Builder, Datum, History, NO_TIME, Outcome, Value};

/// An operation on the key of that number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Reads a register; `None` if the result was not learned.
    Read(usize, Option<u32>),
    Write(usize, u32),
    Insert(usize, u32),
    Delete(usize),
    /// Reads nil from a register.
    ReadNil(usize),
    Append(usize, u32),
    ReadList(usize, Vec<u32>),
    /// Reads a list; the result was not learned.
    ReadListUnlearned(usize),
    /// Reads the keys from one to another, with what it found of each.
    Range(usize, usize, Vec<Found>),
}

/// What a range read found of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Absent,
    Value(u32),
    List(Vec<u32>),
}

/// A transaction of the session of that number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) session: usize,
    pub(crate) outcome: Outcome,
    pub(crate) steps: Vec<Step>,
    /// When it was invoked and returned, in places of the order of events.
    pub(crate) events: Option<(u32, u32)>,
    /// The same by the client's clock.
    pub(crate) times: Option<(i64, i64)>,
    /// When it began and committed by the database's clock.
    pub(crate) timestamps: Option<(i64, i64)>,
}

/// What a key holds before any transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Initial {
    /// A register's value, or nil.
    Register(Option<u32>),
    List(Vec<u32>),
}

/// What each key holds before any transaction. Registers beyond the end hold 0; lists beyond the end are empty.
pub(crate) type Initials = [Initial];

const KEYS: [&str; 4] = ["x", "y", "z", "u"];

/// The history of a plan whose keys are initially 0, with range reads expanded.
pub(crate) fn build(plan: &[Plan]) -> History {
    build_from(&[], plan)
}

/// The history of a plan, with range reads expanded.
pub(crate) fn build_from(initials: &Initials, plan: &[Plan]) -> History {
    let history = build_unexpanded(initials, plan);
    match history.expand_ranges().expect("few operations") {
        Some(expanded) => {
            check_expanded(initials, plan, &expanded);
            expanded
        }
        None => history,
    }
}

/// The history of a plan. Sessions come in the order in which they are first used. What a plan leaves open, because it changes no
/// verdict, takes turns: the bounds of ranges, tombstones that no read names, and whether an empty list is read as nil.
pub(crate) fn build_unexpanded(initials: &Initials, plan: &[Plan]) -> History {
    let mut b = Builder::new();
    set_initials(&mut b, initials);
    let mut turns = (0..).skip(plan.len());
    let mut turn = move || turns.next().unwrap_or_default();
    for Plan { session, outcome, steps, events, times, timestamps } in plan {
        let mut txn = b.session(*session as u32).txn();
        if let Some((invoke, complete)) = *events {
            txn = txn.events(invoke, complete);
        }
        if let Some((invoke, complete)) = *times {
            txn = txn.times(invoke, complete);
        }
        if let Some((begin, commit)) = *timestamps {
            txn = txn.timestamps(begin, commit);
        }
        for step in steps {
            txn = match step {
                Step::Read(key, Some(value)) => txn.read(KEYS[*key], *value),
                Step::Read(key, None) => txn.read(KEYS[*key], Value::UNKNOWN),
                Step::ReadNil(key) => txn.read(KEYS[*key], None),
                Step::Write(key, value) => txn.write(KEYS[*key], *value),
                Step::Insert(key, value) => txn.insert(KEYS[*key], *value),
                Step::Delete(key) => match turn() {
                    turn if plan.len().is_multiple_of(2) => txn.delete_leaving(KEYS[*key], TOMBSTONES + turn),
                    _ => txn.delete(KEYS[*key]),
                },
                Step::Append(key, value) => txn.append(KEYS[*key], *value),
                Step::ReadList(key, list) if list.is_empty() && appends(plan, *key) && turn() % 2 == 0 => {
                    txn.read(KEYS[*key], None)
                }
                Step::ReadList(key, list) => txn.read_list(KEYS[*key], list.iter().copied()),
                Step::ReadListUnlearned(key) => txn.read_list_unlearned(KEYS[*key]),
                Step::Range(low, high, found) => {
                    let lists: Vec<Vec<Value>> = found.iter().map(found_elements).collect();
                    let rows = KEYS[*low..=*high].iter().zip(found).zip(&lists);
                    let live = rows.filter_map(|((&key, found), list)| match found {
                        Found::Absent => None,
                        Found::Value(value) => Some((key, Datum::Int((*value).into()))),
                        Found::List(_) => Some((key, Datum::List(list))),
                    });
                    let (low, high) = bounds(plan, *low, *high, turn());
                    txn.range(datum(low.as_ref()), datum(high.as_ref()), live)
                }
            };
        }
        txn.outcome(*outcome);
    }
    b.finish()
}

/// Tombstones from here on: no plan has such values.
const TOMBSTONES: u32 = 1000;

fn appends(plan: &[Plan], key: usize) -> bool {
    plan.iter().flat_map(|txn| &txn.steps).any(|step| matches!(step, Step::Append(k, _) if *k == key))
}

/// The bounds of a range: its first and last key, names just outside of them that are no keys, or none where no key lies
/// beyond.
fn bounds(plan: &[Plan], low: usize, high: usize, turn: u32) -> (Option<String>, Option<String>) {
    const BELOW: [&str; 4] = ["w~", "x~", "y~", "t~"];
    let uses_last = plan.iter().flat_map(|txn| &txn.steps).any(|step| key_used(step) == Some(3));
    let below = match turn % 3 {
        0 => Some(KEYS[low].to_owned()),
        1 if low == 0 && !uses_last => None,
        _ => Some(BELOW[low].to_owned()),
    };
    let above = match turn / 3 % 3 {
        0 => Some(KEYS[high].to_owned()),
        1 if high == 2 && !uses_last => None,
        _ => Some(format!("{}~", KEYS[high])),
    };
    (below, above)
}

fn datum(name: Option<&String>) -> Datum<'_> {
    name.map_or(Datum::Nil, |name| Datum::Text(name))
}

fn elements(list: &[u32]) -> Vec<Value> {
    list.iter().map(|&n| Value::small(n.into()).expect("elements are small")).collect()
}

fn found_elements(found: &Found) -> Vec<Value> {
    match found {
        Found::List(list) => elements(list),
        _ => Vec::new(),
    }
}

/// Sets one initial value for all keys if they have the same, which is another part of the data model, and else one a key.
fn set_initials(b: &mut Builder, initials: &Initials) {
    let nil = Initial::Register(None);
    if !initials.is_empty() && initials.iter().all(|initial| *initial == nil) {
        b.initial(None);
        return;
    }
    for (key, initial) in KEYS.iter().zip(initials) {
        match initial {
            Initial::Register(Some(0)) => continue,
            Initial::Register(Some(value)) => b.initial_of(*key, *value),
            Initial::Register(None) => b.initial_of(*key, None),
            Initial::List(list) => b.initial_of(*key, Datum::List(&elements(list))),
        };
    }
}

/// The plan that a check judges under some conditions, in the order of transactions that the history has: docs/levels.md,
/// Unknown outcomes, and docs/checking.md, Timestamps.
pub(crate) fn judged_under(conditions: Conditions, plan: &[Plan]) -> Vec<Plan> {
    let mut plan = plan.to_vec();
    if conditions.unknown == UnknownOrder::Late {
        plan = as_late(&plan);
    }
    if conditions.trust_timestamps {
        as_trusted(&mut plan);
    }
    plan
}

/// Gives each transaction of unknown outcome a session of its own, unless it is the last of its session.
fn as_late(plan: &[Plan]) -> Vec<Plan> {
    let mut sessions: Vec<usize> = Vec::new();
    for txn in plan {
        if !sessions.contains(&txn.session) {
            sessions.push(txn.session);
        }
    }
    let (mut in_order, mut late) = (Vec::new(), Vec::new());
    for session in sessions {
        let mut txns = plan.iter().filter(|txn| txn.session == session).peekable();
        while let Some(txn) = txns.next() {
            let is_late = txn.outcome == Outcome::Unknown && txns.peek().is_some();
            if is_late { &mut late } else { &mut in_order }.push(txn.clone());
        }
    }
    late.iter_mut().zip(100..).for_each(|(txn, session)| txn.session = session);
    in_order.extend(late);
    in_order
}

/// Makes the database's timestamps the times of the client, and forgets the events.
fn as_trusted(plan: &mut [Plan]) {
    for txn in plan {
        txn.events = None;
        txn.times = Some(txn.timestamps.unwrap_or((NO_TIME, NO_TIME)));
    }
}

/// Checks that range reads have become reads of all keys in the range that the history knows: those that are written, and
/// those that are not absent initially or that a range read found. Bounds are no keys.
fn check_expanded(initials: &Initials, plan: &[Plan], expanded: &History) {
    let steps = || plan.iter().flat_map(|txn| &txn.steps);
    let is_named = |key: usize| {
        steps().any(|step| match step {
            Step::Range(low, high, found) => {
                (*low..=*high).contains(&key) && found[key - low] != Found::Absent
            }
            other => key_used(other) == Some(key),
        }) || initials.get(key).is_some_and(|initial| *initial != Initial::Register(Some(0)))
    };
    let is_written = |key: usize| steps().any(|step| key_written(step) == Some(key));
    // A key that no other operation uses is a list if it holds a list.
    let is_list = |key: usize| {
        let mut uses = steps().filter_map(|step| match step {
            Step::Append(k, _) | Step::ReadList(k, _) | Step::ReadListUnlearned(k) => Some((*k, true)),
            other => key_used(other).map(|k| (k, false)),
        });
        let found = |step: &Step| match step {
            Step::Range(low, high, found) => {
                (*low..=*high).contains(&key) && matches!(found[key - low], Found::List(_))
            }
            _ => false,
        };
        let holds_list = || matches!(initials.get(key), Some(Initial::List(_))) || steps().any(found);
        uses.find(|(k, _)| *k == key).map_or_else(holds_list, |(_, is_list)| is_list)
    };
    let is_known = |key: usize| {
        is_named(key) && (is_written(key) || initials.get(key) != Some(&Initial::Register(None)))
    };
    let mut expected: Vec<String> = Vec::new();
    for step in steps() {
        if let Step::Range(low, high, found) = step {
            for (key, found) in (*low..=*high).zip(found) {
                let value = match found {
                    Found::Absent if !is_known(key) => continue,
                    Found::Absent => "nil".to_owned(),
                    Found::Value(value) => value.to_string(),
                    Found::List(list) => format!("{list:?}").replace(',', ""),
                };
                let read = match (is_list(key), found) {
                    (true, Found::Absent | Found::Value(_)) => "rl",
                    (false, Found::List(_)) => "rr",
                    _ => "r",
                };
                expected.push(format!("{read}({},{value})", KEYS[key]));
            }
        }
    }
    let ops = expanded.txns().flat_map(|txn| expanded.ops_of(txn)).filter(|op| op.in_range);
    let mut found: Vec<String> =
        ops.map(|op| isoscope_history::notation::OpText(expanded, op.id).to_string()).collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected, "{}", isoscope_history::notation::print(expanded));
}

/// The key of a step that is not a range read.
fn key_used(step: &Step) -> Option<usize> {
    match step {
        Step::Read(key, _) | Step::ReadNil(key) | Step::ReadList(key, _) | Step::ReadListUnlearned(key) => {
            Some(*key)
        }
        other => key_written(other),
    }
}

/// The key that a step writes, if any.
pub(crate) fn key_written(step: &Step) -> Option<usize> {
    match *step {
        Step::Write(key, _) | Step::Insert(key, _) | Step::Delete(key) | Step::Append(key, _) => Some(key),
        _ => None,
    }
}

/// Takes away transactions, then operations, then what the clock says, as long as the complaint stays; gives the last complaint.
pub(crate) fn shrink(
    mut plan: Vec<Plan>,
    mut complaint: String,
    complains: impl Fn(&[Plan]) -> Option<String>,
) -> String {
    loop {
        let without_txn = (0..plan.len()).map(|i| {
            let mut smaller = plan.clone();
            smaller.remove(i);
            smaller
        });
        let places = plan.iter().enumerate().flat_map(|(i, txn)| (0..txn.steps.len()).map(move |j| (i, j)));
        let without_step = places.map(|(i, j)| {
            let mut smaller = plan.clone();
            smaller[i].steps.remove(j);
            smaller
        });
        let timed = (0..plan.len())
            .filter(|&i| plan[i] != Plan { events: None, times: None, timestamps: None, ..plan[i].clone() });
        let without_clock = timed.map(|i| {
            let mut smaller = plan.clone();
            (smaller[i].events, smaller[i].times, smaller[i].timestamps) = (None, None, None);
            smaller
        });
        let mut smaller = without_txn.chain(without_step).chain(without_clock);
        let next = smaller.find_map(|p| complains(&p).map(|complaint| (p, complaint)));
        match next {
            Some(smaller) => (plan, complaint) = smaller,
            None => return complaint,
        }
    }
}
