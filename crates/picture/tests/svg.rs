//! Pictures as text.

use isoscope_picture::{Block, Edge, Graph, Node, Page, Stroke, svg};

fn page(title: &str) -> Page {
    let node =
        |name: &str| Node { title: name.to_owned(), lines: vec!["r(x,0)".to_owned(), "w(x,1)".to_owned()] };
    let edge = |from, to, stroke, label: &str| Edge { from, to, stroke, label: vec![label.to_owned()] };
    let graph = Graph {
        nodes: vec![node("T1"), node(title)],
        edges: vec![edge(0, 1, Stroke::Overwrite, "ww x"), edge(1, 0, Stroke::Miss, "rw x")],
    };
    let legend = vec![(Stroke::Overwrite, "ww".to_owned()), (Stroke::Miss, "rw".to_owned())];
    Page {
        title: title.to_owned(),
        blocks: vec![Block::Heading(title.to_owned()), Block::Graph(graph), Block::Legend(legend)],
    }
}

#[test]
fn the_same_page_is_the_same_text() {
    assert_eq!(svg(&page("T2")), svg(&page("T2")));
}

/// Names from files are text, never markup.
#[test]
fn names_are_escaped() {
    for name in ["<script>alert(1)</script>", "\"/><a href='x'>", "]]>&amp;", "a\u{202e}b\u{0}c"] {
        let text = svg(&page(name));
        assert!(
            !text.contains("<script")
                && !text.contains("<a ")
                && !text.contains('\u{202e}')
                && !text.contains('\0')
        );
        // What is left is well-formed: tags are closed, and `&` begins an entity.
        let body = text
            .replace("&amp;", "")
            .replace("&lt;", "")
            .replace("&gt;", "")
            .replace("&quot;", "")
            .replace("&#39;", "");
        assert!(!body.contains('&'), "{body}");
        assert_eq!(text.matches("<text").count(), text.matches("</text>").count());
        assert_eq!(text.matches("<g ").count(), text.matches("</g>").count());
    }
}

/// The contrast of a colour with white (WCAG 2.1).
fn contrast(colour: &str) -> f64 {
    let channel = |at: usize| {
        let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap_or(255)) / 255.0;
        if value <= 0.039_28 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    1.05 / (0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5) + 0.05)
}

#[test]
fn kinds_of_edges_differ_in_colour_and_dashes() {
    let all =
        [Stroke::Plain, Stroke::Session, Stroke::RealTime, Stroke::Read, Stroke::Overwrite, Stroke::Miss];
    for (i, one) in all.into_iter().enumerate() {
        assert!(contrast(one.colour()) >= 4.5, "{one:?}");
        for other in &all[..i] {
            assert_ne!(one.colour(), other.colour());
            // Reads are solid, as is what has no kind; the two are never in one picture.
            let both_solid = [one, *other].iter().all(|one| one.dashes().is_empty());
            assert!(both_solid || one.dashes() != other.dashes(), "{one:?} {other:?}");
        }
    }
}
