//! The engines and the verifier against a brute-force reference that transcribes the definitions.

mod axioms;
mod certificates;
mod compare;
mod draw;
mod exhaustive;
mod explanations;
mod formulations;
mod plan;
mod random;
