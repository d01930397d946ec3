//! The feasibility of candidates: an order solver of its own, over the statements and commits of all forms.
//!
//! A constraint is guarded by the *facts* that make it apply: a transaction is full, a boundary transaction is included, a read of it has
//! a certain writer. A candidate is asked by assuming its facts. As in `lazy.rs`, only constraints that an order broke become clauses.
//! If no order exists, the assumptions that failed are facts that no feasible candidate has together.
//!
//! Nodes of a form with `n` statements: its snapshot, the statements, its commit. The order of the program, of sessions, and of the
//! observed reads-from between full forms holds whatever is included: what is left out can be last.

use isoscope_certificate::Limit;
use isoscope_history::Op;
use isoscope_solve::{Budget, Lit, OrderSolver, Outcome};
use rustc_hash::FxHashMap;

use super::{Engine, Move, key_text};
use crate::candidate::{Boundary, Candidate};
use crate::observed::is_external_read;
use crate::problem::{INITIAL, Problem};
use crate::watch::Watch;

/// The most writers between a read and its source that become clauses in one round.
const AT_A_TIME: usize = 8;
/// The largest set of facts that is made smaller one by one.
const MOST_FACTS: usize = 40;

/// What makes a constraint apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Fact {
    /// The transaction is full.
    Full(u32),
    /// The boundary form of the transaction writes the class of keys.
    Writes(u32, u32),
    /// This read of the boundary transaction has this source.
    Reads(u32, u32, u32),
}

/// Whether a candidate is feasible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is, in this order.
    Feasible(Vec<Move>),
    /// It is not, because it has these facts.
    Infeasible(Vec<Fact>),
    Stopped(Limit),
}

/// An operation of a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) op: Op,
    /// Its place in the transaction.
    at: u32,
    pub(super) statement: u32,
    is_write: bool,
    /// The class of its key, if anybody writes it.
    class: Option<u32>,
    row: u32,
}

/// The operations of a transaction, and where its nodes begin.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) accesses: Vec<Access>,
    statements: u32,
    /// The first node of the full form; the boundary form follows.
    base: u32,
}

/// An included transaction.
pub(super) struct Shape {
    pub(super) txn: u32,
    pub(super) is_boundary: bool,
    /// How many of its operations are included.
    pub(super) len: usize,
    /// The sources of its reads, by the place in the problem; the observed ones if it is full.
    sources: Vec<u32>,
}

/// A read that needs its writer.
struct Reading {
    /// The place of the reader among the shapes.
    shape: usize,
    node: u32,
    class: u32,
    source: u32,
    fact: Fact,
}

/// A constraint on an order: one of these pairs is in it, if the facts hold.
pub(super) struct Constraint {
    facts: [Option<Fact>; 2],
    pub(super) pairs: [Option<(u32, u32)>; 2],
}

/// See the module.
pub(crate) struct Model<'p> {
    pub(super) problem: &'p Problem<'p>,
    pub(super) engine: Engine,
    pub(super) plans: Vec<Plan>,
    pub(super) edges: Vec<(u32, u32)>,
    solver: OrderSolver,
    facts: FxHashMap<Fact, Lit>,
    names: FxHashMap<Lit, Fact>,
}

