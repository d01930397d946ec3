//! The value-aware boundary agrees with an enumeration of what small programs do on all values.
//!
//! A program is a tree: it reads, and what follows depends on the content of what it read. The reference runs it on every choice of writers.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

#[path = "reference/axioms.rs"]
mod axioms;

use axioms::LEVELS;
use isoscope_history::notation::ValueText;
use isoscope_history::{Builder, History, Outcome, Txn};
use isoscope_levels::Level;
use isoscope_predict::{
    Access, Boundary, Executions, Programs, Refusal, Rerun, Settings, Unwatched, predict,
};

/// A small generator of numbers: splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }
}

/// A program. It accesses each key at most once.
#[derive(Debug)]
enum Program {
    Commit,
    RollBack,
    Write(usize, Box<Program>),
    /// What follows if the content is even, and if it is odd.
    Read(usize, Box<[Program; 2]>),
}

fn program(random: &mut Random, keys: &[usize], depth: usize) -> Program {
    if keys.is_empty() || depth == 0 || random.below(6) == 0 {
        return if random.below(5) == 0 { Program::RollBack } else { Program::Commit };
    }
    let key = keys[random.below(keys.len())];
    if random.below(2) == 0 {
        // A read of a key may be followed by a write of it.
        let both = [0, 1].map(|_| {
            let rest: Vec<usize> = keys.iter().copied().filter(|&other| other != key).collect();
            let then = program(random, &rest, depth - 1);
            if random.below(2) == 0 { Program::Write(key, Box::new(then)) } else { then }
        });
        return Program::Read(key, Box::new(both));
    }
    let rest: Vec<usize> = keys.iter().copied().filter(|&other| other != key).collect();
    Program::Write(key, Box::new(program(random, &rest, depth - 1)))
}

/// Transactions in the order in which they ran: session and program. What a transaction writes to a key is even or odd, whatever it read.
#[derive(Debug)]
struct Run {
    keys: usize,
    txns: Vec<(usize, Program)>,
    odd: Vec<Vec<bool>>,
    /// Whether the database rolled a transaction back, whatever its program did.
    refused: Vec<bool>,
}

