//! The event graph: which events of a history a level puts in which order.
//!
//! Every transaction has a begin `B` and a commit `C`, and a level says between which events a dependency runs
//! (docs/levels.md, "The event graph"): the level holds exactly when some choice of writers and version orders
//! leaves the graph acyclic. For serializability the two events are one.
//!
//! | level | so, rt, wr from t to s | ww from t to s | rw from t to s |
//! |---|---|---|---|
//! | serializable | t → s | t → s | t → s |
//! | snapshot isolation | C(t) → B(s) | C(t) → B(s) | B(t) → C(s) |
//! | prefix | C(t) → B(s) | C(t) → C(s) | B(t) → C(s) |
//!
//! Levels that forbid only some cycles with anti-dependencies have the graph of serializability without those, and a rule of
//! what a reader must have seen. Update serializability is in between: anti-dependencies are edges where the reader writes something.
//!
//! Real time would have an edge for nearly every pair of transactions. A chain of *ticks* represents it instead, one
//! for every return: a commit leads to the tick of its return, a tick to the next one, and the last tick before an
//! invocation to the begin.
//!
//! Events are numbered so that those of a session have ascending numbers; ticks follow. So sessions and the clock are chains.
//!
//! The public interface is [`EventGraph`]: the events of a history at a level, the edges that hold for any choice, the
//! possible writers of each read, and reachability.
//!
//! ```
//! use isoscope_check::events::EventGraph;
//! use isoscope_history::{Txn, notation};
//! use isoscope_levels::Level;
//!
//! // T3 reads x from T1, and does not read from T2.
//! let history = notation::parse("T1: w(x,1)  T2: w(x,2)  T3: r(x,1)").unwrap();
//! let graph = EventGraph::new(&history, Level::Snapshot).unwrap();
//! let reach = graph.reachability(&[]).unwrap().unwrap();
//! assert!(reach.precedes(graph.commit(Txn(0)), graph.begin(Txn(2))));
//! assert!(!reach.precedes(graph.commit(Txn(1)), graph.begin(Txn(2))));
//!
//! // If T1 overwrote T2, then T2 precedes the reader of T1.
//! let assumed = [(graph.commit(Txn(1)), graph.overwrite(Txn(0)))];
//! let reach = graph.reachability(&assumed).unwrap().unwrap();
//! assert!(reach.precedes(graph.commit(Txn(1)), graph.begin(Txn(2))));
//! ```

mod graph;
pub(crate) mod reach;

pub use graph::{Event, EventGraph, PossibleWriters, Reachability};

use isoscope_history::{History, NO_EVENT, NO_TIME, Outcome, Txn};
use isoscope_levels::Level;

use crate::certificate::Limit;
use crate::resolve::Resolved;
use crate::semantics::{Graph, Method, Semantics, Sight};
use crate::watch::{Turnstile, Watch};

/// How a level reads the event graph; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "they are the rules of a table, not the states of a machine"
)]
pub(crate) struct Rules {
    /// Begin and commit are two events.
    pub(crate) split: bool,
    /// Of two writers of a key, one commits before the other begins. Implied when begin and commit are the same event.
    pub(crate) conflicts: bool,
    /// The order of sessions counts.
    pub(crate) sessions: bool,
    /// Real time counts.
    pub(crate) real_time: bool,
    /// Real time is what the database's own timestamps say, not what clients saw.
    pub(crate) trust_timestamps: bool,
    /// Anti-dependencies are edges. For parallel snapshot isolation they are not: there, only a cycle with a single one is
    /// forbidden.
    pub(crate) misses: bool,
    /// What a reader must have seen, where the edges do not say it.
    pub(crate) sight: Sight,
}

impl Rules {
    /// The rules of a level, if the event graph decides it.
    pub(crate) fn of(level: Level, trust_timestamps: bool) -> Option<Rules> {
        let Semantics { method, sight, sessions, real_time, .. } = Semantics::of(level);
        let Method::Events(Graph { split, conflicts, misses }) = method else { return None };
        Some(Rules { split, conflicts, sessions, real_time, trust_timestamps, misses, sight })
    }

