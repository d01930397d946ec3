//! The list of formats.

use std::fmt;

/// A history format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Jepsen and Elle: EDN operation maps.
    Edn,
    /// elle-cli: the same maps as JSON or JSON Lines.
    ElleJson,
    /// Plume and `PolySI`: `r(key,value,session,txn)` lines.
    Plume,
    /// dbcop of 2019: `history.bincode`.
    DbcopBincode,
    /// dbcop of 2026: JSON.
    DbcopJson,
    /// dbcop's text language.
    DbcopHist,
    /// Cobra: a directory of binary logs.
    Cobra,
    /// Viper: a directory of JSON logs.
    Viper,
    /// AWDIT's test format.
    Awdit,
    /// `IsoPredict`'s traces.
    IsoPredict,
    /// isoscope's native JSON Lines.
    Native,
    /// isoscope's one-line notation.
    Notation,
}

impl Format {
    /// All formats, in the order they are documented.
    pub const ALL: [Format; 12] = [
        Format::Edn,
        Format::ElleJson,
        Format::Plume,
        Format::DbcopBincode,
        Format::DbcopJson,
        Format::DbcopHist,
        Format::Cobra,
        Format::Viper,
        Format::Awdit,
        Format::IsoPredict,
        Format::Native,
        Format::Notation,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Edn => "edn",
            Format::ElleJson => "elle-json",
            Format::Plume => "plume",
            Format::DbcopBincode => "dbcop-bincode",
            Format::DbcopJson => "dbcop-json",
            Format::DbcopHist => "hist",
            Format::Cobra => "cobra",
            Format::Viper => "viper",
            Format::Awdit => "awdit",
            Format::IsoPredict => "isopredict",
            Format::Native => "native",
            Format::Notation => "notation",
        }
    }

    /// A one-line description.
    pub const fn about(self) -> &'static str {
        match self {
            Format::Edn => "Jepsen and Elle histories: EDN operation maps",
            Format::ElleJson => "elle-cli histories: operation maps as JSON or JSON Lines",
            Format::Plume => "Plume, PolySI and IsoVista text: r(key,value,session,txn)",
            Format::DbcopBincode => "dbcop (2019) history.bincode",
            Format::DbcopJson => "dbcop (2026) JSON",
            Format::DbcopHist => "dbcop .hist text: [x:=1 y==2]",
            Format::Cobra => "Cobra: a directory of T*.log files",
            Format::Viper => "Viper: a directory of J*.log files",
            Format::Awdit => "AWDIT's test format: r 0 1 / ----- / =====",
            Format::IsoPredict => "IsoPredict traces: READ KEY[x] Txn(1, 0) From(0, 0)",
            Format::Native => "isoscope's native JSON Lines, which keep everything the model has",
            Format::Notation => "isoscope's one-line notation: T1: w(x,1)  T2: r(x,1)",
        }
    }

    /// Whether the format can be written.
    pub const fn is_writable(self) -> bool {
        !matches!(self, Format::Viper | Format::Awdit | Format::IsoPredict)
    }

    /// Whether the format is written as a directory of files.
    pub const fn is_directory(self) -> bool {
        matches!(self, Format::Cobra)
    }

    /// Finds a format by name.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
