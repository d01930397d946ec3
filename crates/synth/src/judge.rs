//! A recorded history and a definition: whether the level allows the history, and why.
//!
//! The verdict is exact or *unknown*. A level allows a history if it allows one of its worlds (`convert.rs`). If it forbids all of
//! them, a small part of the first world shows it: axioms, transactions and operations are dropped as long as the level forbids
//! what is left. Axioms are dropped first: they can always be. Transactions and operations are dropped only if every history with what is left is
//! forbidden, too (`parts.rs`); otherwise the reason would not be one for the whole history. The caller says when the part is small
//! enough.

use isoscope_history::{History, Key, Op, Txn};
use isoscope_levels::language::{Axiom, Definition, Library};
use isoscope_levels::{Anomaly, Framework, Level};

use crate::convert::{Clock, Known, Lowering, TWO_VERSIONS, Unsupported, World, WrongRead};
use crate::history::SmallHistory;
use crate::logic::{Ended, Plain};
use crate::matrix::{Matrix, pairs};
use crate::parts::Removable;
use crate::plan::Plan;
use crate::witness::find_witness;

/// The most worlds of a history that are tried.
pub const MOST_WORLDS: usize = 1_000;

/// Whether a level allows a recorded history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It does.
    Allowed(Shown),
    /// It does not: no definition allows these reads.
    WrongReads(Vec<WrongRead>),
    /// It does not: it extends a level that forbids these two reads of one key, which returned different versions.
    TwoVersions {
        /// The reads.
        reads: [Op; 2],
        /// The level of the catalogue.
        level: Level,
    },
    /// It does not: no witness satisfies its axioms.
    Forbidden(Core),
    /// It is not known.
    Unknown(Why),
}

/// Why it is not known whether a level allows a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The history is too large, or definitions do not speak of what it has.
    Unsupported(Unsupported),
    /// The definition uses real time, and the history has no times.
    NoTimes,
    /// The outcomes and the writers of reads that the history leaves open have more than [`MOST_WORLDS`] combinations.
    Worlds,
    /// The search was stopped.
    Stopped,
    /// The search needs too much memory.
    Memory,
    /// The level allows the history, but no read can be related to a write.
    NothingToCheck,
}

/// The witness of a level that allows a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The framework.
    pub framework: Framework,
    /// The order of all transactions; empty for dependency graphs.
    pub order: Vec<Txn>,
    /// The pairs of visibility: the second sees the first.
    pub visible: Vec<(Txn, Txn)>,
    /// For dependency graphs: each key that is written more than once, and its writers in their order.
    pub versions: Vec<(Key, Vec<Txn>)>,
    /// The transactions of unknown outcome that did not take effect.
    pub absent: Vec<Txn>,
}

/// A small part of a history that a level forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Core {
    /// The transactions with those of their operations that matter.
    pub txns: Vec<CoreTxn>,
    /// The axioms that no witness satisfies together, by their places in the definition. Empty if the conditions on every witness
    /// of the framework suffice.
    pub axioms: Vec<usize>,
    /// Whether every axiom, and every transaction and operation that can be left out, was found to be needed.
    pub is_minimal: bool,
    /// Whether transactions could be left out. If not, the axioms ask for something that is there, and the core is the world.
    pub is_part: bool,
    /// The number of worlds; the core is about the first.
    pub worlds: usize,
}

/// A transaction of a [`Core`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreTxn {
    /// The transaction.
    pub txn: Txn,
    /// The keys that it reads, and who wrote what it read; `None` is the initial state.
    pub reads: Vec<(Key, Option<Txn>)>,
    /// The keys that it writes.
    pub writes: Vec<Key>,
}

