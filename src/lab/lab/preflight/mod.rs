//! Preflight checks of an existing cluster before anything is written to it: no other Kueue admits
//! there, and the user has the required permissions. Read-only.

mod error;
mod permissions;
mod run;
mod upstream;
mod webhooks;

pub use error::PreflightError;
pub use run::preflight;
pub use upstream::{UpstreamKueue, find as find_upstream};
