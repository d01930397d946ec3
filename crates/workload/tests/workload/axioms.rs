//! A transcription of docs/levels.md, "Commit orders": a history satisfies a level if some total order `co`
//! of its transactions contains `so` and `wr` and, for all `t1`, `t2` that write `x` and `t3` that reads `x`
//! from `t1`, PHI(t2, t3) implies co(t2, t1). All orders are tried. Speed does not matter here.
//!
//! Transaction 0 is the initial state. Values must be unique per key. A list read counts as a read from the
//! writer of its last element. The order of elements must agree with `co`: first the elements of the list in
//! their order, then the missing elements.

use std::collections::{HashMap, HashSet};

use isoscope_history::{Datum, History, Key, OpKind, Outcome, Txn, Value};
use isoscope_levels::Level;
use isoscope_workload::Store;

/// The reads of a transaction from others: key and writer, in program order.
pub(crate) type Reads = Vec<(u32, usize)>;

/// The committed transactions of a history, by number, and the relations between them.
#[derive(Debug, Default)]
pub(crate) struct Abstract {
    pub(crate) reads: Vec<Reads>,
    pub(crate) writes: Vec<HashSet<u32>>,
    /// `so | wr`.
    pub(crate) direct: Vec<Vec<bool>>,
    /// `(so | wr)+`.
    pub(crate) causal: Vec<Vec<bool>>,
    /// Additional edges that `co` must contain.
    given: Vec<(usize, usize)>,
}

/// Whether a history satisfies a level.
pub(crate) fn satisfies(history: &History, level: Level) -> bool {
    abstracted(history).is_some_and(|a| a.has_order(level))
}

/// Whether a history is serializable in an order that agrees with real-time order.
pub(crate) fn strictly_serializable(history: &History) -> bool {
    let Some(mut a) = abstracted(history) else { return false };
    let events = history.events().expect("every run records events");
    let (_, numbers) = committed(history);
    for (&t, &i) in &numbers {
        for (&s, &j) in &numbers {
            if events.end[t.index()] < events.start[s.index()] {
                a.given.push((i, j));
            }
        }
    }
    a.has_order(Level::Serializable)
}

/// The committed transactions and those of unknown outcome that another one reads from, with their numbers.
pub(crate) fn committed(history: &History) -> (Vec<Txn>, HashMap<Txn, usize>) {
    let reads_of_another = |reader, writer| {
        history.ops_of(reader).filter(|op| reader != writer && op.kind.is_read()).any(|read| {
            let seen = contents(history, read.value);
            history
                .ops_of(writer)
                .any(|op| op.kind.is_write() && op.key == read.key && seen.contains(&op.value))
        })
    };
    let was_read = |writer| history.txns().any(|reader| reads_of_another(reader, writer));
    let kept: Vec<Txn> = history
        .txns()
        .filter(|&txn| match history.outcome(txn) {
            Outcome::Committed => true,
            Outcome::Aborted => false,
            Outcome::Unknown => was_read(txn),
        })
        .collect();
    let numbers = kept.iter().zip(1..).map(|(&txn, number)| (txn, number)).collect();
    (kept, numbers)
}

/// The elements of a list, or the value of a register.
fn contents(history: &History, value: Value) -> Vec<Value> {
    match history.datum(value) {
        Datum::List(elements) => elements.to_vec(),
        _ => vec![value],
    }
}

