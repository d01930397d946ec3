//! A prover of violations that knows nothing but the definitions, for proofs that no engine has made.
//!
//! It tries everything, so it is for small histories; it finds a proof exactly when the level is violated.

use isoscope_check::{Case, Choice, Edge, Node, Proof, Why};
use isoscope_history::{History, Key, Op, OpKind, OpView, Outcome, Txn, Value};
use isoscope_levels::Level;

use super::claims::Claim;

/// A prover of violations that tries everything: it assumes the writer of every read that has several and the
/// order of every two writers of a key, until there is a cycle that the level forbids.
pub(super) struct Prover<'a> {
    history: &'a History,
    level: Level,
    sources: Vec<(Op, Node)>,
    versions: Vec<(Key, Txn, Txn)>,
    cases: Vec<Case>,
}

impl Prover<'_> {
    /// A proof, or none where some way to choose is free of forbidden cycles.
    pub(super) fn prove(history: &History, level: Level) -> Option<Proof> {
        let (sources, versions, cases) = (Vec::new(), Vec::new(), Vec::new());
        let mut prover = Prover { history, level, sources, versions, cases };
        prover.refute().then_some(Proof { cases: prover.cases })
    }

    /// Adds the node that refutes what is assumed.
    fn refute(&mut self) -> bool {
        let place = self.cases.len();
        if let Some(cycle) = self.cycle() {
            self.cases.push(Case::Cycle(cycle));
            return true;
        }
        let Some(choice) = self.open_choice() else { return false };
        let cases = Vec::new();
        self.cases.push(Case::Split { choice: choice.clone(), cases });
        let alternatives = match &choice {
            Choice::Source { writers, .. } => writers.len(),
            Choice::Versions { .. } => 2,
        };
        for i in 0..alternatives {
            let child = self.cases.len() as u32;
            let Case::Split { cases, .. } = &mut self.cases[place] else { unreachable!() };
            cases.push(child);
            let refuted = match &choice {
                Choice::Source { read, writers } => {
                    self.sources.push((*read, writers[i]));
                    let refuted = self.refute();
                    self.sources.pop();
                    refuted
                }
                Choice::Versions { key, first, second } => {
                    let (t, s) = if i == 0 { (*first, *second) } else { (*second, *first) };
                    self.versions.push((*key, t, s));
                    let refuted = self.refute();
                    self.versions.pop();
                    refuted
                }
            };
            if !refuted {
                return false;
            }
        }
        true
    }

    fn part(&self, read: OpView) -> Option<Vec<Value>> {
        let txn = self.history.txn_of(read.id);
        let own = self.history.ops_of(txn).filter(|op| op.id < read.id && op.key == read.key);
        let own: Vec<Value> = own.filter(|op| op.kind == OpKind::Append).map(|op| op.value).collect();
        self.history.table().elements(read.value).strip_suffix(&own[..]).map(<[Value]>::to_vec)
    }

    fn live(&self) -> impl Iterator<Item = Txn> {
        self.history.txns().filter(|&txn| self.history.outcome(txn) != Outcome::Aborted)
    }

    /// The possible writers of a read of another's value: none when it is wrong by itself.
    fn writers(&self, read: OpView) -> Option<Vec<Node>> {
        let (history, txn) = (self.history, self.history.txn_of(read.id));
        let mut own =
            history.ops_of(txn).filter(|op| op.id < read.id && op.key == read.key && op.kind.is_write());
        let claim = Claim { history, order: &[txn] };
        if read.value == Value::UNKNOWN {
            return None;
        } else if read.kind == OpKind::Read && own.next().is_some() {
            return if claim.is_right(0, read, &[]) { None } else { Some(Vec::new()) };
        }
        let (value, is_initial) = if read.kind == OpKind::ReadList {
            let Some(part) = self.part(read).filter(|part| self.is_possible(txn, read.key, part)) else {
                return Some(Vec::new());
            };
            (part.last().copied(), part.is_empty())
        } else {
            (Some(read.value), history.is_initial(read.key, read.value))
        };
        let wrote = |&other: &Txn| {
            let last = history.ops_of(other).rfind(|op| op.kind.is_write() && op.key == read.key);
            other != txn && last.is_some_and(|op| Some(op.value) == value)
        };
        let initial = is_initial.then_some(Node::Initial);
        Some(initial.into_iter().chain(self.live().filter(wrote).map(Node::Txn)).collect())
    }

    /// Whether a list without repetitions may be right: it holds of each other transaction the first appends
    /// in their order, and nothing else.
    fn is_possible(&self, reader: Txn, key: Key, part: &[Value]) -> bool {
        let appends = |txn| {
            let ops = self.history.ops_of(txn).filter(move |op| op.key == key && op.kind == OpKind::Append);
            ops.map(|op| op.value).collect::<Vec<_>>()
        };
        let mut held = 0;
        let in_order = self.live().filter(|&txn| txn != reader).all(|txn| {
            let appends = appends(txn);
            let here: Vec<Value> = part.iter().copied().filter(|element| appends.contains(element)).collect();
            held += here.len();
            appends.starts_with(&here)
        });
        in_order && held == part.len()
    }

    fn source(&self, read: OpView) -> Option<Node> {
        match self.writers(read)?.as_slice() {
            [only] => Some(*only),
            _ => self.sources.iter().find(|&&(op, _)| op == read.id).map(|&(_, node)| node),
        }
    }

    /// Who took effect as far as is known.
    fn present(&self) -> Vec<Txn> {
        let mut present: Vec<Txn> =
            self.live().filter(|&txn| self.history.outcome(txn) == Outcome::Committed).collect();
        let mut next = 0;
        while next < present.len() {
            let txn = present[next];
            next += 1;
            for read in self.history.ops_of(txn).filter(|op| op.kind.is_read()) {
                let mut found: Vec<Txn> = match self.source(read) {
                    Some(Node::Txn(writer)) => vec![writer],
                    _ => Vec::new(),
                };
                let list = self.history.table().elements(read.value).to_vec();
                let part = self.part(read).filter(|_| read.kind == OpKind::ReadList).unwrap_or(list);
                found.extend(self.live().filter(|&other| {
                    let mut ops = self.history.ops_of(other);
                    ops.any(|op| op.kind == OpKind::Append && op.key == read.key && part.contains(&op.value))
                }));
                found.retain(|txn| !present.contains(txn));
                found.dedup();
                present.extend(found);
            }
        }
        present.sort_unstable();
        present.dedup();
        present
    }

    fn open_choice(&self) -> Option<Choice> {
        let present = self.present();
        let reads =
            || present.iter().flat_map(|&txn| self.history.ops_of(txn)).filter(|op| op.kind.is_read());
        for read in reads() {
            match self.writers(read) {
                Some(writers) if writers.len() != 1 && self.source(read).is_none() => {
                    return Some(Choice::Source { read: read.id, writers });
                }
                _ => {}
            }
        }
        for key in self.history.keys() {
            let writers: Vec<Txn> =
                self.history.writers(key).iter().copied().filter(|txn| present.contains(txn)).collect();
            for (i, &first) in writers.iter().enumerate() {
                for &second in &writers[i + 1..] {
                    let pairs = [(key, first, second), (key, second, first)];
                    if !self.versions.iter().any(|pair| pairs.contains(pair)) {
                        return Some(Choice::Versions { key, first, second });
                    }
                }
            }
        }
        None
    }

    /// All edges between transactions that took effect, whatever the level.
    fn edges(&self) -> Vec<Edge> {
        let present = self.present();
        let mut edges = Vec::new();
        let mut add = |from: Txn, to: Txn, why: Why| {
            if from != to {
                edges.push(Edge { from: Node::Txn(from), to: Node::Txn(to), why });
            }
        };
        let claim = Claim { history: self.history, order: &present };
        for (i, &t) in present.iter().enumerate() {
            for (j, &s) in present.iter().enumerate() {
                if claim.in_session(i, j) {
                    add(t, s, Why::Session);
                }
                if claim.in_real_time(i, j) {
                    add(t, s, Why::RealTime);
                }
            }
        }
        for &(key, t, s) in &self.versions {
            add(t, s, Why::Overwritten { key });
        }
        for &reader in &present {
            for read in self.history.ops_of(reader).filter(|op| op.kind.is_read()) {
                let source = self.source(read);
                if let Some(Node::Txn(writer)) = source {
                    add(writer, reader, Why::ReadFrom { read: read.id });
                }
                for &other in self.history.writers(read.key).iter().filter(|txn| present.contains(txn)) {
                    let missed = match source {
                        Some(Node::Initial) => true,
                        Some(Node::Txn(writer)) => self.versions.contains(&(read.key, writer, other)),
                        None => false,
                    };
                    if missed {
                        add(reader, other, Why::Misses { read: read.id });
                    }
                }
                if read.kind == OpKind::ReadList && read.value != Value::UNKNOWN {
                    self.list_edges(&present, read, &mut add);
                }
            }
        }
        edges
    }

    /// What a list shows of versions.
    fn list_edges(&self, present: &[Txn], read: OpView, add: &mut impl FnMut(Txn, Txn, Why)) {
        let reader = self.history.txn_of(read.id);
        let part = self.part(read).filter(|part| self.is_possible(reader, read.key, part));
        let Some(part) = part else { return };
        let appender = |value: Value| {
            let wrote = |op: OpView| op.kind == OpKind::Append && op.key == read.key && op.value == value;
            self.live().find(|&txn| self.history.ops_of(txn).any(wrote))
        };
        let list = self.history.table().elements(read.value);
        for (i, pair) in list.windows(2).enumerate() {
            if let (Some(t), Some(s)) = (appender(pair[0]), appender(pair[1])) {
                add(t, s, Why::Versions { read: read.id, index: i as u32 + 1 });
            }
        }
        let last = list.last().and_then(|&element| appender(element));
        for &txn in present {
            for append in
                self.history.ops_of(txn).filter(|op| op.kind == OpKind::Append && op.key == read.key)
            {
                if !part.contains(&append.value) {
                    add(reader, txn, Why::Misses { read: read.id });
                }
                if let Some(last) = last.filter(|_| !list.contains(&append.value)) {
                    add(last, txn, Why::Missing { read: read.id, append: append.id });
                }
            }
        }
    }

    /// A cycle through different transactions that the level forbids.
    fn cycle(&self) -> Option<Vec<Edge>> {
        let level = self.level;
        let known = |edge: &Edge| match edge.why {
            Why::Session => level.implies(Level::ReadCommitted),
            Why::RealTime => level.implies(Level::StrictSnapshot),
            Why::Misses { .. } => level != Level::AdyaPl2,
            _ => true,
        };
        let edges: Vec<Edge> = self.edges().into_iter().filter(known).collect();
        let mut paths: Vec<Vec<usize>> = (0..edges.len()).map(|i| vec![i]).collect();
        while let Some(path) = paths.pop() {
            let (first, last) = (&edges[path[0]], &edges[path[path.len() - 1]]);
            if last.to == first.from {
                let cycle: Vec<Edge> = path.iter().map(|&i| edges[i].clone()).collect();
                if is_forbidden(level, &cycle) {
                    return Some(cycle);
                }
                continue;
            }
            for (i, edge) in edges.iter().enumerate().filter(|(_, edge)| edge.from == last.to) {
                if path.iter().all(|&j| edges[j].to != edge.to) {
                    paths.push([&path[..], &[i]].concat());
                }
            }
        }
        None
    }
}

