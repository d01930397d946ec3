//! `isoscope formats`: the formats that can be read and written.

use isoscope_formats::Format;

use crate::exit::Exit;
use crate::terminal::{BOLD, Terminal, styled};

pub(crate) fn run(terminal: &Terminal) -> Exit {
    let mut text = format!("{}\n", styled(BOLD, format!("{:<14} {:<7} about", "format", "access")));
    for format in Format::ALL {
        let access = if format.is_writable() { "r/w" } else { "r" };
        text.push_str(&format!("{:<14} {access:<7} {}\n", format.name(), format.about()));
    }
    text.push_str(
        "\nFormats are detected by content. gzip and zstd files are decompressed. `-` is standard input.\n",
    );
    text.push_str("A directory stands for the history in it.\n");
    terminal.print(&text);
    if terminal.lost_output() { Exit::Failed } else { Exit::Holds }
}
