//! Standard output and error: colours, progress bars, and write failures.

use std::io::{self, Write};
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use isoscope::Role;

use crate::args::{ColorWhen, Global};

/// The styles in use, by meaning.
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const NOTE: Style = AnsiColor::Cyan.on_default().bold();
pub(crate) const FRAME: Style = AnsiColor::Blue.on_default().bold();

/// A text in a style.
pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Emphasis of reports on a terminal. If colours are off, the stream removes them.
pub(crate) struct Ansi;

impl isoscope::Style for Ansi {
    fn paint(&self, role: Role, text: &str) -> String {
        let style = match role {
            Role::Title => BOLD,
            Role::Aside => DIM,
            Role::Bad => ERROR,
            Role::Doubtful => WARNING,
            Role::Good => GOOD,
            Role::Frame => FRAME,
            _ => Style::new(),
        };
        styled(style, text)
    }
}

/// The output streams and their verbosity.
pub(crate) struct Terminal {
    quiet: bool,
    verbose: bool,
    lost: AtomicBool,
}

impl Terminal {
    pub(crate) fn new(global: &Global) -> Terminal {
        let choice = match global.color {
            ColorWhen::Auto => anstream::ColorChoice::Auto,
            ColorWhen::Always => anstream::ColorChoice::Always,
            ColorWhen::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
        Terminal { quiet: global.quiet, verbose: global.verbose, lost: AtomicBool::new(false) }
    }

    /// Prints a result. A closed pipe (`| head`) is not a failure; any other failure is recorded for [`Terminal::lost_output`].
    pub(crate) fn print(&self, text: &str) {
        let mut out = anstream::stdout().lock();
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush())
            && error.kind() != io::ErrorKind::BrokenPipe
            && !self.lost.swap(true, Ordering::Relaxed)
        {
            self.error(&format!("cannot write to standard output: {error}"));
        }
    }

    /// Whether a result could not be printed.
    pub(crate) fn lost_output(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Prints a note on standard error unless `--quiet`.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            say(&format!("{}: {text}\n", styled(NOTE, "note")));
        }
    }

    /// Prints a warning on standard error unless `--quiet`.
    pub(crate) fn warning(&self, text: &str) {
        self.message(&format!("{}: {text}\n", styled(WARNING, "warning")));
    }

    /// Prints a line on standard error if `--verbose`.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbose {
            say(&format!("{text}\n"));
        }
    }

    /// Prints a text on standard error unless `--quiet`.
    pub(crate) fn message(&self, text: &str) {
        if !self.quiet {
            say(text);
        }
    }

    /// Prints an error, whatever the options.
    #[allow(clippy::unused_self, reason = "all output goes through the terminal")]
    pub(crate) fn error(&self, text: &str) {
        say(&format!("{}: {text}\n", styled(ERROR, "error")));
    }

    /// Whether `--verbose` was given.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Whether `--quiet` was given.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// A progress bar on standard error, shown only on a terminal.
    pub(crate) fn progress(&self, what: &str, total: Option<u64>, unit: Unit) -> ProgressBar {
        let amounts = match (unit, total) {
            (Unit::Bytes, Some(_)) => "{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
            (Unit::Bytes, None) => "{spinner} {bytes}, {bytes_per_sec}",
            (Unit::Count, Some(_)) => "{wide_bar} {human_pos} of {human_len}, {eta} left",
            (Unit::Count, None) => "{spinner} {human_pos}",
        };
        let bar = self.bar(total, &format!("{{msg}} {amounts}"));
        bar.set_message(what.to_owned());
        bar
    }

    /// A progress bar whose message, at its end, shows the rate.
    pub(crate) fn rate(&self, what: &str, total: u64) -> ProgressBar {
        self.bar(Some(total), &format!("{what} {{wide_bar}} {{percent}} % {{msg}}"))
    }

    fn bar(&self, total: Option<u64>, template: &str) -> ProgressBar {
        let target =
            if self.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(8) };
        let bar = ProgressBar::with_draw_target(total, target);
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(250));
        bar
    }
}

/// What a progress bar counts.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Bytes,
    Count,
}

/// Writes a note to standard error.
pub(crate) fn say_note(text: &str) {
    say(&format!("{}: {text}\n", styled(NOTE, "note")));
}

/// Writes to standard error.
pub(crate) fn say(text: &str) {
    // If standard error fails, the failure cannot be reported anywhere.
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// Limits the number of threads.
pub(crate) fn set_threads(threads: usize) -> Result<(), rayon::ThreadPoolBuildError> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()
}

/// Reports a panic as an internal error, with its exit code.
pub(crate) fn report_panic(info: &PanicHookInfo<'_>) {
    say(&format!(
        "{}: {info}\n  this is a bug in isoscope; please report it with the command line and the input\n",
        styled(ERROR, "internal error")
    ));
    std::process::exit(255);
}
