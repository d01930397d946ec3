//! Stored procedures and functions: MySQL's and MariaDB's `BEGIN .. END`, PostgreSQL's PL/pgSQL.
//!
//! `procedure/parse.rs` reads bodies from the tokens of `sqlparser`, which parses only the statements and expressions inside.
//! This file runs them: each statement sees the changes of the statements before it. All statements of a call see the same
//! view otherwise, so that at *read committed*, where each has a snapshot of its own, a call is exact only if nothing
//! commits meanwhile.

mod parse;

use std::cell::Cell;

use sqlparser::ast;

use crate::answer::{Doubt, Reply};
use crate::bind::Binder;
use crate::cast::cast;
use crate::change::{self, Change};
use crate::compare::truth;
use crate::dialect::Dialect;
use crate::error::{ErrorClass, Result, SqlError, invalid, unknown_name, unsupported};
use crate::expression::Context;
use crate::ir::{Cast, CastMode, Expr};
use crate::select;
use crate::value::{Type, Value};
use crate::work::Work;

pub(crate) use parse::definition;

/// The most steps of a call.
const MOST_STEPS: u32 = 1_000_000;

/// How deep calls may be nested.
const MOST_CALLS: u32 = 16;

thread_local! {
    /// How deep calls are nested now.
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// A stored procedure or function.
#[derive(Clone, Debug, PartialEq)]
pub struct Routine {
    /// Its name.
    pub name: String,
    /// Whether it is a function.
    pub is_function: bool,
    /// Whether it replaces one of the same name.
    pub is_replacement: bool,
    pub(crate) returns: Option<Type>,
    pub(crate) params: Vec<Param>,
    pub(crate) variables: Vec<Declared>,
    pub(crate) cursors: Vec<(String, ast::Query)>,
    /// What happens when FETCH finds no row.
    pub(crate) not_found: Option<Vec<Step>>,
    pub(crate) body: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) is_out: bool,
    pub(crate) is_in: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Declared {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) value: Option<ast::Expr>,
}

/// A step of a body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Sql {
        statement: Box<ast::Statement>,
        into: Vec<String>,
    },
    Set(String, ast::Expr),
    If(Vec<(ast::Expr, Vec<Step>)>, Vec<Step>),
    Loop {
        label: Option<String>,
        before: Option<Box<ast::Expr>>,
        until: Option<Box<ast::Expr>>,
        body: Vec<Step>,
    },
    ForRange {
        label: Option<String>,
        variable: String,
        low: Box<ast::Expr>,
        high: Box<ast::Expr>,
        reverse: bool,
        body: Vec<Step>,
    },
    ForQuery {
        label: Option<String>,
        record: String,
        query: Box<ast::Query>,
        body: Vec<Step>,
    },
    Leave(Option<String>, Option<ast::Expr>),
    Again(Option<String>, Option<ast::Expr>),
    Return(Option<ast::Expr>),
    Open(String),
    Fetch(String, Vec<String>),
    Close(String),
    Raise(String),
    Block(Vec<Step>),
}

/// How a list of steps ended.
enum End {
    Normal,
    Leave(Option<String>),
    Again(Option<String>),
    Return,
}

struct Cursor {
    rows: Vec<Vec<Value>>,
    next: usize,
}

struct Frame<'f, 'v> {
    cx: &'f Context<'v>,
    routine: &'f Routine,
    names: Vec<(String, Type)>,
    values: Vec<Value>,
    cursors: Vec<(String, Option<Cursor>)>,
    work: Work<'f>,
    /// PL/pgSQL's FOUND.
    is_found: bool,
    reply: Option<Reply>,
    result: Value,
    steps: u32,
}

