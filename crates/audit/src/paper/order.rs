//! Orders of transactions, and the smallest prefix that no order explains.
//!
//! The order of the ends is tried first, whatever was asked for: if it explains the log, the log is explained. This is done greedily
//! first, with concrete values and the newest reads that give the answers, and then exactly. With `--order
//! timestamps` the first transaction that it does not explain is the violation. With `--order solve` other orders are tried for the
//! prefix up to that transaction:
//!
//! 1. If the transaction cannot give its answers even if every row may be read from any state of any order (`relax.rs`), it is the violation.
//! 2. If everything is concrete, it is inserted at earlier places.
//! 3. A search of all orders, depth first. Of transactions that do the same only one is tried. It places *events*: transactions, and in `paper-ssi` their starts and ends. An event
//!    cannot come after one that is certainly later. If the search ends without an order, there is none.
//!
//! If the search reaches its limit, the log is undecided.

use isoscope_log::Log;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::AuditError;
use crate::model::Model;
use crate::options::{Heuristic, Options, OrderBy};
use crate::paper::execution::{Execution, Mark, Role, Statements, Step};
use crate::paper::relax::{Relaxed, relax};
use crate::paper::transactions::{Transactions, Txn, collect};
use crate::verdict::{
    Audit, Blame, Core, Explanation, Figures, Place, Rung, Undecided, Verdict, Violation, Watch,
};

/// How many earlier places a transaction is tried at.
const PLACES: usize = 64;
/// The most transactions for which all orders are searched.
const SEARCHED: usize = 2_000;

/// Audits a log.
pub(crate) fn audit(log: &Log, options: &Options, watch: &dyn Watch) -> Result<Audit, AuditError> {
    let transactions = collect(log)?;
    let classes = classes(log, &transactions);
    let mut auditor = Auditor {
        options,
        classes,
        watch,
        statements: Statements::new(log)?,
        transactions,
        gaps: Vec::new(),
        proposals: 0,
        order: Vec::new(),
        beyond: None,
    };
    let found = auditor.decide(options.model, options.order)?;
    let verdict = auditor.verdict(found)?;
    let figures = Figures {
        transactions: auditor.transactions.all.len(),
        answers: auditor.transactions.all.iter().map(|txn| txn.entries.len()).sum(),
        proposals: auditor.proposals,
        ..Figures::default()
    };
    Ok(Audit { model: options.model, verdict, figures, gaps: auditor.gaps })
}

/// What was found about a log.
enum Found {
    /// An order of transactions.
    Order(Vec<usize>),
    /// Nothing explains the answers up to this transaction.
    Nothing(usize),
    /// A limit was reached at this entry.
    Limit(usize, String),
}

/// How the search for one prefix ended.
enum Search {
    Order,
    Nothing,
    Limit(usize, String),
}

struct Auditor<'a> {
    options: &'a Options,
    watch: &'a dyn Watch,
    statements: Statements<'a>,
    transactions: Transactions,
    /// Transactions with the same statements, parameters, answers and outcome have the same number.
    classes: Vec<u32>,
    gaps: Vec<crate::verdict::Gap>,
    proposals: u64,
    /// The order that the search found last.
    order: Vec<usize>,
    /// The last prefix that was bounded, and whether it is impossible.
    beyond: Option<(usize, bool)>,
}

/// Something that the search of all orders places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Event {
    Start(usize),
    End(usize),
}

/// A node of the search.
struct Node {
    candidates: Vec<Event>,
    next: usize,
    /// Where the execution was before the event that led here.
    mark: Mark,
}

