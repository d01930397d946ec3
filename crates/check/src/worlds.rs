//! The possible worlds of list reads: which of several equal appends an element is, and whether a transaction of unknown outcome
//! that works on lists took effect.
//!
//! The engines ignore what is open, so a violation that they find holds in every world. If they find none, a question is chosen,
//! and each answer makes a copy of the history in which less is open: an append and the element that it is get a new value of their
//! own, or an outcome is decided. Where nothing is open the engines' answer is final. The level holds if it holds in one of these
//! *worlds*, and the witness there is a witness for the history itself. It is violated if it is violated in all of them, and the
//! tree of questions and answers is the proof.
//!
//! The first world is a guess: the earliest append by the client's clock is the first element. Then the search chooses, of the next
//! few questions, the one with the fewest answers that the engines do not refute at once. Histories with such questions are rare,
//! and have few of them; a search that takes too many worlds ends without an answer.

use isoscope_history::{Edit, History, Key, Op, OpKind, OpView, Outcome, Txn, Value};
use isoscope_levels::{Anomaly, Level};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::certificate::{Finding, Limit, Node, Question, Unknown, Verdict, Witness, World, Worlds};
use crate::checker::judge_world;
use crate::fractured;
use crate::options::Options;
use crate::resolve::Resolved;
use crate::semantics::{Method, Semantics};
use crate::strong::{names_sources, optional_lists};
use crate::watch::Watch;

/// The most worlds that are tried.
const MOST_WORLDS: usize = 4_000;
/// The most questions that are compared before one is chosen.
const QUESTIONS: usize = 6;

/// The result of a search.
pub(crate) enum Found {
    Holds(Witness),
    Violated(Worlds),
    Stopped(Limit),
    /// There are too many worlds, or none that is possible.
    Open,
}

/// What a history leaves open at a level and only this module settles.
pub(crate) fn questions(history: &History, resolved: &Resolved, level: Level) -> Vec<Question> {
    let Semantics { method, knows_reads, .. } = Semantics::of(level);
    if method == Method::Alone {
        return Vec::new();
    }
    let repeated = if knows_reads { &resolved.repeated } else { resolved.repeated_writes() };
    let mut questions: Vec<Question> = Vec::new();
    for repeated in repeated {
        let mut appends = repeated.appends.clone();
        appends.sort_by_key(|&append| seems_appended(history, append));
        questions.push(Question::Element { read: repeated.read, index: repeated.index, appends });
    }
    if knows_reads {
        questions.extend(optional_lists(history, resolved).into_iter().map(|txn| Question::Outcome { txn }));
    }
    questions
}

/// When an append seems to have happened: by the client's clock, then by its place in its session.
fn seems_appended(history: &History, append: Op) -> (i64, u32, Op) {
    let txn = history.txn_of(append);
    let returned = match (history.events(), history.times()) {
        (Some(events), _) => i64::from(events.end[txn.index()]),
        (None, Some(times)) => times.end[txn.index()],
        (None, None) => 0,
    };
    (returned, txn.0 - history.txn_range(history.session_of(txn)).start, append)
}

/// Searches the worlds of a history, of which the engines know no violation.
pub(crate) fn search(
    history: &History,
    resolved: &Resolved,
    level: Level,
    options: Options,
    watch: &dyn Watch,
) -> Found {
    let list_reads = list_reads(history);
    let mut search = Search { history, resolved, level, options, watch, list_reads, looked_at: 0 };
    match search.guess() {
        Ok(None) => search.try_all(),
        Ok(Some(witness)) => Found::Holds(witness),
        Err(found) => found,
    }
}

struct Search<'a> {
    history: &'a History,
    resolved: &'a Resolved,
    level: Level,
    options: Options,
    watch: &'a dyn Watch,
    list_reads: ListReads,
    looked_at: usize,
}

/// A history of which less is open, and what the engines say of it.
struct Candidate {
    history: History,
    looked: Looked,
}

enum Looked {
    /// A leaf, and what else it may show, where that is less plain.
    Refuted(Finding, Option<Finding>),
    /// Not refuted, and these questions are open.
    Open(Vec<Question>),
    Holds(Witness),
}

