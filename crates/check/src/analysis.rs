//! All anomalies of a history that violates a level.
//!
//! Runs only when a level is known to fail. A forced edge from t2 to t1 is an instance of an anomaly when it lies
//! on a cycle, and there are two sorts:
//!
//! - *Against the causal order*: t1 is causally before t2. The edge is wrong by itself, and is set aside, so that
//!   it does not make others look guilty.
//! - *Against the commit order*: of the edges that are left, it lies on a cycle.
//!
//! To find the second sort it works like `decide`, with strongly connected components in place of transactions:
//! an order of the components of all edges known so far; the forced edges that it does not respect become known;
//! and so on until it respects all others. Then the components are those of the complete graph, although that was
//! never built. An edge inside a component that causality asks for anyway is not what is wrong with its cycle.
//!
//! Weaker axioms come first, and an instance is named when it first appears (docs/levels.md, "Anomalies"): under
//! read committed a non-monotonic read, under read atomic a fractured or a stale session read, under causal
//! consistency a causality violation, or a conflicting commit order when other forced edges are needed to show
//! it. A read and a session of which it missed a write count once.
//!
//! The initial state is causally before everything, so an edge that is forced into it is of the first sort.
//!
//! Reads on a cycle of sessions and reads alone (pattern g) are reported as that and otherwise ignored, so that
//! the rest has a causal order.

use std::borrow::Cow;
use std::ops::ControlFlow;

use isoscope_history::{History, Key, Op, OpKind, Session, Txn, Value};
use isoscope_levels::Anomaly;
use isoscope_order::{Components, Graph};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::axiom::{Axiom, Causality, Forced, Ranking, Search, all_reads};
use crate::certificate::{Against, Edge, Evidence, Finding, Instance, Limit, Node, Seen, Through, Why};
use crate::cycles;
use crate::resolve::{Link, Resolved, appended_of};
use crate::schedule::schedule;
use crate::stale::Stale;
use crate::trace::{Relations, Tracer, Trail};
use crate::watch::{Watch, go_on};

/// Rounds before all forced edges are made known.
const ROUNDS: usize = 8;
/// Instances of one anomaly whose evidence is searched for, for each that is kept.
const EVIDENCE_FACTOR: usize = 8;

/// An instance that has a name.
#[derive(Clone, Copy)]
struct Named {
    anomaly: Anomaly,
    against: Against,
    forced: Forced,
}

/// What one axiom added to what weaker ones had found.
struct Stage {
    /// The component of each transaction in the complete graph of the axiom, and one more for the initial state.
    component: Vec<u32>,
    initial: u32,
    named: Vec<Named>,
    /// Those whose evidence was searched for.
    shown: Vec<(Named, Evidence)>,
}

impl Stage {
    fn component_of(&self, resolved: &Resolved, one: &Named) -> u32 {
        one.forced.target(resolved).txn().map_or(self.initial, |to| self.component[to.index()])
    }
}

/// The instances of all anomalies that take an axiom to see, up to some axiom.
pub(crate) struct Analysis {
    stages: Vec<Stage>,
}

impl Analysis {
    /// Finds the instances of all axioms up to one, and evidence for as many of each anomaly as are kept.
    pub(crate) fn new(
        history: &History,
        resolved: &Resolved,
        upto: Axiom,
        keep: usize,
        watch: &dyn Watch,
    ) -> Result<Analysis, Limit> {
        let severed = sever(history, resolved);
        go_on(watch)?;
        let causality = Causality { history, resolved: &severed };
        let Some(causal) = schedule(history, &severed, &Graph::default(), |_| ControlFlow::Continue(()))
        else {
            unreachable!("without the links on cycles there is an order")
        };
        let search = Search::new(&causality, &causal.order, true, watch);
        let mut work = Work {
            history,
            resolved: &severed,
            search,
            causal_order: &causal.order,
            causal_place: &causal.place,
            causal: FxHashSet::default(),
            known: Vec::new(),
            counted: FxHashSet::default(),
            watch,
        };
        let axioms = Axiom::ALL.into_iter().filter(|&axiom| axiom <= upto);
        let stages: Result<Vec<Stage>, Limit> = axioms.map(|axiom| work.stage(axiom, keep)).collect();
        Ok(Analysis { stages: stages? })
    }

    /// Whether the history is known to violate an axiom.
    pub(crate) fn reaches(&self, axiom: Axiom) -> bool {
        self.stages.len() > axiom as usize
    }

