//! *Unknown*: the reason that is given must exist, because the answer itself cannot be checked.

use isoscope_check::{Checker, Judgement, Limit, Options, Unknown, Verdict};
use isoscope_history::{Op, notation};
use isoscope_levels::Level;

use super::{accept, op, refuse};

#[test]
fn unknown_gives_a_reason_that_exists() {
    let history =
        notation::parse("T1: w(x,1) w(u,1)  T2: w(x,1)  T3: r(x,1) r(u,1) range(a,b,{})  T4: a(u,2) a(v,1)")
            .unwrap();
    let unknown =
        |unknown| Judgement { level: Level::Causal, verdict: Verdict::Unknown(unknown), implied_by: None };
    let ambiguous = |reads, place| unknown(Unknown::Ambiguous { reads, first: op(&history, place) });
    let unsupported =
        |operations, place| unknown(Unknown::Unsupported { operations, first: op(&history, place) });
    accept(&history, &ambiguous(1, (3, 0)));
    refuse(&history, &ambiguous(0, (3, 0)), "is not ambiguous");
    refuse(&history, &ambiguous(1, (1, 0)), "is not ambiguous");
    refuse(&history, &unknown(Unknown::Ambiguous { reads: 1, first: Op(99) }), "no operation");
    accept(&history, &unsupported(1, (3, 2)));
    accept(&history, &unsupported(3, (1, 1)));
    refuse(&history, &unsupported(0, (3, 2)), "is supported");
    refuse(&history, &unsupported(1, (4, 1)), "is supported");
    refuse(&history, &unknown(Unknown::Unsupported { operations: 1, first: Op(99) }), "no operation");
    accept(&history, &unknown(Unknown::Limit(Limit::Time)));
    accept(&history, &unknown(Unknown::Limit(Limit::Proof)));
    refuse(&history, &unknown(Unknown::NothingToCheck), "is there to be checked");
    let nothing = notation::parse("T1!: w(x,1)  T2?: r(x,1)").unwrap();
    accept(&nothing, &unknown(Unknown::NothingToCheck));
    for (text, is_nothing) in [
        ("T1: w(x,1)  T2: w(x,2)", true),
        ("T1: r(x,0)  T2: r(y,0)", true),
        ("T1!: w(x,1)  T2: r(x,0)", true),
        ("T1?: w(x,1)  T2: r(x,0)", true),
        ("T1!: a(x,1)  T2: r(x,[])", true),
        ("T1: w(x,1)  T2: r(y,0)", false),
        ("T1!: w(x,1)  T2: r(x,1)", false),
        ("T1?: w(x,1)  T2: r(x,1)", false),
        ("T1: r(x,7)", false),
        ("T1: w(x,1) r(x,1)", false),
    ] {
        let history = notation::parse(text).unwrap();
        let judged = Checker::new(&history, Options::default()).check(Level::Causal);
        let says_nothing = judged.verdict == Verdict::Unknown(Unknown::NothingToCheck);
        assert_eq!(says_nothing, is_nothing, "{text}");
        accept(&history, &judged);
        if !is_nothing {
            refuse(&history, &unknown(Unknown::NothingToCheck), "is there to be checked");
        }
    }
}
