//! Which predictions are the same anomaly of the application: those whose changed reads are of the same statements.
//!
//! A history does not name programs and statements. If the programs are not known, transactions with the same *shape* count as runs of one program: the
//! same operations in the same order on keys whose names differ only in their numbers, such as `savings/3` and `savings/7`. The statement
//! of a read is its place in the shape; in a known program it is the pattern of the key, and how many reads with this pattern are
//! before it. The *signature* of a prediction is the set of the statements of its changed reads.
//!
//! An attempt that the database rolled back may commit in a prediction although no read of it changes. Then its commit is what differs from the run, and
//! stands in the signature as a statement of its own. So every boundary transaction adds to the signature, and none is empty: the empty set would
//! be within every other one.

use std::fmt;

use isoscope_history::notation::ValueText;
use isoscope_history::{OpKind, OpView, Value};
use rustc_hash::FxHashMap;

use crate::candidate::Candidate;
use crate::observed::is_external_read;
use crate::problem::Problem;

/// A set of statements, sorted.
pub(crate) type Signature = Vec<u32>;

/// What a prediction changes in a program: a read, or that an attempt commits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Statement {
    /// The name of the program, or the shape of its transactions if it has none.
    pub program: String,
    /// The keys that it reads: a name in which every number is `#`. Empty for a commit.
    pub keys: String,
    /// How many reads of the program with such keys are before it; in a shape, how many operations.
    pub place: u32,
    /// Whether the program has a name.
    pub is_named: bool,
    /// Whether it is the commit of an attempt that was rolled back in the run.
    pub is_commit: bool,
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_commit {
            write!(f, "the commit of {}", self.program)
        } else if self.is_named {
            write!(f, "the read of {} in {}", self.keys, self.program)
        } else {
            write!(f, "the read of {} in transactions like {}", self.keys, self.program)
        }
    }
}

/// The statements of each transaction.
pub(crate) struct Statements {
    /// By transaction and place among its reads: the statements of all reads that have the writer of this one.
    of_reads: Vec<Vec<Vec<u32>>>,
    /// For each attempt that was rolled back in the run: its commit.
    commits: Vec<Option<u32>>,
    known: Vec<Statement>,
    /// By statement: it reads only rows that exist in every version, and by their names.
    of_rows: Vec<bool>,
    /// The number of statements.
    pub(crate) count: u32,
}

impl Statements {
    pub(crate) fn new(problem: &Problem<'_>) -> Statements {
        let namer = Namer::new(problem);
        let mut numbers: FxHashMap<Statement, u32> = FxHashMap::default();
        let (mut of_reads, mut commits, mut of_rows) = (Vec::new(), Vec::new(), Vec::new());
        let may_be_absent = absent(problem);
        for (number, txn) in problem.txns.iter().enumerate() {
            let mut numbered = |statement: Statement| {
                let next = numbers.len() as u32;
                *numbers.entry(statement).or_insert(next)
            };
            let mut named: FxHashMap<u32, u32> = FxHashMap::default();
            for (at, op, statement) in namer.of(problem, number) {
                let statement = numbered(statement);
                named.insert(at, statement);
                of_rows.resize(of_rows.len().max(statement as usize + 1), true);
                of_rows[statement as usize] &= !op.in_range && !may_be_absent[op.key.index()];
            }
            let mut of_txn = vec![Vec::new(); txn.reads.len()];
            for (at, read) in problem.merged(number as u32) {
                of_txn[read].extend(named.get(&at).copied());
            }
            for of_read in &mut of_txn {
                of_read.sort_unstable();
                of_read.dedup();
            }
            of_reads.push(of_txn);
            let is_attempt = !problem.observed.took_effect(number);
            commits.push(is_attempt.then(|| numbered(namer.commit(problem, number))));
        }
        let mut known: Vec<(Statement, u32)> = numbers.into_iter().collect();
        known.sort_unstable_by_key(|&(_, number)| number);
        let known: Vec<Statement> = known.into_iter().map(|(statement, _)| statement).collect();
        of_rows.resize(known.len(), false);
        Statements { of_reads, commits, count: known.len() as u32, known, of_rows }
    }

    /// Whether a program can change all rows that a statement reads.
    pub(crate) fn is_of_rows(&self, statement: u32) -> bool {
        self.of_rows[statement as usize] && !self.name(statement).is_commit
    }

    /// The statements of a read, and of those that change with it.
    pub(crate) fn of(&self, number: u32, read: usize) -> &[u32] {
        &self.of_reads[number as usize][read]
    }

    /// The commit of a transaction, if it is an attempt that was rolled back in the run.
    pub(crate) fn commit(&self, number: u32) -> Option<u32> {
        self.commits[number as usize]
    }

