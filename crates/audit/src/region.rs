//! Phase 3: an order of the last points of an execution that explains all answers, or a proof that there is none.
//!
//! A *region* is the points after a *border* position. The points before it stay as they are. An [`OrderSolver`] proposes an
//! order of the region's points, and whether each transaction of unknown outcome is present; the replay executes it
//! concretely. Each conflict becomes a clause over the order literals on which it depends (`slice.rs`), so that no order with
//! the same conflict is proposed again.
//!
//! The nodes of the solver are the points, one node per distinct time at which an interval begins (a *tick*), and the end of
//! the region. Two edges per point say that it is in its interval. A point whose interval has no end by now is *optional*: it may
//! be after the end of the region, and then it is not executed.
//!
//! A clause that also depends on the order before the border contains the border's literal. If the clauses are unsatisfiable
//! without it, no order of *any* larger region exists: the log is violated. Otherwise the region grows. The region that begins
//! at position 0 has no border.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use isoscope_solve::{Budget, Lit, OrderSolver, Outcome};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::problem::{Event, Fate, NONE, Point, StatementId, TxnId};
use crate::replay::{Conflict, Replay};
use crate::serial;
use crate::values::{self, ByValues};

/// The points of a region and the solver for their order.
pub(crate) struct Region {
    /// Points before this position are not in the region.
    pub(crate) start: usize,
    pub(crate) nodes: FxHashMap<Point, u32>,
    points: Vec<Point>,
    /// Points that may be after the end of the region.
    pub(crate) free: FxHashSet<Point>,
    pub(crate) end: u32,
    pub(crate) solver: OrderSolver,
    pub(crate) border: Lit,
    /// Clauses that contain its negation say that a cycle of dependencies cannot be, which may be wrong by values.
    doubt: Lit,
    /// Whether each transaction of unknown outcome is present.
    pub(crate) present: FxHashMap<TxnId, Lit>,
    /// Whether an answer is taken into account.
    pub(crate) selectors: FxHashMap<StatementId, Lit>,
    /// The transactions whose ends are in the region.
    pub(crate) ends: Vec<TxnId>,
    pub(crate) proposals: u64,
}

/// How the search in a region ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The replay has executed an order that explains everything.
    Order,
    /// No order exists while the points before the border stay as they are.
    Border,
    /// No order exists. The answers and outcomes that contradict each other are among these.
    Nothing(Vec<StatementId>),
    /// The dependencies of all orders have cycles, and whether a serial order explains one by its values is not known.
    Doubt,
    /// A limit was reached.
    Stopped,
}

/// The points of a region, before they are ordered.
struct Plan {
    /// Points that must be executed, then those that may, each in the order that is tried first.
    required: Vec<Point>,
    pulled: FxHashSet<Point>,
    optional: Vec<Point>,
}

/// The conflicts of one proposal that become clauses.
const CONFLICTS: usize = 12;

impl Region {
    /// The region of a replay from a position on, up to the answer of a statement.
    pub(crate) fn new(replay: &Replay<'_, '_>, start: usize, last: StatementId) -> Option<Region> {
        let plan = plan(replay, start, last);
        let points: Vec<Point> = plan.required.iter().chain(&plan.optional).copied().collect();
        let nodes: FxHashMap<Point, u32> = points.iter().copied().zip(0..).collect();
        let graph = Graph::new(replay, &plan, &points, &nodes);
        let order = graph.order()?;
        let mut solver = OrderSolver::new(graph.count, &graph.edges, &order);
        let border = solver.variable(true);
        let doubt = solver.variable(true);
        let mut region = Region {
            start,
            nodes,
            free: plan.pulled.iter().chain(&plan.optional).copied().collect(),
            points,
            end: graph.end,
            solver,
            border,
            doubt,
            present: FxHashMap::default(),
            selectors: FxHashMap::default(),
            ends: Vec::new(),
            proposals: 0,
        };
        region.note_ends(replay);
        Some(region)
    }

