//! `isoscope generate`: a history from a workload on the in-memory store.

use std::hash::{BuildHasher, RandomState};
use std::time::Instant;

use isoscope_workload::{Shape, Spec, run as run_workload};

use crate::args::{GenerateArgs, ShapeArg};
use crate::commands::save;
use crate::exit::Exit;
use crate::terminal::{Terminal, Unit};
use crate::words;

pub(crate) fn run(args: &GenerateArgs, terminal: &Terminal) -> Exit {
    let seed = chosen_seed(args.seed, terminal);
    let spec = spec(args, seed);
    let bar = terminal.progress("generating", None, Unit::Count);
    let started = Instant::now();
    let result = run_workload(&spec, &mut |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    match result {
        Ok(history) => {
            let operations = words::counted(history.op_count() as u64, "operation");
            terminal.detail(&format!("generated {operations} in {:.3} s", started.elapsed().as_secs_f64()));
            save::save(&history, &args.write, terminal)
        }
        Err(error) => {
            terminal.error(&by_flag(&error.to_string()));
            Exit::Usage
        }
    }
}

fn spec(args: &GenerateArgs, seed: u64) -> Spec {
    Spec {
        sessions: args.sessions,
        txns_per_session: args.txns,
        ops_per_txn: args.ops,
        read_ratio: args.reads,
        read_modify_write: args.read_modify_write,
        keys: args.keys,
        distribution: args.distribution,
        duplication: args.duplicates,
        shape: match args.shape {
            ShapeArg::Register => Shape::Register,
            ShapeArg::ListAppend => Shape::ListAppend,
        },
        level: args.level,
        abort_rate: args.aborts,
        unknown_rate: args.unknowns,
        injections: args.inject.clone(),
        seed,
    }
}

/// Replaces the workload's field names in a message by the flags that set them.
pub(crate) fn by_flag(message: &str) -> String {
    let flags = [
        ("ops per txn", "--ops"),
        ("the number of accounts", "--keys"),
        ("the number of customers", "--keys"),
        ("read ratio", "--reads"),
        ("read-modify-write share", "--read-modify-write"),
        ("abort rate", "--aborts"),
        ("unknown rate", "--unknowns"),
        ("theta of the keys", "THETA of --distribution"),
        ("hot keys", "KEYS of --distribution"),
        ("hot operations", "OPS of --distribution"),
        ("duplicated keys", "SHARE of --duplicates"),
        ("domain of the values", "VALUES of --duplicates"),
        ("theta of the values", "THETA of --duplicates"),
    ];
    flags.iter().fold(message.to_owned(), |message, (field, flag)| message.replace(field, flag))
}

/// The requested seed, or a random one.
pub(crate) fn chosen_seed(asked: Option<u64>, terminal: &Terminal) -> u64 {
    asked.unwrap_or_else(|| {
        let seed = random_seed();
        terminal.note(&format!("--seed {seed}"));
        seed
    })
}

/// A random seed: the standard library's hash maps are keyed by the system's randomness.
fn random_seed() -> u64 {
    RandomState::new().hash_one(0) >> 32
}
