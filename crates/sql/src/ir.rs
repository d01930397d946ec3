//! The bound form of a statement: names are resolved, coercions explicit, and nothing of the parser's tree is left.
//!
//! A FROM item has a *slot*, a number that is unique in the statement. A column is a slot and a position. The environment of
//! an expression is a chain of slots with their current rows, so that a correlated subquery needs no special case.

use crate::value::{Affinity, Collation, Type, Value};
use crate::view::TableId;

/// The number of a FROM item, unique in a statement.
pub(crate) type Slot = u16;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    Const(Value),
    /// A parameter, already converted to the type that the statement gives to it.
    Param(usize),
    /// A variable of a procedure.
    Variable(usize),
    Column(Slot, u16),
    Cast(Box<Expr>, Cast),
    Arith(Arith, Arithmetic, Box<[Expr; 2]>),
    Negate(Arithmetic, Box<Expr>),
    BitNot(Box<Expr>),
    Compare(Comparator, Comparison, Box<[Expr; 2]>),
    /// Row values, compared from left to right.
    CompareRows(Comparator, Vec<Comparison>, Vec<Expr>, Vec<Expr>),
    /// `IS [NOT] DISTINCT FROM`, `<=>`, SQLite's `IS`: true if the values are the same, also for NULL.
    Same(Comparison, Box<[Expr; 2]>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Xor(Box<[Expr; 2]>),
    Not(Box<Expr>),
    IsNull(Box<Expr>),
    /// IS TRUE or IS FALSE.
    Is(bool, Box<Expr>),
    In(Box<Expr>, Vec<(Expr, Comparison)>),
    /// Row values in a list of row values.
    InRows(Vec<Expr>, Vec<Vec<Expr>>, Vec<Comparison>),
    InQuery(Vec<Expr>, Box<Query>, Vec<Comparison>),
    Exists(Box<Query>),
    Scalar(Box<Query>),
    /// A comparison with ANY (true) or ALL (false) rows of a query.
    Quantified(bool, Comparator, Comparison, Box<Expr>, Box<Query>),
    /// The first arm whose condition is true, or else the last expression.
    Case(Vec<(Expr, Expr)>, Box<Expr>),
    Coalesce(Vec<Expr>),
    NullIf(Comparison, Box<[Expr; 2]>),
    /// The largest (true) or smallest of values.
    Extreme(bool, Comparison, Vec<Expr>),
    Like(Box<Like>),
    Call(Function, Vec<Expr>),
    /// A value that the database makes: `now()`, `random()`. Values with the same name are the same in a statement.
    Made(Made),
    /// The value that an upsert wanted to insert.
    Proposed(u16),
    /// A call of a function of the catalogue.
    Routine(String, Vec<Expr>),
}

/// Values that the database makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Made {
    /// The time of the transaction or statement: the same in the whole statement.
    Now(u8),
    /// Another value at each call.
    Random,
}

