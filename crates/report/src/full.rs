//! The text report: the levels, then each anomaly with the operations in the file that prove it.
//!
//! Colour is never needed: every level has a symbol.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use isoscope_certificate::{Against, Through};
use isoscope_explain::visible;
use isoscope_levels::{Anomaly, Level};

use crate::Outcome;
use crate::concise::{names, role};
use crate::model::{Finding, LevelResult, Occurrence, Reason, Report, Section, Word};
use crate::snippet;
use crate::style::{Role, Style};
use crate::words::{count, counted, wrap};

/// The maximum width of a line. Not the terminal's: the output depends only on the input.
const WIDTH: usize = 100;
/// The width of the first of two columns of levels.
const COLUMN: usize = 24;

/// The whole report.
pub fn render(report: &Report, style: &dyn Style) -> String {
    [
        title(report, style),
        lattice(report, style),
        definitions(report, style),
        boundary(report),
        unknowns(report, style),
        anomalies(report, style),
        violated_definitions(report, style),
        summary(report, style),
    ]
    .concat()
}

/// The file and its size.
fn title(report: &Report, style: &dyn Style) -> String {
    let (txns, committed) = (report.transactions as u64, report.committed as u64);
    let some = if committed == txns { String::new() } else { format!(" ({} committed)", count(committed)) };
    let figures = format!(
        "{}, {}{some}, {}",
        counted(report.sessions as u64, "session"),
        counted(txns, "transaction"),
        counted(report.operations as u64, "operation"),
    );
    format!(
        "{}  {}\n\n",
        style.paint(Role::Title, &visible(&report.file)),
        style.paint(Role::Aside, &figures)
    )
}

/// The checked levels, stronger ones above weaker ones.
pub fn lattice(report: &Report, style: &dyn Style) -> String {
    if report.levels.is_empty() {
        return String::new();
    }
    let mut rows: BTreeMap<usize, Vec<&LevelResult>> = BTreeMap::new();
    // Finer levels have rows only if they were requested.
    let is_fine = report.levels.iter().any(|result| !result.level.is_common());
    let heights = if is_fine { heights(&Level::ALL) } else { heights(&Level::COMMON) };
    for result in &report.levels {
        let height = heights.iter().find(|(level, _)| *level == result.level);
        rows.entry(height.map_or(0, |&(_, height)| height)).or_default().push(result);
    }
    let mut text = String::new();
    for row in rows.values_mut().rev() {
        // Adya's levels, which ignore sessions, are in the second column.
        row.sort_by_key(|result| (result.level.is_portability_level(), result.level));
        text.push_str("  ");
        for (i, result) in row.iter().enumerate() {
            let name = result.level.name();
            let gap = if i + 1 < row.len() { COLUMN.saturating_sub(name.len()).max(1) } else { 0 };
            let _ = write!(text, "{}{}", cell(result, style), " ".repeat(gap));
        }
        text.push('\n');
    }
    text + "\n"
}

/// The definitions in the level language: the witness, the level with the same text, or why it is unknown.
fn definitions(report: &Report, style: &dyn Style) -> String {
    if report.definitions.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    for result in &report.definitions {
        let name = style.paint(role(result.verdict), &format!("{} {}", mark(result.verdict), result.name));
        let more = match (&result.same_as, &result.witness, &result.reason) {
            (Some(same), ..) => same.words(&result.name),
            (_, Some(witness), _) => witness.words(),
            (.., Some(reason)) => reason.to_string(),
            _ => String::new(),
        };
        let _ = writeln!(text, "  {name}");
        if !more.is_empty() {
            let _ = writeln!(text, "    {}", style.paint(Role::Aside, &hanging(&more, 4)));
        }
    }
    text + "\n"
}

/// Why definitions are violated: a small part of the history, and the axioms.
fn violated_definitions(report: &Report, style: &dyn Style) -> String {
    let mut text = String::new();
    for result in &report.definitions {
        let name = style.paint(Role::Bad, &format!("✗ {}", result.name));
        if !result.wrong_reads.is_empty() {
            let _ = writeln!(text, "{name} is violated: {}\n", result.wrong_words());
            for wrong in result.wrong_reads.iter().take(MOST_WRONG_READS) {
                let _ = writeln!(text, "  - {} ({})", wrong.label, title_of(wrong.anomaly));
            }
        } else if let Some(core) = &result.core {
            let _ = writeln!(text, "{name} is violated\n");
            let _ = writeln!(text, "  {}:", hanging(&capitalised(&core.words()), 2));
            for line in core.lines.iter().take(MOST_CORE_LINES) {
                let _ = writeln!(text, "    {}", hanging(line, 6));
            }
            if core.lines.len() > MOST_CORE_LINES {
                let _ = writeln!(text, "    .. ({} more)", core.lines.len() - MOST_CORE_LINES);
            }
            for axiom in &core.axioms {
                let title =
                    if axiom.name.is_empty() { "axiom".to_owned() } else { format!("axiom {}:", axiom.name) };
                let _ = writeln!(text, "  {}", hanging(&format!("{title} {}", axiom.text), 4));
            }
            if !core.part {
                let _ = writeln!(
                    text,
                    "  No transaction was left out: what the axioms ask for might be in any of them."
                );
            }
            if !core.minimal {
                let _ =
                    writeln!(text, "  The time limit was reached before this was made as small as possible.");
            }
        } else {
            continue;
        }
        text.push_str(&snippet::render(&result.marks, "  ", style));
        text.push('\n');
    }
    text
}

