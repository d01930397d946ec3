//! Small histories: what each transaction reads from whom, what it writes, and the orders that clients see.

use std::fmt;
use std::rc::Rc;

use crate::evaluate::View;
use crate::evidence::Evidence;
use crate::matrix::{Matrix, pairs};

/// A small history. Transaction 0 is the initial one; it writes every key and is before all others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SmallHistory {
    pub(crate) keys: usize,
    /// By transaction and key.
    pub(crate) writes: Matrix2,
    /// By transaction and key: who wrote what it reads.
    pub(crate) sources: Vec<Vec<Option<usize>>>,
    pub(crate) so: Matrix<bool>,
    /// If the levels are about real time.
    pub(crate) rt: Option<Matrix<bool>>,
    /// By transaction: the keys it reads, in their order. A key that is read again is there again.
    pub(crate) read_order: Vec<Vec<usize>>,
}

/// What leads from one transaction to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The number of the first transaction.
    pub from: usize,
    /// The number of the second.
    pub to: usize,
    /// What leads from one to the other.
    pub kind: Kind,
    /// The keys; none for sessions.
    pub keys: Vec<String>,
}

/// What leads from one transaction to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The second is next in the session.
    Session,
    /// The first returned before the second was invoked, and none ran between them. Not where sessions say so already.
    RealTime,
    /// The second reads what the first wrote.
    Read,
    /// The second writes the next version.
    Overwrite,
    /// The first reads the version before the one that the second writes.
    Miss,
}

/// By transaction and key.
pub(crate) type Matrix2 = Vec<Vec<bool>>;

impl SmallHistory {
    /// The number of transactions, without the initial one.
    pub fn txns(&self) -> usize {
        self.writes.len() - 1
    }

    /// The number of keys.
    pub fn keys(&self) -> usize {
        self.keys
    }

    /// The number of reads and writes.
    pub fn ops(&self) -> usize {
        let count = |txn: usize| {
            let reads = self.sources[txn].iter().flatten().count();
            reads + self.writes[txn].iter().filter(|&&writes| writes).count()
        };
        (1..self.writes.len()).map(count).sum()
    }

    /// The sessions as lists of transactions. None if the session order is not a set of chains.
    pub fn sessions(&self) -> Option<Vec<Vec<usize>>> {
        let mut sessions: Vec<Vec<usize>> = Vec::new();
        let mut txns: Vec<usize> = (1..self.writes.len()).collect();
        let before = |txn: usize| (1..self.writes.len()).filter(|&other| self.so[(other, txn)]).count();
        txns.sort_by_key(|&txn| (before(txn), txn));
        for txn in txns {
            match sessions.iter_mut().find(|session| session.iter().any(|&other| self.so[(other, txn)])) {
                Some(session) => session.push(txn),
                None => sessions.push(vec![txn]),
            }
        }
        let ordered = sessions.iter().map(|session| session.len() * (session.len() - 1) / 2).sum::<usize>();
        let is_chains = ordered == pairs(&self.so).filter(|&(from, _)| from > 0).count()
            && sessions.iter().all(|session| session.windows(2).all(|pair| self.so[(pair[0], pair[1])]));
        is_chains.then_some(sessions)
    }

    /// The number that the one-line notation gives to each transaction: session by session.
    pub fn numbers(&self) -> Vec<usize> {
        let order =
            self.sessions().map_or_else(|| (1..self.writes.len()).collect(), |sessions| sessions.concat());
        let mut numbers = vec![0; self.writes.len()];
        for (number, txn) in order.into_iter().enumerate() {
            numbers[txn] = number + 1;
        }
        numbers
    }

    /// The value that a transaction writes to a key: 0 for the initial one, then 1, 2, .. in the order of the numbers.
    fn value(&self, numbers: &[usize], key: usize, writer: usize) -> usize {
        let is_smaller = |other: &usize| self.writes[*other][key] && numbers[*other] < numbers[writer];
        (0..self.writes.len()).filter(is_smaller).count()
    }

    /// The operations of a transaction in the one-line notation.
    fn operations(&self, numbers: &[usize], txn: usize) -> Vec<String> {
        let mut ops: Vec<String> = Vec::new();
        for &key in &self.read_order[txn] {
            if let Some(writer) = self.sources[txn][key] {
                ops.push(format!("r({},{})", key_name(key), self.value(numbers, key, writer)));
            }
        }
        for key in (0..self.keys).filter(|&key| self.writes[txn][key]) {
            ops.push(format!("w({},{})", key_name(key), self.value(numbers, key, txn)));
        }
        ops
    }

