//! A file in memory, for recordings.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "not every test uses everything; a test that cannot go on should not"
)]

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use isoscope_formats::{Format, Input, ReadOptions, read};
use isoscope_history::History;
use isoscope_record::{Header, Sink, write_header};

#[derive(Clone, Default)]
pub(crate) struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Page {
    /// A sink with this header, and with a mark once per period.
    pub(crate) fn sink(&self, header: &Header, period: Duration) -> Sink {
        let sink = Sink::with_period(Some(Box::new(self.clone())), None, period);
        sink.begin(|lines| write_header(&mut lines.history, header));
        sink
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.bytes()).unwrap()
    }

    /// The history that was recorded here.
    pub(crate) fn history(&self) -> History {
        let text = self.text();
        let options = ReadOptions { format: Some(Format::Native), ..ReadOptions::default() };
        read(&Input::text("recorded", &text), &options).unwrap().history
    }
}
