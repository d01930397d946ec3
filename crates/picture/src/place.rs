//! From layers to coordinates. In each layer, the order is kept and no two items overlap; among these positions, items are as near as
//! possible to their neighbours in other layers, by least squares.

use crate::layers::Layered;

/// The least distance of two items of a layer.
const APART: f64 = 22.0;
/// The least distance of a part of an edge to its neighbour.
const EDGE_APART: f64 = 14.0;
/// The least distance of two layers.
const BETWEEN: f64 = 20.0;
/// How often positions are improved.
const SWEEPS: usize = 400;

/// The middle of each item, and the upper and lower border of each layer.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(crate) x: Vec<f64>,
    pub(crate) layers: Vec<(f64, f64)>,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Places {
    pub(crate) fn new(graph: &Layered) -> Places {
        let mut places = Places { x: vec![0.0; graph.items.len()], ..Places::default() };
        for layer in &graph.layers {
            let zero = vec![(0.0, 1.0); layer.len()];
            places.settle(graph, layer, &zero);
        }
        for sweep in 0..SWEEPS {
            let count = graph.layers.len();
            for step in 0..count {
                let layer = &graph.layers[if sweep % 2 == 0 { step } else { count - 1 - step }];
                let wanted: Vec<(f64, f64)> = layer.iter().map(|&item| places.wanted(graph, item)).collect();
                places.settle(graph, layer, &wanted);
            }
        }
        places.shift(graph);
        places.stack(graph);
        places
    }

    /// Where an item would like to be, and how much.
    fn wanted(&self, graph: &Layered, item: usize) -> (f64, f64) {
        let mut sum = 0.0;
        let mut weights = 0.0;
        for &near in graph.above[item].iter().chain(&graph.below[item]) {
            // Long edges are straight.
            let both = graph.items[item].is_edge && graph.items[near].is_edge;
            let weight = if both { 8.0 } else { 1.0 };
            sum += weight * self.x[near];
            weights += weight;
        }
        if weights == 0.0 { (self.x[item], 0.01) } else { (sum / weights, weights) }
    }

    /// Puts the items of a layer as near as possible to where they would like to be (isotonic regression: neighbours that would
    /// be too close form a block, which is at the mean of their wishes).
    fn settle(&mut self, graph: &Layered, layer: &[usize], wanted: &[(f64, f64)]) {
        // The distance of each item from the first one if all are packed.
        let mut offsets = Vec::with_capacity(layer.len());
        let mut offset = 0.0;
        for (place, &item) in layer.iter().enumerate() {
            if place > 0 {
                let (left, right) = (&graph.items[layer[place - 1]], &graph.items[item]);
                let apart = if left.is_edge || right.is_edge { EDGE_APART } else { APART };
                offset += left.width.midpoint(right.width) + apart;
            }
            offsets.push(offset);
        }
        // Blocks: mean, weight, number of items.
        let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
        for (&(x, weight), offset) in wanted.iter().zip(&offsets) {
            let mut block = (x - offset, weight, 1);
            while let Some(&(mean, other, count)) = blocks.last() {
                if mean <= block.0 {
                    break;
                }
                blocks.pop();
                let sum = mean * other + block.0 * block.1;
                block = (sum / (other + block.1), other + block.1, count + block.2);
            }
            blocks.push(block);
        }
        let means = blocks.iter().flat_map(|&(mean, _, count)| std::iter::repeat_n(mean, count));
        for ((&item, offset), mean) in layer.iter().zip(&offsets).zip(means) {
            self.x[item] = mean + offset;
        }
    }

    /// Moves everything such that the left border is 0.
    fn shift(&mut self, graph: &Layered) {
        let left = |(x, item): (&f64, &crate::layers::Item)| x - item.width / 2.0;
        let least = self.x.iter().zip(&graph.items).map(left).fold(f64::INFINITY, f64::min);
        if self.x.is_empty() {
            return;
        }
        self.x.iter_mut().for_each(|x| *x -= least);
        let right = |(x, item): (&f64, &crate::layers::Item)| x + item.width / 2.0;
        self.width = self.x.iter().zip(&graph.items).map(right).fold(0.0, f64::max);
    }

    /// The heights of the layers. Flat curves need more room between two layers.
    fn stack(&mut self, graph: &Layered) {
        let mut y = 0.0;
        for layer in &graph.layers {
            let height = layer.iter().map(|&item| graph.items[item].height).fold(0.0, f64::max);
            self.layers.push((y, y + height));
            let reach = |&item: &usize| {
                graph.below[item]
                    .iter()
                    .map(|&below| (self.x[below] - self.x[item]).abs())
                    .fold(0.0, f64::max)
            };
            let widest = layer.iter().map(reach).fold(0.0, f64::max);
            y += height + BETWEEN + (widest / 10.0).min(40.0);
        }
        self.height = self.layers.last().map_or(0.0, |&(_, bottom)| bottom);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Edge, Graph, Node, Stroke};

    /// A graph with some nodes and edges, which may form cycles and be parallel.
    fn random(seed: u64) -> Graph {
        let mut state = seed;
        let mut next = |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % bound
        };
        let count = 1 + next(30);
        let nodes = (0..count)
            .map(|i| Node { title: "T".repeat(1 + i % 9), lines: vec!["w(x,1)".to_owned(); i % 4] });
        let nodes: Vec<Node> = nodes.collect();
        let edges = (0..next(2 * count + 1)).map(|i| Edge {
            from: next(count),
            to: next(count),
            stroke: Stroke::Plain,
            label: vec!["label".to_owned(); i % 3],
        });
        let edges = edges.collect();
        Graph { nodes, edges }
    }

    /// Nothing overlaps: layers are apart, and in a layer each item is to the right of the one before.
    #[test]
    fn items_do_not_overlap() {
        for seed in 0..300 {
            let graph = random(seed);
            let layers = Layered::new(&graph);
            let places = Places::new(&layers);
            assert!(places.layers.windows(2).all(|pair| pair[0].1 + BETWEEN <= pair[1].0), "seed {seed}");
            for layer in &layers.layers {
                for pair in layer.windows(2) {
                    let right = places.x[pair[0]] + layers.items[pair[0]].width / 2.0;
                    let left = places.x[pair[1]] - layers.items[pair[1]].width / 2.0;
                    assert!(right + EDGE_APART - 0.01 <= left, "seed {seed}");
                }
            }
            for (item, x) in layers.items.iter().zip(&places.x) {
                assert!(
                    x - item.width / 2.0 >= -0.01 && x + item.width / 2.0 <= places.width + 0.01,
                    "seed {seed}"
                );
                let (top, bottom) = places.layers[item.layer];
                assert!(item.height <= bottom - top + 0.01, "seed {seed}");
            }
        }
    }

    /// An edge passes every layer between its ends, and so never another node.
    #[test]
    fn chains_pass_one_layer_after_the_other() {
        for seed in 0..300 {
            let graph = random(seed);
            let layers = Layered::new(&graph);
            for (edge, chain) in graph.edges.iter().zip(&layers.chains) {
                let ends = [chain.first(), chain.last()];
                let mut wanted = [Some(&edge.from), Some(&edge.to)];
                if edge.from == edge.to {
                    assert!(chain.is_empty());
                    continue;
                }
                if ends[0] != wanted[0] {
                    wanted.reverse();
                }
                assert_eq!(ends, wanted, "seed {seed}");
                let step = |pair: &[usize]| layers.items[pair[0]].layer + 1 == layers.items[pair[1]].layer;
                assert!(chain.windows(2).all(step), "seed {seed}");
                assert!(
                    chain[1..chain.len() - 1].iter().all(|&item| layers.items[item].is_edge),
                    "seed {seed}"
                );
            }
        }
    }
}