impl<'p> Model<'p> {
    /// The forms of the first `end` transactions on an engine.
    pub(crate) fn new(problem: &'p Problem<'p>, engine: Engine, end: u32) -> Model<'p> {
        let plans = plans(problem, end);
        let nodes = plans.last().map_or(0, |plan| plan.base + 2 * plan.width());
        let (edges, order) = graph(problem, engine, &plans);
        let solver = OrderSolver::new(nodes as usize, &edges, &order);
        let (facts, names) = (FxHashMap::default(), FxHashMap::default());
        Model { problem, engine, plans, edges, solver, facts, names }
    }

    /// Whether a candidate is feasible.
    pub(crate) fn ask(&mut self, candidate: &Candidate, watch: &dyn Watch) -> Answer {
        let shapes = self.shapes(candidate);
        loop {
            let assumed: Vec<Lit> = self.assumed(&shapes);
            match self.solve(&assumed, watch) {
                Err(limit) => return Answer::Stopped(limit),
                Ok(Outcome::Unsat) => return self.core(watch),
                Ok(_) => {}
            }
            let order = self.solver.order();
            let mut place = vec![0; order.len()];
            for (&node, at) in order.iter().zip(0..) {
                place[node as usize] = at;
            }
            let broken = self.broken(&shapes, &place, AT_A_TIME);
            if broken.is_empty() {
                return Answer::Feasible(self.arrange(&shapes, &place));
            }
            for constraint in broken {
                self.add(&constraint);
            }
        }
    }

    fn solve(&mut self, assumed: &[Lit], watch: &dyn Watch) -> Result<Outcome, Limit> {
        let mut limit = watch.limit();
        if let Some(limit) = limit {
            return Err(limit);
        }
        let mut stop = || {
            limit = watch.limit();
            limit.is_some()
        };
        match self.solver.solve_within(assumed, Budget::stopped_by(&mut stop)) {
            Outcome::Stopped => Err(limit.unwrap_or(Limit::Time)),
            outcome => Ok(outcome),
        }
    }

    /// The facts that failed, without those that are not needed.
    fn core(&mut self, watch: &dyn Watch) -> Answer {
        let mut core: Vec<Lit> = self.solver.failed().to_vec();
        if core.len() <= MOST_FACTS {
            for lit in core.clone() {
                let rest: Vec<Lit> = core.iter().copied().filter(|&other| other != lit).collect();
                match self.solve(&rest, watch) {
                    Err(limit) => return Answer::Stopped(limit),
                    Ok(Outcome::Unsat) => core = rest,
                    Ok(_) => {}
                }
            }
        }
        let mut facts: Vec<Fact> = core.iter().filter_map(|lit| self.names.get(lit).copied()).collect();
        facts.sort_unstable();
        Answer::Infeasible(facts)
    }

    fn lit(&mut self, fact: Fact) -> Lit {
        if let Some(&lit) = self.facts.get(&fact) {
            return lit;
        }
        let lit = self.solver.variable(false);
        self.facts.insert(fact, lit);
        self.names.insert(lit, fact);
        lit
    }

    fn add(&mut self, constraint: &Constraint) {
        let mut clause: Vec<Lit> = Vec::with_capacity(4);
        for fact in constraint.facts.into_iter().flatten() {
            clause.push(!self.lit(fact));
        }
        for (a, b) in constraint.pairs.into_iter().flatten() {
            clause.push(self.solver.before(a, b));
        }
        self.solver.add_clause(&clause);
    }

    /// The facts of a candidate that some clause mentions.
    fn assumed(&self, shapes: &[Shape]) -> Vec<Lit> {
        let mut facts = Vec::new();
        for shape in shapes {
            if !shape.is_boundary {
                facts.push(Fact::Full(shape.txn));
                continue;
            }
            let reads = shape.sources.iter().zip(0..);
            facts.extend(reads.map(|(&source, read)| Fact::Reads(shape.txn, read, source)));
            let mut classes: Vec<u32> = self.writes(shape).filter_map(|write| write.class).collect();
            classes.sort_unstable();
            classes.dedup();
            facts.extend(classes.into_iter().map(|class| Fact::Writes(shape.txn, class)));
        }
        facts.iter().filter_map(|fact| self.facts.get(fact).copied()).collect()
    }

    fn shapes(&self, candidate: &Candidate) -> Vec<Shape> {
        let mut shapes = Vec::new();
        for number in 0..self.plans.len() as u32 {
            let boundary = candidate.boundary_of(number);
            if boundary.is_none() && !candidate.is_full(self.problem, number) {
                continue;
            }
            let txn = self.problem.txn(number);
            let sources = match boundary {
                Some(Boundary { sources, .. }) => sources.clone(),
                None => txn.reads.iter().map(|read| read.source).collect(),
            };
            // With a strict boundary, the last included read cuts the transaction.
            let cut = boundary.filter(|_| self.problem.strict).and_then(|_| sources.len().checked_sub(1));
            let last = cut.map(|cut| txn.reads[cut].at);
            let accesses = &self.plans[number as usize].accesses;
            let len =
                last.map_or(accesses.len(), |last| accesses.partition_point(|access| access.at <= last));
            shapes.push(Shape { txn: number, is_boundary: boundary.is_some(), len, sources });
        }
        shapes
    }

    fn accesses(&self, shape: &Shape) -> &[Access] {
        &self.plans[shape.txn as usize].accesses[..shape.len]
    }

    /// The writes of a form. See [`Boundary::writes`].
    fn writes(&self, shape: &Shape) -> impl Iterator<Item = &Access> {
        let (is_cut, reads) = (shape.is_boundary && self.problem.strict, shape.sources.len() as u32);
        let writes = &self.problem.txn(shape.txn).writes;
        let is_in = move |access: &&Access| {
            let last = || writes.iter().find(|write| Some(write.key) == access.class);
            access.is_write && (!is_cut || last().is_some_and(|write| write.after < reads))
        };
        self.accesses(shape).iter().filter(is_in)
    }

    fn base(&self, shape: &Shape) -> u32 {
        let plan = &self.plans[shape.txn as usize];
        plan.base + if shape.is_boundary { plan.width() } else { 0 }
    }

    pub(super) fn snapshot(&self, shape: &Shape) -> u32 {
        self.base(shape)
    }

    pub(super) fn statement(&self, shape: &Shape, statement: u32) -> u32 {
        self.base(shape) + 1 + statement
    }

    pub(super) fn commit(&self, shape: &Shape) -> u32 {
        self.base(shape) + self.plans[shape.txn as usize].width() - 1
    }

    /// The fact that a form writes a class of keys.
    fn writing(shape: &Shape, class: u32) -> Fact {
        if shape.is_boundary { Fact::Writes(shape.txn, class) } else { Fact::Full(shape.txn) }
    }

    /// The first write of a row.
    fn first_write(&self, shape: &Shape, row: u32) -> Option<&Access> {
        self.writes(shape).find(|write| write.row == row)
    }

    /// Where a row must be free for a form to write it: `X` of the module.
    fn free(&self, shape: &Shape, write: &Access) -> u32 {
        let statement = self.statement(shape, write.statement);
        match self.engine {
            Engine::PgRr => self.snapshot(shape),
            Engine::MariadbSi => {
                let mut reads = self.accesses(shape).iter().filter(|access| !access.is_write);
                let is_later = reads.next().is_some_and(|read| read.statement < write.statement);
                if is_later { self.snapshot(shape) } else { statement }
            }
            Engine::PgRc | Engine::MariadbRc | Engine::MariadbRr => statement,
        }
    }

    /// The reads of a form, each with the node at which its version is chosen.
    fn readings(&self, at: usize, shape: &Shape, readings: &mut Vec<Reading>) {
        let reads = &self.problem.txn(shape.txn).reads;
        for access in self.accesses(shape).iter().filter(|access| !access.is_write) {
            let Some(class) = access.class else { continue };
            let is_it = |read: &crate::problem::Read| {
                read.key == class && (self.problem.reads_once || read.at == access.at)
            };
            let Some(read) = reads.iter().position(is_it) else { continue };
            let Some(&source) = shape.sources.get(read) else { continue };
            let node = self.chosen_at(shape, access);
            let fact = if shape.is_boundary {
                Fact::Reads(shape.txn, read as u32, source)
            } else {
                Fact::Full(shape.txn)
            };
            readings.push(Reading { shape: at, node, class, source, fact });
        }
    }

    /// The node at which the version of a read is chosen: `S` of the module.
    fn chosen_at(&self, shape: &Shape, read: &Access) -> u32 {
        if !self.engine.has_snapshot() {
            return self.statement(shape, read.statement);
        }
        let earlier = |write: &&Access| write.statement < read.statement;
        match self.first_write(shape, read.row).filter(earlier) {
            Some(write) if self.engine == Engine::MariadbRr => self.statement(shape, write.statement),
            _ => self.snapshot(shape),
        }
    }

    /// What an order breaks: at most this number of writers of each read.
    fn broken(&self, shapes: &[Shape], place: &[u32], most: usize) -> Vec<Constraint> {
        let mut broken = Vec::new();
        self.visit(shapes, place, most, &mut |constraint| {
            let holds = |&(a, b): &(u32, u32)| place[a as usize] < place[b as usize];
            if !constraint.pairs.iter().flatten().any(holds) {
                broken.push(constraint);
            }
        });
        broken
    }

    /// The constraints on an order that are not implied by others that hold in it: of each read, those of the writers between its source
    /// and the next writer after it; of each row, those of neighbouring writers.
    pub(super) fn visit(
        &self,
        shapes: &[Shape],
        place: &[u32],
        most: usize,
        each: &mut dyn FnMut(Constraint),
    ) {
        let at = |node: u32| place[node as usize];
        let mut writers: FxHashMap<u32, Vec<(u32, usize)>> = FxHashMap::default();
        let mut rows: FxHashMap<u32, Vec<(u32, usize)>> = FxHashMap::default();
        let mut readings = Vec::new();
        for (i, shape) in shapes.iter().enumerate() {
            let commit = at(self.commit(shape));
            for write in self.writes(shape) {
                rows.entry(write.row).or_default().push((commit, i));
                if let Some(class) = write.class {
                    writers.entry(class).or_default().push((commit, i));
                }
            }
            self.readings(i, shape, &mut readings);
        }
        for list in writers.values_mut().chain(rows.values_mut()) {
            list.sort_unstable();
            list.dedup();
        }
        let known: FxHashMap<u32, usize> = shapes
            .iter()
            .enumerate()
            .filter(|(_, shape)| !shape.is_boundary)
            .map(|(i, shape)| (shape.txn, i))
            .collect();
        for reading in &readings {
            let source = known.get(&reading.source).copied();
            let source_commit = source.map(|source| self.commit(&shapes[source]));
            if let Some(commit) = source_commit {
                let facts = [Some(reading.fact), None];
                each(Constraint { facts, pairs: [Some((commit, reading.node)), None] });
            }
            let list = writers.get(&reading.class).map_or(&[][..], Vec::as_slice);
            let is_other = |&&(_, writer): &&(u32, usize)| writer != reading.shape && Some(writer) != source;
            let from = source_commit.map_or(0, at);
            let start = list.partition_point(|&(commit, _)| commit < from);
            let seen = list.partition_point(|&(commit, _)| commit < at(reading.node)).max(start);
            // The latest of those that the read must not see, the last one before the source, and the first one after the read.
            let between = list[start..seen].iter().rev().filter(is_other).take(most);
            let before = list[..start].iter().rev().filter(is_other).take(1);
            let after = list[seen..].iter().filter(is_other).take(1);
            for &(_, writer) in between.chain(before).chain(after) {
                let commit = self.commit(&shapes[writer]);
                let facts = [Some(reading.fact), Some(Self::writing(&shapes[writer], reading.class))];
                let older = source_commit.map(|source| (commit, source));
                each(Constraint { facts, pairs: [Some((reading.node, commit)), older] });
            }
        }
        let mut keys: Vec<u32> = rows.keys().copied().collect();
        keys.sort_unstable();
        for row in keys {
            for pair in rows[&row].windows(2) {
                let (a, b) = (&shapes[pair[0].1], &shapes[pair[1].1]);
                let (Some(first), Some(second)) = (self.first_write(a, row), self.first_write(b, row)) else {
                    continue;
                };
                let fact = |shape: &Shape, write: &Access| {
                    write.class.map_or(Fact::Full(shape.txn), |class| Self::writing(shape, class))
                };
                let facts = [Some(fact(a, first)), Some(fact(b, second))];
                let before = (self.commit(a), self.free(b, second));
                let after = (self.commit(b), self.free(a, first));
                each(Constraint { facts, pairs: [Some(before), Some(after)] });
            }
        }
    }
}

