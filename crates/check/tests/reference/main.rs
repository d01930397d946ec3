//! The engines and the verifier against a brute-force reference that transcribes the definitions.

mod axioms;
mod certificates;
mod compare;
mod exhaustive;
mod formulations;
mod pl1;
mod plan;
mod random;
