//! What the commands about definitions share: finding definitions, errors in the level language, limits and progress.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) use isoscope::report::full_name;
use isoscope::visible;
use isoscope_levels::language::{Definition, Error, Library};
use isoscope_synth::{Evidence, Figures, Problem, Scope, SmallHistory, Smallest, Watch, allows, smallest};
use serde_json::{Value, json};

use crate::args::{ScopeArgs, Timeout, definition_file};
use crate::exit::Exit;
use crate::terminal::{ERROR, FRAME, Terminal, styled};

/// The longest search for a witness to show.
const WITNESS_TIME: Duration = Duration::from_secs(10);

/// The shipped definitions and those of files, each of which is read once.
pub(crate) struct Definitions<'t> {
    pub(crate) library: Library,
    /// The files and the full names of their levels.
    files: Vec<(PathBuf, Vec<String>)>,
    terminal: &'t Terminal,
}

impl<'t> Definitions<'t> {
    /// The shipped definitions.
    pub(crate) fn new(terminal: &'t Terminal) -> Self {
        Definitions { library: Library::shipped().clone(), files: Vec::new(), terminal }
    }

    /// The shipped definitions and those of some files. Errors are printed.
    pub(crate) fn with<'f>(
        files: impl IntoIterator<Item = &'f Path>,
        terminal: &'t Terminal,
    ) -> Result<Self, Exit> {
        let mut definitions = Definitions::new(terminal);
        let read: Vec<bool> = files.into_iter().map(|file| definitions.load(file).is_ok()).collect();
        if read.contains(&false) { Err(Exit::Failed) } else { Ok(definitions) }
    }

    /// Reads a file and returns the full names of its levels.
    pub(crate) fn load(&mut self, file: &Path) -> Result<Vec<String>, Exit> {
        if let Some((_, names)) = self.files.iter().find(|(known, _)| known == file) {
            return Ok(names.clone());
        }
        let shown = visible(&file.display().to_string());
        let text = fs::read(file)
            .map_err(|error| error.to_string())
            .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is not text in UTF-8".to_owned()));
        let text = text.map_err(|error| {
            self.terminal.error(&format!("cannot read {shown}: {error}"));
            Exit::Failed
        })?;
        let text = text.trim_start_matches('\u{feff}');
        let added = match self.library.add(text) {
            Ok(added) => added.iter().map(full_name).collect::<Vec<_>>(),
            Err(mut error) => {
                let is_named = |full: &&String| {
                    full.split_once('@').is_some_and(|(name, framework)| {
                        error.message == format!("`{name}` is already defined in {framework}")
                    })
                };
                if let Some((first, _)) =
                    self.files.iter().find(|(_, names)| names.iter().any(|one| is_named(&one)))
                {
                    let first = visible(&first.display().to_string());
                    error.help = format!("{first} defines it; the files of a command share their names");
                }
                report(&error, &shown, text, self.terminal);
                return Err(Exit::Failed);
            }
        };
        if added.is_empty() {
            self.terminal.error(&format!("{shown} defines no level"));
            return Err(Exit::Failed);
        }
        self.files.push((file.to_owned(), added.clone()));
        Ok(added)
    }

    /// The definitions that a text names: all levels of `FILE.iso`, or one. Errors are printed.
    pub(crate) fn find_all(&mut self, text: &str) -> Result<Vec<Definition>, Exit> {
        let names = match definition_file(text) {
            None => vec![text.to_owned()],
            Some((file, None)) => self.load(file)?,
            Some((file, Some(name))) => {
                let names = self.load(file)?;
                let of_name = |full: &&String| {
                    let (name, framework) = name.split_once('@').unwrap_or((name, ""));
                    full.split_once('@').is_some_and(|(level, of)| {
                        level == name && of.starts_with(&framework.to_ascii_lowercase())
                    })
                };
                let found: Vec<String> = names.iter().filter(of_name).cloned().collect();
                if found.is_empty() {
                    let shown = visible(&file.display().to_string());
                    let message =
                        format!("{shown} does not define `{name}`; it defines {}", names.join(", "));
                    self.terminal.error(&message);
                    return Err(Exit::Usage);
                }
                found
            }
        };
        names.iter().map(|name| self.named(name)).collect()
    }

    /// The definition that a text names: the last level of `FILE.iso`. Errors are printed.
    pub(crate) fn find(&mut self, text: &str) -> Result<Definition, Exit> {
        let mut found = self.find_all(text)?;
        if let (Some((_, Some(_))), [first, _, ..]) = (definition_file(text), &found[..]) {
            let name = full_name(first);
            let message = format!(
                "{} is defined in {} frameworks: write {name}, for example",
                visible(text),
                found.len()
            );
            self.terminal.error(&message);
            return Err(Exit::Usage);
        }
        found.pop().ok_or(Exit::Usage)
    }

    fn named(&self, name: &str) -> Result<Definition, Exit> {
        self.library.find(name).cloned().map_err(|error| {
            self.terminal.error(&format!("{error}; `isoscope lattice` lists the definitions"));
            Exit::Usage
        })
    }
}

