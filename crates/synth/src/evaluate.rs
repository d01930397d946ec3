//! Evaluates formulas about a history and a witness, both given as truth values or as formulas of a solver ([`Logic`]).
//!
//! The value of a node depends only on its free variables, so it is computed once for each of their values.

use std::rc::Rc;

use isoscope_levels::language::{Quantifier, Sort};
use rustc_hash::FxHashMap;

use crate::compiled::{Compiled, Id, Node, Step, Var};
use crate::logic::Logic;
use crate::matrix::{self, Matrix};

/// A history: what each transaction reads and writes, and the orders. Transaction 0 is the initial one.
#[derive(Clone, Debug)]
pub(crate) struct View<T> {
    pub(crate) txns: usize,
    pub(crate) keys: usize,
    /// Whether the history is known, even if its facts are formulas.
    pub(crate) is_known: bool,
    /// By transaction and key.
    pub(crate) writes: Vec<T>,
    /// By key: from the writer to the reader.
    pub(crate) wr: Vec<Rc<Matrix<T>>>,
    pub(crate) so: Rc<Matrix<T>>,
    pub(crate) rt: Rc<Matrix<T>>,
    /// By transaction: whether it reads the first key before the second.
    pub(crate) po: Vec<Rc<Matrix<T>>>,
}

/// What shows that a level allows a history.
#[derive(Clone, Debug)]
pub(crate) struct Witness<T> {
    /// One order of all transactions, or one for each key.
    pub(crate) orders: Vec<Rc<Matrix<T>>>,
    pub(crate) vis: Option<Rc<Matrix<T>>>,
}

impl<T> Witness<T> {
    /// The order of the versions of a key.
    pub(crate) fn order_of(&self, key: usize) -> &Matrix<T> {
        &self.orders[key.min(self.orders.len() - 1)]
    }
}

/// Evaluates the nodes of one formula.
pub(crate) struct Evaluator<'e, L: Logic> {
    logic: &'e mut L,
    view: &'e View<L::Truth>,
    witness: &'e Witness<L::Truth>,
    compiled: &'e Compiled,
    /// The value of each variable.
    env: Vec<u8>,
    truths: FxHashMap<(Id, u64), L::Truth>,
    relations: FxHashMap<(Id, u64), Rc<Matrix<L::Truth>>>,
}

impl<'e, L: Logic> Evaluator<'e, L> {
    pub(crate) fn new(
        logic: &'e mut L,
        view: &'e View<L::Truth>,
        witness: &'e Witness<L::Truth>,
        compiled: &'e Compiled,
    ) -> Self {
        let env = vec![0; compiled.variables()];
        Evaluator {
            logic,
            view,
            witness,
            compiled,
            env,
            truths: FxHashMap::default(),
            relations: FxHashMap::default(),
        }
    }

    /// The values of the free variables of a node, if they fit into a number.
    fn place(&self, id: Id) -> Option<(Id, u64)> {
        let free = &self.compiled.free[id as usize];
        let packed = |values: u64, var: &Var| values << 8 | u64::from(self.env[usize::from(*var)]);
        (free.len() <= 8).then(|| (id, free.iter().fold(0, packed)))
    }

    fn value(&self, var: Var) -> usize {
        self.env[usize::from(var)].into()
    }

