//! One level, several definitions: they agree.
//!
//! docs/levels.md defines levels by commit orders (1), by visibility and arbitration (2), by dependency graphs
//! (3), by states (4), and has a table of event graphs, which engines use, said to decide the same ("One graph
//! decides PC, SI and SER"). The reference of `axioms.rs` is Framework 1. Here the others are transcribed, word by
//! word and each by itself, and compared with it: with unique and with repeated values, all outcomes, and real time;
//! for registers, and by states also for lists.
//!
//! Framework 2 is about values alone and never asks who wrote one, so that it also tests the choice of writers.
//! Its search places transactions one after the other in the order `ar`, and for each tries every set of earlier
//! ones that it may see. Framework 3 tries every writer for every read and every version order of every key. The
//! event graph takes the same dependencies, and agrees with Framework 3 graph by graph, not only on whether there
//! is one. Framework 4 runs transactions one after the other, and each on every state so far.
//!
//! Number 0 is the initial transaction; sets are bit masks.

use isoscope_history::{History, OpKind, Outcome, Txn, Value, notation};
use isoscope_levels::Level;

use crate::plan::{Plan, build, shrink};
use crate::random::{Dice, draw_lists, draw_registers};
use crate::{axioms, exhaustive};

fn bit(t: usize) -> u16 {
    1 << t
}

/// A relation between numbers: for each, those to which it leads.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Relation {
    to: [u16; 16],
}

impl Relation {
    const EMPTY: Relation = Relation { to: [0; 16] };

    fn add(&mut self, t: usize, s: usize) {
        self.to[t] |= bit(s);
    }

    fn has(&self, t: usize, s: usize) -> bool {
        self.to[t] & bit(s) != 0
    }

    /// R | S
    fn or(self, other: Relation) -> Relation {
        Relation { to: std::array::from_fn(|t| self.to[t] | other.to[t]) }
    }

    /// R ; S
    fn then(self, other: Relation) -> Relation {
        let reached = |t: usize| (0..16).filter(|&u| self.has(t, u)).fold(0, |set, u| set | other.to[u]);
        Relation { to: std::array::from_fn(reached) }
    }

    /// R?
    fn maybe(self) -> Relation {
        Relation { to: std::array::from_fn(|t| self.to[t] | bit(t)) }
    }

    /// R+
    fn plus(self) -> Relation {
        let mut all = self;
        for u in 0..16 {
            for t in 0..16 {
                if all.has(t, u) {
                    all.to[t] |= all.to[u];
                }
            }
        }
        all
    }

    fn is_irreflexive(&self) -> bool {
        (0..16).all(|t| !self.has(t, t))
    }

    fn is_acyclic(self) -> bool {
        self.plus().is_irreflexive()
    }
}

/// A history of registers in which it is settled who is present.
struct Case {
    /// How many there are, the initial transaction included.
    n: usize,
    /// For each, its external reads, a key and a value each, and the value it leaves in each key that it writes.
    reads: Vec<Vec<(usize, Value)>>,
    leaves: Vec<Vec<Option<Value>>>,
    so: Relation,
    rt: Relation,
}

/// Which reads are external.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// INT: a read of a key that was accessed before returns what the last access did, and is not external.
    LastAccess,
    /// Only a read of a key that was written before is not external: two reads of one key may differ.
    LastWrite,
}

impl Case {
    /// The cases of a history, one for each set of transactions of unknown outcome, without those in which a
    /// transaction contradicts itself.
    fn all(history: &History, inside: Inside) -> Vec<Case> {
        let unknown: Vec<Txn> = history.txns().filter(|&t| history.outcome(t) == Outcome::Unknown).collect();
        let mut cases = Vec::new();
        for chosen in 0..1u16 << unknown.len() {
            let is_present = |txn: &Txn| match history.outcome(*txn) {
                Outcome::Committed => true,
                Outcome::Aborted => false,
                Outcome::Unknown => (0..unknown.len()).any(|i| unknown[i] == *txn && chosen & bit(i) != 0),
            };
            let txns: Vec<Txn> = history.txns().filter(is_present).collect();
            cases.extend(Case::new(history, &txns, inside));
        }
        cases
    }

