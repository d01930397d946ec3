//! Tests of rejected inputs: intervals that end before they begin, lines that are too long, binary data, and
//! histories that exceed the memory limit.
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod support;

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;
use isoscope_formats::{Format, Input, ReadOptions, read};
use support::{failure, notation_of, reading};

const NATIVE: &str = "{\"isoscope\":\"history\",\"version\":1}\n";

#[test]
fn an_interval_that_ends_before_it_begins_is_rejected() {
    assert_eq!(
        failure(Format::Notation, "T1@5-1: w(x,1)  T2: r(x,1)"),
        "t:1:6: invalid notation (a return that is not before its invocation)"
    );
    assert_eq!(notation_of(Format::Notation, "T1@5-5: w(x,1)"), "T1@5-5: w(x,1)");
    let native = |field: &str| {
        failure(
            Format::Native,
            format!("{NATIVE}{{\"session\":1,\"ops\":[[\"w\",1,2]],\"{field}\":[5,1]}}\n"),
        )
    };
    assert_eq!(
        native("events"),
        "t:2:44: a return before its invocation (an event that comes later, or null)"
    );
    for field in ["times", "timestamps"] {
        let message = "an interval that ends before it begins (a time not before the first)";
        assert!(native(field).ends_with(message), "{}", native(field));
    }
    let edn = "{:type :invoke :process 0 :time 9 :value [[:w 1 2]]}\n{:type :ok :process 0 :time 8 :value [[:w 1 2]]}\n";
    let returned = "by its times, this transaction returned before it was invoked (a return that is not before the \
                    invocation)";
    assert_eq!(failure(Format::Edn, edn), format!("t:1:1: {returned}"));
    let json = "{\"type\":\"invoke\",\"process\":0,\"time\":9,\"value\":[[\"w\",1,2]]}\n\
                {\"type\":\"ok\",\"process\":0,\"time\":8,\"value\":[[\"w\",1,2]]}\n";
    assert_eq!(failure(Format::ElleJson, json), format!("t:1:1: {returned}"));
    let viper = r#"{"preBeginTS": 5, "postBeginTS": 6, "preCommitTS": 3, "postCommitTS": 4, "value": [["w", 1, 10, true]]}"#;
    assert_eq!(failure(Format::Viper, viper), format!("t:1:1: {returned}"));
}

/// A long line is one error at the position of the error, for any number of blocks.
#[test]
fn a_long_bad_line_is_one_error_at_its_place() {
    let long = "x".repeat(5 << 20);
    for (format, line, place) in [
        (Format::Plume, format!("r(1,1,0,2){long}"), "t:2:11: "),
        (Format::Plume, " ".repeat(5 << 20), "t:2:1: this line is too long (a line of at most 256 bytes)"),
        (Format::Notation, format!("T2: r(x,1) {long}"), "t:2:5242892: "),
        (Format::Awdit, format!("r 1 {long}"), "t:2:5: "),
        (Format::Native, format!("{{\"session\":1,\"ops\":[{long}]}}"), "t:2:21: "),
        (Format::Edn, format!("{{:type :ok :process 0 :value [[:r 1 }}{long}"), "t:2:"),
    ] {
        let first = match format {
            Format::Plume => "w(1,1,0,1)\n",
            Format::Notation => "T1: w(x,1)\n",
            Format::Awdit => "w 1 1\n",
            Format::Native => NATIVE,
            _ => "{:type :invoke :process 0 :value [[:w 1 1]]}\n",
        };
        let last = if format == Format::Plume { "r(1,1,0,3)\n" } else { "" };
        let failed = failure(format, format!("{first}{line}\n{last}"));
        assert!(failed.starts_with(place) && failed.lines().count() == 1, "{format}: {failed}");
        assert!(failed.len() < 300, "{format}: {} bytes", failed.len());
    }
}

fn gzip(begin: &str, bytes: usize) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    out.write_all(begin.as_bytes()).unwrap();
    out.write_all(&vec![0; bytes]).unwrap();
    out.finish().unwrap()
}

/// Zeros are not text: they are rejected at the first, and the decompressed rest is never held in memory.
#[test]
fn zeros_are_rejected_at_the_first() {
    for (format, begin) in [
        (Format::Plume, "w(1,1,0,1)\n"),
        (Format::Notation, "T1: w(x,1)\n"),
        (Format::Awdit, "w 1 1\n"),
        (Format::DbcopHist, "[x:=1]\n"),
        (Format::IsoPredict, "WRITE KEY[x] Txn(1, 0)\n"),
        (Format::DbcopJson, "{\n"),
        (Format::Viper, "{\"value\": []}\n"),
        (Format::Edn, "{:type :ok :process 0 :value []}\n"),
        (Format::ElleJson, "{\"type\":\"ok\",\"process\":0,\"value\":[]}\n"),
    ] {
        let failed = failure(format, gzip(begin, 32 << 20));
        assert!(failed.contains("0x00") && failed.lines().count() == 1, "{format}: {failed}");
    }
    let failed = failure(Format::Native, gzip(NATIVE, 80 << 20));
    assert_eq!(failed, "t: byte 35: this line is too long (a line of at most 64 MiB)");
}

#[test]
fn a_history_that_does_not_fit_is_not_read() {
    let input = Input::text("t", &"w(1,1,0,1)\n".repeat(1_000));
    let asked = Arc::new(AtomicU64::new(0));
    let most = Arc::clone(&asked);
    let room = move |fits: bool| {
        let most = Arc::clone(&most);
        let room: isoscope_formats::Room = Arc::new(move |more| {
            most.fetch_max(more, Ordering::Relaxed);
            more == 0 || fits
        });
        ReadOptions { room: Some(room), ..ReadOptions::default() }
    };
    assert!(read(&input, &room(true)).is_ok());
    let failed = read(&input, &room(false)).err().unwrap();
    assert!(failed.no_room);
    assert_eq!(failed.to_string(), "t does not fit into the memory that may be used");
    assert_eq!(asked.load(Ordering::Relaxed), 13 * 1_000 + 29, "what the columns take");
    let never: isoscope_formats::Room = Arc::new(|_| false);
    let failed = read(&input, &ReadOptions { room: Some(never), ..ReadOptions::default() }).err().unwrap();
    assert!(failed.no_room);
    assert_eq!(reading(Format::Plume, "w(1,1,0,1)\n").history.txn_count(), 1);
}
