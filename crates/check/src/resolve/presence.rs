//! Which transactions took effect.
//!
//! The committed ones did. One of unknown outcome did when a present transaction reads from it, whether the
//! last element of a list or any before it. If several appended the same element, it is read from when the others
//! together appended the element less often than the list holds it. The rest is absent and loses its links.

use isoscope_history::{History, Outcome, Txn};

use super::Link;
use super::lists::Lists;

pub(crate) fn settle(history: &History, links: &mut [Link], lists: &Lists<'_>) -> Vec<bool> {
    let mut present: Vec<bool> =
        history.txns().map(|txn| history.outcome(txn) == Outcome::Committed).collect();
    let unknown: Vec<Txn> = history.txns().filter(|&txn| history.outcome(txn) == Outcome::Unknown).collect();
    if unknown.is_empty() {
        return present;
    }
    let mut todo: Vec<Txn> = history.txns().filter(|txn| present[txn.index()]).collect();
    while let Some(reader) = todo.pop() {
        let from_registers = history.op_range(reader).filter_map(|op| links[op].txn());
        for writer in from_registers.chain(lists.writers_read_by(reader)) {
            if !present[writer.index()] {
                present[writer.index()] = true;
                todo.push(writer);
            }
        }
    }
    for txn in unknown.into_iter().filter(|txn| !present[txn.index()]) {
        links[history.op_range(txn)].fill(Link::NOTHING);
    }
    present
}
