//! The script of a prediction.
//!
//! - Transactions that run as a whole before all others are in `setup`, as the statements that write. What they overwrite again is left out.
//! - A fixed table has only the rows that a statement asks for.
//! - Every other transaction is a session of its own, named by its program. `=>` is what the prediction says.
//! - The anomaly has happened when all answers came and all transactions committed.
//! - The session `End` then reads every row that the steps write. A lost update that leaves the values of a serial order in all other reads
//!   is seen there.

use std::collections::BTreeMap;

use isoscope_application::{Contents, Field, Select, Table};
use isoscope_history::Txn;
use isoscope_predict::{Action, Engine, Prediction, Step as Place};
use isoscope_record::script::{Script, parse};
use isoscope_record::workload::definition;
use isoscope_record::{Answer, Scalar, Step, Vendor};
use isoscope_replay::End;
use isoscope_validate::Run;

use crate::rerun::{Part, rerun};
use crate::tape::{Asked, Sent, scalar};
use crate::trouble::Trouble;

/// Rows per INSERT.
const ROWS_PER_INSERT: usize = 100;
/// The column at which an expectation begins, if the statement is not longer.
const WIDTH: usize = 72;
/// The most sessions of a script.
const MOST_SESSIONS: usize = 64;
/// The session that reads what the others wrote.
pub(crate) const END: &str = "End";

/// A prediction, ready to be run on a database.
pub struct Reproduction {
    /// The script as a file for `isoscope script`.
    pub text: String,
    /// The script.
    pub script: Script,
    /// The engine that the interleaving was made for.
    pub engine: Engine,
    pub(crate) parts: Vec<Part>,
    /// The places of the transactions that are in the steps, in the order of their commits.
    pub(crate) shown: Vec<usize>,
    /// For each step of the script that is a statement: its transaction and its place there.
    pub(crate) statements: Vec<Option<(usize, usize)>>,
    /// The reads of the session `End`, each with its step.
    pub(crate) end: Vec<(usize, Asked)>,
    /// The content of each key before the steps.
    pub(crate) initial: BTreeMap<String, Scalar>,
}

impl Reproduction {
    /// Writes a prediction as a script. Its programs run again, so that every statement has the parameters that the predicted values lead to.
    ///
    /// # Errors
    ///
    /// Why the prediction cannot be written as a script.
    pub fn new(prediction: &Prediction, engine: Engine, run: &Run<'_>) -> Result<Reproduction, Trouble> {
        let interleaving = prediction.interleaving.as_deref().ok_or(Trouble::NoInterleaving)?;
        let parts = rerun(prediction, interleaving, run)?;
        let first = whole(interleaving);
        let mut writer = Writer::new(prediction, engine, run, &parts);
        writer.set_up(&interleaving[..first])?;
        writer.steps(&interleaving[first..])?;
        let shown = parts_shown(&interleaving[first..]);
        writer.end(&shown)?;
        let mut reproduction = writer.finish(shown)?;
        reproduction.parts = parts;
        Ok(reproduction)
    }
}

/// How many steps belong to transactions that run as a whole before all others.
fn whole(interleaving: &[Place]) -> usize {
    let mut end = 0;
    while let Some(first) = interleaving.get(end) {
        let run = interleaving[end..].iter().take_while(|step| step.txn == first.txn).count();
        if interleaving[end + run - 1].action != Action::Commit {
            break;
        }
        // The last transactions are the anomaly.
        if end + run == interleaving.len() {
            break;
        }
        end += run;
    }
    end
}

/// The transactions of some steps, in the order of their commits.
fn parts_shown(steps: &[Place]) -> Vec<usize> {
    steps.iter().filter(|step| step.action == Action::Commit).map(|step| step.txn.index()).collect()
}

struct Writer<'a> {
    engine: Engine,
    parts: &'a [Part],
    tables: Vec<Contents>,
    about: String,
    setup: Vec<String>,
    steps: Vec<String>,
    conditions: Vec<String>,
    statements: Vec<Option<(usize, usize)>>,
    end: Vec<(usize, Asked)>,
    initial: BTreeMap<String, Scalar>,
    /// For each transaction, how many of its statements are in the steps.
    sent: Vec<usize>,
    /// Whether it has begun.
    begun: Vec<bool>,
    anomaly: String,
}

