//! Transactions executed one after another, symbolically.
//!
//! A statement has *runs*: one for each combination of images of the rows that it looks at. Each run that gives the logged answer gets a
//! literal, exactly one of which holds; a run implies the guards of the images that it read. What a statement writes is a
//! summary whose guards are runs. If there is one run and it depends on nothing, everything stays concrete and no literal is made.
//!
//! `paper-si` has a variable for the snapshot of each transaction, in order encoding: *the snapshot is at least state k*, for
//! those k that matter. What a row is at the snapshot is a summary over its versions.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use isoscope_log::{Answer, Class, Entry, Log};
use isoscope_solve::{Budget, Lit, Outcome};
use isoscope_sql::{
    Catalog, Change, Database, Doubt, Effect, Kind, Match, Row, Sarg, Settings, SqlError, Statement, TableId,
    View, answers_match, execute,
};
use rustc_hash::FxHashMap;

use crate::error::AuditError;
use crate::model::Model;
use crate::paper::guard::{Clauses, Guard};
use crate::paper::rows::{Alternative, Image, Place, Rows, Summary, Version, nothing};
use crate::paper::transactions::Txn;
use crate::paper::view::{Choices, Group};
use crate::verdict::Gap;

/// Whether a transaction's answers count, and whether it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is there, and its answers count.
    Required,
    /// It is there, and its answers do not count.
    Free,
    /// It is there or not; if it is, its answers count.
    Optional,
}

/// What happened when a transaction was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It can be executed.
    Done,
    /// It cannot, whatever happened before.
    Impossible,
    /// A limit was reached at an entry.
    Limit(usize, String),
}

/// What the transaction in execution may have written to a row.
#[derive(Clone, Debug, Default)]
struct Own {
    written: Vec<Alternative>,
    /// If it may not have been written.
    untouched: Option<Guard>,
}

/// A run of a statement.
struct Run {
    premises: Vec<(Place, Summary, Group)>,
    changes: Vec<Change>,
}

/// Statements by text.
pub(crate) struct Statements<'l> {
    pub(crate) log: &'l Log,
    parsed: FxHashMap<&'l str, Arc<Statement>>,
    pub(crate) settings: Settings,
}

impl<'l> Statements<'l> {
    pub(crate) fn new(log: &'l Log) -> Result<Statements<'l>, AuditError> {
        let Some(settings) = Settings::of(log.header.vendor) else {
            return Err(AuditError::new(None, format!("{} has no SQL", log.header.vendor)));
        };
        Ok(Statements { log, parsed: FxHashMap::default(), settings })
    }

    pub(crate) fn get(&mut self, entry: usize) -> Result<Arc<Statement>, AuditError> {
        let text = self.log.entries[entry].sql.as_str();
        self.parse(text, Some(entry))
    }

    pub(crate) fn parse(
        &mut self,
        text: &'l str,
        entry: Option<usize>,
    ) -> Result<Arc<Statement>, AuditError> {
        if let Some(known) = self.parsed.get(text) {
            return Ok(known.clone());
        }
        let parsed = Statement::parse(self.settings.dialect, text)
            .map_err(|error| AuditError::new(entry, format!("the statement is not understood: {error}")))?;
        let parsed = Arc::new(parsed);
        self.parsed.insert(text, parsed.clone());
        Ok(parsed)
    }
}

impl Statements<'_> {
    /// Runs the schema and the loader on an empty database: the rows of state 0, and the catalogue.
    pub(crate) fn load(&mut self, loader: &[usize]) -> Result<(Rows, Catalog), AuditError> {
        let log = self.log;
        let mut database = Database::new(self.settings.clone());
        for text in &log.header.schema {
            let statement = self.parse(text, None)?;
            let failed = |error: SqlError| {
                AuditError::new(None, format!("the schema is not understood: {error}: {text}"))
            };
            database.execute(&statement, &[]).map_err(failed)?;
        }
        for &entry in loader {
            let statement = self.get(entry)?;
            let line = &log.entries[entry];
            if line.answer.is_ok() {
                let failed =
                    |error: SqlError| AuditError::new(Some(entry), format!("the loader failed: {error}"));
                database.execute(&statement, &line.params).map_err(failed)?;
            }
        }
        let catalog = database.catalog().clone();
        let mut rows = Rows::default();
        for table in catalog.tables() {
            let mut images: Vec<Row> = Vec::new();
            database.scan(table.id, &Sarg::default(), &mut |_, values| {
                images.push(values.into());
                true
            });
            for image in images {
                let row = rows.new_row(table.id);
                let images: Summary = Rc::new([Alternative { image: Some(image), guard: Guard::True }]);
                let readable = Some(images.clone());
                rows.push((table.id, row), Version { state: 0, images, readable });
            }
        }
        Ok((rows, catalog))
    }
}