/// CALL.
pub(crate) fn call(cx: &Context<'_>, name: &str, args: &[Expr]) -> Result<(Reply, Vec<Change>)> {
    let Some(routine) = cx.view.catalog().routine(name).filter(|it| !it.is_function).cloned() else {
        return unknown_name(format!("procedure {name} does not exist"));
    };
    let args = args.iter().map(|arg| cx.eval(arg, None)).collect::<Result<Vec<_>>>()?;
    nested(|| {
        let mut frame = Frame::new(cx, &routine, args)?;
        frame.run()?;
        let outs: Vec<usize> = (0..routine.params.len()).filter(|at| routine.params[*at].is_out).collect();
        let mut reply = frame.reply.take().unwrap_or(Reply::Count(0));
        if !outs.is_empty() {
            if cx.settings.dialect != Dialect::Postgres {
                return unsupported("OUT parameters");
            }
            let columns = outs.iter().map(|at| routine.params[*at].name.clone()).collect();
            let row = outs.iter().map(|at| frame.values[*at].clone()).collect();
            reply = Reply::Rows(crate::answer::Rows::unordered(columns, vec![row]));
        } else if cx.settings.dialect == Dialect::Postgres {
            reply = Reply::Count(0);
        }
        Ok((reply, frame.work.changes()))
    })
}

/// A call of a function in an expression. It must not write.
pub(crate) fn call_function(cx: &Context<'_>, name: &str, args: Vec<Value>) -> Result<Value> {
    let Some(routine) = cx.view.catalog().routine(name).filter(|it| it.is_function).cloned() else {
        return unknown_name(format!("function {name} does not exist"));
    };
    nested(|| {
        let mut frame = Frame::new(cx, &routine, args)?;
        frame.run()?;
        let result = std::mem::replace(&mut frame.result, Value::Null);
        if !frame.work.changes().is_empty() {
            return unsupported("a function that writes");
        }
        let to = routine.returns.unwrap_or(Type::Unknown);
        cast(&result, Cast { to, mode: CastMode::Assign }, cx.mode())
    })
}

/// Runs a call, if calls are not nested too deeply.
fn nested<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let depth = CALLS.get();
    if depth >= MOST_CALLS {
        return unsupported("calls are nested too deeply");
    }
    CALLS.set(depth + 1);
    let result = work();
    CALLS.set(depth);
    result
}

impl<'f, 'v> Frame<'f, 'v> {
    fn new(cx: &'f Context<'v>, routine: &'f Routine, args: Vec<Value>) -> Result<Frame<'f, 'v>> {
        let mut frame = Frame {
            cx,
            routine,
            names: Vec::new(),
            values: Vec::new(),
            cursors: routine.cursors.iter().map(|(name, _)| (name.clone(), None)).collect(),
            work: Work::new(cx),
            is_found: false,
            reply: None,
            result: Value::Null,
            steps: 0,
        };
        let wanted = routine.params.iter().filter(|param| param.is_in).count();
        if args.len() != wanted && args.len() != routine.params.len() {
            return invalid(format!("{} has {wanted} arguments", routine.name));
        }
        let all = args.len() == routine.params.len();
        let mut args = args.into_iter();
        for param in &routine.params {
            let given = if param.is_in || all { args.next() } else { None };
            let value = given.filter(|_| param.is_in).unwrap_or(Value::Null);
            frame.declare(&param.name, param.ty, &value)?;
        }
        for declared in &routine.variables {
            let value = match &declared.value {
                Some(expr) => frame.eval(expr)?,
                None => Value::Null,
            };
            frame.declare(&declared.name, declared.ty, &value)?;
        }
        Ok(frame)
    }

    fn declare(&mut self, name: &str, ty: Type, value: &Value) -> Result<()> {
        let value = cast(value, Cast { to: ty, mode: CastMode::Assign }, self.cx.mode())?;
        self.names.push((name.to_owned(), ty));
        self.values.push(value);
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        let routine = self.routine;
        match self.steps(&routine.body)? {
            End::Leave(Some(label)) | End::Again(Some(label)) => {
                invalid(format!("there is no label {label}"))
            }
            _ => Ok(()),
        }
    }

