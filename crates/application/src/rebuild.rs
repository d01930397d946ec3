//! Applications by name and parameters, as a log has them.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Application, Bank, BankSpec, SmallBank, SmallBankSpec, SpecError, Tpcc, TpccSpec, Voter, VoterSpec,
    Wikipedia, WikipediaSpec,
};

/// The names of all applications.
pub const fn names() -> [&'static str; 5] {
    ["bank", "smallbank", "voter", "tpcc", "wikipedia"]
}

/// The application with this name and these parameters ([`Application::parameters`]). Without parameters it has its defaults.
///
/// # Errors
///
/// The name is not one of [`names`], or the parameters are invalid.
pub fn rebuild(name: &str, parameters: Option<&Value>) -> Result<Arc<dyn Application>, SpecError> {
    match name {
        "bank" => build(parameters, |spec: BankSpec| Bank::new(spec)),
        "smallbank" => build(parameters, |spec: SmallBankSpec| SmallBank::new(spec)),
        "voter" => build(parameters, |spec: VoterSpec| Voter::new(spec)),
        "tpcc" => build(parameters, |spec: TpccSpec| Tpcc::new(spec)),
        "wikipedia" => build(parameters, |spec: WikipediaSpec| Wikipedia::new(spec)),
        _ => Err(SpecError(format!(
            "`{name}` is not an application of isoscope; these are {}",
            names().join(", ")
        ))),
    }
}

fn build<S: DeserializeOwned + Default, A: Application + 'static>(
    parameters: Option<&Value>,
    new: impl Fn(S) -> Result<A, SpecError>,
) -> Result<Arc<dyn Application>, SpecError> {
    let spec = match parameters {
        None => S::default(),
        Some(parameters) => S::deserialize(parameters)
            .map_err(|error| SpecError(format!("invalid parameters of the application: {error}")))?,
    };
    Ok(Arc::new(new(spec)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic fails the test")]
mod tests {
    use super::*;

    #[test]
    fn parameters_make_the_same_application() {
        for name in names() {
            let application = rebuild(name, None).unwrap();
            assert_eq!(application.name(), name);
            let again = rebuild(name, Some(&application.parameters())).unwrap();
            assert_eq!(again.parameters(), application.parameters());
        }
        let paper = Voter::new(VoterSpec::paper()).unwrap();
        let again = rebuild("voter", Some(&paper.parameters())).unwrap();
        assert_eq!(again.parameters()["votes"], 1);
    }

    #[test]
    fn other_names_and_parameters_are_refused() {
        let error = rebuild("bnak", None).err().unwrap().to_string();
        assert_eq!(
            error,
            "`bnak` is not an application of isoscope; these are bank, smallbank, voter, tpcc, wikipedia"
        );
        let error = rebuild("bank", Some(&serde_json::json!({ "accounts": 4 }))).err().unwrap().to_string();
        assert!(error.starts_with("invalid parameters of the application: missing field"), "{error}");
    }
}