/// How a logged answer constrains the runs of its statement.
pub(crate) enum Wanted<'a> {
    Answer(&'a Answer),
    Error(Class),
    Anything,
}

/// Whether a run gives an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    Yes,
    No,
    /// A correct database may give it, or another one.
    Open,
}

/// Whether a run gives the answer.
pub(crate) fn fit(result: &Result<Effect, SqlError>, wanted: &Wanted<'_>, settings: &Settings) -> Fit {
    let is = |is_so: bool, otherwise: Fit| if is_so { Fit::Yes } else { otherwise };
    match (result, wanted) {
        (Ok(effect), _) if !effect.changes.is_empty() && effect.doubts.contains(&Doubt::Choice) => Fit::Open,
        (_, Wanted::Anything) => Fit::Yes,
        (Ok(effect), Wanted::Answer(answer)) => {
            let found = answers_match(&effect.reply, answer, &effect.doubts, settings);
            let otherwise = if effect.doubts.contains(&Doubt::Choice) { Fit::Open } else { Fit::No };
            is(!matches!(found, Match::No(_)), otherwise)
        }
        (Ok(effect), Wanted::Error(_)) => {
            is(effect.doubts.contains(&Doubt::MayFail) && effect.changes.is_empty(), Fit::No)
        }
        (Err(error), Wanted::Error(class)) => {
            is(error.class.logged() == *class || !error.is_certain, Fit::No)
        }
        (Err(error), Wanted::Answer(_)) => {
            if error.is_certain {
                Fit::No
            } else {
                Fit::Open
            }
        }
    }
}

/// The class of an error that must be explained by what the statement reads.
fn error_to_explain(entry: &Entry) -> Option<Class> {
    let failure = entry.answer.as_ref().err()?;
    let circumstance = |code: &str| {
        code.len() == 5
            && ["25", "53", "55", "57", "58", "XX", "0A"].iter().any(|class| code.starts_with(class))
    };
    match failure.class {
        Class::Constraint => Some(Class::Constraint),
        Class::Other if !failure.code.as_deref().is_some_and(circumstance) => Some(Class::Other),
        _ => None,
    }
}

/// What a logged answer wants of the runs of its statement; `None` if the statement had no effect. The connection of a
/// statement that is `lost` broke, so that it may have been executed.
pub(crate) fn wanted_of(line: &Entry, is_free: bool, is_lost: bool) -> Option<Wanted<'_>> {
    match (&line.answer, error_to_explain(line)) {
        _ if is_lost => Some(Wanted::Anything),
        (Err(_), None) => None,
        _ if is_free => Some(Wanted::Anything),
        (Ok(answer), _) => Some(Wanted::Answer(answer)),
        (Err(_), Some(class)) => Some(Wanted::Error(class)),
    }
}

