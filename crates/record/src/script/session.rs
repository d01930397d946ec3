//! A session of a script: a thread that executes actions on its connection, one at a time.
//!
//! The runner never waits for a session without a limit. It abandons a thread that hangs in its connection, so that the
//! run does not hang with it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Action;
use crate::database::{Answer, Class, Connection, ConnectionId, Database, Failure, Statement};

/// The result of an action. It has an answer if the action was a statement.
pub(super) type Reply = Result<Option<Answer>, Failure>;

pub(super) struct Session {
    id: Option<ConnectionId>,
    actions: Sender<Action>,
    replies: Receiver<Reply>,
    thread: JoinHandle<()>,
    /// Whether an action was sent and is not answered yet.
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
            // `close` takes the end of the replies as the sign that the connection is closed, so keep this order.
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

    /// Sends an action. The session must have answered all earlier ones.
    pub(super) fn tell(&mut self, action: &Action) {
        debug_assert!(!self.is_busy, "a session executes one action at a time");
        // If the thread has ended, its side of the replies is closed too, and `reply` reports that.
        drop(self.actions.send(action.clone()));
        self.is_busy = true;
    }

    /// The result of the action, if it arrives within the time.
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

    /// Sends an action and waits for its result.
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

    /// Closes the connection. A thread that does not end in time is abandoned.
    pub(super) fn close(self, limit: Duration) {
        let Session { actions, replies, thread, .. } = self;
        drop(actions);
        let end = Instant::now() + limit;
        while let Ok(_late) = replies.recv_timeout(end.saturating_duration_since(Instant::now())) {}
        if matches!(replies.try_recv(), Err(std::sync::mpsc::TryRecvError::Disconnected)) {
            // A panic of the thread was already reported: its last reply was a failure.
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
