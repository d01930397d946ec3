//! The first sentence about a cycle of dependencies: which transaction saw or missed which, and why this is impossible.
//!
//! An anti-dependency is a miss: its reader read a version that another transaction overwrote. With one miss, the reader comes
//! after what it missed (read skew). With several misses that are not adjacent, readers observed writes in opposite orders (long
//! fork, snapshot skew). With adjacent misses, each transaction read what another overwrote (write skew).

use isoscope_certificate::{Dependency, Edge, Node, Why};
use isoscope_history::{Op, OpKind, OpView, Txn};
use isoscope_levels::Anomaly;

use crate::story::Teller;
use crate::words::enumerate;

/// The most edges of a cycle in one sentence.
const SENTENCE: usize = 4;

/// An anti-dependency of a cycle, and the path to its reader.
struct Miss<'e> {
    reader: Node,
    read: Op,
    /// The transaction that overwrote what was read.
    by: Node,
    /// The edges between the previous miss and this one. They start at the transaction that the previous
    /// reader missed.
    way: Vec<&'e Edge>,
}

impl Teller<'_> {
    /// The headline of a cycle with an anti-dependency or a real-time edge; `None` for other cycles.
    pub(crate) fn dependencies(&self, anomaly: Anomaly, edges: &[Edge]) -> Option<String> {
        let misses = misses(edges);
        let timed = edges.iter().any(|edge| edge.why == Why::RealTime);
        match misses.as_slice() {
            [] if timed => self.facts(edges),
            [] => None,
            [miss] if anomaly == Anomaly::StaleRead => Some(self.stale_read(miss)),
            [miss] => {
                let lost = if anomaly == Anomaly::LostUpdate { self.lost_update(miss) } else { None };
                Some(lost.unwrap_or_else(|| self.should_have_seen(miss)))
            }
            [one, two] if !one.way.is_empty() && !two.way.is_empty() => Some(self.fork(one, two)),
            [one, two] if one.way.is_empty() && two.way.is_empty() => {
                let (first, second) = (self.miss(one), self.miss(two));
                Some(format!("{first}, and {second}: each must come before the other"))
            }
            all if all.iter().all(|miss| miss.way.is_empty()) => {
                let names: Vec<String> = all.iter().map(|miss| self.words.node(miss.reader)).collect();
                let all = enumerate(&names);
                Some(format!("{all} each read what the next one overwrote: none can come first"))
            }
            _ => self.facts(edges),
        }
    }

    /// `T3 read y=0, which T2 overwrote with 2`.
    fn miss(&self, miss: &Miss<'_>) -> String {
        format!("{} {}", self.words.node(miss.reader), self.missed(miss.read, miss.by))
    }

    /// Two transactions that read the same version of a key and overwrote it.
    fn lost_update(&self, miss: &Miss<'_>) -> Option<String> {
        let words = &self.words;
        let (Node::Txn(one), Node::Txn(two)) = (miss.by, miss.reader) else { return None };
        let view = words.history.op(miss.read);
        let (version, initial) = (words.version(view.key, view.value), self.initially(view));
        let (first, second) = (words.txn(one), words.txn(two));
        let (wrote, over) = (words.last_write(one, view.key)?, words.last_write(two, view.key)?);
        if !self.also_read(one, view) {
            let (wrote, over) = (words.past(wrote), words.past(over));
            return Some(format!(
                "{second} read {version}{initial} and then {over} without having seen {first}, which {wrote}: one \
                 of the two writes is lost"
            ));
        }
        let (did, lost) = match over.kind {
            OpKind::Append => ("appended to it", "neither had seen the append of the other"),
            _ => ("overwrote it", "one of the two updates is lost"),
        };
        Some(format!("{first} and {second} both read {version}{initial} and both {did}: {lost}"))
    }

    /// `T2 read x=1, an old version: T1 wrote x=2 and returned 34.8 s before T2 began`.
    fn stale_read(&self, miss: &Miss<'_>) -> String {
        let words = &self.words;
        let (reader, by) = (words.node(miss.reader), words.node(miss.by));
        let view = words.history.op(miss.read);
        let age = match (miss.by, miss.reader) {
            (Node::Txn(by), Node::Txn(reader)) => words.age(by, reader),
            _ => None,
        };
        let age = age.map_or_else(String::new, |age| format!("{age} "));
        let write = match miss.by {
            Node::Txn(by) => words.last_write(by, view.key).map(|write| words.past(write)),
            Node::Initial => None,
        };
        let wrote = write.unwrap_or_else(|| format!("overwrote {}", words.key(view.key)));
        let read = words.past(view);
        format!("{reader} {read}, an old version: {by} {wrote} and returned {age}before {reader} began")
    }

    /// Whether a transaction read the same version, before it wrote the key itself.
    fn also_read(&self, txn: Txn, read: OpView) -> bool {
        let history = self.words.history;
        let mut ops = history.ops_of(txn).filter(|op| op.key == read.key);
        // Each read has its own copy of a list, so the elements are compared.
        let same = |value| history.datum(value) == history.datum(read.value);
        ops.next().is_some_and(|first| first.kind == read.kind && same(first.value))
    }

    /// `, the initial value,` if no write wrote the same value.
    fn initially(&self, read: OpView) -> &'static str {
        let history = self.words.history;
        if read.kind != OpKind::Read || !history.is_initial(read.key, read.value) {
            return "";
        }
        let mut writes = history.writers(read.key).iter().flat_map(|&txn| history.ops_of(txn));
        let again = writes.any(|op| op.kind.is_write() && op.key == read.key && op.value == read.value);
        if again { "" } else { ", the initial value," }
    }

    /// One miss: the reader comes after what it missed, and how.
    fn should_have_seen(&self, miss: &Miss<'_>) -> String {
        let words = &self.words;
        let (reader, by) = (words.node(miss.reader), words.node(miss.by));
        let missed = self.missed(miss.read, miss.by);
        match miss.way.as_slice() {
            [edge] if edge.why == Why::RealTime => {
                format!("{}, and yet {reader} {missed}", self.fact(edge))
            }
            [edge] if edge.dependency() == Dependency::Overwritten => {
                format!("{reader} wrote after {by}, and yet it {missed}")
            }
            [edge] => format!("{}, and yet it {missed}", self.fact(edge)),
            way if way.iter().all(|edge| is_causal(edge)) => {
                format!("{reader} had seen {by}{} and yet it {missed}", self.by_way_of(way))
            }
            way => format!("{reader} comes after {by}{} and yet it {missed}", self.by_way_of(way)),
        }
    }

    fn by_way_of(&self, way: &[&Edge]) -> String {
        let inner = way.get(1..).unwrap_or_default();
        let names: Vec<String> = inner.iter().map(|edge| self.words.node(edge.from)).collect();
        if names.is_empty() { ",".to_owned() } else { format!(", by way of {},", enumerate(&names)) }
    }

    /// Two misses that are not adjacent: each reader saw what the other missed.
    fn fork(&self, one: &Miss<'_>, two: &Miss<'_>) -> String {
        let (first, second) = (self.knew(one, two.by), self.knew(two, one.by));
        let (a, b) = (self.words.node(two.by), self.words.node(one.by));
        format!("{first}, and {second}: they disagree on which came first, {a} or {b}")
    }

    /// `T3 saw T1 and missed T2`.
    fn knew(&self, miss: &Miss<'_>, seen: Node) -> String {
        let words = &self.words;
        let (reader, missed) = (words.node(miss.reader), words.node(miss.by));
        let name = words.node(seen);
        match miss.way.as_slice() {
            way if way.iter().all(|edge| is_causal(edge)) => {
                format!("{reader} saw {name} and missed {missed}")
            }
            [Edge { why: Why::RealTime, .. }] => {
                format!("{reader} began after {name} had returned and missed {missed}")
            }
            [Edge { why: Why::Overwritten { key }, .. }] => {
                let key = words.key(*key);
                format!("{reader} wrote {key} after {name} and missed {missed}")
            }
            _ => format!("{reader} must have seen {name} and missed {missed}"),
        }
    }

    /// Every edge of a short cycle as a fact, anti-dependencies first.
    fn facts(&self, edges: &[Edge]) -> Option<String> {
        if edges.len() > SENTENCE {
            return None;
        }
        let of = |missed: bool| edges.iter().filter(move |edge| is_miss(edge) == missed);
        let mut facts: Vec<String> = of(true)
            .map(|edge| format!("{} missed {}", self.words.node(edge.from), self.words.node(edge.to)))
            .chain(of(false).map(|edge| self.fact(edge)))
            .collect();
        let last = facts.pop()?;
        let each = if edges.len() == 2 { "each comes before the other" } else { "none can come first" };
        Some(format!("{}, and yet {last}: {each}", enumerate(&facts)))
    }
}

/// Whether an edge is an anti-dependency.
fn is_miss(edge: &Edge) -> bool {
    edge.dependency() == Dependency::Missed
}

/// Whether an edge shows that its later transaction saw the earlier one.
fn is_causal(edge: &Edge) -> bool {
    matches!(edge.why, Why::Session | Why::ReadFrom { .. })
}

/// The anti-dependencies of a cycle in its order, beginning with its first.
fn misses(edges: &[Edge]) -> Vec<Miss<'_>> {
    let Some(last) = edges.iter().rposition(is_miss) else { return Vec::new() };
    let (before, after) = edges.split_at(last + 1);
    let mut misses = Vec::new();
    let mut way = Vec::new();
    for edge in after.iter().chain(before) {
        if let Why::Misses { read } = edge.why {
            let way = std::mem::take(&mut way);
            misses.push(Miss { reader: edge.from, read, by: edge.to, way });
        } else {
            way.push(edge);
        }
    }
    misses
}
