//! What every anomaly of the snapshot levels must contain.
//!
//! An edge is *vulnerable* if it is an anti-dependency between transactions that can be concurrent: one reads a key that the other may
//! write, they are in different sessions, hb does not order them, and they may not both write some key. Every cycle of a history that
//! satisfies snapshot isolation has two vulnerable edges in a row (Fekete and others 2005, "Making Snapshot Isolation Serializable"):
//! without them, each step of the cycle leads to a later commit. The transaction in the middle is the *pivot*. Parallel snapshot
//! isolation requires two vulnerable edges anywhere.
//!
//! So a run without possible pivots has no prediction, which is found in linear time in its pairs of readers and writers.

use isoscope_levels::Level;
use isoscope_solve::Lit;

use crate::encode::Encoder;
use crate::problem::Problem;

/// Adds what an anomaly must contain. Only for the target serializable.
pub(crate) fn add(encoder: &mut Encoder<'_>) {
    match encoder.level {
        Level::Snapshot => add_pivots(encoder),
        Level::ParallelSnapshot => {
            let edges = Edges::new(encoder.problem, encoder.window.end);
            if edges.out.iter().filter(|out| !out.is_empty()).count() < 2 {
                encoder.solver.add_clause(&[]);
            }
        }
        _ => {}
    }
}

/// By transaction, where its vulnerable edges lead and come from, except for hb.
struct Edges {
    out: Vec<Vec<u32>>,
    into: Vec<Vec<u32>>,
}

impl Edges {
    fn new(problem: &Problem<'_>, end: u32) -> Edges {
        let mut edges = Edges { out: vec![Vec::new(); end as usize], into: vec![Vec::new(); end as usize] };
        for reader in 0..end {
            let txn = problem.txn(reader);
            let written = txn.reads.iter().flat_map(|read| &problem.writers[read.key as usize]);
            let mut targets: Vec<u32> = written.copied().filter(|&writer| writer < end).collect();
            targets.sort_unstable();
            targets.dedup();
            targets.retain(|&writer| {
                let other = problem.txn(writer);
                other.session != txn.session && !other.writes.iter().any(|write| txn.writes_key(write.key))
            });
            for &writer in &targets {
                edges.into[writer as usize].push(reader);
            }
            edges.out[reader as usize] = targets;
        }
        edges
    }
}

/// Some pivot is included, with a vulnerable edge to it and one from it.
fn add_pivots(encoder: &mut Encoder<'_>) {
    let edges = Edges::new(encoder.problem, encoder.window.end);
    let mut any = Vec::new();
    for number in 0..encoder.window.end {
        let (into, out) = (&edges.into[number as usize], &edges.out[number as usize]);
        if into.is_empty() || out.is_empty() {
            continue;
        }
        let full = encoder.full(number);
        let forms = [(Some(full), false), (encoder.bound(number), true)];
        for (included, is_boundary) in forms {
            let Some(included) = included else { continue };
            let (before, after) = (
                concurrent(encoder, number, is_boundary, into),
                concurrent(encoder, number, is_boundary, out),
            );
            if before.is_empty() || after.is_empty() {
                continue;
            }
            let pivot = encoder.solver.variable(false);
            encoder.solver.add_clause(&[!pivot, included]);
            for side in [before, after] {
                let clause: Vec<Lit> = std::iter::once(!pivot).chain(side).collect();
                encoder.solver.add_clause(&clause);
            }
            any.push(pivot);
        }
    }
    encoder.solver.add_clause(&any);
}

/// The literals that one of several transactions is included in a form that can be concurrent with a form of `number`.
fn concurrent(encoder: &Encoder<'_>, number: u32, is_boundary: bool, others: &[u32]) -> Vec<Lit> {
    let problem = encoder.problem;
    // hb leads to a boundary form from what its session has seen.
    let leads = |from: u32, to: u32| {
        problem.before(to).is_some_and(|before| before == from || problem.hb(from, before))
    };
    let mut lits = Vec::new();
    for &other in others {
        let ordered = if is_boundary {
            leads(other, number)
        } else {
            problem.hb(number, other) || problem.hb(other, number)
        };
        if !ordered {
            lits.push(encoder.full(other));
        }
        if let Some(bound) = encoder.bound(other)
            && (is_boundary || !leads(number, other))
        {
            lits.push(bound);
        }
    }
    lits
}