    /// One transaction in the one-line notation.
    fn transaction(&self, numbers: &[usize], txn: usize) -> String {
        let ops = self.operations(numbers, txn);
        let times = self.rt.as_ref().map(|rt| interval(rt, txn));
        let times = times.map(|(begin, end)| format!("@{begin}-{end}")).unwrap_or_default();
        format!("T{}{times}: {}", numbers[txn], ops.join(" "))
    }

    /// The operations of each transaction in the one-line notation, by its number there: the first one is T1.
    pub fn transactions(&self) -> Vec<Vec<String>> {
        let numbers = self.numbers();
        let mut txns: Vec<usize> = (1..numbers.len()).collect();
        txns.sort_by_key(|&txn| numbers[txn]);
        txns.into_iter().map(|txn| self.operations(&numbers, txn)).collect()
    }

    /// What leads from one transaction to another, without the initial one. The order of the versions is that of the evidence;
    /// without evidence, only the initial version is known to be before others. Transactions have the numbers of the one-line
    /// notation.
    pub fn dependencies(&self, evidence: Option<&Evidence>) -> Vec<Dependency> {
        let numbers = self.numbers();
        let place = |txn: usize, key: usize| -> Option<usize> {
            let Evidence { order, versions, .. } = evidence?;
            let versions = versions.iter().find(|(name, _)| *name == key_name(key));
            let order = if order.is_empty() { &versions?.1 } else { order };
            order.iter().position(|&other| other == numbers[txn])
        };
        let is_later = |key: usize, than: usize, txn: usize| {
            self.writes[txn][key]
                && (than == 0 || place(than, key).zip(place(txn, key)).is_some_and(|(a, b)| a < b))
        };
        let txns = 1..self.writes.len();
        let mut found = Vec::new();
        for from in txns.clone() {
            for to in txns.clone().filter(|&to| to != from) {
                let between = |&middle: &usize| self.so[(from, middle)] && self.so[(middle, to)];
                if self.so[(from, to)] && !txns.clone().any(|middle| between(&middle)) {
                    found.push((from, to, Kind::Session, Vec::new()));
                }
                let is_before = |from: usize, to: usize| self.rt.as_ref().is_some_and(|rt| rt[(from, to)]);
                let between = |&middle: &usize| is_before(from, middle) && is_before(middle, to);
                if is_before(from, to) && !self.so[(from, to)] && !txns.clone().any(|middle| between(&middle))
                {
                    found.push((from, to, Kind::RealTime, Vec::new()));
                }
                let mut of_keys = |kind: Kind, holds: &dyn Fn(usize) -> bool| {
                    let keys: Vec<String> = (0..self.keys).filter(|&key| holds(key)).map(key_name).collect();
                    if !keys.is_empty() {
                        found.push((from, to, kind, keys));
                    }
                };
                of_keys(Kind::Read, &|key| self.sources[to][key] == Some(from));
                of_keys(Kind::Overwrite, &|key| {
                    let is_direct =
                        |middle: usize| !(is_later(key, from, middle) && is_later(key, middle, to));
                    self.writes[from][key] && is_later(key, from, to) && txns.clone().all(is_direct)
                });
                of_keys(Kind::Miss, &|key| {
                    let Some(source) = self.sources[from][key] else { return false };
                    let is_next =
                        |middle: usize| !(is_later(key, source, middle) && is_later(key, middle, to));
                    is_later(key, source, to) && txns.clone().all(is_next)
                });
            }
        }
        let named = |(from, to, kind, keys): (usize, usize, Kind, Vec<String>)| Dependency {
            from: numbers[from],
            to: numbers[to],
            kind,
            keys,
        };
        found.into_iter().map(named).collect()
    }

    /// The history with other numbers for transactions and keys: `txns[t]` is the new number of t.
    pub(crate) fn renamed(&self, txns: &[usize], keys: &[usize]) -> SmallHistory {
        let mut renamed = self.clone();
        for (txn, &to) in txns.iter().enumerate() {
            for (key, &key_to) in keys.iter().enumerate() {
                renamed.writes[to][key_to] = self.writes[txn][key];
                renamed.sources[to][key_to] = self.sources[txn][key].map(|writer| txns[writer]);
            }
            renamed.read_order[to] = self.read_order[txn].iter().map(|&key| keys[key]).collect();
        }
        let moved = |matrix: &Matrix<bool>| {
            let mut moved = matrix.clone();
            for from in 0..txns.len() {
                for to in 0..txns.len() {
                    moved[(txns[from], txns[to])] = matrix[(from, to)];
                }
            }
            moved
        };
        SmallHistory { so: moved(&self.so), rt: self.rt.as_ref().map(moved), ..renamed }
    }