    /// The worth of a formula.
    pub(crate) fn truth(&mut self, id: Id) -> L::Truth {
        let compiled = self.compiled;
        let node = &compiled.nodes[id as usize];
        match node {
            Node::Constant(value) => return L::constant(*value),
            Node::Same(a, b) => return L::constant(self.value(*a) == self.value(*b)),
            Node::Writes(txn, key, value) => return self.writes(*txn, *key, *value),
            Node::Related(relation, from, to) => {
                let pair = (self.value(*from), self.value(*to));
                return self.relation(*relation)[pair];
            }
            _ => {}
        }
        let place = self.place(id);
        if let Some(&known) = place.as_ref().and_then(|place| self.truths.get(place)) {
            return known;
        }
        let truth = match node {
            Node::Not(a) => {
                let a = self.truth(*a);
                self.logic.not(a)
            }
            Node::All(parts) => self.join(parts, true),
            Node::Any(parts) => self.join(parts, false),
            Node::Iff(a, b) => {
                let (a, b) = (self.truth(*a), self.truth(*b));
                self.logic.iff(a, b)
            }
            Node::Block(quantifier, steps) => self.block(*quantifier, steps),
            Node::Reads(txn, key, value) => self.reads(*txn, *key, *value),
            Node::ReadsBefore(txn, first, second) => {
                let both = [self.reads(*txn, Some(*first), None), self.reads(*txn, Some(*second), None)];
                let (first, second) = (self.value(*first), self.value(*second));
                let before = self.view.po[self.value(*txn)][(first, second)];
                self.logic.all(&[both[0], both[1], before])
            }
            Node::In(a, b) => {
                let (a, b) = (self.relation(*a), self.relation(*b));
                matrix::inside(self.logic, &a, &b)
            }
            Node::Empty(relation) => {
                let relation = self.relation(*relation);
                let any = self.logic.any(relation.cells());
                self.logic.not(any)
            }
            Node::Acyclic(relation) => {
                let relation = self.relation(*relation);
                self.acyclic(id, &relation)
            }
            Node::Irreflexive(relation) => self.irreflexive_node(*relation),
            Node::Total(relation) => {
                let relation = self.relation(*relation);
                let mut parts = Vec::new();
                for from in 0..self.view.txns {
                    for to in from + 1..self.view.txns {
                        parts.push(self.logic.any(&[relation[(from, to)], relation[(to, from)]]));
                    }
                }
                self.logic.all(&parts)
            }
            _ => unreachable!("a relation is not a formula"),
        };
        if let Some(place) = place {
            self.truths.insert(place, truth);
        }
        truth
    }

    /// That a relation is acyclic.
    fn acyclic(&mut self, id: Id, relation: &Matrix<L::Truth>) -> L::Truth {
        if self.compiled.is_positive(id) {
            if self.compiled.free[id as usize].is_empty()
                && let Some(ordered) = self.logic.ordered(relation)
            {
                return ordered;
            }
            if let Some(paths) = self.logic.paths_above(relation) {
                return self.irreflexive(&paths);
            }
        }
        let paths = matrix::closure(self.logic, relation);
        self.irreflexive(&paths)
    }

    /// That no transaction leads to itself. Of a composition, only the pairs of a transaction with itself are computed.
    fn irreflexive_node(&mut self, relation: Id) -> L::Truth {
        if let Node::Compose(a, b) = self.compiled.nodes[relation as usize] {
            let (a, b) = (self.relation(a), self.relation(b));
            let back = Matrix::new(a.size(), |from, to| b[(to, from)]);
            let mut ways = Vec::new();
            for from in 0..a.size() {
                for to in 0..a.size() {
                    let (one, other) = (a[(from, to)], back[(from, to)]);
                    if one != L::FALSE && other != L::FALSE {
                        ways.push(self.logic.both(one, other));
                    }
                }
            }
            let any = self.logic.any(&ways);
            return self.logic.not(any);
        }
        let relation = self.relation(relation);
        self.irreflexive(&relation)
    }

    /// All of some formulas, or any of them. The rest is not looked at once the answer is clear.
    fn join(&mut self, parts: &[Id], all: bool) -> L::Truth {
        let decisive = L::constant(!all);
        let mut truths = Vec::with_capacity(parts.len());
        for &part in parts {
            let truth = self.truth(part);
            if truth == decisive {
                return decisive;
            }
            truths.push(truth);
        }
        if all { self.logic.all(&truths) } else { self.logic.any(&truths) }
    }

    /// A block of quantifiers: see [`Step`].
    fn block(&mut self, quantifier: Quantifier, steps: &[Step]) -> L::Truth {
        let all = quantifier == Quantifier::Forall;
        let outside = self.env.clone();
        let mut truths = Vec::new();
        self.steps(all, steps, &mut Vec::new(), &mut truths);
        self.env = outside;
        if all { self.logic.all(&truths) } else { self.logic.any(&truths) }
    }

