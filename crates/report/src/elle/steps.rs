//! A cycle in the form Elle draws it: operations, and between them steps with the micro-operations that prove
//! them.
//!
//! A forced edge of a certificate connects two writers: the newer one is forced before the older one, and the
//! rest of the cycle shows that it is later. Elle's cycle passes through the reader, which saw the newer
//! writer and read what that one had overwritten. Both say the same unless the rest of the cycle has forced
//! edges, too. Then no single reader shows the cycle, and the certificate's cycle is drawn.

use isoscope_certificate::{Edge, Node, Seen, Through, Why};
use isoscope_history::{Datum, History, Key, Op, OpKind, OpView, RangeRow, Txn, Value};

use super::keyword::{Cyclic, Shape};
use super::ops::{completion, invocation, join, mop, mop_index, value};

/// The kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    WriteWrite,
    WriteRead,
    ReadWrite,
    /// An anti-dependency of a range read.
    RangeWrite,
    Process,
    Realtime,
    /// An order of two writers that other reads force or a proof by cases assumes. Elle has no such
    /// dependency.
    Forced,
}

struct Step {
    from: Node,
    kind: Kind,
    text: String,
}

/// A drawn cycle.
pub(super) struct Drawn {
    steps: Vec<Step>,
    nodes: String,
}

impl Drawn {
    pub(super) fn of(history: &History, edges: &[Edge]) -> Drawn {
        let steps = steps(history, edges);
        let nodes = steps.iter().chain(steps.first()).map(|step| match step.from {
            Node::Initial => ":init".to_owned(),
            Node::Txn(txn) => completion(history, txn),
        });
        let nodes = join(nodes);
        Drawn { steps, nodes }
    }

    /// `:cycle` and `:steps`.
    pub(super) fn fields(&self) -> [String; 2] {
        let steps = join(self.steps.iter().map(|step| step.text.clone()));
        [format!(":cycle [{}]", self.nodes), format!(":steps ({steps})")]
    }

    /// Elle's keyword for the cycle, if all its steps are dependencies of Elle's. It depends on the number of
    /// anti-dependencies and on whether two of them are adjacent. A list can show an order of writes where the writes
    /// themselves do not, so a cycle of overwrites is G1c here.
    pub(super) fn keyword(&self) -> Option<Cyclic> {
        let kinds: Vec<Kind> = self.steps.iter().map(|step| step.kind).collect();
        let has = |kind| kinds.contains(&kind);
        if has(Kind::Forced) || self.steps.iter().any(|step| step.from == Node::Initial) {
            return None;
        }
        let is_anti = |kind: Kind| matches!(kind, Kind::ReadWrite | Kind::RangeWrite);
        let touching = (0..kinds.len()).any(|i| is_anti(kinds[i]) && is_anti(kinds[(i + 1) % kinds.len()]));
        let shape = match kinds.iter().filter(|&&kind| is_anti(kind)).count() {
            0 if has(Kind::WriteRead) || has(Kind::WriteWrite) => Shape::G1c,
            0 => return None,
            1 => Shape::GSingle,
            _ if touching => Shape::G2,
            _ => Shape::GNonadjacent,
        };
        let item = has(Kind::ReadWrite) && !has(Kind::RangeWrite);
        let orders = if has(Kind::Realtime) {
            Through::RealTime
        } else if has(Kind::Process) {
            Through::Sessions
        } else {
            Through::Dependencies
        };
        Some(Cyclic { shape, item, orders })
    }
}

fn steps(history: &History, edges: &[Edge]) -> Vec<Step> {
    let forced = |edge: &Edge| matches!(edge.why, Why::Forced { .. });
    match edges {
        [Edge { from: newer, why: Why::Forced { read, seen }, .. }, rest @ ..]
            if !rest.iter().any(forced) =>
        {
            let mut steps = match seen {
                Seen::Read(op) => vec![write_read(history, *newer, *op)],
                Seen::Session => vec![process(history, *newer)],
                Seen::Causal(path) => path.iter().map(|edge| step(history, edge)).collect(),
            };
            steps.push(read_write(history, *read, *newer));
            steps
        }
        _ => edges.iter().map(|edge| step(history, edge)).collect(),
    }
}

