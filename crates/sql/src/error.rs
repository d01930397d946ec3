//! Why a statement fails in a correct database, or why its answer cannot be computed here.

use std::fmt;

use isoscope_log::Class;

/// The class of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// A unique or primary key has the value already.
    Unique,
    /// NULL in a column that does not allow it.
    NotNull,
    /// A CHECK constraint is false.
    Check,
    /// A foreign key has no parent, or a parent still has children.
    ForeignKey,
    /// A division by zero.
    DivisionByZero,
    /// A number does not fit its type.
    Overflow,
    /// A value cannot be converted, or a text is too long for its column.
    Cast,
    /// The types do not fit the operator, function or column.
    Type,
    /// A table, column, function or procedure does not exist, or a name is ambiguous, or exists already.
    Name,
    /// A scalar subquery has more than one row.
    Cardinality,
    /// Invalid SQL that parses, such as an aggregate in WHERE or a wrong number of values.
    Invalid,
    /// An error that a procedure raised with SIGNAL or RAISE.
    Raised,
    /// The evaluator does not support this. A correct database may answer anything.
    Unsupported,
    /// The answer depends on a value that the database made and that is not known here, or on a free choice. A correct
    /// database may answer anything.
    Indeterminate,
}

impl ErrorClass {
    /// Whether a correct database must fail too. Otherwise the error only says that its answer is not known.
    pub const fn is_answer(self) -> bool {
        !matches!(self, ErrorClass::Unsupported | ErrorClass::Indeterminate)
    }

    /// The class that drivers give to it in a log.
    pub const fn logged(self) -> Class {
        match self {
            ErrorClass::Unique | ErrorClass::NotNull | ErrorClass::Check | ErrorClass::ForeignKey => {
                Class::Constraint
            }
            _ => Class::Other,
        }
    }
}

/// An error of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// The class.
    pub class: ErrorClass,
    /// The message.
    pub message: String,
    /// Whether a correct database must fail. If not, it may also find an answer that does not need the part that fails:
    /// it may stop early at a LIMIT or in EXISTS, or join tables in another order. It may also fail with an error of
    /// another class. If several rows fail, the class is that of one of them, also if the error is certain.
    pub is_certain: bool,
}

impl SqlError {
    /// An error that is certain.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> SqlError {
        SqlError { class, message: message.into(), is_certain: true }
    }

    /// The same error, if it can be avoided.
    pub(crate) fn avoidable(self) -> SqlError {
        SqlError { is_certain: false, ..self }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SqlError {}

pub(crate) type Result<T> = std::result::Result<T, SqlError>;

macro_rules! shorthand {
    ($($name:ident $class:ident,)*) => {$(
        pub(crate) fn $name<T>(message: impl Into<String>) -> Result<T> {
            Err(SqlError::new(ErrorClass::$class, message))
        }
    )*};
}

shorthand! {
    unsupported Unsupported,
    indeterminate Indeterminate,
    unknown_name Name,
    wrong_type Type,
    wrong_cast Cast,
    overflow Overflow,
    invalid Invalid,
}

pub(crate) fn by_zero<T>() -> Result<T> {
    Err(SqlError::new(ErrorClass::DivisionByZero, "division by zero"))
}
