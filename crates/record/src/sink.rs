//! The sink: the files of a recording, which grow while sessions run.
//!
//! Every session has a lane, a buffer of complete lines that only this session fills. A thread writes all lanes to the files
//! [four times a second](PERIOD). A lane that fills up faster is written by its session; otherwise sessions never wait
//! for the disk. The headers are written immediately, before any lane.
//!
//! Sessions are written at different times, so a truncated file, for example after `kill -9`, may contain a transaction
//! without the transaction it read from. *Marks* record how far the history is complete. Every lane has a low-water mark:
//! a time before which its session has no transaction left to push. A mark with time *c* is written after all lanes have
//! been written, and *c* is the minimum of the low-water marks before that. Every transaction invoked before *c* is
//! therefore above the mark. The last mark says that the file is complete. `isoscope-formats`, `native.rs`, defines how a
//! reader uses marks.
//!
//! Invariants: the lines of one lane are in the file in the order in which they were pushed, because a lane stays locked
//! until its bytes are written. The headers come first. A mark never claims more than is true.
//!
//! If a file cannot be written, for example because the disk is full, the sink fails: [`Sink::failed`] makes the run end,
//! what was written before is kept, and [`Sink::finish`] returns the error.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::line::{self, Mark};

/// The interval between two writes of the lanes.
const PERIOD: Duration = Duration::from_millis(250);
/// The size in bytes above which a session writes its lane itself.
const FULL: usize = 1 << 20;
/// The low-water mark of a lane whose session has finished.
const FINISHED: u64 = u64::MAX;

/// The destination of lines.
pub type Output = Box<dyn Write + Send>;

/// The files of a recording; see the module.
pub struct Sink {
    epoch: Instant,
    shared: Arc<Shared>,
    flusher: Option<JoinHandle<()>>,
    stop: mpsc::Sender<()>,
}

struct Shared {
    files: Mutex<Files>,
    lanes: Mutex<Vec<Arc<Buffer>>>,
    failed: AtomicBool,
    has_log: bool,
}

struct Files {
    history: Option<Output>,
    log: Option<Output>,
    error: Option<io::Error>,
    /// Whether the headers are written, so that marks may follow.
    has_begun: bool,
    /// The time of the last mark.
    marked: u64,
}

/// The lines that a session has pushed and that are not in the files yet.
#[derive(Default)]
struct Buffer {
    lines: Mutex<Lines>,
    /// No transaction invoked before this time, in nanoseconds of the recording, will be pushed any more.
    low: AtomicU64,
}

/// Lines that are not in the files yet.
#[derive(Debug, Default)]
pub struct Lines {
    /// Of the history.
    pub history: Vec<u8>,
    /// Of the log.
    pub log: Vec<u8>,
}

impl Sink {
    /// A sink that writes to these files.
    pub fn new(history: Option<Output>, log: Option<Output>) -> Sink {
        Sink::with_period(history, log, PERIOD)
    }

    /// Like [`Sink::new`], with another interval between two marks.
    pub fn with_period(history: Option<Output>, log: Option<Output>, period: Duration) -> Sink {
        let has_log = log.is_some();
        let shared = Arc::new(Shared {
            files: Mutex::new(Files { history, log, error: None, has_begun: false, marked: 0 }),
            lanes: Mutex::new(Vec::new()),
            failed: AtomicBool::new(false),
            has_log,
        });
        let (stop, stopped) = mpsc::channel();
        let other = Arc::clone(&shared);
        let flusher = std::thread::spawn(move || {
            while stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                other.flush();
            }
        });
        Sink { epoch: Instant::now(), shared, flusher: Some(flusher), stop }
    }

    /// When the recording began. All times in its files are relative to this.
    pub fn epoch(&self) -> Instant {
        self.epoch
    }

    /// Writes the headers. Call this before any lane pushes lines.
    pub fn begin(&self, append: impl FnOnce(&mut Lines)) {
        let mut lines = Lines::default();
        append(&mut lines);
        self.shared.empty(&mut lines);
        lock(&self.shared.files).has_begun = true;
    }

    /// A lane for a session.
    pub fn lane(&self) -> Lane {
        let buffer = Arc::<Buffer>::default();
        lock(&self.shared.lanes).push(Arc::clone(&buffer));
        Lane { buffer, shared: Arc::clone(&self.shared), epoch: self.epoch }
    }

    /// Whether there is a log.
    pub fn has_log(&self) -> bool {
        self.shared.has_log
    }

    /// Whether writing to a file has failed.
    pub fn failed(&self) -> bool {
        self.shared.failed.load(Ordering::Relaxed)
    }

    /// Writes the remaining lines and closes the files. The history gets its end mark if all sessions have finished.
    pub fn finish(mut self) -> io::Result<()> {
        self.end();
        if self.shared.low().is_none_or(|low| low == FINISHED) {
            self.shared.mark(Mark::End);
        }
        let mut files = lock(&self.shared.files);
        files.history = None;
        files.log = None;
        files.error.take().map_or(Ok(()), Err)
    }

    fn end(&mut self) {
        let Some(flusher) = self.flusher.take() else { return };
        // This fails only if the flusher has already ended.
        let _ = self.stop.send(());
        let _ = flusher.join();
        self.shared.flush();
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.end();
    }
}