fn step(history: &History, edge: &Edge) -> Step {
    match &edge.why {
        Why::Session => process(history, edge.from),
        Why::RealTime => realtime(history, edge),
        Why::ReadFrom { read } => write_read(history, edge.from, *read),
        Why::Misses { read } => read_write(history, *read, edge.to),
        Why::Versions { read, index } => {
            let view = history.op(*read);
            let elements = history.table().elements(view.value);
            // Elements that nobody appended may stand between the two.
            let is_older = |value: &&Value| write_of(history, edge.from, view.key, Some(**value)).is_some();
            let older = elements.get(..*index as usize).and_then(|before| before.iter().rev().find(is_older));
            write_write(history, edge, view.key, older.copied(), elements.get(*index as usize).copied())
        }
        Why::Missing { read, append } => {
            let older = history.table().elements(history.op(*read).value).last().copied();
            write_write(history, edge, history.key_of(*append), older, Some(history.op(*append).value))
        }
        Why::Overwritten { key } => Step { kind: Kind::Forced, ..overwritten(history, edge, *key) },
        Why::Forced { read, .. } => {
            Step { kind: Kind::Forced, ..overwritten(history, edge, history.key_of(*read)) }
        }
    }
}

fn process(history: &History, from: Node) -> Step {
    let process = match from {
        Node::Initial => String::new(),
        Node::Txn(txn) => {
            format!(", :process {}", value(history, history.session_name(history.session_of(txn))))
        }
    };
    Step { from, kind: Kind::Process, text: format!("{{:type :process{process}}}") }
}

/// One transaction completed, `:a'`, before the other was invoked, `:b`.
fn realtime(history: &History, edge: &Edge) -> Step {
    let side = |name: &str, node: Node, of: fn(&History, Txn) -> String| match node {
        Node::Initial => String::new(),
        Node::Txn(txn) => format!(", :{name} {}", of(history, txn)),
    };
    let (a, b) = (side("a'", edge.from, completion), side("b", edge.to, invocation));
    Step { from: edge.from, kind: Kind::Realtime, text: format!("{{:type :realtime{a}{b}}}") }
}

fn write_read(history: &History, from: Node, read: Op) -> Step {
    let view = history.op(read);
    // For a list, the last element that the writer appended; for a range, a row that it wrote or removed.
    let elements = history.table().elements(view.value);
    let seen = elements.iter().rev().find_map(|&element| write_of(history, from, view.key, Some(element)));
    let wrote = match history.range(read) {
        Some(row) => ranged_write(history, row, from, true),
        None => seen.or_else(|| last_write(history, from, view.key)),
    };
    let what = wrote.map_or_else(|| version(history, view, view.key), |write| value(history, write.value));
    let rest = format!(
        ", :value {what}{}{}",
        predicate(history, view),
        places(history, wrote.map(|write| write.id), Some(read))
    );
    let key = wrote.map_or(view.key, |write| write.key);
    dependency(history, from, Kind::WriteRead, ":wr", key, &rest)
}

fn read_write(history: &History, read: Op, to: Node) -> Step {
    let view = history.op(read);
    let from = Node::Txn(history.txn_of(read));
    let elements = history.table().elements(view.value);
    // For a list, the first element that it lacks; for a range, a row that has changed since.
    let new = match history.range(read) {
        Some(row) => ranged_write(history, row, to, false),
        None => first_write(history, to, view.key, |write| !elements.contains(&write.value))
            .filter(|write| write.kind == OpKind::Append)
            .or_else(|| last_write(history, to, view.key)),
    };
    let is_ranged = view.kind == OpKind::RangeRead || view.in_range;
    let (kind, marked) =
        if is_ranged { (Kind::RangeWrite, ", :predicate? true") } else { (Kind::ReadWrite, "") };
    let key = new.map_or(view.key, |write| write.key);
    let new_value =
        new.map_or_else(String::new, |write| format!(", :value' {}", value(history, write.value)));
    let rest = format!(
        ", :value {}{new_value}{marked}{}{}",
        version(history, view, key),
        predicate(history, view),
        places(history, Some(read), new.map(|write| write.id))
    );
    dependency(history, from, kind, ":rw", key, &rest)
}

