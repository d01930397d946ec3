//! Families of plain formulas: random 3-SAT, pigeonholes, and histories as level synthesis describes them.

// Each test and benchmark uses a part of this.
#![allow(dead_code)]

use isoscope_solve::{ClauseSink, Cnf, Formula, Formulas, Lit, Tseitin, Var};

use crate::random::Random;

/// Random clauses of three different variables.
pub(crate) fn random_3sat(vars: u32, clauses: u32, seed: u64) -> Cnf {
    let random = &mut Random::new(seed);
    let mut cnf = Cnf { vars: vars as usize, ..Cnf::default() };
    for _ in 0..clauses {
        let (a, b) = random.pair(vars);
        let c = loop {
            let c = random.below(vars);
            if c != a && c != b {
                break c;
            }
        };
        cnf.clauses.push([a, b, c].map(|var| Var::new(var as usize).is(random.below(2) == 0)).to_vec());
    }
    cnf
}

/// Pigeons each in a hole, no two in the same: satisfiable if there are enough holes.
pub(crate) fn pigeonhole(pigeons: usize, holes: usize) -> Cnf {
    let mut cnf = Cnf { vars: pigeons * holes, ..Cnf::default() };
    let sits = |pigeon: usize, hole: usize| Var::new(pigeon * holes + hole).positive();
    for pigeon in 0..pigeons {
        cnf.clauses.push((0..holes).map(|hole| sits(pigeon, hole)).collect());
    }
    for hole in 0..holes {
        for first in 0..pigeons {
            for second in 0..first {
                cnf.clauses.push(vec![!sits(first, hole), !sits(second, hole)]);
            }
        }
    }
    cnf
}

/// A total order as clauses: a variable for each pair of nodes, and a clause for each three.
pub(crate) struct Order {
    nodes: usize,
    /// By both nodes; the literal of a node and itself has no meaning.
    before: Vec<Lit>,
}

impl Order {
    pub(crate) fn new(nodes: usize, sink: &mut impl ClauseSink) -> Order {
        let mut before = vec![Var::new(0).positive(); nodes * nodes];
        for (a, b) in pairs(nodes).filter(|(a, b)| a < b) {
            let lit = sink.new_var().positive();
            (before[a * nodes + b], before[b * nodes + a]) = (lit, !lit);
        }
        let order = Order { nodes, before };
        for (a, b) in pairs(nodes) {
            for c in (0..nodes).filter(|&c| c != a && c != b) {
                sink.add_clause(&[!order.before(a, b), !order.before(b, c), order.before(a, c)]);
            }
        }
        order
    }

    /// The literal *a is before b*.
    pub(crate) fn before(&self, a: usize, b: usize) -> Lit {
        assert!(a != b, "a pair consists of two different nodes");
        self.before[a * self.nodes + b]
    }
}

/// All pairs of different nodes.
fn pairs(nodes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..nodes).flat_map(move |a| (0..nodes).filter(move |&b| b != a).map(move |b| (a, b)))
}

/// Isolation levels by their commit order (Biswas and Enea 2019).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    ReadAtomic,
    Causal,
    Snapshot,
    Serializable,
}

/// A relation between transactions.
type Relation = Vec<Vec<Formula>>;

/// Histories of some transactions and an initial one over keys and values, with a commit order of which every pair is a
/// variable: one that a level allows and another forbids with the same commit order.
pub(crate) struct Histories {
    cnf: Cnf,
    formulas: Formulas,
    tseitin: Tseitin,
    txns: usize,
    keys: usize,
    values: usize,
    /// By transaction, key and value.
    reads: Vec<Vec<Vec<Formula>>>,
    writes: Vec<Vec<Vec<Formula>>>,
}

