//! Cobra's logs: a directory of `T*.log` files, each the binary log of one client.
//!
//! Records are a letter and big-endian 64-bit numbers:
//!
//! ```text
//! S txn [time]     a transaction begins        W wid key value          it writes
//! C txn [time]     it committed                R txn wid key value      it reads what `txn` wrote
//! ```
//!
//! *Times.* The format does not record whether `S` and `C` carry times. Each file is parsed both ways, as far
//! as possible. The variant that reaches the end is used, or else the one that gets further.
//!
//! *Sessions.* A file is a session, named by the number in the file name.
//!
//! *Outcomes.* Clients log committed transactions. A transaction that begins and never commits (the log ends,
//! or another one begins) is of unknown outcome. An incomplete record at the end of a file, as a killed
//! client leaves it, is ignored with a warning.
//!
//! *Values.* Keys are hashes. A write is identified by its write id, not by the hash of its value. A read
//! names the writing transaction and the write id. Some numbers have a special meaning as a write id (the
//! constants of Cobra's client library and of `VeriStrong`; the counts are from their benchmarks):
//!
//! | wid | meaning | read as |
//! |---|---|---|
//! | `0xbebeebee` | the value loaded before the run | the initial value, nil |
//! | `0xdeadbeef` | no value | nil, also when it is written |
//! | `0xabcdefab` | a deleted value | nil; as a write, a delete |
//! | `0xadeafbee` | the version under a blind write is not known | a read without a result |
//! | `0x23332333`, `0x66666666` | a read whose writer was garbage-collected | a read without a result |
//! | `0xabddefee` | *any* write of this value | identity is the hash of the value |
//!
//! The first two never occur for the same key in a whole benchmark (26 339 such keys in `rubis-10k`), so one
//! initial value per key is enough. The last is how `VeriStrong` creates histories with duplicate values: all
//! writes of its tpcc, twitter and rubis logs have that id, every read returns it or the initial state, and
//! every value hash that is read with it was written to that key (5 113, 23 299 and 6 605 reads). If the id
//! were the identity there, all writes of a key would write the same value, and hardly any anomaly of such
//! logs could be found.
//!
//! A read of a write that is in no log keeps its value, and so is a thin-air read. This *is* the anomaly of
//! the confirmed bug `cock-blog`: 8 of its 18 reads are such reads. This reader sees one log at a time and
//! cannot warn about them; the checkers report them.
//!
//! *Writing.* The directory must not already contain logs; otherwise two histories would be mixed. If all
//! values are unique, a value is written with its number as write id. If a value is written twice to a key,
//! all values are written in the manner of `VeriStrong`, which does not require a read to choose among its
//! possible writers. A write of the initial value is a write of nil.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use isoscope_history::{Draft, DraftTxn, History, NO_TIME, OpKind, Outcome, Session, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::input::{BLOCK, Stream};
use crate::lower::{Fate, Losses, Numbered, are_distinct, natural, session_numbers};
use crate::problem::{Problems, Warning};
use crate::{Job, WriteError};

/// The size limit of a log.
const LONGEST: u64 = 2 << 30;

/// Special write ids; see the module documentation.
const INITIAL: i64 = 0xbebe_ebee;
const NULL: i64 = 0xdead_beef;
const DELETED: i64 = 0xabcd_efab;
const BLIND: i64 = 0xadea_fbee;
const COLLECTED: [i64; 2] = [0x2333_2333, 0x6666_6666];
const ANY_WRITE: i64 = 0xabdd_efee;
/// The transaction that a read names if its value was never written. No transaction has this id.
const NO_TXN: i64 = -1;
const SENTINELS: [i64; 7] = [INITIAL, NULL, DELETED, BLIND, COLLECTED[0], COLLECTED[1], ANY_WRITE];

/// Whether the first bytes of a file are records of this format, beginning with a transaction.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    let text = |b: &u8| matches!(b, b'\t' | b'\n' | b'\r' | 0x20..=0x7e);
    let goes_through = |times| {
        let mut records = Records { bytes: head, at: 0, times };
        let count = records.by_ref().count();
        count >= 2 && records.state() != State::Wrong
    };
    head.first() == Some(&b'S') && !head.iter().all(text) && (goes_through(false) || goes_through(true))
}