    /// The rules of a level that the event graph does not decide: its order contains session order and real-time order as far
    /// as they count, and dependencies.
    pub(crate) fn of_order(level: Level, trust_timestamps: bool) -> Rules {
        let Semantics { sessions, real_time, .. } = Semantics::of(level);
        Rules {
            split: false,
            conflicts: true,
            sessions,
            real_time,
            trust_timestamps,
            misses: false,
            sight: Sight::Parallel,
        }
    }

    /// Whether an anti-dependency of a transaction is an edge.
    pub(crate) fn misses_of(self, history: &History, reader: u32) -> bool {
        let is_update = || history.ops_of(Txn(reader)).any(|op| op.kind.is_write());
        self.misses && (self.sight != Sight::Updates || is_update())
    }

    /// Whether an order of events determines the writer of every read: the last one before it.
    pub(crate) fn says_sources(self) -> bool {
        self.misses && self.sight != Sight::Updates
    }

    /// Whether a reader must have seen all that leads to it, which is what saturation rests on.
    pub(crate) fn saturates(self) -> bool {
        matches!(self.sight, Sight::Parallel | Sight::Updates)
    }

    /// The clock that defines real time.
    pub(crate) fn clock(self, history: &History) -> Clocked<'_> {
        if self.trust_timestamps { Clocked::database(history) } else { Clocked::client(history) }
    }

    #[inline]
    pub(crate) fn begin(self, txn: u32) -> u32 {
        if self.split { 2 * txn } else { txn }
    }

    #[inline]
    pub(crate) fn commit(self, txn: u32) -> u32 {
        if self.split { 2 * txn + 1 } else { txn }
    }

    /// The event of an earlier writer's commit leads to this one of the later writer.
    #[inline]
    pub(crate) fn overwrite(self, txn: u32) -> u32 {
        if self.conflicts { self.begin(txn) } else { self.commit(txn) }
    }

    /// The transaction of an event, if it is no tick.
    #[inline]
    pub(crate) fn txn(self, event: u32) -> u32 {
        if self.split { event / 2 } else { event }
    }

    #[inline]
    pub(crate) fn is_begin(self, event: u32) -> bool {
        !self.split || event.is_multiple_of(2)
    }
}

/// The numbering of the events of a history.
pub(crate) struct Events {
    pub(crate) rules: Rules,
    /// The first tick: all nodes below are events of transactions.
    pub(crate) first_tick: u32,
    pub(crate) nodes: u32,
    /// Sessions, and one more for the clock; where sessions do not count, every transaction is a chain.
    pub(crate) chains: u32,
}

impl Events {
    /// Numbers the events, and gives the edges of sessions, of real time and of begins to commits. Transactions that are
    /// absent keep their place in their session, which changes nothing for others.
    pub(crate) fn new(
        history: &History,
        resolved: &Resolved,
        rules: Rules,
        edges: &mut Vec<(u32, u32)>,
        watch: &dyn Watch,
    ) -> Result<Events, Limit> {
        let turnstile = Turnstile::new(watch);
        let txns = history.txn_count() as u32;
        let first_tick = if rules.split { 2 * txns } else { txns };
        let chains = if rules.sessions { history.session_count() as u32 + 1 } else { txns };
        let mut events = Events { rules, first_tick, nodes: first_tick, chains };
        if rules.split {
            for txn in 0..txns {
                turnstile.pass()?;
                edges.push((rules.begin(txn), rules.commit(txn)));
            }
        }
        if rules.sessions {
            for session in history.sessions() {
                let mut txns = history.txn_range(session);
                let mut before = txns.next();
                for txn in txns {
                    turnstile.pass()?;
                    edges.extend(before.map(|before| (rules.commit(before), rules.begin(txn))));
                    before = Some(txn);
                }
            }
        }
        if rules.real_time {
            events.tick(&rules.clock(history), resolved, history, edges, &turnstile)?;
        }
        Ok(events)
    }