/// What a transaction did. The writer 0 is the initial state.
#[derive(Clone, Debug)]
struct Did {
    commits: bool,
    /// Whether it writes, the key, and the writer of a read.
    accesses: Vec<(bool, usize, usize)>,
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut random = Random(seed);
        let keys = 1 + random.below(3);
        let count = 2 + random.below(3);
        let sessions = 2 + random.below(count.min(3) - 1);
        let all: Vec<usize> = (0..keys).collect();
        let txns = (0..count).map(|_| (random.below(sessions), program(&mut random, &all, 4))).collect();
        let odd = (0..=count).map(|_| (0..keys).map(|_| random.below(2) == 0).collect()).collect();
        let refused = (0..count).map(|_| random.below(5) == 0).collect();
        Run { keys, txns, odd, refused }
    }

    /// Runs the program of a transaction, from 1.
    fn execute(&self, txn: usize, choose: &mut dyn FnMut(usize) -> usize) -> Did {
        let mut program = &self.txns[txn - 1].1;
        let mut accesses = Vec::new();
        loop {
            match program {
                Program::Commit => return Did { commits: true, accesses },
                Program::RollBack => return Did { commits: false, accesses },
                Program::Write(key, then) => {
                    accesses.push((true, *key, 0));
                    program = then;
                }
                Program::Read(key, then) => {
                    let writer = choose(*key);
                    accesses.push((false, *key, writer));
                    program = &then[usize::from(self.odd[writer][*key])];
                }
            }
        }
    }

    /// What each transaction did in the serial run, from 1.
    fn serial(&self) -> Vec<Did> {
        let mut current = vec![0; self.keys];
        let mut all = vec![Did { commits: false, accesses: Vec::new() }];
        for txn in 1..=self.txns.len() {
            let mut did = self.execute(txn, &mut |key| current[key]);
            did.commits &= !self.refused[txn - 1];
            if did.commits {
                for &(_, key, _) in did.accesses.iter().filter(|(writes, ..)| *writes) {
                    current[key] = txn;
                }
            }
            all.push(did);
        }
        all
    }

    /// The history of the serial run, and for each of its transactions the number in the run.
    fn history(&self) -> (History, Vec<usize>) {
        let mut builder = Builder::new();
        let sessions = self.txns.iter().map(|(session, _)| session + 1).max().unwrap();
        let serial = self.serial();
        let mut numbers = Vec::new();
        for session in 0..sessions {
            for txn in (1..=self.txns.len()).filter(|&txn| self.txns[txn - 1].0 == session) {
                numbers.push(txn);
                let mut building = builder.session(session as u32).txn();
                for &(writes, key, writer) in &serial[txn].accesses {
                    let (name, value) = (name(key), |writer: usize| (writer * 10) as u32);
                    building = if writes {
                        building.write(name.as_str(), value(txn))
                    } else {
                        building.read(name.as_str(), value(writer))
                    };
                }
                if !serial[txn].commits {
                    building.outcome(Outcome::Aborted);
                }
            }
        }
        (builder.finish(), numbers)
    }

    /// For each level, whether there is a prediction.
    fn verdicts(&self) -> [bool; 6] {
        let serial = self.serial();
        let sessions = self.txns.iter().map(|(session, _)| session + 1).max().unwrap();
        let mut found = [false; 6];
        let mut full = vec![false; serial.len()];
        full[0] = true;
        self.prefixes(&serial, &mut full, sessions, 0, &mut found);
        found
    }

    fn committed_of(&self, serial: &[Did], session: usize) -> Vec<usize> {
        let is_one = |&txn: &usize| self.txns[txn - 1].0 == session && serial[txn].commits;
        (1..serial.len()).filter(is_one).collect()
    }

    fn prefixes(
        &self,
        serial: &[Did],
        full: &mut Vec<bool>,
        sessions: usize,
        session: usize,
        found: &mut [bool; 6],
    ) {
        if session == sessions {
            let reads = |txn: usize| serial[txn].accesses.iter().filter(|(writes, ..)| !writes);
            if (1..full.len()).all(|txn| !full[txn] || reads(txn).all(|&(_, _, writer)| full[writer])) {
                let mut execution: Vec<Option<axioms::Txn>> =
                    (0..full.len()).map(|txn| full[txn].then(|| self.executed(txn, &serial[txn]))).collect();
                self.boundaries(serial, full, &mut execution, (sessions, 0), found);
            }
            return;
        }
        let own = self.committed_of(serial, session);
        for count in 0..=own.len() {
            own.iter().enumerate().for_each(|(place, &txn)| full[txn] = place < count);
            self.prefixes(serial, full, sessions, session + 1, found);
        }
        for &txn in &own {
            full[txn] = false;
        }
    }

    fn executed(&self, txn: usize, did: &Did) -> axioms::Txn {
        if txn == 0 {
            return axioms::Txn { writes: (0..self.keys).collect(), ..axioms::Txn::default() };
        }
        let mut made = axioms::Txn { session: self.txns[txn - 1].0, ..axioms::Txn::default() };
        for &(writes, key, writer) in &did.accesses {
            if writes {
                made.writes.push(key);
            } else {
                made.reads.push((key, writer));
            }
        }
        made.may_write.clone_from(&made.writes);
        made
    }

    /// Every boundary transaction of each session, or none: the next committed one, or an attempt that was rolled back before it.
    fn boundaries(
        &self,
        serial: &[Did],
        full: &[bool],
        execution: &mut Vec<Option<axioms::Txn>>,
        (sessions, session): (usize, usize),
        found: &mut [bool; 6],
    ) {
        if session == sessions {
            axioms::judge(execution, 6, found);
            return;
        }
        self.boundaries(serial, full, execution, (sessions, session + 1), found);
        let own = (1..serial.len()).filter(|&txn| self.txns[txn - 1].0 == session);
        let last = own.clone().filter(|&txn| full[txn]).max().unwrap_or(0);
        let next = own.clone().find(|&txn| txn > last && serial[txn].commits).unwrap_or(usize::MAX);
        for txn in own.filter(|&txn| txn > last && txn <= next) {
            for did in self.forms(txn, full) {
                execution[txn] = Some(self.executed(txn, &did));
                self.boundaries(serial, full, execution, (sessions, session + 1), found);
                execution[txn] = None;
            }
        }
    }

    /// What the program of a transaction does on every choice of full writers, if it commits.
    fn forms(&self, txn: usize, full: &[bool]) -> Vec<Did> {
        let serial = self.serial();
        let writers = |key: usize| -> Vec<usize> {
            let writes = |writer: usize| serial[writer].accesses.iter().any(|&(w, k, _)| w && k == key);
            (0..full.len()).filter(|&writer| full[writer] && (writer == 0 || writes(writer))).collect()
        };
        let (mut forms, mut open) = (Vec::new(), vec![Vec::new()]);
        while let Some(choices) = open.pop() {
            let mut asked = 0;
            let did = self.execute(txn, &mut |key| {
                asked += 1;
                choices.get(asked - 1).copied().unwrap_or_else(|| writers(key)[0])
            });
            if asked > choices.len() {
                let reads: Vec<usize> =
                    did.accesses.iter().filter(|(writes, ..)| !writes).map(|&(_, key, _)| key).collect();
                for writer in writers(reads[choices.len()]) {
                    open.push(choices.iter().copied().chain([writer]).collect());
                }
            } else if did.commits {
                forms.push(did);
            }
        }
        forms
    }
}

