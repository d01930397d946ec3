//! Where the run comes from: files, or a recording made for the prediction.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use isoscope_log::{LogHeader, Reader};
use isoscope_workload::Distribution;

use crate::args::{DatabaseArgs, LoadArgs, PredictArgs, PredictRecordArgs, WorkloadArg};
use crate::commands::outputs::OutputFile;
use crate::commands::record::Load;
use crate::exit::Exit;
use crate::terminal::{self, Terminal};

/// The files of a run.
pub(super) struct Files {
    pub(super) history: PathBuf,
    pub(super) log: Option<PathBuf>,
    /// The directory of a recording that was made for the prediction.
    directory: Option<tempfile::TempDir>,
}

impl Files {
    /// The files that the arguments name, or those of a new recording.
    pub(super) fn new(args: &PredictArgs, seed: u64, terminal: &Terminal) -> Result<Files, Exit> {
        match &args.history {
            Some(history) => Ok(Files { history: history.clone(), log: args.log.clone(), directory: None }),
            None => record(&args.record, seed, terminal),
        }
    }

    /// The header of the log.
    pub(super) fn header(&self, terminal: &Terminal) -> Result<Option<LogHeader>, Exit> {
        let Some(path) = &self.log else { return Ok(None) };
        let failed = |error: String| {
            terminal.error(&format!("{}: {error}", path.display()));
            Exit::Failed
        };
        let file = std::fs::File::open(path).map_err(|error| failed(error.to_string()))?;
        let reader = Reader::new(BufReader::new(file))
            .map_err(|error| failed(format!("this is not a log of `isoscope record --log`: {error}")))?;
        Ok(Some(reader.header().clone()))
    }

    /// Keeps the files of a recording if `wanted`, because the report points into them, and says where they are.
    pub(super) fn settle(self, wanted: bool) {
        if let Some(directory) = self.directory.filter(|_| wanted) {
            let path = directory.keep();
            let named = |name: &str| path.join(name).display().to_string();
            let text = format!("the run is in {} and {}", named(HISTORY), named(LOG));
            terminal::say_note(&text);
        }
    }
}

const HISTORY: &str = "run.jsonl";
const LOG: &str = "run.log";

/// Records a run in a temporary SQLite database.
fn record(args: &PredictRecordArgs, seed: u64, terminal: &Terminal) -> Result<Files, Exit> {
    let directory = tempfile::Builder::new().prefix("isoscope-predict-").tempdir().map_err(|error| {
        terminal.error(&format!("cannot create a temporary directory: {error}"));
        Exit::Failed
    })?;
    let (history, log) = (directory.path().join(HISTORY), directory.path().join(LOG));
    let database = DatabaseArgs { url: None, start: None, set: Vec::new() };
    let load_args = load(args, seed, &log);
    let mut load = Load::new(&database, &load_args, Some(&history), terminal)?;
    terminal.note(&format!(
        "recording {} in {} at {}",
        load.recording.workload_name(),
        load.recording.version(),
        load.recording.isolation()
    ));
    let (file, output) = OutputFile::open(&history, terminal)?;
    let recorded = load.record(Some(&file), output, &load_args, terminal)?;
    let exit = recorded.exit(terminal);
    if exit != Exit::Holds {
        return Err(exit);
    }
    terminal.note(&recorded.text());
    Ok(Files { history, log: Some(log), directory: Some(directory) })
}

/// The arguments of the recording. SQLite refuses writers that wait too long, so transactions are retried.
fn load(args: &PredictRecordArgs, seed: u64, log: &Path) -> LoadArgs {
    const RETRIES: u32 = 1000;
    LoadArgs {
        isolation: None,
        lock_timeout: Duration::from_secs(5),
        workload: args.record.unwrap_or(WorkloadArg::SmallBank),
        sessions: args.sessions,
        txns: Some(args.txns),
        duration: None,
        ops: 4,
        keys: args.keys,
        size: args.size,
        reads: 0.5,
        aborts: 0.0,
        // A few rows are used more often than others, so that transactions meet.
        distribution: match args.record {
            None | Some(WorkloadArg::SmallBank | WorkloadArg::Bank) => {
                Distribution::Hotspot { keys: 0.2, ops: 0.5 }
            }
            _ => Distribution::Uniform,
        },
        duplicates: None,
        retries: RETRIES,
        seed: Some(seed),
        fault: Vec::new(),
        log: Some(log.to_owned()),
        keep_tables: false,
    }
}
