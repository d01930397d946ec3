//! `isoscope verify`: confirm certificates that `check --certificates` wrote.

use std::fs::File;
use std::path::Path;

use isoscope::{Certificate, CertificateError, History, Word, verify_certificate};
use isoscope_explain::visible;

use crate::args::VerifyArgs;
use crate::commands::open;
use crate::exit::Exit;
use crate::terminal::{ERROR, GOOD, Terminal, styled};

pub(crate) fn run(args: &VerifyArgs, terminal: &Terminal) -> Exit {
    let Ok(reading) = open::open(&args.history, false, &args.read, None, terminal) else {
        return Exit::Failed;
    };
    let exits = args.certificates.iter().map(|file| verify(&reading.history, file, terminal));
    let exit = exits.fold(Exit::Holds, Exit::and);
    if terminal.lost_output() { exit.and(Exit::Failed) } else { exit }
}

fn verify(history: &History, file: &Path, terminal: &Terminal) -> Exit {
    let name = visible(&file.display().to_string());
    let certificate = File::open(file).map_err(CertificateError::Io).and_then(Certificate::read);
    let (exit, text) = match certificate {
        Err(CertificateError::Io(error)) => {
            terminal.error(&format!("cannot read {name}: {error}"));
            return Exit::Failed;
        }
        Err(error) => (Exit::Violated, refused(&error)),
        Ok(certificate) => match verify_certificate(history, &certificate) {
            Err(error) => (Exit::Violated, refused(&error)),
            Ok(()) => {
                let judgement = &certificate.judgement;
                let says = match Word::from(&judgement.verdict) {
                    Word::Violated => "is violated".to_owned(),
                    word => word.to_string(),
                };
                let text = format!("{}: {} {says}", styled(GOOD, "confirmed"), judgement.level);
                (Exit::Holds, text)
            }
        },
    };
    terminal.print(&format!("{name}: {text}\n"));
    exit
}

fn refused(why: &dyn std::fmt::Display) -> String {
    format!("{}: {}", styled(ERROR, "refused"), visible(&why.to_string()))
}
