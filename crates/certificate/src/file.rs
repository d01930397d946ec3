//! A certificate as a file: one JSON document per level, which another process can check later.
//!
//! `docs/certificates.md` describes the format. The document identifies the history by its size and
//! fingerprint. It states the conditions under which the history was judged, the level, the verdict, and the
//! proof: a witness for *holds*, findings for *violated*. Transactions, operations and keys are numbers:
//! their positions in the history, counted from 0, session by session.
//!
//! Reading checks only the form. `isoscope-verify` checks the proof, and refuses numbers that the history
//! does not have.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read, Write};

use isoscope_history::{History, Limit};
use isoscope_levels::Level;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Finding, Judgement, Node, Verdict, Witness};

/// The version of the format.
const VERSION: u64 = 1;

/// The largest file that is read, in bytes.
const LARGEST: u64 = 1 << 30;

/// A verdict with its proof, and the history it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The size and fingerprint of the history.
    pub subject: Subject,
    /// The conditions under which the history was judged.
    pub conditions: Conditions,
    /// The level, the verdict and the proof. The verdict is not *unknown*.
    pub judgement: Judgement,
}

/// The size and fingerprint of a history after [`Conditions::apply`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// The number of sessions.
    pub sessions: usize,
    /// The number of transactions.
    pub transactions: usize,
    /// The number of operations.
    pub operations: usize,
    /// [`History::fingerprint`].
    #[serde(with = "hexadecimal")]
    pub fingerprint: u64,
}

impl Subject {
    /// The size and fingerprint of a history.
    pub fn of(history: &History) -> Subject {
        Subject {
            sessions: history.session_count(),
            transactions: history.txn_count(),
            operations: history.op_count(),
            fingerprint: history.fingerprint(),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Subject { sessions, transactions, operations, fingerprint } = self;
        let figures = format!("{sessions} sessions, {transactions} transactions, {operations} operations");
        write!(f, "{figures}, fingerprint {fingerprint:016x}")
    }
}

/// The conditions under which a history is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// When transactions of unknown outcome take effect.
    pub unknown: UnknownOrder,
    /// Whether the database's timestamps define the real-time order of strict levels.
    pub trust_timestamps: bool,
}

/// When a transaction of unknown outcome takes effect, if it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownOrder {
    /// Before the next transaction of its session.
    #[default]
    InOrder,
    /// At any time after its invocation: its commit may still be in flight while its session continues.
    Late,
}

impl Conditions {
    /// The history that is judged: range reads become reads of single keys. With [`UnknownOrder::Late`], a
    /// transaction of unknown outcome is not ordered before later transactions of its session.
    pub fn apply<'h>(&self, history: &'h History) -> Result<Cow<'h, History>, Limit> {
        let history = match self.unknown {
            UnknownOrder::Late => {
                history.with_late_unknown().map_or(Cow::Borrowed(history), Cow::<'h, History>::Owned)
            }
            UnknownOrder::InOrder => Cow::Borrowed(history),
        };
        Ok(history.expand_ranges()?.map_or(history, Cow::Owned))
    }
}

impl Certificate {
    /// The certificate of a judgement. The conditions must already be applied to `history`. `None` if the
    /// verdict is *unknown*, which has no proof.
    pub fn new(history: &History, conditions: Conditions, judgement: Judgement) -> Option<Certificate> {
        let subject = Subject::of(history);
        let unknown = matches!(judgement.verdict, Verdict::Unknown(_));
        (!unknown).then_some(Certificate { subject, conditions, judgement })
    }

    /// Writes the certificate as one line of JSON.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let Judgement { level, verdict, implied_by } = &self.judgement;
        let (verdict, witness, findings) = match verdict {
            Verdict::Holds(witness) => (Word::Holds, Some(Cow::Borrowed(witness)), None),
            Verdict::Violated(findings) => (Word::Violated, None, Some(Cow::Borrowed(findings.as_slice()))),
            Verdict::Unknown(_) => {
                return Err(io::Error::other("an unknown verdict has no certificate"));
            }
        };
        let document = Document {
            isoscope: Cow::Borrowed(KIND),
            version: VERSION,
            history: self.subject,
            conditions: self.conditions,
            level: *level,
            implied_by: *implied_by,
            verdict,
            witness,
            findings,
        };
        serde_json::to_writer(&mut out, &document)?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// Reads a certificate.
    pub fn read(input: impl Read) -> Result<Certificate, CertificateError> {
        let mut text = Vec::new();
        input.take(LARGEST + 1).read_to_end(&mut text).map_err(CertificateError::Io)?;
        if text.len() as u64 > LARGEST {
            return Err(CertificateError::TooLarge);
        }
        let head: Head = serde_json::from_slice(&text).map_err(CertificateError::malformed)?;
        if head.isoscope.as_deref() != Some(KIND) {
            return Err(CertificateError::NoCertificate);
        }
        if head.version != Some(VERSION) {
            return Err(CertificateError::Version(head.version));
        }
        let document: Document<'_> = serde_json::from_slice(&text).map_err(CertificateError::malformed)?;
        let verdict = match (document.verdict, document.witness, document.findings) {
            (Word::Holds, Some(witness), None) => Verdict::Holds(witness.into_owned()),
            (Word::Violated, None, Some(findings)) => Verdict::Violated(findings.into_owned()),
            (word, ..) => return Err(CertificateError::Proof(word)),
        };
        let Document { history: subject, conditions, level, implied_by, .. } = document;
        let judgement = Judgement { level, verdict, implied_by };
        Ok(Certificate { subject, conditions, judgement })
    }

