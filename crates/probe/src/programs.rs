//! Programs: what the transactions of a small test do, without the values.
//!
//! A program is a list of sessions; a session is a list of transactions; a transaction is a list of reads and writes of keys. Two
//! programs are the same if they differ in the order of sessions and in the names of keys only. A [`Program`] is the
//! lexicographically least of all these: [`Program::new`] brings any program into this form.

use std::collections::BTreeSet;
use std::fmt;

use isoscope_history::{History, OpKind};

/// A read or a write of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// Reads the key with this number.
    Read(usize),
    /// Writes the key with this number.
    Write(usize),
}

impl Op {
    /// The number of the key, from 0.
    pub fn key(self) -> usize {
        let (Op::Read(key) | Op::Write(key)) = self;
        key
    }

    /// Whether it is a write.
    pub fn is_write(self) -> bool {
        matches!(self, Op::Write(_))
    }

    fn renamed(self, keys: &[usize]) -> Op {
        match self {
            Op::Read(key) => Op::Read(keys[key]),
            Op::Write(key) => Op::Write(keys[key]),
        }
    }
}

/// A transaction of a program.
pub type Transaction = Vec<Op>;

/// The transactions of each session.
type Sessions = Vec<Vec<Transaction>>;

/// A program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Program {
    sessions: Sessions,
    keys: usize,
}

impl Program {
    /// The program of these sessions. Keys that are not used have no number afterwards.
    ///
    /// All renamings are tried, so programs must be small: the factorials of the numbers of sessions and keys are multiplied.
    pub fn new(sessions: &[Vec<Transaction>]) -> Program {
        let used: BTreeSet<usize> = sessions.iter().flatten().flatten().map(|op| op.key()).collect();
        let used: Vec<usize> = used.into_iter().collect();
        let mut dense = vec![0; used.last().map_or(0, |last| last + 1)];
        for (number, &key) in used.iter().enumerate() {
            dense[key] = number;
        }
        let sessions = renamed(sessions, &dense);
        let least = permutations(used.len()).into_iter().map(|keys| {
            let mut sessions = renamed(&sessions, &keys);
            sessions.sort();
            sessions
        });
        Program { sessions: least.min().unwrap_or_default(), keys: used.len() }
    }

    /// What the transactions of a history do. `None` if it has operations that are not reads or writes of registers.
    pub fn of(history: &History) -> Option<Program> {
        let mut keys: Vec<_> = Vec::new();
        let mut sessions = Vec::new();
        for session in history.sessions() {
            let mut txns = Vec::new();
            for txn in history.txns_of(session) {
                let mut ops = Vec::new();
                for op in history.ops_of(txn) {
                    let key = keys.iter().position(|&key| key == op.key).unwrap_or_else(|| {
                        keys.push(op.key);
                        keys.len() - 1
                    });
                    ops.push(match op.kind {
                        OpKind::Read => Op::Read(key),
                        OpKind::Write => Op::Write(key),
                        _ => return None,
                    });
                }
                txns.push(ops);
            }
            sessions.push(txns);
        }
        Some(Program::new(&sessions))
    }

    /// The sessions with their transactions.
    pub fn sessions(&self) -> &[Vec<Transaction>] {
        &self.sessions
    }

    /// The number of keys.
    pub fn keys(&self) -> usize {
        self.keys
    }

    /// The number of transactions.
    pub fn txns(&self) -> usize {
        self.sessions.iter().map(Vec::len).sum()
    }

    /// The number of steps of each session: its operations and one commit per transaction.
    pub fn steps(&self) -> Vec<usize> {
        let of_session = |session: &Vec<Transaction>| session.iter().map(|txn| txn.len() + 1).sum();
        self.sessions.iter().map(of_session).collect()
    }

    /// Whether some history of the program can relate a read to a write. The values at the end are always read, so it suffices
    /// that there is a write.
    pub fn says_something(&self) -> bool {
        self.sessions.iter().flatten().flatten().any(|op| op.is_write())
    }