    fn new(history: &History, txns: &[Txn], inside: Inside) -> Option<Case> {
        let keys = history.key_count();
        let initial = history.keys().map(|key| Some(history.initial(key))).collect();
        let (mut reads, mut leaves) = (vec![Vec::new()], vec![initial]);
        for &txn in txns {
            let mut accessed = vec![None; keys];
            let mut wrote = vec![None; keys];
            let mut external = Vec::new();
            for op in history.ops_of(txn).filter(|op| op.value != Value::UNKNOWN) {
                let key = op.key.index();
                match op.kind {
                    OpKind::Read => {
                        match accessed[key] {
                            Some(value) if value != op.value => return None,
                            Some(_) => continue,
                            None => external.push((key, op.value)),
                        }
                        if inside == Inside::LastAccess {
                            accessed[key] = Some(op.value);
                        }
                    }
                    OpKind::Write | OpKind::Insert | OpKind::Delete => {
                        (accessed[key], wrote[key]) = (Some(op.value), Some(op.value));
                    }
                    _ => panic!("only registers are compared"),
                }
            }
            reads.push(external);
            leaves.push(wrote);
        }
        let (mut so, mut rt) = (Relation::EMPTY, Relation::EMPTY);
        for (i, &t) in txns.iter().enumerate() {
            so.add(0, i + 1);
            for (j, &s) in txns.iter().enumerate() {
                if t < s && history.session_of(t) == history.session_of(s) {
                    so.add(i + 1, j + 1);
                }
                if axioms::is_before_in_real_time(history, t, s) {
                    rt.add(i + 1, j + 1);
                }
            }
        }
        Some(Case { n: txns.len() + 1, reads, leaves, so, rt })
    }

    fn writes(&self, t: usize, key: usize) -> bool {
        self.leaves[t][key].is_some()
    }

    fn conflict(&self, t: usize, s: usize) -> bool {
        (0..self.leaves[0].len()).any(|key| self.writes(t, key) && self.writes(s, key))
    }
}

/// What Framework 2 asks of `ar` and `vis` besides INT, EXT and SESSION.
#[derive(Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is an axiom, asked for or not")]
struct Asked {
    /// TRANSVIS: `vis` is transitive.
    transitive: bool,
    /// PREFIX: `ar ; vis` is inside `vis`.
    prefix: bool,
    /// NOCONFLICT: two that write one key are `vis`-related.
    no_conflict: bool,
    /// TOTALVIS: `vis` is `ar`.
    total: bool,
    /// `rt` is inside `vis`.
    real_time: bool,
}

impl Asked {
    fn by(level: Level) -> Option<Asked> {
        let read_atomic = Asked::default();
        let causal = Asked { transitive: true, ..read_atomic };
        let prefix = Asked { prefix: true, ..read_atomic };
        let snapshot = Asked { no_conflict: true, ..prefix };
        let serializable = Asked { total: true, ..read_atomic };
        match level {
            Level::ReadAtomic => Some(read_atomic),
            Level::Causal => Some(causal),
            Level::ParallelSnapshot => Some(Asked { no_conflict: true, ..causal }),
            Level::UpdateAtomic => Some(Asked { no_conflict: true, ..read_atomic }),
            Level::Prefix => Some(prefix),
            Level::Snapshot => Some(snapshot),
            Level::StrictSnapshot => Some(Asked { real_time: true, ..snapshot }),
            Level::Serializable => Some(serializable),
            Level::StrictSerializable => Some(Asked { real_time: true, ..serializable }),
            _ => None,
        }
    }
}

/// A beginning of `ar`, and for each transaction in it those that are visible to it.
struct Abstract<'c> {
    case: &'c Case,
    asked: Asked,
    ar: Vec<usize>,
    seen: Vec<u16>,
}