/// Judges a history by a definition. Range reads must have been expanded. `stop` is asked from time to time. Once the history is
/// known to be forbidden, `enough` is asked instead: the part that shows it is then not made smaller any more.
pub fn judge(
    definition: &Definition,
    history: &History,
    clock: Clock,
    stop: &mut dyn FnMut() -> bool,
    enough: &mut dyn FnMut() -> bool,
) -> Ruling {
    let lowering = match Lowering::new(history, clock) {
        Ok(lowering) => lowering,
        Err(unsupported) => return Ruling::Unknown(Why::Unsupported(unsupported)),
    };
    if !lowering.wrong.is_empty() {
        return Ruling::WrongReads(lowering.wrong);
    }
    let one_version = Library::extends(definition, |level| level.forbids(Anomaly::NonRepeatableRead));
    if let (Some(level), Some(reads)) = (one_version, lowering.two_versions()) {
        return Ruling::TwoVersions { reads, level };
    }
    let plan = Plan::new(definition);
    if plan.uses_real_time && !lowering.has_times() {
        return Ruling::Unknown(Why::NoTimes);
    }
    let mut doubt: Option<Why> = None;
    let mut first: Option<Known> = None;
    let mut two_versions: Option<Ruling> = None;
    let mut worlds = 0;
    for world in lowering.worlds() {
        worlds += 1;
        if worlds > MOST_WORLDS {
            return Ruling::Unknown(Why::Worlds);
        }
        let known = match world {
            World::Known(known) => known,
            World::TwoVersions(reads) => {
                if let Some(level) = one_version {
                    two_versions.get_or_insert(Ruling::TwoVersions { reads, level });
                    continue;
                }
                let txn = history.txn_of(reads[0]);
                doubt.get_or_insert(Why::Unsupported(Unsupported::Txn { txn, why: TWO_VERSIONS }));
                if lowering.optional.is_empty() {
                    break;
                }
                continue;
            }
            World::Unsupported { txn, why } => {
                doubt.get_or_insert(Why::Unsupported(Unsupported::Txn { txn, why }));
                if lowering.optional.is_empty() {
                    break;
                }
                continue;
            }
        };
        match shown(&plan, &known, &lowering, stop) {
            Ok(Some(_)) if known.history.says_nothing() => {
                doubt.get_or_insert(Why::NothingToCheck);
            }
            Ok(Some(shown)) => return Ruling::Allowed(shown),
            Ok(None) => {
                first.get_or_insert(known);
            }
            Err(Ended::Stopped) => return Ruling::Unknown(Why::Stopped),
            Err(Ended::Large) => return Ruling::Unknown(Why::Memory),
        }
    }
    let why = "reads a value twice that is written twice, so that it may have read two versions";
    // A level that forbids two versions forbids every world in which these reads returned two.
    let may_differ = lowering
        .may_differ()
        .filter(|_| one_version.is_none())
        .map(|txn| Why::Unsupported(Unsupported::Txn { txn, why }));
    match (doubt.or(may_differ), first) {
        (Some(why), _) => Ruling::Unknown(why),
        (None, Some(world)) => Ruling::Forbidden(core(definition, &world, worlds, enough)),
        // Every outcome of the transactions of unknown outcome leaves a read without a writer.
        (None, None) => two_versions.unwrap_or(Ruling::WrongReads(Vec::new())),
    }
}

/// The witness that a level allows a world, if there is one. It is evaluated once more.
fn shown(
    plan: &Plan,
    world: &Known,
    lowering: &Lowering<'_>,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Option<Shown>, Ended> {
    let view = world.history.view();
    let Some(mut witness) = find_witness(plan, &view, stop)? else { return Ok(None) };
    assert!(plan.allows(&mut Plain, &view, &mut witness), "the solver's witness satisfies the definition");
    let sorted = |order: &Matrix<bool>| {
        let mut txns: Vec<usize> = (1..order.size()).collect();
        txns.sort_by_key(|&txn| (0..order.size()).filter(|&other| order[(other, txn)]).count());
        txns
    };
    let named = |txns: Vec<usize>| -> Vec<Txn> { txns.into_iter().map(|txn| world.txns[txn - 1]).collect() };
    let is_graph = plan.framework == Framework::Dependencies;
    let versions = world.keys.iter().enumerate().filter(|_| is_graph).map(|(key, &name)| {
        let order = sorted(witness.order_of(key));
        (name, named(order.into_iter().filter(|&txn| world.history.writes[txn][key]).collect()))
    });
    let visible = witness.vis.iter().flat_map(|vis| pairs(vis)).filter(|&(from, _)| from > 0);
    let absent = lowering.optional.iter().copied().filter(|txn| !world.txns.contains(txn));
    Ok(Some(Shown {
        framework: plan.framework,
        order: if is_graph { Vec::new() } else { named(sorted(&witness.orders[0])) },
        visible: visible.map(|(from, to)| (world.txns[from - 1], world.txns[to - 1])).collect(),
        versions: versions.filter(|(_, writers)| writers.len() > 1).collect(),
        absent: absent.collect(),
    }))
}