    /// Takes the steps of a block that are left. `open` are the parts so far that are not decided; the result for the values of
    /// all variables is added to `truths`. Returns whether the result of the block is clear.
    fn steps(
        &mut self,
        all: bool,
        steps: &[Step],
        open: &mut Vec<L::Truth>,
        truths: &mut Vec<L::Truth>,
    ) -> bool {
        // Below `forall` is a disjunction: a true part decides it, and a false one disappears.
        let decisive = L::constant(all);
        let Some((&step, rest)) = steps.split_first() else {
            let truth = if all { self.logic.any(open) } else { self.logic.all(open) };
            truths.push(truth);
            return truth == L::constant(!all);
        };
        match step {
            Step::Guard(_) if !self.view.is_known => self.steps(all, rest, open, truths),
            Step::Guard(id) => {
                if self.truth(id) == decisive {
                    return false;
                }
                self.steps(all, rest, open, truths)
            }
            Step::Part(id) => {
                let truth = self.truth(id);
                if truth == decisive {
                    return false;
                }
                open.push(truth);
                let is_clear = self.steps(all, rest, open, truths);
                open.pop();
                is_clear
            }
            Step::Bind(var, sort) => {
                for value in 0..self.size(sort) {
                    self.env[usize::from(var)] = value as u8;
                    if self.steps(all, rest, open, truths) || self.logic.is_stopped() {
                        return true;
                    }
                }
                false
            }
        }
    }

    /// A value is known by the transaction that wrote it.
    fn size(&self, sort: Sort) -> usize {
        if sort == Sort::Key { self.view.keys } else { self.view.txns }
    }

    fn writes(&mut self, txn: Var, key: Option<Var>, value: Option<Var>) -> L::Truth {
        let (txn, keys) = (self.value(txn), self.view.keys);
        if value.is_some_and(|value| self.value(value) != txn) {
            return L::FALSE;
        }
        match key {
            Some(key) => self.view.writes[txn * keys + self.value(key)],
            None => self.logic.any(&self.view.writes[txn * keys..(txn + 1) * keys]),
        }
    }

    fn reads(&mut self, txn: Var, key: Option<Var>, value: Option<Var>) -> L::Truth {
        let (view, txn) = (self.view, self.value(txn));
        let keys = key.map_or(0..view.keys, |key| self.value(key)..self.value(key) + 1);
        let writers = value.map_or(0..view.txns, |value| self.value(value)..self.value(value) + 1);
        let ways: Vec<L::Truth> =
            keys.flat_map(|key| writers.clone().map(move |writer| view.wr[key][(writer, txn)])).collect();
        self.logic.any(&ways)
    }

    fn irreflexive(&mut self, relation: &Matrix<L::Truth>) -> L::Truth {
        let diagonal: Vec<L::Truth> = (0..relation.size()).map(|txn| relation[(txn, txn)]).collect();
        let any = self.logic.any(&diagonal);
        self.logic.not(any)
    }

