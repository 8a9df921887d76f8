//! Validation of a preset before anything is written to a cluster.

use std::path::Path;

use kueue_lab_presets::{self as presets, BaseConfiguration, Finding, StartError};

/// Rejects a preset with errors.
pub(crate) fn validate_preset(
    folder: &Path,
    name: &str,
    base: &BaseConfiguration,
) -> Result<(), StartError> {
    let source = presets::read(folder, name)?;
    let findings = presets::check_preset(&source, base, None, &[]).findings;
    let errors: Vec<_> = findings.into_iter().filter(Finding::is_error).collect();
    match errors.is_empty() {
        true => Ok(()),
        false => Err(StartError::Invalid(errors)),
    }
}
