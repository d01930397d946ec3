//! The model of engines beside a simulation: all interleavings of small candidates are tried on a database in miniature.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use isoscope_certificate::Verdict;
use isoscope_check::{Checker, Options};
use isoscope_history::{Builder, History, Op, Txn};
use isoscope_levels::Level;
use rustc_hash::{FxHashMap, FxHashSet};

use super::model::{Answer, Fact, Model};
use super::{Engine, Move, What};
use crate::candidate::{Boundary, Candidate};
use crate::observed::Observed;
use crate::predict::{Settings, predict};
use crate::predicted::predicted;
use crate::problem::{Cut, INITIAL, Problem};
use crate::watch::Unwatched;

/// Numbers that look random: a linear congruential generator.
struct Lot(u64);

impl Lot {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

const KEYS: [&str; 4] = ["a.x/1", "a.y/1", "b/1", "c/1"];

/// A serial run of three sessions.
fn run(lot: &mut Lot) -> History {
    let mut builder = Builder::new();
    let mut current = [0; KEYS.len()];
    for number in 1..=3 + lot.below(3) as u32 {
        let mut txn = builder.session(lot.below(3) as u32).txn();
        for at in 0..=lot.below(4) as u32 {
            let key = lot.below(KEYS.len());
            if lot.below(2) == 0 {
                txn = txn.read(KEYS[key], current[key]);
            } else {
                current[key] = 10 * number + at;
                txn = txn.write(KEYS[key], current[key]);
            }
        }
    }
    builder.finish()
}

/// Some candidate.
fn candidate(problem: &Problem<'_>, lot: &mut Lot) -> Candidate {
    let mut candidate = Candidate::default();
    for session in &problem.sessions {
        candidate.prefix.push(lot.below(session.len() + 1) as u32);
    }
    // Full ones read from full ones.
    loop {
        let lacks = |&number: &u32| {
            let sources = problem.txn(number).reads.iter().map(|read| read.source);
            let mut sources = sources.filter(|&source| source != INITIAL);
            candidate.is_full(problem, number) && sources.any(|source| !candidate.is_full(problem, source))
        };
        let Some(number) = (0..problem.len() as u32).find(lacks) else { break };
        candidate.prefix[problem.txn(number).session as usize] = problem.txn(number).place;
    }
    for (session, &prefix) in problem.sessions.iter().zip(&candidate.prefix.clone()) {
        let Some(&number) = session.get(prefix as usize) else { continue };
        if lot.below(4) == 0 {
            continue;
        }
        let reads = &problem.txn(number).reads;
        let included = if problem.strict { reads.len().min(1 + lot.below(4)) } else { reads.len() };
        let mut sources = Vec::new();
        for (place, read) in reads[..included].iter().enumerate() {
            let writers = problem.writers[read.key as usize].iter().copied();
            let full = writers.filter(|&writer| candidate.is_full(problem, writer) && writer != number);
            let choices: Vec<u32> = std::iter::once(INITIAL).chain(full).collect();
            let is_cut = problem.strict && place + 1 == included;
            let keeps = problem.strict && !is_cut && choices.contains(&read.source);
            sources.push(if keeps { read.source } else { choices[lot.below(choices.len())] });
        }
        if !sources.is_empty() {
            candidate.boundary.push(Boundary { txn: number, sources });
        }
    }
    candidate
}

/// A step of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Snapshot,
    Read { key: usize, row: usize, source: u32 },
    Write { key: usize, row: usize },
    Commit,
}

/// An included transaction, and how far it is.
#[derive(Clone)]
struct Actor {
    number: u32,
    after: Option<usize>,
    steps: Vec<(Does, What)>,
    done: Vec<bool>,
    snapshot: Option<usize>,
    wrote: Vec<(usize, usize)>,
}

/// A database in miniature. Transactions commit one after the other; the writer of a version is the number of its transaction.
#[derive(Clone)]
struct Database {
    engine: Engine,
    /// The keys and rows that each commit wrote.
    commits: Vec<(u32, Vec<(usize, usize)>)>,
    actors: Vec<Actor>,
}

