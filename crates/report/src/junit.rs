//! The report as JUnit XML.
//!
//! A file is a test suite, a level a test case. A violated level is a failure with its stories. An unknown level is an error, so
//! that it is not mistaken for success.

use isoscope_levels::Level;

use crate::Outcome;
use crate::definitions::DefinitionResult;
use crate::model::{Finding, LevelResult, Word};
use crate::words::count;

/// The suites so far.
#[derive(Default)]
pub struct Suites {
    text: String,
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
    /// Levels that this one does not imply are skipped if they do not hold.
    promise: Option<Level>,
}

impl Suites {
    /// Suites of a database that promises a level.
    pub fn of_promise(promise: Level) -> Suites {
        Suites { promise: Some(promise), ..Suites::default() }
    }

    /// Adds the suite of a file.
    pub fn add(&mut self, file: &str, outcome: Outcome<'_>) {
        let mut suite = Suites { promise: self.promise, ..Suites::default() };
        let seconds = match outcome {
            Err(failure) => {
                let problems: Vec<String> = failure.problems.iter().map(ToString::to_string).collect();
                let message = problems.first().map_or("unreadable", String::as_str);
                suite.errors += 1;
                let body = element("error", message, "unreadable", &problems.join("\n"));
                suite.case(file, "read", 0.0, &body);
                0.0
            }
            Ok(report) => {
                for result in &report.levels {
                    suite.level(file, result);
                }
                for result in &report.definitions {
                    suite.definition(file, result);
                }
                report.seconds
            }
        };
        let Suites { text, tests, failures, errors, skipped, .. } = suite;
        let skipped = if skipped == 0 { String::new() } else { format!(" skipped=\"{skipped}\"") };
        self.text.push_str(&format!(
            "  <testsuite name=\"{}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"{skipped} \
             time=\"{seconds:.3}\">\n{text}  </testsuite>\n",
            escaped(file)
        ));
        self.tests += tests;
        self.failures += failures;
        self.errors += errors;
    }

    fn level(&mut self, file: &str, result: &LevelResult) {
        let promised = self.promise.is_none_or(|promise| promise.implies(result.level));
        let body = match result.verdict {
            Word::Holds => String::new(),
            _ if !promised => {
                self.skipped += 1;
                "      <skipped message=\"not promised\"/>\n".to_owned()
            }
            Word::Violated => {
                self.failures += 1;
                violation(&result.findings, result.repeats)
            }
            Word::Unknown => {
                self.errors += 1;
                let reason = result.reason.as_ref();
                let kind = reason.map_or("unknown", |reason| reason.kind.name());
                element("error", reason.map_or("", |reason| &reason.message), kind, "")
            }
        };
        self.case(file, result.level.name(), result.seconds, &body);
    }

    fn definition(&mut self, file: &str, result: &DefinitionResult) {
        let body = match result.verdict {
            Word::Holds => String::new(),
            Word::Violated => {
                self.failures += 1;
                let (message, more) = match (&result.same_as, &result.core) {
                    (Some(same), _) => (same.words(&result.name), Vec::new()),
                    (None, Some(core)) => (core.words(), core.lines.clone()),
                    (None, None) => {
                        let reads = result.wrong_reads.iter().map(|wrong| wrong.label.clone());
                        (result.wrong_words(), reads.collect())
                    }
                };
                element("failure", &message, "definition", &more.join("\n"))
            }
            Word::Unknown => {
                self.errors += 1;
                let reason = result.reason.as_ref();
                let kind = reason.map_or("unknown", |reason| reason.kind.name());
                element("error", reason.map_or("", |reason| &reason.message), kind, "")
            }
        };
        self.case(file, &result.name, result.seconds, &body);
    }

    fn case(&mut self, file: &str, name: &str, seconds: f64, body: &str) {
        self.tests += 1;
        let (file, name) = (escaped(file), escaped(name));
        let open = format!("    <testcase classname=\"{file}\" name=\"{name}\" time=\"{seconds:.3}\"");
        self.text.push_str(&match body {
            "" => format!("{open}/>\n"),
            body => format!("{open}>\n{body}    </testcase>\n"),
        });
    }

    /// The whole document.
    pub fn render(&self) -> String {
        let Suites { text, tests, failures, errors, .. } = self;
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"isoscope\" tests=\"{tests}\" \
             failures=\"{failures}\" errors=\"{errors}\">\n{text}</testsuites>\n"
        )
    }
}

/// The stories of a level, or the weaker level that has them.
fn violation(findings: &[Finding], repeats: Option<Level>) -> String {
    let kinds: Vec<&str> = findings.iter().map(|finding| finding.anomaly.name()).collect();
    let kinds = kinds.join(" ");
    if let Some(weaker) = repeats {
        return element("failure", &format!("{weaker} is violated, which this level implies"), &kinds, "");
    }
    let stories = stories(findings);
    let message = stories.first().map_or("violated", String::as_str);
    let counts = findings.iter().filter(|finding| finding.at_least).map(counted);
    let paragraphs: Vec<String> = counts.chain(stories.iter().cloned()).collect();
    element("failure", message, &kinds, &paragraphs.join("\n\n"))
}

/// `write-skew: at least 16 (3 shown)`.
fn counted(finding: &Finding) -> String {
    let shown = count(finding.occurrences.len() as u64);
    format!("{}: at least {} ({shown} shown)", finding.anomaly, count(finding.count))
}

/// Each occurrence in words, with its proof.
fn stories(findings: &[Finding]) -> Vec<String> {
    let all =
        findings.iter().flat_map(|f| f.occurrences.iter().map(move |occurrence| (f.anomaly, occurrence)));
    let paragraphs = all.map(|(anomaly, occurrence)| {
        let clauses = occurrence.clauses.iter();
        let clauses =
            clauses.map(|clause| format!("\n{}- {}", "  ".repeat(clause.depth.into()), clause.text));
        format!("{anomaly}: {occurrence}{}", clauses.collect::<String>())
    });
    paragraphs.collect()
}

fn element(name: &str, message: &str, kind: &str, body: &str) -> String {
    // One line: the attribute is a title.
    let message = message.lines().next().unwrap_or_default();
    let (message, kind, body) = (escaped(message), escaped(kind), escaped(body));
    format!("      <{name} message=\"{message}\" type=\"{kind}\">{body}</{name}>\n")
}

/// Text escaped for XML. Characters that XML 1.0 does not allow are replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
