//! Looking ahead: an open read none of whose sources can be.
//!
//! Saturation follows what is certain. Where many transactions wrote what a read returned (that a key is absent, for example), and
//! sessions say little about which of them was the last, it leaves most reads open. The solver would have to find the few reads that
//! matter among all clauses about the others. So each open read is looked at first: suppose that it is from one of its sources, and
//! follow what reachability forces on the reads whose source is known. If every source ends in a cycle, the axioms that led there
//! are a contradiction. They become the first clauses of the search, and the proof by cases follows from them.
//!
//! One source that cannot be excluded ends the look at its read, so most reads cost one source.
//!
//! The axioms are as in `saturate.rs`: t reads x from w, and b also writes x. If b reaches t, b is before w; if w reaches b, t misses
//! b. Every edge is followed when it is added: it lets all that reaches its start precede all that its end reaches, and only these
//! reads and writers can be concerned.
//!
//! Cost: sets of bits for all pairs of events, so small histories only, and at most [`MOST_LOOKS`] words and reads looked at.

use isoscope_history::Key;
use rustc_hash::FxHashMap;

use super::constraint::Constraint;
use super::events::{Events, Rules};
use super::problem::{Problem, Read};
use super::reach::{reversed, topological_order};
use super::sources::Source;
use crate::watch::Watch;

/// The most events of a history.
const MOST_EVENTS: u32 = 1 << 12;
/// The work after which no more reads are looked at: some hundredths of a second.
const MOST_LOOKS: u64 = 1 << 25;
/// The bits of a word.
const BITS: usize = u64::BITS as usize;

/// Axioms that contradict each other: that a read is from one of its sources, and what excludes each of them. Empty if no such read
/// is found.
pub(super) fn contradiction(
    problem: &Problem<'_>,
    events: &Events,
    edges: &[(u32, u32)],
    watch: &dyn Watch,
) -> Vec<Constraint> {
    let bytes = 2 * u64::from(events.nodes) * u64::from(events.nodes) / 8;
    if problem.open.is_empty() || events.nodes > MOST_EVENTS || watch.limit().is_some() || !watch.fits(bytes)
    {
        return Vec::new();
    }
    let Some(mut ahead) = Ahead::new(problem, events, edges) else { return Vec::new() };
    // The fewer sources, the more likely is a contradiction.
    let mut open: Vec<_> = problem.open.iter().collect();
    open.sort_by_key(|open| (open.sources.len(), open.read));
    for open in open {
        let found = ahead.look(open.read, open.sources.iter());
        if let Some(found) = found {
            return found;
        }
        if ahead.looks > MOST_LOOKS || watch.limit().is_some() {
            break;
        }
    }
    Vec::new()
}

/// What leads where, with the edges of a supposition.
struct Ahead<'a> {
    problem: &'a Problem<'a>,
    rules: Rules,
    /// The reads whose source is known, and last the one that is supposed.
    reads: Vec<(u32, Read)>,
    /// By key, its writers as a set of their commits.
    writers: FxHashMap<Key, Vec<u64>>,
    /// The words of a set of events.
    width: usize,
    /// For each event the set of those before it, and of those after it.
    before: Vec<u64>,
    after: Vec<u64>,
    /// The rows that a supposition changed, as they were: whether of `before`, the event and its words.
    changed: Vec<(bool, u32)>,
    old: Vec<u64>,
    /// Edges to be added.
    todo: Vec<(u32, u32)>,
    /// The axioms used.
    used: Vec<Constraint>,
    looks: u64,
}

/// An event cannot precede itself.
struct Cycle;

fn has(row: &[u64], event: u32) -> bool {
    row[event as usize / BITS] >> (event as usize % BITS) & 1 == 1
}

fn mark(row: &mut [u64], event: u32) {
    row[event as usize / BITS] |= 1 << (event as usize % BITS);
}

/// The events of a set.
fn marked(row: &[u64]) -> impl Iterator<Item = u32> + '_ {
    let bits = |word: u64| std::iter::successors(Some(word), |rest| Some(rest & rest.wrapping_sub(1)));
    row.iter().zip(0..).flat_map(move |(&word, i)| {
        let first = move |rest: u64| i * BITS as u32 + rest.trailing_zeros();
        bits(word).take_while(|&rest| rest != 0).map(first)
    })
}

