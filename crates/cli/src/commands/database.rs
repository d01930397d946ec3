//! What all commands that talk to a database share: which one, and a server of our own where none is at hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use isoscope_record::{Database, OpenError, Options, Server, ServerError, Target};

use crate::args::DatabaseArgs;
use crate::exit::Exit;
use crate::terminal::Terminal;

/// A database to work on.
pub(crate) struct Chosen {
    pub(crate) target: Target,
    /// The server, if it was started for this; it stops when this is dropped.
    pub(crate) server: Option<Server>,
}

impl Chosen {
    /// The database that the arguments name, with room for so many sessions if it is started. Says itself what is
    /// wrong with them.
    pub(crate) fn new(args: &DatabaseArgs, sessions: u32, terminal: &Terminal) -> Result<Chosen, Exit> {
        let server = match args.start {
            None => None,
            Some(kind) => {
                terminal.detail(&format!("starting {}", kind.0.name()));
                let started = Server::start(kind.0, &settings(args, sessions)).map_err(|error| {
                    terminal.error(&error.to_string());
                    if matches!(error, ServerError::Setting(_)) { Exit::Usage } else { Exit::Failed }
                });
                Some(started?)
            }
        };
        let url = match (&args.url, &server) {
            (Some(url), _) => url.clone(),
            (None, Some(server)) => server.url(),
            (None, None) => "sqlite:".to_owned(),
        };
        let target = Target::parse(&url).map_err(|error| {
            terminal.error(&error.to_string());
            Exit::Usage
        })?;
        Ok(Chosen { target, server })
    }

    /// Opens it at an isolation level. Says itself why it cannot.
    pub(crate) fn open(
        &self,
        isolation: Option<&str>,
        options: &Options,
        terminal: &Terminal,
    ) -> Result<Arc<dyn Database>, Exit> {
        self.target.open(isolation, options).map(Arc::from).map_err(|error| refuse(&error, terminal))
    }
}

/// The settings of a private server. Those of the user come last, and count.
fn settings(args: &DatabaseArgs, sessions: u32) -> Vec<String> {
    /// Connections besides those of the sessions: to watch and to clean up, and some that were lost and are not closed yet.
    const SPARE: u32 = 50;
    let needed = sessions.saturating_add(SPARE);
    let raised = (needed > Server::CONNECTIONS).then(|| format!("max_connections={needed}"));
    raised.into_iter().chain(args.set.iter().cloned()).collect()
}

/// Says why a database cannot be opened.
pub(crate) fn refuse(error: &OpenError, terminal: &Terminal) -> Exit {
    terminal.error(&error.to_string());
    match error {
        OpenError::Failure(_) => Exit::Failed,
        OpenError::Target(_) | OpenError::Isolation(_) | OpenError::Memory => Exit::Usage,
    }
}

/// What the first ^C does: it stops a run after the transactions it is at, or a script after its step. The second one ends
/// everything; the server's watcher sees to the server then.
pub(crate) fn on_interrupt(stop: impl Fn() + Send + 'static, terminal: &Terminal) {
    let interrupted = AtomicBool::new(false);
    let handler = move || {
        if !interrupted.swap(true, Ordering::Relaxed) {
            crate::terminal::say("\nstopping after what is under way; ^C again ends at once\n");
            stop();
            return;
        }
        std::process::exit(255);
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        terminal.warning(&format!("^C will not stop in an orderly way: {error}"));
    }
}

/// A flag that ^C sets.
pub(crate) fn stop_flag(terminal: &Terminal) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&flag);
    on_interrupt(move || other.store(true, Ordering::Relaxed), terminal);
    flag
}
