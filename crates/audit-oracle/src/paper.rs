//! The verdict of the paper's models (Pick et al., *Checking Observational Correctness of Database Systems*): all orders, state ids
//! and outcomes.
//!
//! # Definitions
//!
//! *Transactions* (section 3.5) are those that committed. A transaction whose outcome is unknown is there or not, which the
//! paper does not have. All others are dropped with their answers.
//!
//! *States* (3.1, 3.3): state 0 is the state after the loader; transaction `i` in the order makes state `i` from state `i - 1` and its
//! final writes `w_i`. A *key* is a row id, so a row is its INSERT.
//!
//! *Reads* (Fig. 4, 6.1). Each statement reads all rows of the table: for each key, the own write if there is one, or
//! else its image in a state `id < i`, where it may not exist. `m_i` has those ids, without own writes: literally an own write has id `i`, and
//! then every read of it would break RMR and ROS. An INSERT reads the table as well, to find its key; that
//! is our reading, because the paper has no constraints. A statement with a `constraint` error must find its key;
//! other errors are allowed and have no effect.
//!
//! *Conditions* (Fig. 6, Fig. 7), for all `i`:
//!
//! - RMR(j): every id in `m_i` is j. ROS: all ids in `m_i` are the same. NFR: every id is at most i; it always holds, because `id < i`.
//! - NWC: for each key `k` that is written and was read from state `id`: if `w_i[k]` differs from `src`, the image of `k` in state
//!   `id`, then `src` is the image in state `i - 1`. This is Fig. 7. Fig. 6 would forbid every UPDATE that changes something, a misprint.
//!
//! *Levels* (6.2):
//!
//! - paper-s: RMR(i - 1).
//! - paper-ss: RMR(i - 1), and the order agrees with time: if a transaction's last answer arrived before another's first statement was
//!   sent, it is first.
//! - paper-si: ROS and NWC (and NFR).
//! - paper-ssi: RMR(j) and NWC, where j is the last transaction whose end is before the start of `i`; the order is that of the ends.
//! - paper-rc: NFR.
//!
//! *Order.* [`Order::Timestamps`]: ends are the answers of the statements with the outcome (ties by line), and the
//! start of a transaction is the answer of its first statement; a start before an end with the same time. [`Order::Solve`]: any order for
//! paper-s, paper-si and paper-rc, where time means nothing; any that agrees with time for paper-ss; for paper-ssi, any total order of starts and ends, each between
//! the sending and the answer of its statement, where intervals that do not overlap keep their order.
//!
//! *Prefix* (section 7). The verdict is the last entry of the first transaction, by the time of its last answer, up to which nothing
//! explains the log. With [`Order::Timestamps`] the log up to it has only the transactions before it. With [`Order::Solve`] the other transactions are there or not,
//! and their answers do not count: a database whose order is not that of time may have executed them before.

use std::collections::{BTreeMap, BTreeSet};

use isoscope_history::Outcome;
use isoscope_log::Class;

use crate::machine::{Changes, apply, born};
use crate::model::{Model, Order, Verdict};
use crate::random::Random;
use crate::statement::{Image, RowId, Statement, Table, row_with_key};
use crate::tiny::{Given, TinyEntry, TinyLog};

/// A transaction that committed, or may have.
#[derive(Clone, Debug)]
struct Txn {
    /// Its statements.
    entries: Vec<usize>,
    /// The statement with the outcome.
    last: usize,
    is_certain: bool,
}

/// The verdict on a log.
pub fn judge(log: &TinyLog, model: Model, order: Order) -> Verdict {
    let txns = transactions(log);
    let judge = Judge { log, model, order, txns };
    let count = judge.txns.len();
    if judge.explains(count) {
        return Verdict::Explained;
    }
    let first = (1..=count).find(|&n| !judge.explains(n));
    first.map_or(Verdict::Explained, |n| Verdict::Violated(judge.txns[n - 1].last))
}

/// The transactions, in the order of their ends.
fn transactions(log: &TinyLog) -> Vec<Txn> {
    let mut found = Vec::new();
    for last in log.by_answer() {
        let entry = &log.entries[last];
        let is_certain = match entry.outcome {
            Some(Outcome::Committed) => true,
            Some(Outcome::Unknown) => false,
            _ => continue,
        };
        let entries = (0..log.entries.len()).filter(|&e| log.entries[e].txn == entry.txn).collect();
        found.push(Txn { entries, last, is_certain });
    }
    found
}

struct Judge<'a> {
    log: &'a TinyLog,
    model: Model,
    order: Order,
    txns: Vec<Txn>,
}

/// A place in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    txn: usize,
    /// The state at its start, in paper-ssi.
    start: usize,
}

