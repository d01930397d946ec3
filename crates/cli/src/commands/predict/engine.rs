//! `--engine`: predictions as scripts, and what became of them on a real database.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use isoscope_predict::{Engine, Prediction, Settings};
use isoscope_record::{Database, Options, ServerKind, Vendor, script};
use isoscope_reproduce::{Outcome, Reproduction, reproduce};
use isoscope_validate::Run;

use crate::args::{DatabaseArgs, PredictArgs, ServerArg};
use crate::commands::database::Chosen;
use crate::exit::Exit;
use crate::terminal::Terminal;

/// A prediction as a script, and what became of it.
pub(crate) struct Played {
    /// The script, or why there is none.
    pub(crate) script: Result<Reproduction, String>,
    /// Where the script is.
    pub(crate) file: Option<PathBuf>,
    /// What became of it, if there is a database.
    pub(crate) outcome: Option<Outcome>,
    /// The database.
    pub(crate) version: Option<String>,
}

/// The database that predictions are run on.
pub(super) struct Stage {
    database: Arc<dyn Database>,
    /// Stops its server, if it is a private one.
    _chosen: Chosen,
}

impl Stage {
    /// Opens the database that the arguments name, if they name one.
    pub(super) fn new(
        args: &PredictArgs,
        engine: Engine,
        terminal: &Terminal,
    ) -> Result<Option<Stage>, Exit> {
        if args.stage.validate.is_none() && args.stage.start.is_none() {
            return Ok(None);
        }
        let usage = |message: String| {
            terminal.error(&message);
            Exit::Usage
        };
        let (url, start) = (args.stage.validate.clone(), args.stage.start);
        let set = start.and(engine.setting()).map(str::to_owned).into_iter().collect();
        if let Some(ServerArg(kind)) = start
            && engine.is_mariadb() != (kind == ServerKind::MariaDb)
        {
            return Err(usage(format!("--engine {engine} is not an engine of {}", kind.name())));
        }
        let chosen = Chosen::new(&DatabaseArgs { url, start, set }, 0, terminal)?;
        let vendor = chosen.target.vendor();
        let is_its = match vendor {
            Vendor::Postgres => !engine.is_mariadb(),
            Vendor::MariaDb | Vendor::MySql => engine.is_mariadb(),
            _ => false,
        };
        if !is_its {
            return Err(usage(format!("--engine {engine} is not an engine of {vendor}")));
        }
        let options = Options { timestamps: false, ..script::connection_limits(vendor) };
        let database = chosen.open(Some(engine.isolation()), &options, terminal)?;
        Ok(Some(Stage { database, _chosen: chosen }))
    }
}

/// Makes the script of a prediction, writes it, and runs it.
pub(super) fn play(
    one: &Prediction,
    number: usize,
    (engine, settings): (Engine, &Settings),
    run: &Run<'_>,
    (out, stage): (Option<&Path>, Option<&Stage>),
    terminal: &Terminal,
) -> Result<Played, Exit> {
    let script = Reproduction::new(one, engine, run).map_err(|trouble| trouble.to_string());
    let mut played = Played { script, file: None, outcome: None, version: None };
    let Ok(script) = &played.script else { return Ok(played) };
    if let Some(directory) = out {
        let path = directory.join(format!("{number}.script"));
        std::fs::write(&path, &script.text).map_err(|error| {
            terminal.error(&format!("cannot write {}: {error}", path.display()));
            Exit::Failed
        })?;
        played.file = Some(path);
    }
    if let Some(stage) = stage {
        let options = script::Options::default();
        let report = reproduce(script, &*stage.database, settings.target, &options, &mut |_| {});
        (played.outcome, played.version) = (Some(report.outcome), Some(report.version));
    }
    Ok(played)
}
