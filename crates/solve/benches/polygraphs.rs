//! Polygraphs of several families; see the table it prints.

fn main() {}