/// The most transactions of a history without a witness to show.
const MOST_CORE_LINES: usize = 20;

/// The most wrong reads to show.
const MOST_WRONG_READS: usize = 5;

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// For each of some levels, weaker ones first, the length of the longest chain below it.
fn heights(levels: &[Level]) -> Vec<(Level, usize)> {
    let mut heights: Vec<(Level, usize)> = Vec::with_capacity(levels.len());
    for &level in levels {
        let below = heights.iter().filter(|(weaker, _)| level.implies(*weaker));
        let height = below.map(|(_, height)| height + 1).max().unwrap_or(0);
        heights.push((level, height));
    }
    heights
}

fn cell(result: &LevelResult, style: &dyn Style) -> String {
    style.paint(role(result.verdict), &format!("{} {}", mark(result.verdict), result.level))
}

fn mark(verdict: Word) -> &'static str {
    match verdict {
        Word::Holds => "✓",
        Word::Violated => "✗",
        Word::Unknown => "?",
    }
}

/// The strongest levels that hold and the weakest that are violated, if the user named no level.
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
    line("strongest that hold", &report.strongest_holding);
    line("weakest that fail", &report.weakest_violated);
    if text.is_empty() { text } else { text + "\n" }
}

/// Why levels are unknown, each reason once, with its first operation.
fn unknowns(report: &Report, style: &dyn Style) -> String {
    let mut reasons: Vec<(&Reason, Vec<Level>)> = Vec::new();
    for result in &report.levels {
        let Some(reason) = &result.reason else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, levels)) => levels.push(result.level),
            None => reasons.push((reason, vec![result.level])),
        }
    }
    let mut text = String::new();
    for (reason, levels) in reasons {
        let known = if reason.limit.is_some() { known_by_then(report) } else { String::new() };
        let said = format!("{}: {reason}{known}", names(&levels));
        let _ = writeln!(text, "{} {}", style.paint(Role::Doubtful, "?"), hanging(&said, 2));
        text.push_str(&snippet::render(reason.mark.as_slice(), "  ", style));
        text.push('\n');
    }
    text
}

/// The levels that were decided before a limit was reached.
fn known_by_then(report: &Report) -> String {
    let holds = report.strongest_holding.iter().map(|level| format!("{level} holds"));
    let fails = report.weakest_violated.iter().map(|level| format!("{level} is violated"));
    let known: Vec<String> = holds.chain(fails).collect();
    if known.is_empty() {
        "; no level was decided before".to_owned()
    } else {
        format!("; {}", known.join(", "))
    }
}

/// Every kind of anomaly, under the weakest level that it violates.
pub fn anomalies(report: &Report, style: &dyn Style) -> String {
    let mut text = String::new();
    for section in &report.sections {
        if !section.is_weakest && section.new.is_empty() {
            continue;
        }
        text.push_str(&level_heading(section, style));
        for finding in shown(report, section) {
            let _ = writeln!(text, "  {}\n", finding_heading(finding, style));
            for (i, occurrence) in finding.occurrences.iter().enumerate() {
                let number = (finding.occurrences.len() > 1).then_some(i + 1);
                text.push_str(&story(occurrence, number, style));
            }
        }
    }
    text
}

/// The findings that a section shows.
fn shown<'a>(report: &'a Report, section: &'a Section) -> impl Iterator<Item = &'a Finding> {
    let findings = report.level(section.level).map_or(&[][..], |result| &result.findings);
    section.new.iter().filter_map(|&i| findings.get(i))
}

/// Stronger levels that fail with the weakest one are listed there. They get a section only for further anomalies.
fn level_heading(section: &Section, style: &dyn Style) -> String {
    let level = section.level;
    let by = if section.new.is_empty() { " by the same anomalies" } else { "" };
    let text = match section.also_violated.as_slice() {
        _ if !section.is_weakest => format!("✗ {level} is violated by other anomalies too"),
        [] => format!("✗ {level} is violated{by}"),
        above => format!("✗ {level} is violated{by}; also violated: {}", names(above)),
    };
    // Only the name is coloured: a coloured paragraph is hard to read.
    let name = format!("✗ {level}");
    format!("{}\n\n", hanging(&text, 2).replacen(&name, &style.paint(Role::Bad, &name), 1))
}

/// The name of an anomaly as two or three words.
pub fn title_of(anomaly: Anomaly) -> String {
    let words = anomaly.name().replace('-', " ");
    words.replace("non ", "non-").replace("thin air", "thin-air")
}

