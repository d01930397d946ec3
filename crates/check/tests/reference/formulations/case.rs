//! Cases: a history of registers in which it is settled which transactions are present.
//!
//! docs/levels.md, Histories and the condition INT of Visibility and arbitration.
//!
//! Number 0 is the initial transaction. Limits: registers only, no range reads, up to 15 transactions.

use isoscope_history::{History, OpKind, Outcome, Txn, Value};

use super::relation::{Relation, bit};
use crate::axioms;

/// A history of registers in which it is settled who is present.
pub(super) struct Case {
    /// How many there are, the initial transaction included.
    pub(super) n: usize,
    /// For each, its external reads, a key and a value each, and the value it leaves in each key that it writes.
    pub(super) reads: Vec<Vec<(usize, Value)>>,
    pub(super) leaves: Vec<Vec<Option<Value>>>,
    pub(super) so: Relation,
    pub(super) rt: Relation,
}

/// Which reads are external.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Inside {
    /// INT: a read of a key that was accessed before returns what the last access did, and is not external.
    LastAccess,
    /// Only a read of a key that was written before is not external: two reads of one key may differ.
    LastWrite,
}

impl Case {
    /// The cases of a history, one for each set of transactions of unknown outcome, without those in which a
    /// transaction contradicts itself.
    pub(super) fn all(history: &History, inside: Inside) -> Vec<Case> {
        let unknown: Vec<Txn> = history.txns().filter(|&t| history.outcome(t) == Outcome::Unknown).collect();
        let mut cases = Vec::new();
        for chosen in 0..1u16 << unknown.len() {
            let is_present = |txn: &Txn| match history.outcome(*txn) {
                Outcome::Committed => true,
                Outcome::Aborted => false,
                Outcome::Unknown => (0..unknown.len()).any(|i| unknown[i] == *txn && chosen & bit(i) != 0),
            };
            let txns: Vec<Txn> = history.txns().filter(is_present).collect();
            cases.extend(Case::new(history, &txns, inside));
        }
        cases
    }

    pub(super) fn new(history: &History, txns: &[Txn], inside: Inside) -> Option<Case> {
        let keys = history.key_count();
        let initial = history.keys().map(|key| Some(history.initial(key))).collect();
        let (mut reads, mut leaves) = (vec![Vec::new()], vec![initial]);
        for &txn in txns {
            let mut accessed = vec![None; keys];
            let mut wrote = vec![None; keys];
            let mut external = Vec::new();
            for op in history.ops_of(txn).filter(|op| op.value != Value::UNKNOWN) {
                let key = op.key.index();
                match op.kind {
                    OpKind::Read => {
                        match accessed[key] {
                            Some(value) if value != op.value => return None,
                            Some(_) => continue,
                            None => external.push((key, op.value)),
                        }
                        if inside == Inside::LastAccess {
                            accessed[key] = Some(op.value);
                        }
                    }
                    OpKind::Write | OpKind::Insert | OpKind::Delete => {
                        (accessed[key], wrote[key]) = (Some(op.value), Some(op.value));
                    }
                    _ => panic!("only registers are compared"),
                }
            }
            reads.push(external);
            leaves.push(wrote);
        }
        let (mut so, mut rt) = (Relation::EMPTY, Relation::EMPTY);
        for (i, &t) in txns.iter().enumerate() {
            so.add(0, i + 1);
            for (j, &s) in txns.iter().enumerate() {
                if t < s && history.session_of(t) == history.session_of(s) {
                    so.add(i + 1, j + 1);
                }
                if axioms::is_before_in_real_time(history, t, s) {
                    rt.add(i + 1, j + 1);
                }
            }
        }
        Some(Case { n: txns.len() + 1, reads, leaves, so, rt })
    }

    pub(super) fn writes(&self, t: usize, key: usize) -> bool {
        self.leaves[t][key].is_some()
    }

    pub(super) fn conflict(&self, t: usize, s: usize) -> bool {
        (0..self.leaves[0].len()).any(|key| self.writes(t, key) && self.writes(s, key))
    }
}
