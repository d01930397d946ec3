//! Checks a violation in all worlds: every answer to every question must be covered, and the level must be
//! violated in the history that the answers produce.
//!
//! *Element of a list.* A present transaction read a list. Each element beyond the initial ones is one of the
//! appends of this value to the key that did not abort. Every explanation of the history has one append
//! there, and the same one in all lists of the key with the same prefix. (Elements that nobody appended, or
//! only aborted transactions, do not count: they matter to PL-1 only, which leaves them out.) Among equal elements that one
//! transaction appended, it is the first that is not earlier in the list: appends of one transaction keep
//! their order, and PL-1 does not distinguish them. So if this append and these elements get a value of their
//! own, every explanation also explains the new history.
//!
//! *Outcome.* A transaction of unknown outcome took effect, or it did not. If it did, it may have done so at
//! any time after its invocation.
//!
//! The new histories are produced here, independently of the engines. Ids do not change, and each leaf is
//! checked against the history produced for it.
//!
//! Cost: a copy of the history per node.

use isoscope_history::{History, Key, Op, OpKind, OpView, Outcome, Value};
use isoscope_levels::Level;

use super::facts::Facts;
use super::{Refutation, ensure, findings, lists};
use isoscope_certificate::{Finding, Question, World, Worlds};

/// Checks a proof, and that it has the name of its main leaf.
pub(super) fn check(
    facts: &Facts<'_>,
    level: Level,
    finding: &Finding,
    worlds: &Worlds,
) -> Result<(), Refutation> {
    let named = worlds.main().is_some_and(|main| {
        (main.anomaly, main.against, main.through) == (finding.anomaly, finding.against, finding.through)
    });
    ensure(named, || "it is called by another name in its main world".to_owned())?;
    let mut made: Vec<Option<History>> = vec![None; worlds.cases.len()];
    if let Some(root) = made.first_mut() {
        *root = Some(facts.history.clone());
    }
    for (number, case) in worlds.cases.iter().enumerate() {
        // An earlier node produces the history of every node but the root.
        let history =
            made[number].take().ok_or_else(|| Refutation::new(format!("world {number} is not reached")))?;
        facts.go_on()?;
        let mut here = facts.of_same(&history);
        // Which lists show PL-1 an order of writes does not depend on the answers.
        here.readable.clone_from(&facts.readable);
        let about = |refutation: Refutation| refutation.about(format!("world {number}"));
        match case {
            World::Violated(finding) => check_leaf(&here, level, finding).map_err(about)?,
            World::Open { question, cases } => {
                let answers = answers(&here, level, question).map_err(about)?;
                ensure(cases.len() == answers.len(), || {
                    format!("{} worlds for {} answers", cases.len(), answers.len())
                })?;
                for (&child, answer) in cases.iter().zip(answers) {
                    let child = child as usize;
                    let is_new = number < child && made.get(child).is_some_and(Option::is_none);
                    ensure(is_new, || format!("world {child} does not follow {number}"))?;
                    made[child] = Some(answer);
                }
            }
        }
    }
    Ok(())
}

fn check_leaf(facts: &Facts<'_>, level: Level, finding: &Finding) -> Result<(), Refutation> {
    findings::check(facts, level, std::slice::from_ref(finding))
}

/// The histories that the answers to a question produce.
fn answers(facts: &Facts<'_>, level: Level, question: &Question) -> Result<Vec<History>, Refutation> {
    let history = facts.history;
    match question {
        Question::Outcome { txn } => {
            let open = txn.index() < history.txn_count() && history.outcome(*txn) == Outcome::Unknown;
            ensure(open, || format!("the outcome of {txn:?} is known"))?;
            let settle = |took_effect| {
                let mut edit = history.edit();
                edit.set_outcome(*txn, took_effect);
                edit.finish()
            };
            Ok([true, false].map(settle).into())
        }
        Question::Element { read, index, appends } => {
            let until = check_element(facts, *read, *index as usize, appends)?;
            let counts = level.implies(Level::AdyaPl2) || facts.shows_writes(*read);
            ensure(counts, || format!("{level} does not use {}", facts.text(*read)))?;
            Ok(appends.iter().map(|&append| with_element(facts, *read, &until, append)).collect())
        }
    }
}

/// The list up to an element. Checks that the proof names all appends the element may be: the first of each
/// transaction.
fn check_element(
    facts: &Facts<'_>,
    read: Op,
    index: usize,
    appends: &[Op],
) -> Result<Vec<Value>, Refutation> {
    let history = facts.history;
    ensure(read.index() < history.op_count(), || format!("{read:?} is no operation"))?;
    let (view, reader) = (history.op(read), history.txn_of(read));
    let counts = view.kind == OpKind::ReadList && facts.is_list(view.key) && facts.is_present(reader);
    ensure(counts, || format!("{} shows no list", facts.text(read)))?;
    let (list, initial) = (history.table().elements(view.value), facts.initial_elements(view.key));
    ensure(list.starts_with(initial) && (initial.len()..list.len()).contains(&index), || {
        format!("{} has no appended element at {index}", facts.text(read))
    })?;
    let fits = |op: &OpView| op.kind == OpKind::Append && op.key == view.key && op.value == list[index];
    ensure(!list[initial.len()..index].contains(&list[index]), || {
        format!("the element of {} at {index} stands there earlier, too", facts.text(read))
    })?;
    let live = history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted);
    let mut all: Vec<Op> = live.filter_map(|txn| history.ops_of(txn).find(fits)).map(|op| op.id).collect();
    let mut named = appends.to_vec();
    all.sort_unstable();
    named.sort_unstable();
    ensure(all == named, || format!("not all appends of what is at {index} are named"))?;
    Ok(list[..=index].to_vec())
}

/// A history in which the append, and the last element of `until` in every list that begins like `until`,
/// have a value of their own. Elements that no transaction appended, or only aborted ones, do not matter.
fn with_element(facts: &Facts<'_>, read: Op, until: &[Value], append: Op) -> History {
    let history = facts.history;
    let key = history.key_of(read);
    let mut edit = history.edit();
    let unique = edit.twin(until[until.len() - 1]);
    let wanted = lists::appended_in(facts, key, facts.after_initial(key, until).unwrap_or(until));
    let is_list = |op: &OpView| op.kind == OpKind::ReadList && op.key == key;
    for list in history.txns().flat_map(|txn| history.ops_of(txn)).filter(is_list) {
        let mut elements = history.table().elements(list.value).to_vec();
        let Some(index) = last_of(facts, key, &elements, &wanted) else { continue };
        elements[index] = unique;
        edit.set_list(list.id, &elements);
    }
    edit.set_appended(append, unique);
    edit.finish()
}

/// Where the last of some elements is in a list that begins with these, after the initial elements of its key.
fn last_of(facts: &Facts<'_>, key: Key, list: &[Value], wanted: &[Value]) -> Option<usize> {
    let from = list.len() - facts.after_initial(key, list)?.len();
    let mut places = (from..list.len()).filter(|&place| facts.times(key, list[place]) > 0);
    let mut last = None;
    for &element in wanted {
        last = Some(places.next().filter(|&place| list[place] == element)?);
    }
    last
}

/// Whether a list holds an element that was appended more than once.
pub(super) fn is_open(facts: &Facts<'_>, read: Op) -> bool {
    let view = facts.history.op(read);
    let times = |&element: &Value| facts.appends.get(&(view.key, element)).map_or(0, |entry| entry.times);
    view.kind == OpKind::ReadList && facts.appended(view).iter().any(|element| times(element) > 1)
}
