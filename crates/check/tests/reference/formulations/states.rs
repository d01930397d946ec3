//! Levels by sequences of states.
//!
//! docs/levels.md, States, and prefix consistency likewise. Transactions run one after the other, and each on every state so far. Knows
//! lists as well as registers.
//!
//! Limits: no range reads; six levels.

use isoscope_history::{History, OpKind, Outcome, Txn, Value};
use isoscope_levels::Level;

use super::relation::bit;
use crate::axioms;

/// The levels that Framework 4 defines by states, and prefix consistency likewise.
pub(super) const BY_STATES: [Level; 6] = [
    Level::AdyaPl299,
    Level::Prefix,
    Level::Snapshot,
    Level::Serializable,
    Level::StrictSnapshot,
    Level::StrictSerializable,
];

/// What a key holds: the value of a register, unless it is the initial one, or what was appended to a list.
#[derive(Clone, Default)]
pub(super) struct Content {
    pub(super) register: Option<Value>,
    pub(super) appended: Vec<Value>,
}

/// Executions of Framework 4: an order of transactions, and the states between them.
pub(super) struct Execution<'h> {
    pub(super) history: &'h History,
    pub(super) present: Vec<Txn>,
    pub(super) order: Vec<Txn>,
    /// The state before each transaction of the order, and the last one.
    pub(super) states: Vec<Vec<Content>>,
    pub(super) found: [bool; BY_STATES.len()],
}

impl Execution<'_> {
    /// Of each of [`BY_STATES`], whether some execution satisfies it.
    pub(super) fn judge(history: &History) -> [bool; BY_STATES.len()] {
        let unknown: Vec<Txn> = history.txns().filter(|&t| history.outcome(t) == Outcome::Unknown).collect();
        let mut found = [false; BY_STATES.len()];
        for chosen in 0..1u16 << unknown.len() {
            let is_chosen = |txn: Txn| (0..unknown.len()).any(|i| unknown[i] == txn && chosen & bit(i) != 0);
            let is_present = |&txn: &Txn| history.outcome(txn) == Outcome::Committed || is_chosen(txn);
            let present = history.txns().filter(is_present).collect();
            let states = vec![vec![Content::default(); history.key_count()]];
            let mut execution = Execution { history, present, order: Vec::new(), states, found };
            execution.go_on([true; BY_STATES.len()]);
            found = execution.found;
        }
        found
    }

    /// Tries all ways to go on, for the levels that are satisfied so far.
    pub(super) fn go_on(&mut self, satisfied: [bool; BY_STATES.len()]) {
        if self.order.len() == self.present.len() {
            for (found, satisfied) in self.found.iter_mut().zip(satisfied) {
                *found |= satisfied;
            }
            return;
        }
        for txn in self.present.clone() {
            if self.order.contains(&txn) {
                continue;
            }
            let satisfied = self.still_satisfied(txn, satisfied);
            if (0..BY_STATES.len()).any(|i| satisfied[i] && !self.found[i]) {
                let mut state = self.states[self.order.len()].clone();
                self.run(txn, &mut state);
                self.states.push(state);
                self.order.push(txn);
                self.go_on(satisfied);
                self.order.pop();
                self.states.pop();
            }
        }
    }

    /// The levels that are satisfied with `txn` as the next one.
    pub(super) fn still_satisfied(
        &self,
        txn: Txn,
        satisfied: [bool; BY_STATES.len()],
    ) -> [bool; BY_STATES.len()] {
        let history = self.history;
        let last = self.order.len();
        let is_complete: Vec<bool> =
            self.states.iter().map(|state| self.run(txn, &mut state.clone())).collect();
        // The first state after all transactions of a kind, if they are all there.
        let after = |of_kind: &dyn Fn(Txn) -> bool| {
            let all = self.present.iter().filter(|&&other| other != txn && of_kind(other));
            let place = |other: &Txn| self.order.iter().position(|t| t == other).map(|i| i + 1);
            all.map(place).try_fold(0, |latest, place| place.map(|place| latest.max(place)))
        };
        let session = after(&|t| t < txn && history.session_of(t) == history.session_of(txn));
        let real_time = after(&|t| axioms::is_before_in_real_time(history, t, txn));
        let writes = |t: Txn, key| history.ops_of(t).any(|op| op.kind.is_write() && op.key == key);
        let conflict = after(&|t| {
            self.order.contains(&t) && history.keys().any(|key| writes(t, key) && writes(txn, key))
        });
        let complete_from = |firsts: &[Option<usize>]| {
            let first = firsts.iter().try_fold(0, |latest, first| first.map(|first| latest.max(first)));
            first.is_some_and(|first| is_complete[first..].contains(&true))
        };
        let holds = |level| match level {
            Level::AdyaPl299 => is_complete[last],
            Level::Serializable => is_complete[last] && session.is_some(),
            Level::StrictSerializable => is_complete[last] && session.is_some() && real_time.is_some(),
            // Own appends follow those of all before, whatever snapshot a transaction reads from.
            Level::Prefix => complete_from(&[session]) && self.extends_lists(txn, &self.states[last]),
            Level::Snapshot => complete_from(&[session, conflict]),
            _ => complete_from(&[session, conflict, real_time]),
        };
        std::array::from_fn(|i| satisfied[i] && holds(BY_STATES[i]))
    }

    /// Runs a transaction on a state, to its end, and says whether its reads return what it finds.
    pub(super) fn run(&self, txn: Txn, state: &mut [Content]) -> bool {
        let history = self.history;
        let mut is_right = true;
        for op in history.ops_of(txn) {
            let content = &mut state[op.key.index()];
            match op.kind {
                OpKind::Write | OpKind::Insert | OpKind::Delete => content.register = Some(op.value),
                OpKind::Append => content.appended.push(op.value),
                _ if op.value == Value::UNKNOWN => {}
                OpKind::Read => {
                    is_right &= match content.register {
                        Some(value) => op.value == value,
                        None => history.is_initial(op.key, op.value),
                    };
                }
                OpKind::ReadList => {
                    let initial = history.table().elements(history.initial(op.key));
                    is_right &= *history.table().elements(op.value) == [initial, &content.appended].concat();
                }
                OpKind::RangeRead => panic!("ranges are not compared"),
            }
        }
        is_right
    }

    /// Whether lists that a transaction reads after its own appends are those of a state, and its appends.
    pub(super) fn extends_lists(&self, txn: Txn, state: &[Content]) -> bool {
        let mut state = state.to_vec();
        self.history.ops_of(txn).all(|op| {
            let content = &mut state[op.key.index()];
            let before = || self.history.ops_of(txn).take_while(|earlier| earlier.id < op.id);
            let appended = || before().any(|o| o.kind == OpKind::Append && o.key == op.key);
            match op.kind {
                OpKind::Append => content.appended.push(op.value),
                OpKind::ReadList if op.value != Value::UNKNOWN && appended() => {
                    let initial = self.history.table().elements(self.history.initial(op.key));
                    return *self.history.table().elements(op.value) == [initial, &content.appended].concat();
                }
                _ => {}
            }
            true
        })
    }
}
