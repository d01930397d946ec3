//! The report for people: the levels, then each anomaly as a story that points into the file.
//!
//! Nothing depends on colour: a symbol stands before every level and words say the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use isoscope_check::{
    Against, Edge, Evidence, Finding, Instance, Judgement, Node, Seen, Through, Unknown, Verdict, Why,
};
use isoscope_explain::{Story, Teller, visible};
use isoscope_formats::{Failure, Place};
use isoscope_history::{Op, Outcome, Txn};
use isoscope_levels::{Anomaly, Level};

use super::concise::names;
use super::report::{Report, elle_name, pattern};
use super::snippet::{self, Mark};
use crate::exit::Exit;
use crate::terminal::{BOLD, DIM, ERROR, FRAME, GOOD, WARNING, styled};
use crate::words::{count, counted, wrap};

/// The width text is broken at. Not the terminal's: output is a function of the input.
const WIDTH: usize = 100;
/// The width of the first of two columns of levels.
const COLUMN: usize = 24;

pub(crate) fn render(report: &Report) -> String {
    [title(report), lattice(report), boundary(report), unknowns(report), anomalies(report), summary(report)]
        .concat()
}

/// The file and how much is in it.
fn title(report: &Report) -> String {
    let history = &report.reading.history;
    let txns = history.txn_count() as u64;
    let committed = history.txns().filter(|&txn| history.outcome(txn) == Outcome::Committed).count() as u64;
    let some = if committed == txns { String::new() } else { format!(" ({} committed)", count(committed)) };
    let figures = format!(
        "{}, {}{some}, {}",
        counted(report.figures.sessions as u64, "session"),
        counted(txns, "transaction"),
        counted(report.figures.operations as u64, "operation"),
    );
    format!("{}  {}\n\n", styled(BOLD, visible(&report.file)), styled(DIM, figures))
}

/// The levels that were judged, stronger ones above weaker ones.
pub(crate) fn lattice(report: &Report) -> String {
    let mut rows: BTreeMap<usize, Vec<&Judgement>> = BTreeMap::new();
    // Finer levels take rows of their own only where they were asked for.
    let is_fine = report.judged.iter().any(|judged| !judged.judgement.level.is_common());
    let heights = if is_fine { heights(&Level::ALL) } else { heights(&Level::COMMON) };
    for judged in &report.judged {
        let height = heights.iter().find(|(level, _)| *level == judged.judgement.level);
        rows.entry(height.map_or(0, |&(_, height)| height)).or_default().push(&judged.judgement);
    }
    let mut text = String::new();
    for row in rows.values_mut().rev() {
        // Adya's levels, which leave sessions out, stand beside the others.
        row.sort_by_key(|judgement| (judgement.level.name().starts_with("adya"), judgement.level));
        text.push_str("  ");
        for (i, judgement) in row.iter().enumerate() {
            let name = judgement.level.name();
            let gap = if i + 1 < row.len() { COLUMN.saturating_sub(name.len()).max(1) } else { 0 };
            let _ = write!(text, "{}{}", cell(judgement), " ".repeat(gap));
        }
        text.push('\n');
    }
    text + "\n"
}

/// For each of some levels, weaker ones first, how many of them lie below it, one under the other.
fn heights(levels: &[Level]) -> Vec<(Level, usize)> {
    let mut heights: Vec<(Level, usize)> = Vec::with_capacity(levels.len());
    for &level in levels {
        let below = heights.iter().filter(|(weaker, _)| level.implies(*weaker));
        let height = below.map(|(_, height)| height + 1).max().unwrap_or(0);
        heights.push((level, height));
    }
    heights
}

fn cell(judgement: &Judgement) -> String {
    let level = judgement.level;
    match &judgement.verdict {
        Verdict::Holds(_) => styled(GOOD, format!("✓ {level}")),
        Verdict::Violated(_) => styled(ERROR, format!("✗ {level}")),
        Verdict::Unknown(_) => styled(WARNING, format!("? {level}")),
    }
}