    /// The findings of an axiom and of all weaker ones.
    pub(crate) fn findings(&self, resolved: &Resolved, axiom: Axiom, keep: usize) -> Vec<Finding> {
        let stages = &self.stages[..=axiom as usize];
        let last = &self.stages[axiom as usize];
        let mut names: Vec<(Anomaly, Against)> =
            stages.iter().flat_map(|stage| &stage.named).map(|one| (one.anomaly, one.against)).collect();
        names.sort_unstable();
        let of_name = names.chunk_by(|a, b| a == b).map(|same| {
            let (anomaly, against) = same[0];
            let is_it = |one: &Named| (one.anomaly, one.against) == (anomaly, against);
            let all = stages.iter().flat_map(|stage| &stage.named).filter(|one| is_it(one));
            let components: FxHashSet<u32> = all.map(|one| last.component_of(resolved, one)).collect();
            let mut instances: Vec<Instance> = stages
                .iter()
                .flat_map(|stage| &stage.shown)
                .filter(|(one, _)| is_it(one))
                .map(|(one, evidence)| {
                    let component = Some(last.component_of(resolved, one));
                    Instance { evidence: evidence.clone(), component }
                })
                .collect();
            instances.sort_by_key(|instance| length(&instance.evidence));
            let component = |instance: &Instance| instance.component.unwrap_or(0);
            let instances = turns(instances.into_iter(), component).take(keep).collect();
            let named = matches!(anomaly, Anomaly::CausalityViolation | Anomaly::ConflictingCommitOrder);
            let against = (!named).then_some(against);
            let (count, components) = (same.len() as u64, components.len() as u64);
            let through = Through::default();
            Finding { anomaly, against, through, count, at_least: false, components, instances }
        });
        of_name.collect()
    }
}

/// Drops the links that lie on a cycle of sessions and reads.
fn sever<'r>(history: &History, resolved: &'r Resolved) -> Cow<'r, Resolved> {
    let Some(components) = cycles::causal_cycles(history, resolved) else { return Cow::Borrowed(resolved) };
    let mut severed = resolved.clone();
    for txn in history.txns() {
        for link in &mut severed.links[history.op_range(txn)] {
            if link.txn().is_some_and(|from| components.of[from.index()] == components.of[txn.index()]) {
                *link = Link::NOTHING;
            }
        }
    }
    Cow::Owned(severed)
}

struct Work<'a> {
    history: &'a History,
    resolved: &'a Resolved,
    search: Search<'a>,
    causal_order: &'a [u32],
    causal_place: &'a [u32],
    /// Forced edges that oppose the causal order, of all axioms so far.
    causal: FxHashSet<Forced>,
    /// Other forced edges that have been looked at.
    known: Vec<Forced>,
    /// Reads with the sessions of which they missed a write, as far as they have a name.
    counted: FxHashSet<(Op, Session)>,
    watch: &'a dyn Watch,
}

/// The forced edges of an axiom.
struct Settled {
    layers: Layers,
    /// Those that oppose the causal order and that weaker axioms did not have.
    causal: Vec<Forced>,
    /// Those inside components.
    commit: Vec<Forced>,
}

/// Components in a topological order, and the transactions in an order that agrees with it and with causality.
struct Layers {
    components: Components,
    order: Vec<u32>,
}