fn name(key: usize) -> String {
    format!("k{key}")
}

struct Again<'r> {
    run: &'r Run,
    numbers: Vec<usize>,
}

impl Again<'_> {
    fn number(&self, txn: Option<Txn>) -> usize {
        txn.map_or(0, |txn| self.numbers[txn.index()])
    }
}

impl Programs for Again<'_> {
    fn program(&self, txn: Txn) -> Option<&str> {
        (txn.index() < self.numbers.len()).then_some("program")
    }

    fn rerun(&self, txn: Txn, choose: &mut dyn FnMut(&str) -> Option<Txn>) -> Result<Rerun, String> {
        let number = self.numbers[txn.index()];
        let did = self.run.execute(number, &mut |key| self.number(choose(&name(key))));
        let access = |&(writes, key, _): &(bool, usize, usize)| {
            if writes { Access::Write(name(key)) } else { Access::Read(name(key)) }
        };
        let accesses = did.accesses.iter().map(access).collect();
        Ok(Rerun { commits: did.commits, accesses, written: Vec::new() })
    }

    fn is_same(&self, key: &str, one: Option<Txn>, other: Option<Txn>) -> bool {
        let key: usize = key[1..].parse().unwrap();
        self.run.odd[self.number(one)][key] == self.run.odd[self.number(other)][key]
    }
}