impl Abstract<'_> {
    /// Whether the beginning can be continued to the end.
    fn can_end(&mut self) -> bool {
        if self.ar.len() == self.case.n {
            return true;
        }
        let placed = self.ar.iter().fold(0, |set, &t| set | bit(t));
        for t in (0..self.case.n).filter(|&t| placed & bit(t) == 0) {
            for seen in (0..=placed).filter(|seen| seen & !placed == 0) {
                if self.may_see(t, placed, seen) {
                    self.ar.push(t);
                    self.seen[t] = seen;
                    if self.can_end() {
                        return true;
                    }
                    self.ar.pop();
                }
            }
        }
        false
    }

    /// Whether `t` may come next in `ar` with `seen` as what is visible to it.
    fn may_see(&self, t: usize, placed: u16, seen: u16) -> bool {
        let Abstract { case, asked, ar, .. } = self;
        let sees = |s: usize| seen & bit(s) != 0;
        let returned = |(key, value): (usize, Value)| {
            let last = ar.iter().rev().find(|&&s| sees(s) && case.writes(s, key));
            last.is_some_and(|&s| case.leaves[s][key] == Some(value))
        };
        let before = |s: usize| ar.iter().take_while(|&&u| u != s).fold(0, |set, &u| set | bit(u));
        let all = || 0..case.n;
        let earlier = || ar.iter().copied();
        case.reads[t].iter().all(|&read| returned(read))
            && all().all(|s| !case.so.has(s, t) || sees(s))
            && (!asked.real_time || all().all(|s| !case.rt.has(s, t) || sees(s)))
            && (!asked.transitive || earlier().all(|s| !sees(s) || self.seen[s] & !seen == 0))
            && (!asked.prefix || earlier().all(|s| !sees(s) || before(s) & !seen == 0))
            && (!asked.no_conflict || earlier().all(|s| !case.conflict(s, t) || sees(s)))
            && (!asked.total || seen == placed)
    }
}

/// Framework 2.
fn has_visibility(cases: &[Case], asked: Asked) -> bool {
    cases.iter().any(|case| {
        let (ar, seen) = (vec![0], vec![0; case.n]);
        Abstract { case, asked, ar, seen }.can_end()
    })
}

/// The dependencies of a choice of writers and version orders.
#[derive(Clone, Copy)]
struct Graph {
    n: usize,
    so: Relation,
    rt: Relation,
    wr: Relation,
    ww: Relation,
    rw: Relation,
}

/// Calls `visit` with every graph of a case.
fn for_each_graph(case: &Case, visit: &mut dyn FnMut(&Graph)) {
    let reads: Vec<(usize, usize, Vec<usize>)> = (0..case.n)
        .flat_map(|t| case.reads[t].iter().map(move |&(key, value)| (t, key, value)))
        .map(|(t, key, value)| {
            let wrote = |&s: &usize| s != t && case.leaves[s][key] == Some(value);
            (t, key, (0..case.n).filter(wrote).collect())
        })
        .collect();
    let orders: Vec<Vec<Vec<usize>>> = (0..case.leaves[0].len())
        .map(|key| permutations(&(1..case.n).filter(|&t| case.writes(t, key)).collect::<Vec<_>>()))
        .collect();
    for sources in choices(&reads.iter().map(|(_, _, from)| from.len()).collect::<Vec<_>>()) {
        for versions in choices(&orders.iter().map(Vec::len).collect::<Vec<_>>()) {
            let (mut wr, mut ww, mut rw) = (Relation::EMPTY, Relation::EMPTY, Relation::EMPTY);
            let order = |key: usize| std::iter::once(0).chain(orders[key][versions[key]].iter().copied());
            for key in 0..orders.len() {
                for (i, t) in order(key).enumerate() {
                    order(key).skip(i + 1).for_each(|s| ww.add(t, s));
                }
            }
            for ((t, key, from), &chosen) in reads.iter().zip(&sources) {
                wr.add(from[chosen], *t);
                let overwrote = order(*key).skip_while(|&s| s != from[chosen]).skip(1);
                overwrote.filter(|s| s != t).for_each(|s| rw.add(*t, s));
            }
            visit(&Graph { n: case.n, so: case.so, rt: case.rt, wr, ww, rw });
        }
    }
}