impl SmallHistory {
    /// Whether no read can be related to a write: nothing was read, or nothing was written and every read returned the initial
    /// value.
    fn says_nothing(&self) -> bool {
        let reads = self.sources.iter().flatten().flatten().count();
        reads == 0 || !self.writes[1..].iter().flatten().any(|&writes| writes)
    }
}

/// Makes a world smaller as long as some axioms forbid it.
struct Shrinking<'s> {
    definition: &'s Definition,
    /// The axioms, by their places in the definition.
    axioms: Vec<usize>,
    plan: Plan,
    removable: Removable,
    enough: &'s mut dyn FnMut() -> bool,
    is_enough: bool,
    world: Known,
}

impl<'s> Shrinking<'s> {
    fn new(definition: &'s Definition, world: Known, enough: &'s mut dyn FnMut() -> bool) -> Self {
        Shrinking {
            definition,
            axioms: (0..definition.axioms.len()).collect(),
            plan: Plan::new(definition),
            removable: Removable::of(&definition.axioms),
            enough,
            is_enough: false,
            world,
        }
    }

    /// Takes a smaller world if the axioms forbid it. False if they do not, or if it is not known.
    fn take(&mut self, smaller: SmallHistory, txns: &[usize], keys: &[usize]) -> bool {
        // Without any key, the initial transaction would not write.
        if self.is_enough || keys.is_empty() {
            return false;
        }
        match find_witness(&self.plan, &smaller.view(), self.enough) {
            Ok(None) => {
                let Known { txns: names, keys: key_names, .. } = &self.world;
                self.world = Known {
                    txns: txns.iter().skip(1).map(|&txn| names[txn - 1]).collect(),
                    keys: keys.iter().map(|&key| key_names[key]).collect(),
                    history: smaller,
                };
                true
            }
            Ok(Some(_)) => false,
            Err(_) => {
                self.is_enough = true;
                false
            }
        }
    }

    /// Drops transactions: many at once, then fewer. One that others read from stays as long as they do.
    fn drop_txns(&mut self) {
        let mut step = self.world.txns.len().div_ceil(2);
        while step > 0 {
            let mut end = self.world.txns.len() + 1;
            let mut is_smaller = false;
            // The last ones first: they are seldom read from.
            while end > 1 {
                let begin = end.saturating_sub(step).max(1);
                is_smaller |= self.drop_range(begin, end);
                end = begin.min(self.world.txns.len() + 1);
            }
            if step > 1 || !is_smaller {
                step /= 2;
            }
        }
    }

    /// Drops some transactions, except those that others read from.
    fn drop_range(&mut self, begin: usize, end: usize) -> bool {
        let history = &self.world.history;
        let mut keep: Vec<bool> = (0..history.writes.len()).map(|txn| txn < begin || txn >= end).collect();
        let mut todo: Vec<usize> = (1..keep.len()).filter(|&txn| keep[txn]).collect();
        while let Some(txn) = todo.pop() {
            for &writer in history.sources[txn].iter().flatten() {
                if !keep[writer] {
                    keep[writer] = true;
                    todo.push(writer);
                }
            }
        }
        if keep[1..].iter().all(|&kept| kept) || !keep[1..].iter().any(|&kept| kept) {
            return false;
        }
        let (smaller, txns, keys) = history.restricted(&keep);
        self.take(smaller, &txns, &keys)
    }

