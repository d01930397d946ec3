//! The first sentence of a story: what happened. Each anomaly has its own wording.

use isoscope_certificate::{Edge, Evidence, Node, Seen, Why};
use isoscope_history::{Datum, Op, OpKind, OpView, Txn, Value};
use isoscope_levels::Anomaly;

use crate::story::Teller;
use crate::words::{enumerate, participle, sentence};

/// The parts of a forced edge: the reader read a version of `older` although it had seen `newer`, and the
/// rest of the cycle shows that `newer` came later.
struct Overlooked<'a> {
    reader: Txn,
    read: Op,
    older: Node,
    newer: Node,
    seen: &'a Seen,
}

impl Teller<'_> {
    pub(crate) fn headline(&self, anomaly: Anomaly, evidence: &Evidence) -> String {
        let text = match evidence {
            Evidence::Read { read, write } => self.wrong_read(anomaly, *read, *write),
            Evidence::Pair { first, second } => self.contradiction(anomaly, *first, *second),
            Evidence::Cycle(edges) => self.impossible(anomaly, edges),
            Evidence::Cases(proof) => self.impossible(anomaly, proof.main_cycle()),
            Evidence::Worlds(worlds) => self.world_headline(worlds),
        };
        sentence(&text)
    }

    /// A cycle.
    fn impossible(&self, anomaly: Anomaly, edges: &[Edge]) -> String {
        match self.overlooked(edges) {
            Some(overlooked) => self.wrong_version(anomaly, &overlooked, edges),
            None => self.dependencies(anomaly, edges).unwrap_or_else(|| self.circle(anomaly, edges)),
        }
    }

    /// A read that is wrong in every order.
    fn wrong_read(&self, anomaly: Anomaly, read: Op, write: Option<Op>) -> String {
        let words = &self.words;
        let (reader, view) = words.of(read);
        let reader_name = words.txn(reader);
        let did = format!("{reader_name} {}", words.past(view));
        let Some((writer, write)) = write.map(|write| words.of(write)) else {
            return match anomaly {
                Anomaly::DuplicateElements => self.duplicate(&did, view),
                Anomaly::NotMyOwnWrite if view.kind == OpKind::ReadList => {
                    format!("{did}, which does not end with {}", self.own_appends(reader, view))
                }
                Anomaly::NotMyOwnWrite => {
                    format!("{did}, although it had already {}", self.own_write(reader, view))
                }
                Anomaly::LostAppend => format!("{did}, which lacks the initial elements"),
                _ => self.thin_air(&did, view),
            };
        };
        let writer_name = words.txn(writer);
        match anomaly {
            Anomaly::AbortedRead if view.kind == OpKind::ReadList => {
                format!("{did}, with the {} of {writer_name}, which aborted", words.value(write.value))
            }
            Anomaly::AbortedRead => format!("{did} from {writer_name}, which aborted"),
            Anomaly::FutureRead => format!("{did} before it {} itself", words.past(write)),
            Anomaly::NotMyOwnWrite if view.kind == OpKind::ReadList => {
                format!("{did}, which does not end with {}", self.own_appends(reader, view))
            }
            Anomaly::NotMyOwnWrite => {
                let own = self.own_write(reader, view);
                format!("{did} from {writer_name}, although it had already {own}")
            }
            Anomaly::NotMyLastWrite => {
                let own = self.own_write(reader, view);
                format!("{did}, its own earlier write, although it had {own} since")
            }
            Anomaly::IntermediateRead => {
                let next = words.next_write(write).unwrap_or(write);
                let next = words.past(next);
                format!("{did} from {writer_name}, an intermediate value: {writer_name} then {next}")
            }
            Anomaly::DuplicateElements => self.duplicate(&did, view),
            Anomaly::LostAppend => {
                let element = words.value(write.value);
                format!(
                    "{did}, which contains a later append of {writer_name} but lacks its earlier one, {element}"
                )
            }
            Anomaly::IncompatibleOrder => {
                let element = words.value(write.value);
                match self.element_before(view, write) {
                    Some(later) => format!(
                        "{did}, where {later} is before {element}, although {writer_name} appended {element} first"
                    ),
                    None => {
                        format!(
                            "{did}, where the appends of {writer_name} are in another order than it made them"
                        )
                    }
                }
            }
            _ => format!("{did} from {writer_name}, which no order explains"),
        }
    }

    /// The element of a list that precedes one that the same transaction appended earlier. None where that one has the value of
    /// another, which precedes both.
    fn element_before(&self, list: OpView, earlier: OpView) -> Option<String> {
        let history = self.words.history;
        let elements = match history.datum(list.value) {
            Datum::List(elements) => elements,
            _ => &[],
        };
        let mut before = elements.iter().take_while(|&&element| element != earlier.value);
        let txn = history.txn_of(earlier.id);
        let later = |value: Value| {
            let mut ops = history.ops_of(txn).filter(|op| op.id > earlier.id && op.key == list.key);
            ops.any(|op| op.kind.is_write() && op.value == value)
        };
        let found = before.find(|&&element| later(element));
        found.map(|&element| self.words.value(element))
    }

    /// What a transaction had appended to a list before it read it: `the 1 and 2 that it had appended`.
    fn own_appends(&self, txn: Txn, read: OpView) -> String {
        let appends = self.words.history.ops_of(txn).filter(|op| op.id < read.id && op.key == read.key);
        let appends = appends.filter(|op| op.kind == OpKind::Append);
        let own: Vec<String> = appends.map(|op| self.words.value(op.value)).collect();
        format!("the {} that it had appended", enumerate(&own))
    }

    /// What a transaction had last written to a key before it read it.
    fn own_write(&self, txn: Txn, read: OpView) -> String {
        let mut writes = self.words.history.ops_of(txn);
        let last = writes.rfind(|op| op.kind.is_write() && op.key == read.key && op.id < read.id);
        last.map_or(format!("written {}", self.words.key(read.key)), |op| participle(&self.words.past(op)))
    }

    /// A value that was never written; for a list, the element that was never appended.
    fn thin_air(&self, did: &str, read: OpView) -> String {
        let history = self.words.history;
        let written = |value: Value| {
            let writers = history.writers(read.key).iter();
            let mut writes = writers.flat_map(|&txn| history.ops_of(txn));
            writes.any(|op| op.kind.is_write() && op.key == read.key && op.value == value)
        };
        let initial = match history.datum(history.initial(read.key)) {
            Datum::List(elements) => elements,
            _ => &[],
        };
        match history.datum(read.value) {
            Datum::List(elements) => {
                let thin = elements.iter().find(|e| !initial.contains(e) && !written(**e));
                let thin = thin.map_or("an element".to_owned(), |&e| self.words.value(e));
                format!("{did}, which contains {thin}, which no transaction appended")
            }
            _ => format!("{did}, which no transaction wrote"),
        }
    }

    fn duplicate(&self, did: &str, read: OpView) -> String {
        let repeated =
            self.first_repeated(read.value).map_or("an element".to_owned(), |e| self.words.value(e));
        format!("{did}, which contains {repeated} more often than it was appended")
    }

    fn first_repeated(&self, list: Value) -> Option<Value> {
        let Datum::List(elements) = self.words.history.datum(list) else { return None };
        let mut sorted = elements.to_vec();
        sorted.sort_unstable();
        elements.iter().copied().find(|e| {
            let from = sorted.partition_point(|other| other < e);
            sorted.get(from + 1) == Some(e)
        })
    }

    /// Two reads that cannot both be right.
    fn contradiction(&self, anomaly: Anomaly, first: Op, second: Op) -> String {
        let words = &self.words;
        let ((a, one), (b, two)) = (words.of(first), words.of(second));
        let did = format!("{} {}", words.txn(a), words.past(one));
        let then = if a == b { "then".to_owned() } else { words.txn(b) };
        let reads = format!("{did} and {then} {}", words.past(two));
        match anomaly {
            Anomaly::NonRepeatableRead => {
                let found = self.before_own(b, two).unwrap_or_else(|| words.value(two.value));
                format!("{did}, and when it read {} again it found {found}", words.key(two.key))
            }
            Anomaly::IncompatibleOrder => {
                let apart = self.first_difference(one.value, two.value);
                format!("{reads}: neither list is a prefix of the other{apart}")
            }
            _ => format!("{reads}, which no order explains"),
        }
    }

    /// `[1] before its own 2`: a list that ends with the reader's own appends.
    fn before_own(&self, reader: Txn, read: OpView) -> Option<String> {
        let history = self.words.history;
        let Datum::List(elements) = history.datum(read.value) else { return None };
        let own = history.ops_of(reader).filter(|op| op.id < read.id && op.key == read.key);
        let own: Vec<Value> = own.filter(|op| op.kind == OpKind::Append).map(|op| op.value).collect();
        let others = elements.strip_suffix(own.as_slice()).filter(|_| !own.is_empty())?;
        let own: Vec<String> = own.iter().map(|&value| self.words.value(value)).collect();
        Some(format!("{} before its own {}", self.words.list(others), enumerate(&own)))
    }

    /// The first difference of two lists that are too long to compare by eye.
    fn first_difference(&self, one: Value, two: Value) -> String {
        let history = self.words.history;
        let (Datum::List(one), Datum::List(two)) = (history.datum(one), history.datum(two)) else {
            return String::new();
        };
        match one.iter().zip(two).enumerate().find(|(_, (a, b))| a != b) {
            Some((i, (&a, &b))) if one.len().max(two.len()) > 4 => {
                let (a, b) = (self.words.value(a), self.words.value(b));
                format!("; element {} is {a} in one and {b} in the other", i + 1)
            }
            _ => String::new(),
        }
    }

    /// The forced edge at the start of a cycle, if there is one.
    fn overlooked<'e>(&self, edges: &'e [Edge]) -> Option<Overlooked<'e>> {
        let Edge { from: newer, to: older, why: Why::Forced { read, seen } } = edges.first()? else {
            return None;
        };
        let reader = self.words.history.txn_of(*read);
        Some(Overlooked { reader, read: *read, older: *older, newer: *newer, seen })
    }

    /// A read of a version that the reader should have known to be overwritten.
    fn wrong_version(&self, anomaly: Anomaly, o: &Overlooked<'_>, edges: &[Edge]) -> String {
        let words = &self.words;
        let (reader, newer) = (words.txn(o.reader), words.node(o.newer));
        let view = words.history.op(o.read);
        let (read, wrote) = (self.read_from(o.read, o.older), self.wrote(o.newer, view));
        let back = self.older_version(o, edges);
        match (anomaly, o.seen) {
            (Anomaly::NonMonotonicRead, Seen::Read(op)) => {
                let first = self.seen_by(*op, o.newer, view, "which ");
                let same = words.history.op(*op).key == view.key;
                let comma = if same { "" } else { "," };
                format!("{reader} {first}{comma} and then went back: it {back}")
            }
            (Anomaly::FracturedRead, Seen::Read(op))
                if words.history.start_of(*op) == words.history.start_of(o.read) =>
            {
                let first = self.seen_by(*op, o.newer, view, "which also ");
                format!("{reader} {first}, and in the same range it {back}")
            }
            (Anomaly::FracturedRead, Seen::Read(op)) if *op < o.read => {
                let first = self.seen_by(*op, o.newer, view, "which also ");
                format!("{reader} {first}, and then {back}")
            }
            (Anomaly::FracturedRead, Seen::Read(op)) => {
                let then = self.seen_by(*op, o.newer, view, "which also ");
                format!("{reader} {read}, and then {then}")
            }
            (Anomaly::FracturedRead | Anomaly::StaleSessionRead, Seen::Session) => {
                let session = words.session(words.history.session_of(o.reader));
                format!("{newer} {wrote}, and yet {reader}, after it in {session}, {back}")
            }
            (Anomaly::CausalityViolation, Seen::Causal(path)) => {
                let way = self.way(path);
                format!("{reader} had seen {newer}, which {wrote},{way} and yet it {back}")
            }
            (Anomaly::ConflictingCommitOrder, _) => self.conflict(o, &read, &wrote),
            (
                Anomaly::DirtyWrite
                | Anomaly::CircularInformationFlow
                | Anomaly::CyclicCausality
                | Anomaly::LostAppend,
                _,
            ) => self.circle(anomaly, edges),
            (_, Seen::Read(op)) => {
                format!("{reader} {read}, although it {}", self.seen_by(*op, o.newer, view, "which "))
            }
            (_, Seen::Session) => {
                format!("{reader} {read}, although {newer}, before it in its session, {wrote}")
            }
            (_, Seen::Causal(_)) => format!("{reader} {read}, although it had seen {newer}, which {wrote}"),
        }
    }

    /// `read the older x=2 from T1`, or `read x=0, the initial value`. If other reads are needed to know that
    /// the version is older: `read x=2 from T1; other reads put T1 before T2`.
    fn older_version(&self, o: &Overlooked<'_>, edges: &[Edge]) -> String {
        let (view, read) = (self.words.history.op(o.read), self.read_from(o.read, o.older));
        let shows_age = |edge: &Edge| match edge.why {
            Why::Session | Why::RealTime | Why::ReadFrom { .. } => true,
            Why::Versions { read, .. } | Why::Missing { read, .. } => {
                self.words.history.key_of(read) == view.key && edges.len() == 2
            }
            _ => false,
        };
        match o.older {
            Node::Initial => read,
            Node::Txn(txn) if edges[1..].iter().all(shows_age) => {
                let version = self.words.version(view.key, view.value);
                format!("read the older {version} from {}", self.words.txn(txn))
            }
            Node::Txn(txn) => {
                let (older, newer) = (self.words.txn(txn), self.words.node(o.newer));
                format!("{read}; other reads put {older} before {newer}")
            }
        }
    }

    /// The transactions through which a reader had seen another.
    fn way(&self, path: &[Edge]) -> String {
        let inner = path.get(1..).unwrap_or_default();
        let names: Vec<String> = inner.iter().map(|edge| self.words.node(edge.from)).collect();
        if names.is_empty() { String::new() } else { format!(" by way of {},", enumerate(&names)) }
    }

    fn conflict(&self, o: &Overlooked<'_>, read: &str, wrote: &str) -> String {
        let words = &self.words;
        let (older, newer, reader) = (words.node(o.older), words.node(o.newer), words.txn(o.reader));
        format!(
            "Readers disagree on which came first, {older} or {newer}: {reader} {read}, although it had seen \
             {newer}, which {wrote}; but others saw {older} first"
        )
    }

    /// A cycle of transactions: each comes before the next, and the last before the first.
    fn circle(&self, anomaly: Anomaly, edges: &[Edge]) -> String {
        let names: Vec<String> = edges.iter().map(|edge| self.words.node(edge.from)).collect();
        let all = enumerate(&names);
        let each = if names.len() == 2 { "each comes before the other" } else { "none can come first" };
        match (anomaly, edges) {
            (Anomaly::CyclicCausality, [one, two]) => match (&one.why, &two.why) {
                (Why::ReadFrom { read: a }, Why::ReadFrom { read: b }) => {
                    let (a, b) = (self.read_by(one, *a), self.read_by(two, *b));
                    format!("{a} and {b}: {each}")
                }
                _ => format!("{all} depend on each other by sessions and reads: {each}"),
            },
            (Anomaly::CyclicCausality, _) => {
                format!("{all} depend on one another in a cycle, by sessions and reads alone: {each}")
            }
            (Anomaly::DirtyWrite, _) => format!("{all} overwrote one another's writes: {each}"),
            (Anomaly::CircularInformationFlow, _) => {
                format!("Information flowed in a cycle between {all}: {each}")
            }
            (Anomaly::LostAppend, _) => self.lost(edges).unwrap_or_else(|| no_order(&all, each)),
            _ => no_order(&all, each),
        }
    }

    /// An append that a list lacks although it must contain it.
    fn lost(&self, edges: &[Edge]) -> Option<String> {
        let words = &self.words;
        edges.iter().find_map(|edge| {
            let Why::Missing { read, append } = edge.why else { return None };
            let ((reader, list), (writer, append)) = (words.of(read), words.of(append));
            let (reader, writer) = (words.txn(reader), words.txn(writer));
            let (read, element) = (words.past(list), words.value(append.value));
            Some(format!("{reader} {read}, which lacks the {element} that {writer} had appended before"))
        })
    }

    fn read_by(&self, edge: &Edge, read: Op) -> String {
        format!("{} {}", self.words.node(edge.to), self.read_from(read, edge.from))
    }
}

fn no_order(all: &str, each: &str) -> String {
    format!("No order of {all} explains what was read: {each}")
}
