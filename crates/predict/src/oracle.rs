//! Does a candidate satisfy the target?
//!
//! In turn: *slots*, a serial order in which the full transactions keep the observed order and each boundary transaction has a slot
//! between them; a greedy *schedule*; *pco*, a cycle that refutes every serial order; and the checker on the candidate as a history. The checker alone
//! decides for the targets prefix and snapshot isolation, which a candidate without a serial order may satisfy.
//!
//! A slot `p` is the place before the `p`-th transaction of the order. A boundary transaction must be after its session and its
//! sources, before the next full writer of every key it read, and where its writes come between no full reader and its source.

use isoscope_certificate::{Limit, Unknown, Verdict};
use isoscope_check::{Checker, Options};
use isoscope_levels::Level;

use crate::candidate::{Boundary, Candidate};
use crate::pco;
use crate::predicted::predicted;
use crate::problem::{INITIAL, Problem};
use crate::schedule::schedule;
use crate::watch::Watch;

/// The most serial orders that are returned for a candidate.
const MOST_ORDERS: usize = 8;
/// The most combinations of slots that are tried.
const MOST_TRIES: usize = 64;

/// A serial order of all full and boundary forms. A boundary form that is not moved is at the place of its transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// The rank of each full form; `None` if they are in observed order.
    pub(crate) ranks: Option<Vec<u32>>,
    /// Boundary forms, in their order, each with the rank of the full form that it is before.
    pub(crate) moved: Vec<(u32, u32)>,
}

/// What the oracle says.
pub(crate) enum Answer {
    /// It satisfies the target, in these serial orders.
    Serial(Vec<Order>),
    /// It satisfies the target, but has no serial order, or none was found.
    Holds,
    /// It violates the target.
    Violates,
    Stopped(Limit),
}

/// See the module.
pub(crate) struct Oracle<'p> {
    problem: &'p Problem<'p>,
    target: Level,
    /// Whether only a cycle of pco counts as a violation, as in the approximate strategies.
    approximate: bool,
    /// By key, its readers and their sources, in observed order.
    readers: Vec<Vec<(u32, u32)>>,
}

