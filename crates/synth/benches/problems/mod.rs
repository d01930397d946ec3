//! The 46 problems of the evaluation of the Isolde paper, with Isolde's times.

// Each benchmark uses a part of this.
#![allow(dead_code)]

use isoscope_levels::language::Library;
use isoscope_synth::{Problem, Scope};

/// The rows of `isolde.tsv`: `allow,allow/forbid`, with `_b` for commit order and `_c` for visibility, and Isolde's times.
pub(crate) struct Row {
    pub(crate) problem: String,
    /// By the number of transactions, from 3: milliseconds of CPU time.
    measured: Vec<Option<f64>>,
    /// With 7 and 10 transactions: milliseconds of wall-clock time, or why there are none.
    pub(crate) published: [String; 2],
}

pub(crate) fn rows() -> Vec<Row> {
    let lines = include_str!("../isolde.tsv").lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        Row {
            problem: cells[0].to_owned(),
            measured: cells[1..6].iter().map(|cell| cell.parse().ok()).collect(),
            published: [cells[6].to_owned(), cells[7].to_owned()],
        }
    };
    lines.map(row).collect()
}

impl Row {
    /// Whether there is a history with this many transactions.
    pub(crate) fn is_found(&self, txns: usize) -> bool {
        let (allow, forbid) = self.problem.split_once('/').unwrap();
        let level = |name: &str| -> String { name.split('_').next().unwrap().to_owned() };
        let order = ["TAPRA", "RA", "TAPCC", "CC", "PC", "SI", "SER"];
        let place = |name: &str| order.iter().position(|one| *one == level(name)).unwrap();
        let is_causal = |name: &str| level(name) == "CC" || level(name) == "TAPCC";
        match (level(allow).as_str(), level(forbid).as_str()) {
            // Without a blind write, four transactions are needed.
            ("CC", "PC") => txns > 3,
            _ if is_causal(allow) && is_causal(forbid) => false,
            // Allowed by SI and by serializable updates.
            _ if allow.contains(',') => true,
            _ => place(allow) < place(forbid),
        }
    }

    /// The problem.
    pub(crate) fn problem(&self) -> Problem<'static> {
        let library = Library::shipped();
        let (allow, forbid) = self.problem.split_once('/').unwrap();
        Problem {
            allow: allow.split(',').map(|level| library.find(&name(level)).unwrap()).collect(),
            forbid: vec![library.find(&name(forbid)).unwrap()],
            ..Problem::default()
        }
    }

    /// Isolde's time in milliseconds, and whether it was measured as CPU time.
    pub(crate) fn isolde(&self, txns: usize) -> Option<(f64, bool)> {
        let measured = txns.checked_sub(3).and_then(|place| *self.measured.get(place)?);
        let published = || match txns {
            7 => self.published[0].parse().ok(),
            10 => self.published[1].parse().ok(),
            _ => None,
        };
        measured.map(|ms| (ms, true)).or_else(|| Some((published()?, false)))
    }
}

/// The name of a level in the library.
fn name(short: &str) -> String {
    let (level, framework) = short.split_once('_').unwrap();
    let level = match level {
        "TAPRA" => "plume-read-atomic-published",
        "TAPCC" => "plume-causal",
        "USER" => "serializable-updates",
        level => level,
    };
    format!("{level}@{}", if framework == "b" { "commit-order" } else { "visibility" })
}

/// The histories of the paper: 5 keys, 5 values, sessions as partial orders, no blind writes.
pub(crate) fn scope(txns: usize) -> Scope {
    Scope {
        values: Some(5),
        uses_all_keys: false,
        chains: false,
        reads_before_writes: true,
        ..Scope::new(txns, 5)
    }
}