/// The verdicts of the engine, and how many predictions have transactions with other accesses than in the run. `None`: no committed
/// transaction reads.
fn verdicts(run: &Run) -> Option<([bool; 6], usize)> {
    let (history, numbers) = run.history();
    let programs = Again { run, numbers };
    let trivial = |refusal: &Refusal| {
        matches!(refusal, Refusal::SingleSession | Refusal::NoWrites | Refusal::NothingRead)
    };
    let executions = match Executions::explore(&history, &programs, &Unwatched) {
        Err(Refusal::NothingRead) => return None,
        executions => executions.unwrap_or_else(|refusal| panic!("{refusal}: {history:?}")),
    };
    assert_eq!(executions.incomplete, 0);
    let mut changed = 0;
    let verdicts = LEVELS.map(|name| {
        let level = Level::ALL.into_iter().find(|level| level.name() == name).unwrap();
        let settings = Settings { boundary: Boundary::ValueAware, most: 1, ..Settings::new(level) };
        match predict(&executions.observed(), &settings, &Unwatched) {
            Err(refusal) if trivial(&refusal) => false,
            predictions => {
                let predictions = predictions.unwrap_or_else(|refusal| panic!("{refusal}: {run:?}"));
                assert!(predictions.limit.is_none());
                let is_other = |txn: &Txn| txn.index() >= history.txn_count();
                changed += predictions.found.iter().filter(|one| one.boundary.iter().any(is_other)).count();
                !predictions.found.is_empty()
            }
        }
    });
    Some((verdicts, changed))
}

fn compare(seeds: std::ops::Range<u64>) -> (usize, usize, usize) {
    let (mut count, mut predicted, mut changed) = (0, 0, 0);
    for seed in seeds {
        let run = Run::new(seed);
        let Some((found, other)) = verdicts(&run) else { continue };
        let expected = run.verdicts();
        assert_eq!(found, expected, "seed {seed}: {:?} {run:?}", run.history().0);
        count += 6;
        predicted += found.iter().filter(|&&found| found).count();
        changed += other;
    }
    (count, predicted, changed)
}

#[test]
fn programs_that_depend_on_values() {
    let (count, predicted, changed) = compare(0..3_000);
    assert!(count > 10_000, "{count}");
    assert!(predicted > 1_000 && changed > 100, "{predicted} predicted, {changed} with other accesses");
}

/// A program that reads a key and writes it.
fn update(key: usize) -> Program {
    let then = || Program::Write(key, Box::new(Program::Commit));
    Program::Read(key, Box::new([then(), then()]))
}

/// An attempt that the database rolled back would commit on the values of the run. That it does is one anomaly, and hides no other.
#[test]
fn an_attempt_that_commits_is_one_anomaly_of_several() {
    let txns = vec![(0, update(0)), (1, update(0)), (0, update(1)), (1, update(1))];
    let odd =
        vec![vec![false, false], vec![true, true], vec![false, false], vec![true, true], vec![false, true]];
    let run = Run { keys: 2, txns, odd, refused: vec![true, false, false, false] };
    let (history, numbers) = run.history();
    let programs = Again { run: &run, numbers };
    let executions = Executions::explore(&history, &programs, &Unwatched).unwrap();
    let settings = Settings { boundary: Boundary::ValueAware, ..Settings::new(Level::Causal) };
    let predictions = predict(&executions.observed(), &settings, &Unwatched).unwrap();
    assert!(predictions.limit.is_none() && !predictions.more);
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    for one in &predictions.found {
        let [statement] = &one.statements[..] else { panic!("{:?}", one.statements) };
        found.push((one.changes.len(), one.commits.len(), statement.to_string()));
    }
    found.sort();
    let expected = [(0, 1, "the commit of program"), (1, 0, "the read of k# in program")];
    assert_eq!(found, expected.map(|(changes, commits, name)| (changes, commits, name.to_owned())));
    // The other executions of a run have different names, so that reports can name them.
    let mut names: Vec<String> = executions
        .history()
        .txns()
        .map(|txn| ValueText(executions.history(), executions.history().txn_name(txn)).to_string())
        .collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert!(names.len() >= count - history.txn_count(), "{names:?}");
}

/// `cargo nextest run -p isoscope-predict --release --run-ignored all --no-capture`
#[test]
#[ignore = "takes minutes"]
#[allow(clippy::print_stderr, reason = "the figure is the result")]
fn programs_on_many_runs() {
    let (count, predicted, changed) = compare(10_000..110_000);
    eprintln!("{count} verdicts, {predicted} predictions, {changed} with other accesses: no difference");
}