/// How many graphs `for_each_graph` visits.
fn graph_count(case: &Case) -> usize {
    let writers = |key: usize| (1..case.n).filter(|&t| case.writes(t, key)).count();
    let orders: usize = (0..case.leaves[0].len()).map(|key| (1..=writers(key)).product::<usize>()).product();
    let candidates = |t: usize, key: usize, value| {
        (0..case.n).filter(|&s| s != t && case.leaves[s][key] == Some(value)).count()
    };
    let reads = (0..case.n).flat_map(|t| case.reads[t].iter().map(move |&(key, value)| (t, key, value)));
    reads.fold(orders, |product, (t, key, value)| product.saturating_mul(candidates(t, key, value)))
}

/// All ways to choose a number below each of some bounds.
fn choices(bounds: &[usize]) -> Vec<Vec<usize>> {
    bounds.iter().fold(vec![Vec::new()], |all, &bound| {
        let extend = |chosen: &Vec<usize>, i| chosen.iter().copied().chain([i]).collect();
        all.iter().flat_map(|chosen| (0..bound).map(move |i| extend(chosen, i))).collect()
    })
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let starting_with = |i: usize| {
        let rest: Vec<usize> = items.iter().copied().filter(|&item| item != items[i]).collect();
        permutations(&rest).into_iter().map(move |rest| [vec![items[i]], rest].concat())
    };
    (0..items.len()).flat_map(starting_with).collect()
}

impl Graph {
    /// Framework 3: the condition of a level.
    fn satisfies(&self, level: Level) -> bool {
        let Graph { so, rt, wr, ww, rw, .. } = *self;
        match level {
            Level::AdyaPl2 => wr.or(ww).is_acyclic(),
            Level::StrongSessionPl2 => so.or(wr).or(ww).is_acyclic(),
            Level::StrongPl2 => so.or(rt).or(wr).or(ww).is_acyclic(),
            Level::AdyaPl299 | Level::AdyaPl3 => wr.or(ww).or(rw).is_acyclic(),
            Level::AdyaPlSi => wr.or(ww).then(rw.maybe()).is_acyclic(),
            Level::ConsistentView => wr.or(ww).plus().then(rw.maybe()).is_irreflexive(),
            Level::UpdateAtomic => {
                so.or(wr).or(ww).is_acyclic() && so.or(wr).or(ww).then(rw).is_irreflexive()
            }
            Level::ReadAtomic => so.or(wr).or(ww).is_acyclic() && so.or(wr).then(rw).is_irreflexive(),
            Level::Causal => so.or(wr).or(ww).is_acyclic() && so.or(wr).plus().then(rw).is_irreflexive(),
            Level::ParallelSnapshot => so.or(wr).or(ww).plus().then(rw.maybe()).is_irreflexive(),
            Level::Prefix => so.or(wr).then(rw.maybe()).or(ww).is_acyclic(),
            Level::Snapshot => so.or(wr).or(ww).then(rw.maybe()).is_acyclic(),
            Level::StrictSnapshot => so.or(rt).or(wr).or(ww).then(rw.maybe()).is_acyclic(),
            Level::Serializable => so.or(wr).or(ww).or(rw).is_acyclic(),
            Level::StrictSerializable => so.or(rt).or(wr).or(ww).or(rw).is_acyclic(),
            _ => panic!("{level} has no such condition"),
        }
    }