impl<'a> Ahead<'a> {
    /// None if the edges have a cycle.
    fn new(problem: &'a Problem<'a>, events: &Events, edges: &[(u32, u32)]) -> Option<Ahead<'a>> {
        let (nodes, rules) = (events.nodes as usize, events.rules);
        let width = nodes.div_ceil(BITS);
        let mut before = vec![0; nodes * width];
        let mut after = vec![0; nodes * width];
        let back = reversed(nodes, edges);
        for node in topological_order(&back)? {
            for &earlier in back.successors(node) {
                for i in 0..width {
                    before[node as usize * width + i] |= before[earlier as usize * width + i];
                }
                mark(&mut before[node as usize * width..][..width], earlier);
            }
            for earlier in marked(&before[node as usize * width..][..width]) {
                mark(&mut after[earlier as usize * width..][..width], node);
            }
        }
        let known = |(_, read): &(u32, Read)| read.source != Source::OPEN;
        let reads = (0..).zip(problem.reads.iter().copied()).filter(known).collect();
        let mut writers: FxHashMap<Key, Vec<u64>> = FxHashMap::default();
        for read in &problem.reads {
            writers.entry(read.key).or_insert_with(|| {
                let mut row = vec![0; width];
                let present =
                    problem.history.writers(read.key).iter().filter(|txn| problem.is_present(txn.0));
                present.for_each(|txn| mark(&mut row, rules.commit(txn.0)));
                row
            });
        }
        Some(Ahead {
            problem,
            rules,
            reads,
            writers,
            width,
            before,
            after,
            changed: Vec::new(),
            old: Vec::new(),
            todo: Vec::new(),
            used: Vec::new(),
            looks: (nodes * width) as u64,
        })
    }

    /// Axioms that exclude all sources of a read, if they can be.
    fn look(&mut self, read: u32, sources: impl Iterator<Item = Source>) -> Option<Vec<Constraint>> {
        self.used = vec![Constraint::Sources { read }];
        for source in sources {
            let given = Read { source, ..self.problem.reads[read as usize] };
            self.reads.push((read, given));
            let excluded = self.suppose(read, given).is_err();
            self.reads.pop();
            self.take_back();
            if !excluded || self.looks > MOST_LOOKS {
                return None;
            }
        }
        Some(std::mem::take(&mut self.used))
    }

    /// Follows what holds if a read is from a source.
    fn suppose(&mut self, read: u32, given: Read) -> Result<(), Cycle> {
        let (rules, reader) = (self.rules, self.rules.begin(given.txn));
        if let Some(source) = given.source.txn() {
            self.todo.push((rules.commit(source), reader));
            // What leads to the reader already, and what the source leads to already.
            let (earlier, later) = (self.row(true, reader), self.row(false, rules.overwrite(source)));
            let (earlier, later) = (earlier.to_vec(), later.to_vec());
            self.force_before(read, given, &earlier)?;
            self.force_after(read, given, &later);
        } else {
            let all = self.writers[&given.key].clone();
            self.force_after(read, given, &all);
        }
        while let Some((from, to)) = self.todo.pop() {
            self.add(from, to)?;
        }
        Ok(())
    }

    fn row(&self, before: bool, event: u32) -> &[u64] {
        let rows = if before { &self.before } else { &self.after };
        &rows[event as usize * self.width..][..self.width]
    }

    /// The writers of what a read returned, but for its source and itself, in a set of events.
    fn writers_in(&mut self, read: Read, events: &[u64]) -> Vec<u32> {
        self.looks += self.width as u64;
        let both: Vec<u64> = self.writers[&read.key].iter().zip(events).map(|(a, b)| a & b).collect();
        let others = marked(&both).map(|event| self.rules.txn(event));
        others.filter(|&txn| txn != read.txn && !read.source.is(txn)).collect()
    }

    /// The writers among some events, which precede the reader, are before the source.
    fn force_before(&mut self, read: u32, given: Read, events: &[u64]) -> Result<(), Cycle> {
        for writer in self.writers_in(given, events) {
            let Some(source) = given.source.txn() else {
                self.used.push(Constraint::Between { read, source: given.source, writer });
                return Err(Cycle);
            };
            self.force(read, given, writer, (self.rules.commit(writer), self.rules.overwrite(source)));
        }
        Ok(())
    }

    /// The reader misses the writers among some events, which come after the source.
    fn force_after(&mut self, read: u32, given: Read, events: &[u64]) {
        for writer in self.writers_in(given, events) {
            self.force(read, given, writer, (self.rules.begin(given.txn), self.rules.commit(writer)));
        }
    }

    fn force(&mut self, read: u32, given: Read, writer: u32, edge: (u32, u32)) {
        if !has(self.row(true, edge.1), edge.0) {
            self.used.push(Constraint::Between { read, source: given.source, writer });
            self.todo.push(edge);
        }
    }

    /// Adds an edge, and what it forces.
    fn add(&mut self, from: u32, to: u32) -> Result<(), Cycle> {
        if from == to || has(self.row(false, to), from) {
            return Err(Cycle);
        }
        if has(self.row(true, to), from) {
            return Ok(());
        }
        let (mut earlier, mut later) = (self.row(true, from).to_vec(), self.row(false, to).to_vec());
        mark(&mut earlier, from);
        mark(&mut later, to);
        self.join(false, &earlier, &later);
        self.join(true, &later, &earlier);
        for i in 0..self.reads.len() {
            let (read, given) = self.reads[i];
            self.looks += 1;
            if has(&later, self.rules.begin(given.txn)) {
                self.force_before(read, given, &earlier)?;
            }
            if let Some(source) = given.source.txn()
                && has(&earlier, self.rules.overwrite(source))
            {
                self.force_after(read, given, &later);
            }
        }
        Ok(())
    }

    /// Adds a set to the rows of some events.
    fn join(&mut self, before: bool, events: &[u64], set: &[u64]) {
        let Ahead { width, old, changed, looks, .. } = self;
        let rows = if before { &mut self.before } else { &mut self.after };
        for event in marked(events) {
            let row = &mut rows[event as usize * *width..][..*width];
            *looks += *width as u64;
            if row.iter().zip(set).any(|(row, set)| set & !row != 0) {
                changed.push((before, event));
                old.extend_from_slice(row);
                row.iter_mut().zip(set).for_each(|(row, set)| *row |= set);
            }
        }
    }

    /// Forgets a supposition.
    fn take_back(&mut self) {
        let width = self.width;
        self.todo.clear();
        while let Some((before, event)) = self.changed.pop() {
            let rows = if before { &mut self.before } else { &mut self.after };
            let from = self.old.len() - width;
            rows[event as usize * width..][..width].copy_from_slice(&self.old[from..]);
            self.old.truncate(from);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]
mod tests {
    use isoscope_history::notation;
    use isoscope_levels::Level;

    use super::*;
    use crate::resolve::Resolved;
    use crate::strong::saturate::{self, Known, Outcome};
    use crate::watch::NoLimits;

    /// What looking ahead finds after saturation.
    fn found(text: &str, level: Level) -> Vec<Constraint> {
        let history = notation::parse(text).unwrap();
        let resolved = Resolved::new(&history);
        let rules = Rules::of(level, false).unwrap();
        let mut problem = Problem::new(&history, &resolved, false, &NoLimits).unwrap();
        let mut edges = Vec::new();
        let events = Events::new(&history, &resolved, rules, &mut edges, &NoLimits).unwrap();
        saturate::given(&problem, &events, &mut edges);
        let mut known = Known::new(edges);
        let outcome = saturate::saturate(&mut problem, &events, &mut known, &NoLimits);
        assert!(matches!(outcome, Outcome::Fixpoint), "{text}: saturation decides it");
        contradiction(&problem, &events, &known.edges, &NoLimits)
    }

    /// T1 is before T2, which does not find what T1 inserted. A transaction that deleted it in between would be before Q, as T2 reads
    /// from Q, and so before T1.
    #[test]
    fn a_read_without_a_possible_source_is_found() {
        let skewed = |last: &str| {
            format!(
                "init=nil  W: w(x,1)  Q: w(q,9)  D1: w(q,1) d(y)  D2: w(q,2) d(y)  D3: w(q,3) d(y)  \
                 T1: r(x,1) r(q,9) r(y,nil) i(y,5)  T2: r(x,1) r(y,nil) w(x,2) {last}"
            )
        };
        for level in [Level::AdyaPl299, Level::Serializable] {
            let read = |constraint: &Constraint| matches!(constraint, Constraint::Sources { .. });
            let constraints = found(&skewed("r(q,9)"), level);
            assert_eq!(constraints.iter().filter(|constraint| read(constraint)).count(), 1, "{level}");
            assert!(constraints.len() > 3, "{level}: {constraints:?}");
            assert_eq!(found(&skewed(""), level), [], "{level}");
        }
    }
}