impl<'a> Writer<'a> {
    fn new(prediction: &Prediction, engine: Engine, run: &Run<'_>, parts: &'a [Part]) -> Writer<'a> {
        let tables = run.application.tables();
        let initial = tables.iter().flat_map(Contents::initials);
        let initial = initial.map(|(key, field)| (key, scalar(&field))).collect();
        let about = format!(
            "Predicted from a run of {}: {} at {}, as an interleaving for {engine}.",
            run.application.name(),
            prediction.anomaly.name(),
            engine.level(),
        );
        Writer {
            engine,
            parts,
            tables,
            about,
            setup: Vec::new(),
            steps: Vec::new(),
            conditions: Vec::new(),
            statements: Vec::new(),
            end: Vec::new(),
            initial,
            sent: vec![0; parts.len()],
            begun: vec![false; parts.len()],
            anomaly: prediction.anomaly.name().to_owned(),
        }
    }

    /// Tables, rows, and what the transactions wrote that run before all others.
    fn set_up(&mut self, steps: &[Place]) -> Result<(), Trouble> {
        let vendor = if self.engine.is_mariadb() { Vendor::MariaDb } else { Vendor::Postgres };
        for contents in &self.tables {
            self.setup.extend(definition(contents.table, vendor));
        }
        for contents in &self.tables {
            let rows: Vec<&Vec<Field>> =
                contents.rows.iter().filter(|row| self.is_needed(contents.table, row)).collect();
            let columns: Vec<&str> = contents.columns.iter().map(|column| column.name).collect();
            for rows in rows.chunks(ROWS_PER_INSERT) {
                let row = |row: &&Vec<Field>| {
                    let fields: Result<Vec<String>, Trouble> =
                        row.iter().map(|field| self.literal(&scalar(field))).collect();
                    Ok(format!("({})", fields?.join(", ")))
                };
                let values: Result<Vec<String>, Trouble> = rows.iter().map(row).collect();
                let (name, columns) = (contents.name, columns.join(", "));
                let sql = format!("INSERT INTO {name} ({columns}) VALUES {}", values?.join(", "));
                self.setup.push(sql);
            }
        }
        let mut writes: Vec<&Sent> = Vec::new();
        for txn in parts_shown(steps) {
            for sent in self.parts[txn].statements.iter().filter(|sent| !sent.is_select()) {
                writes.retain(|earlier| !overwrites(&sent.asked, &earlier.asked));
                writes.push(sent);
                for (step, _) in &sent.steps {
                    apply(&mut self.initial, step);
                }
            }
        }
        for sent in writes {
            let sql = self.inlined(sent)?;
            self.setup.push(sql);
        }
        Ok(())
    }

    /// Whether some statement asks for a row.
    fn is_needed(&self, table: &Table, row: &[Field]) -> bool {
        if !table.is_fixed {
            return true;
        }
        let asks = |sent: &Sent| match &sent.asked {
            Asked::Select(select) if select.table.name == table.name => {
                select.equal.iter().all(|(column, field)| row[table.place(column)] == *field)
            }
            Asked::Update(of, key, _) if of.name == table.name => table.key_of(row) == *key,
            _ => false,
        };
        self.parts.iter().flat_map(|part| &part.statements).any(asks)
    }

    fn steps(&mut self, steps: &[Place]) -> Result<(), Trouble> {
        for step in steps {
            let txn = step.txn.index();
            let statements = &self.parts[txn].statements;
            let upto = match &step.action {
                Action::Snapshot => self.first(txn),
                Action::Commit => statements.len(),
                Action::Read(key) => self.find(step.txn, key, false)?,
                Action::Write(key) => self.find(step.txn, key, true)?,
            };
            self.send(txn, upto)?;
            if step.action == Action::Commit {
                self.begin(txn);
                let name = &self.parts[txn].name;
                self.steps.push(format!("{name}: COMMIT"));
                self.conditions.push(format!("{name} committed"));
                self.statements.push(None);
            }
        }
        Ok(())
    }

    /// How many statements are sent when the snapshot is taken: up to the first one, or on MariaDB up to the first SELECT.
    fn first(&self, txn: usize) -> usize {
        let statements = &self.parts[txn].statements;
        if self.engine.is_mariadb() {
            statements.iter().position(Sent::is_select).map_or(0, |place| place + 1)
        } else {
            1.min(statements.len())
        }
    }

    /// How many statements are sent with the next one that reads or writes a key.
    fn find(&self, txn: Txn, key: &str, writes: bool) -> Result<usize, Trouble> {
        let part = &self.parts[txn.index()];
        let accesses = |sent: &Sent| sent.steps.iter().any(|(step, _)| is_access(step, key, writes));
        // A statement that has several operations is sent with the first one.
        let last = self.sent[txn.index()].saturating_sub(1);
        let place = part.statements[last..].iter().position(accesses).map(|place| place + last);
        let place = place.or_else(|| part.statements.iter().position(accesses));
        let missing = || Trouble::OtherAccesses { txn: part.name.clone(), key: key.to_owned() };
        place.map(|place| place + 1).ok_or_else(missing)
    }

    fn begin(&mut self, txn: usize) {
        if !self.begun[txn] {
            self.begun[txn] = true;
            self.steps.push(format!("{}: BEGIN", self.parts[txn].name));
            self.statements.push(None);
        }
    }

    /// Sends the statements of a transaction up to a place.
    fn send(&mut self, txn: usize, upto: usize) -> Result<(), Trouble> {
        while self.sent[txn] < upto {
            self.begin(txn);
            let place = self.sent[txn];
            let part = &self.parts[txn];
            let sent = &part.statements[place];
            let sql = self.inlined(sent)?;
            let answer = Self::shown(&sent.answer)?;
            let name = if sent.is_select() && !sent.steps.is_empty() {
                let label = format!("{}.r{}", part.name, place + 1);
                self.conditions.push(format!("{label} = {answer}"));
                label
            } else {
                part.name.clone()
            };
            self.steps.push(format!("{:<WIDTH$} => {answer}", format!("{name}: {sql}")));
            self.statements.push(Some((txn, place)));
            self.sent[txn] += 1;
        }
        Ok(())
    }

    /// The session `End`.
    fn end(&mut self, shown: &[usize]) -> Result<(), Trouble> {
        let mut rows: Vec<(&'static Table, Vec<Field>)> = Vec::new();
        for sent in shown.iter().flat_map(|&txn| &self.parts[txn].statements) {
            if let Some((table, key)) = sent.asked.written()
                && !rows.iter().any(|(of, other)| of.name == table.name && *other == key)
            {
                rows.push((table, key));
            }
        }
        let failed = |message| Trouble::NoCommit { txn: END.to_owned(), end: End::Failed(message) };
        self.plain_step("BEGIN");
        for (table, key) in rows {
            let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
            let asked = Asked::Select(Select::row(table, &columns, &key));
            let sent = Sent::new(&asked, &Answer::Rows(Vec::new())).map_err(failed)?;
            self.end.push((self.steps.len(), asked));
            let sql = self.inlined(&sent)?;
            self.plain_step(&sql);
        }
        self.plain_step("COMMIT");
        Ok(())
    }

    /// A step of the session `End`.
    fn plain_step(&mut self, statement: &str) {
        self.steps.push(format!("{END}: {statement}"));
        self.statements.push(None);
    }

    fn finish(self, shown: Vec<usize>) -> Result<Reproduction, Trouble> {
        if shown.len() >= MOST_SESSIONS {
            return Err(Trouble::TooManySessions(shown.len()));
        }
        let text = format!(
            "name: {}\nabout: {}\n\nsetup:\n  {}\n\nsteps:\n  {}\n\nanomaly when:\n  {}\n",
            self.anomaly,
            self.about,
            self.setup.join("\n  "),
            self.steps.join("\n  "),
            self.conditions.join("\n  and "),
        );
        let script = parse(&text).map_err(Trouble::Script)?;
        let Writer { engine, statements, end, initial, .. } = self;
        Ok(Reproduction { text, script, engine, parts: Vec::new(), shown, statements, end, initial })
    }

    /// A statement with its parameters.
    fn inlined(&self, sent: &Sent) -> Result<String, Trouble> {
        let mut sql = String::with_capacity(sent.sql.len());
        let mut params = sent.params.iter();
        for piece in sent.sql.split_inclusive('?') {
            match piece.strip_suffix('?').zip(params.next()) {
                Some((before, param)) => {
                    sql.push_str(before);
                    sql.push_str(&self.literal(param)?);
                }
                None => sql.push_str(piece),
            }
        }
        Ok(sql)
    }

    /// A value as SQL.
    fn literal(&self, value: &Scalar) -> Result<String, Trouble> {
        let literal = spelled(value)?;
        // MariaDB takes a backslash for an escape.
        Ok(if self.engine.is_mariadb() { literal.replace('\\', "\\\\") } else { literal })
    }

    /// An answer as a script expects it.
    fn shown(answer: &Answer) -> Result<String, Trouble> {
        let rows = match answer {
            Answer::Count(count) => return Ok(count.to_string()),
            Answer::Rows(rows) => rows,
        };
        if rows.is_empty() {
            return Ok("none".to_owned());
        }
        let row = |row: &Vec<Scalar>| {
            let values: Vec<String> = row.iter().map(spelled).collect::<Result<_, Trouble>>()?;
            Ok(if let [one] = &values[..] { one.clone() } else { format!("({})", values.join(", ")) })
        };
        let rows: Vec<String> = rows.iter().map(row).collect::<Result<_, Trouble>>()?;
        Ok(rows.join(", "))
    }
}

