//! The sources of the definitions. The tables cite papers; each paper is written out once, here.

use std::fmt;

/// A paper and the place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Citation {
    /// Authors, title, where it appeared and when.
    pub paper: &'static str,
    /// The section, definition or theorem; may be empty.
    pub place: &'static str,
}

impl Citation {
    /// A place in a paper.
    pub(crate) const fn new(paper: &'static str, place: &'static str) -> Citation {
        Citation { paper, place }
    }
}

impl fmt::Display for Citation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.paper)?;
        if self.place.is_empty() { Ok(()) } else { write!(f, ": {}", self.place) }
    }
}

pub(crate) const ADYA: &str = "Adya, Weak Consistency: A Generalized Theory and Optimistic Implementations \
    for Distributed Transactions, PhD thesis, MIT 1999";
pub(crate) const ADYA_LISKOV_ONEIL: &str =
    "Adya, Liskov and O'Neil, Generalized Isolation Level Definitions, ICDE 2000";
pub(crate) const BAILIS_HAT: &str =
    "Bailis et al., Highly Available Transactions: Virtues and Limitations, PVLDB 7(3) 2013";
pub(crate) const BAILIS_RAMP: &str =
    "Bailis et al., Scalable Atomic Visibility with RAMP Transactions, SIGMOD 2014";
pub(crate) const BERENSON: &str = "Berenson et al., A Critique of ANSI SQL Isolation Levels, SIGMOD 1995";
pub(crate) const BISWAS_ENEA: &str =
    "Biswas and Enea, On the Complexity of Checking Transactional Consistency, OOPSLA 2019";
pub(crate) const CERONE_BERNARDI_GOTSMAN: &str = "Cerone, Bernardi and Gotsman, A Framework for \
    Transactional Consistency Models with Atomic Visibility, CONCUR 2015";
pub(crate) const CERONE_GOTSMAN: &str = "Cerone and Gotsman, Analysing Snapshot Isolation, JACM 2018";
pub(crate) const CROOKS: &str =
    "Crooks et al., Seeing is Believing: A Client-Centric Specification of Database Isolation, PODC 2017";
pub(crate) const DAUDJEE_SALEM: &str =
    "Daudjee and Salem, Lazy Database Replication with Snapshot Isolation, VLDB 2006";
pub(crate) const DAUDJEE_SALEM_ORDER: &str =
    "Daudjee and Salem, Lazy Database Replication with Ordering Guarantees, ICDE 2004";
pub(crate) const ELLE: &str = "Kingsbury and Alvaro, Elle: Inferring Isolation Anomalies from Experimental Observations, PVLDB 14(3) 2020";
pub(crate) const ELLE_MODELS: &str =
    "Elle, the table of consistency models of its source code (elle.consistency-model)";
pub(crate) const FEKETE: &str = "Fekete et al., Making Snapshot Isolation Serializable, TODS 2005";
pub(crate) const HANSDAH_PATNAIK: &str = "Hansdah and Patnaik, Update Serializability in Locking, ICDT 1986";
pub(crate) const PAPADIMITRIOU: &str =
    "Papadimitriou, The Serializability of Concurrent Database Updates, JACM 1979";
pub(crate) const PLUME: &str =
    "Liu et al., Plume: Efficient and Complete Black-Box Checking of Weak Isolation Levels, OOPSLA 2024";
pub(crate) const TERRY: &str =
    "Terry et al., Session Guarantees for Weakly Consistent Replicated Data, PDIS 1994";
pub(crate) const WALTER: &str = "Sovran et al., Transactional Storage for Geo-Replicated Systems, SOSP 2011";