/// The strongest levels that hold and the weakest that do not, when the user asked where the boundary is.
fn boundary(report: &Report) -> String {
    if report.named {
        return String::new();
    }
    let mut text = String::new();
    let mut line = |title: &str, levels: &[Level]| {
        if !levels.is_empty() {
            let _ = writeln!(text, "  {title:<20} {}", names(levels));
        }
    };
    line("strongest that hold", &report.strongest_holding());
    line("weakest that fail", &report.weakest_violated());
    if text.is_empty() { text } else { text + "\n" }
}

/// Why levels are unknown, each reason once, and where the first operation is that it speaks of.
fn unknowns(report: &Report) -> String {
    let mut reasons: Vec<(&Unknown, Vec<Level>)> = Vec::new();
    for judged in &report.judged {
        let Verdict::Unknown(unknown) = &judged.judgement.verdict else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == unknown) {
            Some((_, levels)) => levels.push(judged.judgement.level),
            None => reasons.push((unknown, vec![judged.judgement.level])),
        }
    }
    let first = |unknown: &Unknown| match unknown {
        Unknown::Ambiguous { first, .. } | Unknown::Unsupported { first, .. } => Some(*first),
        _ => None,
    };
    let places = snippet::places(&report.reading, reasons.iter().filter_map(|(unknown, _)| first(unknown)));
    let mut text = String::new();
    for (unknown, levels) in reasons {
        let known = if let Unknown::Limit(_) = unknown { known_by_then(report) } else { String::new() };
        let said = format!("{}: {}{known}", names(&levels), report.reason(unknown).1);
        let _ = writeln!(text, "{} {}", styled(WARNING, "?"), hanging(&said, 2));
        if let Some((op, place)) = first(unknown).and_then(|op| Some((op, places.get(&op)?))) {
            let label = format!("the first: {}", Teller::new(&report.reading.history).label(op));
            text.push_str(&snippet::render(vec![Mark { place, label, main: true }], "  "));
        }
        text.push('\n');
    }
    text
}

/// What was decided before a limit was reached.
fn known_by_then(report: &Report) -> String {
    let holds = report.strongest_holding().into_iter().map(|level| format!("{level} holds"));
    let fails = report.weakest_violated().into_iter().map(|level| format!("{level} is violated"));
    let known: Vec<String> = holds.chain(fails).collect();
    if known.is_empty() {
        "; nothing was decided by then".to_owned()
    } else {
        format!("; {}", known.join(", "))
    }
}

/// Every kind of anomaly under the weakest level that it violates.
pub(crate) fn anomalies(report: &Report) -> String {
    let findings = report.findings();
    if findings.is_empty() {
        return String::new();
    }
    let teller = Teller::new(&report.reading.history);
    let all = findings.iter().flat_map(|(_, findings)| findings);
    let stories: Vec<Vec<Story>> = all
        .map(|finding| finding.instances.iter().map(|i| teller.story(finding.anomaly, i)).collect())
        .collect();
    let ops = stories.iter().flatten().flat_map(|story| teller.pointers(story)).map(|pointer| pointer.op);
    let places = snippet::places(&report.reading, ops);
    let mut stories = stories.into_iter();
    let mut text = String::new();
    let mut told: Vec<BTreeSet<Txn>> = Vec::new();
    for (level, findings) in &findings {
        let with_stories: Vec<(&&Finding, Vec<Story>)> = findings.iter().zip(&mut stories).collect();
        // Adya has one name for what others have many for, and levels that were decided apart may have different
        // ones; the same story twice is no second one.
        let implied = !report.weakest_violated().contains(level);
        let known = |stories: &[Story]| {
            let again = |story| told.iter().any(|known| cast(report, story).is_subset(known));
            (*level == Level::AdyaPl299 || implied) && stories.iter().all(again)
        };
        let (again, new): (Vec<_>, Vec<_>) = with_stories.into_iter().partition(|(_, s)| known(s));
        if implied && new.is_empty() {
            continue;
        }
        text.push_str(&level_heading(report, *level, !again.is_empty() && new.is_empty()));
        for (finding, stories) in new {
            let _ = writeln!(text, "  {}\n", finding_heading(finding));
            for (i, (instance, story)) in finding.instances.iter().zip(&stories).enumerate() {
                let number = (finding.instances.len() > 1).then_some(i + 1);
                text.push_str(&telling(&teller, instance, story, number, &places));
            }
            told.extend(stories.iter().map(|story| cast(report, story)));
        }
    }
    text
}