impl Work<'_> {
    /// What an axiom finds that weaker ones did not.
    fn stage(&mut self, axiom: Axiom, keep: usize) -> Result<Stage, Limit> {
        let Settled { layers, causal, commit } = self.settle(axiom)?;
        let named = self.name(axiom, &causal, &commit);
        let mut known = self.known.clone();
        known.extend(&commit);
        let tracer = Tracer::new(self.history, self.resolved, &known, Some(self.causal_place));
        let mut by_name: FxHashMap<(Anomaly, Against), Vec<Named>> = FxHashMap::default();
        for &one in &named {
            by_name.entry((one.anomaly, one.against)).or_default().push(one);
        }
        let (component, initial) = self.complete_components(&commit);
        let mut stage = Stage { component, initial, named, shown: Vec::new() };
        for all in by_name.into_values() {
            go_on(self.watch)?;
            let tried: Vec<Named> = turns(all.into_iter(), |one| stage.component_of(self.resolved, one))
                .take(keep.saturating_mul(EVIDENCE_FACTOR))
                .collect();
            let evidence = tried
                .par_iter()
                .map_init(Trail::default, |trail, one| Some((*one, evidence(&tracer, &layers, one, trail)?)));
            stage.shown.par_extend(evidence.flatten());
        }
        stage.shown.sort_by_key(|(one, _)| one.forced);
        Ok(stage)
    }

    /// Makes forced edges known until the components no longer change.
    fn settle(&mut self, axiom: Axiom) -> Result<Settled, Limit> {
        let mut causal = Vec::new();
        for round in 0.. {
            let layers = self.layers();
            let rank = &layers.components.of;
            let flat = vec![0; if round == ROUNDS { self.history.txn_count() } else { 0 }];
            let mut opposing = if round == ROUNDS {
                let everything = all_reads(self.history, self.resolved, &layers.order);
                self.search.opposing(axiom, Ranking { rank: &flat }, &everything)
            } else {
                let ranking = Ranking { rank };
                self.search.opposing(axiom, ranking, &self.stale(&layers))
            };
            go_on(self.watch)?;
            opposing.retain(|forced| !self.causal.contains(forced));
            let (wrong, mut opposing) = self.split_causal(opposing);
            self.causal.extend(&wrong);
            causal.extend(wrong);
            let target = |forced: &Forced| forced.target(self.resolved).txn().unwrap_or(forced.seen);
            let level = |forced: &Forced| rank[forced.seen.index()] == rank[target(forced).index()];
            if round != ROUNDS && opposing.iter().all(level) {
                return Ok(Settled { layers, causal, commit: opposing });
            }
            if round != ROUNDS {
                opposing.retain(|forced| !level(forced));
            }
            self.known.extend(opposing);
            self.known.sort_unstable();
            self.known.dedup();
        }
        unreachable!("once all forced edges are known, none leads downwards")
    }

    /// Parts the forced edges that oppose the causal order from the others.
    fn split_causal(&self, forced: Vec<Forced>) -> (Vec<Forced>, Vec<Forced>) {
        let is_initial = |f: &Forced| f.target(self.resolved) == Node::Initial;
        let (mut wrong, others): (Vec<Forced>, Vec<Forced>) = forced.into_iter().partition(is_initial);
        let back = |f: &Forced| Some((f.target(self.resolved).txn()?, f.seen));
        let pairs: Vec<(Txn, Txn)> = others.iter().filter_map(back).collect();
        let mut rest = Vec::new();
        for (forced, causal) in others.into_iter().zip(self.search.precede(&pairs)) {
            if causal { wrong.push(forced) } else { rest.push(forced) }
        }
        (wrong, rest)
    }

    fn layers(&self) -> Layers {
        let graph = self.graph(self.known.iter());
        let mut components = Components::find(&graph);
        components.sort_by(&graph, self.causal_place);
        let mut order = self.causal_order.to_vec();
        order.sort_by_key(|&txn| components.of[txn as usize]);
        Layers { components, order }
    }

    /// The components with all forced edges, those set aside included, and how many there are.
    fn complete_components(&self, commit: &[Forced]) -> (Vec<u32>, u32) {
        let graph = self.graph(self.known.iter().chain(commit).chain(&self.causal));
        let components = Components::find(&graph);
        (components.of, components.sizes.len() as u32)
    }

    /// Everything a commit order must respect, with some forced edges.
    fn graph<'f>(&self, forced: impl Iterator<Item = &'f Forced>) -> Graph {
        let mut edges = cycles::edges(self.history, self.resolved, Relations::Given);
        edges
            .extend(forced.filter_map(|forced| Some((forced.seen.0, forced.target(self.resolved).txn()?.0))));
        Graph::from_edges(self.history.txn_count(), &edges)
    }

    /// The reads that an axiom may have something to say about: all but those which return the latest version
    /// in the order of the layers, from and by transactions that are on no cycle.
    fn stale(&self, layers: &Layers) -> Vec<Stale> {
        let mut current = vec![Link::INITIAL; self.history.key_count()];
        let mut stale = Vec::new();
        let cyclic = |txn: Txn| layers.components.cyclic(txn.0);
        let layer = |txn: &u32| layers.components.of[*txn as usize];
        let ops = |txn: Txn| self.history.op_range(txn).map(|op| (Op::at(op), self.resolved.links[op]));
        for group in layers.order.chunk_by(|a, b| layer(a) == layer(b)) {
            for &txn in group {
                for (op, link) in ops(Txn(txn)).filter(|(_, link)| link.is_read()) {
                    let latest = current[self.history.key_of(op).index()] == link;
                    if !latest || cyclic(Txn(txn)) || link.txn().is_some_and(cyclic) {
                        stale.push(Stale { reader: Txn(txn), read: op });
                    }
                }
            }
            for &txn in group {
                for (op, _) in ops(Txn(txn)).filter(|&(_, link)| link == Link::WRITE) {
                    current[self.history.key_of(op).index()] = Link::from(Txn(txn));
                }
            }
        }
        stale
    }

    /// Names the instances that have no name yet.
    fn name(&mut self, axiom: Axiom, causal: &[Forced], commit: &[Forced]) -> Vec<Named> {
        let there = |f: &Forced| (f.seen, f.target(self.resolved).txn().unwrap_or(f.seen));
        let pairs: Vec<(Txn, Txn)> = commit.iter().map(there).collect();
        let innocent = self.search.precede(&pairs);
        let guilty = commit.iter().zip(innocent).filter(|(_, innocent)| !innocent);
        let all = causal.iter().map(|&forced| (forced, Against::Causal));
        let all: Vec<(Forced, Against)> =
            all.chain(guilty.map(|(&forced, _)| (forced, Against::Commit))).collect();
        let mut named = Vec::new();
        for (forced, against) in all {
            if !self.list_shows(forced)
                && self.counted.insert((forced.read, self.history.session_of(forced.seen)))
            {
                named.push(Named { anomaly: self.name_of(axiom, forced, against), against, forced });
            }
        }
        named
    }

    fn name_of(&self, axiom: Axiom, forced: Forced, against: Against) -> Anomaly {
        match axiom {
            Axiom::ReadCommitted => Anomaly::NonMonotonicRead,
            Axiom::ReadAtomic if self.keys_read(forced).next().is_some() => Anomaly::FracturedRead,
            Axiom::ReadAtomic => Anomaly::StaleSessionRead,
            Axiom::Causal if against == Against::Causal => Anomaly::CausalityViolation,
            Axiom::Causal => Anomaly::ConflictingCommitOrder,
        }
    }

    /// The keys that the reader of a forced edge reads from its source.
    fn keys_read(&self, forced: Forced) -> impl Iterator<Item = Key> + '_ {
        let ops = self.history.op_range(forced.reader);
        let reads = ops.filter(move |&op| self.resolved.links[op].txn() == Some(forced.seen));
        reads.map(|op| self.history.key_of(Op::at(op)))
    }

    /// Whether the list that was read holds an element of the source of a forced edge: then that element stands
    /// before the last one, and the list itself says what the edge does.
    fn list_shows(&self, forced: Forced) -> bool {
        let read = self.history.op(forced.read);
        if read.kind != OpKind::ReadList {
            return false;
        }
        let list = appended_of(self.history, read);
        let repeats = |element: &Value| self.resolved.repeated_elements.contains(&(read.key, *element));
        let mut appends = self.history.ops_of(forced.seen).filter(|op| op.kind == OpKind::Append);
        appends.any(|op| op.key == read.key && list.contains(&op.value)) && !list.iter().any(repeats)
    }
}

