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
pub(crate) struct Writes {
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

/// The writes of some values to some keys.
pub(crate) type WritesOf = FxHashMap<(Key, Value), Writes>;

fn by_another(sort: [Option<(Op, Txn)>; 2], reader: Txn) -> Option<Op> {
    sort.into_iter().flatten().find(|&(_, txn)| txn != reader).map(|(op, _)| op)
}

/// The first and the last own write of some values to some keys.
type OwnWrites = FxHashMap<(Key, Value), (Op, Op)>;

/// The writes of a transaction to the keys of some of its reads.
fn own_writes(history: &History, reader: Txn, reads: &[Op]) -> OwnWrites {
    let keys: FxHashSet<Key> = reads.iter().map(|&read| history.key_of(read)).collect();
    let mut own = OwnWrites::default();
    for op in history.ops_of(reader).filter(|op| op.kind.is_write() && keys.contains(&op.key)) {
        own.entry((op.key, op.value)).or_insert((op.id, op.id)).1 = op.id;
    }
    own
}

/// Groups reads, which are sorted, by transaction.
fn by_reader<'r>(history: &History, reads: &'r [Op]) -> Vec<(Txn, &'r [Op])> {
    let mut groups = Vec::new();
    let mut rest = reads;
    while let Some(&first) = rest.first() {
        let reader = history.txn_of(first);
        let end = history.op_range(reader).end;
        let (group, others) = rest.split_at(rest.partition_point(|op| op.index() < end));
        groups.push((reader, group));
        rest = others;
    }
    groups
}

/// Says of reads of registers, which are sorted, what is wrong with them.
pub(crate) fn classify(history: &History, writes: &WritesOf, reads: &[Op]) -> Vec<WrongRead> {
    let mut wrong = Vec::with_capacity(reads.len());
    for (reader, reads) in by_reader(history, reads) {
        let own = own_writes(history, reader, reads);
        wrong.extend(reads.iter().map(|&read| classify_one(history, writes, &own, history.op(read), reader)));
    }
    wrong
}

/// Looks up the writes of the values that some reads returned.
pub(crate) fn writes_of(history: &History, reads: &[Op]) -> WritesOf {
    let mut writes = WritesOf::default();
    if reads.is_empty() {
        return writes;
    }
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

fn classify_one(
    history: &History,
    writes: &WritesOf,
    own: &OwnWrites,
    read: OpView,
    reader: Txn,
) -> WrongRead {
    let place = (read.key, read.value);
    let writes = writes.get(&place).copied().unwrap_or_default();
    let (earlier, later) = match own.get(&place) {
        Some(&(first, last)) => {
            (Some(first).filter(|&op| op < read.id), Some(last).filter(|&op| op > read.id))
        }
        None => (None, None),
    };
    let (last, intermediate, aborted) = (
        by_another(writes.last, reader),
        by_another(writes.intermediate, reader),
        by_another(writes.aborted, reader),
    );
    let (anomaly, write) = if let Some(own) = earlier {
        (Anomaly::NotMyLastWrite, Some(own))
    } else if let Some(own) = later {
        (Anomaly::FutureRead, Some(own))
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
    /// Reads for which it depends on the writers.
    pub(crate) uncertain: Vec<Op>,
}

/// Whose write a read returned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// A final write: its transaction, or ambiguous.
    Final(Link),
    /// A write that its writer then overwrote: the transaction, unless it is one of several.
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

    /// Whether two reads of one key are of two transactions; `None` when it depends on the writers.
    /// Final writes of two values are always of two transactions.
    fn differs(self, value: Value, other: Origin, other_value: Value) -> Option<bool> {
        match (self.writer(), other.writer()) {
            (Some(a), Some(b)) => Some(a != b),
            _ if value == other_value => Some(false),
            _ if matches!((self, other), (Origin::Final(_), Origin::Final(_))) => Some(true),
            _ => None,
        }
    }
}

/// Compares the reads of keys of which a read, of those given in order, is wrong.
pub(crate) fn repeated(
    history: &History,
    writes: &WritesOf,
    links: &[Link],
    present: &[bool],
    reads: &[Op],
) -> Repeated {
    let mut found = Repeated::default();
    for (reader, wrong) in by_reader(history, reads) {
        let own = own_writes(history, reader, wrong);
        let keys: FxHashSet<Key> = wrong.iter().map(|&read| history.key_of(read)).collect();
        let origin = |op: OpView| match links[op.id.index()] {
            Link::NOTHING if own.contains_key(&(op.key, op.value)) => None,
            Link::NOTHING => origin_of_wrong(history, present, writes.get(&(op.key, op.value))?, op, reader),
            link => Some(Origin::Final(link)),
        };
        let mut by_key: FxHashMap<Key, Vec<(OpView, Origin)>> = FxHashMap::default();
        let counts = |op: &OpView| op.kind == OpKind::Read && !op.in_range && keys.contains(&op.key);
        for op in history.ops_of(reader).filter(counts) {
            if let Some(origin) = origin(op).filter(|_| op.value != Value::UNKNOWN) {
                by_key.entry(op.key).or_default().push((op, origin));
            }
        }
        for reads in by_key.values() {
            found.add(links, reads);
        }
    }
    found.pairs.sort_unstable();
    found.uncertain.sort_unstable();
    found
}

impl Repeated {
    /// Compares the reads of one key by one transaction.
    fn add(&mut self, links: &[Link], reads: &[(OpView, Origin)]) {
        let Some(&(first, one)) = reads.first() else { return };
        // If two reads that are not wrong differ, the pass over registers has reported them.
        let mut sound = reads.iter().filter(|(op, _)| links[op.id.index()] != Link::NOTHING);
        if sound.next().is_some_and(|(op, _)| sound.any(|(other, _)| other.value != op.value)) {
            return;
        }
        let differs = |other: &&(OpView, Origin)| one.differs(first.value, other.1, other.0.value);
        if let Some((second, _)) = reads.iter().find(|other| differs(other) == Some(true)) {
            self.pairs.push((first.id, second.id));
        } else if let Some((second, _)) = reads.iter().find(|other| differs(other).is_none()) {
            // The read that has several possible writers is the one to blame.
            self.uncertain.push(if one.writer().is_none() { first.id } else { second.id });
        }
    }
}

fn origin_of_wrong(
    history: &History,
    present: &[bool],
    writes: &Writes,
    read: OpView,
    reader: Txn,
) -> Option<Origin> {
    let initial = read.value == history.initial(read.key);
    let is_present = |txn: &Txn| present[txn.index()];
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
            several => several.iter().any(is_present).then_some(Origin::Overwritten(None)),
        },
        // It depends on the outcomes whether the read counts: `cut.rs` decides.
        (several, initial) => {
            (initial || several.iter().any(is_present)).then_some(Origin::Final(Link::AMBIGUOUS))
        }
    }
}

fn writers(sort: [Option<(Op, Txn)>; 2], reader: Txn) -> Vec<Txn> {
    sort.into_iter().flatten().map(|(_, txn)| txn).filter(|&txn| txn != reader).collect()
}
