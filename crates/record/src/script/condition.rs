//! Conditions and expectations: parsing and evaluation.
//!
//! ```text
//! condition := all { "or" all }
//! all       := one { "and" one }
//! one       := "not" one | "(" condition ")" | subject state | operand compare operand
//! subject   := session | session "." label
//! operand   := session "." label | rows
//! rows      := "none" | row { "," row }
//! row       := value | "(" value { "," value } ")"
//! ```
//!
//! Values are compared by their text form, because databases disagree on types: a sum may be an integer or a decimal, a
//! boolean may be `true` or `1`.

use super::transcript::{Ending, Facts};
use super::words::{Piece, Place, Token, tokens};
use super::{Expected, ExpectedResult, ScriptError};
use crate::database::{Answer, Class, Scalar};

/// The maximum nesting depth of parentheses and `not`. It bounds the recursion.
const MAX_DEPTH: u32 = 64;

/// Keywords, which cannot be names of sessions or labels.
pub(super) const RESERVED: [&str; 7] = ["and", "or", "not", "none", "null", "true", "false"];

/// The condition under which the anomaly happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition(Expression);

#[derive(Clone, Debug, PartialEq)]
enum Expression {
    All(Vec<Expression>),
    Any(Vec<Expression>),
    Not(Box<Expression>),
    Compare(Operand, Comparison, Operand),
    Step(usize, StepState),
    Session(usize, SessionState),
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Step(usize),
    Rows(Vec<Vec<Scalar>>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepState {
    Answered,
    Waited,
    Failed(Option<Class>),
    Skipped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionState {
    Committed,
    RolledBack,
    Failed(Option<Class>),
}

/// The sessions and labelled steps that a condition may refer to.
pub(super) struct Names<'a> {
    pub(super) sessions: &'a [String],
    /// The session, the label and the index of every labelled step.
    pub(super) labels: &'a [(usize, String, usize)],
}

impl Condition {
    pub(super) fn holds(&self, facts: &Facts<'_>) -> bool {
        self.0.holds(facts)
    }

    pub(super) fn parse(pieces: &[Piece<'_>], names: &Names<'_>) -> Result<Condition, ScriptError> {
        let mut parser = Parser { tokens: tokens(pieces)?, at: 0, names: Some(names), depth: 0 };
        let expression = parser.condition()?;
        parser.end("`and`, `or` or the end of the condition")?;
        Ok(Condition(expression))
    }
}

/// Parses the expectation after `=>`.
pub(super) fn parse_expected(pieces: &[Piece<'_>]) -> Result<Expected, ScriptError> {
    let mut parser = Parser { tokens: tokens(pieces)?, at: 0, names: None, depth: 0 };
    let waits = parser.word("waits");
    let more = waits && parser.sign(",");
    if more && !parser.word("then") {
        return Err(parser.expected("`then`"));
    }
    let then = if waits && !more {
        None
    } else if parser.word("fails") {
        Some(ExpectedResult::Fails(parser.with_class()?))
    } else {
        Some(ExpectedResult::Rows(parser.rows("`waits`, `fails`, `none` or a value")?))
    };
    parser.end("the end of the expectation")?;
    Ok(Expected { waits, then })
}

struct Parser<'a> {
    tokens: Vec<(Token, Place)>,
    at: usize,
    names: Option<&'a Names<'a>>,
    depth: u32,
}

impl Parser<'_> {
    /// The current token. The last one is [`Token::End`], and the parser does not advance past it.
    fn token(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(token, _)| token)
    }

    fn place(&self) -> Place {
        self.tokens.get(self.at).map_or(Place { line: 1, column: 1 }, |(_, place)| *place)
    }

    fn step(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len().saturating_sub(1));
    }

    fn expected(&self, what: &str) -> ScriptError {
        self.place().error(format!("expected {what}, found {}", self.token().shown()))
    }

