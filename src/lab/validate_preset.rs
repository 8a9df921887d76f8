//! Validation of a preset before anything is written to a cluster.

use std::path::Path;

use kueue_lab_api::config::FeatureGates;
use kueue_lab_presets::{self as presets, Finding, StartError};

/// Rejects a preset with errors.
pub(crate) fn validate_preset(
    folder: &Path,
    name: &str,
    gates: &FeatureGates,
) -> Result<(), StartError> {
    let source = presets::read(folder, name)?;
    let findings = presets::parse(&source.files, gates).findings;
    let errors: Vec<_> = findings.into_iter().filter(Finding::is_error).collect();
    match errors.is_empty() {
        true => Ok(()),
        false => Err(StartError::Invalid(errors)),
    }
}