    /// The pairs of a relation.
    pub(crate) fn relation(&mut self, id: Id) -> Rc<Matrix<L::Truth>> {
        let compiled = self.compiled;
        let node = &compiled.nodes[id as usize];
        let place = self.place(id);
        if let Some(known) = place.as_ref().and_then(|place| self.relations.get(place)) {
            return known.clone();
        }
        let of_key = |key: &Option<Var>| key.map(|key| self.value(key));
        let relation = match node {
            Node::So => self.view.so.clone(),
            Node::Rt => self.view.rt.clone(),
            Node::Order => self.witness.orders[0].clone(),
            Node::Vis => self.witness.vis.clone().expect("the framework has visibility"),
            Node::Identity => Rc::new(matrix::identity::<L>(self.view.txns)),
            Node::Wr(Some(key)) => self.view.wr[self.value(*key)].clone(),
            Node::Wr(None) => {
                let keys: Vec<&Matrix<L::Truth>> = self.view.wr.iter().map(|wr| &**wr).collect();
                Rc::new(matrix::union(self.logic, self.view.txns, &keys))
            }
            Node::Ww(key) => {
                let key = of_key(key);
                self.of_keys(key, Self::ww)
            }
            Node::Rw(key) => {
                let key = of_key(key);
                self.of_keys(key, Self::rw)
            }
            Node::Union(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| self.relation(*part)).collect();
                let parts: Vec<&Matrix<L::Truth>> = parts.iter().map(|part| &**part).collect();
                Rc::new(matrix::union(self.logic, self.view.txns, &parts))
            }
            Node::Intersection(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| self.relation(*part)).collect();
                let parts: Vec<&Matrix<L::Truth>> = parts.iter().map(|part| &**part).collect();
                Rc::new(matrix::intersection(self.logic, self.view.txns, &parts))
            }
            Node::Minus(a, b) => {
                let (a, b) = (self.relation(*a), self.relation(*b));
                let not = b.map(|cell| self.logic.not(cell));
                Rc::new(matrix::intersection(self.logic, self.view.txns, &[&a, &not]))
            }
            Node::Compose(a, b) => {
                let (a, b) = (self.relation(*a), self.relation(*b));
                Rc::new(matrix::compose(self.logic, &a, &b))
            }
            Node::Inverse(a) => {
                let a = self.relation(*a);
                Rc::new(Matrix::new(a.size(), |from, to| a[(to, from)]))
            }
            Node::Plus(a) => {
                let a = self.relation(*a);
                let above = self.compiled.is_negative(id).then(|| self.logic.paths_above(&a)).flatten();
                Rc::new(above.unwrap_or_else(|| matrix::closure(self.logic, &a)))
            }
            Node::Where(from, to, body) => {
                let outside = (self.env[usize::from(*from)], self.env[usize::from(*to)]);
                let relation = Matrix::new(self.view.txns, |a, b| {
                    self.env[usize::from(*from)] = a as u8;
                    self.env[usize::from(*to)] = b as u8;
                    self.truth(*body)
                });
                (self.env[usize::from(*from)], self.env[usize::from(*to)]) = outside;
                Rc::new(relation)
            }
            _ => unreachable!("a formula is not a relation"),
        };
        if let Some(place) = place {
            self.relations.insert(place, relation.clone());
        }
        relation
    }

    /// A relation of one key, or of any.
    fn of_keys(
        &mut self,
        key: Option<usize>,
        of_key: fn(&mut Self, usize) -> Matrix<L::Truth>,
    ) -> Rc<Matrix<L::Truth>> {
        if let Some(key) = key {
            return Rc::new(of_key(self, key));
        }
        let keys: Vec<_> = (0..self.view.keys).map(|key| of_key(self, key)).collect();
        let keys: Vec<&Matrix<L::Truth>> = keys.iter().collect();
        Rc::new(matrix::union(self.logic, self.view.txns, &keys))
    }

    fn ww(&mut self, key: usize) -> Matrix<L::Truth> {
        let View { keys, txns, ref writes, .. } = *self.view;
        let order = self.witness.order_of(key);
        let writers: Vec<usize> = (0..txns).filter(|txn| writes[txn * keys + key] != L::FALSE).collect();
        let mut ww = Matrix::new(txns, |_, _| L::FALSE);
        for &from in &writers {
            for &to in &writers {
                let both = [order[(from, to)], writes[from * keys + key], writes[to * keys + key]];
                ww[(from, to)] = self.logic.all(&both);
            }
        }
        ww
    }

    /// From the reader of a version to the writers of later ones, but not to itself.
    fn rw(&mut self, key: usize) -> Matrix<L::Truth> {
        let ww = self.ww(key);
        let wr = &self.view.wr[key];
        let inverse = Matrix::new(self.view.txns, |from, to| wr[(to, from)]);
        let later = matrix::compose(self.logic, &inverse, &ww);
        Matrix::new(self.view.txns, |from, to| if from == to { L::FALSE } else { later[(from, to)] })
    }
}