    /// Adya's PL-FCV: PL-2, and with some order of begins and commits no cycle of `wr`, `ww` and *start* edges and exactly one
    /// `rw`. A start edge leads from `t` to `s` when `t` commits before `s` begins; the initial transaction has
    /// committed before all begin.
    fn is_forward_consistent(&self) -> bool {
        let Graph { n, wr, ww, rw, .. } = *self;
        if !wr.or(ww).is_acyclic() {
            return false;
        }
        // Begin of `t` is event `2 t`, commit `2 t + 1`.
        let mut orders: Vec<Vec<usize>> = vec![vec![0, 1]];
        for _ in 2..2 * n {
            orders = orders
                .iter()
                .flat_map(|order| {
                    let next = (2..2 * n).filter(|event| !order.contains(event));
                    let begun = next.filter(|&event| event % 2 == 0 || order.contains(&(event - 1)));
                    begun.map(move |event| [&order[..], &[event]].concat()).collect::<Vec<_>>()
                })
                .collect();
        }
        orders.iter().any(|order| {
            let place = |event: usize| order.iter().position(|&other| other == event);
            let mut starts = Relation::EMPTY;
            for (t, s) in (0..n).flat_map(|t| (0..n).map(move |s| (t, s))) {
                if t != s && place(2 * t + 1) < place(2 * s) {
                    starts.add(t, s);
                }
            }
            wr.or(ww).or(starts).plus().then(rw).is_irreflexive()
        })
    }

    /// The event graph of a level, where it has one: begin `B(t)` is number `t` and commit `C(t)` number `n + t`,
    /// and at serializable they are one.
    fn events(&self, level: Level) -> Option<Relation> {
        let Graph { n, so, rt, wr, ww, rw } = *self;
        let strict = matches!(level, Level::StrictSnapshot | Level::StrictSerializable);
        let from_commit_to_begin = match level {
            Level::AdyaPl299 | Level::AdyaPl3 | Level::AdyaPlSi => wr,
            _ if strict => so.or(wr).or(rt),
            _ => so.or(wr),
        };
        let (begin, commit) = match level {
            Level::Prefix | Level::AdyaPlSi | Level::Snapshot | Level::StrictSnapshot => (0, n),
            Level::AdyaPl299 | Level::AdyaPl3 | Level::Serializable | Level::StrictSerializable => (0, 0),
            _ => return None,
        };
        let versions_end_at = if level == Level::Prefix { commit } else { begin };
        let mut events = Relation::EMPTY;
        for t in 0..n {
            if commit != begin {
                events.add(begin + t, commit + t);
            }
            for s in 0..n {
                if from_commit_to_begin.has(t, s) {
                    events.add(commit + t, begin + s);
                }
                if ww.has(t, s) {
                    events.add(commit + t, versions_end_at + s);
                }
                if rw.has(t, s) {
                    events.add(begin + t, commit + s);
                }
            }
        }
        Some(events)
    }
}

/// The levels with a condition in Framework 3.
const CONDITIONS: [Level; 16] = [
    Level::AdyaPl2,
    Level::StrongSessionPl2,
    Level::StrongPl2,
    Level::AdyaPl299,
    Level::AdyaPl3,
    Level::AdyaPlSi,
    Level::ConsistentView,
    Level::UpdateAtomic,
    Level::ReadAtomic,
    Level::Causal,
    Level::ParallelSnapshot,
    Level::Prefix,
    Level::Snapshot,
    Level::Serializable,
    Level::StrictSnapshot,
    Level::StrictSerializable,
];

/// Of each of [`CONDITIONS`], whether some graph satisfies it; an error when an event graph disagrees.
fn has_graphs(history: &History) -> Result<[bool; CONDITIONS.len()], String> {
    let mut satisfied = [false; CONDITIONS.len()];
    let mut complaint = None;
    for inside in [Inside::LastWrite, Inside::LastAccess] {
        // Adya's levels allow what INT forbids: two reads of one key that differ.
        let is_asked = |level: Level| level.implies(Level::ReadAtomic) == (inside == Inside::LastAccess);
        for case in Case::all(history, inside) {
            for_each_graph(&case, &mut |graph| {
                for (level, found) in CONDITIONS.into_iter().zip(&mut satisfied) {
                    if is_asked(level) {
                        let holds = graph.satisfies(level);
                        *found |= holds;
                        if graph.events(level).is_some_and(|events| events.is_acyclic() != holds) {
                            complaint = Some(format!("{level}: the event graph says {}", !holds));
                        }
                    }
                }
                let view = graph.satisfies(Level::ConsistentView);
                if inside == Inside::LastWrite && graph.n <= 4 && graph.is_forward_consistent() != view {
                    complaint = Some(format!("forward consistent view is {}", !view));
                }
            });
        }
    }
    complaint.map_or(Ok(satisfied), Err)
}