/// A pattern match.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Like {
    pub(crate) text: Expr,
    pub(crate) pattern: Expr,
    pub(crate) escape: Option<Expr>,
    pub(crate) kind: LikeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LikeKind {
    /// `LIKE` that distinguishes case.
    Exact,
    /// `LIKE` that ignores case.
    NoCase,
    /// `GLOB` of SQLite.
    Glob,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Arith {
    Plus,
    Minus,
    Times,
    Over,
    Modulo,
    /// MySQL's DIV.
    Whole,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Concat,
}

/// The rules of an arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Arithmetic {
    /// PostgreSQL's integers of this number of bits.
    Int(u8),
    /// PostgreSQL's numeric.
    Numeric,
    /// PostgreSQL's real.
    Real,
    /// PostgreSQL's double precision.
    Double,
    /// A date and days.
    Days,
    /// Two dates.
    Dates,
    /// Texts.
    Text,
    /// By the kinds of the values, as MySQL does.
    MySql,
    /// By the kinds of the values, as SQLite does.
    Sqlite,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Comparator {
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Comparator {
    /// The comparator with its sides exchanged.
    pub(crate) fn flipped(self) -> Comparator {
        match self {
            Comparator::Less => Comparator::Greater,
            Comparator::LessEqual => Comparator::GreaterEqual,
            Comparator::Greater => Comparator::Less,
            Comparator::GreaterEqual => Comparator::LessEqual,
            same => same,
        }
    }

    pub(crate) fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Comparator::Equal => order.is_eq(),
            Comparator::Unequal => order.is_ne(),
            Comparator::Less => order.is_lt(),
            Comparator::LessEqual => order.is_le(),
            Comparator::Greater => order.is_gt(),
            Comparator::GreaterEqual => order.is_ge(),
        }
    }
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Comparison {
    pub(crate) collation: Collation,
    pub(crate) rules: Rules,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) enum Rules {
    /// Both have the same kind, or both are numbers.
    #[default]
    Same,
    /// By the kinds of the values, as MySQL does.
    MySql,
    /// SQLite's: the affinity that is applied to each side.
    Sqlite(Option<Affinity>, Option<Affinity>),
}

/// A conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cast {
    pub(crate) to: Type,
    pub(crate) mode: CastMode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CastMode {
    /// CAST in the statement.
    Explicit,
    /// Implied by an operator or function.
    Implicit,
    /// Storing into a column.
    Assign,
    /// From PostgreSQL's `char(n)`, whose trailing blanks are not part of a text.
    Unpad,
}

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Function {
    Abs,
    Sign,
    Ceil,
    Floor,
    Round,
    Truncate,
    Power,
    Sqrt,
    Exp,
    Ln,
    CharLength,
    OctetLength,
    Upper,
    Lower,
    Substring,
    Left,
    Right,
    Trim,
    TrimStart,
    TrimEnd,
    Replace,
    Position,
    Repeat,
    Reverse,
    PadStart,
    PadEnd,
    /// NULL arguments are skipped.
    ConcatAll,
    /// NULL if an argument is.
    ConcatStrict,
    ConcatWith,
    Typeof,
    Quote,
    Hex,
    Ascii,
    Chr,
    Field,
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    ToDate,
    DateAdd,
    DateSub,
    DateDiff,
    SplitPart,
    StartsWith,
    BitLength,
    Collate,
}

/// An aggregate of a group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aggregate {
    pub(crate) kind: AggregateKind,
    pub(crate) args: Vec<Expr>,
    pub(crate) distinct: bool,
    pub(crate) filter: Option<Expr>,
    pub(crate) comparison: Comparison,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AggregateKind {
    /// `COUNT(*)`.
    CountRows,
    /// `COUNT(x)`: not NULL.
    Count,
    Sum(SumKind),
    Average(SumKind),
    /// SQLite's `total`.
    Total,
    Max,
    Min,
    All,
    Any,
    BitAnd,
    BitOr,
    BitXor,
    /// Texts joined with a separator: any order of the rows is correct.
    Join,
    /// The value of a column that is not grouped: any row of the group is correct.
    First,
}

/// The result type of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SumKind {
    /// PostgreSQL: of small integers, a bigint.
    Int,
    /// An exact decimal.
    Numeric,
    Real,
    Double,
    /// MySQL: by the kinds of the values.
    MySql,
    /// SQLite: integer unless a value is not.
    Sqlite,
}

/// A query.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Query {
    pub(crate) body: Body,
    /// Positions in the rows of the body, which may have hidden columns at the end.
    pub(crate) order: Vec<SortKey>,
    /// How many columns are the answer's.
    pub(crate) width: usize,
    pub(crate) limit: Option<Expr>,
    pub(crate) offset: Option<Expr>,
    /// Whether it depends on rows of an outer query.
    pub(crate) is_correlated: bool,
    /// The rows are locked: `FOR UPDATE`, `FOR SHARE`.
    pub(crate) locks: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SortKey {
    pub(crate) column: usize,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
    pub(crate) comparison: Comparison,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    Select(Box<Select>),
    Values(Vec<Vec<Expr>>),
    Set {
        operator: SetOperator,
        all: bool,
        sides: Box<[Query; 2]>,
        /// Conversions of each side's columns.
        casts: Box<[Vec<Option<Cast>>; 2]>,
        comparisons: Vec<Comparison>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetOperator {
    Union,
    Except,
    Intersect,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Select {
    pub(crate) from: From,
    pub(crate) filter: Option<Expr>,
    pub(crate) group: Option<Group>,
    pub(crate) having: Option<Expr>,
    pub(crate) outputs: Vec<Expr>,
    /// DISTINCT, with how the columns are compared.
    pub(crate) distinct: Option<Vec<Comparison>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    pub(crate) slot: Slot,
    pub(crate) keys: Vec<(Expr, Comparison)>,
    /// The row of a group has the keys, then these.
    pub(crate) aggregates: Vec<Aggregate>,
}

/// Where rows come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum From {
    /// One row without columns.
    Nothing,
    Scan(Scan),
    Derived(Slot, usize, Box<Query>),
    Join(Box<Join>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scan {
    pub(crate) slot: Slot,
    pub(crate) table: TableId,
    pub(crate) width: usize,
    /// Conditions that every wanted row meets, with values that are known before the scan.
    pub(crate) sargs: Vec<(u16, Comparator, Expr)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Join {
    pub(crate) kind: JoinKind,
    pub(crate) left: From,
    pub(crate) right: From,
    pub(crate) on: Option<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JoinKind {
    Inner,
    Left,
    Full,
}
