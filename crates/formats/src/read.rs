//! Reads a history: detects the format, runs its reader, and does what all formats share.

use std::io;

use isoscope_history::{Draft, History, Key, NO_EVENT, NO_TIME, Outcome, Position, Sources, Txn};

use crate::detect::{self, Detected, Unrecognised};
use crate::input::{Input, Room, Stream};
use crate::problem::{Problem, Problems, Severity, Warning};
use crate::text::SourceText;
use crate::{
    Format, Job, Progress, awdit, cobra, dbcop, edn, elle_json, isopredict, jepsen, native, notation, plume,
    viper,
};

/// Options for reading.
#[derive(Default)]
pub struct ReadOptions<'a> {
    /// The format; `None` means that it is detected.
    pub format: Option<Format>,
    /// Called with the number of (decompressed) bytes just read, from any thread.
    pub progress: Option<&'a (dyn Fn(u64) + Sync)>,
    /// Called to ask whether a number of additional bytes of memory may be used. If not, the history is not
    /// read.
    pub room: Option<Room>,
}

/// A history that was read.
pub struct Reading {
    /// The history.
    pub history: History,
    /// The format it was in.
    pub format: Format,
    /// Warnings, each kind once.
    pub warnings: Vec<Problem>,
    /// The text it was read from, for messages that quote it.
    pub text: SourceText,
}

impl std::ops::Deref for Reading {
    type Target = History;

    fn deref(&self) -> &History {
        &self.history
    }
}