    /// Consumes the keyword if it is next.
    fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.token(), Token::Word(found) if found.eq_ignore_ascii_case(word));
        if found {
            self.step();
        }
        found
    }

    /// Consumes the symbol if it is next.
    fn sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.token(), Token::Sign(found) if *found == sign);
        if found {
            self.step();
        }
        found
    }

    fn end(&self, what: &str) -> Result<(), ScriptError> {
        if *self.token() == Token::End { Ok(()) } else { Err(self.expected(what)) }
    }

    fn condition(&mut self) -> Result<Expression, ScriptError> {
        let mut any = vec![self.all()?];
        while self.word("or") {
            any.push(self.all()?);
        }
        Ok(if any.len() == 1 { any.remove(0) } else { Expression::Any(any) })
    }

    fn all(&mut self) -> Result<Expression, ScriptError> {
        let mut all = vec![self.one()?];
        while self.word("and") {
            all.push(self.one()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Expression::All(all) })
    }

    fn one(&mut self) -> Result<Expression, ScriptError> {
        if self.depth == MAX_DEPTH {
            return Err(self
                .place()
                .error(format!("the condition is nested more than {MAX_DEPTH} levels deep")));
        }
        self.depth += 1;
        let one = if self.word("not") {
            self.one().map(|one| Expression::Not(Box::new(one)))
        } else if matches!(self.token(), Token::Sign("(")) && !self.is_row() {
            self.group()
        } else {
            self.statement()
        };
        self.depth -= 1;
        one
    }

    /// Whether the parenthesis opens a row rather than a condition: it is followed by a value and not by a name.
    fn is_row(&self) -> bool {
        match self.tokens.get(self.at + 1) {
            Some((Token::Int(_) | Token::Float(_) | Token::Text(_), _)) => true,
            Some((Token::Word(word), _)) => constant(word).is_some(),
            _ => false,
        }
    }

    fn group(&mut self) -> Result<Expression, ScriptError> {
        self.step();
        let inside = self.condition()?;
        if self.sign(")") { Ok(inside) } else { Err(self.expected("`)`")) }
    }

    /// A comparison, or the state of a session or step.
    fn statement(&mut self) -> Result<Expression, ScriptError> {
        let left = match self.subject()? {
            Some(Subject::Session(session)) => return self.session_state(session),
            Some(Subject::Step(step)) => match self.step_state()? {
                Some(state) => return Ok(Expression::Step(step, state)),
                None => Operand::Step(step),
            },
            None => Operand::Rows(self.rows("a session, a step or a value")?),
        };
        let comparison = self.comparison()?;
        let right = match self.subject()? {
            Some(Subject::Step(step)) => Operand::Step(step),
            Some(Subject::Session(_)) => return Err(self.expected("`.` and a label")),
            None => Operand::Rows(self.rows("a step or a value")?),
        };
        Ok(Expression::Compare(left, comparison, right))
    }

    /// A session or a labelled step, if a name is next.
    fn subject(&mut self) -> Result<Option<Subject>, ScriptError> {
        let (Token::Word(name), Some(names)) = (self.token().clone(), self.names) else { return Ok(None) };
        if RESERVED.iter().any(|word| word.eq_ignore_ascii_case(&name)) {
            return Ok(None);
        }
        let Some(session) = names.sessions.iter().position(|session| *session == name) else {
            let mut error = self.place().error(format!("unknown session `{name}`"));
            error.help = Some(format!("the sessions are {}", names.sessions.join(", ")));
            return Err(error);
        };
        self.step();
        if !self.sign(".") {
            return Ok(Some(Subject::Session(session)));
        }
        let Token::Word(label) = self.token().clone() else { return Err(self.expected("a label")) };
        let of_session = || names.labels.iter().filter(move |known| known.0 == session);
        let Some(&(_, _, step)) = of_session().find(|known| known.1 == label) else {
            let labels: Vec<&str> = of_session().map(|known| known.1.as_str()).collect();
            let mut error = self.place().error(format!("{name} has no step with the label `{label}`"));
            error.help = Some(if labels.is_empty() {
                format!("write the label in front of the statement, as in `{name}.{label}: SELECT ...`")
            } else {
                format!("its labels are {}", labels.join(", "))
            });
            return Err(error);
        };
        self.step();
        Ok(Some(Subject::Step(step)))
    }

    fn session_state(&mut self, session: usize) -> Result<Expression, ScriptError> {
        let what = "`.` and a label, `committed`, `rolled back` or `failed`";
        let state = if self.word("committed") {
            SessionState::Committed
        } else if self.word("rolled") {
            if !self.word("back") {
                return Err(self.expected("`back`"));
            }
            SessionState::RolledBack
        } else if self.word("failed") {
            SessionState::Failed(self.with_class()?)
        } else {
            return Err(self.expected(what));
        };
        Ok(Expression::Session(session, state))
    }

    fn step_state(&mut self) -> Result<Option<StepState>, ScriptError> {
        Ok(if self.word("answered") {
            Some(StepState::Answered)
        } else if self.word("waited") {
            Some(StepState::Waited)
        } else if self.word("skipped") {
            Some(StepState::Skipped)
        } else if self.word("failed") {
            Some(StepState::Failed(self.with_class()?))
        } else {
            None
        })
    }

    /// An optional `with` and a class of failures.
    fn with_class(&mut self) -> Result<Option<Class>, ScriptError> {
        if !self.word("with") {
            return Ok(None);
        }
        let found = match self.token() {
            Token::Word(word) => Class::ALL.into_iter().find(|class| class.name().eq_ignore_ascii_case(word)),
            _ => None,
        };
        if found.is_none() {
            let mut error = self.expected("a failure class");
            error.help = Some(format!("the classes are {}", Class::ALL.map(Class::name).join(", ")));
            return Err(error);
        }
        self.step();
        Ok(found)
    }

    fn comparison(&mut self) -> Result<Comparison, ScriptError> {
        let signs = [
            ("=", Comparison::Equal),
            ("!=", Comparison::Unequal),
            ("<", Comparison::Less),
            ("<=", Comparison::LessOrEqual),
            (">", Comparison::Greater),
            (">=", Comparison::GreaterOrEqual),
        ];
        for (sign, comparison) in signs {
            if self.sign(sign) {
                return Ok(comparison);
            }
        }
        if self.word("contains") {
            return Ok(Comparison::Contains);
        }
        Err(self.expected(
            "`=`, `!=`, `<`, `<=`, `>`, `>=`, `contains`, `answered`, `waited`, `failed` or `skipped`",
        ))
    }

    fn rows(&mut self, what: &str) -> Result<Vec<Vec<Scalar>>, ScriptError> {
        if self.word("none") {
            return Ok(Vec::new());
        }
        let mut rows = vec![self.row(what)?];
        while self.sign(",") {
            rows.push(self.row("a value or a row")?);
        }
        Ok(rows)
    }

    fn row(&mut self, what: &str) -> Result<Vec<Scalar>, ScriptError> {
        if !self.sign("(") {
            return Ok(vec![self.value(what)?]);
        }
        let mut row = vec![self.value("a value")?];
        while self.sign(",") {
            row.push(self.value("a value")?);
        }
        if self.sign(")") { Ok(row) } else { Err(self.expected("`,` or `)`")) }
    }

    fn value(&mut self, what: &str) -> Result<Scalar, ScriptError> {
        let value = match self.token() {
            Token::Int(n) => Some(Scalar::Int(*n)),
            Token::Float(n) => Some(Scalar::Float(*n)),
            Token::Text(text) => Some(Scalar::Text(text.clone())),
            Token::Word(word) => constant(word),
            Token::Sign(_) | Token::End => None,
        };
        let value = value.ok_or_else(|| self.expected(what))?;
        self.step();
        Ok(value)
    }
}

