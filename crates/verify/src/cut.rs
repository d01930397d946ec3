//! Cut isolation, which needs no commit order: all reads of a key by one transaction that do not return its
//! own writes read from one other transaction (Plume, Definition 3).
//!
//! Wrong reads count too: a read that does not return the transaction's own write, and a read of a value that
//! its writer overwrote and that no final write has. Final writes of two values to one key belong to two
//! transactions, so even two ambiguous reads can contradict each other. A list read counts by its last
//! element that the reader did not append. An empty list that should have initial elements does not count.
//!
//! A linear pass decides almost every history. If the answer depends on which transactions took effect, or on
//! which transaction appended an element, [`Possible`] decides it. A *free* read is a wrong read that counts
//! only if a writer of unknown outcome took effect. All sets of writers of free reads are then tried.

use isoscope_history::{Key, Op, OpKind, OpView, Outcome, Txn, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Refutation;
use super::facts::{Candidates, Facts, Source, Writers};
use isoscope_certificate::Node;

/// Whether two reads of one key by one transaction read from the same other transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origins {
    /// They do, or one of them reads from no other transaction.
    Agree,
    /// They do not, for every choice of possible writers.
    Differ,
    /// It depends on the choice of writers.
    Open,
}

/// Checks that cut isolation holds.
pub(super) fn check(facts: &Facts<'_>) -> Result<(), Refutation> {
    if agrees(facts) {
        return Ok(());
    }
    match all_failures(facts) {
        Err(_) => Err(Refutation::new("the answer depends on too many unknown outcomes")),
        Ok(None) => Ok(()),
        Ok(Some(read)) => Err(Refutation::new(format!("{} contradicts cut isolation", facts.text(read)))),
    }
}

/// If cut isolation is violated for every set of writers of free reads: a read that fails. An error if there
/// are too many such writers.
fn all_failures(facts: &Facts<'_>) -> Result<Option<Op>, Op> {
    let mut failed = None;
    for supposed in supposed(facts)? {
        match Possible::new(facts, supposed).failed {
            None => return Ok(None),
            Some(read) => failed = failed.or(Some(read)),
        }
    }
    Ok(failed)
}

/// All sets of writers of free reads. An error, with one such read, if there are too many.
fn supposed(facts: &Facts<'_>) -> Result<Vec<FxHashSet<Txn>>, Op> {
    let (writers, first) = Possible::new(facts, FxHashSet::default()).free_writers();
    match first {
        Some(read) if writers.len() > 10 => Err(read),
        _ => Ok((0..1u32 << writers.len())
            .map(|set| (0..writers.len()).filter(|i| set & 1 << i != 0).map(|i| writers[i]).collect())
            .collect()),
    }
}

/// Whether a linear pass shows that all reads agree, for every set of transactions that may have taken
/// effect.
fn agrees(facts: &Facts<'_>) -> bool {
    let left_out = |txn: Txn| facts.history.outcome(txn) == Outcome::Unknown && !facts.is_present(txn);
    let any_left_out = facts.history.txns().any(left_out);
    let mut first = vec![(u32::MAX, Op(0)); facts.history.key_count()];
    for txn in facts.present() {
        for read in facts.history.ops_of(txn).filter(|op| op.kind.is_read()) {
            match origin(facts, read, txn) {
                Candidates::Several if any_left_out => return false,
                Candidates::None => continue,
                _ if read.in_range => continue,
                _ => {}
            }
            let entry = &mut first[read.key.index()];
            if entry.0 != txn.0 {
                *entry = (txn.0, read.id);
            } else if compare(facts, txn, facts.history.op(entry.1), read) != Origins::Agree {
                // Agreement is transitive, so comparing with the first read is enough.
                return false;
            }
        }
    }
    true
}

/// Whether a wrong read counts depends on too many unknown outcomes to try them all.
pub(super) fn depends(facts: &Facts<'_>) -> bool {
    supposed(facts).is_err()
}