/// The most characters of a line of a definition, and of a message about it.
const LONGEST: usize = 160;

/// Prints an error of the level language with the line it points at. Of a long line, the part around the place is shown.
pub(crate) fn report(error: &Error, name: &str, text: &str, terminal: &Terminal) {
    let (line, column) = error.position(text);
    let source = text.lines().nth(line - 1).unwrap_or_default();
    let rest = source.chars().count().saturating_sub(column - 1).max(1);
    let length = text.get(error.span.clone()).map_or(1, |part| part.chars().count()).clamp(1, rest);
    let from =
        if column > LONGEST / 2 && source.chars().count() > LONGEST { column - LONGEST / 2 } else { 0 };
    let shown = |from: usize, count: usize| -> String {
        visible(&source.chars().skip(from).take(count).collect::<String>().replace('\t', " "))
    };
    let before = format!("{}{}", if from > 0 { ".." } else { "" }, shown(from, column - 1 - from));
    let marked = shown(column - 1, length.min(LONGEST / 2));
    let after = shown(column - 1 + length, LONGEST / 2);
    let is_cut = length > LONGEST / 2 || source.chars().count() > column - 1 + length + LONGEST / 2;
    let carets = styled(ERROR, "^".repeat(marked.chars().count().max(1)));
    let source =
        if length > LONGEST / 2 { format!("{before}{marked}") } else { format!("{before}{marked}{after}") };
    let source = format!("{source}{}", if is_cut { ".." } else { "" });
    let said: String = error.message.chars().take(LONGEST).collect();
    let said =
        format!("{}{}", visible(&said), if error.message.chars().count() > LONGEST { ".." } else { "" });
    let margin = " ".repeat(line.to_string().len());
    let bar = styled(FRAME, "|");
    let arrow = styled(FRAME, "-->");
    let mut message = format!(
        "{said}\n{margin}{arrow} {name}:{line}:{column}\n{margin} {bar}\n{} {bar} {source}\n{margin} {bar} {}{carets}",
        styled(FRAME, line),
        " ".repeat(before.chars().count()),
    );
    if !error.help.is_empty() {
        message += &format!("\n{margin} = help: {}", error.help);
    }
    terminal.error(&message);
}

/// The scope and the time in which a definition is examined before a history is checked.
const EXAMINED: (usize, usize, Duration) = (3, 2, Duration::from_secs(1));

/// Warns of definitions by which a history is checked, and which allow no small history or all of them. Says nothing else, and
/// nothing if there is no time.
pub(crate) fn examine(definitions: &[Definition], limit: Option<Duration>, terminal: &Terminal) {
    struct Silent<'t>(Limited<'t>);
    impl Watch for Silent<'_> {
        fn stops(&mut self) -> bool {
            self.0.stops()
        }
    }
    let (txns, keys, time) = EXAMINED;
    let mut watch = Silent(Limited::within(limit.map_or(time, |limit| limit.min(time)), terminal));
    for definition in definitions {
        warn_of_extremes(definition, Scope::new(txns, keys), &mut watch, terminal);
    }
}

/// Warns of a definition of the user that allows no history of a scope, or all of them.
pub(crate) fn warn_of_extremes(
    definition: &Definition,
    scope: Scope,
    watch: &mut dyn Watch,
    terminal: &Terminal,
) {
    if Library::is_shipped(definition) {
        return;
    }
    let allow = Problem { allow: vec![definition], ..Problem::default() };
    let forbid = Problem { forbid: vec![definition], ..Problem::default() };
    for (problem, what) in [(allow, "no history"), (forbid, "every history")] {
        let Smallest { histories, stopped } = smallest(&problem, scope, 1, watch);
        if histories.is_empty() && stopped.is_none() {
            let name = full_name(definition);
            terminal.warning(&format!("{name} allows {what} within {}", words(scope)));
        }
    }
}

impl ScopeArgs {
    /// The scope of the search.
    pub(crate) fn scope(&self) -> Scope {
        let mut scope = Scope::new(self.txns.into(), self.keys.into());
        scope.values = self.values.map(usize::from);
        scope.sessions = self.sessions.map(usize::from);
        scope.chains = !self.isolde;
        scope.reads_before_writes = self.isolde;
        scope
    }

