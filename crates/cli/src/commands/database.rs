//! Shared by the commands that use a database: selecting it, and starting a private server.

use std::sync::Arc;

use isoscope_record::{Database, OpenError, Options, Server, ServerError, Target};

use crate::args::DatabaseArgs;
use crate::exit::Exit;
use crate::terminal::Terminal;

/// A database to work on.
pub(crate) struct Chosen {
    pub(crate) target: Target,
    /// The private server, if one was started; it stops when this is dropped.
    pub(crate) server: Option<Server>,
}

impl Chosen {
    /// The database that the arguments select. A private server gets enough connections for `sessions`. Prints its own errors.
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

    /// Opens the database at an isolation level. Prints its own errors.
    pub(crate) fn open(
        &self,
        isolation: Option<&str>,
        options: &Options,
        terminal: &Terminal,
    ) -> Result<Arc<dyn Database>, Exit> {
        self.target.open(isolation, options).map(Arc::from).map_err(|error| refuse(&error, terminal))
    }
}

/// The settings of a private server. The user's settings come last and take precedence.
fn settings(args: &DatabaseArgs, sessions: u32) -> Vec<String> {
    /// Connections besides those of the sessions: for monitoring and cleanup, and lost ones that the server has not closed yet.
    const SPARE: u32 = 50;
    let needed = sessions.saturating_add(SPARE);
    let raised = (needed > Server::CONNECTIONS).then(|| format!("max_connections={needed}"));
    raised.into_iter().chain(args.set.iter().cloned()).collect()
}

/// Prints why a database cannot be opened.
pub(crate) fn refuse(error: &OpenError, terminal: &Terminal) -> Exit {
    terminal.error(&error.to_string());
    match error {
        OpenError::Failure(_) => Exit::Failed,
        OpenError::Target(_) | OpenError::Isolation(_) | OpenError::Memory => Exit::Usage,
    }
}
