//! From a graph to layers: which node is in which layer, and in which order.
//!
//! Nodes are in even layers. An edge has a place in every layer that it passes, and its label in an odd one. Invariant: a chain has
//! one place in each layer from that of its upper node to that of its lower node.

use crate::text::{LINE, width};
use crate::{Edge, Graph, Node};

/// The room around the text of a node.
pub(crate) const PADDING: f64 = 9.0;
/// How often the order of the layers is improved.
const SWEEPS: usize = 24;

/// Something with a place in a layer: a node, or a part of an edge, perhaps with its label.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) layer: usize,
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Whether it is the part of an edge.
    pub(crate) is_edge: bool,
}

/// A graph in layers.
#[derive(Debug, Default)]
pub(crate) struct Layered {
    /// The nodes first, in their order.
    pub(crate) items: Vec<Item>,
    /// The items of each layer from left to right.
    pub(crate) layers: Vec<Vec<usize>>,
    /// For each edge, its items from the upper node to the lower one; empty for an edge from a node to itself.
    pub(crate) chains: Vec<Vec<usize>>,
    /// For each edge, the place of its label in the chain.
    pub(crate) labels: Vec<Option<usize>>,
    /// For each item, those next to it in the layer above and in the layer below.
    pub(crate) above: Vec<Vec<usize>>,
    pub(crate) below: Vec<Vec<usize>>,
}

impl Layered {
    pub(crate) fn new(graph: &Graph) -> Layered {
        let places = acyclic_order(graph);
        // From the upper node to the lower one.
        let down = |edge: &Edge| {
            let (from, to) = (edge.from, edge.to);
            if places[from] <= places[to] { (from, to) } else { (to, from) }
        };
        let ranks = ranks(graph.nodes.len(), &graph.edges.iter().map(down).collect::<Vec<_>>(), &places);
        let mut layers = Layered::default();
        for (node, &rank) in graph.nodes.iter().zip(&ranks) {
            let (width, height) = size(node);
            layers.items.push(Item { layer: 2 * rank, width, height, is_edge: false });
        }
        for edge in &graph.edges {
            let (upper, lower) = down(edge);
            layers.add_chain(upper, lower, edge);
        }
        layers.connect();
        layers.arrange(&places);
        layers
    }

    fn add_chain(&mut self, upper: usize, lower: usize, edge: &Edge) {
        if upper == lower {
            self.chains.push(Vec::new());
            self.labels.push(None);
            return;
        }
        let (first, last) = (self.items[upper].layer, self.items[lower].layer);
        // The odd layer in the middle.
        let middle = first + (last - first) / 2;
        let middle = if middle % 2 == 0 { middle - 1 } else { middle };
        let (mut chain, mut label) = (vec![upper], None);
        for layer in first + 1..last {
            let is_label = layer == middle && !edge.label.is_empty();
            let longest = edge.label.iter().map(|line| width(line)).fold(0.0, f64::max);
            let (width, height) =
                if is_label { (longest + 6.0, edge.label.len() as f64 * LINE) } else { (2.0, 0.0) };
            if is_label {
                label = Some(chain.len());
            }
            chain.push(self.items.len());
            self.items.push(Item { layer, width, height, is_edge: true });
        }
        chain.push(lower);
        self.chains.push(chain);
        self.labels.push(label);
    }

    fn connect(&mut self) {
        self.above = vec![Vec::new(); self.items.len()];
        self.below = vec![Vec::new(); self.items.len()];
        for chain in &self.chains {
            for pair in chain.windows(2) {
                self.below[pair[0]].push(pair[1]);
                self.above[pair[1]].push(pair[0]);
            }
        }
    }

    /// Orders the layers such that few edges cross.
    fn arrange(&mut self, places: &[usize]) {
        let count = self.items.iter().map(|item| item.layer + 1).max().unwrap_or_default();
        let mut layers: Vec<Vec<usize>> = vec![Vec::new(); count];
        // At first in the order of a walk from the top, so that what belongs together is together.
        let mut is_met = vec![false; self.items.len()];
        let mut starts: Vec<usize> = (0..places.len()).collect();
        starts.sort_by_key(|&node| places[node]);
        for start in starts {
            let mut todo = vec![start];
            while let Some(item) = todo.pop() {
                if !std::mem::replace(&mut is_met[item], true) {
                    layers[self.items[item].layer].push(item);
                    todo.extend(self.below[item].iter().rev());
                }
            }
        }
        let mut best = layers.clone();
        let mut fewest = self.crossings(&best);
        for sweep in 0..SWEEPS {
            let downwards = sweep % 2 == 0;
            let order: Vec<usize> =
                if downwards { (1..count).collect() } else { (0..count.saturating_sub(1)).rev().collect() };
            for layer in order {
                self.sort_by_neighbours(&mut layers, layer, downwards);
            }
            self.exchange(&mut layers);
            let crossings = self.crossings(&layers);
            if crossings < fewest {
                (best, fewest) = (layers.clone(), crossings);
            }
        }
        self.layers = best;
    }

