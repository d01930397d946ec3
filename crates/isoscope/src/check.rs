//! Running a check: levels, limits, conditions, certification.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use isoscope_certificate::{Certificate, Conditions, Judgement, Unknown, UnknownOrder, Verdict};
use isoscope_check::{Checker, Options, Watch as _};
use isoscope_formats::Reading;
use isoscope_history::{History, Limit as TooLarge};
use isoscope_levels::Level;
use isoscope_levels::language::{Definition, Library};
use isoscope_report::{
    Certified, Checked, DefinitionAnswer, Detail, Figures, Judged, JudgedDefinition, Limits, Report,
    Settings, Staged, TimeLimit, full_name, open_without_sessions,
};
use isoscope_synth::Clock;
use isoscope_verify::{Refutation, Verifier};

use crate::rounds::{self, Asked, Slices};
use crate::watch::{Onlooker, Progress};

/// What to check: a history built in code, or one read from a file.
#[non_exhaustive]
pub enum Subject<'h> {
    /// A history built in code.
    History(&'h History),
    /// A history read from a file.
    Reading(&'h Reading),
    /// A history read from a file, by value. A large history with range reads is then not kept in memory
    /// twice.
    Owned(Box<Reading>),
}

impl<'h> From<&'h History> for Subject<'h> {
    fn from(history: &'h History) -> Self {
        Subject::History(history)
    }
}

impl<'h> From<&'h Reading> for Subject<'h> {
    fn from(reading: &'h Reading) -> Self {
        Subject::Reading(reading)
    }
}

impl From<Reading> for Subject<'_> {
    fn from(reading: Reading) -> Self {
        Subject::Owned(Box::new(reading))
    }
}

impl Subject<'_> {
    fn history(&self) -> &History {
        match self {
            Subject::History(history) => history,
            Subject::Reading(reading) => &reading.history,
            Subject::Owned(reading) => &reading.history,
        }
    }

    fn reading(&self) -> Option<&Reading> {
        match self {
            Subject::History(_) => None,
            Subject::Reading(reading) => Some(reading),
            Subject::Owned(reading) => Some(reading),
        }
    }
}

/// A check of a history: its levels and limits.
///
/// Without [`level`](Check::level), the common levels are checked. Each level may take 60 s unless
/// [`timeout`](Check::timeout) or [`limits`](Check::limits) say otherwise.
///
/// ```
/// use isoscope::{Check, Level, Word};
/// use std::time::Duration;
///
/// let history = isoscope::parse("T1: r(x,0) r(y,0) w(x,1)  T2: r(x,0) r(y,0) w(y,2)").unwrap();
/// let report = Check::new(&history).timeout(Duration::from_secs(30)).run();
/// assert_eq!(report.verdict_of(Level::Snapshot), Word::Holds);
/// assert_eq!(report.verdict_of(Level::Serializable), Word::Violated);
/// ```
#[must_use]
pub struct Check<'h> {
    subject: Subject<'h>,
    name: Option<String>,
    levels: Vec<Level>,
    definitions: Vec<Definition>,
    limits: Limits,
    settings: Settings,
    conditions: Conditions,
    max_anomalies: usize,
    progress: Option<Arc<dyn Progress>>,
    interrupt: Option<Arc<AtomicBool>>,
    for_elle: bool,
}

impl<'h> Check<'h> {
    /// A check of a history at the common levels.
    pub fn new(subject: impl Into<Subject<'h>>) -> Check<'h> {
        Check {
            subject: subject.into(),
            name: None,
            levels: Vec::new(),
            definitions: Vec::new(),
            limits: Limits { time: Some(TimeLimit::DEFAULT), memory: None },
            settings: Settings::default(),
            conditions: Conditions::default(),
            max_anomalies: Options::default().max_anomalies,
            progress: None,
            interrupt: None,
            for_elle: false,
        }
    }

    /// The name of the history in the report [default: the file it was read from].
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Adds a level to check.
    pub fn level(self, level: Level) -> Self {
        self.levels([level])
    }

    /// Adds levels to check.
    pub fn levels(mut self, levels: impl IntoIterator<Item = Level>) -> Self {
        for level in levels {
            if !self.levels.contains(&level) {
                self.levels.push(level);
            }
        }
        self
    }

    /// Adds a definition in the level language. If it has the same text as a definition of the catalogue, up to names and order,
    /// the engine of that level decides it. Otherwise a SAT solver looks for a witness, in histories of at most
    /// [`LARGEST`](isoscope_synth::LARGEST) transactions and keys. Without [`level`](Check::level), only definitions are
    /// checked.
    ///
    /// ```
    /// use isoscope::levels::language::Library;
    /// use isoscope::{Check, Word};
    ///
    /// let mut library = Library::shipped().clone();
    /// let text = "level no-blind-writes in commit-order extends causal {
    ///     axiom no-blind-writes: forall s, t: Txn, x: Key. so(s, t) & writes(t, x) => reads(t, x)
    /// }";
    /// let definition = library.add(text)?[0].clone();
    /// let history = isoscope::parse("T1: w(x,1)  T2: r(x,1)").unwrap();
    /// let report = Check::new(&history).definition(definition).run();
    /// assert_eq!(report.definitions[0].verdict, Word::Violated);
    /// assert_eq!(report.definitions[0].core.as_ref().unwrap().transactions, ["T1"]);
    /// # Ok::<(), isoscope::levels::language::Error>(())
    /// ```
    pub fn definition(mut self, definition: Definition) -> Self {
        self.definitions.push(definition);
        self
    }

    /// Limits the time of the check of the whole history. The levels share the time. A level that is not decided in time is
    /// *unknown*.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.limits.time = Some(TimeLimit::History(time));
        self
    }