impl Plan {
    /// The number of nodes of a form.
    fn width(&self) -> u32 {
        self.statements + 2
    }
}

/// The operations of the transactions, with their statements and rows.
fn plans(problem: &Problem<'_>, end: u32) -> Vec<Plan> {
    let history = problem.observed.history;
    let mut rows: FxHashMap<String, u32> = FxHashMap::default();
    let of_key: Vec<u32> = history
        .keys()
        .map(|key| {
            let name = row_of(&key_text(history, key));
            let next = rows.len() as u32;
            *rows.entry(name).or_insert(next)
        })
        .collect();
    let mut base = 0;
    let plan = |number: u32| {
        let mut accesses: Vec<Access> = Vec::new();
        let mut sent = None;
        for (op, at) in history.ops_of(problem.txn(number).txn).zip(0..) {
            let is_write = op.kind.is_write();
            if !is_write && !is_external_read(&op) {
                continue;
            }
            let statement = problem.observed.statement(op.id);
            let last = accesses.last().map(|access| access.statement);
            let same = statement.is_some() && sent == statement;
            sent = statement;
            let number = last.map_or(0, |last| last + u32::from(!same));
            let (class, row) = (problem.class(&op), of_key[op.key.index()]);
            accesses.push(Access { op: op.id, at, statement: number, is_write, class, row });
        }
        let statements = accesses.last().map_or(0, |last| last.statement + 1);
        let plan = Plan { accesses, statements, base };
        base += 2 * plan.width();
        plan
    };
    (0..end).map(plan).collect()
}