/// Whether two reads of a key by one transaction are evidence that cut isolation is violated for every set of
/// transactions that may have taken effect.
pub(super) fn is_unrepeatable(facts: &Facts<'_>, reader: Txn, first: OpView, second: OpView) -> bool {
    let Ok(supposed) = supposed(facts) else { return false };
    let possible: Vec<Possible<'_, '_>> = supposed.into_iter().map(|set| Possible::new(facts, set)).collect();
    let shows_it = |possible: &Possible<'_, '_>| {
        let counted = |read: OpView| possible.origins(reader, read).is_some();
        counted(first) && counted(second) && !possible.has_one_origin(reader, first.key)
    };
    possible.iter().all(|possible| possible.failed.is_some())
        && first.value != second.value
        && possible.iter().any(shows_it)
}

/// Whether an operation reads a single key. Cut isolation allows the result of a range read to change.
fn is_item_read(op: &OpView) -> bool {
    op.kind.is_read() && !op.in_range
}

/// The largest set of transactions that may have taken effect: none aborted, every read that has a possible
/// writer has one in the set, and each transaction reads a key from one other transaction. Every transaction
/// that took effect is in the set, because a smaller set explains fewer reads.
struct Possible<'a, 'h> {
    facts: &'a Facts<'h>,
    /// For each write that did not abort: the key and value, the transaction, and whether it is the final
    /// write.
    writes: FxHashMap<(Key, Value), Vec<(Txn, bool)>>,
    set: Vec<bool>,
    /// The writers of free reads that are assumed to have taken effect. The other writers of free reads are
    /// not in the set.
    supposed: FxHashSet<Txn>,
    /// A read of a committed transaction that is not in the set.
    failed: Option<Op>,
}

/// The possible writers of a read.
struct From {
    nodes: Vec<Node>,
    /// Whether one of them must have taken effect.
    must: bool,
}

impl<'a, 'h> Possible<'a, 'h> {
    fn new(facts: &'a Facts<'h>, supposed: FxHashSet<Txn>) -> Self {
        let history = facts.history;
        let mut writes: FxHashMap<(Key, Value), Vec<(Txn, bool)>> = FxHashMap::default();
        let live = |&txn: &Txn| history.outcome(txn) != Outcome::Aborted;
        for txn in history.txns().filter(live) {
            for op in history.ops_of(txn).filter(|op| op.kind.is_write()) {
                writes.entry((op.key, op.value)).or_default().push((txn, op.last_write));
            }
        }
        let set = history.txns().map(|txn| live(&txn)).collect();
        let mut possible = Possible { facts, writes, set, supposed, failed: None };
        for txn in possible.free_writers().0 {
            possible.set[txn.index()] = possible.supposed.contains(&txn);
        }
        loop {
            let fails = |txn: &Txn| possible.set[txn.index()] && possible.failure(*txn).is_some();
            let failing: Vec<Txn> = history.txns().filter(fails).collect();
            if failing.is_empty() {
                return possible;
            }
            for txn in failing {
                if history.outcome(txn) == Outcome::Committed {
                    possible.failed = possible.failed.or(possible.failure(txn));
                }
                possible.set[txn.index()] = false;
            }
        }
    }

    fn is_possible(&self, node: Node) -> bool {
        match node {
            Node::Initial => true,
            Node::Txn(txn) => self.set[txn.index()],
        }
    }

    fn others(&self, reader: Txn, key: Key, value: Value, finally: bool) -> Vec<Node> {
        let writes = self.writes.get(&(key, value)).into_iter().flatten();
        let others = writes.filter(|&&(txn, last)| txn != reader && (last || !finally));
        others.map(|&(txn, _)| Node::Txn(txn)).collect()
    }

    /// The first read that excludes the transaction from the set.
    fn failure(&self, txn: Txn) -> Option<Op> {
        let reads = || self.facts.history.ops_of(txn).filter(|op| op.kind.is_read());
        let unexplained = |read: &OpView| !self.is_explained(txn, *read);
        let two = |read: &OpView| !self.has_one_origin(txn, read.key);
        reads().find(unexplained).or_else(|| reads().find(two)).map(|read| read.id)
    }