    fn note_ends(&mut self, replay: &Replay<'_, '_>) {
        for &point in &self.points {
            if point.event() != Event::End {
                continue;
            }
            let txn = replay.problem.txn_of(point.statement());
            self.ends.push(txn);
            if replay.fate(txn) == Fate::Unknown {
                let is_present = replay.position(point) != NONE && replay.states[txn as usize].committed;
                let lit = self.solver.variable(is_present);
                self.present.insert(txn, lit);
            }
        }
    }

    /// The literal that says that an answer counts.
    pub(crate) fn selector(&mut self, statement: StatementId) -> Lit {
        let solver = &mut self.solver;
        *self.selectors.entry(statement).or_insert_with(|| solver.variable(true))
    }

    /// Looks for an order. The replay is at the border or after it. If an order is found, the replay is at its end.
    pub(crate) fn search(
        &mut self,
        replay: &mut Replay<'_, '_>,
        most: u64,
        stop: &mut dyn FnMut() -> bool,
    ) -> Found {
        loop {
            if self.proposals >= most {
                return Found::Stopped;
            }
            let mut assumptions: Vec<Lit> = vec![self.border, self.doubt];
            let mut selected: Vec<(Lit, StatementId)> =
                self.selectors.iter().map(|(&statement, &lit)| (lit, statement)).collect();
            selected.sort_unstable_by_key(|pair| pair.1);
            assumptions.extend(selected.iter().map(|pair| pair.0));
            match self.solver.solve_within(&assumptions, Budget::stopped_by(stop)) {
                Outcome::Stopped => return Found::Stopped,
                Outcome::Unsat => return self.refuted(&selected),
                Outcome::Sat => {}
            }
            self.proposals += 1;
            let conflicts = self.execute(replay);
            if conflicts.is_empty() {
                let Some(cycle) = serial::cycle(replay, self.start) else { return Found::Order };
                let by_values = if self.start == 0 { values::order(replay) } else { ByValues::Unknown };
                let clause = match by_values {
                    ByValues::Explains => return Found::Order,
                    ByValues::Refuted => crate::slice::values_clause(self, replay),
                    ByValues::Unknown => {
                        let mut clause = crate::slice::cycle_clause(self, replay, &cycle);
                        clause.push(!self.doubt);
                        clause
                    }
                };
                if clause.iter().any(|&lit| self.solver.holds(lit)) {
                    return Found::Stopped;
                }
                self.solver.add_clause(&clause);
                continue;
            }
            for conflict in &conflicts {
                let clause = crate::slice::clause(self, replay, conflict);
                if clause.iter().any(|&lit| self.solver.holds(lit)) {
                    // The same order would be proposed again.
                    return Found::Stopped;
                }
                self.solver.add_clause(&clause);
            }
        }
    }

    fn refuted(&self, selected: &[(Lit, StatementId)]) -> Found {
        let failed = self.solver.failed();
        if failed.contains(&self.border) {
            return Found::Border;
        }
        if failed.contains(&self.doubt) {
            // Transactions before the border may be needed to know.
            let is_small = self.start > 0 && self.ends.len() <= values::MOST;
            return if is_small { Found::Border } else { Found::Doubt };
        }
        let in_core = |pair: &&(Lit, StatementId)| failed.contains(&pair.0);
        Found::Nothing(selected.iter().filter(in_core).map(|pair| pair.1).collect())
    }

