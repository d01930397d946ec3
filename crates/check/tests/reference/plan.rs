//! Histories as plain data, which tests enumerate, draw at random and make smaller.

use isoscope_history::{Builder, History, Outcome};

/// An operation on the key of that number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Reads a register; `None` when nobody learned what.
    Read(usize, Option<u32>),
    Write(usize, u32),
    Insert(usize, u32),
    Delete(usize),
    /// Reads nil from a register.
    ReadNil(usize),
    Append(usize, u32),
    ReadList(usize, Vec<u32>),
    /// Reads a list, and nobody learned what.
    ReadListUnlearned(usize),
    /// Reads the registers from one to another: what it found of each, nothing where it was absent.
    Range(usize, usize, Vec<Option<u32>>),
}

/// A transaction of the session of that number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) session: usize,
    pub(crate) outcome: Outcome,
    pub(crate) steps: Vec<Step>,
    /// When it was invoked and returned, in places of the order of events.
    pub(crate) events: Option<(u32, u32)>,
    /// The same by the client's clock.
    pub(crate) times: Option<(i64, i64)>,
}

const KEYS: [&str; 4] = ["x", "y", "z", "u"];
const SESSIONS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// The history of a plan. Sessions come in the order in which they are first used.
pub(crate) fn build(plan: &[Plan]) -> History {
    let mut b = Builder::new();
    for Plan { session, outcome, steps, events, times } in plan {
        let mut txn = b.session(SESSIONS[*session]).txn();
        if let Some((invoke, complete)) = *events {
            txn = txn.events(invoke, complete);
        }
        if let Some((invoke, complete)) = *times {
            txn = txn.times(invoke, complete);
        }
        for step in steps {
            txn = match step {
                Step::Read(key, Some(value)) => txn.read(KEYS[*key], *value),
                Step::Read(key, None) => txn.read(KEYS[*key], isoscope_history::Value::UNKNOWN),
                Step::ReadNil(key) => txn.read(KEYS[*key], None),
                Step::Write(key, value) => txn.write(KEYS[*key], *value),
                Step::Insert(key, value) => txn.insert(KEYS[*key], *value),
                Step::Delete(key) => txn.delete(KEYS[*key]),
                Step::Append(key, value) => txn.append(KEYS[*key], *value),
                Step::ReadList(key, list) => txn.read_list(KEYS[*key], list.iter().copied()),
                Step::ReadListUnlearned(key) => txn.read_list_unlearned(KEYS[*key]),
                Step::Range(low, high, found) => {
                    let rows = KEYS[*low..=*high].iter().zip(found);
                    let live = rows.filter_map(|(&key, &value)| Some((key, value?)));
                    txn.range(KEYS[*low], KEYS[*high], live)
                }
            };
        }
        txn.outcome(*outcome);
    }
    let history = b.finish();
    match history.expand_ranges().expect("few operations") {
        Some(expanded) => {
            check_expanded(plan, &expanded);
            expanded
        }
        None => history,
    }
}

/// Checks that range reads have become reads of all keys in the range that the history knows.
fn check_expanded(plan: &[Plan], expanded: &History) {
    let steps = || plan.iter().flat_map(|txn| &txn.steps);
    let is_known = |key: usize| {
        steps().any(|step| match step {
            Step::Range(low, high, found) => (*low..=*high).contains(&key) && found[key - low].is_some(),
            Step::Read(k, _) | Step::ReadNil(k) | Step::Write(k, _) | Step::Insert(k, _) => *k == key,
            Step::Delete(k) | Step::Append(k, _) | Step::ReadList(k, _) | Step::ReadListUnlearned(k) => {
                *k == key
            }
        }) || steps().any(|step| matches!(step, Step::Range(low, ..) if *low == key))
    };
    let mut expected: Vec<String> = Vec::new();
    for step in steps() {
        if let Step::Range(low, high, found) = step {
            for key in (*low..=*high).filter(|&key| is_known(key)) {
                let value = found[key - low].map_or("nil".to_owned(), |value| value.to_string());
                expected.push(format!("r({},{value})", KEYS[key]));
            }
        }
    }
    let ops = expanded.txns().flat_map(|txn| expanded.ops_of(txn)).filter(|op| op.in_range);
    let mut found: Vec<String> =
        ops.map(|op| isoscope_history::notation::OpText(expanded, op.id).to_string()).collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
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
        let timed = (0..plan.len()).filter(|&i| plan[i].events.is_some() || plan[i].times.is_some());
        let without_clock = timed.map(|i| {
            let mut smaller = plan.clone();
            (smaller[i].events, smaller[i].times) = (None, None);
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
