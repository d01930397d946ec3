//! Problems of an input in machine-readable output.

use isoscope_formats::{Problem, Severity};

/// A problem in machine-readable output.
#[derive(serde::Serialize)]
pub struct ProblemJson<'a> {
    severity: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
}

impl<'a> ProblemJson<'a> {
    /// The problems of an input.
    pub fn list(problems: &'a [Problem]) -> Vec<ProblemJson<'a>> {
        problems.iter().map(ProblemJson::of).collect()
    }

    fn of(problem: &'a Problem) -> ProblemJson<'a> {
        let place = problem.place.as_ref();
        ProblemJson {
            severity: match problem.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            message: &problem.message,
            expected: problem.help.as_deref(),
            file: place.map(|place| place.file.as_str()),
            line: place.filter(|place| !place.binary).map(|place| place.line),
            column: place.filter(|place| !place.binary).map(|place| place.column),
            offset: place.map(|place| place.offset),
        }
    }
}