impl Judge<'_> {
    /// Whether the answers of the first `n` transactions have an explanation.
    fn explains(&self, n: usize) -> bool {
        let others: Vec<usize> = match self.order {
            Order::Timestamps => (0..n).filter(|&t| !self.txns[t].is_certain).collect(),
            Order::Solve => (0..self.txns.len()).filter(|&t| t >= n || !self.txns[t].is_certain).collect(),
        };
        (0..1_u32 << others.len()).any(|set| {
            let is_chosen =
                |t: usize| others.iter().position(|&other| other == t).map_or(t < n, |i| set & (1 << i) != 0);
            let chosen: Vec<usize> = (0..self.txns.len()).filter(|&t| is_chosen(t)).collect();
            self.orders(&chosen).into_iter().any(|order| self.run(n, &order, &mut vec![self.log.table()]))
        })
    }

    /// All orders of these transactions.
    fn orders(&self, chosen: &[usize]) -> Vec<Vec<Place>> {
        if self.model == Model::PaperSsi {
            return self.orders_of_points(chosen);
        }
        let place = |&txn: &usize| Place { txn, start: 0 };
        if self.order == Order::Timestamps {
            return vec![chosen.iter().map(place).collect()];
        }
        let first_of = |a: usize, b: usize| {
            let (end, start) = (self.txns[a].last, self.txns[b].entries[0]);
            // The end of a transaction whose outcome is unknown may come at any time.
            let is_strict = self.model == Model::PaperSs && self.txns[a].is_certain;
            is_strict && self.log.entries[end].answered < self.log.entries[start].sent
        };
        let all = permutations(chosen, &first_of);
        all.into_iter().map(|order| order.iter().map(place).collect()).collect()
    }

    /// All orders of starts and ends.
    fn orders_of_points(&self, chosen: &[usize]) -> Vec<Vec<Place>> {
        // Point 2 t is the start of transaction t, point 2 t + 1 its end.
        let points: Vec<usize> = chosen.iter().flat_map(|&t| [2 * t, 2 * t + 1]).collect();
        let entry_of = |point: usize| match point % 2 {
            0 => self.txns[point / 2].entries[0],
            _ => self.txns[point / 2].last,
        };
        let interval = |point: usize| {
            let entry = &self.log.entries[entry_of(point)];
            // Ends come after starts of the same time, and in the order of the lines.
            let rank = if point.is_multiple_of(2) { 0 } else { 1 + entry_of(point) };
            match self.order {
                Order::Timestamps => ((entry.answered, rank), (entry.answered, rank)),
                // The end of a transaction whose outcome is unknown may come at any time.
                Order::Solve if !self.txns[point / 2].is_certain && point % 2 == 1 => {
                    ((entry.sent, 0), (u64::MAX, 0))
                }
                Order::Solve => ((entry.sent, 0), (entry.answered, 0)),
            }
        };
        let first_of = |a: usize, b: usize| {
            let is_own = a / 2 == b / 2 && a < b;
            is_own || (a / 2 != b / 2 && interval(a).1 < interval(b).0)
        };
        let all = permutations(&points, &first_of);
        let places = |order: &Vec<usize>| {
            let mut places = Vec::new();
            for (i, &point) in order.iter().enumerate() {
                if point % 2 == 1 {
                    let start = order[..i].iter().position(|&other| other == point - 1).unwrap_or(0);
                    let ends = order[..start].iter().filter(|&&other| other % 2 == 1).count();
                    places.push(Place { txn: point / 2, start: ends });
                }
            }
            places
        };
        all.iter().map(places).collect()
    }

    /// Whether the transactions can be executed in this order after these states.
    fn run(&self, n: usize, order: &[Place], states: &mut Vec<Table>) -> bool {
        let Some(place) = order.get(states.len() - 1) else { return true };
        for writes in self.executions(*place, place.txn >= n, states) {
            let mut after = states[states.len() - 1].clone();
            apply(&mut after, &writes);
            states.push(after);
            let is_found = self.run(n, order, states);
            states.pop();
            if is_found {
                return true;
            }
        }
        false
    }

    /// All that the next transaction may write.
    fn executions(&self, place: Place, is_free: bool, states: &[Table]) -> BTreeSet<Changes> {
        let last = states.len() - 1;
        let mut found = BTreeSet::new();
        let snapshots: Vec<Option<usize>> = match self.model {
            Model::PaperS | Model::PaperSs => vec![Some(last)],
            Model::PaperSsi => vec![Some(place.start)],
            Model::PaperSi => (0..=last).map(Some).collect(),
            _ => vec![None],
        };
        for snapshot in snapshots {
            for writes in self.executions_at(&self.txns[place.txn], snapshot, is_free, states) {
                let has_conflict = match (self.model, snapshot) {
                    (Model::PaperSi | Model::PaperSsi, Some(id)) => {
                        conflicts(&writes, &states[id], &states[last])
                    }
                    _ => false,
                };
                if !has_conflict {
                    found.insert(writes);
                }
            }
        }
        found
    }

    /// All that a transaction may write if it reads from one state, or from any.
    fn executions_at(
        &self,
        txn: &Txn,
        snapshot: Option<usize>,
        is_free: bool,
        states: &[Table],
    ) -> BTreeSet<Changes> {
        let mut all = BTreeSet::from([Changes::new()]);
        for &e in &txn.entries {
            let entry = &self.log.entries[e];
            let mut next = BTreeSet::new();
            for own in &all {
                let views = match snapshot {
                    Some(id) => vec![states[id].clone()],
                    None => mixtures(states, own),
                };
                for mut view in views {
                    apply(&mut view, own);
                    if let Some(step) = execute(entry, e, &view, is_free) {
                        let mut own = own.clone();
                        own.extend(step);
                        next.insert(own);
                    }
                }
            }
            all = next;
        }
        all
    }
}

