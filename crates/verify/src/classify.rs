//! The anomalies that one read shows in every order of the transactions.
//!
//! The names are those of docs/levels.md, "Anomalies": thin-air, aborted, future and intermediate reads, and
//! reads of the transaction's own keys that do not return its own last write. A register read shows at most
//! one of them; [`register_anomaly`] states the precedence. A list holds many values and may show several.
//!
//! Cost: the operations of the reader and the elements of the list, for each read.

use isoscope_history::{Key, Op, OpKind, OpView, Outcome, Txn, Value};
use isoscope_levels::Anomaly;
use rustc_hash::FxHashMap;

use super::facts::{Facts, Source};

/// All anomalies that a read of a present transaction shows in every order.
pub(super) fn anomalies(facts: &Facts<'_>, read: OpView, reader: Txn) -> Vec<Anomaly> {
    match (facts.source(read.id), read.kind) {
        (Source::Wrong, OpKind::Read) => vec![register_anomaly(facts, read, reader)],
        // A list with repeated elements is ambiguous, and can still hold an element too often.
        (Source::Wrong | Source::Ambiguous, OpKind::ReadList) => list_anomalies(facts, read, reader),
        _ => Vec::new(),
    }
}

fn register_anomaly(facts: &Facts<'_>, read: OpView, reader: Txn) -> Anomaly {
    let place = (read.key, read.value);
    let own = |op: &OpView| op.kind.is_write() && (op.key, op.value) == place;
    let own_before = facts.history.ops_of(reader).any(|op| own(&op) && op.id < read.id);
    let own_after = facts.history.ops_of(reader).any(|op| own(&op) && op.id > read.id);
    let unreadable = facts.unreadable.get(&place);
    if own_before {
        Anomaly::NotMyLastWrite
    } else if own_after {
        Anomaly::FutureRead
    } else if !read.external {
        let written = facts.finals.contains_key(&place) || unreadable.is_some();
        if written || facts.history.is_initial(read.key, read.value) {
            Anomaly::NotMyOwnWrite
        } else {
            Anomaly::ThinAirRead
        }
    } else {
        match unreadable {
            Some(writes) if !writes.overwritten.is_empty() => Anomaly::IntermediateRead,
            Some(writes) if writes.aborted => Anomaly::AbortedRead,
            _ => Anomaly::ThinAirRead,
        }
    }
}

fn list_anomalies(facts: &Facts<'_>, read: OpView, reader: Txn) -> Vec<Anomaly> {
    let Some(external) = facts.external_part(read, reader) else {
        return vec![Anomaly::NotMyOwnWrite];
    };
    let appended = facts.after_initial(read.key, external);
    let (is_lost, external) = (appended.is_none(), appended.unwrap_or(external));
    let mut found = Vec::new();
    for &element in external {
        found.extend(element_anomaly(facts, read, reader, element));
    }
    if facts.holds_too_often(read) {
        found.push(Anomaly::DuplicateElements);
    }
    let last = external.last().and_then(|&element| facts.only_append(read.key, element));
    if last.is_some_and(|append| !facts.history.op(append).last_write) {
        found.push(Anomaly::IntermediateRead);
    }
    if is_lost {
        found.push(Anomaly::LostAppend);
    }
    found.extend(order_anomalies(facts, read.key, external));
    found
}

/// The anomalies of the order in which a list holds the appends of one transaction.
fn order_anomalies(facts: &Facts<'_>, key: Key, external: &[Value]) -> Vec<Anomaly> {
    let mut place: FxHashMap<Value, usize> = FxHashMap::default();
    for (&element, i) in external.iter().zip(0..) {
        place.entry(element).or_insert(i);
    }
    let after = |element: Value| facts.appends.get(&(key, element)).filter(|entry| entry.times == 1)?.after;
    let anomaly = |(i, &element)| match place.get(&after(element)?) {
        None => Some(Anomaly::LostAppend),
        Some(&j) if j > i => Some(Anomaly::IncompatibleOrder),
        Some(_) => None,
    };
    external.iter().enumerate().filter_map(anomaly).collect()
}

fn element_anomaly(facts: &Facts<'_>, read: OpView, reader: Txn, element: Value) -> Option<Anomaly> {
    let Some(entry) = facts.appends.get(&(read.key, element)) else {
        return Some(Anomaly::ThinAirRead);
    };
    match entry.live {
        None => Some(Anomaly::AbortedRead),
        Some(append) if !entry.by_one || facts.history.txn_of(append) != reader => None,
        // The reader's earlier appends are at the end of the list: here, they are one too many.
        Some(_) if !appends_later(facts, read, reader, element) => Some(Anomaly::DuplicateElements),
        Some(_) => Some(Anomaly::FutureRead),
    }
}

/// Whether a reader appends an element to the list after it read it.
fn appends_later(facts: &Facts<'_>, read: OpView, reader: Txn, element: Value) -> bool {
    let mut later = facts.history.ops_of(reader).filter(|op| op.id > read.id);
    later.any(|op| op.kind == OpKind::Append && op.key == read.key && op.value == element)
}

/// Whether the write that a certificate names is evidence for the anomaly.
pub(super) fn is_write_of(
    facts: &Facts<'_>,
    anomaly: Anomaly,
    read: OpView,
    reader: Txn,
    write: Option<Op>,
) -> bool {
    let Some(write) = write else { return needs_no_write(facts, anomaly, read) };
    if write.index() >= facts.history.op_count() {
        return false;
    }
    let (writer, write) = (facts.history.txn_of(write), facts.history.op(write));
    let returned = match read.kind {
        OpKind::ReadList => {
            let shown = facts.shown(read, reader).contains(&write.value);
            shown != (anomaly == Anomaly::LostAppend)
        }
        _ => read.value == write.value,
    };
    let aborted = facts.history.outcome(writer) == Outcome::Aborted;
    let fits = match anomaly {
        Anomaly::AbortedRead => aborted,
        Anomaly::IntermediateRead => !aborted && writer != reader && !write.last_write,
        Anomaly::FutureRead => writer == reader && write.id > read.id,
        Anomaly::NotMyLastWrite => writer == reader && write.id < read.id,
        Anomaly::NotMyOwnWrite if read.kind == OpKind::ReadList => true,
        Anomaly::NotMyOwnWrite => writer != reader,
        Anomaly::DuplicateElements => !aborted,
        Anomaly::IncompatibleOrder | Anomaly::LostAppend => holds_later_append(facts, read, reader, write),
        _ => false,
    };
    write.kind.is_write() && write.key == read.key && returned && fits
}

/// Whether a list holds a later append of the writer and either lacks `write` or holds it afterwards.
fn holds_later_append(facts: &Facts<'_>, read: OpView, reader: Txn, write: OpView) -> bool {
    let (elements, writer) = (facts.shown(read, reader), facts.history.txn_of(write.id));
    let up_to = elements.iter().rposition(|&element| element == write.value).unwrap_or(elements.len());
    facts
        .history
        .ops_of(writer)
        .any(|op| op.id > write.id && op.key == read.key && elements[..up_to].contains(&op.value))
}

/// Whether the anomaly needs no write as evidence.
fn needs_no_write(facts: &Facts<'_>, anomaly: Anomaly, read: OpView) -> bool {
    match anomaly {
        Anomaly::ThinAirRead | Anomaly::DuplicateElements | Anomaly::LostAppend => true,
        Anomaly::NotMyOwnWrite => {
            read.kind == OpKind::ReadList || facts.history.is_initial(read.key, read.value)
        }
        _ => false,
    }
}
