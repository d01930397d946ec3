//! The clauses of a level that hb decides, added at once.
//!
//! All levels have one axiom: if `t3` reads `k` from `t1`, and must have seen `t2`, which also writes `k`, then `t2` is before `t1`. Where
//! hb leads from `t1` to `t2` this is impossible, so the choice and what makes `t3` see `t2` exclude each other. The levels differ in what
//! a transaction must have seen: read committed, what it read from earlier; read atomic, what it reads from and its session; causal and
//! above, all that leads to it. What hb leaves open is in `lazy.rs`.

use isoscope_levels::Level;
use isoscope_solve::Lit;
use rustc_hash::FxHashMap;

use crate::encode::Encoder;
use crate::problem::{INITIAL, Problem};

/// For a transaction and a session: the counts of its transactions that can be seen, ascending, each with the literal that at least
/// this number is seen.
pub(crate) type Seen = FxHashMap<(u32, u32), Vec<(u32, Lit)>>;

/// Whether causality is part of a level.
pub(crate) fn is_causal(level: Level) -> bool {
    level.implies(Level::Causal)
}

/// How many transactions of a session a boundary transaction sees by its session alone.
pub(crate) fn base(problem: &Problem<'_>, number: u32, session: u32) -> u32 {
    problem.before(number).map_or(0, |before| problem.clock(before, session))
}

/// Whether a level permits a read to have a writer, as far as the session of the reader decides it.
pub(crate) fn allows(problem: &Problem<'_>, level: Level, number: u32, key: u32, writer: u32) -> bool {
    let own = problem.txn(number).session;
    let sessions = match level {
        Level::ReadCommitted => return true,
        Level::ReadAtomic => own..own + 1,
        _ => 0..problem.sessions.len() as u32,
    };
    sessions.into_iter().all(|session| {
        let seen = if level == Level::ReadAtomic {
            problem.txn(number).place
        } else {
            base(problem, number, session)
        };
        first_after(problem, key, session, writer).is_none_or(|other| problem.txn(other).place >= seen)
    })
}

/// The first writer of a key in a session that hb leads to from a writer.
fn first_after(problem: &Problem<'_>, key: u32, session: u32, writer: u32) -> Option<u32> {
    let writers = problem.writers_in(key, session);
    let first = writers.partition_point(|&other| !problem.hb(writer, other));
    writers.get(first).copied()
}

/// Adds the clauses of the encoder's level.
pub(crate) fn add(encoder: &mut Encoder<'_>) -> Seen {
    let level = encoder.level;
    let mut seen = Seen::default();
    for number in encoder.window.start..encoder.window.end {
        if encoder.bound(number).is_none() {
            continue;
        }
        if is_causal(level) {
            add_causal(encoder, number, &mut seen);
        } else {
            add_pairs(encoder, number);
        }
        if matches!(level, Level::ParallelSnapshot | Level::Snapshot) {
            add_lost_updates(encoder, number);
        }
    }
    seen
}

/// The literal that makes a boundary transaction see another one; the literal *yes* if its session does.
pub(crate) fn sees(encoder: &Encoder<'_>, seen: &Seen, number: u32, other: u32) -> Lit {
    let problem = encoder.problem;
    let session = problem.txn(other).session;
    let count = problem.txn(other).place + 1;
    if count <= base(problem, number, session) {
        return encoder.yes;
    }
    let counts = seen.get(&(number, session)).map_or(&[][..], Vec::as_slice);
    let place = counts.partition_point(|&(seen, _)| seen < count);
    counts.get(place).map_or(encoder.no(), |&(_, lit)| lit)
}

/// What a transaction sees, and which choices this excludes.
fn add_causal(encoder: &mut Encoder<'_>, number: u32, seen: &mut Seen) {
    let problem = encoder.problem;
    let choices: Vec<(u32, u32, Lit)> = encoder
        .reads_of(number)
        .flat_map(|read| {
            let read = &encoder.reads[read];
            read.choices.iter().map(|choice| (read.key, choice.writer, choice.lit))
        })
        .collect();
    for session in 0..problem.sessions.len() as u32 {
        let base = base(problem, number, session);
        let clock = |writer: u32| if writer == INITIAL { 0 } else { problem.clock(writer, session) };
        let mut counts: Vec<u32> = choices.iter().map(|&(_, writer, _)| clock(writer)).collect();
        counts.sort_unstable();
        counts.dedup();
        let mut ladder: Vec<(u32, Lit)> = Vec::new();
        for count in counts.into_iter().filter(|&count| count > base) {
            let lit = encoder.solver.variable(false);
            if let Some(&(_, fewer)) = ladder.last() {
                encoder.solver.add_clause(&[!lit, fewer]);
            }
            ladder.push((count, lit));
        }
        for &(_, writer, lit) in &choices {
            if let Ok(place) = ladder.binary_search_by_key(&clock(writer), |&(count, _)| count) {
                encoder.solver.add_clause(&[!lit, ladder[place].1]);
            }
        }
        seen.insert((number, session), ladder);
        for &(key, writer, lit) in &choices {
            if let Some(other) = first_after(problem, key, session, writer)
                && other != number
            {
                let sees = sees(encoder, seen, number, other);
                encoder.solver.add_clause(&[!lit, !sees]);
            }
        }
    }
}

