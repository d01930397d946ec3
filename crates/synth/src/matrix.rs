//! Binary relations of transactions as square matrices.

use std::ops::{Index, IndexMut};

use crate::logic::Logic;

/// A square matrix. The row is where a pair leads from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Matrix<T> {
    size: usize,
    cells: Vec<T>,
}

impl<T> Index<(usize, usize)> for Matrix<T> {
    type Output = T;

    fn index(&self, (from, to): (usize, usize)) -> &T {
        &self.cells[from * self.size + to]
    }
}

impl<T> IndexMut<(usize, usize)> for Matrix<T> {
    fn index_mut(&mut self, (from, to): (usize, usize)) -> &mut T {
        &mut self.cells[from * self.size + to]
    }
}

impl<T: Copy + Eq> Matrix<T> {
    pub(crate) fn new(size: usize, mut cell: impl FnMut(usize, usize) -> T) -> Self {
        let mut cells = Vec::with_capacity(size * size);
        for from in 0..size {
            for to in 0..size {
                cells.push(cell(from, to));
            }
        }
        Matrix { size, cells }
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn cells(&self) -> &[T] {
        &self.cells
    }

    pub(crate) fn map<U: Copy + Eq>(&self, mut f: impl FnMut(T) -> U) -> Matrix<U> {
        Matrix { size: self.size, cells: self.cells.iter().map(|&cell| f(cell)).collect() }
    }
}

/// The pairs of a matrix of truth values.
pub(crate) fn pairs(matrix: &Matrix<bool>) -> impl Iterator<Item = (usize, usize)> + '_ {
    let size = matrix.size();
    (0..size * size).map(move |cell| (cell / size, cell % size)).filter(|&pair| matrix[pair])
}

pub(crate) fn identity<L: Logic>(size: usize) -> Matrix<L::Truth> {
    Matrix::new(size, |from, to| L::constant(from == to))
}

pub(crate) fn union<L: Logic>(logic: &mut L, size: usize, parts: &[&Matrix<L::Truth>]) -> Matrix<L::Truth> {
    let mut ways = Vec::with_capacity(parts.len());
    Matrix::new(size, |from, to| {
        ways.clear();
        ways.extend(parts.iter().map(|part| part[(from, to)]).filter(|&cell| cell != L::FALSE));
        match ways[..] {
            [] => L::FALSE,
            [only] => only,
            _ => logic.any(&ways),
        }
    })
}

pub(crate) fn intersection<L: Logic>(
    logic: &mut L,
    size: usize,
    parts: &[&Matrix<L::Truth>],
) -> Matrix<L::Truth> {
    let cell = |from, to| -> Vec<L::Truth> { parts.iter().map(|part| part[(from, to)]).collect() };
    Matrix::new(size, |from, to| logic.all(&cell(from, to)))
}

/// The first, then the second.
pub(crate) fn compose<L: Logic>(
    logic: &mut L,
    a: &Matrix<L::Truth>,
    b: &Matrix<L::Truth>,
) -> Matrix<L::Truth> {
    let size = a.size();
    let mut ways = Vec::with_capacity(size);
    let mut composed = Matrix::new(size, |_, _| L::FALSE);
    for from in 0..size {
        let middles: Vec<usize> = (0..size).filter(|&middle| a[(from, middle)] != L::FALSE).collect();
        for to in (0..size).filter(|_| !middles.is_empty()) {
            if logic.is_stopped() {
                return composed;
            }
            ways.clear();
            for &middle in &middles {
                let (one, other) = (a[(from, middle)], b[(middle, to)]);
                if other != L::FALSE {
                    ways.push(logic.both(one, other));
                }
            }
            composed[(from, to)] = logic.any(&ways);
        }
    }
    composed
}

/// Up to this size, paths are found by squaring.
const SQUARED: usize = 16;