/// The relations of a history; `None` if a read is wrong at every level: it does not return the transaction's
/// own last write, or returns a value that is not the final write of a committed transaction.
pub(crate) fn abstracted(history: &History) -> Option<Abstract> {
    let (kept, numbers) = committed(history);
    let mut a = Abstract { reads: vec![Reads::new()], writes: vec![HashSet::new()], ..Abstract::default() };
    let mut writer: HashMap<(u32, Value), (usize, bool)> = HashMap::new();
    a.writes[0] = history.keys().map(|key| key.0).collect();
    for &txn in &kept {
        a.writes.push(HashSet::new());
        for op in history.ops_of(txn).filter(|op| op.kind.is_write()) {
            a.writes[numbers[&txn]].insert(op.key.0);
            let other = writer.insert((op.key.0, op.value), (numbers[&txn], op.last_write));
            assert_eq!(other, None, "values are unique");
        }
    }
    for &txn in &kept {
        let mut reads = Reads::new();
        for op in history.ops_of(txn).filter(|op| op.kind.is_read()) {
            let own: Vec<Value> = history
                .ops_of(txn)
                .take_while(|other| other.id != op.id)
                .filter(|other| other.kind.is_write() && other.key == op.key)
                .map(|other| other.value)
                .collect();
            let from_others = match op.kind {
                OpKind::ReadList => {
                    let elements = contents(history, op.value);
                    let distinct: HashSet<Value> = elements.iter().copied().collect();
                    if distinct.len() < elements.len() || !keeps_program_order(history, op.key, &elements) {
                        return None;
                    }
                    elements.strip_suffix(&own[..])?.last().copied()
                }
                _ if own.is_empty() => Some(op.value).filter(|&value| !history.is_initial(op.key, value)),
                _ if own.last() == Some(&op.value) => continue,
                _ => return None,
            };
            let from = match from_others {
                None => 0,
                Some(value) => match writer.get(&(op.key.0, value)) {
                    Some(&(number, true)) if number != numbers[&txn] => number,
                    _ => return None,
                },
            };
            reads.push((op.key.0, from));
        }
        a.reads.push(reads);
    }
    a.order_elements(history, &writer);
    a.relate(|i, j| i == 0 || history.session_of(kept[i - 1]) == history.session_of(kept[j - 1]) && i < j);
    Some(a)
}

/// Whether a list contains the appends of each transaction in program order, without a gap.
fn keeps_program_order(history: &History, key: Key, elements: &[Value]) -> bool {
    history.txns().all(|txn| {
        let appends = history.ops_of(txn).filter(|op| op.kind.is_write() && op.key == key);
        let places: Vec<_> = appends.map(|op| elements.iter().position(|&e| e == op.value)).collect();
        let held: Vec<_> = places.iter().map_while(|place| *place).collect();
        held.is_sorted() && places[held.len()..].iter().all(Option::is_none)
    })
}

impl Abstract {
    /// Adds the order of elements in lists to `co`.
    fn order_elements(&mut self, history: &History, writer: &HashMap<(u32, Value), (usize, bool)>) {
        for op in history.txns().flat_map(|txn| history.ops_of(txn)).filter(|op| op.kind == OpKind::ReadList)
        {
            let elements = contents(history, op.value);
            let writers: Vec<usize> = elements
                .iter()
                .filter_map(|&element| writer.get(&(op.key.0, element)).map(|w| w.0))
                .collect();
            self.given.extend(writers.windows(2).filter(|w| w[0] != w[1]).map(|w| (w[0], w[1])));
            let Some(&last) = writers.last() else { continue };
            let missing =
                writer.iter().filter(|((key, value), _)| *key == op.key.0 && !elements.contains(value));
            self.given.extend(missing.map(|(_, w)| (last, w.0)).filter(|(last, w)| last != w));
        }
    }

    fn relate(&mut self, so: impl Fn(usize, usize) -> bool) {
        let n = self.reads.len();
        let reads_from = |i: usize, j: usize| self.reads[j].iter().any(|&(_, from)| from == i);
        self.direct = (0..n)
            .map(|i| (0..n).map(|j| j > 0 && i != j && (so(i, j) || reads_from(i, j))).collect())
            .collect();
        self.causal = self.direct.clone();
        for k in 0..n {
            let after = self.causal[k].clone();
            for row in self.causal.iter_mut().filter(|row| row[k]) {
                row.iter_mut().zip(&after).for_each(|(reached, &also)| *reached |= also);
            }
        }
    }

    fn has_order(&self, level: Level) -> bool {
        self.extend(&mut vec![0], level)
    }

    /// Tries all extensions of an order that contains all predecessors of its members.
    fn extend(&self, order: &mut Vec<usize>, level: Level) -> bool {
        let n = self.reads.len();
        if order.len() == n {
            let mut place = vec![0; n];
            order.iter().zip(0..).for_each(|(&txn, i)| place[txn] = i);
            return self.holds(level, &|t, s| place[t] < place[s]);
        }
        (1..n).any(|next| {
            let free = !order.contains(&next)
                && (0..n).all(|t| !self.direct[t][next] || order.contains(&t))
                && self.given.iter().all(|&(t, s)| s != next || order.contains(&t));
            if !free {
                return false;
            }
            order.push(next);
            let found = self.extend(order, level);
            order.pop();
            found
        })
    }