/// The transactions whose operations a story speaks of.
fn cast(report: &Report, story: &Story) -> BTreeSet<Txn> {
    let ops = story.clauses.iter().flat_map(|clause| &clause.ops);
    ops.map(|&op| report.reading.history.txn_of(op)).collect()
}

/// What fails with the weakest level is said there; stronger levels are named again only for what they add.
fn level_heading(report: &Report, level: Level, again: bool) -> String {
    let weakest = report.weakest_violated();
    let said = |l: Level| again && weakest.iter().any(|&other| other != level && l.implies(other));
    let above = report.violated().into_iter().filter(|&l| l != level && l.implies(level) && !said(l));
    let above: Vec<Level> = above.collect();
    let by = if again { " by the same" } else { "" };
    let text = match above.as_slice() {
        _ if !weakest.contains(&level) => {
            format!("✗ {level} is violated by more than that")
        }
        [] => format!("✗ {level} is violated{by}"),
        above => format!("✗ {level} is violated{by}; also violated: {}", names(above)),
    };
    // The name alone is coloured: a coloured paragraph is hard to read.
    let name = format!("✗ {level}");
    format!("{}\n\n", hanging(&text, 2).replacen(&name, &styled(ERROR, &name), 1))
}

/// The name of an anomaly as two or three words.
pub(crate) fn title_of(anomaly: Anomaly) -> String {
    let words = anomaly.name().replace('-', " ");
    words.replace("non ", "non-").replace("thin air", "thin-air")
}

/// `fractured read (TAP-k, against causal order): 12 in 3 components, the shortest 3 shown`.
fn finding_heading(finding: &Finding) -> String {
    let against = finding.against.map(|against| match against {
        Against::Causal => "against causal order".to_owned(),
        Against::Commit => "against commit order".to_owned(),
    });
    let keyword = || elle_name(finding, finding.through).filter(|_| finding.anomaly.elle_has_variants());
    let known = pattern(finding).map(str::to_owned).or_else(keyword);
    let through = match finding.through {
        Through::Dependencies => None,
        Through::Sessions => Some("through the order of a session".to_owned()),
        Through::RealTime => Some("through real time".to_owned()),
    };
    let known: Vec<String> = known.into_iter().chain(against).chain(through).collect();
    let known = if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) };
    let shown = finding.instances.len() as u64;
    let many = match (finding.count, finding.components) {
        (1, _) => "once".to_owned(),
        (n, 0) => count(n),
        (n, components) => format!("{} in {}", count(n), counted(components, "component")),
    };
    let many = if finding.at_least { format!("at least {many}") } else { many };
    let some = match finding.count {
        n if n <= shown => String::new(),
        _ if shown == 1 => ", the shortest shown".to_owned(),
        _ => format!(", the shortest {} shown", count(shown)),
    };
    let name = styled(BOLD, title_of(finding.anomaly));
    format!("{name}{known}: {many}{some}")
}

/// One occurrence: the story, its clauses, and the operations in the file.
fn telling(
    teller: &Teller<'_>,
    instance: &Instance,
    story: &Story,
    number: Option<usize>,
    places: &BTreeMap<Op, Place>,
) -> String {
    let bullet = number.map_or(String::new(), |number| format!("{number}. "));
    let indent = " ".repeat(2 + bullet.len());
    let headline = hanging(&story.headline, indent.len());
    let mut text = format!("  {}{}\n", styled(FRAME, bullet), headline);
    let clauses = if told_by_headline(&instance.evidence) { &[] } else { story.clauses.as_slice() };
    for clause in clauses {
        let indent = format!("{indent}{}", "  ".repeat(clause.depth.into()));
        let bullet = styled(DIM, if clause.depth == 0 { "-" } else { "·" });
        let _ = writeln!(text, "{indent}{bullet} {}", hanging(&clause.text, indent.len() + 2));
    }
    let mark =
        |op: Op, label: String| Some(Mark { place: places.get(&op)?, label, main: story.focus == Some(op) });
    let marks = teller.pointers(story).into_iter().filter_map(|pointer| mark(pointer.op, pointer.label));
    text + &snippet::render(marks.collect(), &indent) + "\n"
}

