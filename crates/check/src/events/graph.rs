//! The public interface of the event graph.

use isoscope_history::{History, Op, Txn};
use isoscope_levels::Level;

use super::reach::Reach;
use super::{Events, Rules};
use crate::certificate::{Limit, Node};
use crate::resolve::Resolved;
use crate::strong::{given_edges, possible_writers};
use crate::watch::{NoLimits, Watch};

/// An event: the begin or the commit of a transaction, or a tick of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Event(u32);

impl Event {
    /// The number of the event, below [`EventGraph::len`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The possible writers of what a read returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PossibleWriters {
    /// The read.
    pub read: Op,
    /// Its possible writers, the initial state first, then by number.
    pub writers: Vec<Node>,
}

/// The event graph of a history at a level; see the [module](super).
pub struct EventGraph<'h> {
    history: &'h History,
    resolved: Resolved,
    events: Events,
    /// The edges that hold for any choice.
    edges: Vec<(u32, u32)>,
}

impl<'h> EventGraph<'h> {
    /// The event graph of a level; `None` if the level is not defined by one. Real time is that of the clients.
    pub fn new(history: &'h History, level: Level) -> Option<EventGraph<'h>> {
        let graph = EventGraph::watched(history, level, false, &NoLimits);
        graph.unwrap_or_else(|limit| unreachable!("without limits none is reached, but {limit:?} was"))
    }

    /// The same within limits; `trust_timestamps` makes the database's timestamps the real time.
    ///
    /// # Errors
    ///
    /// The limit that was reached.
    pub fn watched(
        history: &'h History,
        level: Level,
        trust_timestamps: bool,
        watch: &dyn Watch,
    ) -> Result<Option<EventGraph<'h>>, Limit> {
        let Some(rules) = Rules::of(level, trust_timestamps) else { return Ok(None) };
        let resolved = Resolved::watched(history, watch)?;
        let mut edges = Vec::new();
        let events = Events::new(history, &resolved, rules, &mut edges, watch)?;
        given_edges(history, &resolved, level, &events, &mut edges, watch)?;
        Ok(Some(EventGraph { history, resolved, events, edges }))
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        self.events.nodes as usize
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The begin of a transaction. At levels without snapshots, begin and commit are the same event.
    pub fn begin(&self, txn: Txn) -> Event {
        Event(self.events.rules.begin(txn.0))
    }

    /// The commit of a transaction.
    pub fn commit(&self, txn: Txn) -> Event {
        Event(self.events.rules.commit(txn.0))
    }

    /// The event of a later writer to which the commit of an earlier writer of the same key leads.
    pub fn overwrite(&self, txn: Txn) -> Event {
        Event(self.events.rules.overwrite(txn.0))
    }

    /// The transaction of an event; `None` for a tick of the clock.
    pub fn txn(&self, event: Event) -> Option<Txn> {
        (event.0 < self.events.first_tick).then(|| Txn(self.events.rules.txn(event.0)))
    }

    /// Whether a transaction certainly took effect.
    pub fn is_present(&self, txn: Txn) -> bool {
        self.resolved.present[txn.index()]
    }

    /// The edges that hold for any choice of writers and version orders: sessions and real time as far as the level knows them,
    /// reads with one possible writer, and the versions that list reads show.
    pub fn edges(&self) -> impl ExactSizeIterator<Item = (Event, Event)> + '_ {
        self.edges.iter().map(|&(from, to)| (Event(from), Event(to)))
    }

    /// For each external read of a present transaction, its possible writers.
    ///
    /// # Errors
    ///
    /// The limit that was reached.
    pub fn possible_writers(&self, watch: &dyn Watch) -> Result<Vec<PossibleWriters>, Limit> {
        let all = possible_writers(self.history, &self.resolved, watch)?;
        Ok(all.into_iter().map(|(read, writers)| PossibleWriters { read, writers }).collect())
    }