/// Whether a write conflicts (NWC), given the state that the transaction read and the last one.
fn conflicts(writes: &Changes, read: &Table, last: &Table) -> bool {
    writes.iter().any(|(row, new)| {
        let source = read.get(row).copied();
        // A row that the transaction inserted was not read from any state.
        source.is_some() && *new != source && source != last.get(row).copied()
    })
}

/// What a statement changes, if its answer is correct.
fn execute(entry: &TinyEntry, e: usize, view: &Table, is_free: bool) -> Option<Changes> {
    let statement = &entry.statement;
    let mut step = Changes::new();
    let given = match statement {
        Statement::Begin | Statement::Commit | Statement::Rollback => return Some(step),
        _ if matches!(entry.given, Given::Error(class) if class != Class::Constraint)
            && entry.outcome != Some(Outcome::Unknown) =>
        {
            return Some(step);
        }
        Statement::Select(..) => Given::Rows(statement.select(view)),
        Statement::Insert(row) if row_with_key(view, row.k).is_some() => Given::Error(Class::Constraint),
        Statement::Insert(row) => {
            step.insert(born(e), Some(*row));
            Given::Count(1)
        }
        _ => {
            for (&id, &row) in view.iter().filter(|&(_, &row)| statement.matches(row)) {
                step.insert(id, statement.change(row));
            }
            Given::Count(step.len() as u64)
        }
    };
    let is_right = match (&given, &entry.given) {
        (Given::Rows(computed), Given::Rows(answer)) => statement.fits(computed, answer),
        (computed, answer) => computed == answer,
    };
    // A statement whose connection was lost may have been executed.
    let is_free = is_free || entry.outcome == Some(Outcome::Unknown);
    (is_right || is_free).then_some(step)
}

/// All tables in which each row is as in some state, except for the own writes, which cover it.
fn mixtures(states: &[Table], own: &Changes) -> Vec<Table> {
    let mut images: BTreeMap<RowId, BTreeSet<Option<Image>>> = BTreeMap::new();
    for row in states.iter().flat_map(Table::keys).filter(|&row| !own.contains_key(row)) {
        images.entry(*row).or_default();
    }
    for (row, images) in &mut images {
        images.extend(states.iter().map(|state| state.get(row).copied()));
    }
    let mut all = vec![Table::new()];
    for (row, images) in images {
        let with = |table: &Table| -> Vec<Table> {
            let one = |image: &Option<Image>| {
                let mut table = table.clone();
                apply(&mut table, &Changes::from([(row, *image)]));
                table
            };
            images.iter().map(one).collect()
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

/// All orders of these items in which `first_of` pairs keep their order.
fn permutations(items: &[usize], first_of: &dyn Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let mut open: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..items.len() {
        let mut longer = Vec::new();
        for order in open {
            let left: Vec<usize> = items.iter().copied().filter(|item| !order.contains(item)).collect();
            for &item in &left {
                if !left.iter().any(|&other| other != item && first_of(other, item)) {
                    let mut order = order.clone();
                    order.push(item);
                    longer.push(order);
                }
            }
        }
        open = longer;
    }
    open
}

/// Gives the log the answers of a random execution of a paper's model in the order of the ends, with random state ids. Answers of
/// transactions that are dropped stay as they are. If a transaction is refused for NWC, it commits in the log, and the log is wrong.
pub fn answer(log: &mut TinyLog, model: Model, random: &mut Random) {
    let mut states = vec![log.table()];
    for txn in transactions(log) {
        let last = states.len() - 1;
        let snapshot = match model {
            Model::PaperS | Model::PaperSs => Some(last),
            Model::PaperSsi | Model::PaperSi => Some(last - random.below(2).min(last as u64) as usize),
            _ => None,
        };
        let mut own = Changes::new();
        for &e in &txn.entries {
            let mut view = match snapshot {
                Some(id) => states[id].clone(),
                None => random.pick(&mixtures(&states, &own)).clone(),
            };
            apply(&mut view, &own);
            let entry = &mut log.entries[e];
            if matches!(entry.given, Given::Error(_)) {
                continue;
            }
            if let Statement::Select(..) = entry.statement {
                entry.given = Given::Rows(entry.statement.select(&view));
            }
            let Some(step) = execute(entry, e, &view, true) else { continue };
            if entry.statement.writes() {
                entry.given = match (&entry.statement, step.len()) {
                    (Statement::Insert(_), 0) => Given::Error(Class::Constraint),
                    (_, n) => Given::Count(n as u64),
                };
            }
            own.extend(step);
        }
        let mut after = states[last].clone();
        apply(&mut after, &own);
        states.push(after);
    }
}