/// The lines of one session on their way to the files.
pub struct Lane {
    buffer: Arc<Buffer>,
    shared: Arc<Shared>,
    epoch: Instant,
}

impl Lane {
    /// Appends lines, each complete and with its newline.
    pub fn push(&self, append: impl FnOnce(&mut Lines)) {
        let mut lines = lock(&self.buffer.lines);
        append(&mut lines);
        if lines.history.len().max(lines.log.len()) > FULL {
            self.shared.empty(&mut lines);
        }
    }

    /// Promises that no transaction invoked before this moment will be pushed any more.
    pub fn reach(&self, moment: Instant) {
        let since = moment.saturating_duration_since(self.epoch).as_nanos() as u64;
        self.buffer.low.store(since, Ordering::Release);
    }

    /// Promises that nothing will be pushed any more. Dropping a lane promises nothing, because its session may have panicked
    /// in the middle of a transaction.
    pub fn finish(self) {
        self.buffer.low.store(FINISHED, Ordering::Release);
    }

    /// Whether there is a log.
    pub fn has_log(&self) -> bool {
        self.shared.has_log
    }
}

impl Shared {
    /// The minimum of the low-water marks; `None` without lanes.
    fn low(&self) -> Option<u64> {
        lock(&self.lanes).iter().map(|buffer| buffer.low.load(Ordering::Acquire)).min()
    }

    fn flush(&self) {
        // Read this before writing the lanes: a session pushes its lines before it raises its low-water mark.
        let low = self.low();
        let lanes = lock(&self.lanes).clone();
        for lane in lanes {
            self.empty(&mut lock(&lane.lines));
        }
        if let Some(low) = low.filter(|&low| low != FINISHED) {
            self.mark(Mark::Time(low));
        }
        let Files { history, log, error, .. } = &mut *lock(&self.files);
        for file in [history, log].into_iter().flatten() {
            let flushed = file.flush();
            self.note(flushed, error);
        }
    }

    /// Writes a mark if it is later than the last one.
    fn mark(&self, mark: Mark) {
        let mut bytes = Vec::new();
        line::write_mark(&mut bytes, mark);
        let Files { history: Some(file), error, has_begun: true, marked, .. } = &mut *lock(&self.files)
        else {
            return;
        };
        if let Mark::Time(time) = mark {
            if time <= *marked {
                return;
            }
            *marked = time;
        }
        if error.is_none() {
            let written = file.write_all(&bytes);
            self.note(written, error);
        }
    }

    fn empty(&self, lines: &mut Lines) {
        let Files { history, log, error, .. } = &mut *lock(&self.files);
        for (file, bytes) in [(history, &mut lines.history), (log, &mut lines.log)] {
            if let Some(file) = file
                && error.is_none()
            {
                let written = file.write_all(bytes);
                self.note(written, error);
            }
            bytes.clear();
        }
    }

    /// Remembers the first failure.
    fn note(&self, result: io::Result<()>, error: &mut Option<io::Error>) {
        if let Err(new) = result {
            self.failed.store(true, Ordering::Relaxed);
            error.get_or_insert(new);
        }
    }
}