/// The levels that Framework 4 defines by states, and prefix consistency likewise.
const BY_STATES: [Level; 6] = [
    Level::AdyaPl299,
    Level::Prefix,
    Level::Snapshot,
    Level::Serializable,
    Level::StrictSnapshot,
    Level::StrictSerializable,
];

/// What a key holds: the value of a register, unless it is the initial one, or what was appended to a list.
#[derive(Clone, Default)]
struct Content {
    register: Option<Value>,
    appended: Vec<Value>,
}

/// Executions of Framework 4: an order of transactions, and the states between them.
struct Execution<'h> {
    history: &'h History,
    present: Vec<Txn>,
    order: Vec<Txn>,
    /// The state before each transaction of the order, and the last one.
    states: Vec<Vec<Content>>,
    found: [bool; BY_STATES.len()],
}

impl Execution<'_> {
    /// Of each of [`BY_STATES`], whether some execution satisfies it.
    fn judge(history: &History) -> [bool; BY_STATES.len()] {
        let unknown: Vec<Txn> = history.txns().filter(|&t| history.outcome(t) == Outcome::Unknown).collect();
        let mut found = [false; BY_STATES.len()];
        for chosen in 0..1u16 << unknown.len() {
            let is_chosen = |txn: Txn| (0..unknown.len()).any(|i| unknown[i] == txn && chosen & bit(i) != 0);
            let is_present = |&txn: &Txn| history.outcome(txn) == Outcome::Committed || is_chosen(txn);
            let present = history.txns().filter(is_present).collect();
            let states = vec![vec![Content::default(); history.key_count()]];
            let mut execution = Execution { history, present, order: Vec::new(), states, found };
            execution.go_on([true; BY_STATES.len()]);
            found = execution.found;
        }
        found
    }

    /// Tries all ways to go on, for the levels that are satisfied so far.
    fn go_on(&mut self, satisfied: [bool; BY_STATES.len()]) {
        if self.order.len() == self.present.len() {
            for (found, satisfied) in self.found.iter_mut().zip(satisfied) {
                *found |= satisfied;
            }
            return;
        }
        for txn in self.present.clone() {
            if self.order.contains(&txn) {
                continue;
            }
            let satisfied = self.still_satisfied(txn, satisfied);
            if (0..BY_STATES.len()).any(|i| satisfied[i] && !self.found[i]) {
                let mut state = self.states[self.order.len()].clone();
                self.run(txn, &mut state);
                self.states.push(state);
                self.order.push(txn);
                self.go_on(satisfied);
                self.order.pop();
                self.states.pop();
            }
        }
    }

    /// The levels that are satisfied with `txn` as the next one.
    fn still_satisfied(&self, txn: Txn, satisfied: [bool; BY_STATES.len()]) -> [bool; BY_STATES.len()] {
        let history = self.history;
        let last = self.order.len();
        let is_complete: Vec<bool> =
            self.states.iter().map(|state| self.run(txn, &mut state.clone())).collect();
        // The first state after all transactions of a kind, if they are all there.
        let after = |of_kind: &dyn Fn(Txn) -> bool| {
            let all = self.present.iter().filter(|&&other| other != txn && of_kind(other));
            let place = |other: &Txn| self.order.iter().position(|t| t == other).map(|i| i + 1);
            all.map(place).try_fold(0, |latest, place| place.map(|place| latest.max(place)))
        };
        let session = after(&|t| t < txn && history.session_of(t) == history.session_of(txn));
        let real_time = after(&|t| axioms::is_before_in_real_time(history, t, txn));
        let writes = |t: Txn, key| history.ops_of(t).any(|op| op.kind.is_write() && op.key == key);
        let conflict = after(&|t| {
            self.order.contains(&t) && history.keys().any(|key| writes(t, key) && writes(txn, key))
        });
        let complete_from = |firsts: &[Option<usize>]| {
            let first = firsts.iter().try_fold(0, |latest, first| first.map(|first| latest.max(first)));
            first.is_some_and(|first| is_complete[first..].contains(&true))
        };
        let holds = |level| match level {
            Level::AdyaPl299 => is_complete[last],
            Level::Serializable => is_complete[last] && session.is_some(),
            Level::StrictSerializable => is_complete[last] && session.is_some() && real_time.is_some(),
            // Own appends follow those of all before, whatever snapshot a transaction reads from.
            Level::Prefix => complete_from(&[session]) && self.extends_lists(txn, &self.states[last]),
            Level::Snapshot => complete_from(&[session, conflict]),
            _ => complete_from(&[session, conflict, real_time]),
        };
        std::array::from_fn(|i| satisfied[i] && holds(BY_STATES[i]))
    }

    /// Runs a transaction on a state, to its end, and says whether its reads return what it finds.
    fn run(&self, txn: Txn, state: &mut [Content]) -> bool {
        let history = self.history;
        let mut is_right = true;
        for op in history.ops_of(txn) {
            let content = &mut state[op.key.index()];
            match op.kind {
                OpKind::Write | OpKind::Insert | OpKind::Delete => content.register = Some(op.value),
                OpKind::Append => content.appended.push(op.value),
                _ if op.value == Value::UNKNOWN => {}
                OpKind::Read => {
                    is_right &= match content.register {
                        Some(value) => op.value == value,
                        None => history.is_initial(op.key, op.value),
                    };
                }
                OpKind::ReadList => {
                    let initial = history.table().elements(history.initial(op.key));
                    is_right &= *history.table().elements(op.value) == [initial, &content.appended].concat();
                }
                OpKind::RangeRead => panic!("ranges are not compared"),
            }
        }
        is_right
    }
}

