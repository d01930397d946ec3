//! The clause of a conflict: the order literals and outcomes on which it depends.
//!
//! What a statement does is a function of what its scans return. It depends on
//!
//! - for each transaction that may write what was scanned: whether its commit is before or after the snapshot;
//! - the order of the commits that are before it and may write the same rows;
//! - what the statements of these transactions wrote, which depends on *their* scans, and so on;
//! - the own earlier writes.
//!
//! *May write* is decided from the statement alone, never from what it did in this execution: in another execution it could
//! do something else. A statement that was answered with 0 rows writes nothing. A statement with `column = constant` in its
//! condition writes only such rows, if no statement of the log changes the column.
//!
//! In every execution in which all these literals have the same values the conflict is the same, so one of them must differ:
//! that is the clause. Dependence on what was executed before the border adds the border's literal.

use isoscope_solve::Lit;
use isoscope_sql::{Sarg, TableId, Value};
use rustc_hash::FxHashSet;

use crate::problem::{Event, Fate, NONE, Point, Reply, StatementId, TxnId};
use crate::region::Region;
use crate::replay::{Conflict, Replay};
use crate::serial::{Edge, Kind};
use crate::store::{ABORTED, INITIAL, PENDING, Row, Version};

/// What a statement may write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Footprint {
    Nothing,
    /// Rows of a table with these values in columns that no statement changes.
    Rows(TableId, Vec<(usize, Value)>),
    Anything,
}

impl Footprint {
    /// Whether it may write a row that a scan visits.
    fn meets(&self, table: TableId, sarg: &Sarg) -> bool {
        match self {
            Footprint::Nothing => false,
            Footprint::Anything => true,
            Footprint::Rows(own, fixed) => {
                let apart = |(column, value): &(usize, Value)| {
                    let other = sarg.equal.iter().any(|(c, v)| c == column && v != value);
                    let outside = sarg.ranges.iter().filter(|range| range.0 == *column).any(|range| {
                        let alone =
                            Sarg { equal: Vec::new(), ranges: vec![(0, range.1.clone(), range.2.clone())] };
                        !alone.admits(std::slice::from_ref(value))
                    });
                    other || outside
                };
                *own == table && !fixed.iter().any(apart)
            }
        }
    }

    /// Whether both may write one row.
    fn overlaps(&self, other: &Footprint) -> bool {
        match (self, other) {
            (Footprint::Nothing, _) | (_, Footprint::Nothing) => false,
            (Footprint::Rows(table, fixed), other) => {
                other.meets(*table, &Sarg { equal: fixed.clone(), ranges: Vec::new() })
            }
            (Footprint::Anything, _) => true,
        }
    }
}

/// A clause under construction.
struct Slice<'r, 'a, 'p, 'l> {
    region: &'r mut Region,
    replay: &'a Replay<'p, 'l>,
    clause: FxHashSet<Lit>,
    is_bordered: bool,
    visited: FxHashSet<StatementId>,
    queue: Vec<StatementId>,
}

/// The clause of a conflict.
pub(crate) fn clause(region: &mut Region, replay: &Replay<'_, '_>, conflict: &Conflict) -> Vec<Lit> {
    let mut slice = Slice {
        region,
        replay,
        clause: FxHashSet::default(),
        is_bordered: false,
        visited: FxHashSet::default(),
        queue: Vec::new(),
    };
    match *conflict {
        Conflict::Answer { point, .. } => slice.depend(point.statement()),
        Conflict::Failed { by, .. } => {
            let selector = slice.region.selector(by);
            slice.clause.insert(!selector);
        }
        Conflict::Held { point, by, everything } => slice.held(point, by, everything),
        Conflict::Newer { point, by, everything } => slice.newer(point, by, everything),
    }
    let selector = slice.region.selector(conflict.point().statement());
    slice.clause.insert(!selector);
    // After the end of the region a point has no conflict.
    if slice.region.free.contains(&conflict.point())
        && let Some(&node) = slice.region.nodes.get(&conflict.point())
    {
        let end = slice.region.end;
        let lit = slice.region.solver.before(node, end);
        slice.clause.insert(!lit);
    }
    slice.finish()
}

