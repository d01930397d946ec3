//! Adjacency in two flat arrays (CSR): the offset at which the successors of each node begin, and the
//! successors.

/// A directed graph; see the module documentation.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Graph {
    /// Builds a graph from a list of edges. Successors keep the order of the list.
    pub fn from_edges(nodes: usize, edges: &[(u32, u32)]) -> Graph {
        let mut starts = vec![0u32; nodes + 1];
        for &(from, _) in edges {
            starts[from as usize + 1] += 1;
        }
        for i in 0..nodes {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; edges.len()];
        for &(from, to) in edges {
            let place = &mut next[from as usize];
            targets[*place as usize] = to;
            *place += 1;
        }
        Graph { starts, targets }
    }

    /// The graph with all edges reversed. Successors are in ascending order.
    pub fn reversed(&self) -> Graph {
        let nodes = self.len();
        let mut starts = vec![0u32; nodes + 1];
        for &to in &self.targets {
            starts[to as usize + 1] += 1;
        }
        for i in 0..nodes {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; self.targets.len()];
        for from in 0..nodes as u32 {
            for &to in self.successors(from) {
                let place = &mut next[to as usize];
                targets[*place as usize] = from;
                *place += 1;
            }
        }
        Graph { starts, targets }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether the graph has no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The successors of a node.
    #[inline]
    pub fn successors(&self, node: u32) -> &[u32] {
        &self.targets[self.edge_range(node)]
    }

    /// The index range of a node's successors among all edges.
    #[inline]
    pub fn edge_range(&self, node: u32) -> std::ops::Range<usize> {
        self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize
    }
}