/// Framework 3, along a cycle written as a word of `s`, `w`, `v` and `r`: so, wr, ww and rw.
fn is_forbidden(level: Level, cycle: &[Edge]) -> bool {
    let letter = |edge: &Edge| match edge.why {
        Why::Session | Why::RealTime => 's',
        Why::ReadFrom { .. } => 'w',
        Why::Misses { .. } => 'r',
        _ => 'v',
    };
    let word: String = cycle.iter().map(letter).collect();
    let around = format!("{word}{word}");
    let (reads, versions) = (word.matches('r').count(), word.contains('v'));
    match level {
        _ if reads == 0 => true,
        Level::AdyaPl2 => false,
        Level::ReadAtomic => reads == 1 && !versions && word.len() == 2,
        Level::Causal => reads == 1 && !versions,
        Level::ParallelSnapshot => reads == 1,
        Level::Prefix => !around.contains("rr") && !around.contains("vr"),
        Level::Snapshot | Level::StrictSnapshot => !around.contains("rr"),
        _ => true,
    }
}

/// The levels that the prover knows.
pub(super) const PROVABLE: [Level; 10] = [
    Level::AdyaPl2,
    Level::ReadAtomic,
    Level::Causal,
    Level::Prefix,
    Level::ParallelSnapshot,
    Level::Snapshot,
    Level::AdyaPl299,
    Level::Serializable,
    Level::StrictSnapshot,
    Level::StrictSerializable,
];
