//! The steps of a proof in words, one clause each.
//!
//! A step of a cycle says which transaction comes before which, and why: a fact of the history, or, for a forced edge, the read
//! that would otherwise be wrong. If a reader had seen a transaction indirectly, the step lists the sessions and reads on the
//! path. The middle of a long cycle is omitted here; the evidence keeps every edge.

use isoscope_certificate::{Edge, Node, Seen, Why};
use isoscope_history::{Datum, Key, Op, OpKind, OpView, Txn};
use isoscope_levels::Anomaly;

use crate::story::{Clause, Teller};
use crate::words::sentence;

/// The steps of a cycle to show: all up to `most`, else the `first` and the `last`.
pub(crate) const CYCLE: Shown = Shown { most: 8, first: 4, last: 3 };
/// The same for the path inside a step.
const PATH: Shown = Shown { most: 5, first: 2, last: 2 };

pub(crate) struct Shown {
    most: usize,
    first: usize,
    last: usize,
}

impl Shown {
    /// The steps to show of `count`: those before the first number, and those from the second on.
    pub(crate) fn split(&self, count: usize) -> (usize, usize) {
        if count <= self.most { (count, count) } else { (self.first, count - self.last) }
    }
}

impl Teller<'_> {
    /// A step of a cycle: what comes before what, and why.
    pub fn step(&self, edge: &Edge) -> Clause {
        if let Why::Misses { read } = edge.why {
            let (reader, by) = (self.words.node(edge.from), self.words.node(edge.to));
            let text = format!("{reader} missed {by}: it {}", self.missed(read, edge.to));
            return Clause::new(sentence(&text), self.ops(edge));
        }
        let order = match (&edge.why, edge.to) {
            (Why::Forced { .. }, Node::Initial) => "would have to come before",
            (Why::Forced { .. }, _) => "must come before",
            _ => "comes before",
        };
        let mut text = format!("{} {order} {}", self.words.node(edge.from), self.words.node(edge.to));
        // The initial state comes before everything; this needs no reason.
        if !(edge.from == Node::Initial && edge.why == Why::Session) {
            text = format!("{text}: {}", self.fact(edge));
        }
        Clause::new(sentence(&text), self.ops(edge))
    }

    pub(crate) fn cycle_clauses(&self, edges: &[Edge]) -> Vec<Clause> {
        let mut clauses = Vec::new();
        let (head, tail) = CYCLE.split(edges.len());
        for (i, edge) in edges.iter().enumerate() {
            if i < head || i >= tail {
                clauses.push(self.step(edge));
                if let Why::Forced { seen: Seen::Causal(path), .. } = &edge.why {
                    clauses.extend(self.path_clauses(path));
                }
            } else if i == head {
                clauses.push(more(tail - head));
            }
        }
        clauses
    }

    /// How a reader had seen a transaction.
    pub(crate) fn path_clauses(&self, path: &[Edge]) -> Vec<Clause> {
        let mut clauses = Vec::new();
        let (head, tail) = PATH.split(path.len());
        for (i, edge) in path.iter().enumerate() {
            if i < head || i >= tail {
                clauses.push(Clause::new(sentence(&self.fact(edge)), self.ops(edge)));
            } else if i == head {
                clauses.push(more(tail - head));
            }
        }
        for clause in &mut clauses {
            clause.depth = 1;
        }
        clauses
    }

    /// The fact of the history that an edge states.
    pub(crate) fn fact(&self, edge: &Edge) -> String {
        let words = &self.words;
        let to = words.node(edge.to);
        match (&edge.why, edge.from) {
            (Why::Session, Node::Initial) => format!("{} comes before {to}", words.node(edge.from)),
            (Why::Session, Node::Txn(from)) => {
                format!(
                    "{to} follows {} in {}",
                    words.txn(from),
                    words.session(words.history.session_of(from))
                )
            }
            (Why::ReadFrom { read }, _) => format!("{to} {}", self.read_from(*read, edge.from)),
            (Why::Versions { read, index }, _) => self.versions(*read, *index, edge),
            (Why::Missing { read, append }, _) => {
                let (reader, list) = words.of(*read);
                let append = words.history.op(*append);
                format!(
                    "{} {}, which does not yet contain the {} that {to} appended",
                    words.txn(reader),
                    words.past(list),
                    words.value(append.value)
                )
            }
            (Why::RealTime, _) => self.in_real_time(edge),
            (Why::Overwritten { key }, from) => self.overwritten(from, edge.to, *key),
            (Why::Misses { read }, _) => format!("{} {}", words.node(edge.from), self.missed(*read, edge.to)),
            (Why::Forced { read, seen }, _) => self.forced(edge, *read, seen),
        }
    }

    /// `T1 had returned before T2 was invoked`, or the same by the database's timestamps if only these order them.
    fn in_real_time(&self, edge: &Edge) -> String {
        let (from, to) = (self.words.node(edge.from), self.words.node(edge.to));
        let history = self.words.history;
        let by_clients = match (edge.from, edge.to, history.events(), history.times()) {
            (Node::Txn(from), Node::Txn(to), Some(events), _) => {
                events.end[from.index()] < events.start[to.index()]
            }
            (Node::Txn(from), Node::Txn(to), None, Some(times)) => {
                times.end[from.index()] < times.start[to.index()]
            }
            _ => history.timestamps().is_none(),
        };
        if by_clients || history.timestamps().is_none() {
            format!("{from} had returned before {to} was invoked")
        } else {
            format!("{from} had committed before {to} began, by the database's timestamps")
        }
    }

    /// `T1 wrote x=1 before T2 wrote x=2`.
    fn overwritten(&self, from: Node, to: Node, key: Key) -> String {
        let did = |node: Node| format!("{} {}", self.words.node(node), self.wrote_to(node, key));
        match from {
            Node::Initial => format!("{} over the initial value", did(to)),
            Node::Txn(_) => format!("{} before {}", did(from), did(to)),
        }
    }

    /// `read x=0, which T1 overwrote with 1`: an anti-dependency, from the reader's side.
    pub(crate) fn missed(&self, read: Op, by: Node) -> String {
        let words = &self.words;
        let view = words.history.op(read);
        let (read, name) = (words.past(view), words.node(by));
        let Node::Txn(txn) = by else { return format!("{read}, which {name} overwrote") };
        match words.last_write(txn, view.key) {
            Some(write) if write.kind == OpKind::Append => {
                let element = words.value(self.unseen(txn, view).unwrap_or(write).value);
                format!("{read}, which does not yet contain the {element} that {name} appended")
            }
            Some(write) if write.kind == OpKind::Delete => format!("{read}, which {name} deleted"),
            Some(write) => format!("{read}, which {name} overwrote with {}", words.value(write.value)),
            None => format!("{read}, which {name} overwrote"),
        }
    }

    /// The first append of a transaction that a list does not contain.
    fn unseen(&self, txn: Txn, list: OpView) -> Option<OpView> {
        let history = self.words.history;
        let Datum::List(elements) = history.datum(list.value) else { return None };
        let mut appends = history.ops_of(txn).filter(|op| op.kind.is_write() && op.key == list.key);
        appends.find(|op| !elements.contains(&op.value))
    }

    fn versions(&self, read: Op, index: u32, edge: &Edge) -> String {
        let words = &self.words;
        let (reader, list) = words.of(read);
        let elements = match words.history.datum(list.value) {
            Datum::List(elements) => elements,
            _ => &[],
        };
        let element = |i: usize| elements.get(i).map_or("?".to_owned(), |&value| words.value(value));
        let after = element(index as usize);
        let (from, to) = (words.node(edge.from), words.node(edge.to));
        // Elements that nobody appended may stand between the two.
        let appended = |txn: Txn, i: &usize| {
            let mut ops =
                words.history.ops_of(txn).filter(|op| op.kind == OpKind::Append && op.key == list.key);
            elements.get(*i).is_some_and(|&element| ops.any(|op| op.value == element))
        };
        let before = match edge.from {
            Node::Txn(txn) => (0..index as usize).rev().find(|i| appended(txn, i)),
            Node::Initial => None,
        };
        let before = before.map_or(from.clone(), |i| format!("the {} of {from}", element(i)));
        format!("{} {}, where the {after} of {to} follows {before}", words.txn(reader), words.past(list))
    }

    /// Why an edge is forced: a read, and what the reader had seen.
    fn forced(&self, edge: &Edge, read: Op, seen: &Seen) -> String {
        let words = &self.words;
        let (reader, view) = words.of(read);
        let (name, from) = (words.txn(reader), words.node(edge.from));
        let wrote = self.wrote(edge.from, view);
        let read = self.read_from(read, edge.to);
        match seen {
            Seen::Read(op) => {
                format!("{name} {read}, although it {}", self.seen_by(*op, edge.from, view, "which "))
            }
            Seen::Session => {
                let session = words.session(words.history.session_of(reader));
                format!("{name} {read}, although {from}, before it in {session}, {wrote}")
            }
            Seen::Causal(_) => format!("{name} {read}, although it had seen {from}, which {wrote}"),
        }
    }

    /// `read x=2 from T1`, or `read x=0, the initial value`.
    pub(crate) fn read_from(&self, read: Op, from: Node) -> String {
        let read = self.words.past(self.words.history.op(read));
        match from {
            Node::Initial => format!("{read}, the initial value"),
            Node::Txn(txn) => format!("{read} from {}", self.words.txn(txn)),
        }
    }

    /// `read y=3 from T5, which wrote x=9`: how the reader saw a writer of `read`'s key. `which` joins the
    /// two parts. The second part is omitted if both reads are of the same key.
    pub(crate) fn seen_by(&self, seen: Op, from: Node, read: OpView, which: &str) -> String {
        let first = self.read_from(seen, from);
        if self.words.history.op(seen).key == read.key {
            return first;
        }
        format!("{first}, {which}{}", self.wrote(from, read))
    }

    /// What a transaction, or the initial state, did to the key that was read.
    pub(crate) fn wrote(&self, node: Node, read: OpView) -> String {
        self.wrote_to(node, read.key)
    }

    /// What a transaction, or the initial state, did to a key.
    fn wrote_to(&self, node: Node, key: Key) -> String {
        let write = match node {
            Node::Initial => None,
            Node::Txn(txn) => self.words.last_write(txn, key),
        };
        write.map_or(format!("wrote {}", self.words.key(key)), |write| self.words.past(write))
    }

    /// The operations that prove an edge.
    fn ops(&self, edge: &Edge) -> Vec<Op> {
        let view = |read: &Op| self.words.history.op(*read);
        let some = match &edge.why {
            Why::Session | Why::RealTime => [None; 4],
            Why::ReadFrom { read } => [self.write_read(edge.from, view(read)), Some(*read), None, None],
            Why::Versions { read, index } => [self.appended(*read, *index, edge.to), Some(*read), None, None],
            Why::Missing { read, append } => [Some(*append), Some(*read), None, None],
            Why::Overwritten { key } => {
                [self.last_write(edge.from, *key), self.last_write(edge.to, *key), None, None]
            }
            Why::Misses { read } => [Some(*read), self.overwrote(*read, edge.to), None, None],
            Why::Forced { read, seen } => {
                let seen = if let Seen::Read(op) = seen { Some(*op) } else { None };
                let overlooked = self.last_write(edge.from, view(read).key);
                [overlooked, self.write_read(edge.to, view(read)), seen, Some(*read)]
            }
        };
        some.into_iter().flatten().collect()
    }

    /// The append that put an element into a list.
    fn appended(&self, read: Op, index: u32, by: Node) -> Option<Op> {
        let (history, Node::Txn(txn)) = (self.words.history, by) else { return None };
        let list = history.op(read);
        let Datum::List(elements) = history.datum(list.value) else { return None };
        let element = *elements.get(index as usize)?;
        let mut appends = history.ops_of(txn).filter(|op| op.kind.is_write() && op.key == list.key);
        appends.find(|op| op.value == element).map(|op| op.id)
    }

    fn write_read(&self, node: Node, read: OpView) -> Option<Op> {
        let Node::Txn(txn) = node else { return None };
        self.words.write_read(txn, read).map(|op| op.id)
    }

    /// The write that overwrote what was read; for a list, the append that the list lacks.
    fn overwrote(&self, read: Op, by: Node) -> Option<Op> {
        let Node::Txn(txn) = by else { return None };
        let view = self.words.history.op(read);
        self.unseen(txn, view).map(|op| op.id).or_else(|| self.last_write(by, view.key))
    }

    fn last_write(&self, node: Node, key: Key) -> Option<Op> {
        let Node::Txn(txn) = node else { return None };
        self.words.last_write(txn, key).map(|op| op.id)
    }

    /// The steps that show that a read is wrong in every order.
    pub(crate) fn read_clauses(&self, anomaly: Anomaly, read: Op, write: Option<Op>) -> Vec<Clause> {
        let words = &self.words;
        let (reader, view) = words.of(read);
        let own = words.history.ops_of(reader).filter(|op| op.kind.is_write() && op.key == view.key);
        let own: Vec<OpView> = match anomaly {
            Anomaly::NotMyOwnWrite | Anomaly::NotMyLastWrite => own.filter(|op| op.id < read).collect(),
            _ => Vec::new(),
        };
        let mut ops: Vec<Op> = write.into_iter().chain(own.last().map(|op| op.id)).collect();
        if let (Anomaly::IntermediateRead, Some(write)) = (anomaly, write) {
            ops.extend(words.next_write(words.history.op(write)).map(|op| op.id));
        }
        ops.push(read);
        ops.dedup();
        ops.into_iter().map(|op| self.did(op)).collect()
    }

    pub(crate) fn pair_clauses(&self, first: Op, second: Op) -> Vec<Clause> {
        [first, second].map(|op| self.did(op)).into()
    }

    /// `T7 read x=2.`
    fn did(&self, op: Op) -> Clause {
        let (txn, view) = self.words.of(op);
        Clause::new(sentence(&format!("{} {}", self.words.txn(txn), self.words.past(view))), vec![op])
    }
}

pub(crate) fn more(steps: usize) -> Clause {
    let s = if steps == 1 { "" } else { "s" };
    Clause::new(format!("... {steps} more step{s}"), Vec::new())
}