impl Execution<'_> {
    /// Whether lists that a transaction reads after its own appends are those of a state, and its appends.
    fn extends_lists(&self, txn: Txn, state: &[Content]) -> bool {
        let mut state = state.to_vec();
        self.history.ops_of(txn).all(|op| {
            let content = &mut state[op.key.index()];
            let before = || self.history.ops_of(txn).take_while(|earlier| earlier.id < op.id);
            let appended = || before().any(|o| o.kind == OpKind::Append && o.key == op.key);
            match op.kind {
                OpKind::Append => content.appended.push(op.value),
                OpKind::ReadList if op.value != Value::UNKNOWN && appended() => {
                    let initial = self.history.table().elements(self.history.initial(op.key));
                    return *self.history.table().elements(op.value) == [initial, &content.appended].concat();
                }
                _ => {}
            }
            true
        })
    }
}

/// Compares all formulations of all levels that have several.
fn compare(history: &History) -> Result<(), String> {
    let by_orders = axioms::judge(history, &CONDITIONS);
    let by_graphs = has_graphs(history)?;
    let cases = Case::all(history, Inside::LastAccess);
    for ((level, by_order), by_graph) in CONDITIONS.into_iter().zip(&by_orders).zip(by_graphs) {
        let by_order = by_order.is_some();
        let by_visibility = Asked::by(level).map(|asked| has_visibility(&cases, asked));
        if by_order != by_graph || by_visibility.is_some_and(|holds| holds != by_order) {
            return Err(format!(
                "{level}: by commit orders {by_order}, by visibility {by_visibility:?}, by graphs {by_graph}"
            ));
        }
    }
    Ok(())
}

/// Compares Framework 4 with the reference: it knows lists, too.
fn compare_states(history: &History) -> Result<(), String> {
    let by_orders = axioms::judge(history, &BY_STATES);
    let by_states = Execution::judge(history);
    for ((level, by_order), by_state) in BY_STATES.into_iter().zip(&by_orders).zip(by_states) {
        if by_order.is_some() != by_state {
            return Err(format!("{level}: by commit orders {}, by states {by_state}", by_order.is_some()));
        }
    }
    Ok(())
}

