//! `isoscope verify`: verifies certificates written by `check --certificates`.

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
    if let Err(CertificateError::Io(error)) = &certificate {
        terminal.error(&format!("cannot read {name}: {error}"));
        return Exit::Failed;
    }
    let confirmed = certificate.map_err(|error| error.to_string()).and_then(|it| confirm(history, &it));
    let (exit, text) = match confirmed {
        Ok(what) => (Exit::Holds, format!("{}: {what}", styled(GOOD, "confirmed"))),
        Err(why) => (Exit::Violated, format!("{}: {}", styled(ERROR, "refused"), visible(&why))),
    };
    terminal.print(&format!("{name}: {text}\n"));
    exit
}

/// What a certificate proves, or why the verifier refuses it.
fn confirm(history: &History, certificate: &Certificate) -> Result<String, String> {
    verify_certificate(history, certificate).map_err(|error| error.to_string())?;
    let level = certificate.judgement.level;
    Ok(match Word::from(&certificate.judgement.verdict) {
        Word::Violated => format!("{level} is violated"),
        word => format!("{level} {word}"),
    })
}
