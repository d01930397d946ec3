//! Every claim about small histories: an order with its snapshots or writers is accepted exactly when it is true.
//!
//! What is true is read out of the definitions by [`Claim`], which is too simple to be wrong; so is, by trying every claim,
//! whether a level holds at all.

use std::sync::Arc;

use isoscope_check::{Judgement, Node, Verdict, Witness};
use isoscope_history::{History, Key, NO_EVENT, OpKind, OpView, Outcome, Txn, Value, notation};
use isoscope_levels::Level;
use isoscope_verify::Verifier;

use crate::axioms::{self, WEAK};
use crate::draw::{Dice, draw_small};
use crate::plan::{Plan, Step, build};

/// The definitions of the levels with an order, read out for one claim: too simple to be wrong.
pub(super) struct Claim<'a> {
    pub(super) history: &'a History,
    pub(super) order: &'a [Txn],
}

impl Claim<'_> {
    fn is_complete(&self) -> bool {
        self.history.txns().all(|txn| match self.history.outcome(txn) {
            Outcome::Committed => self.order.contains(&txn),
            Outcome::Aborted => !self.order.contains(&txn),
            Outcome::Unknown => true,
        })
    }

    /// What the transactions at some places make of a key: its register's last value, and its list.
    fn state(&self, txns: &[Txn], key: Key) -> (Option<Value>, Vec<Value>) {
        let mut list = self.history.table().elements(self.history.initial(key)).to_vec();
        let mut value = None;
        for op in txns.iter().flat_map(|&txn| self.history.ops_of(txn)) {
            if op.key == key && op.kind == OpKind::Append {
                list.push(op.value);
            } else if op.key == key && op.kind.is_write() {
                value = Some(op.value);
            }
        }
        (value, list)
    }

    /// Whether a read of the transaction at a place is right if it sees the given ones.
    pub(super) fn is_right(&self, place: usize, read: OpView, seen: &[Txn]) -> bool {
        let own =
            || self.history.ops_of(self.order[place]).filter(|op| op.id < read.id && op.key == read.key);
        let (value, mut list) = self.state(seen, read.key);
        list.extend(own().filter(|op| op.kind == OpKind::Append).map(|op| op.value));
        let mine = own().rfind(|op| op.kind.is_write()).map(|op| op.value);
        match read.kind {
            _ if read.value == Value::UNKNOWN => true,
            // One's own appends follow those of all before.
            OpKind::ReadList
                if mine.is_some()
                    && self.state(&self.order[..place], read.key) != self.state(seen, read.key) =>
            {
                false
            }
            OpKind::ReadList => self.history.table().elements(read.value) == list,
            OpKind::Read => match mine.or(value) {
                Some(value) => read.value == value,
                None => self.history.is_initial(read.key, read.value),
            },
            _ => true,
        }
    }

    fn writes(&self, place: usize, key: Key) -> bool {
        self.history.ops_of(self.order[place]).any(|op| op.kind.is_write() && op.key == key)
    }

    pub(super) fn in_session(&self, earlier: usize, later: usize) -> bool {
        let (t, s) = (self.order[earlier], self.order[later]);
        t < s && self.history.session_of(t) == self.history.session_of(s)
    }

    pub(super) fn in_real_time(&self, earlier: usize, later: usize) -> bool {
        let (t, s) = (self.order[earlier], self.order[later]);
        self.history.events().is_some_and(|events| {
            let (end, start) = (events.end[t.index()], events.start[s.index()]);
            self.history.outcome(t) == Outcome::Committed
                && end != NO_EVENT
                && start != NO_EVENT
                && end < start
                && t != s
        })
    }

    /// Levels with snapshots.
    fn explains(&self, level: Level, sees: &[usize]) -> bool {
        let places = 0..self.order.len();
        self.is_complete()
            && places.clone().all(|i| {
                let k = sees[i];
                let reads_right = || {
                    let mut ops = self.history.ops_of(self.order[i]);
                    ops.all(|read| self.is_right(i, read, &self.order[..k]))
                };
                let sessions = || places.clone().all(|j| !self.in_session(j, i) || j < k);
                let conflicts = || {
                    (k..i)
                        .all(|j| self.history.keys().all(|key| !self.writes(i, key) || !self.writes(j, key)))
                };
                let real_time = || places.clone().all(|j| !self.in_real_time(j, i) || j < k);
                k <= i
                    && reads_right()
                    && (level == Level::AdyaPl299 || sessions())
                    && (level == Level::Prefix || conflicts())
                    && (!level.implies(Level::StrictSnapshot) || real_time())
            })
    }

    /// All ways to say how far the version that a read returned reaches: for each read of another, its
    /// transaction's place, the read, and how many transactions of the order the version is made of.
    fn all_sources(&self) -> Vec<Vec<(usize, OpView, usize)>> {
        let mut ways = vec![Vec::new()];
        for i in 0..self.order.len() {
            for read in self.history.ops_of(self.order[i]).filter(|op| op.kind.is_read()) {
                let registers = self.history.ops_of(self.order[i]).filter(|op| op.kind != OpKind::Append);
                let mut own =
                    registers.filter(|op| op.id < read.id && op.key == read.key && op.kind.is_write());
                if read.value == Value::UNKNOWN || (own.next().is_some() && self.is_right(i, read, &[])) {
                    continue;
                }
                let makes = |k: usize| k == 0 || (k - 1 != i && self.writes(k - 1, read.key));
                let possible = |&k: &usize| makes(k) && self.is_right(i, read, &self.order[..k]);
                let ends: Vec<usize> = (0..=self.order.len()).filter(possible).collect();
                ways = ways
                    .iter()
                    .flat_map(|way| ends.iter().map(move |&end| [&way[..], &[(i, read, end)]].concat()))
                    .collect();
            }
        }
        ways
    }

    /// Framework 3: `irreflexive((so | wr | ww)+ ; rw?)`.
    fn is_parallel_snapshot(&self, sources: &[(usize, OpView, usize)]) -> bool {
        let n = self.order.len();
        let follows = |i: usize, j: usize| {
            let ww = self.history.keys().any(|key| i < j && self.writes(i, key) && self.writes(j, key));
            let wr = sources.iter().any(|&(reader, _, end)| reader == j && end == i + 1);
            ww || wr || self.in_session(i, j)
        };
        let mut before: Vec<Vec<bool>> = (0..n).map(|i| (0..n).map(|j| follows(i, j)).collect()).collect();
        for k in 0..n {
            let after = before[k].clone();
            for row in before.iter_mut().filter(|row| row[k]) {
                row.iter_mut().zip(&after).for_each(|(reached, &further)| *reached |= further);
            }
        }
        let missed = |&(reader, read, end): &(usize, OpView, usize)| {
            (end..n).any(|j| j != reader && self.writes(j, read.key) && before[j][reader])
        };
        self.is_complete() && (0..n).all(|i| !before[i][i]) && !sources.iter().any(missed)
    }
}

