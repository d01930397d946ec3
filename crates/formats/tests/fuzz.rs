//! Fuzz targets, one per reader, and their corpus.
//!
//! The corpus is `tests/seeds`, one directory per format. A target takes a seed, changes some of its bytes,
//! cuts it, or takes arbitrary bytes. For every input, the reader returns a history or errors and never
//! panics. If the format has a writer, the history can be written in the same format and read again.
//!
//! `cargo test` runs the corpus and random inputs for one second per target. `cargo bolero test -p
//! isoscope-formats --test fuzz edn` runs without a limit.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod support;

use std::path::Path;

use isoscope_formats::{Format, Target, write};

fn seeds(format: Format) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/seeds").join(format.name());
    let mut files: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

fn check(format: Format, bytes: &[u8]) {
    let reading = match support::try_reading(format, bytes) {
        Ok(reading) => reading,
        Err(failure) => return assert!(!failure.problems.is_empty()),
    };
    let content = support::content(&reading.history);
    let mut out = Vec::new();
    if format.is_directory() || write(&reading.history, format, Target::Stream(&mut out)).is_err() {
        return;
    }
    let again = support::reading(format, &out).history;
    if format == Format::Native {
        assert_eq!(support::content(&again), content);
    }
    assert!(again.txn_count() <= reading.history.txn_count());
}

/// Changed bytes, a cut, and bytes inserted before it.
type Damage = (u8, Vec<(u16, u8)>, u16, Vec<u8>);

fn damaged(seeds: &[Vec<u8>], (seed, changes, cut, extra): &Damage) -> Vec<u8> {
    let mut bytes = seeds[usize::from(*seed) % seeds.len()].clone();
    for &(at, byte) in changes.iter().take(4) {
        let at = usize::from(at) % bytes.len();
        bytes[at] = byte;
    }
    if cut % 3 == 0 {
        bytes.truncate(usize::from(*cut) % (bytes.len() + 1));
        bytes.extend_from_slice(extra);
    }
    bytes
}

fn fuzz(format: Format) {
    let seeds = seeds(format);
    bolero::check!().with_type::<Damage>().for_each(|damage| {
        check(format, &damaged(&seeds, damage));
        check(format, &damage.3);
    });
}

macro_rules! targets {
    ($($name:ident: $format:expr),+ $(,)?) => {
        $(#[test]
        fn $name() {
            fuzz($format);
        })+

        /// Every seed is a valid input of its format, and every format has one.
        #[test]
        fn the_corpus_is_read_and_damage_does_not_panic() {
            let formats = [$($format),+];
            assert_eq!(formats.len(), Format::ALL.len());
            for format in formats {
                for seed in seeds(format) {
                    assert!(support::reading(format, &seed).history.op_count() > 0, "{format}");
                    check(format, &seed);
                    support::survives_damage(format, &seed);
                }
            }
        }
    };
}

targets! {
    edn: Format::Edn,
    elle_json: Format::ElleJson,
    plume: Format::Plume,
    dbcop_bincode: Format::DbcopBincode,
    dbcop_json: Format::DbcopJson,
    dbcop_hist: Format::DbcopHist,
    cobra: Format::Cobra,
    viper: Format::Viper,
    awdit: Format::Awdit,
    isopredict: Format::IsoPredict,
    native: Format::Native,
    notation: Format::Notation,
}