/// A value in a script.
fn spelled(value: &Scalar) -> Result<String, Trouble> {
    Ok(match value {
        Scalar::Null => "null".to_owned(),
        Scalar::Bool(yes) => yes.to_string(),
        Scalar::Int(n) => n.to_string(),
        Scalar::Float(n) => n.to_string(),
        Scalar::Text(text) if text.contains(['\n', '\r', '?', '\0']) => {
            return Err(Trouble::Value(text.clone()));
        }
        Scalar::Text(text) => format!("'{}'", text.replace('\'', "''")),
    })
}

/// Whether a statement of the setup makes an earlier one unnecessary: an UPDATE of the same columns of the same row.
fn overwrites(later: &Asked, earlier: &Asked) -> bool {
    let (Asked::Update(table, key, set), Asked::Update(of, other, before)) = (later, earlier) else {
        return false;
    };
    let columns = |set: &[(&'static str, Field)]| set.iter().map(|(column, _)| *column).collect::<Vec<_>>();
    table.name == of.name && key == other && columns(set) == columns(before)
}

/// Applies a write to the content of keys.
fn apply(keys: &mut BTreeMap<String, Scalar>, step: &Step) {
    let text = |key: &Scalar| if let Scalar::Text(text) = key { text.clone() } else { String::new() };
    match step {
        Step::Write(key, value) | Step::Insert(key, value) => {
            keys.insert(text(key), Scalar::Int(*value));
        }
        Step::Set(key, Scalar::Null) | Step::Delete(key) => {
            keys.remove(&text(key));
        }
        Step::Set(key, value) => {
            keys.insert(text(key), value.clone());
        }
        Step::Read(_) | Step::ReadList(_) | Step::Append(..) | Step::Range(..) => {}
    }
}

/// Whether an operation reads or writes a key.
fn is_access(step: &Step, key: &str, writes: bool) -> bool {
    let is = |name: &Scalar| matches!(name, Scalar::Text(name) if name == key);
    match step {
        Step::Read(name) | Step::ReadList(name) => !writes && is(name),
        Step::Range(Scalar::Text(low), Scalar::Text(high)) => {
            !writes && (low.as_str()..=high.as_str()).contains(&key)
        }
        Step::Range(..) => false,
        Step::Write(name, _) | Step::Set(name, _) | Step::Append(name, _) | Step::Insert(name, _) => {
            writes && is(name)
        }
        Step::Delete(name) => writes && is(name),
    }
}
