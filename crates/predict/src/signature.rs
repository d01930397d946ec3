//! Which predictions are the same anomaly of the application: those whose changed reads are of the same statements.
//!
//! A history does not name programs and statements. If the programs are not known, transactions with the same *shape* count as runs of one program: the
//! same operations in the same order on keys whose names differ only in their numbers, such as `savings/3` and `savings/7`. The statement
//! of a read is its place in the shape; in a known program it is the pattern of the key, and how many reads with this pattern are
//! before it. The *signature* of a prediction is the set of the statements of its changed reads.

use std::fmt;

use isoscope_history::OpView;
use isoscope_history::notation::ValueText;
use rustc_hash::FxHashMap;

use crate::candidate::Candidate;
use crate::observed::is_external_read;
use crate::problem::Problem;

/// A set of statements, sorted.
pub(crate) type Signature = Vec<u32>;

/// A read in a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Statement {
    /// The name of the program, or the shape of its transactions if it has none.
    pub program: String,
    /// The keys that it reads: a name in which every number is `#`.
    pub keys: String,
    /// How many reads of the program with such keys are before it; in a shape, how many operations.
    pub place: u32,
    /// Whether the program has a name.
    pub is_named: bool,
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_named {
            write!(f, "the read of {} in {}", self.keys, self.program)
        } else {
            write!(f, "the read of {} in transactions like {}", self.keys, self.program)
        }
    }
}

/// The statement of each read.
pub(crate) struct Statements {
    /// By transaction and place among its reads.
    of_reads: Vec<Vec<u32>>,
    /// The same, with the statements of the reads that were dropped because they have the writer of this one.
    all: Vec<Vec<Vec<u32>>>,
    known: Vec<Statement>,
    /// The number of statements.
    pub(crate) count: u32,
}

impl Statements {
    pub(crate) fn new(problem: &Problem<'_>) -> Statements {
        let namer = Namer::new(problem);
        let mut numbers: FxHashMap<Statement, u32> = FxHashMap::default();
        let (mut of_reads, mut all) = (Vec::new(), Vec::new());
        for (number, txn) in problem.txns.iter().enumerate() {
            let named = namer.of(problem, number);
            let mut number = |statement: &Statement| {
                let next = numbers.len() as u32;
                *numbers.entry(statement.clone()).or_insert(next)
            };
            let mut own = Vec::with_capacity(txn.reads.len());
            let mut also = Vec::with_capacity(txn.reads.len());
            for read in &txn.reads {
                let is_same = |&&(at, key, _): &&(u32, Option<u32>, Statement)| {
                    at == read.at || (problem.reads_once && key == Some(read.key))
                };
                let of_read: Vec<u32> =
                    named.iter().filter(is_same).map(|(_, _, statement)| number(statement)).collect();
                let first = named.iter().find(|(at, ..)| *at == read.at);
                own.push(first.map_or(0, |(_, _, statement)| number(statement)));
                also.push(of_read);
            }
            of_reads.push(own);
            all.push(also);
        }
        let mut known: Vec<(Statement, u32)> = numbers.into_iter().collect();
        known.sort_unstable_by_key(|&(_, number)| number);
        let known: Vec<Statement> = known.into_iter().map(|(statement, _)| statement).collect();
        Statements { of_reads, all, count: known.len() as u32, known }
    }

    pub(crate) fn of(&self, number: u32, read: usize) -> u32 {
        self.of_reads[number as usize][read]
    }

    pub(crate) fn name(&self, statement: u32) -> &Statement {
        &self.known[statement as usize]
    }

    /// Whether a read, or one that has the same writer, is of one of some statements.
    pub(crate) fn is_among(&self, number: u32, read: usize, some: &[Statement]) -> bool {
        self.all[number as usize][read].iter().any(|&statement| some.contains(self.name(statement)))
    }

    pub(crate) fn signature(&self, problem: &Problem<'_>, candidate: &Candidate) -> Signature {
        let changes = candidate.changes(problem);
        let mut signature: Signature = changes.iter().map(|&(number, read)| self.of(number, read)).collect();
        signature.sort_unstable();
        signature.dedup();
        signature
    }
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

    /// The external reads of a transaction: place, class of the key, statement.
    fn of(&self, problem: &Problem<'_>, number: usize) -> Vec<(u32, Option<u32>, Statement)> {
        let observed = problem.observed;
        let ops = observed.history.ops_of(problem.txns[number].txn);
        let executions = observed.executions;
        let name = executions.and_then(|executions| executions.programs.program(observed.of[number]));
        let mut before: FxHashMap<&str, u32> = FxHashMap::default();
        let program = name.map_or_else(|| self.shape(problem, number), str::to_owned);
        let mut found = Vec::new();
        for (op, at) in ops.zip(0..).filter(|(op, _)| is_external_read(op)) {
            let keys = self.pattern(&op);
            let times = before.entry(keys).or_default();
            let place = if name.is_some() { *times } else { at };
            *times += 1;
            let is_named = name.is_some();
            let statement = Statement { program: program.clone(), keys: keys.to_owned(), place, is_named };
            found.push((at, problem.class(&op), statement));
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
