//! Where records go: files that grow while sessions run.
//!
//! Every session has a lane, a buffer of whole lines that only it fills. A thread empties all lanes into the files
//! [four times a second](PERIOD), so a crash of the recorder loses less than a second, whole lines apart from perhaps
//! the last; and a lane that fills up faster empties itself. Sessions never wait for the disk otherwise.
//!
//! Invariant: the lines of one lane stand in the file in the order they were pushed, since a lane stays locked from
//! being emptied until its bytes are in the file.
//!
//! A file that cannot be written to (the disk is full) fails the sink: the run is told by [`Sink::failed`] and ends,
//! what was written before stays, and [`Sink::finish`] says why.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often lanes are emptied.
const PERIOD: Duration = Duration::from_millis(250);
/// A lane that holds more empties itself.
const FULL: usize = 1 << 20;

/// Anything that lines can be written to.
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
    lanes: Mutex<Vec<Arc<Mutex<Lines>>>>,
    failed: AtomicBool,
    has_log: bool,
}

struct Files {
    history: Option<Output>,
    log: Option<Output>,
    error: Option<io::Error>,
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
    /// A sink that writes to these files, where there are any.
    pub fn new(history: Option<Output>, log: Option<Output>) -> Sink {
        let has_log = log.is_some();
        let shared = Arc::new(Shared {
            files: Mutex::new(Files { history, log, error: None }),
            lanes: Mutex::new(Vec::new()),
            failed: AtomicBool::new(false),
            has_log,
        });
        let (stop, stopped) = mpsc::channel();
        let other = Arc::clone(&shared);
        let flusher = std::thread::spawn(move || {
            while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                other.flush();
            }
        });
        Sink { epoch: Instant::now(), shared, flusher: Some(flusher), stop }
    }

    /// When the recording began: the moment that times in its files count from.
    pub fn epoch(&self) -> Instant {
        self.epoch
    }

    /// A lane for a session.
    pub fn lane(&self) -> Lane {
        let lines = Arc::new(Mutex::new(Lines::default()));
        lock(&self.shared.lanes).push(Arc::clone(&lines));
        Lane { lines, shared: Arc::clone(&self.shared) }
    }

    /// Whether statements are wanted.
    pub fn has_log(&self) -> bool {
        self.shared.has_log
    }

    /// Whether a file could not be written to.
    pub fn failed(&self) -> bool {
        self.shared.failed.load(Ordering::Relaxed)
    }

    /// Writes what is left and closes the files.
    pub fn finish(mut self) -> io::Result<()> {
        self.end();
        let mut files = lock(&self.shared.files);
        files.history = None;
        files.log = None;
        files.error.take().map_or(Ok(()), Err)
    }

    fn end(&mut self) {
        let Some(flusher) = self.flusher.take() else { return };
        // A flusher that is gone has nothing to be told.
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
    lines: Arc<Mutex<Lines>>,
    shared: Arc<Shared>,
}

impl Lane {
    /// Appends lines, each whole and with its newline.
    pub fn push(&self, append: impl FnOnce(&mut Lines)) {
        let mut lines = lock(&self.lines);
        append(&mut lines);
        if lines.history.len().max(lines.log.len()) > FULL {
            self.shared.empty(&mut lines);
        }
    }

    /// Whether statements are wanted.
    pub fn has_log(&self) -> bool {
        self.shared.has_log
    }
}

impl Shared {
    fn flush(&self) {
        let lanes = lock(&self.lanes).clone();
        for lane in lanes {
            self.empty(&mut lock(&lane));
        }
        let Files { history, log, error } = &mut *lock(&self.files);
        for file in [history, log].into_iter().flatten() {
            let flushed = file.flush();
            self.note(flushed, error);
        }
    }

    fn empty(&self, lines: &mut Lines) {
        let Files { history, log, error } = &mut *lock(&self.files);
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

/// Locks. A thread that panicked left whole lines behind, or none.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that others can look into, with room for so many bytes.
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

    #[test]
    fn a_full_disk_keeps_what_fits_and_says_so() {
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
