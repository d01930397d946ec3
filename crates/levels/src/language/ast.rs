//! The syntax tree: what a text says, before its names have a meaning.

use std::fmt;
use std::ops::Range;

/// What a variable stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sort {
    /// A committed transaction, or the initial transaction `T0`.
    Txn,
    /// A key.
    Key,
    /// A version of a key. Two versions of one key have different values.
    Value,
}

impl Sort {
    pub(super) const ALL: [Sort; 3] = [Sort::Txn, Sort::Key, Sort::Value];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Sort::Txn => "Txn",
            Sort::Key => "Key",
            Sort::Value => "Value",
        }
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Range<usize>,
}

/// A variable with its sort, as bound by a quantifier or a definition.
#[derive(Clone, Debug)]
pub(crate) struct Binder {
    pub(crate) name: Name,
    pub(crate) sort: Sort,
}

/// A level as it is written.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub(crate) name: Name,
    pub(crate) framework: Name,
    pub(crate) extends: Option<Name>,
    pub(crate) items: Vec<Item>,
    /// The lines of comment directly above it.
    pub(crate) about: String,
}

/// A part of a level.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// A named relation, or a predicate if it has parameters.
    Let { name: Name, params: Vec<Binder>, body: Expr },
    /// A condition.
    Axiom { name: Option<Name>, body: Expr },
}

/// A formula or a relation.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: Kind,
    pub(crate) span: Range<usize>,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    True,
    False,
    Name(String),
    /// `wr[x]`
    Index(Box<Expr>, Box<Expr>),
    /// `co(s, t)`
    Apply(Box<Expr>, Vec<Expr>),
    Prefix(Prefix, Box<Expr>),
    Postfix(Postfix, Box<Expr>),
    Infix(Infix, Box<Expr>, Box<Expr>),
    Quantified {
        exists: bool,
        binders: Vec<Binder>,
        body: Box<Expr>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefix {
    Not,
    Inverse,
    Acyclic,
    Irreflexive,
    Transitive,
    Total,
    Empty,
}

impl Prefix {
    /// The operators that are words: they make a formula of a relation.
    pub(crate) const WORDS: [(&'static str, Prefix); 5] = [
        ("acyclic", Prefix::Acyclic),
        ("irreflexive", Prefix::Irreflexive),
        ("transitive", Prefix::Transitive),
        ("total", Prefix::Total),
        ("empty", Prefix::Empty),
    ];

    pub(crate) fn text(self) -> &'static str {
        match self {
            Prefix::Not => "!",
            Prefix::Inverse => "~",
            word => Prefix::WORDS.iter().find(|(_, one)| *one == word).expect("all others are words").0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Postfix {
    /// `?`: or nothing.
    Optional,
    /// `+`: one or more steps.
    Plus,
    /// `*`: any number of steps.
    Star,
}

impl Postfix {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Postfix::Optional => "?",
            Postfix::Plus => "+",
            Postfix::Star => "*",
        }
    }
}

/// The operators with two operands. Those that come first bind less tightly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Infix {
    Iff,
    Implies,
    Or,
    And,
    In,
    Equal,
    Differ,
    Minus,
    Compose,
}

impl Infix {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Infix::Iff => "<=>",
            Infix::Implies => "=>",
            Infix::Or => "|",
            Infix::And => "&",
            Infix::In => "in",
            Infix::Equal => "=",
            Infix::Differ => "!=",
            Infix::Minus => "-",
            Infix::Compose => ";",
        }
    }

    /// How tightly it binds.
    pub(crate) fn strength(self) -> u8 {
        match self {
            Infix::Iff => 1,
            Infix::Implies => 2,
            Infix::Or => 3,
            Infix::And => 4,
            Infix::In | Infix::Equal | Infix::Differ => 6,
            Infix::Minus => 7,
            Infix::Compose => 8,
        }
    }
}

/// How tightly `!` binds: less than `in`, more than `&`.
pub(crate) const NOT_STRENGTH: u8 = 5;
/// The least strength of what follows `acyclic` and the like: differences and compositions, but no unions.
pub(crate) const WORD_STRENGTH: u8 = 7;
