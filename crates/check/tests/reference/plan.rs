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
}

/// A transaction of the session of that number.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) session: usize,
    pub(crate) outcome: Outcome,
    pub(crate) steps: Vec<Step>,
}

const KEYS: [&str; 4] = ["x", "y", "z", "u"];
const SESSIONS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// The history of a plan. Sessions come in the order in which they are first used.
pub(crate) fn build(plan: &[Plan]) -> History {
    let mut b = Builder::new();
    for Plan { session, outcome, steps } in plan {
        let mut txn = b.session(SESSIONS[*session]).txn();
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
            };
        }
        txn.outcome(*outcome);
    }
    b.finish()
}

/// Takes away transactions, then operations, as long as the complaint stays; gives the last complaint.
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
        let next =
            without_txn.chain(without_step).find_map(|p| complains(&p).map(|complaint| (p, complaint)));
        match next {
            Some(smaller) => (plan, complaint) = smaller,
            None => return complaint,
        }
    }
}