    /// Ends the check when the process has more than this many bytes in memory.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.limits.memory = Some(bytes);
        self
    }

    /// Sets all limits; `Limits::default()` is none.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The names of the limits in the calling program. Messages use them to say which setting to change.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// When transactions of unknown outcome take effect.
    pub fn unknown_order(mut self, unknown: UnknownOrder) -> Self {
        self.conditions.unknown = unknown;
        self
    }

    /// Uses the database's timestamps as the real-time order of strict levels, instead of the times that
    /// clients observed. This has no effect if the history has no timestamps.
    pub fn trust_timestamps(mut self, trust: bool) -> Self {
        self.conditions.trust_timestamps = trust;
        self
    }

    /// The number of occurrences of each anomaly to keep, at least one. All are counted.
    pub fn max_anomalies(mut self, most: usize) -> Self {
        self.max_anomalies = most;
        self
    }

    /// The receiver of progress events.
    pub fn progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = Some(progress);
        self
    }

    /// A flag that ends the check once it is set, for example by a signal handler. The levels that are undecided then are
    /// *unknown* (`interrupted`).
    pub fn interrupt(mut self, flag: Arc<AtomicBool>) -> Self {
        self.interrupt = Some(flag);
        self
    }

    /// Also checks some levels without session order, which Elle's models need. The report then has
    /// [`Report::elle`].
    pub fn for_elle(mut self, wanted: bool) -> Self {
        self.for_elle = wanted;
        self
    }

    /// Checks, and reports with all evidence.
    ///
    /// A history with too many range reads gets *unknown* at every level; [`judge`](Check::judge) returns an error instead.
    pub fn run(self) -> Report {
        // Without the preparation, the checker finds range reads, which it does not support.
        let prepared = self.prepare().ok().flatten();
        self.judge_prepared(prepared).report(Detail::Evidence)
    }

    /// Checks, and returns the verdicts with their proofs. Fails if the history has too many range reads.
    pub fn judge(self) -> Result<Judgements<'h>, TooLarge> {
        let prepared = self.prepare()?;
        Ok(self.judge_prepared(prepared))
    }

    /// The history after applying its conditions; `None` if they do not change it.
    fn prepare(&self) -> Result<Option<History>, TooLarge> {
        Ok(match self.conditions.apply(self.subject.history())? {
            Cow::Owned(prepared) => Some(prepared),
            Cow::Borrowed(_) => None,
        })
    }

    fn judge_prepared(mut self, mut prepared: Option<History>) -> Judgements<'h> {
        let figures = Figures::of(self.subject.history());
        if let Subject::Owned(reading) = &mut self.subject
            && let Some(prepared) = prepared.take()
        {
            reading.history = prepared;
        }
        let history = prepared.as_ref().unwrap_or_else(|| self.subject.history());
        // Without timestamps, the clients' times define the real-time order.
        self.conditions.trust_timestamps &= history.timestamps().is_some();
        let clock = if self.conditions.trust_timestamps { Clock::Database } else { Clock::Clients };
        let same: Vec<Option<(Level, String)>> =
            self.definitions.iter().map(|one| engine_of(one, history, clock)).collect();
        for (level, _) in same.iter().flatten() {
            if !self.levels.contains(level) {
                self.levels.push(*level);
            }
        }
        let named = !self.levels.is_empty() || !self.definitions.is_empty();
        if !named {
            self.levels = if self.for_elle { Level::ALL.into() } else { Level::COMMON.into() };
        }
        let options =
            Options { max_anomalies: self.max_anomalies, trust_timestamps: self.conditions.trust_timestamps };
        let ask = |history: &History, levels: &[Level]| {
            let onlooker = Onlooker::new(self.limits, self.progress.clone()).until(self.interrupt.clone());
            ask(history, levels, options, &onlooker, self.limits, self.progress.as_deref())
        };
        let started = Instant::now();
        let judged = ask(history, &self.levels);
        let definitions = self.judge_definitions(same, history, started);
        let seconds = started.elapsed().as_secs_f64();
        let Check { subject, name, limits, settings, conditions, ref interrupt, for_elle, .. } = self;
        let interrupt = interrupt.clone();
        let without_sessions = Vec::new();
        let mut judgements = Judgements {
            subject,
            prepared,
            name,
            figures,
            judged,
            definitions,
            without_sessions,
            named,
            limits,
            settings,
            conditions,
            interrupt,
            seconds,
            for_elle,
        };
        if for_elle {
            judgements.judge_without_sessions(&ask);
        }
        judgements
    }

    /// Judges the definitions, one after the other. `same` has the levels with the same text.
    fn judge_definitions(
        &self,
        same: Vec<Option<(Level, String)>>,
        history: &History,
        started: Instant,
    ) -> Vec<JudgedDefinition> {
        let clock = if self.conditions.trust_timestamps { Clock::Database } else { Clock::Clients };
        let judge = |(definition, same): (&Definition, Option<(Level, String)>)| {
            let definition = definition.clone();
            if let Some((level, name)) = same {
                let answer = DefinitionAnswer::Same(level, name);
                return JudgedDefinition { definition, answer, seconds: 0.0 };
            }
            let began = Instant::now();
            let left = self.limits.time.map(|time| match time {
                TimeLimit::Level(time) => time,
                TimeLimit::History(time) => time.saturating_sub(started.elapsed()),
            });
            let limits = Limits { time: left.map(TimeLimit::History), ..self.limits };
            let onlooker = Onlooker::new(limits, None).until(self.interrupt.clone());
            let mut stop = || onlooker.limit().is_some();
            let mut most: Option<Duration> = None;
            // Asked first when the history is known to be forbidden.
            let mut enough = || {
                let most =
                    *most.get_or_insert_with(|| shortening_time(began.elapsed(), left) + began.elapsed());
                began.elapsed() >= most || onlooker.limit().is_some()
            };
            let ruling = isoscope_synth::judge(&definition, history, clock, &mut stop, &mut enough);
            let answer = DefinitionAnswer::Ruling(ruling, onlooker.limit());
            JudgedDefinition { definition, answer, seconds: began.elapsed().as_secs_f64() }
        };
        self.definitions.iter().zip(same).map(judge).collect()
    }
}