/// Read committed and read atomic: which choices of two reads exclude each other.
fn add_pairs(encoder: &mut Encoder<'_>, number: u32) {
    let reads = encoder.reads_of(number);
    for later in reads.clone() {
        let mut ladders: Option<Vec<Vec<(u32, Lit)>>> = None;
        for earlier in reads.clone() {
            let is_earlier = earlier < later;
            if earlier == later || (!is_earlier && encoder.level == Level::ReadCommitted) {
                continue;
            }
            let key = encoder.reads[later].key;
            let writes_key = |writer: u32| writer != INITIAL && encoder.problem.txn(writer).writes_key(key);
            let read = &encoder.reads[earlier];
            let choices = read.choices.iter().filter(|choice| writes_key(choice.writer));
            // With a strict boundary, an earlier read has its observed writer.
            let fixed = encoder.problem.strict && is_earlier;
            let choices: Vec<(u32, Lit)> = choices
                .filter(|choice| !fixed || choice.writer == read.observed)
                .map(|choice| (choice.writer, choice.lit))
                .collect();
            for (writer, lit) in choices {
                if ladders.is_none() {
                    ladders = Some(add_ladders(encoder, later));
                }
                let ladders = ladders.as_deref().unwrap_or_default();
                exclude_older(encoder, later, ladders, writer, lit);
            }
        }
    }
}

/// A read must not have a writer that hb leads from to another, if a literal holds.
fn exclude_older(encoder: &mut Encoder<'_>, read: usize, ladders: &[Vec<(u32, Lit)>], writer: u32, lit: Lit) {
    let problem = encoder.problem;
    if let Some(initial) = encoder.reads[read].choice(INITIAL) {
        encoder.solver.add_clause(&[!lit, !initial]);
    }
    for (ladder, session) in ladders.iter().zip(0..) {
        let own = u32::from(problem.txn(writer).session == session);
        let seen = problem.clock(writer, session) - own;
        let place = ladder.partition_point(|&(place, _)| place < seen);
        if let Some(&(_, older)) = place.checked_sub(1).and_then(|place| ladder.get(place)) {
            encoder.solver.add_clause(&[!lit, !older]);
        }
    }
}

/// For each session: the places of the writers that a read can have, ascending, each with a literal that the read has this one or an
/// earlier one of the session.
fn add_ladders(encoder: &mut Encoder<'_>, read: usize) -> Vec<Vec<(u32, Lit)>> {
    let problem = encoder.problem;
    let mut ladders = vec![Vec::new(); problem.sessions.len()];
    let choices: Vec<(u32, Lit)> =
        encoder.reads[read].choices.iter().map(|choice| (choice.writer, choice.lit)).collect();
    for (writer, choice) in choices.into_iter().filter(|&(writer, _)| writer != INITIAL) {
        let txn = problem.txn(writer);
        let ladder: &mut Vec<(u32, Lit)> = &mut ladders[txn.session as usize];
        let lit = encoder.solver.variable(false);
        encoder.solver.add_clause(&[!choice, lit]);
        if let Some(&(_, fewer)) = ladder.last() {
            encoder.solver.add_clause(&[!fewer, lit]);
        }
        ladder.push((txn.place, lit));
    }
    ladders
}

/// Two transactions cannot read one version and both overwrite it.
fn add_lost_updates(encoder: &mut Encoder<'_>, number: u32) {
    let problem = encoder.problem;
    for read in encoder.reads_of(number) {
        let key = encoder.reads[read].key;
        if !problem.txn(number).writes_key(key) {
            continue;
        }
        for &other in problem.writers[key as usize].iter().take_while(|&&other| other < encoder.window.end) {
            let reads = &problem.txn(other).reads;
            let Some(source) = reads.iter().find(|read| read.key == key).map(|read| read.source) else {
                continue;
            };
            if other != number
                && let Some(choice) = encoder.reads[read].choice(source)
            {
                let full = encoder.full(other);
                encoder.solver.add_clause(&[!choice, !full]);
            }
        }
    }
}