/// Reads the log of one client.
pub(crate) fn read(stream: Stream, job: Job<'_>) -> io::Result<()> {
    let Job { base, name, draft, problems, progress } = job;
    let bytes = stream.read_while(LONGEST, goes_on())?;
    progress(bytes.len() as u64);
    draft.set_initial(Value::NIL);
    let session_name = session_name(name, draft);
    let session = draft.new_session(session_name);
    let mut client = Client { draft, problems, session, open: None, times: has_times(&bytes) };
    let mut records = Records { bytes: &bytes, at: 0, times: client.times };
    let mut at = 0;
    while let Some(record) = records.next() {
        client.take(&record, base + at);
        at = records.at as u64;
        if client.problems.hopeless() {
            return Ok(());
        }
    }
    client.leave_open();
    let found = || format!("unexpected {}", show(bytes[records.at]));
    match records.state() {
        State::Through => {}
        State::CutOff if at > 0 => problems.warn(Warning::Truncated, Some(base + at)),
        State::CutOff => {
            let found = "the input ends inside its first record";
            problems.error(Some(base + bytes.len() as u64), found, "`S` and 8 bytes, the transaction's id");
        }
        State::Wrong => problems.error(Some(base + at), found(), "a record: `S`, `C`, `W` or `R`"),
    }
    Ok(())
}

/// Whether the bytes so far may be the beginning of a log, with or without times. It stops reading as soon as
/// the input turns out not to be a log. The end of the input is not looked at: it is parsed next anyway.
fn goes_on() -> impl FnMut(&[u8]) -> bool {
    let mut reached = [(false, 0), (true, 0)];
    move |bytes| {
        if !bytes.len().is_multiple_of(BLOCK) {
            return true;
        }
        let mut may_be = false;
        for (times, at) in &mut reached {
            let mut records = Records { bytes, at: *at, times: *times };
            records.by_ref().for_each(drop);
            *at = records.at;
            may_be |= records.state() != State::Wrong;
        }
        may_be
    }
}

fn show(byte: u8) -> String {
    if byte.is_ascii_graphic() { format!("`{}`", char::from(byte)) } else { format!("byte 0x{byte:02x}") }
}

/// The number in the name of a file such as `T12.log`, or else the name.
fn session_name(name: &str, draft: &mut Draft) -> Value {
    let file = Path::new(name).file_name().and_then(|file| file.to_str()).unwrap_or(name);
    let number = file.strip_prefix('T').and_then(|rest| rest.strip_suffix(".log"));
    match number.and_then(|digits| digits.parse().ok()) {
        Some(number) => draft.values.nat(number),
        None => draft.values.text(file),
    }
}

/// Whether begins and commits carry times; see the module documentation.
fn has_times(bytes: &[u8]) -> bool {
    let reach = |times| {
        let mut records = Records { bytes, at: 0, times };
        records.by_ref().for_each(drop);
        (records.state() == State::Through, records.at)
    };
    reach(true) > reach(false)
}

/// One record, with the time of a begin or commit that has one.
#[derive(Clone, Copy)]
enum Record {
    Begin { txn: i64, time: i64 },
    Commit { txn: i64, time: i64 },
    Write { wid: i64, key: i64, value: i64 },
    Read { wid: i64, key: i64, value: i64 },
}

/// How far the records of a log can be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Up to the end.
    Through,
    /// Up to an incomplete record at the end.
    CutOff,
    /// Up to bytes that are not a record.
    Wrong,
}

/// The records of a log, as far as they can be read.
struct Records<'a> {
    bytes: &'a [u8],
    /// The position of the next record.
    at: usize,
    times: bool,
}

impl Records<'_> {
    /// The number of fields after a letter.
    fn fields(&self, letter: u8) -> Option<usize> {
        match letter {
            b'S' | b'C' => Some(1 + usize::from(self.times)),
            b'W' => Some(3),
            b'R' => Some(4),
            _ => None,
        }
    }

    /// The state after the last record.
    fn state(&self) -> State {
        match self.bytes.get(self.at) {
            None => State::Through,
            Some(&letter) if self.fields(letter).is_some() => State::CutOff,
            Some(_) => State::Wrong,
        }
    }
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        let (&letter, rest) = self.bytes.get(self.at..)?.split_first()?;
        let count = self.fields(letter)?;
        let mut fields = [NO_TIME; 4];
        for (field, bytes) in fields.iter_mut().zip(rest.get(..8 * count)?.chunks_exact(8)) {
            *field = bytes.iter().fold(0, |number, &byte| number << 8 | i64::from(byte));
        }
        self.at += 1 + 8 * count;
        let [first, second, third, fourth] = fields;
        Some(match letter {
            b'S' => Record::Begin { txn: first, time: second },
            b'C' => Record::Commit { txn: first, time: second },
            b'W' => Record::Write { wid: first, key: second, value: third },
            _ => Record::Read { wid: second, key: third, value: fourth },
        })
    }
}

