//! Histories with rows: the initial values of the keys, and reads of all keys.
//!
//! A read of all keys is a range read from the lowest to the highest key of the history, which are known only
//! at the end. If the keys have no common order, there is no such range: then the returned rows are reads,
//! and a warning says that the absence of other rows is not checked.

use isoscope_history::{DraftTxn, RangeRow, Remap, Value};

use super::cursor::Syntax;
use super::merge::{Held, Kinds, Merger};
use super::micro::{Kind, MicroOp, found};
use super::scan::Scan;
use crate::problem::Warning;

impl<S: Syntax> Merger<'_, S> {
    /// Adds the rows that a piece returned, and renumbers its range reads.
    pub(super) fn take_ranges(&mut self, scan: &mut Scan, remap: Option<&Remap>) {
        let before = self.ranges.len() as u64;
        let ranges = std::mem::take(&mut scan.micro.ranges);
        if ranges.is_empty() {
            return;
        }
        let apply = |value| remap.map_or(value, |remap| remap.apply(value));
        let moved = ranges
            .into_iter()
            .map(|rows| rows.into_iter().map(|(key, value)| (apply(key), apply(value))).collect());
        self.ranges.extend(moved);
        for op in scan.ops.iter_mut().chain(&mut scan.pending).filter(|op| op.kind == Kind::Range) {
            let number = op.value.as_small().map(|number| before + u64::from(number));
            op.value = number.and_then(Value::small).unwrap_or(Value::UNKNOWN);
        }
    }

    /// Converts the `:init` transaction to initial values.
    pub(super) fn settle_init(&mut self) {
        let Some(init) = self.init else { return };
        let own = |held: &Held| {
            let ops = held.each().filter(|&(txn, _)| txn == init);
            ops.map(|(_, op)| (op, held.base + u64::from(op.at))).collect::<Vec<_>>()
        };
        let ops: Vec<(MicroOp, u64)> = self.held.iter().flat_map(own).collect();
        // An ordinary transaction may have `:f :init` too.
        if ops.iter().any(|(op, _)| op.kind != Kind::Init) {
            return;
        }
        self.draft.drop_txn(init);
        for (op, _) in &ops {
            self.draft.set_initial_of(op.key, op.value);
        }
        let first = ops.first().map(|&(_, at)| at);
        self.problems.warn_many(Warning::ExplicitInitial, ops.len() as u64, first);
    }

    /// The lowest and the highest key, if there are reads of all keys and the keys have an order.
    pub(super) fn bounds(&self) -> Option<(Value, Value)> {
        if self.ranges.is_empty() {
            return None;
        }
        let held = self.held.iter().flat_map(|held| &held.ops);
        let ops = held.chain(self.late.iter().map(|(_, late)| &late.op)).filter(|op| op.kind != Kind::Range);
        let mut names = ops.map(|op| op.key).chain(self.ranges.iter().flatten().map(|&(key, _)| key));
        let first = names.next()?;
        let values = &self.draft.values;
        values.compare(first, first)?;
        names.try_fold((first, first), |(low, high), name| {
            let is_lower = values.compare(name, low)?.is_lt();
            let is_higher = values.compare(name, high)?.is_gt();
            Some((if is_lower { name } else { low }, if is_higher { name } else { high }))
        })
    }

    /// Converts range reads to reads of the returned rows.
    pub(super) fn expand_ranges(&mut self) {
        if self.ranges.is_empty() {
            return;
        }
        let mut first = None;
        let mut count = 0;
        for held in &mut self.held {
            let mut ops = Vec::with_capacity(held.ops.len());
            let mut old = std::mem::take(&mut held.ops).into_iter();
            for (_, length) in &mut held.runs {
                let before = ops.len();
                for op in old.by_ref().take(*length as usize) {
                    if op.kind != Kind::Range {
                        ops.push(op);
                        continue;
                    }
                    let rows = op.value.as_small().map(|row| std::mem::take(&mut self.ranges[row as usize]));
                    ops.extend(rows.into_iter().flatten().map(|(key, value)| found(key, value, op.at)));
                    first.get_or_insert(held.base + u64::from(op.at));
                    count += 1;
                }
                *length = (ops.len() - before) as u32;
            }
            held.ops = ops;
        }
        self.problems.warn_many(Warning::PartialPredicate, count, first);
    }

    /// Passes operations to the draft, some of which may be range reads.
    pub(super) fn push_rows(&mut self, held: &Held, (low, high): (Value, Value), kinds: &Kinds) {
        for (txn, op) in held.each() {
            let position = Some(held.base + u64::from(op.at));
            let row = op.value.as_small().filter(|_| op.kind == Kind::Range);
            if let Some(rows) = row.and_then(|row| self.ranges.get_mut(row as usize)) {
                let row = RangeRow { low, high, live: std::mem::take(rows), dead: Vec::new() };
                self.draft.push_range(txn, row, position);
            } else {
                let (kind, value) = kinds.of(op);
                self.draft.push(txn, kind, op.key, value, position);
            }
        }
    }
}

impl Held {
    /// All operations with their transactions.
    fn each(&self) -> impl Iterator<Item = (DraftTxn, MicroOp)> + '_ {
        let mut ops = self.ops.iter().copied();
        let owners = self.runs.iter().flat_map(|&(txn, count)| std::iter::repeat_n(txn, count as usize));
        owners.map_while(move |txn| Some((txn, ops.next()?)))
    }
}
