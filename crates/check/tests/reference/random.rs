//! The engine, the verifier and the reference on random histories of every kind.
//!
//! A failure prints its seed and the smallest history found that still shows it. `draw.rs` says what is drawn and what never is.
//!
//! ```text
//! cargo nextest run -p isoscope-check --release --run-ignored only random::many
//! ```

use std::ops::Range;

use isoscope_history::{History, Outcome};
use isoscope_levels::{EDGES, Level};
use isoscope_verify::verify;

use crate::axioms::{self, LEVELS};
use crate::compare;
use crate::draw::*;
use crate::plan::build_from;

/// How many orders the reference is asked to try, in all worlds together.
const ORDERS: usize = 20_000;

pub(crate) fn is_affordable(history: &History) -> bool {
    let txns = history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted).count();
    axioms::world_count(history).saturating_mul((1..=txns).product()) <= ORDERS
}

fn compare_random(kind: Kind, seeds: Range<u64>) {
    let drawn = seeds.end - seeds.start;
    let mut compared = 0;
    compare::alone(|| {
        for seed in seeds {
            let dice = &mut Dice::new(seed);
            let initials = draw_initials(kind, dice);
            let plan = draw_from(kind, &initials, dice);
            if is_affordable(&build_from(&initials, &plan)) {
                compared += 1;
                compare::agree_under(kind.conditions, &initials, plan, format_args!("seed {seed}"));
            }
        }
    });
    assert!(compared * 10 >= drawn * 9, "only {compared} of {drawn} could be compared");
}

macro_rules! parts {
    ($($name:ident: $kind:ident, $seeds:expr;)+) => {
        $(#[test]
        fn $name() {
            compare_random($kind, $seeds);
        })+
    };
}

parts! {
    random_small_histories_with_all_outcomes_1: SMALL, 0..20_000;
    random_small_histories_with_all_outcomes_2: SMALL, 20_000..40_000;
    random_larger_histories_1: LARGE, 100_000..115_000;
    random_larger_histories_2: LARGE, 115_000..130_000;
    random_lists_1: LISTS, 200_000..215_000;
    random_lists_2: LISTS, 215_000..230_000;
    random_lists_and_registers: MIXED, 300_000..315_000;
    random_repeated_values_1: REPEATED, 400_000..415_000;
    random_repeated_values_2: REPEATED, 415_000..430_000;
    random_repeated_values_of_many: REPEATED_LARGE, 450_000..460_000;
    random_repeated_elements: REPEATED_LISTS, 500_000..510_000;
    random_repeated_elements_and_outcomes: OPEN_LISTS, 520_000..532_000;
    random_repeated_elements_outcomes_and_real_time: CLOCKED_OPEN_LISTS, 540_000..546_000;
    random_real_time_1: CLOCKED, 600_000..615_000;
    random_real_time_2: CLOCKED, 615_000..630_000;
    random_real_time_of_many: CLOCKED_LARGE, 650_000..665_000;
    random_real_time_and_lists: CLOCKED_LISTS, 700_000..715_000;
    random_real_time_and_repeated_values: CLOCKED_REPEATED, 750_000..765_000;
    random_times: TIMED, 800_000..815_000;
    random_operations_of_all_kinds: WILD, 900_000..910_000;
    random_wild_lists: WILD_LISTS, 910_000..920_000;
    random_wild_lists_of_unique_elements: WILD_UNIQUE, 920_000..930_000;
    random_ranges: RANGES, 930_000..940_000;
    random_ranges_of_repeated_values: REPEATED_RANGES, 940_000..950_000;
    random_ranges_and_real_time: CLOCKED_RANGES, 950_000..955_000;
}

/// How many seeds of a kind every run takes, and how many the tests marked `ignore`.
const FEW: u64 = 1_500;

const MANY: u64 = 50_000;

macro_rules! few_and_many {
    ($($few:ident, $many:ident: $kind:ident, $first:expr;)+) => {
        $(#[test]
        fn $few() {
            compare_random($kind, $first..$first + FEW);
        }

        #[test]
        #[ignore = "takes minutes"]
        fn $many() {
            compare_random($kind, $first..$first + MANY);
        })+
    };
}

