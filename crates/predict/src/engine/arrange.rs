//! An interleaving for people: the steps in an order that satisfies the same constraints as the solver's, with few switches.
//!
//! Of every constraint, the pair that holds in the solver's order becomes an edge. The steps are then taken in a topological order: first
//! any transaction that can run to its end at once, full ones first and in observed order; otherwise the next steps of a
//! boundary transaction, or else of any, until it has to wait for another.

use rustc_hash::FxHashMap;

use super::model::{Model, Shape};
use super::{Move, What};

/// A node of an included form.
struct Node {
    /// The steps that it stands for.
    actions: Vec<What>,
    /// The nodes that must be before it.
    needs: Vec<usize>,
    done: bool,
}

/// The nodes of all included forms.
struct Plan {
    nodes: Vec<Node>,
    /// The nodes of each form, in an order of the program.
    forms: Vec<Vec<usize>>,
}

impl Model<'_> {
    /// The steps of a feasible candidate. `place` is an order that breaks no constraint.
    pub(super) fn arrange(&self, shapes: &[Shape], place: &[u32]) -> Vec<Move> {
        let mut numbers: FxHashMap<u32, usize> = FxHashMap::default();
        let mut plan = Plan { nodes: Vec::new(), forms: Vec::new() };
        for shape in shapes {
            let mut nodes: Vec<(u32, Vec<What>)> = Vec::new();
            for access in &self.plans[shape.txn as usize].accesses[..shape.len] {
                let node = self.statement(shape, access.statement);
                match nodes.last_mut() {
                    Some((last, actions)) if *last == node => actions.push(What::Operation(access.op)),
                    _ => nodes.push((node, vec![What::Operation(access.op)])),
                }
            }
            if self.engine.has_snapshot() {
                nodes.push((self.snapshot(shape), vec![What::Snapshot]));
            }
            nodes.push((self.commit(shape), vec![What::Commit]));
            nodes.sort_by_key(|(node, _)| place[*node as usize]);
            let mut form = Vec::new();
            for (node, actions) in nodes {
                let needs = form.last().copied().into_iter().collect();
                numbers.insert(node, plan.nodes.len());
                form.push(plan.nodes.len());
                plan.nodes.push(Node { actions, needs, done: false });
            }
            plan.forms.push(form);
        }
        let mut need = |(from, to): (u32, u32)| {
            if let (Some(&from), Some(&to)) = (numbers.get(&from), numbers.get(&to)) {
                plan.nodes[to].needs.push(from);
            }
        };
        self.edges.iter().copied().for_each(&mut need);
        self.visit(shapes, place, 0, &mut |constraint| {
            let holds = |&(a, b): &(u32, u32)| place[a as usize] < place[b as usize];
            if let Some(pair) = constraint.pairs.into_iter().flatten().find(holds) {
                need(pair);
            }
        });
        self.steps(shapes, plan)
    }

    fn steps(&self, shapes: &[Shape], mut plan: Plan) -> Vec<Move> {
        let mut steps = Vec::new();
        let preferred: Vec<usize> = {
            let full = (0..shapes.len()).filter(|&i| !shapes[i].is_boundary);
            full.chain((0..shapes.len()).filter(|&i| shapes[i].is_boundary)).collect()
        };
        let mut next = vec![0; shapes.len()];
        loop {
            let whole = preferred.iter().copied().find(|&i| next[i] < plan.forms[i].len() && plan.can_end(i));
            let partly = || preferred.iter().rev().copied().find(|&i| plan.can_step(i, next[i]));
            let Some(form) = whole.or_else(partly) else { break };
            while plan.can_step(form, next[form]) {
                let node = plan.forms[form][next[form]];
                next[form] += 1;
                plan.nodes[node].done = true;
                let number = shapes[form].txn;
                steps.extend(plan.nodes[node].actions.iter().map(|&what| Move { number, what }));
            }
        }
        debug_assert!(plan.nodes.iter().all(|node| node.done), "the constraints have no cycle");
        steps
    }
}

impl Plan {
    /// Whether all the rest of a form can run at once.
    fn can_end(&self, form: usize) -> bool {
        let own = &self.forms[form];
        let is_ready = |need: &usize| self.nodes[*need].done || own.contains(need);
        own.iter().all(|&node| self.nodes[node].needs.iter().all(is_ready))
    }

    fn can_step(&self, form: usize, next: usize) -> bool {
        let node = self.forms[form].get(next).map(|&node| &self.nodes[node]);
        node.is_some_and(|node| node.needs.iter().all(|&need| self.nodes[need].done))
    }
}