/// How long the evidence of a violated definition is made smaller: at most as long as the verdict took, and a tenth of the limit.
/// What takes less than this is done in any case.
const SHORT: Duration = Duration::from_millis(500);

fn shortening_time(decided: Duration, limit: Option<Duration>) -> Duration {
    let most = decided.max(SHORT);
    limit.map_or(most, |limit| most.min(limit / 10))
}

/// The level whose engine decides a definition, and the name of the shipped definition with its text. A definition of the user
/// that speaks of real time is unknown without times; the engines take such a history for one in which all overlap.
fn engine_of(definition: &Definition, history: &History, clock: Clock) -> Option<(Level, String)> {
    let needs_times = !Library::is_shipped(definition) && isoscope_synth::uses_real_time(definition);
    if needs_times && !isoscope_synth::has_times(history, clock) {
        return None;
    }
    Library::decided_by(definition).map(|(level, same)| (level, full_name(same)))
}

/// Checks the levels and measures each. The results are in the order of `levels`.
fn ask(
    history: &History,
    levels: &[Level],
    options: Options,
    onlooker: &Onlooker,
    limits: Limits,
    progress: Option<&dyn Progress>,
) -> Vec<Judged> {
    let whole = match limits.time {
        Some(TimeLimit::History(time)) => Some(time),
        Some(TimeLimit::Level(_)) | None => None,
    };
    let slices = Slices::new(onlooker, whole);
    let mut checker = Checker::watched(history, options, &slices);
    let mut stages: Vec<(Level, Staged)> = Vec::new();
    let before = |level: Level| {
        if let Some(progress) = progress {
            progress.begins(level);
        }
        onlooker.begin(level);
    };
    let mut after = |judgement: &Judgement| {
        if let Some(progress) = progress {
            progress.decided(judgement);
        }
        stages.extend(onlooker.take_stages().into_iter().map(|stage| (judgement.level, stage)));
    };
    let asked = rounds::ask(&mut checker, &slices, levels, &before, &mut after);
    let mut judged: Vec<(Option<usize>, Judged)> = asked
        .into_iter()
        .map(|Asked { level, judgement, seconds }| {
            let place = levels.iter().position(|&other| other == level);
            (place, Judged { seconds, ..Judged::new(judgement) })
        })
        .collect();
    judged.sort_by_key(|&(place, _)| place);
    let mut judged: Vec<Judged> = judged.into_iter().map(|(_, judged)| judged).collect();
    share_out(stages, &mut judged);
    judged
}