/// The transactions that were executed so far; see the module.
pub(crate) struct Execution {
    model: Model,
    cap: usize,
    pub(crate) rows: Rows,
    pub(crate) clauses: Clauses,
    /// The catalogue after each state.
    catalogs: Vec<Catalog>,
    /// Whether something was dropped since the solver was asked.
    is_restricted: bool,
    /// The literals of the transactions that can be taken back.
    active: Vec<Lit>,
    is_retractable: bool,
    /// Whether the first run that gives the answer is taken, so that everything stays concrete.
    is_greedy: bool,
    pub(crate) gaps: Vec<Gap>,
    /// The states of transactions that may not be there, with the literal that says that they are; without one they are not.
    optional: Vec<(u32, Option<Lit>)>,
}

/// How many states and images a greedy execution looks back.
const WINDOW: usize = 64;

/// Where an execution was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    rows: usize,
    states: usize,
}

/// A transaction in execution.
struct Current<'a> {
    txn: &'a Txn,
    /// Its number, and that of the state it makes.
    state: u32,
    /// The state it reads from, if that is given.
    snapshot: Option<u32>,
    present: Guard,
    role: Role,
    own: BTreeMap<Place, Own>,
    savepoints: Vec<(String, BTreeMap<Place, Own>)>,
    catalog: Catalog,
    /// `paper-si`: literals of *the snapshot is at least state k*.
    at_least: BTreeMap<u32, Lit>,
    /// `paper-si`: what rows are at the snapshot.
    seen: FxHashMap<Place, Summary>,
}

impl Execution {
    /// After the loader.
    pub(crate) fn new(
        model: Model,
        cap: usize,
        statements: &mut Statements<'_>,
        loader: &[usize],
        is_retractable: bool,
    ) -> Result<Execution, AuditError> {
        let (rows, catalog) = statements.load(loader)?;
        Ok(Execution {
            model,
            cap,
            rows,
            clauses: Clauses::new(),
            catalogs: vec![catalog],
            is_restricted: false,
            active: Vec::new(),
            is_retractable,
            is_greedy: false,
            gaps: Vec::new(),
            optional: Vec::new(),
        })
    }

    /// After the loader, and everything will be concrete: of all that a transaction may do, only the newest that gives
    /// its answers is kept. It can explain a log and never convict one.
    pub(crate) fn greedy(
        model: Model,
        cap: usize,
        statements: &mut Statements<'_>,
        loader: &[usize],
    ) -> Result<Execution, AuditError> {
        let execution = Execution::new(model, cap, statements, loader, false)?;
        Ok(Execution { is_greedy: true, ..execution })
    }

    /// How many states there are after the first.
    pub(crate) fn states(&self) -> u32 {
        self.catalogs.len() as u32 - 1
    }

    /// Whether nothing is open: there is one possible image of each row in each state.
    pub(crate) fn is_concrete(&self) -> bool {
        self.clauses.is_empty()
    }

    /// The states of transactions that are not there in the execution that was found.
    pub(crate) fn absent(&mut self) -> Vec<u32> {
        if self.optional.iter().any(|(_, present)| present.is_some()) {
            let active = self.active.clone();
            if self.clauses.solve(&active, Budget::default()) != Outcome::Sat {
                return Vec::new();
            }
        }
        let is_absent = |(state, present): &(u32, Option<Lit>)| {
            present.is_none_or(|present| !self.clauses.holds(present)).then_some(*state)
        };
        self.optional.iter().filter_map(is_absent).collect()
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { rows: self.rows.mark(), states: self.catalogs.len() }
    }

    /// Takes back transactions.
    pub(crate) fn undo(&mut self, mark: Mark) {
        self.rows.undo(mark.rows);
        self.catalogs.truncate(mark.states);
        self.active.truncate(mark.states - 1);
    }

    /// Whether the answers so far have an explanation; `None` if a limit was reached.
    pub(crate) fn is_possible(&mut self, stop: &mut dyn FnMut() -> bool) -> Option<bool> {
        if !self.is_restricted {
            return Some(true);
        }
        let active = self.active.clone();
        match self.clauses.solve(&active, Budget::stopped_by(stop)) {
            Outcome::Sat => {
                self.is_restricted = self.is_retractable;
                Some(true)
            }
            Outcome::Unsat => Some(false),
            Outcome::Stopped => None,
        }
    }