/// A client whose log is being read.
struct Client<'a> {
    draft: &'a mut Draft,
    problems: &'a mut Problems,
    session: Session,
    open: Option<Open>,
    times: bool,
}

/// The transaction that is not yet committed.
#[derive(Clone, Copy)]
struct Open {
    id: i64,
    txn: DraftTxn,
    time: i64,
    at: u64,
}

impl Client<'_> {
    fn take(&mut self, record: &Record, at: u64) {
        match *record {
            Record::Begin { txn: id, time } => {
                self.leave_open();
                let name = self.draft.values.int(id);
                let txn = self.draft.txn(self.session, name, Outcome::Unknown, Some(at));
                self.open = Some(Open { id, txn, time, at });
            }
            Record::Commit { txn, time } => self.commit(txn, time, at),
            Record::Write { wid, key, value } => {
                let kind = if wid == DELETED { OpKind::Delete } else { OpKind::Write };
                self.push(kind, key, wid, value, at);
            }
            Record::Read { wid, key, value } => self.push(OpKind::Read, key, wid, value, at),
        }
    }

    fn commit(&mut self, id: i64, time: i64, at: u64) {
        match self.open.take() {
            Some(open) if open.id == id => {
                self.draft.set_outcome(open.txn, Outcome::Committed);
                if self.times {
                    self.draft.set_timestamps(open.txn, open.time, time);
                }
            }
            Some(open) => {
                let expected = format!("the commit of transaction {}, which is open", open.id);
                self.problems.error(Some(at), format!("a commit of transaction {id}"), expected);
            }
            None => {
                let expected = "`S`, the begin of a transaction";
                self.problems.error(Some(at), format!("a commit of transaction {id}"), expected);
            }
        }
    }

    fn push(&mut self, kind: OpKind, key: i64, wid: i64, value: i64, at: u64) {
        let Some(open) = self.open else {
            let what = if kind == OpKind::Read { "a read" } else { "a write" };
            let found = format!("{what} outside a transaction");
            return self.problems.error(Some(at), found, "`S`, the begin of a transaction");
        };
        let key = self.draft.values.int(key);
        let value = match wid {
            INITIAL | NULL | DELETED => Value::NIL,
            BLIND => Value::UNKNOWN,
            _ if COLLECTED.contains(&wid) => Value::UNKNOWN,
            ANY_WRITE => self.draft.values.int(value),
            _ => self.draft.values.int(wid),
        };
        self.draft.push(open.txn, kind, key, value, Some(at));
    }

    /// Leaves the open transaction, if any, with an unknown outcome.
    fn leave_open(&mut self) {
        if let Some(open) = self.open.take() {
            self.problems.warn(Warning::Unfinished, Some(open.at));
            if self.times {
                self.draft.set_timestamps(open.txn, open.time, NO_TIME);
            }
        }
    }
}

/// Writes a history to a directory, one file per session.
pub(crate) fn write(history: &History, directory: &Path) -> Result<Losses, WriteError> {
    let mut numbered = Numbered::of(history, "cobra")?;
    let mut losses = std::mem::take(&mut numbered.losses);
    let committed = |txn: &_| numbered.fate(*txn) == Fate::Committed;
    let aborted = numbered.written().filter(|txn| !committed(txn)).count();
    losses.add("aborted transactions left out, so that reads of their writes become thin-air reads", aborted);
    let sessions = session_numbers(history, &mut losses);
    let ids = txn_ids(history, &mut losses);
    let writers = Writers::of(&numbered, &ids, &mut losses);
    make_directory(directory)?;
    for (session, number) in history.sessions().zip(sessions) {
        let file = File::create_new(directory.join(format!("T{number}.log")))?;
        let mut out = BufWriter::new(file);
        for txn in history.txns_of(session).filter(committed) {
            let id = ids[txn.index()];
            put(&mut out, b'S', &[id])?;
            for (is_write, key, value) in numbered.ops(txn) {
                let (from, wid, value) = writers.name(key, value);
                let key = key.cast_signed();
                if is_write {
                    put(&mut out, b'W', &[wid, key, value])?;
                } else {
                    put(&mut out, b'R', &[from, wid, key, value])?;
                }
            }
            put(&mut out, b'C', &[id])?;
        }
        out.flush()?;
    }
    Ok(losses)
}