    /// Runs something with a context on the changed tables.
    fn with<T>(&self, writes: bool, run: impl FnOnce(&Context<'_>) -> Result<T>) -> Result<T> {
        let mut cx = Context::new(&self.work, self.cx.params, writes, self.cx.holes.get());
        cx.variables = &self.values;
        cx.stores = writes;
        cx.pending = self.work.next();
        let result = run(&cx);
        self.cx.holes.set(cx.holes.get());
        cx.doubts.take().into_iter().for_each(|doubt| self.cx.doubt(doubt));
        result
    }

    fn binder(&self) -> Binder<'_> {
        let mut binder = Binder::new(self.cx.view.catalog(), Vec::new());
        binder.variables.clone_from(&self.names);
        binder.variables.push(("found".to_owned(), Type::Bool));
        binder
    }

    fn eval(&mut self, expr: &ast::Expr) -> Result<Value> {
        if let ast::Expr::Identifier(name) = expr
            && name.value.eq_ignore_ascii_case("found")
            && self.cx.settings.is_postgres()
        {
            return Ok(Value::Bool(self.is_found));
        }
        let bound = self.binder().value(expr, self.is_found)?;
        self.with(false, |cx| cx.eval(&bound, None))
    }

    fn test(&mut self, expr: &ast::Expr) -> Result<bool> {
        let value = self.eval(expr)?;
        Ok(truth(&value, self.cx.mode())? == Some(true))
    }

    fn assign(&mut self, name: &str, value: &Value) -> Result<()> {
        let Some(at) = self.names.iter().rposition(|(other, _)| other.eq_ignore_ascii_case(name)) else {
            return unsupported(format!("the variable {name}"));
        };
        self.values[at] = cast(value, Cast { to: self.names[at].1, mode: CastMode::Assign }, self.cx.mode())?;
        Ok(())
    }