    /// Executes a transaction. `start` is the state at its start, for `paper-ssi`.
    pub(crate) fn push(
        &mut self,
        statements: &mut Statements<'_>,
        txn: &Txn,
        start: u32,
        role: Role,
    ) -> Result<Step, AuditError> {
        let last = self.states();
        let snapshots = match self.model {
            Model::PaperS | Model::PaperSs => vec![Some(last)],
            Model::PaperSsi => vec![Some(start.min(last))],
            Model::PaperSi if self.is_greedy => {
                (last.saturating_sub(WINDOW as u32)..=last).rev().map(Some).collect()
            }
            Model::PaperSi if last == 0 => vec![Some(0)],
            _ => vec![None],
        };
        let gaps = self.gaps.len();
        for snapshot in snapshots {
            let role = if self.is_greedy && role == Role::Optional { Role::Required } else { role };
            self.gaps.truncate(gaps);
            match self.push_at(statements, txn, snapshot, role)? {
                Step::Impossible if self.is_greedy => {}
                step => return Ok(step),
            }
        }
        if self.is_greedy && role == Role::Optional {
            // It is not there: a state without changes.
            self.optional.push((last + 1, None));
            self.catalogs.push(self.catalogs[last as usize].clone());
            return Ok(Step::Done);
        }
        Ok(Step::Impossible)
    }

    /// Executes a transaction that reads from a state, if it is given.
    fn push_at(
        &mut self,
        statements: &mut Statements<'_>,
        txn: &Txn,
        snapshot: Option<u32>,
        role: Role,
    ) -> Result<Step, AuditError> {
        let last = self.states();
        if self.is_retractable {
            let active = self.clauses.fresh(false);
            self.active.push(active);
            self.clauses.set_active(Some(active));
        }
        let present = match role {
            Role::Optional => {
                let present = self.clauses.fresh(true);
                self.optional.push((last + 1, Some(present)));
                Guard::Lit(present)
            }
            Role::Required | Role::Free => Guard::True,
        };
        let mut current = Current {
            txn,
            state: last + 1,
            snapshot,
            present,
            role,
            own: BTreeMap::new(),
            savepoints: Vec::new(),
            catalog: self.catalogs[last as usize].clone(),
            at_least: BTreeMap::new(),
            seen: FxHashMap::default(),
        };
        for &entry in &txn.entries {
            let step = self.statement(statements, &mut current, entry)?;
            if step != Step::Done {
                self.drop_current();
                return Ok(step);
            }
        }
        if !self.check_conflicts(&mut current) {
            self.drop_current();
            return Ok(Step::Impossible);
        }
        self.finish(current);
        Ok(Step::Done)
    }

    /// Forgets a transaction that cannot be executed.
    fn drop_current(&mut self) {
        if self.is_retractable {
            self.active.pop();
        }
    }