    /// The renamings that do not change the program, as permutations of its sessions: `sigma[s]` does what `s` does, with other
    /// keys. The identity is one of them.
    pub fn symmetries(&self) -> Vec<Vec<usize>> {
        let of_keys: Vec<Sessions> =
            permutations(self.keys).iter().map(|keys| renamed(&self.sessions, keys)).collect();
        let is_symmetry = |sigma: &Vec<usize>| {
            of_keys.iter().any(|image| sigma.iter().zip(image).all(|(&to, one)| self.sessions[to] == *one))
        };
        permutations(self.sessions.len()).into_iter().filter(is_symmetry).collect()
    }
}

/// All programs, up to renaming, with this number of sessions, one transaction per session, this number of operations per
/// transaction, and at most this number of keys.
/// Programs without a write are left out: no history of theirs violates a level.
pub fn exhaustive(txns: usize, ops: usize, keys: usize) -> Vec<Program> {
    let choices: Vec<Op> = (0..keys).flat_map(|key| [Op::Read(key), Op::Write(key)]).collect();
    let mut of_one: Vec<Transaction> = vec![Vec::new()];
    for _ in 0..ops {
        of_one = of_one
            .iter()
            .flat_map(|txn| choices.iter().map(move |&op| [txn.as_slice(), &[op]].concat()))
            .collect();
    }
    // The order of sessions does not matter: a list that does not descend stands for all its permutations.
    let mut lists: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..txns {
        lists = lists
            .iter()
            .flat_map(|list| {
                let first = list.last().copied().unwrap_or(0);
                (first..of_one.len()).map(move |next| [list.as_slice(), &[next]].concat())
            })
            .collect();
    }
    let program = |list: &Vec<usize>| {
        let sessions: Sessions = list.iter().map(|&txn| vec![of_one[txn].clone()]).collect();
        Program::new(&sessions)
    };
    let programs: BTreeSet<Program> = lists.iter().map(program).filter(Program::says_something).collect();
    programs.into_iter().collect()
}

/// The programs in an order in which neighbours differ, so that a probe that is cut off has seen programs of all kinds: by the
/// reversed digits of their places (van der Corput).
pub fn spread(programs: Vec<Program>) -> Vec<Program> {
    let mut placed: Vec<(usize, Program)> = programs.into_iter().enumerate().collect();
    placed.sort_by_key(|(place, _)| place.reverse_bits());
    placed.into_iter().map(|(_, program)| program).collect()
}

fn renamed(sessions: &[Vec<Transaction>], keys: &[usize]) -> Sessions {
    let of_txn = |txn: &Transaction| txn.iter().map(|op| op.renamed(keys)).collect();
    sessions.iter().map(|session| session.iter().map(of_txn).collect()).collect()
}

/// All permutations of the numbers below n, in lexicographic order.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..n {
        all = all
            .iter()
            .flat_map(|begun: &Vec<usize>| {
                let rest = (0..n).filter(move |next| !begun.contains(next));
                rest.map(move |next| [begun.as_slice(), &[next]].concat())
            })
            .collect();
    }
    all
}

/// `x`, `y`, `z`, `u`, `v`, `w`, then `k7`, ..
pub fn key_name(key: usize) -> String {
    ["x", "y", "z", "u", "v", "w"].get(key).map_or_else(|| format!("k{}", key + 1), |name| (*name).to_owned())
}

/// The one-line notation without values: `T1: r(x) w(y)  T2: r(y) w(x)`.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut number = 0;
        for (place, session) in self.sessions.iter().enumerate() {
            for (txn, ops) in session.iter().enumerate() {
                number += 1;
                let sign = match (place, txn) {
                    (0, 0) => "",
                    (_, 0) => "  ",
                    _ => " ; ",
                };
                write!(f, "{sign}T{number}:")?;
                for op in ops {
                    let letter = if op.is_write() { 'w' } else { 'r' };
                    write!(f, " {letter}({})", key_name(op.key()))?;
                }
            }
        }
        Ok(())
    }
}
