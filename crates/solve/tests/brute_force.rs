//! Compares the solver with a list of all orders: small random instances, searched repeatedly with more
//! clauses and under assumptions. A *world* is an order with values of the plain variables. The solver's
//! answer is compared with the list of all worlds that satisfy the clauses so far.

mod random;

use isoscope_solve::{Lit, OrderSolver, Outcome};
use random::Random;

const INSTANCES: u64 = 24_000;

/// The meaning of a literal.
#[derive(Clone, Copy, Debug)]
enum Meaning {
    Before(u32, u32),
    Plain(usize, bool),
}

#[derive(Clone, Debug)]
struct World {
    places: Vec<usize>,
    values: u32,
}

impl World {
    fn satisfies(&self, meaning: Meaning) -> bool {
        match meaning {
            Meaning::Before(a, b) => self.places[a as usize] < self.places[b as usize],
            Meaning::Plain(variable, value) => (self.values >> variable & 1 == 1) == value,
        }
    }
}

/// All orders of `nodes` nodes, each as the position of every node.
fn permutations(nodes: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for place in 0..nodes {
        all = (all.iter())
            .flat_map(|order| {
                (0..=place).map(move |at| {
                    let mut longer: Vec<usize> = order.clone();
                    longer.insert(at, place);
                    longer
                })
            })
            .collect();
    }
    all
}

struct Instance {
    random: Random,
    nodes: u32,
    edges: Vec<(u32, u32)>,
    solver: OrderSolver,
    plain: Vec<Lit>,
    worlds: Vec<World>,
    clauses: Vec<Vec<(Lit, Meaning)>>,
}

const PLAIN: usize = 3;

impl Instance {
    fn new(seed: u64) -> Instance {
        let mut random = Random::new(seed);
        let nodes = 2 + random.below(5);
        let start = random.shuffled(nodes);
        let mut edges = Vec::new();
        for _ in 0..random.below(nodes) {
            let (a, b) = random.pair(nodes);
            edges.push((start[a.min(b) as usize], start[a.max(b) as usize]));
        }
        let solver = OrderSolver::new(nodes as usize, &edges, &start);
        let respects =
            |places: &Vec<usize>| edges.iter().all(|&(a, b)| places[a as usize] < places[b as usize]);
        let orders: Vec<Vec<usize>> = permutations(nodes as usize).into_iter().filter(respects).collect();
        let worlds = orders
            .iter()
            .flat_map(|places| (0..1 << PLAIN).map(|values| World { places: places.clone(), values }))
            .collect();
        Instance { random, nodes, edges, solver, plain: Vec::new(), worlds, clauses: Vec::new() }
    }

    fn literal(&mut self) -> (Lit, Meaning) {
        if self.plain.len() < PLAIN && self.random.below(8) == 0 {
            let phase = self.random.below(2) == 0;
            self.plain.push(self.solver.variable(phase));
        }
        if !self.plain.is_empty() && self.random.below(4) == 0 {
            let variable = self.random.below(self.plain.len() as u32) as usize;
            let value = self.random.below(2) == 0;
            let lit = if value { self.plain[variable] } else { !self.plain[variable] };
            return (lit, Meaning::Plain(variable, value));
        }
        let (a, b) = self.random.pair(self.nodes);
        let lit = self.solver.before(a, b);
        assert_eq!(!lit, self.solver.before(b, a));
        (lit, Meaning::Before(a, b))
    }

    fn literals(&mut self, most: u32) -> Vec<(Lit, Meaning)> {
        let count = self.random.below(most + 1);
        (0..count).map(|_| self.literal()).collect()
    }

    fn add_clauses(&mut self) {
        for _ in 0..self.random.below(6) {
            let mut clause = vec![self.literal()];
            clause.extend(self.literals(3));
            self.worlds.retain(|world| clause.iter().any(|&(_, meaning)| world.satisfies(meaning)));
            let lits: Vec<Lit> = clause.iter().map(|&(lit, _)| lit).collect();
            self.solver.add_clause(&lits);
            self.clauses.push(clause);
        }
    }

    fn possible(&self, assumed: &[Meaning]) -> bool {
        self.worlds.iter().any(|world| assumed.iter().all(|&meaning| world.satisfies(meaning)))
    }

    fn ask(&mut self) -> Outcome {
        let assumed = self.literals(4);
        let lits: Vec<Lit> = assumed.iter().map(|&(lit, _)| lit).collect();
        let meanings: Vec<Meaning> = assumed.iter().map(|&(_, meaning)| meaning).collect();
        let answer = self.solver.solve(&lits);
        match answer {
            Outcome::Sat => {
                assert!(self.possible(&meanings));
                self.check_order(&assumed);
            }
            Outcome::Unsat => {
                assert!(!self.possible(&meanings));
                let failed = self.solver.failed();
                let together: Vec<Meaning> =
                    assumed.iter().filter(|(lit, _)| failed.contains(lit)).map(|&(_, m)| m).collect();
                assert!(failed.iter().all(|lit| lits.contains(lit)));
                assert!(!self.possible(&together), "{together:?} of {meanings:?} are possible");
            }
            Outcome::Stopped => panic!("there is no budget"),
        }
        answer
    }

    /// Checks that the order has every node once and contains the edges, and that all clauses and assumptions
    /// hold in it.
    fn check_order(&self, assumed: &[(Lit, Meaning)]) {
        let order = self.solver.order();
        assert_eq!(order.len(), self.nodes as usize);
        let mut places = vec![usize::MAX; order.len()];
        order.iter().enumerate().for_each(|(place, &node)| places[node as usize] = place);
        let values = self.plain.iter().enumerate();
        let values = values.map(|(i, &lit)| u32::from(self.solver.holds(lit)) << i).sum();
        let world = World { places, values };
        assert!(world.places.iter().all(|&place| place != usize::MAX));
        assert!(self.edges.iter().all(|&(a, b)| world.satisfies(Meaning::Before(a, b))));
        assert!(assumed.iter().all(|&(_, meaning)| world.satisfies(meaning)));
        for clause in &self.clauses {
            assert!(clause.iter().any(|&(_, meaning)| world.satisfies(meaning)));
            for &(lit, meaning) in clause {
                assert_eq!(self.solver.holds(lit), world.satisfies(meaning));
                assert_eq!(self.solver.holds(!lit), !world.satisfies(meaning));
            }
        }
    }
}

#[test]
fn answers_agree_with_the_list_of_all_orders() {
    let (mut orders, mut contradictions, mut assumed) = (0, 0, 0);
    for seed in 0..INSTANCES {
        let mut instance = Instance::new(seed);
        for _ in 0..4 {
            instance.add_clauses();
            match instance.ask() {
                Outcome::Sat => orders += 1,
                _ if instance.worlds.is_empty() => {
                    contradictions += 1;
                    break;
                }
                _ => assumed += 1,
            }
        }
    }
    let least = INSTANCES / 5;
    assert!(
        orders > least && contradictions > least && assumed > least,
        "{orders} {contradictions} {assumed}"
    );
}
