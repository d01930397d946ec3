//! Which predictions are the same anomaly of the application: those whose changed reads are of the same statements.
//!
//! A history does not name programs and statements. Transactions with the same *shape* count as runs of one program: the same operations
//! in the same order on keys whose names differ only in their numbers, such as `savings/3` and `savings/7`. The statement of a read is its
//! place in the shape. The *signature* of a prediction is the set of the statements of its changed reads.

use isoscope_history::notation::ValueText;
use rustc_hash::FxHashMap;

use crate::candidate::Candidate;
use crate::problem::Problem;

/// A set of statements, sorted.
pub(crate) type Signature = Vec<u32>;

/// The statement of each read.
pub(crate) struct Statements {
    /// By transaction and place among its reads.
    statements: Vec<Vec<u32>>,
    /// The number of statements.
    pub(crate) count: u32,
}

impl Statements {
    pub(crate) fn new(problem: &Problem<'_>) -> Statements {
        let history = problem.observed.history;
        let patterns: Vec<String> = history
            .keys()
            .map(|key| pattern(&ValueText(history, history.key_name(key)).to_string()))
            .collect();
        let mut shapes: FxHashMap<Vec<(u8, &str)>, u32> = FxHashMap::default();
        let mut known: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        let mut statements = Vec::with_capacity(problem.len());
        for txn in &problem.txns {
            let shape: Vec<(u8, &str)> = history
                .ops_of(txn.txn)
                .map(|op| (op.kind as u8, patterns[op.key.index()].as_str()))
                .collect();
            let next = shapes.len() as u32;
            let shape = *shapes.entry(shape).or_insert(next);
            let statement = |at: u32| {
                let next = known.len() as u32;
                *known.entry((shape, at)).or_insert(next)
            };
            statements.push(txn.reads.iter().map(|read| read.at).map(statement).collect());
        }
        Statements { statements, count: known.len() as u32 }
    }

    pub(crate) fn of(&self, number: u32, read: usize) -> u32 {
        self.statements[number as usize][read]
    }

    pub(crate) fn signature(&self, problem: &Problem<'_>, candidate: &Candidate) -> Signature {
        let changes = candidate.changes(problem);
        let mut signature: Signature = changes.iter().map(|&(number, read)| self.of(number, read)).collect();
        signature.sort_unstable();
        signature.dedup();
        signature
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
