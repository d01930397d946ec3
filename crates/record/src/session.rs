//! A session on a thread of its own, for runners that go on while a statement waits for a lock.
//!
//! A session does one job at a time: whatever a closure does with its connection. A runner never waits for a session without
//! a limit. It abandons a thread that hangs in its connection, so that the run does not hang with it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::database::{Class, Connection, ConnectionId, Control, Database, Failure};

/// What a session does, and what it answers.
type Job<T> = Box<dyn FnOnce(&mut dyn Connection) -> Result<T, Failure> + Send>;

/// A session whose jobs have the answer `T`.
pub struct Session<T> {
    id: Option<ConnectionId>,
    jobs: Sender<Job<T>>,
    replies: Receiver<Result<T, Failure>>,
    thread: JoinHandle<()>,
    /// Whether a job was sent and is not answered yet.
    is_busy: bool,
}

impl<T: Send + 'static> Session<T> {
    /// Opens a connection to a database.
    pub fn open(database: &dyn Database) -> Result<Session<T>, Failure> {
        let mut connection = database.connect()?;
        let id = connection.id();
        let (jobs, inbox) = channel::<Job<T>>();
        let (outbox, replies) = channel();
        let work = move || {
            for job in inbox {
                let reply = job(connection.as_mut());
                if outbox.send(reply).is_err() {
                    break;
                }
            }
            // `close` takes the end of the replies as the sign that the connection is closed, so keep this order.
            drop(connection);
            drop(outbox);
        };
        let thread = std::thread::Builder::new().spawn(work).map_err(|error| Failure {
            class: Class::Other,
            code: None,
            message: format!("cannot start a thread for a session: {error}"),
        })?;
        Ok(Session { id, jobs, replies, thread, is_busy: false })
    }

    /// The id of the connection; `None` if there is no server.
    pub fn id(&self) -> Option<ConnectionId> {
        self.id
    }

    /// Whether a job was sent and its answer was not collected yet.
    pub fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Sends a job. The session must have answered all earlier ones.
    pub fn tell(&mut self, job: impl FnOnce(&mut dyn Connection) -> Result<T, Failure> + Send + 'static) {
        debug_assert!(!self.is_busy, "a session does one job at a time");
        // If the thread has ended, its side of the replies is closed too, and `reply` reports that.
        drop(self.jobs.send(Box::new(job)));
        self.is_busy = true;
    }

    /// The answer, if it arrives within the time.
    pub fn reply(&mut self, within: Duration) -> Option<Result<T, Failure>> {
        let reply = match self.replies.recv_timeout(within) {
            Ok(reply) => reply,
            Err(RecvTimeoutError::Timeout) => return None,
            Err(RecvTimeoutError::Disconnected) => Err(Failure {
                class: Class::Connection,
                code: None,
                message: "the session's thread has ended".to_owned(),
            }),
        };
        self.is_busy = false;
        Some(reply)
    }

    /// Closes the connection. A thread that does not end in time is abandoned.
    pub fn close(self, limit: Duration) {
        let Session { jobs, replies, thread, .. } = self;
        drop(jobs);
        let end = Instant::now() + limit;
        while let Ok(_late) = replies.recv_timeout(end.saturating_duration_since(Instant::now())) {}
        if matches!(replies.try_recv(), Err(TryRecvError::Disconnected)) {
            // A panic of the thread was already reported: its last reply was a failure.
            drop(thread.join());
        }
    }

    /// Kills the connection of a session that does not answer, if the database supports that.
    pub fn kill(&self, control: Option<&mut (dyn Control + '_)>) {
        if let (Some(control), Some(id)) = (control, self.id) {
            // If this fails, the connection may still end by itself; nothing else can be done.
            drop(control.kill(id));
        }
    }
}