    fn statement(
        &mut self,
        statements: &mut Statements<'_>,
        current: &mut Current<'_>,
        entry: usize,
    ) -> Result<Step, AuditError> {
        let log = statements.log;
        let line = &log.entries[entry];
        let statement = match statements.get(entry) {
            // The database did not understand it either.
            Err(_) if line.answer.is_err() => return Ok(Step::Done),
            other => other?,
        };
        match statement.kind() {
            Kind::Begin | Kind::Commit | Kind::Rollback | Kind::Set => return Ok(Step::Done),
            Kind::Savepoint(name) => {
                current.savepoints.push((name.clone(), current.own.clone()));
                return Ok(Step::Done);
            }
            Kind::Release(name) => {
                let found = current.savepoints.iter().rposition(|(other, _)| other == name);
                current.savepoints.truncate(found.unwrap_or(current.savepoints.len()));
                return Ok(Step::Done);
            }
            Kind::RollbackTo(name) => {
                if let Some(at) = current.savepoints.iter().rposition(|(other, _)| other == name) {
                    current.own = current.savepoints[at].1.clone();
                    current.savepoints.truncate(at + 1);
                }
                return Ok(Step::Done);
            }
            _ => {}
        }
        let is_lost = !current.txn.is_certain && entry == current.txn.last;
        let Some(wanted) = wanted_of(line, current.role == Role::Free, is_lost) else {
            return Ok(Step::Done);
        };
        let (runs, dropped) = match self.runs(current, &statement, line, entry, &wanted, &statements.settings)
        {
            Ok(found) => found,
            Err(why) => return Ok(Step::Limit(entry, why)),
        };
        if runs.is_empty() {
            if current.role != Role::Optional {
                return Ok(Step::Impossible);
            }
            self.clauses.imply(&[current.present], &[]);
            self.is_restricted = true;
            return Ok(Step::Done);
        }
        self.is_restricted |= dropped && runs.iter().all(|run| !run.premises.is_empty());
        self.encode(current, runs);
        Ok(Step::Done)
    }

    /// The runs of a statement that give the answer, and whether others were dropped.
    fn runs(
        &mut self,
        current: &mut Current<'_>,
        statement: &Statement,
        line: &Entry,
        entry: usize,
        wanted: &Wanted<'_>,
        settings: &Settings,
    ) -> Result<(Vec<Run>, bool), String> {
        let mut runs = Vec::new();
        let mut dropped = false;
        let (wanted_indexes, gap) = {
            // The clauses grow while summaries are made.
            let reading = std::cell::RefCell::new((&mut self.clauses, &mut *current));
            let (rows, model) = (&self.rows, self.model);
            let catalog = reading.borrow().1.catalog.clone();
            let reader = |place: Place| {
                let mut reading = reading.borrow_mut();
                let (clauses, current) = &mut *reading;
                summary(rows, model, clauses, current, place)
            };
            let view = Choices::new(&catalog, rows, &reader);
            let mut gap = None;
            for number in 0.. {
                if number >= self.cap {
                    return Err(format!("the statement has more than {} combinations of images", self.cap));
                }
                view.restart();
                let result = execute(statement, &line.params, &view, 0);
                if let Err(error) = &result
                    && !error.class.is_answer()
                {
                    if statement.kind() == &(Kind::Query { locks: false }) {
                        gap = Some(error.message.clone());
                        break;
                    }
                    return Err(error.message.clone());
                }
                let fit = fit(&result, wanted, settings);
                if fit == Fit::Open {
                    let why = "the database may choose the answer".to_owned();
                    if statement.kind() != &(Kind::Query { locks: false }) {
                        return Err(why);
                    }
                    gap = Some(why);
                    break;
                }
                if fit == Fit::Yes {
                    let changes = result.map(|effect| effect.changes).unwrap_or_default();
                    if self.is_greedy {
                        runs.push(Run { premises: Vec::new(), changes });
                        break;
                    }
                    runs.push(Run { premises: view.premises(), changes });
                } else {
                    dropped = true;
                }
                if !view.advance() {
                    break;
                }
            }
            (view.wanted(), gap)
        };
        for (table, column) in wanted_indexes {
            self.rows.index(table, column);
        }
        if let Some(why) = gap {
            self.gaps.push(Gap { entry, why });
            return Ok((vec![Run { premises: Vec::new(), changes: Vec::new() }], false));
        }
        Ok((runs, dropped))
    }

