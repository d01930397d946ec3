//! Certificates from files, confirmed against a history.

use std::fmt;

use isoscope_certificate::{Certificate, CertificateError};
use isoscope_history::{History, Limit};
use isoscope_verify::{Refutation, Verifier};

/// Confirms that a certificate proves its verdict about a history, as it was read.
pub fn verify_certificate(history: &History, certificate: &Certificate) -> Result<(), VerifyError> {
    let conditions = certificate.conditions;
    let history = conditions.apply(history).map_err(VerifyError::TooLarge)?;
    certificate.check_subject(&history).map_err(VerifyError::Certificate)?;
    let verifier = Verifier::new(&history);
    let verifier = if conditions.trust_timestamps { verifier.trusting_timestamps() } else { verifier };
    verifier.verify(&certificate.judgement).map_err(VerifyError::Refuted)
}

/// Why a certificate is not confirmed.
#[derive(Debug)]
#[non_exhaustive]
pub enum VerifyError {
    /// The certificate is about another history.
    Certificate(CertificateError),
    /// The history has too many range reads under the certificate's conditions.
    TooLarge(Limit),
    /// The certificate does not prove its verdict.
    Refuted(Refutation),
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VerifyError::Certificate(error) => error.fmt(f),
            VerifyError::TooLarge(limit) => {
                write!(f, "the history has more than {} {}", limit.most, limit.what)
            }
            VerifyError::Refuted(why) => write!(f, "the proof does not stand: {why}"),
        }
    }
}

impl std::error::Error for VerifyError {}