    /// The scope as data.
    pub(crate) fn json(&self) -> Value {
        let ScopeArgs { txns, keys, values, sessions, isolde, .. } = self;
        json!({ "txns": txns, "keys": keys, "values": values, "sessions": sessions, "isolde": isolde })
    }

    /// The scope in words.
    pub(crate) fn words(&self) -> String {
        words(self.scope())
    }
}

/// A scope in words.
fn words(scope: Scope) -> String {
    let words = format!("{} and {}", counted(scope.txns, "transaction"), counted(scope.keys, "key"));
    let limit =
        |limit: Option<usize>, what| limit.map(|n| format!(", {}", counted(n, what))).unwrap_or_default();
    words + &limit(scope.values, "value") + &limit(scope.sessions, "session")
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The time limit of a search, and its progress with `--verbose`.
pub(crate) struct Limited<'t> {
    terminal: &'t Terminal,
    start: Instant,
    limit: Option<Duration>,
}

impl<'t> Limited<'t> {
    pub(crate) fn new(args: &ScopeArgs, terminal: &'t Terminal) -> Self {
        let limit = match args.timeout {
            Timeout::Never => None,
            Timeout::After(time) => Some(time),
        };
        Limited { terminal, start: Instant::now(), limit }
    }

    /// With this time.
    pub(crate) fn within(limit: Duration, terminal: &'t Terminal) -> Self {
        Limited { terminal, start: Instant::now(), limit: Some(limit) }
    }
}

impl Watch for Limited<'_> {
    fn stops(&mut self) -> bool {
        self.limit.is_some_and(|limit| self.start.elapsed() >= limit)
    }

    fn searched(&mut self, scope: Scope, figures: Figures) {
        self.terminal.detail(&format!(
            "{}, {}: {} candidates, {} witnesses learnt, {} variables, {} clauses, {} conflicts, {:.3} s",
            counted(scope.txns, "transaction"),
            counted(scope.keys, "key"),
            figures.candidates,
            figures.learnt,
            figures.variables,
            figures.clauses,
            figures.conflicts,
            figures.time.as_secs_f64()
        ));
    }
}

/// The levels of a node of a lattice, each with its frameworks.
pub(crate) fn names_of_node(node: &[usize], all: &[&Definition]) -> Vec<(String, String)> {
    let mut names: Vec<(String, String)> = Vec::new();
    for &one in node {
        let Definition { name, framework, .. } = all[one];
        match names.iter_mut().find(|(other, _)| other == name) {
            Some((_, frameworks)) => *frameworks += &format!(", {}", framework.keyword()),
            None => names.push((name.clone(), framework.keyword().to_owned())),
        }
    }
    names
}

/// What shows that a level allows a history, in words.
pub(crate) fn evidence(definition: &Definition, history: &SmallHistory) -> Option<(Evidence, String)> {
    let start = Instant::now();
    let evidence = allows(definition, history, &mut || start.elapsed() > WITNESS_TIME)??;
    let joined = |txns: &[usize], sign: &str| -> String {
        txns.iter().map(|txn| format!("T{txn}")).collect::<Vec<_>>().join(sign)
    };
    let mut words = Vec::new();
    if !evidence.order.is_empty() {
        words.push(joined(&evidence.order, " < "));
    }
    if evidence.framework == isoscope_levels::Framework::Visibility {
        let seen = |&(from, to): &(usize, usize)| format!("T{to} sees T{from}");
        let seen: Vec<String> = evidence.visible.iter().map(seen).collect();
        words.push(if seen.is_empty() { "no transaction sees another".to_owned() } else { seen.join(", ") });
    }
    for (key, writers) in &evidence.versions {
        words.push(format!("{key}: {}", joined(writers, " < ")));
    }
    if words.is_empty() {
        words.push("no key is written twice".to_owned());
    }
    let words = words.join("; ");
    Some((evidence, words))
}

/// The names of the anomalies that a history shows at a level. If the level is not in the catalogue, these are those of the common
/// levels.
pub(crate) fn anomalies(definition: &Definition, history: &SmallHistory) -> Vec<String> {
    let Ok(history) = isoscope::parse(&history.to_string()) else { return Vec::new() };
    let check = isoscope::Check::new(&history);
    let report = match Library::decided_by(definition) {
        Some((level, _)) => check.level(level).run(),
        None => check.run(),
    };
    let mut names: Vec<String> = Vec::new();
    for name in report.anomalies().map(|finding| finding.anomaly.to_string()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The strongest common levels that allow a history.
pub(crate) fn allowed_by_common(history: &SmallHistory) -> Vec<String> {
    let Ok(history) = isoscope::parse(&history.to_string()) else { return Vec::new() };
    let report = isoscope::Check::new(&history).run();
    report.strongest_holding.iter().map(ToString::to_string).collect()
}