enum Subject {
    Session(usize),
    Step(usize),
}

/// The value that a keyword denotes, if any.
fn constant(word: &str) -> Option<Scalar> {
    match word.to_ascii_lowercase().as_str() {
        "null" => Some(Scalar::Null),
        "true" => Some(Scalar::Bool(true)),
        "false" => Some(Scalar::Bool(false)),
        _ => None,
    }
}

impl Expression {
    fn holds(&self, facts: &Facts<'_>) -> bool {
        match self {
            Expression::All(all) => all.iter().all(|one| one.holds(facts)),
            Expression::Any(any) => any.iter().any(|one| one.holds(facts)),
            Expression::Not(one) => !one.holds(facts),
            Expression::Compare(left, comparison, right) => match (left.rows(facts), right.rows(facts)) {
                (Some(left), Some(right)) => compare(&left, *comparison, &right),
                _ => false,
            },
            Expression::Step(step, state) => match state {
                StepState::Answered => facts.answer(*step).is_some(),
                StepState::Waited => facts.waited(*step),
                StepState::Failed(class) => facts
                    .failure(*step)
                    .is_some_and(|failure| class.is_none_or(|class| failure.class == class)),
                StepState::Skipped => facts.skipped(*step),
            },
            Expression::Session(session, state) => match (facts.ending(*session), state) {
                (Some(Ending::Committed), SessionState::Committed)
                | (Some(Ending::RolledBack), SessionState::RolledBack) => true,
                (Some(Ending::Failed(found)), SessionState::Failed(class)) => {
                    class.is_none_or(|class| found == class)
                }
                _ => false,
            },
        }
    }
}

