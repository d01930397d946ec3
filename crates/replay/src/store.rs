//! The store: versions of keys, and the transactions that ran.
//!
//! Invariants:
//! - The history of the committed transactions satisfies the level at all times.
//! - A transaction that ends in any other way than a commit leaves no version behind.
//! - What happened is recorded by the store itself, never taken from what a policy was told.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use isoscope_application::{Application, Books, Call, Field, Row, Stopped, Table, Tables};
use isoscope_levels::Level;
use rustc_hash::FxHashMap;

use crate::content::{Content, Operation, Source};
use crate::judge::{INITIAL, Judge, KeyId, Writer};
use crate::keyed::{Keyed, Versions};
use crate::policy::{Asked, Choose};
use crate::tables::FixedTables;
use crate::trouble::Trouble;

/// How a transaction ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It committed.
    Committed,
    /// It rolled itself back.
    RolledBack,
    /// The level forbids its commit: at snapshot isolation, another transaction has written a version that it did not see.
    Refused,
    /// The application gave up, for this reason: what it read makes no sense to it.
    Failed(String),
}

/// A transaction that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Which one.
    pub call: Call,
    /// The name of its program.
    pub program: &'static str,
    /// How it ended.
    pub end: End,
    /// What it read and wrote.
    pub operations: Vec<Operation>,
    /// What it brings to the books of the application if it commits.
    pub brought: i64,
}

/// A store in memory that runs an application; see the crate.
pub struct Store<'a> {
    application: &'a dyn Application,
    seed: u64,
    fixed: FixedTables,
    pub(crate) state: State,
    pub(crate) ran: Vec<Ran>,
    /// The next number of each session.
    next: FxHashMap<u32, u64>,
}

/// The versions of all keys.
pub(crate) struct State {
    pub(crate) judge: Judge,
    ids: FxHashMap<Arc<str>, KeyId>,
    pub(crate) names: Vec<Arc<str>>,
    /// The keys that have been written, or have an initial version.
    written: BTreeMap<Arc<str>, KeyId>,
    /// The versions of each key; the first is the initial one.
    versions: Vec<Vec<(Writer, Content)>>,
    /// The committed transactions, by number; the first number is the initial state.
    pub(crate) sources: Vec<Source>,
    /// The ranges that committed transactions read.
    ranges: Vec<(Writer, String, String)>,
}

impl<'a> Store<'a> {
    /// A store with the initial rows of an application. `seed` determines the statements of the transactions.
    pub fn new(application: &'a dyn Application, level: Level, seed: u64) -> Result<Store<'a>, Trouble> {
        if !Judge::LEVELS.contains(&level) {
            return Err(Trouble::Unsupported(level));
        }
        let tables = application.tables();
        let mut state = State {
            judge: Judge::new(level),
            ids: FxHashMap::default(),
            names: Vec::new(),
            written: BTreeMap::new(),
            versions: Vec::new(),
            sources: vec![Source::Initial],
            ranges: Vec::new(),
        };
        for contents in &tables {
            for row in &contents.rows {
                state.load(contents.table, row);
            }
        }
        let fixed = FixedTables::of(&tables);
        Ok(Store { application, seed, fixed, state, ran: Vec::new(), next: FxHashMap::default() })
    }

    /// Runs a transaction. `choose` answers its reads. The transactions of a session run in the order of their numbers.
    pub fn run(&mut self, call: Call, choose: &mut dyn Choose) -> Result<&Ran, Trouble> {
        if self.next.get(&call.session).is_some_and(|&next| call.number < next) {
            return Err(Trouble::Again(call));
        }
        self.state.judge.begin(call.session);
        let mut txn = Keyed::new(&self.fixed, Serving { state: &mut self.state, call, choose });
        let ended = execute(self.application, call, self.seed, &mut txn);
        let (operations, brought) = (std::mem::take(&mut txn.operations), txn.brought);
        let writes = txn.into_writes();
        let end = match ended {
            Ok(None) => self.state.commit(call, writes, &operations)?,
            Ok(Some(end)) => {
                self.state.judge.abort();
                end
            }
            Err(trouble) => {
                self.state.judge.abort();
                return Err(trouble);
            }
        };
        self.next.insert(call.session, call.number + 1);
        let program = self.application.program_of(call, self.seed);
        self.ran.push(Ran { call, program, end, operations, brought });
        Ok(&self.ran[self.ran.len() - 1])
    }

    /// Runs transactions in this order, with one policy.
    pub fn run_all(
        &mut self,
        calls: impl IntoIterator<Item = Call>,
        choose: &mut dyn Choose,
    ) -> Result<(), Trouble> {
        calls.into_iter().try_for_each(|call| self.run(call, choose).map(|_| ()))
    }

    /// Runs a transaction again, whether or not it has run, on given versions: `choose` names the writer of each read, among
    /// the transactions that committed in this store. The store does not change, and the level does not matter.
    pub fn rerun(&self, call: Call, choose: &mut dyn FnMut(&str) -> Source) -> Result<Ran, Trouble> {
        let mut txn = Keyed::new(&self.fixed, Given { state: &self.state, call, choose });
        let end = execute(self.application, call, self.seed, &mut txn)?.unwrap_or(End::Committed);
        let program = self.application.program_of(call, self.seed);
        Ok(Ran { call, program, end, operations: txn.operations, brought: txn.brought })
    }

    /// The transactions that ran, in order.
    pub fn ran(&self) -> &[Ran] {
        &self.ran
    }

    /// Who wrote versions of a key, in the order in which they ran; the initial state is the first.
    pub fn writers(&self, key: &str) -> Vec<Source> {
        let versions = self.state.ids.get(key).map_or(&[][..], |&id| &self.state.versions[id as usize]);
        let writers = versions.iter().map(|&(writer, _)| self.state.sources[writer as usize]);
        if versions.is_empty() { vec![Source::Initial] } else { writers.collect() }
    }

    /// The content of a version; `None` if the writer did not write the key.
    pub fn content(&self, key: &str, from: Source) -> Option<Content> {
        self.state.content(key, from)
    }

    /// The rules of the application that the newest versions violate.
    pub fn broken_rules(&self) -> Vec<String> {
        let committed = self.ran.iter().filter(|ran| ran.end == End::Committed);
        let brought = committed.fold(0, |sum: i64, ran| sum.saturating_add(ran.brought));
        let mut newest = Newest { fixed: self.application.tables(), state: &self.state };
        let broken = self.application.rules(&mut newest, Books { least: brought, most: brought });
        broken.unwrap_or_else(|Stopped| vec!["the rules cannot be checked: a column has no value".to_owned()])
    }
}

/// Runs a transaction. `None` is a wish to commit.
fn execute<V: Versions>(
    application: &dyn Application,
    call: Call,
    seed: u64,
    txn: &mut Keyed<'_, V>,
) -> Result<Option<End>, Trouble> {
    let ran = catch_unwind(AssertUnwindSafe(|| application.run(call, seed, txn)));
    if let Some(trouble) = txn.trouble.take() {
        return Err(trouble);
    }
    match ran {
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(Trouble::Crashed { call, message: text.unwrap_or("no message").to_owned() })
        }
        Ok(Ok(true)) => Ok(None),
        Ok(Ok(false)) => Ok(Some(End::RolledBack)),
        Ok(Err(Stopped)) => Ok(Some(End::Failed(txn.failure.take().unwrap_or_default()))),
    }
}