/// Assigns each stage to the level that it decided, or to the requested level if the other was only an intermediate step.
fn share_out(stages: Vec<(Level, Staged)>, judged: &mut [Judged]) {
    for (asked, stage) in stages {
        let place = |level| judged.iter().position(|judged| judged.judgement.level == level);
        if let Some(place) = place(stage.level).or_else(|| place(asked)) {
            judged[place].stages.push(stage);
        }
    }
}

/// The verdicts on a history with their proofs.
pub struct Judgements<'h> {
    subject: Subject<'h>,
    /// The history that was checked, if it is not the subject's.
    prepared: Option<History>,
    name: Option<String>,
    figures: Figures,
    judged: Vec<Judged>,
    definitions: Vec<JudgedDefinition>,
    /// Levels judged again without session order.
    without_sessions: Vec<Judgement>,
    named: bool,
    limits: Limits,
    settings: Settings,
    conditions: Conditions,
    interrupt: Option<Arc<AtomicBool>>,
    seconds: f64,
    for_elle: bool,
}

impl Judgements<'_> {
    /// The history that was judged: range reads are reads of single keys.
    pub fn history(&self) -> &History {
        self.prepared.as_ref().unwrap_or_else(|| self.subject.history())
    }

    /// The verdicts, in the order of the requested levels.
    pub fn levels(&self) -> &[Judged] {
        &self.judged
    }

    /// The definitions and what was decided, in the order of the request.
    pub fn definitions(&self) -> &[JudgedDefinition] {
        &self.definitions
    }

    /// How long the check took, in seconds.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// The conditions under which the history was judged.
    pub fn conditions(&self) -> Conditions {
        self.conditions
    }

    /// Checks levels again without session order, if it is open whether they are violated without it. Elle
    /// has names for both forms.
    fn judge_without_sessions(&mut self, ask: &dyn Fn(&History, &[Level]) -> Vec<Judged>) {
        let open = open_without_sessions(&self.checked());
        if !open.is_empty() {
            let judged = ask(&self.history().apart(), &open);
            self.without_sessions = judged.into_iter().map(|judged| judged.judgement).collect();
        }
    }

    /// Runs the independent verifier on every verdict that is not *unknown*. It has the same time and memory limits as the
    /// check. A verdict that it refutes is a bug of isoscope: it is withdrawn, so that its level is *unknown*
    /// ([`Unknown::Refuted`]), and the first one is returned. All other verdicts stand. A verdict for which a limit was reached
    /// is [`Certified::Stopped`].
    pub fn certify(&mut self) -> Result<(), Refuted> {
        let certified = self.confirm(self.history(), self.judged.iter().map(|judged| &judged.judgement));
        let apart = if self.without_sessions.is_empty() {
            Vec::new()
        } else {
            self.confirm(&self.history().apart(), &self.without_sessions)
        };
        let mut refuted = Vec::new();
        for (judged, certified) in self.judged.iter_mut().zip(certified) {
            match certified {
                Ok(certified) => judged.certified = certified,
                Err(why) => withdraw(&mut judged.judgement, why, &mut refuted),
            }
        }
        for (judgement, certified) in self.without_sessions.iter_mut().zip(apart) {
            if let Err(why) = certified {
                withdraw(judgement, why, &mut refuted);
            }
        }
        // The evidence of a level that is no longer violated is not in the report.
        let is_refuted = |level: Level| refuted.iter().any(|one| one.level == level);
        for judged in &mut self.judged {
            judged.judgement.implied_by = judged.judgement.implied_by.filter(|&weaker| !is_refuted(weaker));
        }
        refuted.into_iter().next().map_or(Ok(()), Err)
    }

    /// The verifier's result for each judgement on a history.
    fn confirm<'j>(
        &self,
        history: &History,
        judgements: impl IntoIterator<Item = &'j Judgement>,
    ) -> Vec<Result<Certified, Refutation>> {
        let onlooker = Onlooker::new(self.limits, None).until(self.interrupt.clone());
        let budget = || onlooker.limit();
        let verifier = Verifier::new(history).within(&budget);
        let verifier =
            if self.conditions.trust_timestamps { verifier.trusting_timestamps() } else { verifier };
        let confirm = |judgement: &Judgement| {
            if matches!(judgement.verdict, Verdict::Unknown(_)) {
                return Ok(Certified::No);
            }
            onlooker.begin(judgement.level);
            match verifier.verify(judgement) {
                Ok(()) => Ok(Certified::Yes),
                Err(Refutation { stopped: Some(limit), .. }) => Ok(Certified::Stopped(limit)),
                Err(why) => Err(why),
            }
        };
        judgements.into_iter().map(confirm).collect()
    }

    /// The certificates of all levels that are not *unknown*.
    pub fn certificates(&self) -> impl Iterator<Item = Certificate> {
        let subject = isoscope_certificate::Subject::of(self.history());
        let decided = |judged: &&Judged| !matches!(judged.judgement.verdict, Verdict::Unknown(_));
        let conditions = self.conditions;
        let judged = self.judged.iter().filter(decided);
        judged.map(move |judged| Certificate { subject, conditions, judgement: judged.judgement.clone() })
    }

    /// The report.
    pub fn report(&self, detail: Detail) -> Report {
        let checked = self.checked();
        if self.for_elle { Report::with_elle(&checked, detail) } else { Report::new(&checked, detail) }
    }

    fn checked(&self) -> Checked<'_> {
        let history = self.history();
        let checked =
            self.subject.reading().map_or_else(|| Checked::history("history", history), Checked::of);
        Checked {
            file: self.name.clone().unwrap_or(checked.file),
            history,
            figures: self.figures,
            judged: &self.judged,
            definitions: &self.definitions,
            without_sessions: &self.without_sessions,
            named: self.named,
            limits: self.limits,
            settings: self.settings,
            seconds: self.seconds,
            ..checked
        }
    }
}

