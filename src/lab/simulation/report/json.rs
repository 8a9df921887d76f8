//! The report as JSON.

use serde::Serialize;

use super::NOT_MODELLED;
use crate::replay::ReplayOutcome;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    trace: &'a str,
    skipped_jobs: usize,
    not_modelled: &'a [&'a str],
    configurations: &'a [ReplayOutcome],
}

/// The report as JSON.
///
/// # Errors
/// The report cannot be encoded.
pub fn json(
    trace: &str,
    skipped: usize,
    outcomes: &[ReplayOutcome],
) -> Result<String, serde_json::Error> {
    let report = Report {
        trace,
        skipped_jobs: skipped,
        not_modelled: &NOT_MODELLED,
        configurations: outcomes,
    };
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}