/// A world to be added to the proof, and where its number is to be entered.
struct Todo {
    candidate: Candidate,
    place: Option<(usize, usize)>,
}

impl Search<'_> {
    /// What the engines say of a world.
    fn look(&mut self, history: History) -> Result<Candidate, Found> {
        if let Some(limit) = self.watch.limit() {
            return Err(Found::Stopped(limit));
        }
        self.looked_at += 1;
        if self.looked_at > MOST_WORLDS {
            return Err(Found::Open);
        }
        let resolved = self.resolved.in_world(&history, self.watch).map_err(Found::Stopped)?;
        let looked = match judge_world(&history, &resolved, self.level, self.options, self.watch) {
            Verdict::Violated(findings) => {
                let instead = self.instead(&history, &resolved, &findings);
                match findings.into_iter().next().map(shortest) {
                    Some(finding) => Looked::Refuted(finding, instead),
                    None => return Err(Found::Open),
                }
            }
            Verdict::Unknown(Unknown::Limit(limit)) => return Err(Found::Stopped(limit)),
            Verdict::Unknown(_) => return Err(Found::Open),
            Verdict::Holds(witness) => match questions(&history, &resolved, self.level) {
                questions if questions.is_empty() => {
                    Looked::Holds(with_sources(&history, &resolved, self.level, witness))
                }
                questions => Looked::Open(questions),
            },
        };
        Ok(Candidate { history, looked })
    }

    /// What else the findings of a world show, if the first of them is a read that was not repeatable. That is forbidden by cut isolation
    /// already, which allows what other worlds may show.
    fn instead(&self, history: &History, resolved: &Resolved, findings: &[Finding]) -> Option<Finding> {
        let first = findings.first().filter(|first| first.anomaly == Anomaly::NonRepeatableRead)?;
        let other = findings.iter().find(|finding| finding.anomaly != Anomaly::NonRepeatableRead);
        let other = other.map(|finding| shortest(finding.clone()));
        other.or_else(|| fractured::of_pair(history, resolved, self.level, first, self.watch))
    }

    /// Answers all questions by what seems true; gives what shows that the level holds then, if it does.
    fn guess(&mut self) -> Result<Option<Witness>, Found> {
        let mut edit = self.history.edit();
        for question in questions(self.history, self.resolved, self.level) {
            match question {
                Question::Outcome { txn } => edit.set_outcome(txn, false),
                Question::Element { read, .. } => guess_list(&mut edit, &self.list_reads, read),
            }
        }
        match self.look(edit.finish())?.looked {
            Looked::Holds(witness) => Ok(Some(witness)),
            _ => Ok(None),
        }
    }

    /// Tries all worlds, depth first.
    fn try_all(&mut self) -> Found {
        let asked = questions(self.history, self.resolved, self.level);
        let root = Candidate { history: self.history.clone(), looked: Looked::Open(asked) };
        let mut cases: Vec<World> = Vec::new();
        let mut instead: Vec<(usize, Finding)> = Vec::new();
        let mut todo = vec![Todo { candidate: root, place: None }];
        while let Some(Todo { candidate, place }) = todo.pop() {
            let number = cases.len();
            if let Some((split, which)) = place
                && let World::Open { cases, .. } = &mut cases[split]
            {
                cases[which] = number as u32;
            }
            match candidate.looked {
                Looked::Holds(witness) => return Found::Holds(witness),
                Looked::Refuted(finding, other) => {
                    instead.extend(other.map(|other| (number, other)));
                    cases.push(World::Violated(finding));
                }
                Looked::Open(questions) => {
                    let (question, answers) = match self.ask(&candidate.history, questions) {
                        Ok(asked) => asked,
                        Err(found) => return found,
                    };
                    cases.push(World::Open { question, cases: vec![0; answers.len()] });
                    let answers = answers.into_iter().enumerate().rev();
                    todo.extend(answers.map(|(i, candidate)| Todo { candidate, place: Some((number, i)) }));
                }
            }
        }
        let mut worlds = Worlds { cases };
        if worlds.leaves().any(|(_, leaf)| leaf.anomaly != Anomaly::NonRepeatableRead) {
            for (number, finding) in instead {
                worlds.cases[number] = World::Violated(finding);
            }
        }
        if worlds.main().is_some() { Found::Violated(worlds) } else { Found::Open }
    }

    /// Of some questions the one with the fewest answers that are not refuted, and what each answer makes of a history.
    fn ask(
        &mut self,
        history: &History,
        questions: Vec<Question>,
    ) -> Result<(Question, Vec<Candidate>), Found> {
        let mut best: Option<(usize, Question, Vec<Candidate>)> = None;
        for question in questions.into_iter().take(QUESTIONS) {
            let mut answers: Vec<Candidate> = Vec::new();
            for history in answered(history, &self.list_reads, &question) {
                answers.push(self.look(history)?);
            }
            let refuted = |answer: &&Candidate| matches!(answer.looked, Looked::Refuted(..));
            let left = answers.len() - answers.iter().filter(refuted).count();
            if best.as_ref().is_none_or(|(fewest, _, _)| left < *fewest) {
                best = Some((left, question, answers));
            }
            if left == 0 || self.looked_at > MOST_WORLDS / 2 {
                break;
            }
        }
        best.map(|(_, question, answers)| (question, answers)).ok_or(Found::Open)
    }
}