    /// Makes the clauses of the runs of a statement, and adds what they write to the own writes.
    fn encode(&mut self, current: &mut Current<'_>, runs: Vec<Run>) {
        let guards = self.run_guards(current.present, &runs);
        let mut written: BTreeMap<Place, Vec<(Image, Guard)>> = BTreeMap::new();
        let mut touching: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
        let mut born: FxHashMap<TableId, Vec<u32>> = FxHashMap::default();
        for (number, (run, &guard)) in runs.into_iter().zip(&guards).enumerate() {
            let mut inserted: FxHashMap<TableId, usize> = FxHashMap::default();
            for change in run.changes {
                let (place, image) = match change {
                    Change::Insert(table, values) => {
                        // The n-th row that a run inserts into a table is the same in all runs.
                        let rows = born.entry(table).or_default();
                        let nth = inserted.entry(table).or_insert(0);
                        if *nth == rows.len() {
                            rows.push(self.rows.new_row(table));
                        }
                        *nth += 1;
                        ((table, rows[*nth - 1]), Some(values))
                    }
                    Change::Update(table, row, values) => ((table, row.0 as u32), Some(values)),
                    Change::Delete(table, row) => ((table, row.0 as u32), None),
                    Change::Catalog(change) => {
                        if number == 0 {
                            current.catalog.apply(&change);
                        }
                        continue;
                    }
                };
                written.entry(place).or_default().push((image, guard));
                touching.entry(place).or_default().push(number);
            }
        }
        for (place, images) in written {
            let rest: Vec<Guard> = {
                let mut is_touched = vec![false; guards.len()];
                touching[&place].iter().for_each(|&number| is_touched[number] = true);
                guards
                    .iter()
                    .zip(is_touched)
                    .filter(|(_, is_touched)| !is_touched)
                    .map(|(&guard, _)| guard)
                    .collect()
            };
            self.own_write(current, place, images, &rest);
        }
    }

    /// The guard of each run: exactly one of them holds if the transaction is there.
    fn run_guards(&mut self, present: Guard, runs: &[Run]) -> Vec<Guard> {
        if let [run] = runs
            && run.premises.is_empty()
        {
            return vec![present];
        }
        // The first run reads the newest images: it is tried first.
        let lits: Vec<Lit> = (0..runs.len()).map(|number| self.clauses.fresh(number == 0)).collect();
        self.clauses.exactly_one_if(present, &lits);
        for (run, &lit) in runs.iter().zip(&lits) {
            for (_, summary, possible) in &run.premises {
                let guards: Vec<Guard> =
                    possible.iter().map(|&number| summary[number as usize].guard).collect();
                self.clauses.imply(&[Guard::Lit(lit)], &guards);
            }
        }
        lits.into_iter().map(Guard::Lit).collect()
    }

    /// Replaces what the transaction may have written to a row. `rest` are the runs that did not touch it.
    fn own_write(
        &mut self,
        current: &mut Current<'_>,
        place: Place,
        images: Vec<(Image, Guard)>,
        rest: &[Guard],
    ) {
        let mut by_image: Vec<(Image, Vec<Guard>)> = Vec::new();
        let mut places: FxHashMap<Image, usize> = FxHashMap::default();
        let mut add = |by_image: &mut Vec<(Image, Vec<Guard>)>, image: Image, guard: Guard| {
            let next = by_image.len();
            let at = *places.entry(image.clone()).or_insert(next);
            if at == next {
                by_image.push((image, Vec::new()));
            }
            by_image[at].1.push(guard);
        };
        for (image, guard) in images {
            add(&mut by_image, image, guard);
        }
        let before = current.own.remove(&place);
        let mut untouched = None;
        if !rest.is_empty() {
            let rest = self.clauses.or(rest);
            match before {
                None => untouched = Some(rest),
                Some(before) => {
                    for alternative in before.written {
                        let guard = self.clauses.and(rest, alternative.guard);
                        add(&mut by_image, alternative.image, guard);
                    }
                    untouched = before.untouched.map(|guard| self.clauses.and(rest, guard));
                }
            }
        }
        let mut written = Vec::with_capacity(by_image.len());
        for (image, guards) in by_image {
            self.rows.note(place, &image);
            let guard = self.clauses.or(&guards);
            written.push(Alternative { image, guard });
        }
        current.own.insert(place, Own { written, untouched });
    }

