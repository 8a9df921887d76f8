//! Validation of a preset before anything is written to a cluster.

use std::path::Path;

use kube::Client;
use kueue_lab_presets::{self as presets, BaseConfiguration, ExistingObjects, Finding, StartError};

use crate::LabError;
use crate::preflight::PreflightError;

/// Rejects a preset with errors, if it `must_be_valid`, and one with an object that the cluster has from another client
/// with other fields. The objects of other clients are `existing`, or are listed.
pub(crate) async fn validate_preset(
    client: &Client,
    existing: Option<ExistingObjects>,
    folder: &Path,
    name: &str,
    base: &BaseConfiguration,
    must_be_valid: bool,
) -> Result<(), LabError> {
    let source = presets::read(folder, name).map_err(StartError::from)?;
    let checked = presets::check_preset(&source, base, None, &[]);
    let errors = checked.findings.into_iter().filter(Finding::is_error);
    let errors: Vec<_> = errors.filter(|_| must_be_valid).collect();
    if !errors.is_empty() {
        return Err(StartError::Invalid(errors).into());
    }
    let existing = match existing {
        Some(existing) => existing,
        None => {
            let listed = ExistingObjects::list(client).await;
            listed.map_err(PreflightError::existing_objects)?
        }
    };
    let conflicts = existing.conflicts(&checked.manifests);
    match conflicts.is_empty() {
        true => Ok(()),
        false => Err(PreflightError::ExistingObjects { conflicts }.into()),
    }
}
