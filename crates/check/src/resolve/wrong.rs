//! What is wrong with a read that has no possible writer, and whose value it was.
//!
//! Wrong reads are rare, so nothing is kept for them beforehand: the writes of their values are looked up in
//! one pass over the history.

use isoscope_history::{History, Key, Op, OpKind, OpView, Outcome, Txn, Value};
use isoscope_levels::Anomaly;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Link, WrongRead};

/// The writes of one value to one key, as far as they matter: the first of each sort, and the first by
/// another transaction than that, should the reader itself be the first.
#[derive(Default, Clone, Copy)]
struct Writes {
    last: [Option<(Op, Txn)>; 2],
    intermediate: [Option<(Op, Txn)>; 2],
    aborted: [Option<(Op, Txn)>; 2],
}

impl Writes {
    fn add(&mut self, op: OpView, txn: Txn, outcome: Outcome) {
        let sort = match outcome {
            Outcome::Aborted => &mut self.aborted,
            _ if op.last_write => &mut self.last,
            _ => &mut self.intermediate,
        };
        match sort {
            [None, _] => sort[0] = Some((op.id, txn)),
            [Some((_, first)), None] if *first != txn => sort[1] = Some((op.id, txn)),
            _ => {}
        }
    }
}

fn by_another(sort: [Option<(Op, Txn)>; 2], reader: Txn) -> Option<Op> {
    sort.into_iter().flatten().find(|&(_, txn)| txn != reader).map(|(op, _)| op)
}

/// Says of reads of registers what is wrong with them.
pub(crate) fn classify(history: &History, reads: &[Op]) -> Vec<WrongRead> {
    if reads.is_empty() {
        return Vec::new();
    }
    let writes = writes_of(history, reads);
    reads.iter().map(|&read| classify_one(history, &writes, history.op(read))).collect()
}

fn writes_of(history: &History, reads: &[Op]) -> FxHashMap<(Key, Value), Writes> {
    let mut writes: FxHashMap<(Key, Value), Writes> = FxHashMap::default();
    for &read in reads {
        let op = history.op(read);
        writes.insert((op.key, op.value), Writes::default());
    }
    for txn in history.txns() {
        for op in history.ops_of(txn).filter(|op| op.kind.is_write()) {
            if let Some(writes) = writes.get_mut(&(op.key, op.value)) {
                writes.add(op, txn, history.outcome(txn));
            }
        }
    }
    writes
}

fn classify_one(history: &History, writes: &FxHashMap<(Key, Value), Writes>, read: OpView) -> WrongRead {
    let reader = history.txn_of(read.id);
    let writes = writes.get(&(read.key, read.value)).copied().unwrap_or_default();
    let own = || {
        history.ops_of(reader).filter(|op| op.kind.is_write() && op.key == read.key && op.value == read.value)
    };
    let later = own().find(|op| op.id > read.id);
    let earlier = own().find(|op| op.id < read.id);
    let (last, intermediate, aborted) = (
        by_another(writes.last, reader),
        by_another(writes.intermediate, reader),
        by_another(writes.aborted, reader),
    );
    let (anomaly, write) = if let Some(own) = earlier {
        (Anomaly::NotMyLastWrite, Some(own.id))
    } else if let Some(own) = later {
        (Anomaly::FutureRead, Some(own.id))
    } else if read.external {
        match (intermediate, aborted) {
            (Some(write), _) => (Anomaly::IntermediateRead, Some(write)),
            (None, Some(write)) => (Anomaly::AbortedRead, Some(write)),
            (None, None) => (Anomaly::ThinAirRead, None),
        }
    } else {
        match last.or(intermediate).or(aborted) {
            None if read.value != history.initial(read.key) => (Anomaly::ThinAirRead, None),
            write => (Anomaly::NotMyOwnWrite, write),
        }
    };
    WrongRead { anomaly, read: read.id, write }
}

/// Reads of one key in one transaction that return the writes of two others, where at least one of them is wrong
/// for another reason as well.
#[derive(Default)]
pub(crate) struct Repeated {
    /// At most one pair for each transaction and key.
    pub(crate) pairs: Vec<(Op, Op)>,
    /// Reads of which it depends on who the writers are.
    pub(crate) uncertain: Vec<Op>,
}