/// Compares everything, for registers.
fn compare_all(history: &History) -> Result<(), String> {
    compare(history)?;
    compare_states(history)
}

/// Panics when formulations disagree on a plan, with the smallest history that still shows it.
fn agree(plan: &[Plan], compare: impl Fn(&History) -> Result<(), String>) {
    let complain = |plan: &[Plan]| {
        let history = build(plan);
        compare(&history).err().map(|complaint| format!("{complaint}\n    {}", notation::print(&history)))
    };
    if let Some(complaint) = complain(plan) {
        panic!("{}", shrink(plan.to_vec(), complaint, complain));
    }
}

/// One in so many shapes of small histories is compared in every run. A prime, so that they are of all kinds.
const PIECES: usize = 23;

const SHAPES: [&[usize]; 6] = [&[1], &[2], &[1, 1], &[3], &[2, 1], &[1, 1, 1]];

/// Unique values, and a value nobody wrote.
fn agree_on_unique_values(part: usize, parts: usize) {
    for lengths in SHAPES {
        exhaustive::for_each_shape_of(lengths, part, parts, |shape| {
            exhaustive::for_each_history(shape, 1, |plan| agree(&plan, compare_all));
        });
    }
}

/// Values written more than once, or there initially.
fn agree_on_repeated_values(part: usize, parts: usize) {
    for lengths in SHAPES {
        exhaustive::for_each_shape_of(lengths, part, parts, |shape| {
            for values in exhaustive::REPEATED {
                exhaustive::for_each_history_with_values(shape, values, |plan| agree(&plan, compare_all));
            }
        });
    }
}

#[test]
fn formulations_agree_on_a_sample_of_small_histories() {
    agree_on_unique_values(0, PIECES);
}

#[test]
fn formulations_agree_on_a_sample_of_small_histories_with_repeated_values() {
    agree_on_repeated_values(1, PIECES);
}

macro_rules! parts {
    ($($unique:ident, $repeated:ident: $part:expr;)+) => {
        $(#[test]
        #[ignore = "takes minutes"]
        fn $unique() {
            agree_on_unique_values($part, 4);
        }

        #[test]
        #[ignore = "takes minutes"]
        fn $repeated() {
            agree_on_repeated_values($part, 4);
        })+
    };
}

parts! {
    exhaustive_formulations_1, exhaustive_formulations_with_repeated_values_1: 0;
    exhaustive_formulations_2, exhaustive_formulations_with_repeated_values_2: 1;
    exhaustive_formulations_3, exhaustive_formulations_with_repeated_values_3: 2;
    exhaustive_formulations_4, exhaustive_formulations_with_repeated_values_4: 3;
}

/// How many graphs of a history are tried.
const GRAPHS: usize = 1_000;

fn agree_at_random(seeds: std::ops::Range<u64>) {
    let (drawn, mut compared) = (seeds.end - seeds.start, 0);
    for seed in seeds {
        let plan = draw_registers(5, &mut Dice::new(seed));
        let graphs = |case: &Case| graph_count(case);
        let count: usize = Case::all(&build(&plan), Inside::LastWrite).iter().map(graphs).sum();
        if count <= GRAPHS {
            compared += 1;
            agree(&plan, compare_all);
        }
    }
    assert!(compared * 10 >= drawn * 8, "only {compared} of {drawn} could be compared");
}

#[test]
fn formulations_agree_on_random_histories_1() {
    agree_at_random(0..20_000);
}

#[test]
fn formulations_agree_on_random_histories_2() {
    agree_at_random(20_000..40_000);
}

/// Lists have no visibility axioms: what a version of a list is, the order of all transactions says.
#[test]
fn formulations_agree_on_random_lists() {
    let mut compared = 0;
    for seed in 0..20_000 {
        let plan = draw_lists(5, &mut Dice::new(seed));
        if axioms::world_count(&build(&plan)) <= 50 {
            compared += 1;
            agree(&plan, compare_states);
        }
    }
    assert!(compared >= 18_000, "only {compared} could be compared");
}