/// A witness that also names the writers of reads of registers that have one possible writer in a world, and may have had
/// several before.
fn with_sources(history: &History, resolved: &Resolved, level: Level, witness: Witness) -> Witness {
    if !names_sources(level) {
        return witness;
    }
    let mut sources: FxHashMap<Op, Node> = witness.sources.iter().copied().collect();
    for (i, link) in resolved.links.iter().enumerate().filter(|(_, link)| link.is_read()) {
        if history.op(Op::at(i)).kind == OpKind::Read {
            sources.entry(Op::at(i)).or_insert(link.writer());
        }
    }
    let mut sources: Vec<(Op, Node)> = sources.into_iter().collect();
    sources.sort_unstable();
    Witness { sources: sources.into(), ..witness }
}

/// A finding with one instance.
fn shortest(mut finding: Finding) -> Finding {
    finding.instances.truncate(1);
    Finding { count: 1, components: finding.components.min(1), ..finding }
}

/// For each answer to a question, what it makes of a history.
fn answered(history: &History, reads: &ListReads, question: &Question) -> Vec<History> {
    match question {
        Question::Outcome { txn } => {
            // That it did not take effect is often refuted by a read that misses it, which shows less.
            let settle = |took_effect: bool| {
                let mut edit = history.edit();
                edit.set_outcome(*txn, took_effect);
                edit.finish()
            };
            vec![settle(true), settle(false)]
        }
        Question::Element { read, index, appends } => {
            let settle = |&append: &Op| {
                let mut edit = history.edit();
                set_apart(&mut edit, reads, *read, &[(*index as usize, append)]);
                edit.finish()
            };
            appends.iter().map(settle).collect()
        }
    }
}

/// The list reads of a history. Copies of a history have the same ones.
#[derive(Default)]
struct ListReads {
    /// Of each key, those whose result is known.
    by_key: FxHashMap<Key, Vec<Op>>,
    /// What these hold that no transaction appended, or only aborted ones.
    wrong: FxHashSet<(Key, Value)>,
}

fn list_reads(history: &History) -> ListReads {
    let mut reads = ListReads::default();
    let mut appended: FxHashSet<(Key, Value)> = FxHashSet::default();
    for txn in history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted) {
        let appends = history.ops_of(txn).filter(|op| op.kind == OpKind::Append);
        appended.extend(appends.map(|op| (op.key, op.value)));
    }
    let is_list = |op: &OpView| op.kind == OpKind::ReadList && op.value != Value::UNKNOWN;
    for op in history.txns().flat_map(|txn| history.ops_of(txn)).filter(is_list) {
        reads.by_key.entry(op.key).or_default().push(op.id);
        let places = history.table().elements(op.value).iter().map(|&element| (op.key, element));
        reads.wrong.extend(places.filter(|place| !appended.contains(place)));
    }
    reads
}

impl ListReads {
    /// The places in a list of the elements that transactions appended; none if it lacks initial elements.
    fn places(&self, history: &History, key: Key, list: &[Value]) -> Vec<usize> {
        let initial = history.table().elements(history.initial(key));
        if !list.starts_with(initial) {
            return Vec::new();
        }
        (initial.len()..list.len()).filter(|&place| !self.wrong.contains(&(key, list[place]))).collect()
    }
}

