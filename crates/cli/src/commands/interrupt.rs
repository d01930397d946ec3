//! ^C, SIGTERM and SIGHUP: each phase of a command says how it ends early.
//!
//! The first interrupt of a phase ends the phase in order: a recording keeps its history, a check reports what is decided. A
//! second one in the same phase, or one outside of any phase, ends the process immediately; the watcher then stops the private
//! server. The handler belongs to the process, and so does its state.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use crate::exit::Exit;
use crate::terminal::{self, Terminal};

/// How the current phase ends early, until it has been asked to.
static ENDING: Mutex<Option<Ending>> = Mutex::new(None);
/// Whether a phase was interrupted.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

struct Ending {
    /// What happens now: `stopping after the current transactions`.
    announcement: &'static str,
    end: Box<dyn Fn() + Send>,
}

/// A phase of a command that interrupts end in order, until this is dropped.
#[must_use]
pub(crate) struct Phase(());

impl Drop for Phase {
    fn drop(&mut self) {
        *ending() = None;
    }
}

/// Begins a phase that `end` ends early.
pub(crate) fn phase(
    announcement: &'static str,
    end: impl Fn() + Send + 'static,
    terminal: &Terminal,
) -> Phase {
    static HANDLER: Once = Once::new();
    *ending() = Some(Ending { announcement, end: Box::new(end) });
    HANDLER.call_once(|| {
        if let Err(error) = ctrlc::set_handler(handle) {
            terminal.warning(&format!("cannot handle ^C, which will end the process immediately: {error}"));
        }
    });
    Phase(())
}

/// A phase that ends when the flag is set.
pub(crate) fn flagged(announcement: &'static str, terminal: &Terminal) -> (Phase, Arc<AtomicBool>) {
    let flag = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&flag);
    (phase(announcement, move || other.store(true, Ordering::Relaxed), terminal), flag)
}

/// Whether a phase was interrupted.
pub(crate) fn was_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

fn handle() {
    let Some(Ending { announcement, end }) = ending().take() else {
        std::process::exit(Exit::INTERRUPTED);
    };
    INTERRUPTED.store(true, Ordering::Relaxed);
    terminal::say(&format!("\n{announcement}; press ^C again to end immediately\n"));
    end();
}

fn ending() -> MutexGuard<'static, Option<Ending>> {
    ENDING.lock().unwrap_or_else(PoisonError::into_inner)
}