/// The edges that always hold, and an order that contains them: the observed one, every boundary form behind its full form.
fn graph(problem: &Problem<'_>, engine: Engine, plans: &[Plan]) -> (Vec<(u32, u32)>, Vec<u32>) {
    let (mut edges, mut order) = (Vec::new(), Vec::new());
    for (plan, number) in plans.iter().zip(0..) {
        let width = plan.width();
        let before = problem.before(number).map(|before| {
            let before = &plans[before as usize];
            before.base + before.width() - 1
        });
        for base in [plan.base, plan.base + width] {
            let (snapshot, commit) = (base, base + width - 1);
            let statements: Vec<u32> = (base + 1..commit).collect();
            edges.extend(statements.windows(2).map(|pair| (pair[0], pair[1])));
            edges.extend(statements.last().map(|&last| (last, commit)));
            let first_read = plan.accesses.iter().find(|access| !access.is_write);
            let by_read = matches!(engine, Engine::MariadbRr | Engine::MariadbSi);
            // MariaDB takes the snapshot at the first read, which may follow writes.
            let taken = match first_read {
                Some(read) if by_read => read.statement as usize,
                _ => 0,
            };
            edges.push((snapshot, statements.get(taken).copied().unwrap_or(commit)));
            // At prefix, a read that is not in the history may have taken it before.
            if engine == Engine::MariadbSi {
                edges.extend(taken.checked_sub(1).map(|last| (statements[last], snapshot)));
            }
            edges.extend(before.map(|before| (before, snapshot)));
            edges.extend(before.zip(statements.first()).map(|(before, &first)| (before, first)));
            order.extend_from_slice(&statements[..taken]);
            order.push(snapshot);
            order.extend_from_slice(&statements[taken..]);
            order.push(commit);
        }
        for access in plan.accesses.iter().filter(|access| !access.is_write) {
            let source = problem.observed.sources.get(&access.op).copied().unwrap_or(INITIAL);
            let after_write =
                |write: &&Access| write.is_write && write.row == access.row && write.at < access.at;
            let is_late =
                engine == Engine::MariadbRr && plan.accesses.iter().any(|write| after_write(&write));
            if let Some(source) = plans.get(source as usize).filter(|_| !is_late) {
                let node = if engine.has_snapshot() { plan.base } else { plan.base + 1 + access.statement };
                edges.push((source.base + source.width() - 1, node));
            }
        }
    }
    edges.sort_unstable();
    edges.dedup();
    (edges, order)
}

/// The row of a key: `table/row` for a cell `table.column/row`.
fn row_of(name: &str) -> String {
    let Some((table, row)) = name.split_once('/') else { return name.to_owned() };
    let table = table.split_once('.').map_or(table, |(table, _)| table);
    format!("{table}/{row}")
}

#[cfg(test)]
mod tests {
    use super::row_of;

    #[test]
    fn cells_are_in_rows() {
        assert_eq!(row_of("orders.carrier/1.2.0007"), "orders/1.2.0007");
        assert_eq!(row_of("orders/1.2.0007"), "orders/1.2.0007");
        assert_eq!(row_of("x.y"), "x.y");
        assert_eq!(row_of("7"), "7");
    }
}