    /// Executes the proposed order; the conflicts that it meets. After a wrong answer of a query the execution
    /// goes on.
    fn execute(&mut self, replay: &mut Replay<'_, '_>) -> Vec<Conflict> {
        replay.rewind(self.start);
        let mut conflicts = Vec::new();
        for node in self.solver.order() {
            if node == self.end {
                break;
            }
            let Some(&point) = self.points.get(node as usize) else { continue };
            let present = match self.present.get(&replay.problem.txn_of(point.statement())) {
                Some(&lit) => self.solver.holds(lit),
                None => true,
            };
            match replay.step(point, present) {
                Ok(()) => {}
                Err(conflict @ (Conflict::Answer { .. } | Conflict::Failed { .. })) => {
                    conflicts.push(conflict);
                    // A write with a wrong answer wrote what no footprint knows of: what follows is not understood.
                    if conflicts.len() >= CONFLICTS || point.event() == Event::Write {
                        break;
                    }
                }
                Err(conflict) => {
                    conflicts.push(conflict);
                    break;
                }
            }
        }
        conflicts
    }
}

/// Chooses the points of a region.
fn plan(replay: &Replay<'_, '_>, start: usize, last: StatementId) -> Plan {
    let inside = |point: Point| {
        let position = replay.position(point);
        position == NONE || position as usize > start
    };
    let is_required =
        |point: Point| point.statement() <= last && replay.interval(point).1 != u64::MAX && inside(point);
    let mut plan = Plan { required: Vec::new(), pulled: FxHashSet::default(), optional: Vec::new() };
    let mut taken: FxHashSet<Point> = FxHashSet::default();
    let now = replay.problem.statement(last).answered;
    for &point in &replay.executed[start..] {
        // What is known now may rule out a point that was executed before.
        if replay.interval(point).0 > now {
            continue;
        }
        taken.insert(point);
        plan.required.push(point);
        if !is_required(point) {
            plan.pulled.insert(point);
        }
    }
    // What was answered by now and is not executed yet.
    let waiting = replay.waiting(last).into_iter().filter(|point| !taken.contains(point));
    plan.required.extend(waiting);
    taken.extend(&plan.required);
    plan.optional = optional(replay, last, &taken);
    plan
}

/// Points that may have happened by the answer of a statement and were not confirmed by then.
fn optional(replay: &Replay<'_, '_>, last: StatementId, taken: &FxHashSet<Point>) -> Vec<Point> {
    let problem = replay.problem;
    let now = problem.statement(last).answered;
    let mut found = Vec::new();
    let mut offer = |point: Point| {
        let is_new = replay.position(point) == NONE && !taken.contains(&point) && !found.contains(&point);
        if is_new && replay.interval(point).0 <= now {
            found.push(point);
        }
    };
    for txns in &problem.sessions {
        let place = txns.partition_point(|&txn| {
            let all = &problem.txn(txn).statements;
            all[all.len() - 1] <= last
        });
        // The transaction of the session that is in progress: its end may be in flight.
        let Some(&txn) = txns.get(place) else { continue };
        for point in in_flight(replay, &txns[place..], last, now) {
            offer(point);
        }
        if problem.txn(txn).writes && replay.fate(txn) == Fate::Aborted {
            offer(problem.end_point(txn));
        }
    }
    for &txn in &problem.dangling {
        let of = problem.txn(txn);
        if of.end > last {
            continue;
        }
        if of.fate == Fate::Unknown {
            problem.each_point(of.end, &mut offer);
        } else {
            offer(problem.end_point(txn));
        }
    }
    found
}

/// The points of a session's statements that may have happened by a time, up to the last end of a transaction that writes. More
/// than one statement can be in flight if one was sent at the time when the one before was answered.
fn in_flight(replay: &Replay<'_, '_>, txns: &[TxnId], last: StatementId, now: u64) -> Vec<Point> {
    let problem = replay.problem;
    let (mut points, mut useful) = (Vec::new(), 0);
    'session: for &txn in txns {
        let of = problem.txn(txn);
        for &id in of.statements.iter().filter(|&&id| id > last) {
            if problem.statement(id).sent > now {
                break 'session;
            }
            let is_known = replay.knows(id);
            if is_known || id == of.end {
                problem.each_point_if(id, is_known, |point| points.push(point));
            }
            if id == of.end && of.writes {
                useful = points.len();
            }
            if !is_known {
                break 'session;
            }
        }
    }
    points.truncate(useful);
    points
}

