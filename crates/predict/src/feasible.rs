//! Whether the programs do what a candidate says.
//!
//! With a value-aware boundary, each boundary transaction runs again on the values of its chosen writers. If it commits with the accesses
//! of its form, the candidate is feasible. Otherwise it has another form on these values, and what it read up to the first
//! difference excludes this one.

use isoscope_history::{Op, Txn};
use isoscope_solve::Lit;
use rustc_hash::FxHashMap;

use crate::candidate::{Boundary, Candidate};
use crate::encode::Encoder;
use crate::error::Refusal;
use crate::executions::key_text;
use crate::observed::is_external_read;
use crate::predicted::Written;
use crate::problem::{INITIAL, Problem};
use crate::programs::{Access, Rerun};

/// A boundary transaction whose program has another form on the values of its writers.
pub(crate) struct Infeasible {
    pub(crate) txn: u32,
    /// How many of its reads are before the first difference.
    pub(crate) reads: usize,
}

/// The first infeasible boundary transaction of a candidate, if its programs are known.
pub(crate) fn infeasible(
    problem: &Problem<'_>,
    candidate: &Candidate,
) -> Result<Option<Infeasible>, Refusal> {
    for boundary in &candidate.boundary {
        if let Some(reads) = differs(problem, boundary)? {
            return Ok(Some(Infeasible { txn: boundary.txn, reads }));
        }
    }
    Ok(None)
}

/// Excludes the form of a boundary transaction for what it read.
pub(crate) fn exclude(encoder: &mut Encoder<'_>, candidate: &Candidate, found: &Infeasible) {
    let mut clause: Vec<Lit> = encoder.bound(found.txn).map(|bound| !bound).into_iter().collect();
    if let Some(boundary) = candidate.boundary_of(found.txn) {
        for (read, &source) in encoder.reads_of(found.txn).zip(&boundary.sources).take(found.reads) {
            clause.extend(encoder.reads[read].choice(source).map(|choice| !choice));
        }
    }
    encoder.solver.add_clause(&clause);
}

/// Runs the program of a boundary transaction on the values of its writers; `None` if it is not known.
fn rerun(problem: &Problem<'_>, boundary: &Boundary) -> Result<Option<Rerun>, Refusal> {
    let observed = problem.observed;
    let Some(executions) = observed.executions else { return Ok(None) };
    let of = observed.of[boundary.txn as usize];
    if executions.programs.program(of).is_none() {
        return Ok(None);
    }
    let sources = Sources::new(problem, boundary);
    let mut asked: FxHashMap<String, usize> = FxHashMap::default();
    let mut choose = |key: &str| {
        let times = asked.entry(key.to_owned()).or_default();
        *times += 1;
        sources.of(key, *times - 1)
    };
    let ran = executions.programs.rerun(of, &mut choose);
    ran.map(Some).map_err(|message| Refusal::internal(format!("a program did not run again: {message}")))
}

/// What the boundary transactions of a feasible candidate write.
pub(crate) fn written(problem: &Problem<'_>, candidate: &Candidate) -> Result<Written, Refusal> {
    let mut written = Written::default();
    for boundary in &candidate.boundary {
        if let Some(ran) = rerun(problem, boundary)? {
            written.insert(boundary.txn, ran.written);
        }
    }
    Ok(written)
}

/// How many reads of a boundary transaction are before the first difference between its form and its program, if there is one.
fn differs(problem: &Problem<'_>, boundary: &Boundary) -> Result<Option<usize>, Refusal> {
    let Some(ran) = rerun(problem, boundary)? else { return Ok(None) };
    let accesses = problem.observed.executions.map(|executions| &executions.accesses);
    let Some(form) = accesses.and_then(|all| all.get(&problem.txn(boundary.txn).txn)) else {
        return Ok(None);
    };
    let common = form.iter().zip(&ran.accesses).take_while(|(one, other)| one == other).count();
    if ran.commits && common == form.len() && common == ran.accesses.len() {
        return Ok(None);
    }
    let reads = form[..common].iter().filter(|access| !matches!(access, Access::Write(_))).count();
    // Without a difference in accesses, all reads together make the program roll back.
    let reads = if common == form.len() { usize::MAX } else { reads };
    Ok(Some(reads_within(problem, boundary, reads)))
}

/// How many reads of a boundary transaction belong to its first `accesses` accesses that read.
fn reads_within(problem: &Problem<'_>, boundary: &Boundary, accesses: usize) -> usize {
    let history = problem.observed.history;
    let txn = problem.txn(boundary.txn);
    let range = history.op_range(txn.txn);
    let mut starts: Vec<Op> =
        history.ops_of(txn.txn).filter(is_external_read).map(|op| history.start_of(op.id)).collect();
    starts.dedup();
    let Some(&end) = starts.get(accesses) else { return boundary.sources.len() };
    txn.reads.iter().filter(|read| range.start + (read.at as usize) < end.index()).count()
}

/// The writers of the keys that a boundary transaction reads.
struct Sources {
    of: FxHashMap<String, Vec<Option<Txn>>>,
}

impl Sources {
    fn new(problem: &Problem<'_>, boundary: &Boundary) -> Sources {
        let history = problem.observed.history;
        let txn = problem.txn(boundary.txn);
        let first = history.op_range(txn.txn).start;
        let mut of: FxHashMap<String, Vec<Option<Txn>>> = FxHashMap::default();
        for op in history.ops_of(txn.txn).filter(is_external_read) {
            let at = (op.id.index() - first) as u32;
            let class = problem.class(&op);
            let is_it = |read: &crate::problem::Read| {
                Some(read.key) == class && (problem.reads_once || read.at == at)
            };
            let place = txn.reads.iter().position(is_it);
            let source = place.and_then(|place| boundary.sources.get(place)).copied();
            let source = source.filter(|&source| source != INITIAL);
            of.entry(key_text(history, &op)).or_default().push(source.map(|source| problem.txn(source).txn));
        }
        Sources { of }
    }

    /// The writer of a key when it is read for the `times`-th time.
    fn of(&self, key: &str, times: usize) -> Option<Txn> {
        let sources = self.of.get(key)?;
        sources.get(times).or(sources.last()).copied().flatten()
    }
}