impl Database {
    fn new(problem: &Problem<'_>, engine: Engine, candidate: &Candidate) -> Database {
        let history = problem.observed.history;
        let mut actors: Vec<Actor> = Vec::new();
        let mut places: FxHashMap<u32, usize> = FxHashMap::default();
        for form in candidate.forms(problem) {
            let txn = problem.txn(form.txn);
            let cut = form.is_boundary && problem.strict;
            let last =
                if cut { form.reads.len().checked_sub(1).map(|last| txn.reads[last].at) } else { None };
            let mut steps = Vec::new();
            for (op, at) in history.ops_of(txn.txn).zip(0..) {
                if last.is_some_and(|last| at > last) {
                    break;
                }
                let (key, row) = place(history, op.id);
                let what = What::Operation(op.id);
                let Some(class) = problem.class(&op) else {
                    // Nobody writes the key.
                    steps.push((Does::Read { key, row, source: INITIAL }, what));
                    continue;
                };
                if op.kind.is_write() {
                    if !cut || form.writes.contains(&class) {
                        steps.push((Does::Write { key, row }, what));
                    }
                } else if op.external {
                    let read = txn
                        .reads
                        .iter()
                        .position(|read| read.key == class && (problem.reads_once || read.at == at));
                    let source = form.reads[read.unwrap()].1;
                    steps.push((Does::Read { key, row, source }, what));
                }
            }
            if engine.has_snapshot() {
                steps.insert(0, (Does::Snapshot, What::Snapshot));
            }
            steps.push((Does::Commit, What::Commit));
            let after = problem.before(form.txn).and_then(|before| places.get(&before).copied());
            places.insert(form.txn, actors.len());
            let done = vec![false; steps.len()];
            let number = form.txn;
            actors.push(Actor { number, after, steps, done, snapshot: None, wrote: Vec::new() });
        }
        Database { engine, commits: Vec::new(), actors }
    }

    /// Whether a step can be next in its transaction: program order, with the snapshot at its time.
    fn is_next(&self, actor: usize, step: usize) -> bool {
        let it = &self.actors[actor];
        if it.done[step] || it.after.is_some_and(|before| !self.actors[before].done.iter().all(|&done| done))
        {
            return false;
        }
        let is_snapshot = |step: usize| it.steps[step].0 == Does::Snapshot;
        let first_read = it.steps.iter().position(|(does, _)| matches!(does, Does::Read { .. })).unwrap_or(1);
        if is_snapshot(step) {
            return match self.engine {
                Engine::PgRr => true,
                // Not later than the first read.
                Engine::MariadbRr => it.done[1..].iter().all(|&done| !done) || !it.done[first_read],
                _ => (1..first_read).all(|earlier| it.done[earlier]),
            };
        }
        let needs_snapshot = match self.engine {
            Engine::PgRr => true,
            Engine::MariadbRr | Engine::MariadbSi => step >= first_read,
            Engine::PgRc | Engine::MariadbRc => false,
        };
        (0..step).all(|earlier| it.done[earlier] || (is_snapshot(earlier) && !needs_snapshot))
    }

    /// Takes a step; false if the read has another writer, or the step would wait or fail.
    fn take(&mut self, actor: usize, step: usize) -> bool {
        let engine = self.engine;
        let latest = |commits: &[(u32, Vec<(usize, usize)>)], key: usize| {
            let last = commits.iter().rev().find(|(_, wrote)| wrote.iter().any(|&(other, _)| other == key));
            last.map_or(INITIAL, |&(writer, _)| writer)
        };
        let does = self.actors[actor].steps[step].0;
        match does {
            Does::Snapshot => self.actors[actor].snapshot = Some(self.commits.len()),
            Does::Read { key, row, source } => {
                let it = &self.actors[actor];
                let is_own_row = it.wrote.iter().any(|&(_, other)| other == row);
                let seen = match it.snapshot {
                    Some(snapshot) if !(is_own_row && engine.is_mariadb()) => snapshot,
                    _ => self.commits.len(),
                };
                if latest(&self.commits[..seen], key) != source {
                    return false;
                }
            }
            Does::Write { key, row } => {
                let locks = |other: &Actor| {
                    other.done.last() == Some(&false) && other.wrote.iter().any(|&(_, locked)| locked == row)
                };
                if (0..self.actors.len()).any(|other| other != actor && locks(&self.actors[other])) {
                    return false;
                }
                let it = &self.actors[actor];
                let since = match engine {
                    Engine::PgRr | Engine::MariadbSi => it.snapshot.unwrap_or(self.commits.len()),
                    _ => self.commits.len(),
                };
                if self.commits[since..].iter().any(|(_, wrote)| wrote.iter().any(|&(_, other)| other == row))
                {
                    return false;
                }
                self.actors[actor].wrote.push((key, row));
            }
            Does::Commit => {
                let it = &self.actors[actor];
                self.commits.push((it.number, it.wrote.clone()));
            }
        }
        self.actors[actor].done[step] = true;
        true
    }

