//! Audits a log file: `audit FILE [MODEL]`.

use std::io::BufReader;
use std::time::Instant;

use isoscope_audit::{Model, Options, Verdict, audit, verify};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: audit FILE [MODEL]")?;
    let log = isoscope_log::read(BufReader::new(std::fs::File::open(path)?))?;
    let model = match args.next() {
        Some(name) => Model::named(&name).ok_or("no such model")?,
        None => Model::of(&log.header)?,
    };
    let began = Instant::now();
    let audit = audit(&log, &Options::new(model), &())?;
    let seconds = began.elapsed().as_secs_f64();
    #[allow(clippy::print_stdout)]
    {
        println!("{model}: {:?}", audit.figures);
        println!("{} gaps {:?}", audit.gaps.len(), audit.gaps.first());
        println!("{seconds:.2} s, {:.0} transactions/s", audit.figures.transactions as f64 / seconds);
        match &audit.verdict {
            Verdict::Explained(explanation) => {
                println!("explained: {} points", explanation.places.len());
                println!("verified: {:?}", verify(&log, explanation));
            }
            other => println!("{other:#?}"),
        }
    }
    Ok(())
}