/// The clause of a cycle of dependencies between committed transactions.
pub(crate) fn cycle_clause(region: &mut Region, replay: &Replay<'_, '_>, cycle: &[Edge]) -> Vec<Lit> {
    let mut slice = Slice {
        region,
        replay,
        clause: FxHashSet::default(),
        is_bordered: false,
        visited: FxHashSet::default(),
        queue: Vec::new(),
    };
    for edge in cycle {
        slice.edge(edge);
    }
    slice.finish()
}

/// The clause of committed transactions that no serial order explains by their values: it depends on who committed, on what
/// they wrote and on their answers.
pub(crate) fn values_clause(region: &mut Region, replay: &Replay<'_, '_>) -> Vec<Lit> {
    let mut slice = Slice {
        region,
        replay,
        clause: FxHashSet::default(),
        is_bordered: false,
        visited: FxHashSet::default(),
        queue: Vec::new(),
    };
    for txn in slice.region.ends.clone() {
        slice.committed(txn);
    }
    slice.finish()
}

impl Slice<'_, '_, '_, '_> {
    /// Whether a transaction commits is what it is now; if it does, its answers and what it writes.
    fn committed(&mut self, txn: TxnId) {
        let problem = self.replay.problem;
        if self.replay.fate(txn) == Fate::Aborted {
            return;
        }
        let state = &self.replay.states[txn as usize];
        let Some(&node) = self.region.nodes.get(&problem.end_point(txn)) else { return };
        let end = self.region.end;
        if state.end == NONE {
            let lit = self.region.solver.before(end, node);
            self.clause.insert(!lit);
            return;
        }
        self.outcome(txn, state.committed);
        if !state.committed {
            return;
        }
        let lit = self.region.solver.before(node, end);
        self.clause.insert(!lit);
        for &id in &problem.txn(txn).statements {
            if self.replay.knows(id) {
                let selector = self.region.selector(id);
                self.clause.insert(!selector);
            }
            if self.is_inside(Point::new(id, Event::Write)) && problem.statement(id).kind.is_sql() {
                self.depend(id);
            }
        }
    }
}

impl Slice<'_, '_, '_, '_> {
    fn finish(mut self) -> Vec<Lit> {
        while let Some(statement) = self.queue.pop() {
            self.visit(statement);
        }
        let mut clause: Vec<Lit> = self.clause.into_iter().collect();
        if self.is_bordered && self.region.start > 0 {
            clause.push(!self.region.border);
        }
        clause.sort_unstable();
        clause
    }

    /// A dependency exists because of what two statements read and wrote, and of the order of a snapshot or commit and a commit.
    fn edge(&mut self, edge: &Edge) {
        let problem = self.replay.problem;
        for txn in [edge.from, edge.to] {
            self.outcome(txn, true);
        }
        let Some((first, second)) = edge.statements else { return };
        for id in [first, second] {
            let selector = self.region.selector(id);
            self.clause.insert(!selector);
            let inside = [Event::Snapshot, Event::Read, Event::Write];
            if inside.into_iter().any(|event| self.is_inside(Point::new(id, event))) {
                self.depend(id);
            } else {
                self.is_bordered = true;
            }
        }
        match edge.kind {
            Kind::Overwrites => {
                self.ordered(problem.snapshot_point(first), problem.end_point(edge.to));
            }
            Kind::Reads => self.ordered(problem.end_point(edge.from), problem.snapshot_point(second)),
            Kind::Follows => self.ordered(problem.end_point(edge.from), problem.end_point(edge.to)),
        }
    }
}

impl Slice<'_, '_, '_, '_> {
    fn depend(&mut self, statement: StatementId) {
        if self.visited.insert(statement) {
            self.queue.push(statement);
        }
    }

    fn is_inside(&self, point: Point) -> bool {
        self.region.nodes.contains_key(&point)
    }