impl Histories {
    pub(crate) fn allowed_and_forbidden(
        txns: usize,
        keys: usize,
        values: usize,
        allowed: Level,
        forbidden: Level,
    ) -> Cnf {
        let mut histories = Histories::new(txns + 1, keys, values);
        histories.well_formed();
        let wr_of: Vec<Relation> = (0..keys).map(|key| histories.write_read(key)).collect();
        let wr = histories.relation(|h, a, b| {
            let all: Vec<Formula> = wr_of.iter().map(|wr| wr[a][b]).collect();
            h.formulas.or(&all)
        });
        let order = histories.total_order();
        let session = histories.session_order(&order);
        let known = histories.relation(|h, a, b| h.formulas.or(&[session[a][b], wr[a][b]]));
        for a in 0..=txns {
            for b in 0..=txns {
                let within = histories.formulas.implies(known[a][b], order[a][b]);
                histories.require(within);
            }
        }
        let axiom = |histories: &mut Histories, level| histories.axiom(level, &wr_of, &known, &order);
        let holds = axiom(&mut histories, allowed);
        histories.require(holds);
        let broken = axiom(&mut histories, forbidden);
        histories.require(!broken);
        histories.cnf
    }

    fn new(txns: usize, keys: usize, values: usize) -> Histories {
        let (mut cnf, mut formulas) = (Cnf::default(), Formulas::new());
        let mut table = |initial: &dyn Fn(usize) -> Formula| {
            let mut cell = |txn: usize, value: usize| {
                if txn == 0 { initial(value) } else { formulas.lit(cnf.new_var().positive()) }
            };
            (0..txns)
                .map(|txn| (0..keys).map(|_| (0..values).map(|value| cell(txn, value)).collect()).collect())
                .collect()
        };
        let reads = table(&|_| Formula::FALSE);
        let writes = table(&|value| Formula::constant(value == 0));
        Histories { cnf, formulas, tseitin: Tseitin::new(), txns, keys, values, reads, writes }
    }

    fn require(&mut self, formula: Formula) {
        self.tseitin.require(&self.formulas, formula, &mut self.cnf);
    }

    fn relation(&mut self, mut pair: impl FnMut(&mut Histories, usize, usize) -> Formula) -> Relation {
        (0..self.txns).map(|a| (0..self.txns).map(|b| pair(self, a, b)).collect()).collect()
    }

    /// Every transaction does something and writes only keys it reads; one value for each read and write; only
    /// the initial transaction writes the initial value, and other values are written once; every read has a writer.
    fn well_formed(&mut self) {
        for txn in 1..self.txns {
            let reads: Vec<Formula> = self.reads[txn].concat();
            let some = self.formulas.or(&reads);
            self.require(some);
            for key in 0..self.keys {
                let (reads, writes) = (self.reads[txn][key].clone(), self.writes[txn][key].clone());
                let (read, write) = (self.formulas.or(&reads), self.formulas.or(&writes));
                let parts = [
                    self.formulas.implies(write, read),
                    self.formulas.at_most_one(&reads),
                    self.formulas.at_most_one(&writes),
                    !writes[0],
                ];
                for part in parts {
                    self.require(part);
                }
                for (value, &read) in reads.iter().enumerate() {
                    let writers: Vec<Formula> =
                        (0..self.txns).filter(|&t| t != txn).map(|t| self.writes[t][key][value]).collect();
                    let written = self.formulas.or(&writers);
                    let part = self.formulas.implies(read, written);
                    self.require(part);
                }
            }
        }
        for key in 0..self.keys {
            for value in 1..self.values {
                let writers: Vec<Formula> = (1..self.txns).map(|t| self.writes[t][key][value]).collect();
                let once = self.formulas.at_most_one(&writers);
                self.require(once);
            }
        }
    }

    fn write_read(&mut self, key: usize) -> Relation {
        self.relation(|h, a, b| {
            let same: Vec<Formula> = (0..h.values)
                .map(|value| h.formulas.and(&[h.writes[a][key][value], h.reads[b][key][value]]))
                .collect();
            if a == b { Formula::FALSE } else { h.formulas.or(&same) }
        })
    }

