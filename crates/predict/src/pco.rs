//! `IsoPredict`'s sufficient condition: some transactions precede each other in every serial order.
//!
//! *pco* is the least relation that contains session order and reads-from, is transitive, and for a read of `k` by `t3` from `t2` and
//! another writer `t1` of `k` has `t1 → t2` if `t1 → t3` (ww), and `t3 → t1` if `t2 → t1` (rw). It is contained in every serial order, so
//! a cycle proves that there is none. The converse fails in theory: without a cycle there may still be no serial order.
//!
//! Reachability is a bit matrix. Each derived edge updates the rows of all that reach its start.

use rustc_hash::FxHashMap;

use crate::candidate::Form;
use crate::problem::{INITIAL, Problem};

/// A read: the reader, its source, and the writers of the key, by place among the forms.
struct Read {
    reader: u32,
    source: u32,
    key: u32,
}

/// Whether pco of the included transactions has a cycle.
pub(crate) fn is_cyclic(problem: &Problem<'_>, forms: &[Form]) -> bool {
    let place: FxHashMap<u32, u32> = forms.iter().zip(0..).map(|(form, place)| (form.txn, place)).collect();
    let mut writers: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    let mut reads = Vec::new();
    let mut edges: Vec<(u32, u32)> = Vec::new();
    for (form, reader) in forms.iter().zip(0..) {
        for &key in &form.writes {
            writers.entry(key).or_default().push(reader);
        }
        if let Some(before) = problem.before(form.txn) {
            edges.push((place[&before], reader));
        }
        for &(key, source) in &form.reads {
            let source = if source == INITIAL { INITIAL } else { place[&source] };
            if source != INITIAL {
                edges.push((source, reader));
            }
            reads.push(Read { reader, source, key });
        }
    }
    reads.retain(|read| writers.contains_key(&read.key));
    let mut matrix = Matrix::of(forms.len(), &edges);
    loop {
        let mut changed = false;
        for read in &reads {
            for &writer in &writers[&read.key] {
                if writer == read.source || writer == read.reader {
                    continue;
                }
                match derive(&mut matrix, read, writer) {
                    Derived::Nothing => {}
                    Derived::Edge => changed = true,
                    Derived::Cycle => return true,
                }
            }
        }
        if !changed {
            return false;
        }
    }
}

enum Derived {
    Nothing,
    Edge,
    Cycle,
}

/// Applies both rules to a read and another writer of its key.
fn derive(matrix: &mut Matrix, read: &Read, writer: u32) -> Derived {
    let Read { reader, source, .. } = *read;
    let mut derived = Derived::Nothing;
    if matrix.reaches(writer, reader) {
        if source == INITIAL {
            return Derived::Cycle;
        }
        if !matrix.reaches(writer, source) {
            if !matrix.add(writer, source) {
                return Derived::Cycle;
            }
            derived = Derived::Edge;
        }
    }
    if (source == INITIAL || matrix.reaches(source, writer)) && !matrix.reaches(reader, writer) {
        if !matrix.add(reader, writer) {
            return Derived::Cycle;
        }
        derived = Derived::Edge;
    }
    derived
}

/// Reachability between the nodes of a graph.
struct Matrix {
    width: usize,
    rows: Vec<u64>,
    nodes: usize,
}

impl Matrix {
    /// The closure of edges. Those that lead to a lesser node lead to one without successors.
    fn of(nodes: usize, edges: &[(u32, u32)]) -> Matrix {
        let width = nodes.div_ceil(64);
        let mut matrix = Matrix { width, rows: vec![0; nodes * width], nodes };
        let mut edges = edges.to_vec();
        edges.sort_unstable_by_key(|&(from, _)| std::cmp::Reverse(from));
        for (from, to) in edges {
            matrix.join(from as usize, to as usize);
        }
        matrix
    }

    #[inline]
    fn reaches(&self, from: u32, to: u32) -> bool {
        self.rows[from as usize * self.width + to as usize / 64] >> (to % 64) & 1 == 1
    }

    /// Adds to a row another one and its node.
    fn join(&mut self, into: usize, from: usize) {
        let width = self.width;
        for word in 0..width {
            let more = self.rows[from * width + word];
            self.rows[into * width + word] |= more;
        }
        self.rows[into * width + from / 64] |= 1 << (from % 64);
    }

    /// Adds an edge; false if it closes a cycle.
    fn add(&mut self, from: u32, to: u32) -> bool {
        if from == to || self.reaches(to, from) {
            return false;
        }
        for node in 0..self.nodes {
            if node == from as usize || self.reaches(node as u32, from) {
                self.join(node, to as usize);
            }
        }
        true
    }
}