few_and_many! {
    random_initial_values, many_initial_values: INITIALS, 2_000_000;
    random_initial_unique_values, many_initial_unique_values: INITIAL_UNIQUE, 2_100_000;
    random_ranges_of_initial_values, many_ranges_of_initial_values: INITIAL_RANGES, 2_300_000;
    random_ranges_of_repeated_initial_values, many_ranges_of_repeated_initial_values: INITIAL_REPEATED_RANGES, 2_400_000;
    random_initial_elements, many_initial_elements: INITIAL_LISTS, 2_200_000;
    random_initial_elements_of_unique_lists, many_initial_elements_of_unique_lists: INITIAL_UNIQUE_LISTS, 2_250_000;
    random_ranges_of_lists, many_ranges_of_lists: RANGES_OF_LISTS, 2_500_000;
    random_ranges_of_lists_of_repeated_elements, many_ranges_of_lists_of_repeated_elements: REPEATED_RANGES_OF_LISTS, 2_600_000;
    random_unsteady_ranges_of_lists, many_unsteady_ranges_of_lists: UNSTEADY_RANGES_OF_LISTS, 4_851_000;
    random_ranges_of_empty_lists, many_ranges_of_empty_lists: RANGES_OF_ZERO_LISTS, 2_650_000;
    random_initial_elements_appended_again, many_initial_elements_appended_again: APPENDED, 3_900_000;
    random_initial_elements_appended_again_beside_registers, many_initial_elements_appended_again_beside_registers: APPENDED_MIXED, 3_950_000;
    random_ranges_of_lists_that_begin_with_appended_elements, many_ranges_of_lists_that_begin_with_appended_elements: APPENDED_RANGES, 4_000_000;
    random_initial_elements_appended_again_and_unknown_outcomes, many_initial_elements_appended_again_and_unknown_outcomes: APPENDED_UNKNOWN, 4_100_000;
    random_reads_of_aborted_transactions, many_reads_of_aborted_transactions: DIRTY, 2_700_000;
    random_reads_of_aborted_repeated_values, many_reads_of_aborted_repeated_values: DIRTY_REPEATED, 2_800_000;
    random_unknown_outcomes, many_unknown_outcomes: UNKNOWN, 2_900_000;
    random_unknown_outcomes_and_repeated_values, many_unknown_outcomes_and_repeated_values: UNKNOWN_REPEATED, 3_000_000;
    random_impossible_transactions, many_impossible_transactions: IMPOSSIBLE, 4_200_000;
    random_impossible_transactions_among_more, many_impossible_transactions_among_more: IMPOSSIBLE_LARGE, 4_300_000;
    random_impossible_transactions_and_real_time, many_impossible_transactions_and_real_time: IMPOSSIBLE_CLOCKED, 4_400_000;
    random_impossible_transactions_and_lists, many_impossible_transactions_and_lists: IMPOSSIBLE_LISTS, 4_500_000;
    random_impossible_transactions_and_ranges, many_impossible_transactions_and_ranges: IMPOSSIBLE_RANGES, 4_600_000;
    random_late_impossible_transactions, many_late_impossible_transactions: IMPOSSIBLE_LATE, 4_700_000;
    random_late_unknown_outcomes, many_late_unknown_outcomes: LATE, 3_100_000;
    random_late_unknown_outcomes_and_real_time, many_late_unknown_outcomes_and_real_time: LATE_CLOCKED, 3_200_000;
    random_late_unknown_outcomes_and_ranges, many_late_unknown_outcomes_and_ranges: LATE_RANGES, 3_300_000;
    random_late_unknown_outcomes_and_repeated_values, many_late_unknown_outcomes_and_repeated_values: LATE_REPEATED, 3_400_000;
    random_timestamps_as_hints, many_timestamps_as_hints: HINTED, 3_500_000;
    random_trusted_timestamps, many_trusted_timestamps: TRUSTED, 3_600_000;
    random_trusted_timestamps_and_repeated_values, many_trusted_timestamps_and_repeated_values: TRUSTED_REPEATED, 3_700_000;
    random_trusted_timestamps_and_late_outcomes, many_trusted_timestamps_and_late_outcomes: TRUSTED_LATE, 3_800_000;
}

/// More than a million histories of all kinds of operations.
macro_rules! million {
    ($($name:ident: $kind:ident, $seeds:expr;)+) => {
        $(#[test]
        #[ignore = "takes many minutes"]
        fn $name() {
            compare_random($kind, $seeds);
        })+
    };
}

million! {
    million_of_all_kinds_1: WILD, 1_000_000..1_250_000;
    million_of_all_kinds_2: WILD_LISTS, 1_250_000..1_500_000;
    million_of_all_kinds_3: WILD_UNIQUE, 1_500_000..1_750_000;
    million_of_all_kinds_4: RANGES, 1_750_000..1_900_000;
    million_of_all_kinds_5: REPEATED_RANGES, 1_900_000..2_000_000;
    million_of_all_kinds_6: UNSTEADY_RANGES_OF_LISTS, 4_850_000..5_050_000;
}