/// Whose write a read returned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// A final write: of whom, or ambiguous.
    Final(Link),
    /// A write that its writer then overwrote: of whom, if only one did.
    Overwritten(Option<Txn>),
}

impl Origin {
    fn writer(self) -> Option<Link> {
        match self {
            Origin::Final(Link::AMBIGUOUS) => None,
            Origin::Final(link) => Some(link),
            Origin::Overwritten(txn) => txn.map(Link::from),
        }
    }

    /// Whether two reads of one key are of two transactions; `None` when it depends on who the writers are.
    /// Final writes of two values are of two transactions whoever they are.
    fn differs(self, value: Value, other: Origin, other_value: Value) -> Option<bool> {
        match (self.writer(), other.writer()) {
            (Some(a), Some(b)) => Some(a != b),
            _ if value == other_value => Some(false),
            _ if matches!((self, other), (Origin::Final(_), Origin::Final(_))) => Some(true),
            _ => None,
        }
    }
}

pub(crate) fn repeated(history: &History, links: &[Link], present: &[bool], wrong: &[WrongRead]) -> Repeated {
    let reads: Vec<Op> = wrong.iter().map(|wrong| wrong.read).collect();
    let writes = if reads.is_empty() { FxHashMap::default() } else { writes_of(history, &reads) };
    let mut done: FxHashSet<(Txn, Key)> = FxHashSet::default();
    let mut found = Repeated::default();
    for &read in &reads {
        let (key, reader) = (history.key_of(read), history.txn_of(read));
        if !done.insert((reader, key)) {
            continue;
        }
        let origin = |op: OpView| match links[op.id.index()] {
            Link::NOTHING => origin_of_wrong(history, present, writes.get(&(op.key, op.value))?, op, reader),
            link => Some(Origin::Final(link)),
        };
        let reads: Vec<(OpView, Origin)> = history
            .ops_of(reader)
            .filter(|op| op.kind == OpKind::Read && op.key == key && op.value != Value::UNKNOWN)
            .filter_map(|op| Some((op, origin(op)?)))
            .collect();
        let Some(&(first, one)) = reads.first() else { continue };
        // If two reads that are not wrong differ, the pass over registers has reported them.
        let mut sound = reads.iter().filter(|(op, _)| links[op.id.index()] != Link::NOTHING);
        let reported = sound.next().is_some_and(|(op, _)| sound.any(|(other, _)| other.value != op.value));
        let differs = |other: &&(OpView, Origin)| one.differs(first.value, other.1, other.0.value);
        let pair = reads.iter().find(|other| differs(other) == Some(true));
        match pair {
            _ if reported => {}
            Some((second, _)) => found.pairs.push((first.id, second.id)),
            None => {
                let open = reads.iter().find(|other| differs(other).is_none());
                // The read that has several possible writers is the one to blame.
                let blamed =
                    open.map(|&(second, _)| if one.writer().is_none() { first.id } else { second.id });
                found.uncertain.extend(blamed);
            }
        }
    }
    found
}

fn origin_of_wrong(
    history: &History,
    present: &[bool],
    writes: &Writes,
    read: OpView,
    reader: Txn,
) -> Option<Origin> {
    let own = |op: OpView| op.kind.is_write() && (op.key, op.value) == (read.key, read.value);
    if history.ops_of(reader).any(own) {
        return None;
    }
    let initial = read.value == history.initial(read.key);
    let mut last = writers(writes.last, reader);
    if let ([txn], false) = (last.as_slice(), initial)
        && !present[txn.index()]
    {
        last.clear();
    }
    match (last.as_slice(), initial) {
        ([], true) => Some(Origin::Final(Link::INITIAL)),
        ([txn], false) => Some(Origin::Final(Link::from(*txn))),
        ([], false) => match writers(writes.intermediate, reader).as_slice() {
            [] => None,
            [txn] => present[txn.index()].then_some(Origin::Overwritten(Some(*txn))),
            _ => Some(Origin::Overwritten(None)),
        },
        _ => Some(Origin::Final(Link::AMBIGUOUS)),
    }
}

fn writers(sort: [Option<(Op, Txn)>; 2], reader: Txn) -> Vec<Txn> {
    sort.into_iter().flatten().map(|(_, txn)| txn).filter(|&txn| txn != reader).collect()
}