impl<'p> Oracle<'p> {
    pub(crate) fn new(problem: &'p Problem<'p>, target: Level, approximate: bool) -> Oracle<'p> {
        let mut readers = vec![Vec::new(); problem.writers.len()];
        for (txn, number) in problem.txns.iter().zip(0..) {
            for read in &txn.reads {
                readers[read.key as usize].push((number, read.source));
            }
        }
        Oracle { problem, target, approximate, readers }
    }

    /// Decides a candidate.
    pub(crate) fn ask(&self, candidate: &Candidate, watch: &dyn Watch) -> Answer {
        let orders = self.slots(candidate);
        if !orders.is_empty() {
            return Answer::Serial(orders);
        }
        let forms = candidate.forms(self.problem);
        let orders = [true, false].map(|late| schedule(self.problem, &forms, late));
        let mut orders: Vec<Order> =
            orders.into_iter().flatten().map(|order| self.complete(candidate, &order)).collect();
        orders.dedup();
        if !orders.is_empty() {
            return Answer::Serial(orders);
        }
        if self.target == Level::Serializable && pco::is_cyclic(self.problem, &forms) {
            return Answer::Violates;
        }
        let predicted = predicted(self.problem, candidate);
        let mut checker = Checker::watched(&predicted.history, Options::default(), watch);
        if self.target != Level::Serializable {
            match checker.check(self.target).verdict {
                Verdict::Violated(_) => return Answer::Violates,
                Verdict::Unknown(Unknown::Limit(limit)) => return Answer::Stopped(limit),
                _ => {}
            }
        }
        match checker.check(Level::Serializable).verdict {
            Verdict::Holds(witness) => {
                let order = witness.order.as_deref().unwrap_or_default();
                let order: Vec<u32> = order.iter().map(|txn| predicted.numbers[txn.index()]).collect();
                Answer::Serial(vec![self.complete(candidate, &order)])
            }
            Verdict::Violated(_) if self.target == Level::Serializable && !self.approximate => {
                Answer::Violates
            }
            Verdict::Unknown(Unknown::Limit(limit)) => Answer::Stopped(limit),
            Verdict::Violated(_) | Verdict::Unknown(_) => Answer::Holds,
        }
    }

    /// A serial order of the included transactions, completed by the other full forms: each as early as the observed order, its
    /// session and its sources permit.
    fn complete(&self, candidate: &Candidate, order: &[u32]) -> Order {
        let problem = self.problem;
        let is_full = |&number: &u32| candidate.is_full(problem, number);
        let mut ranks = vec![u32::MAX; problem.len()];
        let mut full = order.iter().copied().filter(is_full).peekable();
        let mut others = (0..problem.len() as u32).filter(|number| !is_full(number)).peekable();
        let mut rank = 0;
        while full.peek().is_some() || others.peek().is_some() {
            let is_ready = |&number: &u32| {
                let sources = problem.txn(number).reads.iter().map(|read| read.source);
                let needed = sources.filter(|&source| source != INITIAL).chain(problem.before(number));
                needed.into_iter().all(|needed| ranks[needed as usize] != u32::MAX)
            };
            let other = others.peek().copied().filter(is_ready);
            let next = match (full.peek(), other) {
                (Some(&number), Some(other)) if number < other => full.next(),
                (_, Some(_)) => others.next(),
                _ => full.next(),
            };
            // Both are in an order that contains what they need, so one of them is ready.
            let Some(next) = next else { break };
            ranks[next as usize] = rank;
            rank += 1;
        }
        let mut moved = Vec::new();
        let mut after = 0;
        for &number in order {
            if is_full(&number) {
                after = ranks[number as usize] + 1;
            } else {
                moved.push((number, after));
            }
        }
        let is_observed = ranks.iter().zip(0..).all(|(&rank, number)| rank == number);
        Order { ranks: (!is_observed).then_some(ranks), moved }
    }

    /// Serial orders in which the full transactions are in observed order.
    fn slots(&self, candidate: &Candidate) -> Vec<Order> {
        let mut options: Vec<(&Boundary, Vec<u32>)> = Vec::new();
        for boundary in &candidate.boundary {
            let slots = self.slots_of(candidate, boundary);
            if slots.is_empty() {
                return Vec::new();
            }
            options.push((boundary, slots));
        }
        let mut orders = Vec::new();
        let mut choice = vec![0; options.len()];
        for _ in 0..MOST_TRIES {
            let placed = options.iter().zip(&choice).map(|((boundary, slots), &i)| (*boundary, slots[i]));
            if let Some(order) = self.arrange(placed.collect()) {
                if !orders.contains(&order) {
                    orders.push(order);
                }
                if orders.len() == MOST_ORDERS {
                    break;
                }
            }
            // The next combination.
            let counts = options.iter().map(|(_, slots)| slots.len());
            let Some(next) = choice.iter().zip(counts).position(|(&i, count)| i + 1 < count) else { break };
            choice[..next].fill(0);
            choice[next] += 1;
        }
        orders
    }

    /// The first and the last slot of a boundary transaction among the full ones.
    fn slots_of(&self, candidate: &Candidate, boundary: &Boundary) -> Vec<u32> {
        let problem = self.problem;
        let number = boundary.txn;
        let is_writer = |&other: &u32| other != number && candidate.is_full(problem, other);
        let (mut low, mut high) =
            (problem.before(number).map_or(0, |before| before + 1), problem.len() as u32);
        for (read, &source) in problem.txn(number).reads.iter().zip(&boundary.sources) {
            let writers = &problem.writers[read.key as usize];
            let after = if source == INITIAL { 0 } else { source + 1 };
            low = low.max(after);
            let from = writers.partition_point(|&writer| writer < after);
            high = high.min(writers[from..].iter().copied().find(is_writer).unwrap_or(high));
        }
        let mut barred: Vec<(u32, u32)> = Vec::new();
        for key in boundary.writes(problem) {
            let readers = self.readers[key as usize].iter();
            let full = readers.filter(|(reader, _)| is_writer(reader));
            barred.extend(
                full.map(|&(reader, source)| (if source == INITIAL { 0 } else { source + 1 }, reader)),
            );
        }
        barred.sort_unstable();
        let first = barred
            .iter()
            .fold(low, |slot, &(from, to)| if from <= slot && slot <= to { to + 1 } else { slot });
        barred.sort_unstable_by_key(|&(_, to)| std::cmp::Reverse(to));
        let last = barred.iter().try_fold(high, |slot, &(from, to)| {
            if from <= slot && slot <= to { from.checked_sub(1) } else { Some(slot) }
        });
        let fits = |slot: u32| low <= slot && slot <= high;
        let mut slots: Vec<u32> = last.into_iter().chain([first]).filter(|&slot| fits(slot)).collect();
        slots.dedup();
        slots
    }

    /// Orders boundary transactions of one slot, and checks that none writes between another and its source.
    fn arrange(&self, mut placed: Vec<(&Boundary, u32)>) -> Option<Order> {
        let problem = self.problem;
        let spoils = |writer: &Boundary, slot: u32, reader: &Boundary| {
            let reads = problem.txn(reader.txn).reads.iter().zip(&reader.sources);
            let older = |source: u32| source == INITIAL || source < slot;
            reads.clone().any(|(read, &source)| older(source) && writer.is_written(problem, read.key))
        };
        placed.sort_by_key(|&(boundary, slot)| (slot, boundary.txn));
        for i in 0..placed.len() {
            // The first of its slot that spoils no later read of the same slot.
            let slot = placed[i].1;
            let end = i + placed[i..].iter().take_while(|&&(_, other)| other == slot).count();
            let first =
                (i..end).find(|&j| (i..end).all(|k| k == j || !spoils(placed[j].0, slot, placed[k].0)))?;
            placed[i..=first].rotate_right(1);
            let later = &placed[end..];
            if later.iter().any(|&(reader, _)| spoils(placed[i].0, slot, reader)) {
                return None;
            }
        }
        let moved = placed.iter().map(|&(boundary, slot)| (boundary.txn, slot)).collect();
        Some(Order { ranks: None, moved })
    }
}