    /// Sorts a layer by the mean places of the neighbours above or below.
    fn sort_by_neighbours(&self, layers: &mut [Vec<usize>], layer: usize, downwards: bool) {
        let (fixed, neighbours) = if downwards { (layer - 1, &self.above) } else { (layer + 1, &self.below) };
        let places = self.places(&layers[fixed]);
        let mut keyed: Vec<(f64, usize)> = layers[layer]
            .iter()
            .enumerate()
            .map(|(place, &item)| {
                let near = &neighbours[item];
                let sum: usize = near.iter().map(|&other| places[other]).sum();
                let mean = if near.is_empty() { place as f64 } else { sum as f64 / near.len() as f64 };
                (mean, item)
            })
            .collect();
        // The sort is stable: equal means stay in their order.
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        layers[layer] = keyed.into_iter().map(|(_, item)| item).collect();
    }

    /// Exchanges neighbours in a layer as long as fewer edges cross.
    fn exchange(&self, layers: &mut [Vec<usize>]) {
        for layer in 0..layers.len() {
            let above = layer.checked_sub(1).map(|above| self.places(&layers[above]));
            let below = layers.get(layer + 1).map(|below| self.places(below));
            let mut is_better = true;
            let mut rounds = 0;
            while is_better && rounds < 8 {
                is_better = false;
                rounds += 1;
                for place in 1..layers[layer].len() {
                    let (left, right) = (layers[layer][place - 1], layers[layer][place]);
                    let cost = |left: usize, right: usize| {
                        let of = |places: &Option<Vec<usize>>, near: &[Vec<usize>]| {
                            places.as_ref().map_or(0, |places| inversions(&near[left], &near[right], places))
                        };
                        of(&above, &self.above) + of(&below, &self.below)
                    };
                    if cost(right, left) < cost(left, right) {
                        layers[layer].swap(place - 1, place);
                        is_better = true;
                    }
                }
            }
        }
    }

    /// The place of each item of a layer; 0 for all others.
    fn places(&self, layer: &[usize]) -> Vec<usize> {
        let mut places = vec![0; self.items.len()];
        for (place, &item) in layer.iter().enumerate() {
            places[item] = place;
        }
        places
    }

    fn crossings(&self, layers: &[Vec<usize>]) -> usize {
        let between = |pair: &[Vec<usize>]| -> usize {
            let places = self.places(&pair[1]);
            let of = |i: usize| -> usize {
                let left = &self.below[pair[0][i]];
                pair[0][i + 1..].iter().map(|&right| inversions(left, &self.below[right], &places)).sum()
            };
            (0..pair[0].len()).map(of).sum()
        };
        layers.windows(2).map(between).sum()
    }
}

/// How many edges cross when one item is to the left of another one.
fn inversions(left: &[usize], right: &[usize], places: &[usize]) -> usize {
    left.iter().map(|&a| right.iter().filter(|&&b| places[b] < places[a]).count()).sum()
}

/// The width and the height of a node.
fn size(node: &Node) -> (f64, f64) {
    let longest = node.lines.iter().chain([&node.title]).map(|line| width(line)).fold(0.0, f64::max);
    (longest + 2.0 * PADDING, (node.lines.len() + 1) as f64 * LINE + 2.0 * PADDING - 4.0)
}

/// The place of each node in an order against which few edges lead (Eades, Lin and Smyth 1993).
fn acyclic_order(graph: &Graph) -> Vec<usize> {
    let count = graph.nodes.len();
    let mut left: Vec<usize> = (0..count).collect();
    let mut is_left = vec![true; count];
    let mut places = vec![0; count];
    for place in 0..count {
        let degree = |node: usize, edges_from: bool| {
            let other = |edge: &&Edge| {
                let (this, other) = if edges_from { (edge.from, edge.to) } else { (edge.to, edge.from) };
                this == node && other != node && is_left[other]
            };
            graph.edges.iter().filter(other).count()
        };
        let source = left.iter().position(|&node| degree(node, false) == 0);
        let most = || {
            // More edges begin here than end here, by the most.
            let excess = |&node: &usize| graph.edges.len() + degree(node, true) - degree(node, false);
            let most = left.iter().map(excess).max();
            left.iter().position(|node| Some(excess(node)) == most)
        };
        let next = source.or_else(most).unwrap_or_default();
        let node = left.remove(next);
        is_left[node] = false;
        places[node] = place;
    }
    places
}

/// The rank of each node: as small as possible, then closer to its neighbours where that makes edges shorter.
fn ranks(count: usize, edges: &[(usize, usize)], places: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&node| places[node]);
    let edges: Vec<(usize, usize)> = edges.iter().copied().filter(|(from, to)| from != to).collect();
    let mut ranks = vec![0; count];
    for &node in &order {
        let above = edges.iter().filter(|(_, to)| *to == node).map(|&(from, _)| ranks[from] + 1);
        ranks[node] = above.max().unwrap_or_default();
    }
    for &node in order.iter().rev() {
        let ups = edges.iter().filter(|(_, to)| *to == node).count();
        let below = || edges.iter().filter(|(from, _)| *from == node).map(|&(_, to)| ranks[to]);
        if let Some(lowest) = below().min()
            && below().count() > ups
        {
            ranks[node] = lowest - 1;
        }
    }
    ranks
}