/// Withdraws a verdict that the verifier refuted.
fn withdraw(judgement: &mut Judgement, why: Refutation, refuted: &mut Vec<Refuted>) {
    judgement.verdict = Verdict::Unknown(Unknown::Refuted(why.to_string()));
    judgement.implied_by = None;
    refuted.push(Refuted { level: judgement.level, why });
}

/// A verdict that its own certificate does not prove.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refuted {
    /// The level.
    pub level: Level,
    /// The verifier's objection.
    pub why: Refutation,
}

impl std::fmt::Display for Refuted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the verdict for {} does not stand: {}", self.level, self.why)
    }
}

impl std::error::Error for Refuted {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic fails the test")]
mod tests {
    use isoscope_certificate::Witness;
    use isoscope_history::notation::parse;
    use isoscope_report::Word;

    use super::*;

    /// A verdict that the verifier refutes is withdrawn. The others stand.
    #[test]
    fn a_refuted_verdict_is_an_internal_error_of_its_level() {
        let history = parse("T1: w(x,1) w(y,1)  T2: r(x,1) r(y,0)").unwrap();
        let levels = [Level::AdyaPl2, Level::ReadAtomic, Level::Serializable];
        let mut judged = Check::new(&history).levels(levels).judge().unwrap();
        let wrong =
            judged.judged.iter_mut().find(|judged| judged.judgement.level == Level::ReadAtomic).unwrap();
        wrong.judgement.verdict = Verdict::Holds(Witness::default());
        assert_eq!(judged.certify().unwrap_err().level, Level::ReadAtomic);
        let report = judged.report(Detail::Stories);
        assert!(report.has_internal_error());
        assert_eq!(
            levels.map(|level| report.verdict_of(level)),
            [Word::Holds, Word::Unknown, Word::Violated]
        );
        let line = isoscope_report::concise::render("h", Ok(&report), &isoscope_report::Plain);
        assert!(line.contains("read-atomic (isoscope failed: its own verdict does not stand: "), "{line}");
        assert!(!line.contains("unreadable"), "{line}");
        let mut suites = isoscope_report::junit::Suites::default();
        suites.add("h", Ok(&report));
        assert!(suites.render().contains("type=\"internal-error\""), "{}", suites.render());
    }
}
