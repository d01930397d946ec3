//! Emphasis by role. The caller decides how its output shows a role.

/// The role of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// A title.
    Title,
    /// Secondary text.
    Aside,
    /// A violation or an error.
    Bad,
    /// Something unknown, or a warning.
    Doubtful,
    /// Something that holds.
    Good,
    /// Line numbers, arrows and bars.
    Frame,
}

/// How text is emphasised.
pub trait Style {
    /// The text with the marks that show its role.
    fn paint(&self, role: Role, text: &str) -> String;
}

/// No emphasis: every report can be read without it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Style for Plain {
    fn paint(&self, _: Role, text: &str) -> String {
        text.to_owned()
    }
}