fn put(out: &mut impl Write, letter: u8, fields: &[i64]) -> io::Result<()> {
    out.write_all(&[letter])?;
    fields.iter().try_for_each(|field| out.write_all(&field.to_be_bytes()))
}

/// Numbers for transactions: their own names, if those are suitable.
fn txn_ids(history: &History, losses: &mut Losses) -> Vec<i64> {
    let fit = |name| natural(history, name).and_then(|n| i64::try_from(n).ok());
    let names = history.txns().map(|txn| fit(history.txn_name(txn)).filter(|n| !SENTINELS.contains(n)));
    let names: Option<Vec<i64>> = names.collect();
    names.filter(|names| are_distinct(names.clone())).unwrap_or_else(|| {
        losses.add("transaction names replaced by numbers", history.txn_count());
        (1..).filter(|id| !SENTINELS.contains(id)).take(history.txn_count()).collect()
    })
}

/// How values are identified: by their writer and a write id.
struct Writers {
    /// The transaction and write id of each key and value that is not initial.
    by_value: FxHashMap<(u64, u64), (i64, i64)>,
    /// Whether some value was written to a key more than once.
    duplicates: bool,
    /// Keys to which a transaction writes the initial value.
    initial_written: FxHashSet<u64>,
}

impl Writers {
    fn of(numbered: &Numbered<'_>, ids: &[i64], losses: &mut Losses) -> Writers {
        let mut by_value = FxHashMap::default();
        let mut initial_written = FxHashSet::default();
        let mut duplicates = false;
        for txn in numbered.written().filter(|&txn| numbered.fate(txn) == Fate::Committed) {
            for (is_write, key, value) in numbered.ops(txn) {
                let known = by_value.entry((key, value)).or_insert((NO_TXN, value.cast_signed()));
                if is_write {
                    duplicates |= known.0 != NO_TXN && value != 0;
                    known.0 = ids[txn.index()];
                }
                if is_write && value == 0 {
                    initial_written.insert(key);
                }
            }
        }
        by_value.retain(|&(_, value), _| value != 0);
        let mut writers = Writers { by_value, duplicates, initial_written };
        let unfit = |wid: i64| wid < 0 || SENTINELS.contains(&wid);
        if !duplicates && writers.by_value.values().any(|&(_, wid)| unfit(wid)) {
            writers.renumber(losses);
        }
        writers
    }

    /// Assigns write ids that do not collide with the special ones.
    fn renumber(&mut self, losses: &mut Losses) {
        losses.add("values replaced by numbers", self.by_value.len());
        let mut values: Vec<u64> = self.by_value.keys().map(|&(_, value)| value).collect();
        values.sort_unstable();
        values.dedup();
        let numbers = (1..).filter(|id| !SENTINELS.contains(id));
        let numbers: FxHashMap<u64, i64> = values.into_iter().zip(numbers).collect();
        for ((_, value), (_, wid)) in &mut self.by_value {
            *wid = numbers[value];
        }
    }

    /// The transaction, write id and value hash that represent a value of a key.
    fn name(&self, key: u64, value: u64) -> (i64, i64, i64) {
        match self.by_value.get(&(key, value)) {
            Some(_) if self.duplicates => (ANY_WRITE, ANY_WRITE, value.cast_signed()),
            Some(&(txn, wid)) => (txn, wid, wid),
            None if self.initial_written.contains(&key) => (NULL, NULL, 0),
            None => (INITIAL, INITIAL, 0),
        }
    }
}

/// Creates the directory, or checks that it contains no logs.
fn make_directory(directory: &Path) -> Result<(), WriteError> {
    std::fs::create_dir_all(directory)?;
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('T') && name.ends_with(".log") {
            let message = format!("{} already contains logs, such as {name}", directory.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message).into());
        }
    }
    Ok(())
}