/// One or more steps.
pub(crate) fn closure<L: Logic>(logic: &mut L, matrix: &Matrix<L::Truth>) -> Matrix<L::Truth> {
    let size = matrix.size();
    if matrix.cells().iter().all(|&cell| cell == L::TRUE || cell == L::FALSE) {
        return Paths::of(matrix, |cell| cell == L::TRUE).matrix(L::constant);
    }
    let leads_forward = (0..size).all(|from| (0..=from).all(|to| matrix[(from, to)] == L::FALSE));
    let mut closed = matrix.clone();
    if leads_forward {
        // The last step of a path to a node comes from a smaller one, whose paths are known.
        for to in 0..size {
            for from in (0..to).rev() {
                if logic.is_stopped() {
                    return closed;
                }
                let mut ways = vec![matrix[(from, to)]];
                for middle in from + 1..to {
                    let (first, last) = (closed[(from, middle)], matrix[(middle, to)]);
                    if first != L::FALSE && last != L::FALSE {
                        ways.push(logic.both(first, last));
                    }
                }
                closed[(from, to)] = logic.any(&ways);
            }
        }
        return closed;
    }
    if size > SQUARED {
        // Paths through the first nodes only, then through one more (Warshall 1962): fewer formulas, but in longer chains.
        for middle in 0..size {
            for from in 0..size {
                let first = closed[(from, middle)];
                if first == L::FALSE || logic.is_stopped() {
                    continue;
                }
                for to in 0..size {
                    let last = closed[(middle, to)];
                    if last != L::FALSE && closed[(from, to)] != L::TRUE {
                        let path = logic.both(first, last);
                        closed[(from, to)] = logic.any(&[closed[(from, to)], path]);
                    }
                }
            }
        }
        return closed;
    }
    let mut steps = 1;
    while steps < size {
        let twice = compose(logic, &closed, &closed);
        closed = union(logic, size, &[&closed, &twice]);
        steps *= 2;
    }
    closed
}

/// The paths of a relation that is known, as a bit for each pair.
pub(crate) struct Paths {
    size: usize,
    words: usize,
    bits: Vec<u64>,
}

impl Paths {
    /// The paths of the pairs whose cells are as asked (Warshall 1962, a row at a time).
    pub(crate) fn of<T: Copy + Eq>(matrix: &Matrix<T>, is_pair: impl Fn(T) -> bool) -> Paths {
        let size = matrix.size();
        let words = size.div_ceil(64);
        let mut paths = Paths { size, words, bits: vec![0; size * words] };
        for from in 0..size {
            for to in (0..size).filter(|&to| is_pair(matrix[(from, to)])) {
                paths.bits[from * words + to / 64] |= 1 << (to % 64);
            }
        }
        for middle in 0..size {
            let row = paths.bits[middle * words..(middle + 1) * words].to_vec();
            for from in 0..size {
                if paths.has(from, middle) {
                    let start = from * words;
                    paths.bits[start..start + words]
                        .iter_mut()
                        .zip(&row)
                        .for_each(|(bits, more)| *bits |= more);
                }
            }
        }
        paths
    }

    /// Whether a path leads from one to another.
    pub(crate) fn has(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.words + to / 64] >> (to % 64) & 1 == 1
    }

    /// Whether a path leads from one to another through a third.
    pub(crate) fn is_indirect(&self, from: usize, to: usize) -> bool {
        (0..self.size)
            .any(|middle| middle != from && middle != to && self.has(from, middle) && self.has(middle, to))
    }

    /// Whether a path leads back to where it began.
    pub(crate) fn is_cyclic(&self) -> bool {
        (0..self.size).any(|node| self.has(node, node))
    }

    /// As a matrix.
    pub(crate) fn matrix<T: Copy + Eq>(&self, cell: impl Fn(bool) -> T) -> Matrix<T> {
        Matrix::new(self.size, |from, to| cell(self.has(from, to)))
    }
}

/// Whether the pairs of one are pairs of the other.
pub(crate) fn inside<L: Logic>(logic: &mut L, a: &Matrix<L::Truth>, b: &Matrix<L::Truth>) -> L::Truth {
    let cells: Vec<L::Truth> =
        a.cells().iter().zip(b.cells()).map(|(&one, &other)| logic.implies(one, other)).collect();
    logic.all(&cells)
}
