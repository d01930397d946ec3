//! Models and verdicts.

/// What the database promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Model {
    /// PostgreSQL, read committed.
    PgRc,
    /// PostgreSQL, repeatable read.
    PgRr,
    /// PostgreSQL, serializable.
    PgSer,
    /// SQLite.
    Sqlite,
    /// The paper's serializability.
    PaperS,
    /// The paper's strict serializability.
    PaperSs,
    /// The paper's snapshot isolation.
    PaperSi,
    /// The paper's strict snapshot isolation.
    PaperSsi,
    /// The paper's read committed.
    PaperRc,
}

impl Model {
    /// The models of database engines.
    pub const ENGINES: [Model; 4] = [Model::PgRc, Model::PgRr, Model::PgSer, Model::Sqlite];
    /// The paper's models.
    pub const PAPER: [Model; 5] =
        [Model::PaperS, Model::PaperSs, Model::PaperSi, Model::PaperSsi, Model::PaperRc];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Model::PgRc => "pg-rc",
            Model::PgRr => "pg-rr",
            Model::PgSer => "pg-ser",
            Model::Sqlite => "sqlite",
            Model::PaperS => "paper-s",
            Model::PaperSs => "paper-ss",
            Model::PaperSi => "paper-si",
            Model::PaperSsi => "paper-ssi",
            Model::PaperRc => "paper-rc",
        }
    }
}

/// Where the order of the commits comes from, in the paper's models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Any order that the model allows.
    Solve,
    /// The order of the answers of the commits.
    Timestamps,
}

/// What the judge says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// There is a correct execution.
    Explained,
    /// No execution explains the log up to this entry; the log before it is explained.
    Violated(usize),
}