    fn steps(&mut self, steps: &[Step]) -> Result<End> {
        for step in steps {
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return unsupported("the procedure runs too long");
            }
            match self.step(step)? {
                End::Normal => {}
                end => return Ok(end),
            }
        }
        Ok(End::Normal)
    }

    fn step(&mut self, step: &Step) -> Result<End> {
        match step {
            Step::Sql { statement, into } => self.sql(statement, into)?,
            Step::Set(name, expr) => {
                let value = self.eval(expr)?;
                self.assign(name, &value)?;
            }
            Step::If(arms, otherwise) => {
                for (condition, steps) in arms {
                    if self.test(condition)? {
                        return self.steps(steps);
                    }
                }
                return self.steps(otherwise);
            }
            Step::Block(steps) => return self.steps(steps),
            Step::Loop { label, before, until, body } => {
                return self.repeat(label.as_deref(), before.as_deref(), until.as_deref(), body);
            }
            Step::ForRange { .. } | Step::ForQuery { .. } => return self.for_each(step),
            Step::Leave(label, condition) | Step::Again(label, condition) => {
                let holds = match condition {
                    Some(condition) => self.test(condition)?,
                    None => true,
                };
                if holds {
                    let is_leave = matches!(step, Step::Leave(..));
                    return Ok(if is_leave { End::Leave(label.clone()) } else { End::Again(label.clone()) });
                }
            }
            Step::Return(value) => {
                if let Some(value) = value {
                    self.result = self.eval(value)?;
                }
                return Ok(End::Return);
            }
            Step::Open(name) => self.open(name)?,
            Step::Fetch(name, into) => return self.fetch(name, into),
            Step::Close(name) => {
                match self.cursors.iter_mut().find(|(other, _)| other.eq_ignore_ascii_case(name)) {
                    Some((_, cursor @ Some(_))) => *cursor = None,
                    _ => return invalid(format!("the cursor {name} is not open")),
                }
            }
            Step::Raise(message) => return Err(SqlError::new(ErrorClass::Raised, message.clone())),
        }
        Ok(End::Normal)
    }

    /// Runs the body of a loop once. Returns how the loop ends, if it does.
    fn turn(&mut self, label: Option<&str>, body: &[Step]) -> Result<Option<End>> {
        let is_own = |other: &Option<String>| match (other, label) {
            (None, _) => true,
            (Some(other), Some(label)) => other.eq_ignore_ascii_case(label),
            (Some(_), None) => false,
        };
        Ok(match self.steps(body)? {
            End::Normal => None,
            End::Leave(other) if is_own(&other) => Some(End::Normal),
            End::Again(other) if is_own(&other) => None,
            end => Some(end),
        })
    }

    fn repeat(
        &mut self,
        label: Option<&str>,
        before: Option<&ast::Expr>,
        until: Option<&ast::Expr>,
        body: &[Step],
    ) -> Result<End> {
        loop {
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return unsupported("the procedure runs too long");
            }
            if let Some(condition) = before
                && !self.test(condition)?
            {
                return Ok(End::Normal);
            }
            if let Some(end) = self.turn(label, body)? {
                return Ok(end);
            }
            if let Some(condition) = until
                && self.test(condition)?
            {
                return Ok(End::Normal);
            }
        }
    }

    fn for_each(&mut self, step: &Step) -> Result<End> {
        let scope = self.names.len();
        let end = match step {
            Step::ForRange { label, variable, low, high, reverse, body } => {
                self.for_range(label.as_deref(), variable, (low, high), *reverse, body)
            }
            Step::ForQuery { label, record, query, body } => {
                self.for_query(label.as_deref(), record, query, body)
            }
            _ => Ok(End::Normal),
        };
        self.names.truncate(scope);
        self.values.truncate(scope);
        end
    }

    fn for_range(
        &mut self,
        label: Option<&str>,
        name: &str,
        ends: (&ast::Expr, &ast::Expr),
        reverse: bool,
        body: &[Step],
    ) -> Result<End> {
        let (Value::Int(first), Value::Int(last)) = (self.eval(ends.0)?, self.eval(ends.1)?) else {
            return unsupported("FOR with ends that are not integers");
        };
        let at = self.names.len();
        self.declare(name, Type::INT4, &Value::Int(first))?;
        let mut n = first;
        while if reverse { n >= last } else { n <= last } {
            self.values[at] = Value::Int(n);
            if let Some(end) = self.turn(label, body)? {
                return Ok(end);
            }
            n += if reverse { -1 } else { 1 };
        }
        Ok(End::Normal)
    }

    fn for_query(
        &mut self,
        label: Option<&str>,
        record: &str,
        query: &ast::Query,
        body: &[Step],
    ) -> Result<End> {
        let (bound, columns) = self.binder().cursor(query)?;
        let rows = self.with(false, |cx| select::rows(cx, &bound, None))?;
        self.note_order(&bound, &rows);
        let at = self.names.len();
        for (name, ty) in columns {
            self.names.push((format!("{record}.{name}"), ty));
            self.values.push(Value::Null);
        }
        for row in rows {
            for (place, value) in self.values[at..].iter_mut().zip(row) {
                *place = value;
            }
            if let Some(end) = self.turn(label, body)? {
                return Ok(end);
            }
        }
        Ok(End::Normal)
    }

    /// A loop over rows in no order may run in any.
    fn note_order(&self, query: &crate::ir::Query, rows: &[Vec<Value>]) {
        if query.order.is_empty() && rows.len() > 1 {
            self.cx.doubt(Doubt::Choice);
        }
    }

    fn open(&mut self, name: &str) -> Result<()> {
        let Some((_, query)) =
            self.routine.cursors.iter().find(|(other, _)| other.eq_ignore_ascii_case(name))
        else {
            return invalid(format!("there is no cursor {name}"));
        };
        let (bound, _) = self.binder().cursor(query)?;
        let rows = self.with(false, |cx| select::rows(cx, &bound, None))?;
        self.note_order(&bound, &rows);
        for (other, cursor) in &mut self.cursors {
            if other.eq_ignore_ascii_case(name) {
                if cursor.is_some() {
                    return invalid(format!("the cursor {name} is open already"));
                }
                *cursor = Some(Cursor { rows, next: 0 });
                return Ok(());
            }
        }
        Ok(())
    }

    fn fetch(&mut self, name: &str, into: &[String]) -> Result<End> {
        let cursor = self.cursors.iter_mut().find(|(other, _)| other.eq_ignore_ascii_case(name));
        let Some((_, Some(cursor))) = cursor else {
            return invalid(format!("the cursor {name} is not open"));
        };
        let row = cursor.rows.get(cursor.next).cloned();
        cursor.next += 1;
        self.is_found = row.is_some();
        match row {
            Some(row) if row.len() == into.len() => {
                for (name, value) in into.iter().zip(&row) {
                    self.assign(name, value)?;
                }
                Ok(End::Normal)
            }
            Some(_) => invalid("FETCH has a wrong number of variables"),
            None => self.not_found(into),
        }
    }

    /// No row was found: PL/pgSQL's variables become NULL; MySQL's handler runs.
    fn not_found(&mut self, into: &[String]) -> Result<End> {
        if self.cx.settings.is_postgres() {
            for name in into {
                self.assign(name, &Value::Null)?;
            }
            return Ok(End::Normal);
        }
        match &self.routine.not_found {
            Some(steps) => self.steps(steps),
            None => Err(SqlError::new(ErrorClass::Raised, "no data")),
        }
    }

    fn sql(&mut self, statement: &ast::Statement, into: &[String]) -> Result<()> {
        let plan = self.binder().plan(statement)?;
        let writes = !matches!(statement, ast::Statement::Query(_));
        let (reply, changes) = self.with(writes, |cx| change::run(cx, &plan.action))?;
        for change in changes {
            self.apply(change)?;
        }
        match (&reply, into.is_empty()) {
            (Reply::Rows(rows), false) => {
                let row = rows.chosen().first().cloned();
                if rows.chosen().len() > 1 {
                    if self.cx.settings.is_mysql() {
                        return Err(SqlError::new(ErrorClass::Cardinality, "more than one row for INTO"));
                    }
                    self.cx.doubt(Doubt::Choice);
                }
                self.is_found = row.is_some();
                self.count(u64::from(row.is_some()));
                match row {
                    Some(row) if row.len() == into.len() => {
                        for (name, value) in into.iter().zip(&row) {
                            self.assign(name, value)?;
                        }
                    }
                    Some(_) => return invalid("INTO has a wrong number of variables"),
                    None if self.routine.not_found.is_none() && !self.cx.settings.is_postgres() => {}
                    None => {
                        self.not_found(into)?;
                    }
                }
            }
            (Reply::Rows(_), true) if self.cx.settings.is_postgres() && !writes => {
                return invalid("the query has no destination for its rows");
            }
            (Reply::Rows(_), true) => {
                if !matches!(self.reply, Some(Reply::Rows(_))) {
                    self.reply = Some(reply);
                }
            }
            (Reply::Count(count), _) => {
                self.is_found = *count > 0;
                self.count(*count);
            }
        }
        Ok(())
    }

    /// The count of a call: in MariaDB the sum of its statements, in MySQL that of the last.
    fn count(&mut self, count: u64) {
        match &mut self.reply {
            Some(Reply::Rows(_)) => {}
            Some(Reply::Count(sum)) if self.cx.settings.is_mariadb => *sum = sum.saturating_add(count),
            reply => *reply = Some(Reply::Count(count)),
        }
    }

    fn apply(&mut self, change: Change) -> Result<()> {
        match change {
            Change::Insert(table, row) => {
                self.work.insert(table, row);
            }
            Change::Update(table, id, row) => self.work.set(table, id, Some(row)),
            Change::Delete(table, id) => self.work.set(table, id, None),
            Change::Catalog(_) => return unsupported("definitions in a procedure"),
        }
        Ok(())
    }
}