/// What lists hold before any transaction changes no verdict.
#[test]
fn initial_elements_change_nothing() {
    for seed in 0..6_000 {
        let mut dice = Dice::new(seed);
        let kind = [LISTS, WILD_LISTS, WILD_UNIQUE][dice.below(3)];
        let history = crate::plan::build(&draw(Kind { txns: 4, ..kind }, &mut dice));
        let text = isoscope_history::notation::print(&history);
        // An empty list may be read as nil; with elements it is not.
        let text = ["x", "y", "z"]
            .into_iter()
            .fold(text, |text, key| text.replace(&format!("rl({key},nil)"), &format!("r({key},[])")));
        let begun = text.replace("[]", "[77]").replace('[', "[77 ").replace("[77 77]", "[77]");
        let begun = format!("init(x)=[77]  init(y)=[77]  init(z)=[77]  {begun}");
        // Registers are not lists.
        let is_list = |key: &str| text.contains(&format!("a({key},")) || text.contains(&format!("({key},["));
        let registers = ["x", "y", "z"].into_iter().filter(|key| !is_list(key));
        let begun = registers.fold(begun, |text, key| text.replace(&format!("init({key})=[77]  "), ""));
        let begun = isoscope_history::notation::parse(&begun).expect("it is a history");
        let verdicts = |history: &History| {
            let mut checker = isoscope_check::Checker::new(history, isoscope_check::Options::default());
            LEVELS.map(|level| {
                let judgement = checker.check(level);
                let verified = verify(history, &judgement);
                assert!(verified.is_ok(), "seed {seed}: {level}: {verified:?}\n{history:?}");
                std::mem::discriminant(&judgement.verdict)
            })
        };
        assert_eq!(verdicts(&history), verdicts(&begun), "seed {seed}\n{history:?}\n{begun:?}");
    }
}

/// The draws are worth something only if each level is often satisfied and often violated, and if what lies between
/// two neighbouring levels is met again and again.
#[test]
fn random_histories_satisfy_and_violate_every_level() {
    for (name, kind) in [
        ("small", SMALL),
        ("large", LARGE),
        ("lists", LISTS),
        ("mixed", MIXED),
        ("repeated", REPEATED),
        ("many repeated", REPEATED_LARGE),
        ("clocked", CLOCKED),
        ("many clocked", CLOCKED_LARGE),
        ("clocked lists", CLOCKED_LISTS),
        ("clocked repeated", CLOCKED_REPEATED),
        ("timed", TIMED),
    ] {
        let mut held = [0; LEVELS.len()];
        let mut between = [0; EDGES.len()];
        for seed in 0..1_000 {
            let history = crate::plan::build(&draw(kind, &mut Dice::new(seed)));
            if !is_affordable(&history) {
                continue;
            }
            let holds: Vec<bool> = axioms::judge(&history, &LEVELS).iter().map(Option::is_some).collect();
            let holds_at = |level| holds[LEVELS.iter().position(|&l| l == level).expect("all are there")];
            held.iter_mut().zip(&holds).for_each(|(held, &holds)| *held += u32::from(holds));
            for (edge, between) in EDGES.iter().zip(&mut between) {
                *between += u32::from(holds_at(edge.weaker) && !holds_at(edge.stronger));
                assert!(
                    !holds_at(edge.stronger) || holds_at(edge.weaker),
                    "{} implies {}",
                    edge.stronger,
                    edge.weaker
                );
            }
        }
        for (level, held) in LEVELS.iter().zip(held) {
            // Nothing but lists violates PL-1, and where it says something the clock of a session.
            let always = !level.implies(Level::AdyaPl2) && *level != Level::CutIsolation;
            assert!(held > 100 && (always || held < 985), "{name}, {level}: {held} of 1,000");
        }
        for (edge, between) in EDGES.iter().zip(between) {
            let is_strict = Level::has_real_time;
            let by_the_clock = is_strict(edge.stronger) && !is_strict(edge.weaker);
            // Predicates are not drawn.
            let by_predicates = (edge.stronger, edge.weaker) == (Level::AdyaPl3, Level::AdyaPl299);
            let by_versions = !edge.stronger.implies(Level::AdyaPl2);
            let expected = match () {
                () if by_predicates || by_the_clock && kind.clock == Clock::Nothing => 0..=0,
                () if by_versions => 0..=1_000,
                () if edge.stronger.has_sessions() && !edge.weaker.has_sessions() => 3..=1_000,
                () => 10..=1_000,
            };
            let (stronger, weaker) = (edge.stronger, edge.weaker);
            assert!(expected.contains(&between), "{name}: {weaker} and not {stronger}: {between} of 1,000");
        }
    }
}