impl Auditor<'_> {
    fn decide(&mut self, model: Model, order: OrderBy) -> Result<Found, AuditError> {
        if !self.options.without.contains(&Heuristic::StrongFirst)
            && let Some(found) = self.try_greedy(model)?
        {
            return Ok(found);
        }
        let mut execution = self.execution(model, false)?;
        let mut placed: Vec<(usize, Mark)> = Vec::new();
        for number in 0..self.transactions.all.len() {
            if self.watch.is_over() {
                return Ok(Found::Limit(
                    self.transactions.all[number].last,
                    "the time limit was reached".to_owned(),
                ));
            }
            self.watch.progress(number, self.transactions.all.len());
            let mark = execution.mark();
            match self.append(&mut execution, model, number)? {
                Search::Order => placed.push((number, mark)),
                Search::Limit(entry, why) => return Ok(Found::Limit(entry, why)),
                Search::Nothing if order == OrderBy::Timestamps => return Ok(Found::Nothing(number)),
                Search::Nothing if self.is_beyond(number)? => return Ok(Found::Nothing(number)),
                Search::Nothing if self.insert(&mut execution, model, number, &mut placed)? => {}
                Search::Nothing => return self.search_prefixes(model, number),
            }
        }
        self.gaps = std::mem::take(&mut execution.gaps);
        let order: Vec<usize> = placed.into_iter().map(|(number, _)| number).collect();
        Ok(Found::Order(there(&order, &execution.absent())))
    }

    /// Looks for a concrete execution in the order of the ends; `None` if there may be another.
    fn try_greedy(&mut self, model: Model) -> Result<Option<Found>, AuditError> {
        let is_open = matches!(model, Model::PaperSi | Model::PaperRc);
        if !is_open && self.transactions.all.iter().all(|txn| txn.is_certain) {
            // The execution below is as concrete.
            return Ok(None);
        }
        let cap = self.options.cap as usize;
        let mut execution = Execution::greedy(model, cap, &mut self.statements, &self.transactions.loader)?;
        for number in 0..self.transactions.all.len() {
            self.watch.progress(number, self.transactions.all.len());
            if self.watch.is_over() || !matches!(self.append(&mut execution, model, number)?, Search::Order) {
                return Ok(None);
            }
        }
        self.gaps = std::mem::take(&mut execution.gaps);
        let order: Vec<usize> = (0..self.transactions.all.len()).collect();
        Ok(Some(Found::Order(there(&order, &execution.absent()))))
    }

    fn execution(&mut self, model: Model, is_retractable: bool) -> Result<Execution, AuditError> {
        let cap = self.options.cap as usize;
        Execution::new(model, cap, &mut self.statements, &self.transactions.loader, is_retractable)
    }

    /// Executes the next transaction in the order of the ends.
    fn append(
        &mut self,
        execution: &mut Execution,
        model: Model,
        number: usize,
    ) -> Result<Search, AuditError> {
        let all = &self.transactions.all;
        let txn = &all[number];
        let start = match model {
            Model::PaperSsi => all[..number].partition_point(|other| other.end < txn.start) as u32,
            _ => 0,
        };
        let role = if txn.is_certain { Role::Required } else { Role::Optional };
        let step = execution.push(&mut self.statements, txn, start, role)?;
        Ok(self.settle(execution, step, txn_last(&self.transactions.all[number])))
    }

    /// What a step means, after the solver was asked.
    fn settle(&mut self, execution: &mut Execution, step: Step, entry: usize) -> Search {
        self.proposals += 1;
        match step {
            Step::Limit(entry, why) => Search::Limit(entry, why),
            Step::Impossible => Search::Nothing,
            Step::Done => match execution.is_possible(&mut || self.watch.is_over()) {
                Some(true) => Search::Order,
                Some(false) => Search::Nothing,
                None => Search::Limit(entry, "the time limit was reached".to_owned()),
            },
        }
    }

    /// Whether a prefix is impossible in any order, by the bound.
    fn is_beyond(&mut self, last: usize) -> Result<bool, AuditError> {
        if let Some((known, is_beyond)) = self.beyond
            && known == last
        {
            return Ok(is_beyond);
        }
        let cap = self.options.cap as usize;
        let relaxed =
            relax(&mut self.statements, &self.transactions, &self.classes, last + 1, cap, false, &|| {
                self.watch.is_over()
            })?;
        self.beyond = Some((last, relaxed == Relaxed::Impossible));
        Ok(relaxed == Relaxed::Impossible)
    }

    /// Decides the prefixes from one on by the search alone.
    fn search_prefixes(&mut self, model: Model, from: usize) -> Result<Found, AuditError> {
        for last in from..self.transactions.all.len() {
            if last > from && self.is_beyond(last)? {
                return Ok(Found::Nothing(last));
            }
            match self.search(model, last)? {
                Search::Order => {}
                Search::Nothing => return Ok(Found::Nothing(last)),
                Search::Limit(entry, why) => return Ok(Found::Limit(entry, why)),
            }
        }
        Ok(Found::Order(std::mem::take(&mut self.order)))
    }

    /// Inserts a transaction at an earlier place in a concrete execution; whether that explains the prefix.
    fn insert(
        &mut self,
        execution: &mut Execution,
        model: Model,
        number: usize,
        placed: &mut Vec<(usize, Mark)>,
    ) -> Result<bool, AuditError> {
        if !execution.is_concrete() || !matches!(model, Model::PaperS | Model::PaperSs) {
            return Ok(false);
        }
        for place in (placed.len().saturating_sub(PLACES)..placed.len()).rev() {
            let (before, mark) = placed[place];
            if self.watch.is_over() || (model == Model::PaperSs && self.precedes(before, number)) {
                break;
            }
            let mut tail: Vec<usize> = placed[place..].iter().map(|&(other, _)| other).collect();
            tail.insert(0, number);
            execution.undo(mark);
            let found = self.replay(execution, &tail)?;
            if let Ok(marks) = found {
                placed.truncate(place);
                placed.extend(tail.into_iter().zip(marks));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Executes transactions that are all required; the marks before each, or nothing if one cannot be executed.
    fn replay(
        &mut self,
        execution: &mut Execution,
        order: &[usize],
    ) -> Result<Result<Vec<Mark>, ()>, AuditError> {
        let mut marks = Vec::with_capacity(order.len());
        for &number in order {
            marks.push(execution.mark());
            let txn = &self.transactions.all[number];
            let role = if txn.is_certain { Role::Required } else { Role::Optional };
            self.proposals += 1;
            if execution.push(&mut self.statements, txn, 0, role)? != Step::Done || !execution.is_concrete() {
                return Ok(Err(()));
            }
        }
        Ok(Ok(marks))
    }

    /// Whether a transaction is before another by time.
    fn precedes(&self, a: usize, b: usize) -> bool {
        self.transactions.all[a].ends.1 < self.transactions.all[b].begins.0
    }

    /// When an event may happen.
    fn interval(&self, model: Model, event: Event) -> (u64, u64) {
        match (model, event) {
            (Model::PaperSsi, Event::Start(txn)) => self.transactions.all[txn].begins,
            (Model::PaperSsi, Event::End(txn)) => self.transactions.all[txn].ends,
            (Model::PaperSs, Event::End(txn)) => {
                (self.transactions.all[txn].begins.0, self.transactions.all[txn].ends.1)
            }
            _ => (0, u64::MAX),
        }
    }

    /// The search of all orders for the prefix up to a transaction; see the module.
    fn search(&mut self, model: Model, last: usize) -> Result<Search, AuditError> {
        let entry = txn_last(&self.transactions.all[last]);
        if self.transactions.all.len() > SEARCHED {
            return Ok(Search::Limit(
                entry,
                "there are too many transactions for a search of all orders".to_owned(),
            ));
        }
        let mut execution = self.execution(model, true)?;
        let mut order: Vec<(Event, u32)> = Vec::new();
        let root = Node { candidates: self.candidates(model, last, &order), next: 0, mark: execution.mark() };
        let mut nodes = vec![root];
        while let Some(node) = nodes.last_mut() {
            let Some(&event) = node.candidates.get(node.next) else {
                execution.undo(node.mark);
                nodes.pop();
                order.pop();
                continue;
            };
            node.next += 1;
            if self.watch.is_over() || self.proposals > self.options.most_proposals {
                return Ok(Search::Limit(entry, "the search of all orders reached its limit".to_owned()));
            }
            let mark = execution.mark();
            let states = execution.states();
            if let Event::End(txn) = event {
                let begun = order.iter().find(|(other, _)| *other == Event::Start(txn));
                let start = begun.map_or(0, |&(_, state)| state);
                let role = if txn <= last { Role::Required } else { Role::Free };
                let step = execution.push(&mut self.statements, &self.transactions.all[txn], start, role)?;
                match self.settle(&mut execution, step, entry) {
                    Search::Order => {}
                    Search::Nothing => {
                        execution.undo(mark);
                        continue;
                    }
                    limit @ Search::Limit(..) => return Ok(limit),
                }
            }
            order.push((event, states));
            let is_placed = |txn: usize| order.iter().any(|(other, _)| *other == Event::End(txn));
            if (0..=last).all(|txn| !self.transactions.all[txn].is_certain || is_placed(txn)) {
                let end = |(event, _): &(Event, u32)| match event {
                    Event::End(txn) => Some(*txn),
                    Event::Start(_) => None,
                };
                self.order = order.iter().filter_map(end).collect();
                return Ok(Search::Order);
            }
            let candidates = self.candidates(model, last, &order);
            nodes.push(Node { candidates, next: 0, mark });
        }
        Ok(Search::Nothing)
    }

    /// The events that can come next in the search for the prefix up to `last`.
    fn candidates(&self, model: Model, last: usize, order: &[(Event, u32)]) -> Vec<Event> {
        let placed: FxHashSet<Event> = order.iter().map(|(event, _)| *event).collect();
        // The latest beginning of what was placed, and the earliest end of what must be.
        let began = placed.iter().map(|&event| self.interval(model, event).0).max().unwrap_or(0);
        let mut due = u64::MAX;
        let mut left = Vec::new();
        for (number, txn) in self.transactions.all.iter().enumerate() {
            if placed.contains(&Event::End(number)) {
                continue;
            }
            let needs_start = model == Model::PaperSsi && !placed.contains(&Event::Start(number));
            let event = if needs_start { Event::Start(number) } else { Event::End(number) };
            if number <= last && txn.is_certain {
                due = due.min(self.interval(model, event).1);
            }
            left.push(event);
        }
        let mut classes: FxHashSet<(u32, bool)> = FxHashSet::default();
        left.retain(|&event| {
            let (from, until) = self.interval(model, event);
            let (Event::Start(number) | Event::End(number)) = event;
            // Transactions that do the same are interchangeable if time means nothing.
            let is_timeless = !matches!(model, Model::PaperSs | Model::PaperSsi);
            until >= began
                && from <= due
                && (!is_timeless || classes.insert((self.classes[number], number <= last)))
        });
        left
    }

    fn verdict(&mut self, found: Found) -> Result<Verdict, AuditError> {
        let entry_of = |number: usize| txn_last(&self.transactions.all[number]);
        Ok(match found {
            Found::Order(order) => {
                let places = order.into_iter().map(|number| Place::Commit(entry_of(number))).collect();
                Verdict::Explained(Explanation { model: self.options.model, places, serial: Vec::new() })
            }
            Found::Limit(entry, why) => Verdict::Undecided(Undecided { entry, why }),
            Found::Nothing(number) => {
                let entry = entry_of(number);
                let blame = self.blame(number)?;
                let answers = self.transactions.all[number].entries.clone();
                let why = "no execution gives the answers of its transaction and those before".to_owned();
                let core = Core { answers, is_minimal: false };
                Verdict::Violated(Violation { entry, why, core, blame })
            }
        })
    }

    /// The strongest promise that explains the transactions, of which this is the last.
    fn rung(&mut self, weaker: &[Model], last: usize) -> Result<Option<Rung>, AuditError> {
        self.beyond = self.beyond.filter(|(_, is_beyond)| *is_beyond);
        if !self.is_beyond(last)? {
            for &model in weaker {
                if matches!(self.decide(model, OrderBy::Solve)?, Found::Order(_)) {
                    return Ok(Some(Rung::Model(model)));
                }
            }
            return Ok(Some(Rung::AnyCommitted));
        }
        let cap = self.options.cap as usize;
        let (all, classes, stop) = (&self.transactions, &self.classes, || self.watch.is_over());
        let relaxed = relax(&mut self.statements, all, classes, last + 1, cap, true, &stop)?;
        Ok((relaxed == Relaxed::Possible).then_some(Rung::AnyWritten))
    }

    /// The strongest promise that explains the prefix up to a transaction.
    fn blame(&mut self, last: usize) -> Result<Blame, AuditError> {
        let weaker: &[Model] = match self.options.model {
            Model::PaperSs => &[Model::PaperS, Model::PaperSi, Model::PaperRc],
            Model::PaperS | Model::PaperSsi => &[Model::PaperSi, Model::PaperRc],
            Model::PaperSi => &[Model::PaperRc],
            _ => &[],
        };
        let rest = self.transactions.all.split_off(last + 1);
        let gaps = self.gaps.clone();
        let blame = self.rung(weaker, last);
        self.gaps = gaps;
        self.transactions.all.extend(rest);
        if let Some(rung) = blame? {
            return Ok(Blame::Isolation(rung));
        }
        Ok(Blame::Semantic)
    }
}

/// Numbers transactions by what they do and are answered.
fn classes(log: &Log, transactions: &Transactions) -> Vec<u32> {
    let mut known: FxHashMap<Vec<String>, u32> = FxHashMap::default();
    let spell = |entry: usize| {
        let line = &log.entries[entry];
        format!(
            "{} {:?} {:?} {:?}",
            line.sql,
            line.params,
            line.answer,
            line.ending.map(|ending| ending.outcome)
        )
    };
    let class = |txn: &Txn| {
        let next = known.len() as u32;
        *known.entry(txn.entries.iter().map(|&entry| spell(entry)).collect()).or_insert(next)
    };
    transactions.all.iter().map(class).collect()
}

/// The transactions of an order that are there: transaction `i` of the order makes state `i + 1`.
fn there(order: &[usize], absent: &[u32]) -> Vec<usize> {
    let is_there = |state: u32| !absent.contains(&state);
    (1..).zip(order).filter(|(state, _)| is_there(*state)).map(|(_, &number)| number).collect()
}

fn txn_last(txn: &Txn) -> usize {
    txn.last
}