    /// Whether a read has a writer in the set, or no possible writer at all. For a list: whether the set has
    /// as many appends of each element as the list holds, or all of them.
    fn is_explained(&self, reader: Txn, read: OpView) -> bool {
        if read.kind == OpKind::ReadList {
            let part = self.facts.shown(read, reader);
            let mut held: FxHashMap<Value, usize> = FxHashMap::default();
            for &element in part {
                *held.entry(element).or_default() += 1;
            }
            return held.into_iter().all(|(element, times)| {
                let appends = self.others(reader, read.key, element, false);
                let possible = appends.iter().filter(|&&node| self.is_possible(node)).count();
                possible >= times.min(appends.len())
            });
        }
        let some = |nodes: &[Node]| nodes.iter().any(|&node| self.is_possible(node));
        self.origins(reader, read).is_none_or(|from| !from.must || some(&from.nodes))
    }

    /// The possible writers of a read that counts; `None` if it reads from no other transaction.
    fn origins(&self, reader: Txn, read: OpView) -> Option<From> {
        let took_effect = |node: &Node| matches!(node, Node::Txn(txn) if self.supposed.contains(txn));
        self.any_origins(reader, read)
            .filter(|from| !self.is_free(from) || from.nodes.iter().any(took_effect))
    }

    /// The possible writers of a read, whether it counts or not.
    fn any_origins(&self, reader: Txn, read: OpView) -> Option<From> {
        let (facts, history) = (self.facts, self.facts.history);
        if matches!(facts.source(read.id), Source::Nothing | Source::Own) {
            return None;
        }
        if read.kind == OpKind::ReadList {
            let part = facts.external_part(read, reader)?;
            let nodes = match part.last() {
                _ if part == facts.initial_elements(read.key) => vec![Node::Initial],
                Some(&last) => self.others(reader, read.key, last, false),
                // It lacks the initial elements, and ends with no append.
                None => Vec::new(),
            };
            return (!nodes.is_empty()).then_some(From { nodes, must: true });
        }
        let initial = history.is_initial(read.key, read.value);
        let mut nodes = self.others(reader, read.key, read.value, true);
        nodes.extend(initial.then_some(Node::Initial));
        let right = read.external && !nodes.is_empty();
        if !right && writes_itself(facts, read, reader) {
            return None;
        }
        if nodes.is_empty() {
            nodes = self.others(reader, read.key, read.value, false);
        }
        let from = From { nodes, must: right && !initial };
        (!from.nodes.is_empty()).then_some(from)
    }

    /// Whether a read is free: it is wrong, and all its possible writers have an unknown outcome.
    fn is_free(&self, from: &From) -> bool {
        let certain = |&node: &Node| match node {
            Node::Initial => true,
            Node::Txn(txn) => self.facts.is_present(txn),
        };
        !from.must && !from.nodes.iter().any(certain)
    }