/// Whether the clauses of a story would only repeat its headline: outside of cycles; where the version that was
/// read is the initial one, which everything follows; and where two miss each other, or one missed what it saw.
fn told_by_headline(evidence: &Evidence) -> bool {
    let edges = match evidence {
        Evidence::Cycle(edges) => edges,
        Evidence::Cases(_) | Evidence::Worlds(_) => return false,
        Evidence::Read { .. } | Evidence::Pair { .. } => return true,
    };
    let direct = |edge: &Edge| matches!(&edge.why, Why::Forced { seen: Seen::Read(_) | Seen::Session, .. });
    let fact = |edge: &Edge| matches!(edge.why, Why::Session | Why::RealTime | Why::ReadFrom { .. });
    let misses = |edge: &Edge| matches!(edge.why, Why::Misses { .. });
    matches!(edges.as_slice(), [first, second]
        if direct(first) && second.from == Node::Initial && second.why == Why::Session
            || misses(first) && (misses(second) || fact(second))
            || misses(second) && fact(first))
}

/// A text broken into lines of which all but the first are indented; the first begins at the same column.
fn hanging(text: &str, indent: usize) -> String {
    wrap(text, indent, WIDTH).trim().to_owned()
}

/// The verdict in a line, and where to learn more.
fn summary(report: &Report) -> String {
    let findings = report.findings();
    let verdict = match report.exit() {
        Exit::Violated => {
            let all: Vec<&Finding> = findings.iter().flat_map(|(_, f)| f.iter().copied()).collect();
            let total: u64 = all.iter().map(|finding| finding.count).sum();
            let kinds = counted(all.len() as u64, "kind");
            let anomalies =
                if total == 1 { "1 anomaly".to_owned() } else { format!("{} anomalies", count(total)) };
            let at_least = all.iter().any(|finding| finding.at_least);
            let anomalies = if at_least { format!("at least {anomalies}") } else { anomalies };
            format!(
                "{}: {}; {anomalies} of {kinds}",
                styled(ERROR, "violated"),
                names(&report.weakest_violated())
            )
        }
        Exit::Holds => {
            let more = if report.named { "" } else { ", and all that it implies" };
            format!("{}: {}{more}", styled(GOOD, "holds"), names(&report.strongest_holding()))
        }
        _ if report.nothing_to_check() => {
            format!("{}: there is nothing to judge", styled(WARNING, "unknown"))
        }
        _ => format!("{}: not every level could be decided", styled(WARNING, "unknown")),
    };
    let hint = findings.first().and_then(|(_, findings)| findings.first()).map(|finding| {
        let command = format!("isoscope explain {}", finding.anomaly);
        format!("{}\n", styled(DIM, format!("  `{command}` tells what it is and which levels forbid it")))
    });
    format!("{verdict}\n{}", hint.unwrap_or_default())
}

/// How many files came to what.
#[derive(Default)]
pub(crate) struct Tally {
    files: u64,
    holding: u64,
    violated: u64,
    unknown: u64,
    unreadable: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, outcome: Result<&Report, &Failure>) {
        self.files += 1;
        match outcome.map(Report::exit) {
            Ok(Exit::Holds) => self.holding += 1,
            Ok(Exit::Violated) => self.violated += 1,
            Ok(_) => self.unknown += 1,
            Err(failure) if failure.no_room => self.unknown += 1,
            Err(_) => self.unreadable += 1,
        }
    }

    pub(crate) fn render(&self) -> String {
        let parts = [
            (self.violated, "violated", ERROR),
            (self.unknown, "unknown", WARNING),
            (self.holding, "without violation", GOOD),
            (self.unreadable, "failed", ERROR),
        ];
        let said = parts.iter().filter(|(n, ..)| *n > 0);
        let said: Vec<String> =
            said.map(|(n, what, style)| styled(*style, format!("{} {what}", count(*n)))).collect();
        format!("\n{}: {}\n", counted(self.files, "file"), said.join(", "))
    }
}