    /// The initial transaction is first.
    fn total_order(&mut self) -> Relation {
        let order = Order::new(self.txns - 1, &mut self.cnf);
        self.relation(|h, a, b| match (a, b) {
            _ if a == b => Formula::FALSE,
            (0, _) => Formula::TRUE,
            (_, 0) => Formula::FALSE,
            _ => h.formulas.lit(order.before(a - 1, b - 1)),
        })
    }

    /// A transitive part of the order.
    fn session_order(&mut self, order: &Relation) -> Relation {
        let session = self.relation(|h, a, b| match (a, b) {
            _ if a == b => Formula::FALSE,
            (0, _) => Formula::TRUE,
            (_, 0) => Formula::FALSE,
            _ => h.formulas.lit(h.cnf.new_var().positive()),
        });
        for a in 0..self.txns {
            for b in 0..self.txns {
                let within = self.formulas.implies(session[a][b], order[a][b]);
                self.require(within);
                for c in 0..self.txns {
                    let part = self.formulas.or(&[!session[a][b], !session[b][c], session[a][c]]);
                    self.require(part);
                }
            }
        }
        session
    }

    /// `first; second`
    fn compose(&mut self, first: &Relation, second: &Relation) -> Relation {
        self.relation(|h, a, c| {
            let through: Vec<Formula> =
                (0..h.txns).map(|b| h.formulas.and(&[first[a][b], second[b][c]])).collect();
            h.formulas.or(&through)
        })
    }

    fn union(&mut self, first: &Relation, second: &Relation) -> Relation {
        self.relation(|h, a, b| h.formulas.or(&[first[a][b], second[a][b]]))
    }

    /// If `t3` reads `x` from `t1`, every other writer `t2` of `x` that `t3` has seen comes before `t1`.
    /// Levels differ in what a transaction has seen.
    fn axiom(&mut self, level: Level, wr_of: &[Relation], known: &Relation, order: &Relation) -> Formula {
        let knows = match level {
            Level::ReadAtomic => known.clone(),
            Level::Causal => {
                let mut closure = known.clone();
                let mut length = 1;
                while length < self.txns {
                    let longer = self.compose(&closure.clone(), &closure.clone());
                    closure = self.union(&closure.clone(), &longer);
                    length *= 2;
                }
                closure
            }
            Level::Snapshot => {
                let conflict = self.relation(|h, a, b| {
                    let mut both = Vec::new();
                    for key in 0..h.keys {
                        let (first, second) = (h.writes[a][key].clone(), h.writes[b][key].clone());
                        let (first, second) = (h.formulas.or(&first), h.formulas.or(&second));
                        both.push(h.formulas.and(&[first, second]));
                    }
                    let both = h.formulas.or(&both);
                    h.formulas.and(&[both, order[a][b]])
                });
                let direct = self.union(known, &conflict);
                let earlier = self.compose(order, &direct);
                self.union(&direct, &earlier)
            }
            Level::Serializable => order.clone(),
        };
        let mut parts = Vec::new();
        for (key, wr) in wr_of.iter().enumerate() {
            for t1 in 0..self.txns {
                for t2 in (0..self.txns).filter(|&t2| t2 != t1) {
                    let writes = self.writes[t2][key].clone();
                    let writes = self.formulas.or(&writes);
                    for t3 in (0..self.txns).filter(|&t3| t3 != t1 && t3 != t2) {
                        let part = self.formulas.or(&[!wr[t1][t3], !writes, !knows[t2][t3], order[t2][t1]]);
                        parts.push(part);
                    }
                }
            }
        }
        self.formulas.and(&parts)
    }
}

/// Whether a model satisfies all clauses.
pub(crate) fn satisfies(cnf: &Cnf, value: impl Fn(Lit) -> bool) -> bool {
    cnf.clauses.iter().all(|clause| clause.iter().any(|&lit| value(lit)))
}
