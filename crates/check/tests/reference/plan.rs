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
            };
        }
        txn.outcome(*outcome);
    }
    b.finish()
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