/// Four short transactions on two registers, who read what they like: anomalies of all levels are common.
fn draw_dense(dice: &mut Dice) -> Vec<Plan> {
    let mut written = [0; 2];
    let mut draw_txn = |session| {
        let steps = (0..2 + dice.below(2)).map(|_| match (dice.below(2), dice.below(5)) {
            (key, 0..3) => Step::Read(key, Some(dice.below(3) as u32)),
            (key, _) => {
                written[key] += 1;
                Step::Write(key, written[key])
            }
        });
        let steps = steps.collect();
        let outcome = if dice.below(8) == 0 { Outcome::Unknown } else { Outcome::Committed };
        Plan { session, outcome, steps, events: None, times: None, timestamps: None }
    };
    [0, 1, 2, 3].map(|i| draw_txn(if i == 3 { 2 } else { i })).into()
}

/// A small history in which values repeat more often than not, with or without real time.
pub(super) fn draw_any(dice: &mut Dice) -> History {
    let mut plan = if dice.below(2) == 0 { draw_small(dice) } else { draw_dense(dice) };
    if dice.below(3) > 0 {
        let few =
            |value: &mut u32| *value = if (1..99).contains(value) { 1 + (*value - 1) % 2 } else { *value };
        for step in plan.iter_mut().flat_map(|txn| &mut txn.steps) {
            match step {
                Step::Read(_, Some(value))
                | Step::Write(_, value)
                | Step::Insert(_, value)
                | Step::Append(_, value) => few(value),
                Step::ReadList(_, list) => list.iter_mut().for_each(few),
                _ => {}
            }
        }
    }
    let history = build(&plan);
    if dice.below(2) == 0 {
        return history;
    }
    let text = notation::print(&history);
    let timed = text.split(' ').map(|word| match word.strip_suffix(':') {
        Some(name) => {
            let (start, length) = (dice.below(8), dice.below(3));
            let end = if length == 2 { String::new() } else { (start + length).to_string() };
            format!("{name}@{start}-{end}:")
        }
        None => word.to_owned(),
    });
    notation::parse(&timed.collect::<Vec<_>>().join(" ")).expect("a history with events is one")
}