    /// The conflict needs `a` before `b`, as it is now.
    fn ordered(&mut self, a: Point, b: Point) {
        if self.replay.precedes(a, b) {
            return;
        }
        match (self.region.nodes.get(&a), self.region.nodes.get(&b)) {
            (Some(&a), Some(&b)) => {
                let lit = self.region.solver.before(a, b);
                self.clause.insert(!lit);
            }
            // A point that is not in the region and not executed comes after it in any case.
            (_, None) if self.replay.position(b) == NONE => {}
            _ => self.is_bordered = true,
        }
    }

    /// The conflict needs an unknown outcome to be what it is now.
    fn outcome(&mut self, txn: TxnId, present: bool) {
        if self.replay.fate(txn) != Fate::Unknown {
            return;
        }
        match self.region.present.get(&txn) {
            Some(&lit) => {
                self.clause.insert(lit.negated_if(present));
            }
            None => self.is_bordered = true,
        }
    }

    fn held(&mut self, point: Point, by: StatementId, everything: bool) {
        let problem = self.replay.problem;
        self.ordered(Point::new(by, Event::Write), point);
        self.ordered(point, problem.end_point(problem.txn_of(by)));
        self.depend_writes(point.statement(), by, everything);
    }

    fn newer(&mut self, point: Point, by: StatementId, everything: bool) {
        let problem = self.replay.problem;
        let (txn, snapshot) = (problem.txn_of(by), problem.snapshot_point(point.statement()));
        self.ordered(snapshot, problem.end_point(txn));
        self.ordered(problem.end_point(txn), point);
        self.outcome(txn, true);
        self.depend_writes(point.statement(), by, everything);
    }

    /// Two statements write the same row or key.
    fn depend_writes(&mut self, statement: StatementId, by: StatementId, everything: bool) {
        for id in [statement, by] {
            let selector = self.region.selector(id);
            self.clause.insert(!selector);
            if everything || self.replay.has_fixed_rows(id) {
                continue;
            }
            if id == statement || self.is_inside(Point::new(id, Event::Write)) {
                self.depend(id);
            } else {
                self.is_bordered = true;
            }
        }
    }

    /// Adds what the effect of a statement depends on.
    fn visit(&mut self, statement: StatementId) {
        let replay = self.replay;
        let problem = replay.problem;
        let line = problem.statement(statement);
        let snapshot = problem.snapshot_point(statement);
        let write = Point::new(statement, Event::Write);
        let writes = line.kind.writes();
        let at = match replay.position(write) {
            NONE => replay.executed.len() as u32 + 1,
            at => at,
        };
        let seen = replay.seen(statement).noting();
        let newest = replay.newest(statement, if writes { at } else { seen.position() }).noting();
        let entry = problem.entry(statement);
        let is_query = problem.facts(statement).is_query;
        let _ = replay.plans.evaluate(line.text, entry, is_query, &seen, &newest);
        for (table, sarg) in seen.touched() {
            self.depend_scan(statement, snapshot, table, &sarg);
        }
        if writes {
            for (table, sarg) in newest.touched() {
                self.depend_scan(statement, write, table, &sarg);
            }
        }
        for &earlier in &problem.txn(line.txn).statements {
            let own = problem.statement(earlier);
            if earlier < statement
                && own.kind.writes()
                && own.reply == Reply::Success
                && self.is_inside(Point::new(earlier, Event::Write))
            {
                self.depend(earlier);
            }
        }
    }

    /// Adds what a scan at a point depends on.
    fn depend_scan(&mut self, statement: StatementId, point: Point, table: TableId, sarg: &Sarg) {
        self.meet_border(statement, point, table, sarg);
        let replay = self.replay;
        let problem = replay.problem;
        let reader = problem.txn_of(statement);
        let here = replay.position(point);
        let mut visible: Vec<(u32, TxnId, Footprint)> = Vec::new();
        for txn in self.region.ends.clone() {
            if txn == reader || replay.fate(txn) == Fate::Aborted {
                continue;
            }
            for &id in &problem.txn(txn).statements {
                let footprint = footprint(replay, id);
                if !footprint.meets(table, sarg) {
                    continue;
                }
                self.depend_writer(id, txn, point, here);
                let state = &replay.states[txn as usize];
                if state.committed && state.end < here {
                    visible.push((state.end, txn, footprint));
                }
            }
        }
        visible.sort_by_key(|writer| writer.0);
        for (place, (_, later, footprint)) in visible.iter().enumerate() {
            let before = visible[..place].iter().rev();
            if let Some((_, earlier, _)) =
                before.into_iter().find(|(_, txn, other)| txn != later && other.overlaps(footprint))
            {
                self.ordered(problem.end_point(*earlier), problem.end_point(*later));
            }
        }
    }

