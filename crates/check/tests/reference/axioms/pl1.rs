//! The forms of PL-1: an order of the appends to each list in which no two transactions overwrite each other.
//!
//! docs/levels.md, Lists, and docs/finer-levels.md (strong-session and strong PL-1). Limits: at most 64 appends to a list.
//!
//! The version order of a list is an order of those appends that the lists of its key hold: each element is one append of that
//! value by a transaction that is present. The lists that committed transactions read are beginnings of it, with wrong elements left
//! out: those that no transaction appended, or only aborted ones. A list that lacks initial elements or holds an element too often
//! says nothing, and no list of a key does if the others are not beginnings of one order. What others of unknown outcome read says
//! nothing either, nor does what no list holds.
//!
//! All sets of present transactions and all ways to tell appends of one value apart are tried.

use std::collections::BTreeSet;

use isoscope_history::{History, Key, OpKind, OpView, Outcome, Txn, Value};

use super::presence::presences_of_writers;

/// Pairs of transactions, the first of which writes a key before the second.
type Edges = Vec<(Txn, Txn)>;

/// An order of the present transactions that agrees with some version orders and with a relation that holds besides, if
/// there is one.
pub(crate) fn order(history: &History, is_before: &dyn Fn(Txn, Txn) -> bool) -> Option<Vec<Txn>> {
    presences_of_writers(history).find_map(|txns| {
        let pairs = txns.iter().flat_map(|&t| txns.iter().map(move |&s| (t, s)));
        let given: Edges = pairs.filter(|&(t, s)| is_before(t, s)).collect();
        first(&all_edges(history, &txns), &given, &|edges| sorted(&txns, edges))
    })
}

/// Whether a given order of the transactions that are present in it agrees with some version orders and with a relation.
pub(crate) fn accepts(history: &History, order: &[Txn], is_before: &dyn Fn(Txn, Txn) -> bool) -> bool {
    let mut present = order.to_vec();
    present.sort_unstable();
    let place = |txn: Txn| order.iter().position(|&other| other == txn);
    let agrees = |edges: &[(Txn, Txn)]| edges.iter().all(|&(a, b)| place(a) < place(b)).then_some(());
    let in_turn = order.iter().enumerate().all(|(i, &s)| order[i..].iter().all(|&t| !is_before(t, s)));
    in_turn
        && presences_of_writers(history).any(|txns| txns == present)
        && first(&all_edges(history, &present), &[], &agrees).is_some()
}

/// What becomes of some edges, if they are fine.
type Accept<'a, T> = &'a dyn Fn(&[(Txn, Txn)]) -> Option<T>;

/// Tries all combinations of one set of edges for each key.
fn first<T>(keys: &[Vec<Edges>], chosen: &[(Txn, Txn)], accept: Accept<'_, T>) -> Option<T> {
    let Some((key, rest)) = keys.split_first() else { return accept(chosen) };
    key.iter().find_map(|edges| first(rest, &[chosen, edges].concat(), accept))
}

/// A topological order.
fn sorted(txns: &[Txn], edges: &[(Txn, Txn)]) -> Option<Vec<Txn>> {
    let mut order: Vec<Txn> = Vec::new();
    while order.len() < txns.len() {
        let is_next =
            |txn: &&Txn| !order.contains(txn) && edges.iter().all(|(a, b)| b != *txn || order.contains(a));
        order.push(*txns.iter().find(is_next)?);
    }
    Some(order)
}

/// For each key whose lists say something, the edges of each way to tell appends apart.
fn all_edges(history: &History, txns: &[Txn]) -> Vec<Vec<Edges>> {
    let lists = history.keys().filter_map(|key| Some((key, version_order(history, key)?)));
    lists
        .map(|(key, list)| {
            let appends: Vec<(Txn, Value)> = txns
                .iter()
                .flat_map(|&txn| appends(history, txn, key).into_iter().map(move |value| (txn, value)))
                .collect();
            assign(&list, &appends, txns)
        })
        .collect()
}

/// The edges of all ways to tell of which append each element of a list is, without those that have a cycle: no order agrees
/// with them. Ways that have taken the same appends so far, with the same edges and the same last one, go on alike.
fn assign(list: &[Value], appends: &[(Txn, Value)], txns: &[Txn]) -> Vec<Edges> {
    let mut ways: BTreeSet<Way> = BTreeSet::from([Way::default()]);
    for &element in list {
        let fits = |taken: u64, i: usize| {
            // Equal appends of one transaction are interchangeable.
            let is_first = (0..i).all(|j| appends[j] != appends[i] || taken & 1 << j != 0);
            appends[i].1 == element && taken & 1 << i == 0 && is_first
        };
        let mut longer = BTreeSet::new();
        for way in &ways {
            for i in (0..appends.len()).filter(|&i| fits(way.taken, i)) {
                let edges = with_edge(&way.edges, way.last, appends[i].0);
                longer.insert(Way { taken: way.taken | 1 << i, last: Some(appends[i].0), edges });
            }
        }
        longer.retain(|way| sorted(txns, &way.edges).is_some());
        ways = longer;
    }
    let found: BTreeSet<Edges> = ways.into_iter().map(|way| way.edges).collect();
    found.into_iter().collect()
}

/// Some elements of a list, each with its append.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    /// The appends that they are, as a set of bits.
    taken: u64,
    /// Whose the last of them is.
    last: Option<Txn>,
    /// Sorted.
    edges: Edges,
}

/// Some edges, sorted, and one more where it connects two transactions.
fn with_edge(edges: &Edges, from: Option<Txn>, to: Txn) -> Edges {
    let mut edges = edges.clone();
    edges.extend(from.filter(|&from| from != to).map(|from| (from, to)));
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// What the longest list of a key that a committed transaction read holds beyond the initial elements, if all of them are
/// beginnings of one order of appends, once wrong elements are left out.
fn version_order(history: &History, key: Key) -> Option<Vec<Value>> {
    let initial = history.table().elements(history.initial(key));
    let live = history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted);
    let appended: Vec<Value> = live.flat_map(|txn| appends(history, txn, key)).collect();
    let count = |values: &[Value], value: Value| values.iter().filter(|&&other| other == value).count();
    let is_list = |op: &OpView| op.kind == OpKind::ReadList && op.key == key && op.value != Value::UNKNOWN;
    let committed = history.txns().filter(|&txn| history.outcome(txn) == Outcome::Committed);
    let reads = committed.flat_map(|txn| history.ops_of(txn)).filter(is_list);
    let mut lists: Vec<Vec<Value>> = Vec::new();
    for read in reads {
        let Some(list) = history.table().elements(read.value).strip_prefix(initial) else { continue };
        let right: Vec<Value> = list.iter().copied().filter(|value| appended.contains(value)).collect();
        if right.iter().all(|&value| count(&right, value) <= count(&appended, value)) {
            lists.push(right);
        }
    }
    let longest = lists.iter().max_by_key(|list| list.len())?;
    lists.iter().all(|list| longest.starts_with(list)).then(|| longest.clone())
}

/// What a transaction appends to a list.
fn appends(history: &History, txn: Txn, key: Key) -> Vec<Value> {
    let is_append = |op: &OpView| op.kind == OpKind::Append && op.key == key;
    history.ops_of(txn).filter(is_append).map(|op| op.value).collect()
}