    pub(crate) fn name(&self, statement: u32) -> &Statement {
        &self.known[statement as usize]
    }

    /// Whether some of a read's statements are among others.
    pub(crate) fn is_among(&self, number: u32, read: usize, some: &[Statement]) -> bool {
        self.of(number, read).iter().any(|&statement| some.contains(self.name(statement)))
    }

    /// Whether all statements are among others.
    pub(crate) fn are_among(&self, statements: &[u32], some: &[Statement]) -> bool {
        statements.iter().all(|&statement| some.contains(self.name(statement)))
    }

    pub(crate) fn signature(&self, problem: &Problem<'_>, candidate: &Candidate) -> Signature {
        let changes = candidate.changes(problem);
        let mut signature: Signature =
            changes.iter().flat_map(|&(number, read)| self.of(number, read).iter().copied()).collect();
        let is_unchanged = |number: u32| changes.iter().all(|&(changed, _)| changed != number);
        let boundary = candidate.boundary.iter().map(|boundary| boundary.txn);
        signature.extend(boundary.filter(|&number| is_unchanged(number)).filter_map(|it| self.commit(it)));
        signature.sort_unstable();
        signature.dedup();
        signature
    }
}

/// For each key: it is the key of a row that does not exist in some version.
fn absent(problem: &Problem<'_>) -> Vec<bool> {
    let observed = problem.observed;
    let history = observed.history;
    let mut absent: Vec<bool> = history.keys().map(|key| history.initial(key) == Value::NIL).collect();
    for op in observed.order.iter().flat_map(|&txn| history.ops_of(txn)) {
        absent[op.key.index()] |= op.kind == OpKind::Delete;
    }
    absent
}

/// Names the statements of transactions.
struct Namer {
    /// The pattern of each key.
    patterns: Vec<String>,
}

impl Namer {
    fn new(problem: &Problem<'_>) -> Namer {
        let history = problem.observed.history;
        let name = |key| pattern(&ValueText(history, history.key_name(key)).to_string());
        Namer { patterns: history.keys().map(name).collect() }
    }

    fn pattern(&self, op: &OpView) -> &str {
        &self.patterns[op.key.index()]
    }

    /// The program of a transaction, and whether it has a name.
    fn program(&self, problem: &Problem<'_>, number: usize) -> (String, bool) {
        let observed = problem.observed;
        let executions = observed.executions;
        let name = executions.and_then(|executions| executions.programs.program(observed.of[number]));
        (name.map_or_else(|| self.shape(problem, number), str::to_owned), name.is_some())
    }

    /// The commit of a transaction.
    fn commit(&self, problem: &Problem<'_>, number: usize) -> Statement {
        let (program, is_named) = self.program(problem, number);
        Statement { program, keys: String::new(), place: 0, is_named, is_commit: true }
    }

    /// The external reads of a transaction: place, operation and statement.
    fn of(&self, problem: &Problem<'_>, number: usize) -> Vec<(u32, OpView, Statement)> {
        let ops = problem.observed.history.ops_of(problem.txns[number].txn);
        let (program, is_named) = self.program(problem, number);
        let mut before: FxHashMap<&str, u32> = FxHashMap::default();
        let mut found = Vec::new();
        for (op, at) in ops.zip(0..).filter(|(op, _)| is_external_read(op)) {
            let keys = self.pattern(&op);
            let times = before.entry(keys).or_default();
            let place = if is_named { *times } else { at };
            *times += 1;
            let (program, keys) = (program.clone(), keys.to_owned());
            found.push((at, op, Statement { program, keys, place, is_named, is_commit: false }));
        }
        found
    }

    fn shape(&self, problem: &Problem<'_>, number: usize) -> String {
        let ops = problem.observed.history.ops_of(problem.txns[number].txn);
        let op =
            |op: OpView| format!("{}({})", if op.kind.is_write() { 'w' } else { 'r' }, self.pattern(&op));
        ops.map(op).collect::<Vec<_>>().join(" ")
    }
}

/// Whether every statement of one signature is in another.
pub(crate) fn is_within(smaller: &[u32], larger: &[u32]) -> bool {
    smaller.iter().all(|statement| larger.binary_search(statement).is_ok())
}

/// A name in which every number is `#`.
fn pattern(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for c in name.chars() {
        if !c.is_ascii_digit() {
            pattern.push(c);
        } else if !pattern.ends_with('#') {
            pattern.push('#');
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_do_not_count() {
        assert_eq!(pattern("savings/12"), "savings/#");
        assert_eq!(pattern("x"), "x");
        assert_eq!(pattern("7"), "#");
        assert!(is_within(&[1, 3], &[1, 2, 3]) && !is_within(&[4], &[1, 2, 3]) && is_within(&[], &[]));
    }
}