    /// Checks that the certificate is about this history. The conditions must already be applied to
    /// `history`.
    pub fn check_subject(&self, history: &History) -> Result<(), CertificateError> {
        let found = Subject::of(history);
        if found == self.subject {
            return Ok(());
        }
        Err(CertificateError::Foreign { expected: self.subject, found })
    }
}

/// The reason why a certificate is refused before its proof is checked.
#[derive(Debug)]
#[non_exhaustive]
pub enum CertificateError {
    /// The file cannot be read.
    Io(io::Error),
    /// It is larger than a gibibyte.
    TooLarge,
    /// It is JSON of another kind.
    NoCertificate,
    /// This program does not support its version.
    Version(Option<u64>),
    /// It is not JSON, is truncated, or does not have the fields of a certificate.
    Malformed {
        /// The line, from 1.
        line: usize,
        /// The column, from 1; 0 if the file is empty.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// The proof does not match the verdict: *holds* needs a witness and no findings, *violated* the reverse.
    Proof(Word),
    /// It is about another history.
    Foreign {
        /// The history that the certificate is about.
        expected: Subject,
        /// The history that was given.
        found: Subject,
    },
}

impl CertificateError {
    #[allow(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
    fn malformed(error: serde_json::Error) -> CertificateError {
        let text = error.to_string();
        // `line` and `column` carry the position.
        let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message).to_owned();
        CertificateError::Malformed { line: error.line(), column: error.column(), message }
    }
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CertificateError::Io(error) => write!(f, "cannot read the certificate: {error}"),
            CertificateError::TooLarge => write!(f, "the certificate is larger than {LARGEST} bytes"),
            CertificateError::NoCertificate => {
                write!(f, "this is no certificate: the field `isoscope` is not \"{KIND}\"")
            }
            CertificateError::Version(Some(version)) => {
                write!(f, "the certificate has version {version}; this program reads version {VERSION}")
            }
            CertificateError::Version(None) => write!(f, "the certificate has no version"),
            CertificateError::Malformed { line, column, message } => {
                write!(f, "malformed certificate at {line}:{column}: {message}")
            }
            CertificateError::Proof(Word::Holds) => {
                write!(f, "a certificate of `holds` needs a witness and no findings")
            }
            CertificateError::Proof(Word::Violated) => {
                write!(f, "a certificate of `violated` needs findings and no witness")
            }
            CertificateError::Foreign { expected, found } => {
                write!(f, "the certificate is about another history: {expected}; this one has {found}")
            }
        }
    }
}

impl std::error::Error for CertificateError {}

/// The value of the field `isoscope`.
const KIND: &str = "certificate";

/// The verdicts that have a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// The level holds.
    Holds,
    /// It is violated.
    Violated,
}

/// The fields that determine how to read the others.
#[derive(Deserialize)]
struct Head {
    isoscope: Option<String>,
    version: Option<u64>,
}

/// The fields of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<'a> {
    isoscope: Cow<'a, str>,
    version: u64,
    history: Subject,
    conditions: Conditions,
    level: Level,
    #[serde(skip_serializing_if = "Option::is_none")]
    implied_by: Option<Level>,
    verdict: Word,
    #[serde(skip_serializing_if = "Option::is_none")]
    witness: Option<Cow<'a, Witness>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<Cow<'a, [Finding]>>,
}

/// The initial state is `"initial"`; a transaction is its number.
impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Node::Initial => serializer.serialize_str("initial"),
            Node::Txn(txn) => txn.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Spelled {
            Txn(isoscope_history::Txn),
            Word(String),
        }
        match Spelled::deserialize(deserializer)? {
            Spelled::Txn(txn) => Ok(Node::Txn(txn)),
            Spelled::Word(word) if word == "initial" => Ok(Node::Initial),
            Spelled::Word(word) => {
                let expected = &"a transaction's number or \"initial\"";
                Err(de::Error::invalid_value(de::Unexpected::Str(&word), expected))
            }
        }
    }
}

/// A 64-bit number as a string: many JSON readers lose precision beyond 53 bits.
mod hexadecimal {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
    pub(super) fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{number:016x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = u64::from_str_radix(&text, 16).ok().filter(|_| text.len() == 16);
        number.ok_or_else(|| de::Error::custom("expected 16 hexadecimal digits"))
    }
}