    /// Drops reads, and writes that are not read.
    fn drop_operations(&mut self) {
        for txn in (1..=self.world.txns.len()).rev() {
            for key in (0..self.world.keys.len()).rev() {
                // Keys disappear when nothing uses them.
                if key >= self.world.keys.len() {
                    continue;
                }
                let history = &self.world.history;
                if history.sources[txn][key].is_some() && self.removable.reads {
                    let mut smaller = history.clone();
                    smaller.sources[txn][key] = None;
                    self.take_restricted(&smaller);
                }
                if key >= self.world.keys.len() {
                    continue;
                }
                let history = &self.world.history;
                let is_read = history.sources.iter().any(|sources| sources[key] == Some(txn));
                if history.writes[txn][key] && !is_read && self.removable.writes {
                    let mut smaller = history.clone();
                    smaller.writes[txn][key] = false;
                    self.take_restricted(&smaller);
                }
            }
        }
    }

    fn take_restricted(&mut self, smaller: &SmallHistory) {
        let (smaller, txns, keys) = smaller.restricted(&vec![true; smaller.writes.len()]);
        self.take(smaller, &txns, &keys);
    }

    /// Drops axioms: first those that keep transactions from being dropped.
    fn drop_axioms(&mut self) {
        let axioms = &self.definition.axioms;
        let mut order = self.axioms.clone();
        // What a definition adds to another one is last, and most often superfluous.
        order.reverse();
        order.sort_by_key(|&place| Removable::of([&axioms[place]]).txns);
        let view = self.world.history.view();
        for axiom in order {
            if self.is_enough {
                break;
            }
            let without: Vec<usize> = self.axioms.iter().copied().filter(|&place| place != axiom).collect();
            let kept: Vec<Axiom> = without.iter().map(|&place| axioms[place].clone()).collect();
            let removable = Removable::of(&kept);
            let plan = Plan::new(&Definition { axioms: kept, ..self.definition.clone() });
            match find_witness(&plan, &view, self.enough) {
                Ok(None) => (self.axioms, self.plan, self.removable) = (without, plan, removable),
                Ok(Some(_)) => {}
                Err(_) => self.is_enough = true,
            }
        }
    }
}

/// A small part of a world that a level forbids.
fn core(definition: &Definition, world: &Known, worlds: usize, enough: &mut dyn FnMut() -> bool) -> Core {
    // The caller's clock starts here.
    let _ = enough();
    let mut shrinking = Shrinking::new(definition, world.clone(), enough);
    // With fewer axioms, every search below is shorter. None of them becomes superfluous later: what can be left out then is a
    // part of the witnesses that satisfy the others.
    shrinking.drop_axioms();
    let is_part = shrinking.removable.txns;
    if is_part {
        shrinking.drop_txns();
        shrinking.drop_operations();
        shrinking.drop_txns();
    }
    let Known { history, txns, keys } = &shrinking.world;
    let of = |(place, &txn): (usize, &Txn)| {
        let mut read: Vec<usize> = Vec::new();
        for &key in &history.read_order[place] {
            if history.sources[place][key].is_some() && !read.contains(&key) {
                read.push(key);
            }
        }
        let source = |key: usize| history.sources[place][key].filter(|&writer| writer > 0);
        CoreTxn {
            txn,
            reads: read.iter().map(|&key| (keys[key], source(key).map(|writer| txns[writer - 1]))).collect(),
            writes: (0..keys.len()).filter(|&key| history.writes[place][key]).map(|key| keys[key]).collect(),
        }
    };
    Core {
        txns: (1..).zip(txns).map(of).collect(),
        axioms: shrinking.axioms.clone(),
        is_minimal: !shrinking.is_enough,
        is_part,
        worlds,
    }
}