/// Locks, ignoring poison: a thread that panicked has pushed complete lines or none.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use isoscope_formats::{Format, Input, ReadOptions, read};
    use proptest::prelude::*;

    use super::*;

    /// A file in memory that the test can read, with a maximum size in bytes.
    #[derive(Clone)]
    struct Shown(Arc<Mutex<Vec<u8>>>, usize);

    impl Write for Shown {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut all = self.0.lock().unwrap();
            let room = self.1 - all.len();
            if room == 0 {
                return Err(io::Error::from(io::ErrorKind::StorageFull));
            }
            let taken = bytes.len().min(room);
            all.extend_from_slice(&bytes[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lanes_keep_their_order_and_nothing_is_lost() {
        let shown = Shown(Arc::default(), usize::MAX);
        let sink = Sink::new(Some(Box::new(shown.clone())), None);
        std::thread::scope(|scope| {
            for session in 0..4 {
                let lane = sink.lane();
                scope.spawn(move || {
                    for i in 0..100_000 {
                        lane.push(|lines| lines.history.extend(format!("{session} {i}\n").bytes()));
                    }
                });
            }
        });
        sink.finish().unwrap();
        let text = String::from_utf8(shown.0.lock().unwrap().clone()).unwrap();
        let mut next = [0; 4];
        for line in text.lines() {
            let (session, i) = line.split_once(' ').unwrap();
            let session: usize = session.parse().unwrap();
            assert_eq!(i.parse(), Ok(next[session]));
            next[session] += 1;
        }
        assert_eq!(next, [100_000; 4]);
    }

    /// A line of the history with these times and this much padding.
    fn txn(session: usize, number: usize, times: [u128; 2], padding: usize) -> String {
        let [invoked, returned] = times;
        let note = "x".repeat(padding);
        format!(
            "{{\"session\":{session},\"txn\":{number},\"ops\":[],\"times\":[{invoked},{returned}],\
             \"notes\":{{\"n\":\"{note}\"}}}}\n"
        )
    }

    /// Concurrent sessions push lines of these lengths. Returns the history and the log.
    fn recorded(sessions: &[Vec<usize>]) -> [String; 2] {
        let (history, log) = (Shown(Arc::default(), usize::MAX), Shown(Arc::default(), usize::MAX));
        let outputs: [Option<Output>; 2] = [Some(Box::new(history.clone())), Some(Box::new(log.clone()))];
        let [history_output, log_output] = outputs;
        let sink = Sink::with_period(history_output, log_output, Duration::from_micros(100));
        let lanes: Vec<Lane> = sessions.iter().map(|_| sink.lane()).collect();
        sink.begin(|lines| {
            lines.history.extend(b"{\"isoscope\":\"history\",\"version\":1,\"marks\":true}\n");
            lines.log.extend(b"header\n");
        });
        let since = |moment: Instant| moment.duration_since(sink.epoch()).as_nanos();
        std::thread::scope(|scope| {
            for (session, (lengths, lane)) in sessions.iter().zip(lanes).enumerate() {
                scope.spawn(move || {
                    for (number, &length) in lengths.iter().enumerate() {
                        let invoked = Instant::now();
                        lane.reach(invoked);
                        std::thread::yield_now();
                        let times = [since(invoked), since(Instant::now())];
                        lane.push(|lines| {
                            lines.history.extend(txn(session, number, times, length).bytes());
                            lines.log.extend(txn(session, number, times, length / 2).bytes());
                        });
                    }
                    lane.finish();
                });
            }
        });
        sink.finish().unwrap();
        [history, log].map(|shown| String::from_utf8(shown.0.lock().unwrap().clone()).unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Concurrent lanes overflow repeatedly: the headers come first, nothing is lost, sessions keep their order, no mark
        /// claims too much, and the reader accepts the complete history.
        #[test]
        fn large_lanes_make_readable_files(
            sessions in prop::collection::vec(
                prop::collection::vec(prop_oneof![0..100usize, 0..FULL / 4, FULL - 99..FULL + FULL / 2], 0..8),
                1..5,
            ),
        ) {
            let [history, log] = recorded(&sessions);
            let (header, log_header) = (history.lines().next().unwrap(), log.lines().next().unwrap());
            prop_assert!(header.contains("isoscope") && log_header == "header");
            let has_end = history.ends_with("\"mark\":\"end\"}\n");
            prop_assert!(has_end);
            let mut next = vec![0; sessions.len()];
            let mut mark = 0;
            for line in history.lines().skip(1) {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                let Some(session) = line["session"].as_u64() else {
                    mark = line["mark"].as_u64().unwrap_or(u64::MAX);
                    continue;
                };
                prop_assert!(line["times"][0].as_u64().unwrap() >= mark, "it should be above the mark");
                prop_assert_eq!(line["txn"].as_u64(), Some(next[session as usize]));
                next[session as usize] += 1;
            }
            let expected: Vec<u64> = sessions.iter().map(|lengths| lengths.len() as u64).collect();
            prop_assert_eq!(&next, &expected);
            prop_assert_eq!(log.lines().count() as u64, 1 + expected.iter().sum::<u64>());
            let options = ReadOptions { format: Some(Format::Native), ..ReadOptions::default() };
            let reading = read(&Input::text("recorded", &history), &options).unwrap();
            let is_whole = reading.history.txn_count() as u64 == expected.iter().sum::<u64>();
            prop_assert!(is_whole);
        }
    }

    /// A session that has not finished may have been in the middle of a transaction.
    #[test]
    fn without_all_sessions_there_is_no_end_mark() {
        let shown = Shown(Arc::default(), usize::MAX);
        let sink = Sink::new(Some(Box::new(shown.clone())), None);
        sink.begin(|lines| lines.history.extend(b"header\n"));
        sink.lane().finish();
        let left = sink.lane();
        left.reach(Instant::now());
        drop(left);
        sink.finish().unwrap();
        let text = String::from_utf8(shown.0.lock().unwrap().clone()).unwrap();
        assert!(!text.contains("end") && text.lines().count() == 2, "{text}");
    }

    #[test]
    fn a_full_disk_is_an_error_and_keeps_what_was_written() {
        let shown = Shown(Arc::default(), 10);
        let sink = Sink::new(None, Some(Box::new(shown.clone())));
        let lane = sink.lane();
        for _ in 0..3 {
            lane.push(|lines| lines.log.extend(b"12345\n"));
        }
        let error = sink.finish().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(*shown.0.lock().unwrap(), b"12345\n1234");
    }
}