    /// The last tick before a transaction was invoked.
    pub(crate) fn tick_before(&self, history: &History, resolved: &Resolved, txn: u32) -> Option<u32> {
        let clocked = self.rules.clock(history);
        let start = clocked.start(Txn(txn)).filter(|_| self.rules.real_time)?;
        let returned = |txn: &Txn| {
            is_certain(history, resolved, *txn) && clocked.end(*txn).is_some_and(|end| end < start)
        };
        let before = history.txns().filter(returned).count() as u32;
        before.checked_sub(1).map(|last| self.first_tick + last)
    }

    /// Represents the order of intervals by ticks.
    fn tick(
        &mut self,
        clocked: &Clocked<'_>,
        resolved: &Resolved,
        history: &History,
        edges: &mut Vec<(u32, u32)>,
        turnstile: &Turnstile<'_>,
    ) -> Result<(), Limit> {
        let rules = self.rules;
        let first = self.nodes;
        let mut returns: Vec<(i64, u32)> = Vec::new();
        for txn in history.txns().filter(|&txn| is_certain(history, resolved, txn)) {
            turnstile.pass()?;
            returns.extend(clocked.end(txn).map(|end| (end, txn.0)));
        }
        returns.sort_unstable();
        for (&(_, txn), tick) in returns.iter().zip(first..) {
            turnstile.pass()?;
            edges.push((rules.commit(txn), tick));
            if tick > first {
                edges.push((tick - 1, tick));
            }
        }
        self.nodes += returns.len() as u32;
        // Whether an optional transaction took effect is open, and so is what follows from its invocation.
        for txn in history.txns().filter(|txn| resolved.present[txn.index()]) {
            turnstile.pass()?;
            let Some(start) = clocked.start(txn) else { continue };
            let before = returns.partition_point(|&(end, _)| end < start) as u32;
            if before > 0 {
                edges.push((first + before - 1, rules.begin(txn.0)));
            }
        }
        Ok(())
    }

    /// The chain of a node.
    #[inline]
    pub(crate) fn chain_of(&self, history: &History, node: u32) -> u32 {
        match node {
            tick if tick >= self.first_tick => self.chains - 1,
            event if self.rules.sessions => history.session_of(Txn(self.rules.txn(event))).0,
            event => self.rules.txn(event),
        }
    }
}

/// Whether a transaction had taken effect when it returned.
pub(crate) fn is_certain(history: &History, resolved: &Resolved, txn: Txn) -> bool {
    resolved.present[txn.index()] && history.outcome(txn) == Outcome::Committed
}

/// When each transaction began and ended, by some clock.
pub(crate) enum Clocked<'h> {
    Events(&'h isoscope_history::Intervals<u32>),
    Times(&'h isoscope_history::Intervals<i64>),
    Never,
}

impl<'h> Clocked<'h> {
    /// When the client invoked and returned: the order of events decides where it is recorded.
    pub(crate) fn client(history: &'h History) -> Self {
        match (history.events(), history.times()) {
            (Some(events), _) => Clocked::Events(events),
            (None, Some(times)) => Clocked::Times(times),
            (None, None) => Clocked::Never,
        }
    }

    /// The database's own timestamps.
    pub(crate) fn database(history: &'h History) -> Self {
        history.timestamps().map_or(Clocked::Never, Clocked::Times)
    }

    pub(crate) fn start(&self, txn: Txn) -> Option<i64> {
        self.at(txn, |i| &i.start, |i| &i.start)
    }

    pub(crate) fn end(&self, txn: Txn) -> Option<i64> {
        self.at(txn, |i| &i.end, |i| &i.end)
    }

    fn at(
        &self,
        txn: Txn,
        event: impl Fn(&'h isoscope_history::Intervals<u32>) -> &'h Vec<u32>,
        time: impl Fn(&'h isoscope_history::Intervals<i64>) -> &'h Vec<i64>,
    ) -> Option<i64> {
        match self {
            Clocked::Events(events) => {
                Some(event(events)[txn.index()]).filter(|&at| at != NO_EVENT).map(i64::from)
            }
            Clocked::Times(times) => Some(time(times)[txn.index()]).filter(|&at| at != NO_TIME),
            Clocked::Never => None,
        }
    }
}