/// Every order of every set of transactions that did not abort.
fn for_each_order(history: &History, mut visit: impl FnMut(&[Txn])) {
    fn extend(live: &[Txn], order: &mut Vec<Txn>, visit: &mut dyn FnMut(&[Txn])) {
        visit(order);
        for &txn in live {
            if !order.contains(&txn) {
                order.push(txn);
                extend(live, order, visit);
                order.pop();
            }
        }
    }
    let live: Vec<Txn> = history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted).collect();
    let committed = live.iter().filter(|&&txn| history.outcome(txn) == Outcome::Committed).count();
    extend(&live, &mut Vec::new(), &mut |order| {
        // Now and then an order that lacks a transaction.
        if order.len() >= committed.max(1) || order.len() == 1 {
            visit(order);
        }
    });
}

/// Every vector of snapshots of an order of that many transactions.
fn for_each_snapshots(n: usize, mut visit: impl FnMut(&[usize])) {
    let count: usize = (1..=n).product();
    for mut code in 0..count {
        let mut sees = Vec::new();
        for i in 0..n {
            sees.push(code % (i + 1));
            code /= i + 1;
        }
        visit(&sees);
    }
}

/// Every order, and every snapshot, of small histories: accepted exactly when the definition says so.
#[test]
fn every_claim_is_accepted_exactly_when_it_is_true() {
    let serial = [Level::AdyaPl299, Level::Serializable, Level::StrictSerializable];
    let with_snapshots = [Level::Prefix, Level::Snapshot, Level::StrictSnapshot];
    let mut accepted = [0; 6];
    for seed in 0..1_200 {
        let history = draw_any(&mut Dice::new(seed));
        let verifier = Verifier::new(&history);
        for_each_order(&history, |order| {
            let claim = Claim { history: &history, order };
            let mut check = |number: usize, level, sees: &[usize], snapshots| {
                let witness = Witness { order: Some(Arc::from(order)), snapshots, sources: Arc::from([]) };
                let judgement = Judgement { level, verdict: Verdict::Holds(witness), implied_by: None };
                let (verified, expected) = (verifier.verify(&judgement), claim.explains(level, sees));
                assert_eq!(verified.is_ok(), expected, "{seed}: {judgement:?} {verified:?}\n{history:?}");
                accepted[number] += u32::from(expected);
            };
            let all: Vec<usize> = (0..order.len()).collect();
            serial.iter().zip(0..).for_each(|(&level, number)| check(number, level, &all, None));
            for_each_snapshots(order.len(), |sees| {
                for (&level, number) in with_snapshots.iter().zip(3..) {
                    check(number, level, sees, Some(sees.iter().map(|&k| k as u32).collect()));
                }
            });
        });
    }
    assert!(accepted.iter().all(|&count| count > 300), "{accepted:?}");
}

