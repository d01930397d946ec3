//! Pages as SVG.

use std::fmt::Write;

use crate::layers::{Layered, PADDING};
use crate::place::Places;
use crate::text::{LINE, SIZE, escape, width};
use crate::{Block, Edge, Graph, Page, Stroke};

/// The room around a page.
const MARGIN: f64 = 20.0;
/// The length of an arrowhead.
const HEAD: f64 = 8.0;
/// The distance of two ends of edges at a node.
const PORTS: f64 = 16.0;

/// A page as SVG: dark text on a white background, without references to anything outside.
pub fn svg(page: &Page) -> String {
    let mut body = String::new();
    let mut y = MARGIN;
    let mut widest: f64 = 0.0;
    for block in &page.blocks {
        let (drawing, wide, height) = match block {
            Block::Heading(text) => (line(0.0, SIZE, text, "font-weight=\"bold\""), width(text), LINE + 3.0),
            Block::Line(text) => (line(0.0, SIZE, text, ""), width(text), LINE + 3.0),
            Block::Graph(graph) => drawing(graph),
            Block::Legend(entries) => legend(entries),
        };
        let _ =
            writeln!(body, "<g transform=\"translate({},{})\">\n{drawing}</g>", number(MARGIN), number(y));
        widest = widest.max(wide);
        y += height;
    }
    let (width, height) = (number(widest + 2.0 * MARGIN), number(y + MARGIN));
    let title = escape(&page.title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-label=\"{title}\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"{SIZE}\" \
         fill=\"#1a1a1a\">\n<title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n"
    )
}

/// A number with at most one decimal, so that pictures do not depend on the last bits of a computation.
fn number(value: f64) -> String {
    let tenths = (value * 10.0).round();
    let text = format!("{:.1}", if tenths == 0.0 { 0.0 } else { tenths / 10.0 });
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn line(x: f64, y: f64, text: &str, style: &str) -> String {
    format!(
        "<text x=\"{}\" y=\"{}\" xml:space=\"preserve\" {style}>{}</text>\n",
        number(x),
        number(y),
        escape(text)
    )
}

fn stroke(stroke: Stroke) -> String {
    let dashes = stroke.dashes();
    let dashes = if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dashes}\"") };
    // Dots are round.
    let cap = if stroke == Stroke::Session { " stroke-linecap=\"round\"" } else { "" };
    format!("fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"{dashes}{cap}", stroke.colour())
}

/// Entries with a sample of each kind of line, one below the other.
fn legend(entries: &[(Stroke, String)]) -> (String, f64, f64) {
    let mut out = String::new();
    let mut widest: f64 = 0.0;
    for (place, (kind, text)) in entries.iter().enumerate() {
        let y = place as f64 * LINE + SIZE;
        let middle = number(y - 4.0);
        let _ = writeln!(out, "<path d=\"M0 {middle}H40\" {}/>", stroke(*kind));
        out += &line(50.0, y, text, "");
        widest = widest.max(50.0 + width(text));
    }
    (out, widest, entries.len() as f64 * LINE + 8.0)
}

/// A graph with its width and height.
fn drawing(graph: &Graph) -> (String, f64, f64) {
    let layers = Layered::new(graph);
    let places = Places::new(&layers);
    let ports = Ports::new(&layers, &places);
    let mut out = String::new();
    for (number, edge) in graph.edges.iter().enumerate() {
        out += &draw_edge(edge, number, &layers, &places, &ports);
    }
    for (number, edge) in graph.edges.iter().enumerate() {
        out += &draw_label(edge, number, &layers, &places);
    }
    for node in 0..graph.nodes.len() {
        out += &draw_node(graph, node, &layers, &places);
    }
    // Some room above and below.
    (format!("<g transform=\"translate(0,10)\">\n{out}</g>\n"), places.width, places.height + 28.0)
}

/// Where edges begin and end at a node: for each edge, the x of its upper and of its lower end.
struct Ports {
    upper: Vec<f64>,
    lower: Vec<f64>,
}

