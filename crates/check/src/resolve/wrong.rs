//! What is wrong with a read that has no possible writer, and whose value it was.
//!
//! Wrong reads are rare, so nothing is kept for them beforehand: the writes of their values are looked up in
//! one pass over the history.

use isoscope_history::{History, Key, Op, OpView, Outcome, Txn, Value};
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

/// Pairs of reads of one key in one transaction that return the writes of two others, where at least one of
/// them is wrong for another reason as well. At most one for each transaction and key.
pub(crate) fn repeated(
    history: &History,
    links: &[Link],
    present: &[bool],
    wrong: &[WrongRead],
) -> Vec<(Op, Op)> {
    let sources: FxHashMap<Op, Source> =
        wrong.iter().filter_map(|w| Some((w.read, source_of_wrong(history, present, w)?))).collect();
    let mut done: FxHashSet<(Txn, Key)> = FxHashSet::default();
    let mut pairs = Vec::new();
    for one in wrong.iter().filter(|w| sources.contains_key(&w.read)) {
        let (read, reader) = (history.op(one.read), history.txn_of(one.read));
        if !done.insert((reader, read.key)) {
            continue;
        }
        let source = |op: OpView| {
            let link = links[op.id.index()];
            let known = sources.get(&op.id).copied();
            known.or((link != Link::NOTHING && link != Link::WRITE).then_some(Source::Link(link, op.value)))
        };
        let reads: Vec<(Op, Source)> = history
            .ops_of(reader)
            .filter(|op| op.kind.is_read() && op.key == read.key)
            .filter_map(|op| Some((op.id, source(op)?)))
            .collect();
        // If two reads that are not wrong differ, the pass over registers has reported them.
        let sound = |op: &Op| !sources.contains_key(op);
        let reported =
            reads.iter().any(|(a, s)| sound(a) && reads.iter().any(|(b, t)| sound(b) && s.differs(*t)));
        let pair = reads
            .iter()
            .find_map(|&(a, s)| reads.iter().find(|&&(b, t)| a < b && s.differs(t)).map(|&(b, _)| (a, b)));
        pairs.extend(pair.filter(|_| !reported));
    }
    pairs
}

/// Whose write a read returned.
#[derive(Clone, Copy)]
enum Source {
    Link(Link, Value),
    Txn(Txn),
}

impl Source {
    /// Whether two reads of one key return the writes of two transactions. Final writes of different values
    /// are always of different transactions.
    fn differs(self, other: Source) -> bool {
        match (self, other) {
            (Source::Link(_, a), Source::Link(_, b)) => a != b,
            (Source::Txn(a), Source::Txn(b)) => a != b,
            (Source::Txn(a), Source::Link(link, _)) | (Source::Link(link, _), Source::Txn(a)) => {
                link.txn() != Some(a)
            }
        }
    }
}

fn source_of_wrong(history: &History, present: &[bool], wrong: &WrongRead) -> Option<Source> {
    match (wrong.anomaly, wrong.write) {
        (Anomaly::IntermediateRead | Anomaly::NotMyOwnWrite, Some(write)) => {
            let writer = history.txn_of(write);
            present[writer.index()].then_some(Source::Txn(writer))
        }
        (Anomaly::NotMyOwnWrite, None) => {
            let read = history.op(wrong.read);
            Some(Source::Link(Link::INITIAL, read.value))
        }
        _ => None,
    }
}