impl Operand {
    fn rows(&self, facts: &Facts<'_>) -> Option<Spelled> {
        match self {
            Operand::Step(step) => facts.answer(*step).map(spelled_answer),
            Operand::Rows(rows) => Some(spelled(rows)),
        }
    }
}

/// Rows in text form, sorted; `None` is null.
type Spelled = Vec<Vec<Option<String>>>;

fn spelled(rows: &[Vec<Scalar>]) -> Spelled {
    let mut rows: Spelled = rows.iter().map(|row| row.iter().map(spelling).collect()).collect();
    rows.sort_unstable();
    rows
}

fn spelled_answer(answer: &Answer) -> Spelled {
    match answer {
        Answer::Rows(rows) => spelled(rows),
        Answer::Count(count) => vec![vec![Some(count.to_string())]],
    }
}

fn spelling(value: &Scalar) -> Option<String> {
    match value {
        Scalar::Null => None,
        Scalar::Bool(yes) => Some(u8::from(*yes).to_string()),
        Scalar::Int(n) => Some(n.to_string()),
        Scalar::Float(n) => Some(n.to_string()),
        Scalar::Text(text) => Some(text.clone()),
    }
}

/// Whether the answer consists of these rows, in any order.
pub(super) fn is_answer(answer: &Answer, rows: &[Vec<Scalar>]) -> bool {
    spelled_answer(answer) == spelled(rows)
}

fn compare(left: &Spelled, comparison: Comparison, right: &Spelled) -> bool {
    let ordered = |wanted: fn(f64, f64) -> bool| match (number(left), number(right)) {
        (Some(left), Some(right)) => wanted(left, right),
        _ => false,
    };
    match comparison {
        Comparison::Equal => left == right,
        Comparison::Unequal => left != right,
        Comparison::Less => ordered(|left, right| left < right),
        Comparison::LessOrEqual => ordered(|left, right| left <= right),
        Comparison::Greater => ordered(|left, right| left > right),
        Comparison::GreaterOrEqual => ordered(|left, right| left >= right),
        Comparison::Contains => right.iter().all(|row| left.binary_search(row).is_ok()),
    }
}

/// The value of a single row with a single column, if it is a number.
fn number(rows: &Spelled) -> Option<f64> {
    match rows.as_slice() {
        [row] => match row.as_slice() {
            [Some(spelled)] => spelled.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}