/// The same of parallel snapshot isolation, for every choice of writers.
#[test]
fn every_claim_of_parallel_snapshots_is_accepted_exactly_when_it_is_true() {
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..3_000 {
        let history = draw_any(&mut Dice::new(seed));
        let verifier = Verifier::new(&history);
        for_each_order(&history, |order| {
            let claim = Claim { history: &history, order };
            for sources in claim.all_sources() {
                let named = sources.iter().map(|&(_, read, end)| match end.checked_sub(1) {
                    None => (read.id, Node::Initial),
                    Some(writer) => (read.id, Node::Txn(order[writer])),
                });
                let witness =
                    Witness { order: Some(Arc::from(order)), snapshots: None, sources: named.collect() };
                let level = Level::ParallelSnapshot;
                let judgement = Judgement { level, verdict: Verdict::Holds(witness), implied_by: None };
                let wr_in_order = sources.iter().all(|&(reader, _, end)| end <= reader);
                let so_in_order = (0..order.len()).all(|i| (i..order.len()).all(|j| !claim.in_session(j, i)));
                let expected = wr_in_order && so_in_order && claim.is_parallel_snapshot(&sources);
                let verified = verifier.verify(&judgement);
                assert_eq!(verified.is_ok(), expected, "{seed}: {judgement:?} {verified:?}\n{history:?}");
                *(if expected { &mut accepted } else { &mut refused }) += 1;
            }
        });
    }
    assert!(accepted > 2_000 && refused > 2_000, "{accepted} and {refused}");
}

/// Where values repeat, an order is good for a weak level exactly when some choice of writers is.
#[test]
fn a_weak_level_holds_for_some_choice_of_writers() {
    let mut accepted = [0; WEAK.len()];
    for seed in 0..1_500 {
        let history = draw_any(&mut Dice::new(seed));
        let verifier = Verifier::new(&history);
        for_each_order(&history, |order| {
            let ways = Claim { history: &history, order }.all_sources();
            for (number, &level) in WEAK.iter().enumerate().skip(2) {
                let some = ways.iter().any(|sources| {
                    let named = sources.iter().map(|&(_, read, end)| match end.checked_sub(1) {
                        None => (read.id, Node::Initial),
                        Some(writer) => (read.id, Node::Txn(order[writer])),
                    });
                    let witness =
                        Witness { order: Some(Arc::from(order)), snapshots: None, sources: named.collect() };
                    let judgement = Judgement { level, verdict: Verdict::Holds(witness), implied_by: None };
                    verifier.verify(&judgement).is_ok()
                });
                let explanation =
                    axioms::Explanation { order: order.to_vec(), snapshots: None, sources: Vec::new() };
                let expected = axioms::accepts(&history, level, &explanation);
                assert_eq!(some, expected, "{seed}: {level} {order:?}\n{history:?}");
                accepted[number] += u32::from(some);
            }
        });
    }
    assert!(accepted[2..].iter().all(|&count| count > 500), "{accepted:?}");
}

/// Whether a level holds, by trying everything.
pub(super) fn holds_by_definition(history: &History) -> impl Fn(Level) -> bool {
    let mut held = vec![Level::AdyaPl2, Level::ReadAtomic, Level::Causal];
    held.retain(|&level| axioms::holds(history, level));
    for_each_order(history, |order| {
        let claim = Claim { history, order };
        let all: Vec<usize> = (0..order.len()).collect();
        let mut add = |level, holds: bool| {
            if holds && !held.contains(&level) {
                held.push(level);
            }
        };
        for level in [Level::AdyaPl299, Level::Serializable, Level::StrictSerializable] {
            add(level, claim.explains(level, &all));
        }
        add(Level::ParallelSnapshot, claim.all_sources().iter().any(|way| claim.is_parallel_snapshot(way)));
        for_each_snapshots(order.len(), |sees| {
            for level in [Level::Prefix, Level::Snapshot, Level::StrictSnapshot] {
                add(level, claim.explains(level, sees));
            }
        });
    });
    // The empty order is no claim about anybody.
    let none_committed = history.txns().all(|txn| history.outcome(txn) != Outcome::Committed);
    move |level| none_committed || held.contains(&level)
}