/// The last write of a key in a range, either with the value that the range read found or with another one
/// (`found`). A key that was not found has the value nil.
fn ranged_write(history: &History, row: &RangeRow, node: Node, found: bool) -> Option<OpView> {
    let Node::Txn(txn) = node else { return None };
    history.ops_of(txn).rfind(|op| {
        let name = history.key_name(op.key);
        op.last_write
            && op.kind.is_write()
            && row.covers(history.table(), name)
            && (row_value(row, name) == op.value) == found
    })
}

/// The value that a range read found for a key.
fn row_value(row: &RangeRow, key: Value) -> Value {
    row.live.iter().find(|&&(name, _)| name == key).map_or(Value::NIL, |&(_, value)| value)
}

/// The read itself, if it is a range read.
fn predicate(history: &History, read: OpView) -> String {
    match read.kind {
        OpKind::RangeRead => format!(", :predicate-read {}", mop(history, read)),
        _ => String::new(),
    }
}

fn write_write(history: &History, edge: &Edge, key: Key, old: Option<Value>, new: Option<Value>) -> Step {
    let old_write = write_of(history, edge.from, key, old);
    let new_write = write_of(history, edge.to, key, new);
    let side = |name: &str, wrote: Option<Value>| {
        wrote.map_or_else(String::new, |wrote| format!(", :{name} {}", value(history, wrote)))
    };
    let rest = format!(
        "{}{}{}",
        side("value", old),
        side("value'", new),
        places(history, old_write.map(|write| write.id), new_write.map(|write| write.id))
    );
    dependency(history, edge.from, Kind::WriteWrite, ":ww", key, &rest)
}

/// One writer of a key after another, with the value each left.
fn overwritten(history: &History, edge: &Edge, key: Key) -> Step {
    let left = |node| last_write(history, node, key).map(|write| write.value);
    write_write(history, edge, key, left(edge.from), left(edge.to))
}

fn dependency(history: &History, from: Node, kind: Kind, word: &str, key: Key, rest: &str) -> Step {
    let key = value(history, history.key_name(key));
    Step { from, kind, text: format!("{{:type {word}, :key {key}{rest}}}") }
}

/// The indices of the two micro-operations in their transactions.
fn places(history: &History, a: Option<Op>, b: Option<Op>) -> String {
    let place = |name: &str, op: Option<Op>| {
        op.map_or_else(String::new, |op| format!(", :{name} {}", mop_index(history, op)))
    };
    place("a-mop-index", a) + &place("b-mop-index", b)
}

/// The version of a key that a read returned: the last element of a list, Elle's word for the empty list, or
/// the value.
fn version(history: &History, read: OpView, key: Key) -> String {
    if let Some(row) = history.range(read.id) {
        return value(history, row_value(row, history.key_name(key)));
    }
    match history.datum(read.value) {
        Datum::List(elements) => {
            elements.last().map_or(":elle.list-append/init".to_owned(), |&last| value(history, last))
        }
        _ => value(history, read.value),
    }
}

fn first_write(history: &History, node: Node, key: Key, wanted: impl Fn(&OpView) -> bool) -> Option<OpView> {
    let Node::Txn(txn) = node else { return None };
    history.ops_of(txn).find(|op| op.kind.is_write() && op.key == key && wanted(op))
}

/// The write of a value, if the value is known.
fn write_of(history: &History, node: Node, key: Key, wrote: Option<Value>) -> Option<OpView> {
    first_write(history, node, key, |write| Some(write.value) == wrote)
}

/// The last write of a key by a transaction.
fn last_write(history: &History, node: Node, key: Key) -> Option<OpView> {
    let Node::Txn(txn) = node else { return None };
    history.ops_of(txn).rfind(|op| op.kind.is_write() && op.key == key)
}