    /// The history with some of its transactions only, which must read from each other or from the initial one, and with the
    /// keys that they use. Also returns the transactions and the keys by their new numbers.
    pub(crate) fn restricted(&self, keep: &[bool]) -> (SmallHistory, Vec<usize>, Vec<usize>) {
        let txns: Vec<usize> = (0..self.writes.len()).filter(|&txn| txn == 0 || keep[txn]).collect();
        let is_used = |key: &usize| {
            txns[1..].iter().any(|&txn| self.writes[txn][*key] || self.sources[txn][*key].is_some())
        };
        let keys: Vec<usize> = (0..self.keys).filter(is_used).collect();
        let place = |all: &[usize], one: usize| all.binary_search(&one).expect("what is used is kept");
        let of_keys = |txn: usize| keys.iter().map(move |&key| (txn, key));
        let writes = txns.iter().map(|&txn| of_keys(txn).map(|(txn, key)| self.writes[txn][key]).collect());
        let source = |(txn, key): (usize, usize)| Some(place(&txns, self.sources[txn][key]?));
        let sources = txns.iter().map(|&txn| of_keys(txn).map(source).collect());
        let read_order = txns.iter().map(|&txn| {
            let read = self.read_order[txn].iter().filter(|&&key| self.sources[txn][key].is_some());
            read.map(|&key| place(&keys, key)).collect()
        });
        let order =
            |matrix: &Matrix<bool>| Matrix::new(txns.len(), |from, to| matrix[(txns[from], txns[to])]);
        let history = SmallHistory {
            keys: keys.len(),
            writes: writes.collect(),
            sources: sources.collect(),
            so: order(&self.so),
            rt: self.rt.as_ref().map(order),
            read_order: read_order.collect(),
        };
        (history, txns, keys)
    }

    pub(crate) fn view(&self) -> View<bool> {
        let txns = self.writes.len();
        let wr = |key: usize| Matrix::new(txns, |from, to| self.sources[to][key] == Some(from));
        let rt = self.rt.clone().unwrap_or_else(|| Matrix::new(txns, |from, to| from == 0 && to > 0));
        let po = |txn: usize| {
            // Some read of the first key is before some read of the second.
            let reads = &self.read_order[txn];
            let first = |key: usize| reads.iter().position(|&other| other == key);
            let last = |key: usize| reads.iter().rposition(|&other| other == key);
            Matrix::new(self.keys.max(1), |a, b| match (first(a), last(b)) {
                (Some(first), Some(last)) => first < last,
                _ => false,
            })
        };
        View {
            txns,
            keys: self.keys,
            is_known: true,
            writes: self.writes.concat(),
            wr: (0..self.keys).map(|key| Rc::new(wr(key))).collect(),
            so: Rc::new(self.so.clone()),
            rt: Rc::new(rt),
            po: (0..txns).map(|txn| Rc::new(po(txn))).collect(),
        }
    }
}

/// When a transaction begins and ends, such that exactly the pairs of an interval order do not overlap.
fn interval(rt: &Matrix<bool>, txn: usize) -> (usize, usize) {
    let txns = 1..rt.size();
    let before = |txn: usize| -> Vec<bool> { txns.clone().map(|other| rt[(other, txn)]).collect() };
    // The sets of predecessors are ordered by inclusion; a transaction begins at the place of its set.
    let mut sets: Vec<Vec<bool>> = txns.clone().map(before).collect();
    sets.sort_by_key(|set| set.iter().filter(|&&member| member).count());
    sets.dedup();
    let begin = |txn: usize| sets.iter().position(|set| *set == before(txn)).unwrap_or_default();
    // It ends just before the first begin that follows it.
    let after = txns.clone().filter(|&other| rt[(txn, other)]).map(begin).min();
    (2 * begin(txn), 2 * after.unwrap_or(sets.len()) - 1)
}

/// `x`, `y`, `z`, `u`, `v`, `w`, then `k7`, ..
pub(crate) fn key_name(key: usize) -> String {
    ["x", "y", "z", "u", "v", "w"].get(key).map_or_else(|| format!("k{}", key + 1), |name| (*name).to_owned())
}

/// The one-line notation. A session order that is not a set of chains is written behind it.
impl fmt::Display for SmallHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = self.numbers();
        let sessions = self.sessions();
        let printed =
            sessions.clone().unwrap_or_else(|| (1..self.writes.len()).map(|txn| vec![txn]).collect());
        for (i, session) in printed.iter().enumerate() {
            let txns: Vec<String> = session.iter().map(|&txn| self.transaction(&numbers, txn)).collect();
            write!(f, "{}{}", if i == 0 { "" } else { "  " }, txns.join(" ; "))?;
        }
        if sessions.is_none() {
            let order: Vec<String> = pairs(&self.so)
                .filter(|&(from, _)| from > 0)
                .map(|(from, to)| format!("T{} < T{}", numbers[from], numbers[to]))
                .collect();
            write!(f, "  (session order {})", order.join(", "))?;
        }
        Ok(())
    }
}
