//! What the sessions of a program send, step by step.
//!
//! A transaction begins with its first operation: both are one step. The databases that isoscope knows take locks and snapshots at
//! the first statement, so a begin that comes earlier changes nothing but the number of interleavings.
//!
//! Every write of a key has a value of its own: 1, 2, .. in the order of the program. The initial value is 0. So every read
//! names its writer.

use crate::programs::{Op, Program};

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Reads a key.
    Read(usize),
    /// Writes a value to a key.
    Write(usize, i64),
    /// Commits.
    Commit,
}

/// A step of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    /// The number of the transaction in the program, from 0.
    pub(crate) txn: usize,
    /// Whether the transaction begins here.
    pub(crate) begins: bool,
    pub(crate) action: Action,
}

/// The steps of all sessions.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) sessions: Vec<Vec<Planned>>,
    pub(crate) keys: usize,
}

impl Plan {
    pub(crate) fn new(program: &Program) -> Plan {
        let mut written = vec![0; program.keys()];
        let mut txn = 0;
        let mut sessions = Vec::new();
        for session in program.sessions() {
            let mut steps = Vec::new();
            for ops in session {
                for (place, op) in ops.iter().enumerate() {
                    let action = match *op {
                        Op::Read(key) => Action::Read(key),
                        Op::Write(key) => {
                            written[key] += 1;
                            Action::Write(key, written[key])
                        }
                    };
                    steps.push(Planned { txn, begins: place == 0, action });
                }
                steps.push(Planned { txn, begins: ops.is_empty(), action: Action::Commit });
                txn += 1;
            }
            sessions.push(steps);
        }
        Plan { sessions, keys: program.keys() }
    }
}
