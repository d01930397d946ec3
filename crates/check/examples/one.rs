//! scratch
#![allow(clippy::all, clippy::pedantic, clippy::print_stdout, clippy::unwrap_used)]
use isoscope_check::*;
use isoscope_formats::*;
use isoscope_levels::Level;
fn main() {
    for path in std::env::args().skip(1) {
        let reading = match read(&Input::from_arg(path.as_ref()), &ReadOptions::default()) {
            Ok(r) => r,
            Err(e) => {
                println!("{path} {e}");
                continue;
            }
        };
        let mut c = Checker::new(&reading.history, Options::default());
        print!("{path}");
        for l in [
            Level::CutIsolation,
            Level::AdyaPl1,
            Level::AdyaPl2,
            Level::ReadCommitted,
            Level::ReadAtomic,
            Level::Causal,
        ] {
            let j = c.check(l);
            let v = match &j.verdict {
                Verdict::Holds(_) => "holds".into(),
                Verdict::Violated(f) => format!(
                    "violated[{}]",
                    f.iter()
                        .map(|f| format!(
                            "{}{}={}/{}",
                            f.anomaly,
                            match f.against {
                                Some(Against::Causal) => "+",
                                Some(Against::Commit) => "-",
                                None => "",
                            },
                            f.count,
                            f.components
                        ))
                        .collect::<Vec<_>>()
                        .join(",")
                ),
                Verdict::Unknown(u) => format!("{u:?}"),
            };
            print!("\t{v}");
        }
        println!();
    }
}