/// `fractured read (TAP-k, against causal order): 12 in 3 components, the shortest 3 shown`.
fn finding_heading(finding: &Finding, style: &dyn Style) -> String {
    let against = finding.against.map(|against| match against {
        Against::Causal => "against causal order".to_owned(),
        Against::Commit => "against commit order".to_owned(),
    });
    let keyword = || finding.elle.clone().filter(|_| finding.anomaly.elle_has_variants());
    let known = finding.pattern.map(str::to_owned).or_else(keyword);
    let through = match finding.through {
        Through::Dependencies => None,
        Through::Sessions => Some("through session order".to_owned()),
        Through::RealTime => Some("through real-time order".to_owned()),
    };
    let known: Vec<String> = known.into_iter().chain(against).chain(through).collect();
    let known = if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) };
    let shown = finding.occurrences.len() as u64;
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
    let name = style.paint(Role::Title, &title_of(finding.anomaly));
    format!("{name}{known}: {many}{some}")
}

/// One occurrence: the story, its clauses, and the operations in the file.
fn story(occurrence: &Occurrence, number: Option<usize>, style: &dyn Style) -> String {
    let bullet = number.map_or(String::new(), |number| format!("{number}. "));
    let indent = " ".repeat(2 + bullet.len());
    let headline = hanging(&occurrence.headline, indent.len());
    let mut text = format!("  {}{}\n", style.paint(Role::Frame, &bullet), headline);
    let clauses = if occurrence.headline_suffices { &[] } else { occurrence.clauses.as_slice() };
    for clause in clauses {
        let indent = format!("{indent}{}", "  ".repeat(clause.depth.into()));
        let bullet = style.paint(Role::Aside, if clause.depth == 0 { "-" } else { "·" });
        let _ = writeln!(text, "{indent}{bullet} {}", hanging(&clause.text, indent.len() + 2));
    }
    text + &snippet::render(&occurrence.marks, &indent, style) + "\n"
}

/// Breaks a text into lines and indents all but the first.
fn hanging(text: &str, indent: usize) -> String {
    wrap(text, indent, WIDTH).trim().to_owned()
}

/// The verdict in one line.
fn summary(report: &Report, style: &dyn Style) -> String {
    let word = |role| style.paint(role, &report.verdict.to_string());
    let defined = |levels: &[Level]| {
        let same = report.definitions.iter().filter(|result| result.verdict == report.verdict);
        let names = levels.iter().map(|level| level.name()).chain(same.map(|result| result.name.as_str()));
        names.collect::<Vec<_>>().join(", ")
    };
    let verdict = match report.verdict {
        Word::Violated if report.anomalies().next().is_none() => {
            format!("{}: {}", word(Role::Bad), defined(&report.weakest_violated))
        }
        Word::Violated => {
            // As many as the sections above show: some levels have other names for the same occurrences.
            let all: Vec<&Finding> =
                report.sections.iter().flat_map(|section| shown(report, section)).collect();
            let total: u64 = all.iter().map(|finding| finding.count).sum();
            let kinds = counted(all.len() as u64, "kind");
            let anomalies =
                if total == 1 { "1 anomaly".to_owned() } else { format!("{} anomalies", count(total)) };
            let at_least = all.iter().any(|finding| finding.at_least);
            let anomalies = if at_least { format!("at least {anomalies}") } else { anomalies };
            format!("{}: {}; {anomalies} of {kinds}", word(Role::Bad), defined(&report.weakest_violated))
        }
        Word::Holds => {
            let more = if report.named { "" } else { ", and all levels implied" };
            format!("{}: {}{more}", word(Role::Good), defined(&report.strongest_holding))
        }
        Word::Unknown if report.nothing_to_check().is_some() => {
            format!("{}: the history has nothing to check", word(Role::Doubtful))
        }
        Word::Unknown => format!("{}: not every level could be decided", word(Role::Doubtful)),
    };
    format!("{verdict}\n")
}

/// The number of files by result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    files: u64,
    holding: u64,
    violated: u64,
    unknown: u64,
    unreadable: u64,
}

impl Tally {
    /// Counts a file.
    pub fn add(&mut self, outcome: Outcome<'_>) {
        self.files += 1;
        match outcome.map(|report| report.verdict) {
            Ok(Word::Holds) => self.holding += 1,
            Ok(Word::Violated) => self.violated += 1,
            Ok(Word::Unknown) => self.unknown += 1,
            Err(failure) if failure.no_room => self.unknown += 1,
            Err(_) => self.unreadable += 1,
        }
    }

    /// The counts in a line.
    pub fn render(&self, style: &dyn Style) -> String {
        let parts = [
            (self.violated, "violated", Role::Bad),
            (self.unknown, "unknown", Role::Doubtful),
            (self.holding, "without violation", Role::Good),
            (self.unreadable, "failed", Role::Bad),
        ];
        let said = parts.iter().filter(|(n, ..)| *n > 0);
        let said: Vec<String> =
            said.map(|(n, what, role)| style.paint(*role, &format!("{} {what}", count(*n)))).collect();
        format!("\n{}: {}\n", counted(self.files, "file"), said.join(", "))
    }
}
