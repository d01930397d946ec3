//! Elle's keywords contradict no verdict.
//!
//! Random histories of all kinds of operations, with repeated values, sessions and times, are checked at all levels. Elle's models
//! say which level a keyword claims to be violated.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should not")]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use isoscope::{Check, Detail, Level, Report, Word};

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// The levels that a keyword claims are violated.
fn claims(keyword: &str) -> &'static [Level] {
    match keyword {
        ":G0" => &[Level::AdyaPl1],
        ":G0-process" => &[Level::StrongSessionPl1],
        ":G0-realtime" => &[Level::StrongPl1],
        ":G1a" | ":G1b" | ":G1c" | ":incompatible-order" | ":dirty-update" => &[Level::AdyaPl2],
        ":G1c-process" => &[Level::StrongSessionPl2],
        ":G1c-realtime" => &[Level::StrongPl2],
        ":G-single" => &[Level::ConsistentView],
        ":G-single-item" => &[Level::ConsistentView, Level::AdyaPl299],
        ":G-nonadjacent" => &[Level::AdyaPlSi],
        ":G-nonadjacent-item" => &[Level::AdyaPlSi, Level::AdyaPl299],
        ":G2" => &[Level::AdyaPl3],
        ":G2-item" => &[Level::AdyaPl299],
        ":lost-update" => &[Level::CursorStability],
        ":internal" => &[Level::ReadAtomic],
        ":G-single-process"
        | ":G-single-item-process"
        | ":G-nonadjacent-process"
        | ":G-nonadjacent-item-process" => &[Level::Snapshot],
        ":G2-process" | ":G2-item-process" => &[Level::Serializable],
        ":G-single-realtime"
        | ":G-single-item-realtime"
        | ":G-nonadjacent-realtime"
        | ":G-nonadjacent-item-realtime" => &[Level::StrictSnapshot],
        ":G2-realtime" | ":G2-item-realtime" => &[Level::StrictSerializable],
        _ => &[],
    }
}

/// The report on a history at all levels, and its keywords that claim too much.
fn check(text: &str) -> (Report, Vec<String>) {
    let reading = isoscope::read_text("h", text).unwrap();
    let report = Check::new(&reading).for_elle(true).judge().unwrap().report(Detail::Evidence);
    let holds = |level: &&Level| report.verdict_of(**level) == Word::Holds;
    let claim = |keyword: &str| claims(keyword).iter().find(holds);
    let elle = report.elle.as_ref().unwrap();
    let wrong = elle.anomalies.keys().filter(|keyword| claim(keyword).is_some()).cloned().collect();
    (report, wrong)
}

fn keywords(report: &Report) -> Vec<&str> {
    report.elle.as_ref().unwrap().anomalies.keys().map(String::as_str).collect()
}

#[test]
fn keywords_say_what_the_verdicts_say() {
    let cases: [(&str, &[&str]); 6] = [
        // Lists show an order of writes that the writes do not show.
        ("T0: a(y,2) a(y,3)\nT1: a(y,4) r(y,[2 4])", &[":G1b", ":G1c"]),
        // The other writer of the value is excluded by real time.
        ("T1@0-1: w(x,1)\nT2@2-3: r(x,0)\nT3@4-5: w(x,0)", &[":G-single-item-realtime"]),
        ("T1@0-1: w(x,1)\nT2@2-3: r(x,0)", &[":G-single-item-realtime"]),
        // Repeatable read lets ranges change.
        ("init=nil\nT1: range(0,1,{}) w(0,1)\nT2: range(0,1,{}) w(0,2)", &[":G-single", ":G2"]),
        (
            "init=nil\nT0: r(0,nil) d(0) ; T1: r(0,nil) i(0,2)\nT2: range(0,1,{}) w(0,3)",
            &[":G-single", ":G-single-process", ":G2", ":G2-process"],
        ),
        // Only its session puts the first writer before the second.
        ("T1: w(0,2) ; T2: w(1,3) w(0,4)\nT3: r(1,3) r(0,2)", &[":G-single-item-process"]),
    ];
    for (text, expected) in cases {
        let (report, wrong) = check(text);
        assert_eq!(keywords(&report), expected, "{text}");
        assert_eq!(wrong, [""; 0], "{text}");
    }
}