    /// The writers of all free reads, and the first free read.
    fn free_writers(&self) -> (Vec<Txn>, Option<Op>) {
        let history = self.facts.history;
        let live = history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted);
        let reads = live.flat_map(|txn| history.ops_of(txn).map(move |op| (txn, op)));
        let mut writers: Vec<Txn> = Vec::new();
        let mut first = None;
        for (txn, read) in reads.filter(|(_, op)| op.kind == OpKind::Read && is_item_read(op)) {
            if let Some(from) = self.any_origins(txn, read).filter(|from| self.is_free(from)) {
                first = first.or(Some(read.id));
                writers.extend(from.nodes.iter().filter_map(|node| match *node {
                    Node::Txn(txn) => Some(txn),
                    Node::Initial => None,
                }));
            }
        }
        writers.sort_unstable();
        writers.dedup();
        (writers, first)
    }

    /// Whether all reads of a key by a transaction may read from one other transaction of the set.
    fn has_one_origin(&self, reader: Txn, key: Key) -> bool {
        let of_key = |op: &OpView| is_item_read(op) && op.key == key;
        let reads: Vec<(OpView, From)> = self
            .facts
            .history
            .ops_of(reader)
            .filter(of_key)
            .filter_map(|read| Some((read, self.origins(reader, read)?)))
            .collect();
        let Some((_, first)) = reads.first() else { return true };
        first.nodes.iter().any(|node| {
            self.is_possible(*node)
                && reads.iter().all(|(_, from)| from.nodes.contains(node))
                && self.ends_all(reader, &reads, *node)
        })
    }

    /// Whether `node` appended an element often enough to end every list of a different length that ends with
    /// it. At most as many appends are needed as exist.
    fn ends_all(&self, reader: Txn, reads: &[(OpView, From)], node: Node) -> bool {
        let mut lengths: FxHashMap<Value, FxHashSet<usize>> = FxHashMap::default();
        for (read, _) in reads.iter().filter(|(read, _)| read.kind == OpKind::ReadList) {
            let part = self.facts.external_part(*read, reader).unwrap_or_default();
            if let Some(&last) = part.last().filter(|_| part != self.facts.initial_elements(read.key)) {
                lengths.entry(last).or_default().insert(part.len());
            }
        }
        lengths.iter().all(|(&last, lengths)| {
            let appends = self.others(reader, reads[0].0.key, last, false);
            let own = appends.iter().filter(|&&other| other == node).count();
            own >= lengths.len().min(appends.len())
        })
    }
}

/// Whether a read, right or wrong, has several possible writers.
pub(super) fn is_uncertain(facts: &Facts<'_>, read: Op) -> bool {
    origin(facts, facts.history.op(read), facts.history.txn_of(read)) == Candidates::Several
}

/// Compares the origins of two reads of one key by one transaction.
pub(super) fn compare(facts: &Facts<'_>, reader: Txn, a: OpView, b: OpView) -> Origins {
    // Neither value was overwritten by its own writer, so different values have different writers.
    let final_values = [a, b].iter().all(|read| {
        let source = facts.source(read.id);
        source != Source::Wrong || final_writers(facts, *read, reader) != Candidates::None
    });
    match (origin(facts, a, reader), origin(facts, b, reader)) {
        (Candidates::None, _) | (_, Candidates::None) => Origins::Agree,
        (Candidates::One(a), Candidates::One(b)) if a == b => Origins::Agree,
        (Candidates::One(_), Candidates::One(_)) => Origins::Differ,
        _ if facts.is_list(a.key) => {
            let [one, other] = [a, b].map(|read| facts.external_part(read, reader));
            match [a, b].map(|read| facts.source(read.id)) {
                _ if one == other => Origins::Agree,
                // An ambiguous list ends with an append, so it is not the initial state.
                [Source::From(Node::Initial), Source::Ambiguous]
                | [Source::Ambiguous, Source::From(Node::Initial)] => Origins::Differ,
                _ => Origins::Open,
            }
        }
        _ if a.value == b.value => Origins::Agree,
        _ if final_values => Origins::Differ,
        _ => Origins::Open,
    }
}

/// The transaction that a read, right or wrong, reads from. `None` for the reader's own values.
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

/// The transaction that appended the last element of the external part of a wrong list.
fn last_appender(facts: &Facts<'_>, read: OpView, reader: Txn) -> Candidates {
    let last = facts.external_part(read, reader).and_then(<[_]>::last);
    let entry = last.and_then(|&element| facts.appends.get(&(read.key, element)));
    if entry.is_some_and(|entry| entry.times > 1) {
        return Candidates::Several;
    }
    match entry.and_then(|entry| entry.only()).map(|append| facts.history.txn_of(append)) {
        Some(txn) if txn != reader => if_present(facts, Candidates::One(Node::Txn(txn))),
        _ => Candidates::None,
    }
}

/// Whether the reader itself writes the value that it read, before or after the read.
fn writes_itself(facts: &Facts<'_>, read: OpView, reader: Txn) -> bool {
    let own = |op: OpView| op.kind.is_write() && (op.key, op.value) == (read.key, read.value);
    facts.history.ops_of(reader).any(own)
}
