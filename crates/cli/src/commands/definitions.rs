//! What the commands about definitions share: finding definitions, errors in the level language, limits and progress.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use isoscope::Level;
use isoscope_levels::language::{Definition, Error, Library};
use isoscope_synth::{Evidence, Figures, Problem, Scope, SmallHistory, Smallest, Watch, allows, smallest};

use crate::args::{ScopeArgs, Timeout};
use crate::terminal::{ERROR, FRAME, Terminal, styled};

/// The shipped definitions and those of some files. None if there was an error, which was printed.
pub(crate) fn library<'f>(files: impl IntoIterator<Item = &'f Path>, terminal: &Terminal) -> Option<Library> {
    let mut library = Library::shipped().clone();
    let mut is_good = true;
    for file in files {
        is_good &= add(&mut library, file, terminal).is_some();
    }
    is_good.then_some(library)
}

/// Adds the definitions of a file and returns the name of the last one.
fn add(library: &mut Library, file: &Path, terminal: &Terminal) -> Option<String> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            terminal.error(&format!("cannot read {}: {error}", file.display()));
            return None;
        }
    };
    match library.add(&text) {
        Ok(added) => added.last().map(|last| format!("{}@{}", last.name, last.framework.keyword())),
        Err(error) => {
            report(&error, &file.display().to_string(), &text, terminal);
            None
        }
    }
}

/// Prints an error of the level language with the line it points at.
pub(crate) fn report(error: &Error, name: &str, text: &str, terminal: &Terminal) {
    let (line, column) = error.position(text);
    let source = text.lines().nth(line - 1).unwrap_or_default();
    let rest = source.chars().count().saturating_sub(column - 1).max(1);
    let length = text.get(error.span.clone()).map_or(1, |part| part.chars().count()).clamp(1, rest);
    let margin = " ".repeat(line.to_string().len());
    let bar = styled(FRAME, "|");
    let arrow = styled(FRAME, "-->");
    let carets = styled(ERROR, "^".repeat(length));
    let mut message = format!(
        "{error}\n{margin}{arrow} {name}:{line}:{column}\n{margin} {bar}\n{} {bar} {source}\n{margin} {bar} {}{carets}",
        styled(FRAME, line),
        " ".repeat(column - 1),
    );
    if !error.help.is_empty() {
        message += &format!("\n{margin} = help: {}", error.help);
    }
    terminal.error(&message);
}

/// The definition of a name, which may be the name of a file. None if there is none, which was printed.
pub(crate) fn find(library: &mut Library, name: &str, terminal: &Terminal) -> Option<Definition> {
    let is_file = Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("iso"));
    let name = if is_file { add(library, Path::new(name), terminal)? } else { name.to_owned() };
    match library.find(&name) {
        Ok(definition) => Some(definition.clone()),
        Err(error) => {
            terminal.error(&format!("{error}; `isoscope lattice` lists the definitions"));
            None
        }
    }
}

/// Warns of a definition of the user that allows no history of a scope, or all of them.
pub(crate) fn warn_of_extremes(definition: &Definition, scope: Scope, watch: &mut Limited<'_>) {
    if Library::shipped().find(&full_name(definition)).is_ok() {
        return;
    }
    let allow = Problem { allow: vec![definition], ..Problem::default() };
    let forbid = Problem { forbid: vec![definition], ..Problem::default() };
    for (problem, what) in [(allow, "no history"), (forbid, "every history")] {
        let Smallest { histories, stopped } = smallest(&problem, scope, 1, watch);
        if histories.is_empty() && !stopped {
            let name = full_name(definition);
            watch.terminal.warning(&format!("{name} allows {what} within {} transactions", scope.txns));
        }
    }
}

/// `snapshot-isolation@visibility`
pub(crate) fn full_name(definition: &Definition) -> String {
    format!("{}@{}", definition.name, definition.framework.keyword())
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

    /// The scope in words.
    pub(crate) fn words(&self) -> String {
        let plural = |n: u8, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let mut words = format!("{} and {}", plural(self.txns, "transaction"), plural(self.keys, "key"));
        words += &self.values.map(|n| format!(", {}", plural(n, "value"))).unwrap_or_default();
        words + &self.sessions.map(|n| format!(", {}", plural(n, "session"))).unwrap_or_default()
    }
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
}

impl Watch for Limited<'_> {
    fn stops(&mut self) -> bool {
        self.limit.is_some_and(|limit| self.start.elapsed() >= limit)
    }

    fn searched(&mut self, scope: Scope, figures: Figures) {
        self.terminal.detail(&format!(
            "{} transactions, {} keys: {} candidates, {} witnesses learnt, {} variables, {} conflicts, {:.3} s",
            scope.txns,
            scope.keys,
            figures.candidates,
            figures.learnt,
            figures.variables,
            figures.conflicts,
            figures.time.as_secs_f64()
        ));
    }
}

/// What shows that a level allows a history, in words.
pub(crate) fn evidence(definition: &Definition, history: &SmallHistory) -> Option<(Evidence, String)> {
    let evidence = allows(definition, history, &mut || false)??;
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

/// The names of the anomalies that a history shows at a level of the catalogue.
pub(crate) fn anomalies(definition: &Definition, history: &SmallHistory) -> Vec<String> {
    let Some(level) = Level::ALL.into_iter().find(|level| level.name() == definition.name) else {
        return Vec::new();
    };
    let Ok(history) = isoscope::parse(&history.to_string()) else { return Vec::new() };
    let report = isoscope::Check::new(&history).level(level).run();
    let mut names: Vec<String> = report.anomalies().map(|finding| finding.anomaly.to_string()).collect();
    names.dedup();
    names
}
