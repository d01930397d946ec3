//! Graphs and orders over dense ids. No word of databases in here.
