//! The machine-readable report. Fields may be added, never renamed.

use serde_json::{Value as Json, json};

use crate::Outcome;
use crate::problem::ProblemJson;

/// The object of a file.
pub fn render(file: &str, outcome: Outcome<'_>) -> Json {
    match outcome {
        Err(failure) => {
            let error = failure.problems.first().map(ToString::to_string).unwrap_or_default();
            let problems = ProblemJson::list(&failure.problems);
            let mut out = json!({ "file": file, "error": error, "levels": [], "problems": problems });
            if failure.no_room {
                out["reason"] = json!({ "kind": "memory", "message": error });
            }
            out
        }
        // Cannot fail: every key is a text and every number is finite.
        Ok(report) => serde_json::to_value(report).unwrap_or_default(),
    }
}
