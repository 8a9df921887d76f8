//! The one source of randomness: UIDs, generated name suffixes, jitter.
//!
//! Seeded in tests and replays so that a run repeats exactly; from the operating system otherwise.
//! Secrets (tokens, keys) never come from here. Depends on no other crate of the workspace.

mod entropy;

pub use entropy::Entropy;