    /// Adds the clauses of *no write conflict*; `false` if there certainly is one.
    fn check_conflicts(&mut self, current: &mut Current<'_>) -> bool {
        if !matches!(self.model, Model::PaperSi | Model::PaperSsi) {
            return true;
        }
        let last = current.state - 1;
        let places: Vec<Place> = current.own.keys().copied().collect();
        for place in places {
            let read = outside(&self.rows, self.model, &mut self.clauses, current, place);
            let now = self.rows.at(place, last);
            if Rc::ptr_eq(&read, &now) || read.iter().all(|alternative| alternative.image.is_none()) {
                continue;
            }
            let own = current.own[&place].clone();
            let mut results: Vec<Guard> = own.written.iter().map(|alternative| alternative.guard).collect();
            results.extend(own.untouched);
            let sources: Vec<Guard> = read.iter().map(|alternative| alternative.guard).collect();
            self.clauses.imply(&[current.present], &results);
            self.clauses.imply(&[current.present], &sources);
            for source in read.iter().filter(|source| source.image.is_some()) {
                let same: Vec<Guard> =
                    now.iter().filter(|other| other.image == source.image).map(|other| other.guard).collect();
                for result in own.written.iter().filter(|result| result.image != source.image) {
                    let all = [current.present, source.guard, result.guard];
                    if same.is_empty() && all == [Guard::True; 3] {
                        return false;
                    }
                    if !same.contains(&Guard::True) {
                        self.clauses.imply(&all, &same);
                        self.is_restricted = true;
                    }
                }
            }
        }
        true
    }

    /// Makes the new state.
    fn finish(&mut self, current: Current<'_>) {
        for (place, own) in &current.own {
            let before = self.rows.at(*place, current.state - 1);
            let mut images: Vec<(Image, Vec<Guard>)> =
                own.written.iter().map(|written| (written.image.clone(), vec![written.guard])).collect();
            let mut untouched: Vec<Guard> = own.untouched.into_iter().collect();
            if let Guard::Lit(present) = current.present {
                untouched.push(Guard::Lit(!present));
            }
            if !untouched.is_empty() {
                let untouched = self.clauses.or(&untouched);
                for alternative in before.iter() {
                    let guard = self.clauses.and(untouched, alternative.guard);
                    match images.iter_mut().find(|(image, _)| *image == alternative.image) {
                        Some((_, guards)) => guards.push(guard),
                        None => images.push((alternative.image.clone(), vec![guard])),
                    }
                }
            }
            let images: Summary = images
                .into_iter()
                .map(|(image, guards)| Alternative { image, guard: self.clauses.or(&guards) })
                .collect();
            let readable = (self.model == Model::PaperRc).then(|| self.readable(*place, &images));
            self.rows.push(*place, Version { state: current.state, images, readable });
        }
        self.catalogs.push(current.catalog);
    }

    /// What `paper-rc` can read after a version with these images.
    fn readable(&mut self, place: Place, images: &Summary) -> Summary {
        let before = self
            .rows
            .versions(place)
            .last()
            .and_then(|version| version.readable.clone())
            .unwrap_or_else(nothing);
        // The newest images first.
        let most = if self.is_greedy { WINDOW } else { usize::MAX };
        let mut all: Vec<(Image, Vec<Guard>)> = Vec::with_capacity(before.len() + images.len());
        let mut places: FxHashMap<Image, usize> = FxHashMap::default();
        for alternative in images.iter().chain(before.iter()) {
            let next = all.len();
            let at = *places.entry(alternative.image.clone()).or_insert(next);
            if at == next {
                all.push((alternative.image.clone(), Vec::new()));
            }
            all[at].1.push(alternative.guard);
        }
        all.into_iter()
            .take(most)
            .map(|(image, guards)| Alternative { image, guard: self.clauses.or(&guards) })
            .collect()
    }
}