/// Gives each element of a list the append that seems to be the first left, preferably the next one of the transaction
/// that appended the element before. The reader's own appends are at the end of the list.
fn guess_list(edit: &mut Edit, reads: &ListReads, read: Op) {
    let history = edit.history();
    let (key, reader) = (history.key_of(read), history.txn_of(read));
    let mut appends: Vec<Op> = history
        .writers(key)
        .iter()
        .filter(|&&txn| txn != reader && history.outcome(txn) != Outcome::Aborted)
        .flat_map(|&txn| appends_of(history, txn, key))
        .collect();
    appends.sort_by_key(|&append| seems_appended(history, append));
    let list = history.table().elements(history.op(read).value);
    let mut before: Option<Txn> = None;
    let own: Vec<Op> = own_appends(history, reader, key, read).collect();
    let until = list.len() - own_length(history, read);
    let from = history.table().elements(history.initial(key)).len();
    let mut chosen: Vec<(usize, Op)> = Vec::new();
    for (index, &element) in list.iter().enumerate().skip(from) {
        let fits = |append: &Op| history.op(*append).value == element;
        let append = if index < until {
            let same = appends.iter().position(|op| fits(op) && Some(history.txn_of(*op)) == before);
            let place = same.or_else(|| appends.iter().position(fits));
            place.map(|place| appends.remove(place))
        } else {
            own.get(index - until).copied()
        };
        let Some(append) = append else { continue };
        before = Some(history.txn_of(append));
        chosen.push((index, append));
    }
    set_apart(edit, reads, read, &chosen);
}

/// How many elements at the end of a list its reader had appended itself.
fn own_length(history: &History, read: Op) -> usize {
    let (view, txn) = (history.op(read), history.txn_of(read));
    let own: Vec<Value> = own_appends(history, txn, view.key, read).map(|op| history.op(op).value).collect();
    let list = history.table().elements(view.value);
    if list.ends_with(&own) { own.len() } else { 0 }
}

fn appends_of(history: &History, txn: Txn, key: Key) -> impl Iterator<Item = Op> + '_ {
    let appends = history.ops_of(txn).filter(move |op| op.kind == OpKind::Append && op.key == key);
    appends.map(|op| op.id)
}

fn own_appends(history: &History, txn: Txn, key: Key, before: Op) -> impl Iterator<Item = Op> + '_ {
    appends_of(history, txn, key).take_while(move |&op| op < before)
}

/// Sets appends apart from all others of the same value, each as the element at a place of a list. The element gets the same new
/// value in all lists of the key that agree with the list up to there, with wrong elements left out. The places are in ascending
/// order.
fn set_apart(edit: &mut Edit, reads: &ListReads, read: Op, chosen: &[(usize, Op)]) {
    let history = edit.history();
    let key = history.key_of(read);
    let elements = |read: Op| history.table().elements(history.op(read).value);
    let list = elements(read).to_vec();
    let places = reads.places(history, key, &list);
    let Some(first) = chosen.first().and_then(|(first, _)| places.binary_search(first).ok()) else { return };
    // Of each list that agrees, where the elements are that it has in common with this one.
    let agreeing = reads.by_key.get(&key).into_iter().flatten().filter_map(|&other| {
        let its = elements(other);
        let mut common = reads.places(history, key, its);
        let agree = places.iter().zip(&common).take_while(|&(&a, &b)| list[a] == its[b]).count();
        common.truncate(agree);
        (agree > first).then(|| (other, common, its.to_vec()))
    });
    let mut agreeing: Vec<(Op, Vec<usize>, Vec<Value>)> = agreeing.collect();
    for &(index, append) in chosen {
        let Ok(place) = places.binary_search(&index) else { continue };
        let twin = edit.twin(list[index]);
        for (_, common, elements) in &mut agreeing {
            if let Some(&there) = common.get(place) {
                elements[there] = twin;
            }
        }
        edit.set_appended(append, twin);
    }
    for (other, _, elements) in agreeing {
        edit.set_list(other, &elements);
    }
}