/// The cycle that shows an instance: the forced edge, and a shortest way back.
fn evidence(tracer: &Tracer<'_>, layers: &Layers, one: &Named, trail: &mut Trail) -> Option<Evidence> {
    let edge = tracer.forced_edge(one.forced, trail);
    let from = one.forced.seen;
    let back = match (edge.to, one.against) {
        (Node::Initial, _) => {
            vec![Edge { from: Node::Initial, to: Node::Txn(from), why: Why::Session }]
        }
        (Node::Txn(to), Against::Causal) => tracer.causal_path(to, from, trail)?,
        (Node::Txn(to), Against::Commit) => {
            let component = layers.components.of[to.index()];
            let within = |txn: Txn| layers.components.of[txn.index()] == component;
            tracer.path(to, from, Relations::Commit, within, trail)?
        }
    };
    let mut cycle = vec![edge];
    cycle.extend(back);
    Some(Evidence::Cycle(cycle))
}

/// The first of each group, then the second of each, and so on.
pub(crate) fn turns<T>(all: impl Iterator<Item = T>, group: impl Fn(&T) -> u32) -> impl Iterator<Item = T> {
    let mut seen: FxHashMap<u32, u32> = FxHashMap::default();
    let mut turns: Vec<(u32, T)> = all
        .map(|one| {
            let turn = seen.entry(group(&one)).or_insert(0);
            *turn += 1;
            (*turn, one)
        })
        .collect();
    turns.sort_by_key(|(turn, _)| *turn);
    turns.into_iter().map(|(_, one)| one)
}

/// The length of evidence, in steps.
fn length(evidence: &Evidence) -> usize {
    let steps = |edge: &Edge| match &edge.why {
        Why::Forced { seen: Seen::Causal(path), .. } => 1 + path.len(),
        _ => 1,
    };
    match evidence {
        Evidence::Cycle(cycle) => cycle.iter().map(steps).sum(),
        Evidence::Read { .. } | Evidence::Pair { .. } | Evidence::Cases(_) | Evidence::Worlds(_) => 1,
    }
}
