//! Durations as Go's `time.ParseDuration` reads them and `Duration.String` writes them: `5m0s`,
//! `1h30m`, `300ms`. Kubernetes uses them in configuration, CronJob schedules, OpenAPI formats and
//! messages. Ages as `kubectl get` prints them.
//!
//! Must not depend on other crates of the lab.

mod duration;
mod human_duration;
mod parse;
mod parse_duration_error;

pub use duration::Duration;
pub use human_duration::human_duration;
pub use parse_duration_error::ParseDurationError;

#[cfg(test)]
mod tests;