/// A weak level counts cycles with and without sessions together; what all that are shown need is said all the same.
#[test]
fn a_finding_says_what_its_edges_need() {
    let (report, _) = check("T1: w(0,2) ; T2: w(1,3) w(0,4)\nT3: r(1,3) r(0,2)");
    let through = |level: Level| {
        let result = report.levels.iter().find(|result| result.level == level).unwrap();
        result.findings.iter().map(|finding| format!("{:?}", finding.through)).collect::<Vec<_>>()
    };
    assert_eq!(through(Level::ReadCommitted), ["Sessions"]);
    let occurrences = report.anomalies().flat_map(|finding| &finding.occurrences);
    for occurrence in occurrences {
        let has_session =
            occurrence.edges.iter().any(|edge| edge.dependency == "so" && edge.from != "initial");
        assert!(!has_session || format!("{:?}", occurrence.through) == "Sessions", "{occurrence:?}");
    }
}

/// A random history.
fn draw(dice: &mut Dice) -> String {
    let kind = dice.below(3);
    let (keys, values) = (1 + dice.below(3), 1 + dice.below(4));
    let timed = dice.below(3) == 0;
    let mut text = if kind == 2 { "init=nil\n".to_owned() } else { String::new() };
    let count = 2 + dice.below(4);
    let mut fresh = 0;
    for txn in 0..count {
        if txn > 0 {
            text.push_str(if dice.below(3) == 0 { " ; " } else { "\n" });
        }
        let _ = write!(text, "T{txn}");
        if timed {
            let start = 3 * txn;
            let _ = write!(text, "@{start}-{}", start + 1 + dice.below(6));
        }
        text.push(':');
        for _ in 0..=dice.below(3) {
            let key = dice.below(keys);
            fresh += 1;
            let value = if dice.below(2) == 0 { fresh } else { 1 + dice.below(values) };
            let read = 1 + dice.below(fresh);
            let list = || format!("{read} {}", 1 + fresh % (values + 1));
            let _ = match (kind, dice.below(6)) {
                (0, 0..3) => write!(text, " w({key},{value})"),
                (0, _) => write!(text, " r({key},{})", if dice.below(3) == 0 { 0 } else { read }),
                (1, 0..3) => write!(text, " a({key},{fresh})"),
                (1, 3) => write!(text, " r({key},[])"),
                (1, 4) => write!(text, " r({key},[{read}])"),
                (1, _) => write!(text, " r({key},[{}])", list()),
                (_, 0) => write!(text, " w({key},{value})"),
                (_, 1) => write!(text, " i({key},{value})"),
                (_, 2) => write!(text, " d({key})"),
                (_, 3) => write!(text, " r({key},{})", if dice.below(2) == 0 { "nil" } else { "1" }),
                (_, 4) => write!(text, " range(0,{keys},{{}})"),
                (_, _) => write!(text, " range(0,{keys},{{{key}={read}}})"),
            };
        }
    }
    text
}

#[test]
fn no_keyword_contradicts_a_verdict() {
    let mut met: BTreeSet<String> = BTreeSet::new();
    let mut dice = Dice(12);
    for _ in 0..1_000 {
        let text = draw(&mut dice);
        let (report, wrong) = check(&text);
        assert_eq!(wrong, [""; 0], "{text}");
        met.extend(keywords(&report).into_iter().map(str::to_owned));
    }
    for keyword in
        [":G0-process", ":G1c", ":G-single", ":G-single-item-process", ":G-single-item-realtime", ":G2"]
    {
        assert!(met.contains(keyword), "{keyword} was not met: {met:?}");
    }
}