impl Ports {
    fn new(layers: &Layered, places: &Places) -> Ports {
        let mut ports =
            Ports { upper: vec![0.0; layers.chains.len()], lower: vec![0.0; layers.chains.len()] };
        for (node, item) in layers.items.iter().enumerate().filter(|(_, item)| !item.is_edge) {
            for is_upper in [true, false] {
                // The edges at this side, from left to right.
                let mut edges: Vec<(f64, usize)> = Vec::new();
                for (edge, chain) in layers.chains.iter().enumerate() {
                    let next = match (chain.as_slice(), is_upper) {
                        ([first, next, ..], true) if *first == node => *next,
                        ([.., next, last], false) if *last == node => *next,
                        _ => continue,
                    };
                    edges.push((places.x[next], edge));
                }
                edges.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                let room = (item.width - 2.0 * PADDING).max(0.0);
                let apart = PORTS.min(room / edges.len().saturating_sub(1).max(1) as f64);
                let first = places.x[node] - apart * edges.len().saturating_sub(1) as f64 / 2.0;
                for (place, (_, edge)) in edges.into_iter().enumerate() {
                    let side = if is_upper { &mut ports.upper } else { &mut ports.lower };
                    side[edge] = first + apart * place as f64;
                }
            }
        }
        ports
    }
}

/// The upper and the lower border of an item.
fn borders(item: usize, layers: &Layered, places: &Places) -> (f64, f64) {
    let (top, bottom) = places.layers[layers.items[item].layer];
    if layers.items[item].is_edge {
        return (top, bottom);
    }
    let space = (bottom - top - layers.items[item].height) / 2.0;
    (top + space, bottom - space)
}

fn draw_edge(edge: &Edge, place: usize, layers: &Layered, places: &Places, ports: &Ports) -> String {
    let chain = &layers.chains[place];
    let [upper, .., lower] = chain.as_slice() else { return String::new() };
    let is_down = *upper == edge.from;
    let (start, end) = (ports.upper[place], ports.lower[place]);
    let top = borders(*upper, layers, places).1 + if is_down { 0.0 } else { HEAD - 1.0 };
    let bottom = borders(*lower, layers, places).0 - if is_down { HEAD - 1.0 } else { 0.0 };
    let mut path = format!("M{} {}", number(start), number(top));
    let mut x = start;
    for pair in chain.windows(2) {
        // Down to the border of the layer, then a curve to the next one.
        let y = places.layers[layers.items[pair[0]].layer].1;
        let is_last = pair[1] == *lower;
        let (next, next_y) =
            (if is_last { end } else { places.x[pair[1]] }, places.layers[layers.items[pair[1]].layer].0);
        // An arrowhead at the top is inside the gap.
        let y = if pair[0] == *upper { y.max(top) } else { y };
        let next_y = if is_last { next_y.min(bottom) } else { next_y };
        let middle = number(y.midpoint(next_y));
        let _ = write!(
            path,
            "V{}C{} {middle} {} {middle} {} {}",
            number(y),
            number(x),
            number(next),
            number(next),
            number(next_y)
        );
        x = next;
    }
    let _ = write!(path, "V{}", number(bottom));
    let (x, tip, base) =
        if is_down { (end, bottom + HEAD - 1.0, bottom) } else { (start, top - HEAD + 1.0, top) };
    let head = format!(
        "<path d=\"M{} {}L{} {}L{} {}Z\" fill=\"{}\"/>\n",
        number(x),
        number(tip),
        number(x - 4.0),
        number(base),
        number(x + 4.0),
        number(base),
        edge.stroke.colour()
    );
    format!("<path d=\"{path}\" {}/>\n{head}", stroke(edge.stroke))
}

fn draw_label(edge: &Edge, place: usize, layers: &Layered, places: &Places) -> String {
    let Some(label) = layers.labels[place] else { return String::new() };
    let item = layers.chains[place][label];
    let (top, bottom) = borders(item, layers, places);
    let height = layers.items[item].height;
    let (x, y, width) = (places.x[item], f64::midpoint(top, bottom) - height / 2.0, layers.items[item].width);
    let mut out = format!(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>\n",
        number(x - width / 2.0),
        number(y),
        number(width),
        number(height)
    );
    let style = format!("fill=\"{}\"", edge.stroke.colour());
    for (row, text) in edge.label.iter().enumerate() {
        out += &line(x - width / 2.0 + 3.0, y + row as f64 * LINE + SIZE, text, &style);
    }
    out
}

fn draw_node(graph: &Graph, node: usize, layers: &Layered, places: &Places) -> String {
    let (top, bottom) = borders(node, layers, places);
    let (x, width) = (places.x[node], layers.items[node].width);
    let left = x - width / 2.0;
    let mut out = format!(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\" fill=\"#f4f6f8\" stroke=\"#444444\"/>\n",
        number(left),
        number(top),
        number(width),
        number(bottom - top)
    );
    let y = |row: usize| top + PADDING + SIZE - 4.0 + row as f64 * LINE;
    out += &line(left + PADDING, y(0), &graph.nodes[node].title, "font-weight=\"bold\"");
    for (row, text) in graph.nodes[node].lines.iter().enumerate() {
        out += &line(left + PADDING, y(row + 1), text, "");
    }
    out
}