impl State {
    fn id(&mut self, key: &Arc<str>) -> KeyId {
        if let Some(&id) = self.ids.get(key) {
            return id;
        }
        let id = self.names.len() as KeyId;
        self.ids.insert(Arc::clone(key), id);
        self.names.push(Arc::clone(key));
        self.versions.push(vec![(INITIAL, Content::Absent)]);
        id
    }

    /// Adds an initial row.
    fn load(&mut self, table: &'static Table, row: &[Field]) {
        let content = Content::Row(row.into());
        let entries = if table.is_fixed { Vec::new() } else { table.entry_names(row) };
        let key = table.key_of(row);
        let cells = table.changing().map(|column| {
            (table.cell_name(column.name, &key), Content::cell(&row[table.place(column.name)]))
        });
        let all = entries.into_iter().map(|name| (name, content.clone())).chain(cells);
        for (name, content) in all {
            let name: Arc<str> = name.into();
            let id = self.id(&name);
            self.versions[id as usize][0].1 = content;
            self.written.insert(name, id);
        }
    }

    fn content(&self, key: &str, from: Source) -> Option<Content> {
        let Some(&id) = self.ids.get(key) else {
            return (from == Source::Initial).then_some(Content::Absent);
        };
        let mut versions = self.versions[id as usize].iter();
        let found = versions.find(|&&(writer, _)| self.sources[writer as usize] == from);
        found.map(|(_, content)| content.clone())
    }

    fn commit(
        &mut self,
        call: Call,
        writes: BTreeMap<Arc<str>, Content>,
        operations: &[Operation],
    ) -> Result<End, Trouble> {
        let is_new = |key: &Arc<str>| !self.written.contains_key(key);
        let new: Vec<Arc<str>> = writes.keys().filter(|key| is_new(key)).cloned().collect();
        let writes: Vec<(KeyId, Content)> =
            writes.into_iter().map(|(key, content)| (self.id(&key), content)).collect();
        let missed = self.missed(&new);
        let keys = writes.iter().map(|(id, _)| *id).collect();
        let committed = self.judge.commit(keys, &missed).map_err(|_| Trouble::Undecided(call))?;
        let Some(number) = committed else {
            self.judge.abort();
            return Ok(End::Refused);
        };
        for (id, content) in writes {
            self.versions[id as usize].push((number, content));
            self.written.insert(Arc::clone(&self.names[id as usize]), id);
        }
        self.sources.push(Source::Txn(call));
        self.ranges.extend(operations.iter().filter_map(|operation| match operation {
            Operation::Range { low, high, .. } => Some((number, low.clone(), high.clone())),
            Operation::Read { .. } | Operation::Write { .. } => None,
        }));
        Ok(End::Committed)
    }

