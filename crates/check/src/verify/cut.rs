//! Cut isolation, which asks for no order: all reads of a key by one transaction that do not return its own
//! writes are of one other transaction (Plume, Definition 3).
//!
//! Whom a read is from is here asked of wrong reads too: of one in place of one's own, and of a value that
//! its writer overwrote, where no final write has it. Final writes of two values to one key are of two
//! transactions, whoever they are, so even ambiguous reads may contradict each other.

use isoscope_history::{Op, OpKind, OpView, Txn};

use super::facts::{Candidates, Facts, Source, Writers};
use super::{Refutation, ensure};
use crate::certificate::Node;

/// Whether two reads of one key by one transaction are of one other transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origins {
    /// They are, or one of them is of nobody.
    Agree,
    /// They are not, whoever the writers are.
    Differ,
    /// It depends on who the writers are.
    Open,
}

/// Checks that cut isolation holds.
pub(super) fn check(facts: &Facts<'_>) -> Result<(), Refutation> {
    let mut first = vec![(u32::MAX, Op(0)); facts.history.key_count()];
    for txn in facts.present() {
        for read in facts.history.ops_of(txn).filter(|op| op.kind.is_read()) {
            if origin(facts, read, txn) == Candidates::None {
                continue;
            }
            let entry = &mut first[read.key.index()];
            if entry.0 != txn.0 {
                *entry = (txn.0, read.id);
                continue;
            }
            // What agrees with the first of them agrees with all.
            let before = facts.history.op(entry.1);
            ensure(compare(facts, txn, before, read) == Origins::Agree, || {
                let (before, read) = (facts.text(before.id), facts.text(read.id));
                format!("{before} and {read} may be of two transactions")
            })?;
        }
    }
    Ok(())
}

/// Whether a read is of one of several transactions, be it right or wrong.
pub(super) fn is_uncertain(facts: &Facts<'_>, read: Op) -> bool {
    origin(facts, facts.history.op(read), facts.history.txn_of(read)) == Candidates::Several
}

/// Compares the origins of two reads of one key by one transaction.
pub(super) fn compare(facts: &Facts<'_>, reader: Txn, a: OpView, b: OpView) -> Origins {
    // Neither value was overwritten by its own writer: if they differ, so do the writers.
    let final_values = [a, b].iter().all(|read| {
        let source = facts.source(read.id);
        source != Source::Wrong || final_writers(facts, *read, reader) != Candidates::None
    });
    match (origin(facts, a, reader), origin(facts, b, reader)) {
        (Candidates::None, _) | (_, Candidates::None) => Origins::Agree,
        (Candidates::One(a), Candidates::One(b)) if a == b => Origins::Agree,
        (Candidates::One(_), Candidates::One(_)) => Origins::Differ,
        _ if facts.is_list(a.key) => compare_lists(facts, reader, a, b),
        _ if a.value == b.value => Origins::Agree,
        _ if final_values => Origins::Differ,
        _ => Origins::Open,
    }
}

/// Compares two reads of a list of which at least one is ambiguous. Who appended nothing but what was there
/// initially is certain even then.
fn compare_lists(facts: &Facts<'_>, reader: Txn, a: OpView, b: OpView) -> Origins {
    let ambiguous = [a, b].iter().all(|read| facts.source(read.id) == Source::Ambiguous);
    let parts = [a, b].map(|read| facts.external_part(read, reader).unwrap_or_default());
    match parts {
        [a, b] if a == b => Origins::Agree,
        _ if ambiguous && parts.contains(&facts.initial_elements(a.key)) => Origins::Differ,
        _ => Origins::Open,
    }
}

/// Whom a read is from, be it right or wrong. One's own values are of nobody.
fn origin(facts: &Facts<'_>, read: OpView, reader: Txn) -> Candidates {
    match (facts.source(read.id), read.kind) {
        (Source::Nothing | Source::Own, _) => Candidates::None,
        (Source::From(node), _) => Candidates::One(node),
        (Source::Ambiguous, _) => Candidates::Several,
        (Source::Wrong, OpKind::ReadList) => last_appender(facts, read, reader),
        (Source::Wrong, _) if writes_itself(facts, read, reader) => Candidates::None,
        (Source::Wrong, _) => match final_writers(facts, read, reader) {
            Candidates::None => {
                let unreadable = facts.unreadable.get(&(read.key, read.value));
                let overwritten = unreadable.map_or(Writers::NONE, |writes| writes.overwritten);
                if_present(facts, overwritten.besides(reader))
            }
            finals => finals,
        },
    }
}

fn final_writers(facts: &Facts<'_>, read: OpView, reader: Txn) -> Candidates {
    if_present(facts, facts.candidates(read.key, read.value, reader))
}

fn if_present(facts: &Facts<'_>, candidates: Candidates) -> Candidates {
    match candidates {
        Candidates::One(Node::Txn(txn)) if !facts.is_present(txn) => Candidates::None,
        other => other,
    }
}

/// Who appended the last element of the external part of a wrong list, if it is certain.
fn last_appender(facts: &Facts<'_>, read: OpView, reader: Txn) -> Candidates {
    let last = facts.external_part(read, reader).and_then(<[_]>::last);
    let append = last.and_then(|&element| facts.appends.get(&(read.key, element))?.live);
    match append.map(|append| facts.history.txn_of(append)) {
        Some(txn) if txn != reader && !facts.is_repeated(read.key) => {
            if_present(facts, Candidates::One(Node::Txn(txn)))
        }
        _ => Candidates::None,
    }
}

/// Whether the reader itself writes the value that it read, before or after.
fn writes_itself(facts: &Facts<'_>, read: OpView, reader: Txn) -> bool {
    let own = |op: OpView| op.kind.is_write() && (op.key, op.value) == (read.key, read.value);
    facts.history.ops_of(reader).any(own)
}