/// The reason why no history could be read.
#[derive(Debug)]
pub struct Failure {
    /// The format, if it was recognised.
    pub format: Option<Format>,
    /// The problems; at least one is an error.
    pub problems: Vec<Problem>,
    /// Whether reading stopped because [`ReadOptions::room`] refused more memory. Then nothing is known about
    /// the input.
    pub no_room: bool,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            let gap = if i == 0 { "" } else { "\n" };
            write!(f, "{gap}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

impl Failure {
    fn plain(format: Option<Format>, message: String, help: Option<String>) -> Failure {
        let problem = Problem { severity: Severity::Error, place: None, message, help };
        Failure { format, problems: vec![problem], no_room: false }
    }

    fn no_room(format: Format, name: &str) -> Failure {
        let message = format!("{name} does not fit into the memory that may be used");
        Failure { no_room: true, ..Failure::plain(Some(format), message, None) }
    }

    fn io(name: &str, error: &io::Error) -> Failure {
        Failure::plain(None, format!("cannot read {name}: {error}"), None)
    }
}

/// Reads a history.
pub fn read(input: &Input, options: &ReadOptions<'_>) -> Result<Reading, Failure> {
    let name = input.name();
    let found = detect::detect(input).map_err(|error| Failure::io(&name, &error))?;
    let Some(Detected { sources, first, format }) = found else { return Err(no_history(&name)) };
    let format = options.format.map_or(format, Ok).map_err(|why| unrecognised(&name, why))?;
    let mut first = Some(first);
    let progress: Progress<'_> = options.progress.unwrap_or(&|_| {});

    let mut draft = Draft::new();
    let mut problems = Problems::default();
    let mut base = 0;
    for source in &sources {
        draft.sources.add(source.name.as_str(), base);
        let opened = match first.take() {
            Some(stream) => Ok(stream),
            None => source.open(),
        };
        let length = std::sync::atomic::AtomicU64::new(0);
        let counted = |bytes: u64| {
            length.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
            progress(bytes);
        };
        let (name, draft, found) = (&source.name, &mut draft, &mut problems);
        let job = Job { base, name, draft, problems: found, progress: &counted };
        let read = opened.and_then(|stream| read_one(format, stream.within(options.room.clone()), job));
        if let Err(error) = read {
            if error.kind() == io::ErrorKind::OutOfMemory {
                return Err(Failure::no_room(format, &source.name));
            }
            problems.error(None, format!("cannot read {}: {error}", source.name), "");
        }
        base += length.into_inner() + 1;
    }
    if options.room.as_ref().is_some_and(|room| !room(draft.columns_bytes())) {
        return Err(Failure::no_room(format, &name));
    }
    finish(format, draft, problems, SourceText { sources })
}

/// Runs the reader of a format on one file.
fn read_one(format: Format, stream: Stream, job: Job<'_>) -> io::Result<()> {
    let read = match format {
        Format::Edn => jepsen::read::<edn::Edn>,
        Format::ElleJson => jepsen::read::<elle_json::Json>,
        Format::Plume => plume::read,
        Format::DbcopBincode => dbcop::bincode::read,
        Format::DbcopJson => dbcop::json::read,
        Format::DbcopHist => dbcop::hist::read,
        Format::Cobra => cobra::read,
        Format::Viper => viper::read,
        Format::Awdit => awdit::read,
        Format::IsoPredict => isopredict::read,
        Format::Native => native::read,
        Format::Notation => notation::read,
    };
    read(stream, job)
}

fn no_history(name: &str) -> Failure {
    let help = "history.edn, history.bincode, or Cobra's T*.log or Viper's J*.log files";
    Failure::plain(None, format!("the directory {name} holds no history"), Some(help.to_owned()))
}

fn unrecognised(name: &str, why: Unrecognised) -> Failure {
    let formats: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
    let formats = formats.join(", ");
    let (message, help) = match why {
        Unrecognised::Empty => {
            (format!("{name} is empty"), "a history; if an empty one is intended, name its format".to_owned())
        }
        Unrecognised::Log => (
            format!("{name} is a log of SQL statements, as `isoscope record --log` writes it, not a history"),
            "the history that the same recording wrote with --output".to_owned(),
        ),
        Unrecognised::Binary => (
            format!("{name} is binary data in no known format"),
            "dbcop bincode, Cobra logs, or text; gzip and zstd are read too".to_owned(),
        ),
        Unrecognised::Text => {
            (format!("the format of {name} was not recognised"), format!("one of: {formats}"))
        }
    };
    Failure::plain(None, message, Some(help))
}

fn finish(
    format: Format,
    draft: Draft,
    mut problems: Problems,
    text: SourceText,
) -> Result<Reading, Failure> {
    let sources = draft.sources.clone();
    let mut history = None;
    if !problems.failed() {
        match draft.finish() {
            Ok(made) => history = Some(made),
            Err(limit) => problems.error(None, limit.to_string(), ""),
        }
    }
    if let Some(made) = &history {
        refuse_reversed(made, &mut problems);
        note_oddities(made, &mut problems);
        // Every read of Viper names the tombstones.
        if format != Format::Viper {
            note_tombstones(made, &mut problems);
        }
    }
    let history = history.filter(|_| !problems.failed());
    let list = locate(problems, &sources, &text);
    match history {
        Some(history) => Ok(Reading { history, format, warnings: list, text }),
        None => Err(Failure { format: Some(format), problems: list, no_room: false }),
    }
}

fn locate(problems: Problems, sources: &Sources, text: &SourceText) -> Vec<Problem> {
    let positions = problems.positions();
    let places = text.places(sources, &positions);
    let find = |position: Position| {
        let i = positions.iter().position(|&p| p == position)?;
        places[i].clone()
    };
    problems.into_list(find)
}

/// Rejects intervals that end before they begin. No order of transactions agrees with such an interval, so a
/// strict level would be violated independent of the database. Readers that know the position of the times
/// reject them there. This check is for all others.
fn refuse_reversed(history: &History, problems: &mut Problems) {
    let events = history.events().into_iter().flat_map(|events| events.reversed(NO_EVENT));
    let times = history.times().into_iter().flat_map(|times| times.reversed(NO_TIME));
    let stamps = history.timestamps().into_iter().flat_map(|stamps| stamps.reversed(NO_TIME));
    let returned = "a return that is not before the invocation";
    let clients = events.chain(times).map(|txn| (txn, "returned before it was invoked", returned));
    let database =
        stamps.map(|txn| (txn, "committed before it began", "a commit that is not before the begin"));
    for (txn, what, help) in clients.chain(database) {
        let at = history.txn_position(txn).map(|position| position.0);
        problems.error(at, format!("by its times, this transaction {what}"), help);
        if problems.hopeless() {
            return;
        }
    }
}

/// Adds the warnings that apply to all formats.
fn note_oddities(history: &History, problems: &mut Problems) {
    if history.txn_count() == 0 {
        problems.warn(Warning::NoTransactions, None);
    }
    note_overlaps(history, problems);
    let unwritten = |key: Key| history.writer_range(key).is_empty();
    if !history.keys().any(unwritten) {
        return;
    }
    let mut initial = vec![false; history.key_count()];
    for txn in history.txns().filter(|&txn| history.outcome(txn) == Outcome::Committed) {
        for op in history.ops_of(txn).filter(|op| op.kind.is_read()) {
            initial[op.key.index()] |= history.is_initial(op.key, op.value);
        }
    }
    let never = history.keys().filter(|&key| initial[key.index()] && unwritten(key)).count();
    problems.warn_many(Warning::NeverWritten, never as u64, None);
}

/// Warns of reads that name no tombstone among others that do.
fn note_tombstones(history: &History, problems: &mut Problems) {
    let nameless = history.reads_without_tombstone();
    let first = nameless.first().and_then(|&op| history.op_position(op)).map(|position| position.0);
    problems.warn_many(Warning::UnnamedTombstone, nameless.len() as u64, first);
}

/// Warns of transactions that were invoked before an earlier one of their session had returned. A session runs one after the other,
/// so the sessions or the times are not what they seem.
fn note_overlaps(history: &History, problems: &mut Problems) {
    let interval = |txn: Txn| match (history.events(), history.times()) {
        (Some(events), _) => {
            let known = |event: u32| (event != NO_EVENT).then_some(i64::from(event));
            (known(events.start[txn.index()]), known(events.end[txn.index()]))
        }
        (None, Some(times)) => {
            let known = |time: i64| (time != NO_TIME).then_some(time);
            (known(times.start[txn.index()]), known(times.end[txn.index()]))
        }
        (None, None) => (None, None),
    };
    if history.events().is_none() && history.times().is_none() {
        return;
    }
    let (mut count, mut first) = (0, None);
    for session in history.sessions() {
        let mut last: Option<i64> = None;
        for txn in history.txn_range(session).map(Txn) {
            let (start, end) = interval(txn);
            if last.zip(start).is_some_and(|(last, start)| start < last) {
                count += 1;
                first = first.or(history.txn_position(txn).map(|position| position.0));
            }
            last = last.max(end);
        }
    }
    problems.warn_many(Warning::Overlap, count, first);
}