/// What a statement of a transaction can read of a row.
fn summary(
    rows: &Rows,
    model: Model,
    clauses: &mut Clauses,
    current: &mut Current<'_>,
    place: Place,
) -> Summary {
    let Some(own) = current.own.get(&place).cloned() else {
        return outside(rows, model, clauses, current, place);
    };
    let Some(untouched) = own.untouched else { return own.written.into() };
    let mut images: Vec<(Image, Vec<Guard>)> =
        own.written.into_iter().map(|written| (written.image, vec![written.guard])).collect();
    for alternative in outside(rows, model, clauses, current, place).iter() {
        let guard = clauses.and(untouched, alternative.guard);
        match images.iter_mut().find(|(image, _)| *image == alternative.image) {
            Some((_, guards)) => guards.push(guard),
            None => images.push((alternative.image.clone(), vec![guard])),
        }
    }
    images.into_iter().map(|(image, guards)| Alternative { image, guard: clauses.or(&guards) }).collect()
}

/// What a transaction can read of a row that it has not written.
fn outside(
    rows: &Rows,
    model: Model,
    clauses: &mut Clauses,
    current: &mut Current<'_>,
    place: Place,
) -> Summary {
    if let Some(state) = current.snapshot {
        return rows.at(place, state);
    }
    let versions = rows.versions(place);
    if model == Model::PaperRc {
        return versions.last().and_then(|version| version.readable.clone()).unwrap_or_else(nothing);
    }
    match versions {
        [] => nothing(),
        [only] if only.state == 0 => only.images.clone(),
        _ => {
            if let Some(known) = current.seen.get(&place) {
                return known.clone();
            }
            let seen = at_snapshot(versions, clauses, current);
            current.seen.insert(place, seen.clone());
            seen
        }
    }
}

/// What a row is at the snapshot of a transaction at paper-si.
fn at_snapshot(versions: &[Version], clauses: &mut Clauses, current: &mut Current<'_>) -> Summary {
    // Intervals of states in which the row is the same, the newest first.
    let mut intervals: Vec<(u32, Option<u32>, Summary)> = Vec::new();
    let mut until = None;
    for version in versions.iter().rev() {
        intervals.push((version.state, until, version.images.clone()));
        until = Some(version.state);
    }
    if let Some(first) = until.filter(|&first| first > 0) {
        intervals.push((0, Some(first), nothing()));
    }
    let mut images: Vec<Image> = Vec::new();
    for alternative in intervals.iter().flat_map(|(_, _, summary)| summary.iter()) {
        if !images.contains(&alternative.image) {
            images.push(alternative.image.clone());
        }
    }
    let mut found = Vec::with_capacity(images.len());
    for image in images {
        let guard = Guard::Lit(clauses.fresh(false));
        for (from, until, summary) in &intervals {
            let mut any: Vec<Guard> = summary
                .iter()
                .filter(|alternative| alternative.image == image)
                .map(|alternative| alternative.guard)
                .collect();
            let mut all = vec![guard];
            if *from > 0 {
                all.push(Guard::Lit(at_least(clauses, current, *from)));
            }
            if let Some(until) = until {
                any.push(Guard::Lit(at_least(clauses, current, *until)));
            }
            clauses.imply(&all, &any);
        }
        found.push(Alternative { image, guard });
    }
    found.into()
}

/// The literal *the snapshot of the transaction is at least this state*.
fn at_least(clauses: &mut Clauses, current: &mut Current<'_>, state: u32) -> Lit {
    if let Some(&known) = current.at_least.get(&state) {
        return known;
    }
    let lit = clauses.fresh(true);
    if let Some((_, &less)) = current.at_least.range(..state).next_back() {
        clauses.add(&[!lit, less]);
    }
    if let Some((_, &more)) = current.at_least.range(state + 1..).next() {
        clauses.add(&[!more, lit]);
    }
    current.at_least.insert(state, lit);
    lit
}