    /// A statement of another transaction may write what was scanned at a point.
    fn depend_writer(&mut self, id: StatementId, txn: TxnId, point: Point, here: u32) {
        let replay = self.replay;
        let end = replay.problem.end_point(txn);
        let state = &replay.states[txn as usize];
        if replay.knows(id) {
            let selector = self.region.selector(id);
            self.clause.insert(!selector);
        }
        if state.end == NONE || state.end > here {
            self.ordered(point, end);
            return;
        }
        self.outcome(txn, state.committed);
        if state.committed {
            self.ordered(end, point);
            if self.is_inside(Point::new(id, Event::Write)) {
                self.depend(id);
            }
        }
    }

    /// Checks whether what a scan sees depends on what was executed before the border.
    fn meet_border(&mut self, statement: StatementId, point: Point, table: TableId, sarg: &Sarg) {
        let start = self.region.start as u32;
        if start == 0 || self.is_bordered {
            return;
        }
        let table = self.replay.store.table(table);
        if table.wild.is_some_and(|since| since <= start) {
            self.is_bordered = true;
            return;
        }
        let mut open = false;
        table.candidates(sarg, &mut |_, row| {
            open = self.row_meets_border(statement, point, row);
            !open
        });
        self.is_bordered |= open;
    }

    fn row_meets_border(&self, statement: StatementId, point: Point, row: &Row) -> bool {
        let replay = self.replay;
        let start = self.region.start as u32;
        let mut newer: Option<&Version> = None;
        for version in row.versions.iter().rev() {
            if version.commit == PENDING || !replay.is_written_before(version, start + 1) {
                if version.is_committed() {
                    newer = Some(version);
                }
                continue;
            }
            let own = version.writer == replay.problem.txn_of(statement);
            let chosen = version.commit == ABORTED
                && version.writer != INITIAL
                && replay.fate(version.writer) == Fate::Unknown;
            if chosen || (own && !version.forced) {
                return true;
            }
            if version.commit == ABORTED || own {
                continue;
            }
            let replaced = newer.is_none_or(|newer| self.is_replaced(version, newer));
            if !version.forced || !replaced || (version.commit <= start && self.is_open(version, point)) {
                return true;
            }
            if version.commit <= start {
                // Nothing older can be seen.
                return false;
            }
            newer = Some(version);
        }
        false
    }

    fn is_replaced(&self, old: &Version, new: &Version) -> bool {
        let problem = self.replay.problem;
        old.writer == INITIAL
            || old.writer == new.writer
            || problem.statement(old.statement).answered < problem.txn(new.writer).ends.0
    }

    fn is_open(&self, version: &Version, point: Point) -> bool {
        let problem = self.replay.problem;
        version.writer != INITIAL && problem.txn(version.writer).ends.1 >= self.replay.interval(point).0
    }
}

/// What a statement may write, in any execution.
pub(crate) fn footprint(replay: &Replay<'_, '_>, id: StatementId) -> Footprint {
    let problem = replay.problem;
    let line = problem.statement(id);
    if !line.kind.writes() {
        return Footprint::Nothing;
    }
    let knows = replay.knows(id) && !replay.ignored.contains(&id);
    let facts = problem.facts(id);
    match &problem.entry(id).answer {
        Err(_) if knows && !problem.may_have_happened(id) => return Footprint::Nothing,
        Ok(isoscope_log::Answer::Count(0)) if knows && facts.is_plain_write => {
            return Footprint::Nothing;
        }
        _ => {}
    }
    if facts.is_query {
        return Footprint::Nothing;
    }
    replay.plans.footprint(problem, &replay.store, id)
}