    /// Whether some interleaving of the rest gives every read its writer. `seen` has states that were tried.
    fn has_interleaving(&self, seen: &mut FxHashSet<String>) -> bool {
        if self.actors.iter().all(|actor| actor.done.iter().all(|&done| done)) {
            return true;
        }
        let state: Vec<_> = self.actors.iter().map(|actor| (&actor.done, actor.snapshot)).collect();
        let order: Vec<u32> = self.commits.iter().map(|&(number, _)| number).collect();
        if !seen.insert(format!("{state:?} {order:?}")) {
            return false;
        }
        for actor in 0..self.actors.len() {
            for step in 0..self.actors[actor].steps.len() {
                if self.is_next(actor, step) {
                    let mut next = self.clone();
                    if next.take(actor, step) && next.has_interleaving(seen) {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Whether the moves of a model are an interleaving.
    fn accepts(mut self, moves: &[Move]) -> bool {
        for one in moves {
            let actor = self.actors.iter().position(|actor| actor.number == one.number).unwrap();
            let step = self.actors[actor].steps.iter().position(|&(_, what)| what == one.what);
            // A write that is cut off in part.
            let Some(step) = step else { continue };
            if !self.is_next(actor, step) || !self.take(actor, step) {
                return false;
            }
        }
        self.actors.iter().all(|actor| actor.done.iter().all(|&done| done))
    }
}

/// The key of an operation and its row.
fn place(history: &History, op: Op) -> (usize, usize) {
    let name = super::key_text(history, history.op(op).key);
    let key = KEYS.iter().position(|&key| key == name).unwrap();
    (key, key.max(1))
}

/// Whether a candidate has all facts.
fn has(problem: &Problem<'_>, candidate: &Candidate, facts: &[Fact]) -> bool {
    facts.iter().all(|&fact| match fact {
        Fact::Full(number) => candidate.is_full(problem, number),
        Fact::Writes(number, key) => {
            candidate.boundary_of(number).is_some_and(|boundary| boundary.is_written(problem, key))
        }
        Fact::Reads(number, read, source) => candidate
            .boundary_of(number)
            .is_some_and(|boundary| boundary.sources.get(read as usize) == Some(&source)),
    })
}

/// Random candidates of random runs, relaxed and strict: the model says what the simulation says, its interleaving can be run, and no
/// candidate with the facts of a refusal has an interleaving.
#[test]
fn the_model_agrees_with_a_simulation() {
    for engine in Engine::ALL {
        let mut counts = [0; 2];
        for seed in 0..150 {
            let mut lot = Lot(seed * 7919 + 1);
            let history = run(&mut lot);
            let Ok(observed) = Observed::new(&history, &Unwatched) else { continue };
            let merges = engine.has_snapshot();
            let problem = Problem::new(&observed, merges, (seed % 3 == 0).then_some(Cut::Before));
            let mut model = Model::new(&problem, engine, problem.len() as u32);
            let candidates: Vec<Candidate> = (0..20).map(|_| candidate(&problem, &mut lot)).collect();
            let (mut answers, mut refusals) = (Vec::new(), Vec::new());
            for candidate in candidates.iter().filter(|candidate| candidate.check(&problem)) {
                let database = Database::new(&problem, engine, candidate);
                let expected = database.has_interleaving(&mut FxHashSet::default());
                let context = format!("{engine} {seed} {candidate:?}\n{}", text(&history));
                match model.ask(candidate, &Unwatched) {
                    Answer::Feasible(moves) => {
                        assert!(expected, "feasible: {context}");
                        assert!(database.accepts(&moves), "{moves:?} {context}");
                    }
                    Answer::Infeasible(facts) => {
                        assert!(!expected, "infeasible, {facts:?}: {context}");
                        assert!(has(&problem, candidate, &facts), "{facts:?}: {context}");
                        refusals.push(facts);
                    }
                    Answer::Stopped(limit) => panic!("{limit:?}"),
                }
                counts[usize::from(expected)] += 1;
                answers.push((candidate, expected));
            }
            for (candidate, expected) in answers {
                let refused = refusals.iter().any(|facts| has(&problem, candidate, facts));
                assert_eq!(refused, !expected, "{engine} {seed} {candidate:?}");
            }
        }
        assert!(counts[0] > 100 && counts[1] > 500, "{engine}: {counts:?}");
    }
}

fn text(history: &History) -> String {
    let ops = |txn: Txn| {
        let op = |op: isoscope_history::OpView| format!("{:?}({:?})", op.kind, op.key);
        history.ops_of(txn).map(op).collect::<Vec<_>>().join(" ")
    };
    let line = |txn: Txn| format!("{}: {}", history.session_of(txn).0, ops(txn));
    history.txns().map(line).collect::<Vec<_>>().join("\n")
}

/// All candidates of a problem with a relaxed boundary.
fn candidates(problem: &Problem<'_>) -> Vec<Candidate> {
    let mut all = vec![Candidate::default()];
    for session in &problem.sessions {
        let prefixes = 0..=session.len() as u32;
        let longer = |candidate: Candidate| {
            prefixes.clone().map(move |prefix| {
                let mut longer = candidate.clone();
                longer.prefix.push(prefix);
                longer
            })
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    let reads_full = |candidate: &Candidate| {
        let full = (0..problem.len() as u32).filter(|&number| candidate.is_full(problem, number));
        let mut sources = full.flat_map(|number| problem.txn(number).reads.iter().map(|read| read.source));
        sources.all(|source| source == INITIAL || candidate.is_full(problem, source))
    };
    all.retain(reads_full);
    for session in 0..problem.sessions.len() {
        let mut longer = Vec::new();
        for candidate in all {
            if let Some(&txn) = problem.sessions[session].get(candidate.prefix[session] as usize) {
                let mut sources: Vec<Vec<u32>> = vec![Vec::new()];
                for read in &problem.txn(txn).reads {
                    let writers = problem.writers[read.key as usize].iter().copied();
                    let full: Vec<u32> = writers
                        .filter(|&writer| candidate.is_full(problem, writer))
                        .chain([INITIAL])
                        .collect();
                    let more = |one: Vec<u32>| {
                        let with = move |&writer: &u32| one.iter().copied().chain([writer]).collect();
                        full.iter().map(with).collect::<Vec<Vec<u32>>>()
                    };
                    sources = sources.into_iter().flat_map(more).collect();
                }
                longer.extend(sources.into_iter().map(|sources| {
                    let mut longer = candidate.clone();
                    longer.boundary.push(Boundary { txn, sources });
                    longer
                }));
            }
            longer.push(candidate);
        }
        all = longer;
    }
    all
}

/// Small runs: something is predicted for an engine if and only if some candidate of its level has an interleaving and is not
/// serializable.
#[test]
fn none_is_a_proof() {
    for engine in Engine::ALL {
        let mut counts = [0; 2];
        for seed in 0..250 {
            let history = run(&mut Lot(seed * 104_729 + 17));
            let Ok(observed) = Observed::new(&history, &Unwatched) else { continue };
            let problem = Problem::new(&observed, engine.has_snapshot(), None);
            let all = candidates(&problem);
            let settings = Settings { most: 1, ..Settings::for_engine(engine) };
            let Ok(predictions) = predict(&observed, &settings, &Unwatched) else { continue };
            if all.len() > 300 {
                continue;
            }
            let is_wrong = |candidate: &Candidate| {
                let history = predicted(&problem, candidate).history;
                let mut checker = Checker::new(&history, Options::default());
                // MariaDB shows more than prefix where a transaction reads another column of a row that it has written.
                matches!(checker.check(Level::Serializable).verdict, Verdict::Violated(_))
                    && matches!(checker.check(engine.level()).verdict, Verdict::Holds(_))
                    && Database::new(&problem, engine, candidate).has_interleaving(&mut FxHashSet::default())
            };
            let expected = all.iter().any(is_wrong);
            assert_eq!(!predictions.found.is_empty(), expected, "{engine} {seed}\n{}", text(&history));
            counts[usize::from(expected)] += 1;
        }
        assert!(counts[0] > 5 && counts[1] > 5, "{engine}: {counts:?}");
    }
}
