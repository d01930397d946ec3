//! A session of a script: a thread that does what it is told over its connection, one thing at a time.
//!
//! Whoever tells it never waits for it without a limit. A thread that hangs in its connection is left behind, so that
//! nothing else hangs with it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Action;
use crate::database::{Answer, Class, Connection, ConnectionId, Database, Failure, Statement};

/// What comes of an action: an answer if it was a statement.
pub(super) type Reply = Result<Option<Answer>, Failure>;

pub(super) struct Session {
    id: Option<ConnectionId>,
    actions: Sender<Action>,
    replies: Receiver<Reply>,
    thread: JoinHandle<()>,
    /// Whether it was told something that is not answered yet.
    is_busy: bool,
}

impl Session {
    pub(super) fn open(database: &dyn Database) -> Result<Session, Failure> {
        let mut connection = database.connect()?;
        let id = connection.id();
        let (actions, inbox) = channel::<Action>();
        let (outbox, replies) = channel();
        let work = move || {
            for action in inbox {
                let reply = act(connection.as_mut(), &action);
                if outbox.send(reply).is_err() {
                    break;
                }
            }
            // The end of the replies is the sign that the connection is closed, so it comes second.
            drop(connection);
            drop(outbox);
        };
        let thread = std::thread::Builder::new().spawn(work).map_err(|error| Failure {
            class: Class::Other,
            code: None,
            message: format!("cannot start a thread for a session: {error}"),
        })?;
        Ok(Session { id, actions, replies, thread, is_busy: false })
    }

    pub(super) fn id(&self) -> Option<ConnectionId> {
        self.id
    }

    pub(super) fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Tells it what to do. It must have answered everything before.
    pub(super) fn tell(&mut self, action: &Action) {
        debug_assert!(!self.is_busy, "one thing at a time");
        // If the thread is gone, so is its end of the replies, and that is what the next look finds.
        drop(self.actions.send(action.clone()));
        self.is_busy = true;
    }

    /// What came of it, if it comes within the time.
    pub(super) fn reply(&mut self, within: Duration) -> Option<Reply> {
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

    /// Does something and awaits what comes of it.
    pub(super) fn call(&mut self, action: &Action, limit: Duration) -> Reply {
        self.tell(action);
        self.reply(limit).unwrap_or_else(|| {
            Err(Failure {
                class: Class::LockTimeout,
                code: None,
                message: format!("`{action}` was not answered within {} s", limit.as_secs_f64()),
            })
        })
    }

    /// Closes the connection. A thread that does not end in time is left behind.
    pub(super) fn close(self, limit: Duration) {
        let Session { actions, replies, thread, .. } = self;
        drop(actions);
        let end = Instant::now() + limit;
        while let Ok(_late) = replies.recv_timeout(end.saturating_duration_since(Instant::now())) {}
        if matches!(replies.try_recv(), Err(std::sync::mpsc::TryRecvError::Disconnected)) {
            // What a thread panicked with is of no use to anybody: its last reply was already a failure.
            drop(thread.join());
        }
    }
}

fn act(connection: &mut dyn Connection, action: &Action) -> Reply {
    match action {
        Action::Begin => connection.begin().map(|()| None),
        Action::Commit => connection.commit().map(|_| None),
        Action::Rollback => connection.rollback().map(|()| None),
        Action::Statement(sql) => connection.execute(Statement::plain(sql)).map(Some),
    }
}
