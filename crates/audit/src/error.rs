//! Why a log cannot be audited.

use std::fmt;

/// A log that cannot be audited, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditError {
    /// The entry, if it is one entry's fault.
    pub entry: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl AuditError {
    pub(crate) fn new(entry: Option<usize>, message: impl Into<String>) -> AuditError {
        AuditError { entry, message: message.into() }
    }
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for AuditError {}
