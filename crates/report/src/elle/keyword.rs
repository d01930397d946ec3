//! Elle's keywords for cycles, and the models that they refute.
//!
//! A keyword claims that a model is violated: `:G0` read uncommitted, `:G0-process` read uncommitted with sessions, `:G-single`
//! consistent view, and so on; `-item` also claims repeatable read. What evidence shows can be less than the shape of the cycle
//! that is drawn: other cases of a proof, a step that rests on a session, a read of a range. So a keyword is printed only if
//! everything it claims is refuted. A cycle that does not refute what its shape stands for gets the next wider keyword. In Adya's
//! terms this is still right: G0 is a case of G1c.

use std::fmt;

use isoscope_certificate::Through;
use isoscope_levels::{Anomaly, ELLE_PROCESS, ELLE_REALTIME, Level};

use super::models::{Ordered, Refuted};

/// Which dependencies a cycle has, the strongest claim first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shape {
    /// Overwrites alone.
    G0,
    /// No anti-dependency.
    G1c,
    /// One anti-dependency.
    GSingle,
    /// Several, none next to another.
    GNonadjacent,
    /// Several.
    G2,
}

impl Shape {
    const ALL: [Shape; 5] = [Shape::G0, Shape::G1c, Shape::GSingle, Shape::GNonadjacent, Shape::G2];

    fn word(self) -> &'static str {
        match self {
            Shape::G0 => "G0",
            Shape::G1c => "G1c",
            Shape::GSingle => "G-single",
            Shape::GNonadjacent => "G-nonadjacent",
            Shape::G2 => "G2",
        }
    }

    fn has_items(self) -> bool {
        self >= Shape::GSingle
    }
}

/// A keyword for a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cyclic {
    pub(super) shape: Shape,
    /// Whether all its reads are of single keys.
    pub(super) item: bool,
    pub(super) orders: Through,
}

impl fmt::Display for Cyclic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let item = if self.item && self.shape.has_items() { "-item" } else { "" };
        let orders = match self.orders {
            Through::Dependencies => "",
            Through::Sessions => ELLE_PROCESS,
            Through::RealTime => ELLE_REALTIME,
        };
        write!(f, "{}{item}{orders}", self.shape.word())
    }
}

impl Cyclic {
    /// The keyword of an anomaly that Elle knows as a cycle.
    pub(super) fn of(anomaly: Anomaly, orders: Through) -> Option<Cyclic> {
        let name = anomaly.elle()?;
        let (word, item) = name.strip_suffix("-item").map_or((name, false), |word| (word, true));
        let shape = Shape::ALL.into_iter().find(|shape| shape.word() == word)?;
        Some(Cyclic { shape, item, orders })
    }

    /// The keyword, or the next wider one, of which every claim is refuted.
    pub(super) fn supported(self, refuted: &Refuted) -> Option<Cyclic> {
        let wider = Shape::ALL.into_iter().filter(|&shape| shape >= self.shape);
        // Repeatable read, the model of `-item`, has no form with sessions or real time.
        let plain = self.orders == Through::Dependencies;
        let repeatable = Ordered { level: Level::AdyaPl299, orders: Through::Dependencies };
        let item = self.item && (!plain || refuted.implies(repeatable));
        let mut keywords = wider.map(|shape| Cyclic { shape, item, orders: self.orders });
        keywords.find(|keyword| refuted.implies(keyword.model()))
    }

    /// The model that the keyword says is violated, apart from that of `-item`.
    fn model(self) -> Ordered {
        let plain = self.orders == Through::Dependencies;
        let level = match self.shape {
            Shape::G0 => Level::AdyaPl1,
            Shape::G1c => Level::AdyaPl2,
            Shape::GSingle if plain => Level::ParallelSnapshot,
            Shape::GSingle | Shape::GNonadjacent => Level::Snapshot,
            Shape::G2 if plain && self.item => Level::AdyaPl299,
            Shape::G2 => Level::Serializable,
        };
        Ordered { level, orders: self.orders }
    }
}
