//! Validation of a preset before anything is written to a cluster.

use std::path::Path;

use kube::Client;
use kueue_lab_presets::{self as presets, BaseConfiguration, ExistingObjects, Finding, StartError};

use crate::LabError;
use crate::preflight::PreflightError;

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

/// Rejects a preset with an object that the cluster has from another client with other fields.
pub(crate) async fn check_existing_objects(
    client: &Client,
    folder: &Path,
    name: &str,
    base: &BaseConfiguration,
) -> Result<(), LabError> {
    let source = presets::read(folder, name).map_err(StartError::from)?;
    let manifests = presets::check_preset(&source, base, None, &[]).manifests;
    let existing = ExistingObjects::list(client).await;
    let existing = existing.map_err(PreflightError::existing_objects)?;
    let conflicts = existing.conflicts(&manifests);
    match conflicts.is_empty() {
        true => Ok(()),
        false => Err(PreflightError::ExistingObjects { conflicts }.into()),
    }
}
