//! The walk in ARCHITECTURE.md names functions that exist where it says.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The rows of the table of the walk: function and file.
fn walk(page: &str) -> Vec<(String, String)> {
    let start = page.find("## The walk of").unwrap();
    let end = page[start + 3..].find("\n## ").unwrap();
    let quoted = |cell: &str| cell.trim().strip_prefix('`')?.strip_suffix('`').map(str::to_owned);
    let row = |line: &str| {
        let mut cells = line.strip_prefix('|')?.split('|');
        Some((quoted(cells.next()?)?, quoted(cells.next()?)?))
    };
    page[start..start + 3 + end].lines().filter_map(row).collect()
}

#[test]
fn every_function_of_the_walk_exists_in_its_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let walk = walk(&fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap());
    assert!(walk.len() > 25, "{walk:?}");
    let mut named = BTreeSet::new();
    for (function, file) in walk {
        let text = fs::read_to_string(root.join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let defined = [format!("fn {function}("), format!("fn {function}<")];
        assert!(defined.iter().any(|define| text.contains(define)), "{file} has no function {function}");
        assert!(named.insert((function.clone(), file.clone())), "{function} in {file} is named twice");
    }
}