    /// The reads of new keys that follow from ranges: who read the range found the key absent.
    fn missed(&self, new: &[Arc<str>]) -> Vec<(Writer, KeyId)> {
        let mut missed = Vec::new();
        for (reader, low, high) in &self.ranges {
            let inside = new.iter().filter(|key| (low.as_str()..=high.as_str()).contains(&&***key));
            missed.extend(inside.map(|key| (*reader, self.ids[key])));
        }
        missed.sort_unstable();
        missed.dedup();
        missed
    }

    pub(crate) fn between(&self, low: &str, high: &str) -> Vec<Arc<str>> {
        if low > high {
            return Vec::new();
        }
        let keys = self.written.range::<str, _>((Bound::Included(low), Bound::Included(high)));
        keys.map(|(key, _)| Arc::clone(key)).collect()
    }
}

/// Serves the reads of a transaction as a policy chooses.
struct Serving<'s> {
    state: &'s mut State,
    call: Call,
    choose: &'s mut dyn Choose,
}

impl Versions for Serving<'_> {
    fn read(&mut self, key: &Arc<str>) -> Result<(Source, Content), Trouble> {
        let (state, call) = (&mut *self.state, self.call);
        let id = state.id(key);
        let versions = &state.versions[id as usize];
        let numbers: Vec<Writer> = versions.iter().map(|&(writer, _)| writer).collect();
        let writers: Vec<Source> = numbers.iter().map(|&writer| state.sources[writer as usize]).collect();
        let known = RefCell::new(vec![None; writers.len()]);
        let (judge, writers, numbers) = (&state.judge, &writers[..], &numbers[..]);
        let asked = Asked { call, key, writers, numbers, judge, id, known };
        let from = self.choose.choose(&asked)?;
        let place = writers.iter().position(|&writer| writer == from);
        let place = place.ok_or_else(|| Trouble::NotWritten { call, key: key.to_string(), from })?;
        if !asked.is_legal(place)? {
            return Err(Trouble::Illegal { call, key: key.to_string(), from });
        }
        let (writer, content) = versions[place].clone();
        state.judge.read(id, writer);
        Ok((from, content))
    }

    fn between(&self, low: &str, high: &str) -> Vec<Arc<str>> {
        self.state.between(low, high)
    }
}

/// Serves the reads of a transaction that runs on given versions.
struct Given<'s> {
    state: &'s State,
    call: Call,
    choose: &'s mut dyn FnMut(&str) -> Source,
}

impl Versions for Given<'_> {
    fn read(&mut self, key: &Arc<str>) -> Result<(Source, Content), Trouble> {
        let from = (self.choose)(key);
        let content = self.state.content(key, from);
        let missing = || Trouble::NotWritten { call: self.call, key: key.to_string(), from };
        content.map(|content| (from, content)).ok_or_else(missing)
    }

    fn between(&self, low: &str, high: &str) -> Vec<Arc<str>> {
        self.state.between(low, high)
    }
}

/// The tables with the newest version of every key.
struct Newest<'s> {
    fixed: Vec<isoscope_application::Contents>,
    state: &'s State,
}

impl Newest<'_> {
    fn newest(&self, key: &str) -> Content {
        let versions = self.state.ids.get(key).map(|&id| &self.state.versions[id as usize]);
        versions.and_then(|it| it.last()).map_or(Content::Absent, |(_, content)| content.clone())
    }
}

impl Tables for Newest<'_> {
    fn rows(&mut self, table: &'static Table, columns: &[&'static str]) -> Result<Vec<Row>, Stopped> {
        let mut rows: Vec<Arc<[Field]>> = if table.is_fixed {
            let contents = self.fixed.iter().filter(|contents| contents.name == table.name);
            contents.flat_map(|contents| contents.rows.iter().map(|row| row.as_slice().into())).collect()
        } else {
            let prefix = format!("{}/", table.label());
            let keys = self.state.between(&prefix, &format!("{prefix}~"));
            let rows = keys.iter().filter_map(|key| match self.newest(key) {
                Content::Row(row) => Some(row),
                Content::Absent | Content::Cell(_) => None,
            });
            rows.collect()
        };
        rows.sort_by_key(|row| table.key_of(row));
        let field = |row: &[Field], name: &&'static str| {
            let column = table.column(name);
            if column.is_constant {
                return Ok(row[table.place(name)].clone());
            }
            let field = self.newest(&table.cell_name(name, &table.key_of(row))).field();
            if column.accepts(&field) { Ok(field) } else { Err(Stopped) }
        };
        let rows = rows.iter().map(|row| columns.iter().map(|name| field(row, name)).collect());
        rows.map(|row: Result<Vec<Field>, Stopped>| row.map(Row)).collect()
    }
}