    /// Reachability along the edges of the graph and some more. `None` if they have a cycle.
    ///
    /// # Errors
    ///
    /// [`Limit::Memory`] if the clocks would be too large.
    pub fn reachability(&self, more: &[(Event, Event)]) -> Result<Option<Reachability<'_>>, Limit> {
        self.reachability_within(more, &NoLimits)
    }

    /// The same within limits.
    ///
    /// # Errors
    ///
    /// The limit that was reached.
    pub fn reachability_within(
        &self,
        more: &[(Event, Event)],
        watch: &dyn Watch,
    ) -> Result<Option<Reachability<'_>>, Limit> {
        if !Reach::fits(&self.events) || !watch.fits(Reach::bytes(&self.events)) {
            return Err(Limit::Memory);
        }
        let more = more.iter().map(|&(from, to)| (from.0, to.0));
        let edges: Vec<(u32, u32)> = self.edges.iter().copied().chain(more).collect();
        let reach = Reach::new(self.history, &self.events, &edges, watch);
        // An interrupted sweep is not complete.
        crate::watch::go_on(watch)?;
        Ok(reach.map(|reach| Reachability { graph: self, reach }))
    }
}

/// Which events precede which.
pub struct Reachability<'g> {
    graph: &'g EventGraph<'g>,
    reach: Reach,
}

impl Reachability<'_> {
    /// Whether a path of at least one edge leads from one event to another.
    pub fn precedes(&self, from: Event, to: Event) -> bool {
        let chain = self.graph.events.chain_of(self.graph.history, from.0);
        self.reach.precedes(from.0, chain, to.0)
    }

    /// The place of an event in an order that contains all edges.
    pub fn place(&self, event: Event) -> usize {
        self.reach.place[event.index()] as usize
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]
mod tests {
    use isoscope_history::notation;

    use super::*;

    struct Full;

    impl Watch for Full {
        fn fits(&self, _: u64) -> bool {
            false
        }
    }

    #[test]
    fn edges_that_hold_for_any_choice_are_those_of_the_level() {
        let history = notation::parse("T1: w(x,1) T2: r(x,1)  ;T3: w(x,1) T4: w(y,1)").unwrap();
        let txns = |level: Level| -> Vec<(u32, u32)> {
            let graph = EventGraph::new(&history, level).unwrap();
            let txn = |event: Event| graph.txn(event).unwrap().0;
            let mut edges: Vec<(u32, u32)> = graph
                .edges()
                .map(|(from, to)| (txn(from), txn(to)))
                .filter(|(from, to)| from != to)
                .collect();
            edges.sort_unstable();
            edges.dedup();
            edges
        };
        // Whether T2 reads from T1 or T3 is open; sessions are certain.
        let sessions: Vec<(u32, u32)> = history
            .sessions()
            .flat_map(|session| {
                let txns: Vec<u32> = history.txn_range(session).collect();
                txns.windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(txns(Level::Serializable), sessions);
        assert_eq!(txns(Level::Snapshot), sessions);
        assert_eq!(txns(Level::AdyaPl3), []);
        assert!(EventGraph::new(&history, Level::Causal).is_none());
    }

    #[test]
    fn possible_writers_are_all_that_wrote_the_value() {
        let history = notation::parse("T1: w(x,0)  T2: w(x,0)  T3: r(x,0)  T4: r(y,0)").unwrap();
        let graph = EventGraph::new(&history, Level::Serializable).unwrap();
        let all = graph.possible_writers(&NoLimits).unwrap();
        let writers: Vec<&[Node]> = all.iter().map(|possible| &possible.writers[..]).collect();
        let x = [Node::Initial, Node::Txn(Txn(0)), Node::Txn(Txn(1))];
        assert_eq!(writers, [&x[..], &[Node::Initial][..]]);
    }

    #[test]
    fn a_cycle_has_no_order_and_a_limit_is_an_error() {
        let history = notation::parse("T1: w(x,1)  T2: r(x,1)").unwrap();
        let graph = EventGraph::new(&history, Level::Serializable).unwrap();
        let back = [(graph.commit(Txn(1)), graph.begin(Txn(0)))];
        assert!(graph.reachability(&back).unwrap().is_none());
        let reach = graph.reachability(&[]).unwrap().unwrap();
        assert!(reach.place(graph.begin(Txn(0))) < reach.place(graph.begin(Txn(1))));
        assert_eq!(graph.reachability_within(&[], &Full).err(), Some(Limit::Memory));
    }
}