    /// Whether `co` is a witness.
    fn holds(&self, level: Level, co: &dyn Fn(usize, usize) -> bool) -> bool {
        let n = self.reads.len();
        (0..n).all(|t3| {
            self.reads[t3].iter().enumerate().all(|(place, &(x, t1))| {
                let obliged = |t2: usize| {
                    t2 != t1 && self.writes[t2].contains(&x) && self.phi(level, co, t2, t3, place)
                };
                (0..n).all(|t2| !obliged(t2) || co(t2, t1))
            })
        })
    }

    /// PHI(t2, t3), where `place` is the read of `t3` in question.
    fn phi(
        &self,
        level: Level,
        co: &dyn Fn(usize, usize) -> bool,
        t2: usize,
        t3: usize,
        place: usize,
    ) -> bool {
        let all = 0..self.reads.len();
        let co_or_same = |t, s| t == s || co(t, s);
        let prefix = || all.clone().any(|t4| co_or_same(t2, t4) && self.direct[t4][t3]);
        let conflict = || {
            all.clone()
                .any(|t4| co_or_same(t2, t4) && co(t4, t3) && !self.writes[t4].is_disjoint(&self.writes[t3]))
        };
        match level {
            Level::ReadCommitted => self.reads[t3][..place].iter().any(|&(_, from)| from == t2),
            Level::ReadAtomic => self.direct[t2][t3],
            Level::Causal => self.causal[t2][t3],
            Level::Prefix => prefix(),
            Level::Snapshot => prefix() || conflict(),
            Level::Serializable => co(t2, t3),
            _ => unreachable!("no other level has an axiom on commit orders"),
        }
    }
}

/// Histories of docs/levels.md and of the literature, with the strongest level that holds (`None` if even
/// read committed is violated).
#[test]
fn the_reference_decides_well_known_histories() {
    use isoscope_history::notation::parse;
    for (text, strongest) in [
        ("T1: w(x,1)  T2: r(x,1)", Some(Level::Serializable)),
        ("T1: r(x,0) w(y,1)  T2: r(y,0) w(x,1)", Some(Level::Snapshot)),
        ("T1: r(x,0) w(x,1)  T2: r(x,0) w(x,2)", Some(Level::Prefix)),
        ("T1: w(x,1)  T2: w(y,1)  T3: r(x,1) r(y,0)  T4: r(x,0) r(y,1)", Some(Level::Causal)),
        ("T1: w(x,1)  T2: r(x,1) w(y,1)  T3: r(y,1) r(x,0)", Some(Level::ReadAtomic)),
        ("T1: w(x,1) w(y,1)  T2: r(x,0) r(y,1)", Some(Level::ReadCommitted)),
        ("T1: w(x,1) w(y,1)  T2: r(y,1) r(x,0)", None),
        ("T1: r(x,0) w(x,1) ; T2: r(x,0)", Some(Level::ReadCommitted)),
        ("T1: w(x,1) r(x,0)", None),
        ("T1!: w(x,1)  T2: r(x,1)", None),
        ("T1: r(x,1) w(y,1)  T2: r(y,1) w(x,1)", None),
        ("T1?: w(x,1)  T2: r(x,1) ; T3: r(x,0)", Some(Level::ReadAtomic)),
        ("init=nil T1: a(x,1)  T2: a(x,2) r(x,[1 2])  T3: r(x,[]) r(x,[1])", Some(Level::ReadCommitted)),
        ("init=nil T1: a(x,1) ; T2: a(x,2)  T3: r(x,[2 1])", None),
    ] {
        let history = parse(text).unwrap();
        for level in Store::LEVELS {
            let expected = strongest.is_some_and(|strongest| level <= strongest);
            assert_eq!(satisfies(&history, level), expected, "{level} of {text}");
        }
    }
}

/// The claims of the catalogue about its examples agree with the axioms.
#[test]
fn the_examples_of_the_catalogue_get_their_verdicts() {
    use isoscope_history::notation::parse;
    use isoscope_levels::Anomaly;
    let of_levels = Level::ALL.into_iter().flat_map(Level::examples);
    for example in of_levels.chain(Anomaly::ALL.into_iter().flat_map(Anomaly::examples)) {
        let history = parse(example.notation).unwrap();
        let history = history.expand_ranges().unwrap().unwrap_or(history);
        for level in Store::LEVELS {
            let holds = satisfies(&history, level);
            assert_eq!(example.satisfies(level), Some(holds), "{level} of {}", example.notation);
        }
    }
}