/// The nodes and edges of a region.
struct Graph {
    count: usize,
    end: u32,
    edges: Vec<(u32, u32)>,
    /// What is tried first: nodes with small numbers.
    priority: Vec<u32>,
}

impl Graph {
    fn new(replay: &Replay<'_, '_>, plan: &Plan, points: &[Point], nodes: &FxHashMap<Point, u32>) -> Graph {
        let mut times: Vec<u64> = points.iter().map(|&point| replay.interval(point).0).collect();
        times.sort_unstable();
        times.dedup();
        let first = points.len() as u32;
        let end = first + times.len() as u32;
        let mut edges: Vec<(u32, u32)> = (first + 1..=end).map(|tick| (tick - 1, tick)).collect();
        let required = plan.required.len();
        for (node, &point) in points.iter().enumerate() {
            let (low, high) = replay.interval(point);
            let node = node as u32;
            edges.push((first + times.partition_point(|&time| time < low) as u32, node));
            if (node as usize) < required && !plan.pulled.contains(&point) {
                edges.push((node, first + times.partition_point(|&time| time <= high) as u32));
            }
        }
        chain_transactions(replay, points, nodes, &mut edges);
        let mut priority: Vec<u32> = (0..=end).collect();
        // Ticks come as early as they can, and what may be left out comes last.
        for tick in first..end {
            priority[tick as usize] = 0;
        }
        for node in &mut priority[..required] {
            *node += 1;
        }
        priority[end as usize] = required as u32 + 1;
        for node in &mut priority[required..first as usize] {
            *node += 2;
        }
        Graph { count: end as usize + 1, end, edges, priority }
    }

    /// An order of the nodes; `None` if there is a cycle.
    fn order(&self) -> Option<Vec<u32>> {
        let mut waits = vec![0u32; self.count];
        let mut followers: Vec<Vec<u32>> = vec![Vec::new(); self.count];
        for &(from, to) in &self.edges {
            waits[to as usize] += 1;
            followers[from as usize].push(to);
        }
        let entry = |node: u32| Reverse((self.priority[node as usize], node));
        let mut ready: BinaryHeap<_> =
            (0..self.count as u32).filter(|&node| waits[node as usize] == 0).map(entry).collect();
        let mut order = Vec::with_capacity(self.count);
        while let Some(Reverse((_, node))) = ready.pop() {
            order.push(node);
            for &next in &followers[node as usize] {
                waits[next as usize] -= 1;
                if waits[next as usize] == 0 {
                    ready.push(entry(next));
                }
            }
        }
        (order.len() == self.count).then_some(order)
    }
}

/// The points of a transaction are in the order of its statements; transactions of a session follow each other.
fn chain_transactions(
    replay: &Replay<'_, '_>,
    points: &[Point],
    nodes: &FxHashMap<Point, u32>,
    edges: &mut Vec<(u32, u32)>,
) {
    let problem = replay.problem;
    let mut by_session: FxHashMap<u32, Vec<Point>> = FxHashMap::default();
    for &point in points {
        let session = problem.txn(problem.txn_of(point.statement())).session;
        by_session.entry(session).or_default().push(point);
    }
    for of_session in by_session.values_mut() {
        of_session.sort_unstable();
        let mut last: Option<Point> = None;
        let mut confirmed: Option<Point> = None;
        for &point in &*of_session {
            let txn = problem.txn_of(point.statement());
            let own = last.filter(|last| problem.txn_of(last.statement()) == txn);
            if let Some(before) = own.or(confirmed) {
                edges.push((nodes[&before], nodes[&point]));
            }
            last = Some(point);
            // An end that was not confirmed does not delay its session.
            if replay.interval(point).1 != u64::MAX {
                confirmed = Some(point);
            }
        }
    }
}
