//! One level, several definitions: they agree.
//!
//! The reference of `axioms.rs` transcribes docs/levels.md, Commit orders. The other definitions of that page are transcribed here, each
//! by itself, and compared with it: with unique and with repeated values, all outcomes, and real time; for registers, and by states also
//! for lists.
//!
//! `case.rs` and `relation.rs` are their common ground; `visibility.rs`, `graphs.rs` and `states.rs` are one definition each.
//!
//! Limits: range reads, initial values other than 0 and keys of both kinds are not compared.

mod case;
mod graphs;
mod relation;
mod states;
mod visibility;

use isoscope_history::{History, notation};

use crate::draw::{Dice, draw_lists, draw_registers};
use crate::plan::{Plan, build, shrink};
use crate::{axioms, exhaustive};
use case::{Case, Inside};
use graphs::{CONDITIONS, graph_count, has_graphs};
use states::{BY_STATES, Execution};
use visibility::{Asked, has_visibility};

/// Compares all formulations of all levels that have several.
fn compare(history: &History) -> Result<(), String> {
    let by_orders = axioms::judge(history, &CONDITIONS);
    let by_graphs = has_graphs(history)?;
    let cases = Case::all(history, Inside::LastAccess);
    for ((level, by_order), by_graph) in CONDITIONS.into_iter().zip(&by_orders).zip(by_graphs) {
        let by_order = by_order.is_some();
        let by_visibility = Asked::by(level).map(|asked| has_visibility(&cases, asked));
        if by_order != by_graph || by_visibility.is_some_and(|holds| holds != by_order) {
            return Err(format!(
                "{level}: by commit orders {by_order}, by visibility {by_visibility:?}, by graphs {by_graph}"
            ));
        }
    }
    Ok(())
}

/// Compares the definition by states with the reference, for registers and lists.
fn compare_states(history: &History) -> Result<(), String> {
    let by_orders = axioms::judge(history, &BY_STATES);
    let by_states = Execution::judge(history);
    for ((level, by_order), by_state) in BY_STATES.into_iter().zip(&by_orders).zip(by_states) {
        if by_order.is_some() != by_state {
            return Err(format!("{level}: by commit orders {}, by states {by_state}", by_order.is_some()));
        }
    }
    Ok(())
}

/// Compares everything, for registers.
fn compare_all(history: &History) -> Result<(), String> {
    compare(history)?;
    compare_states(history)
}

/// Panics if formulations disagree on a plan, with the smallest history that still shows it.
fn agree(plan: &[Plan], compare: impl Fn(&History) -> Result<(), String>) {
    let complain = |plan: &[Plan]| {
        let history = build(plan);
        compare(&history).err().map(|complaint| format!("{complaint}\n    {}", notation::print(&history)))
    };
    if let Some(complaint) = complain(plan) {
        panic!("{}", shrink(plan.to_vec(), complaint, complain));
    }
}

/// Every run compares one in this many shapes of small histories. A prime, so that all kinds are among them.
const PIECES: usize = 23;

const SHAPES: [&[usize]; 6] = [&[1], &[2], &[1, 1], &[3], &[2, 1], &[1, 1, 1]];

/// Unique values, and a value that no transaction wrote.
fn agree_on_unique_values(part: usize, parts: usize) {
    for lengths in SHAPES {
        exhaustive::for_each_shape_of(lengths, part, parts, |shape| {
            exhaustive::for_each_history(shape, 1, |plan| agree(&plan, compare_all));
        });
    }
}

/// Values that several transactions wrote, or that are initial.
fn agree_on_repeated_values(part: usize, parts: usize) {
    for lengths in SHAPES {
        exhaustive::for_each_shape_of(lengths, part, parts, |shape| {
            for values in exhaustive::REPEATED {
                exhaustive::for_each_history_with_values(shape, values, |plan| agree(&plan, compare_all));
            }
        });
    }
}

#[test]
fn formulations_agree_on_a_sample_of_small_histories() {
    agree_on_unique_values(0, PIECES);
}

#[test]
fn formulations_agree_on_a_sample_of_small_histories_with_repeated_values() {
    agree_on_repeated_values(1, PIECES);
}

macro_rules! parts {
    ($($unique:ident, $repeated:ident: $part:expr;)+) => {
        $(#[test]
        #[ignore = "takes minutes"]
        fn $unique() {
            agree_on_unique_values($part, 4);
        }

        #[test]
        #[ignore = "takes minutes"]
        fn $repeated() {
            agree_on_repeated_values($part, 4);
        })+
    };
}

parts! {
    exhaustive_formulations_1, exhaustive_formulations_with_repeated_values_1: 0;
    exhaustive_formulations_2, exhaustive_formulations_with_repeated_values_2: 1;
    exhaustive_formulations_3, exhaustive_formulations_with_repeated_values_3: 2;
    exhaustive_formulations_4, exhaustive_formulations_with_repeated_values_4: 3;
}

/// How many graphs of a history are tried.
const GRAPHS: usize = 1_000;

fn agree_at_random(seeds: std::ops::Range<u64>) {
    let (drawn, mut compared) = (seeds.end - seeds.start, 0);
    for seed in seeds {
        let plan = draw_registers(5, &mut Dice::new(seed));
        let graphs = |case: &Case| graph_count(case);
        let count: usize = Case::all(&build(&plan), Inside::LastWrite).iter().map(graphs).sum();
        if count <= GRAPHS {
            compared += 1;
            agree(&plan, compare_all);
        }
    }
    assert!(compared * 10 >= drawn * 8, "only {compared} of {drawn} could be compared");
}

#[test]
fn formulations_agree_on_random_histories_1() {
    agree_at_random(0..20_000);
}

#[test]
fn formulations_agree_on_random_histories_2() {
    agree_at_random(20_000..40_000);
}

/// Visibility does not define lists: the order of all transactions determines the versions of a list.
#[test]
fn formulations_agree_on_random_lists() {
    let mut compared = 0;
    for seed in 0..20_000 {
        let plan = draw_lists(5, &mut Dice::new(seed));
        if axioms::world_count(&build(&plan)) <= 50 {
            compared += 1;
            agree(&plan, compare_states);
        }
    }
    assert!(compared >= 18_000, "only {compared} could be compared");
}
