//! Defaulting, validation and conversion of Kueue's own kinds in any served version.

use serde_json::Value;

use super::WebhookError;
use kueue_lab_api::config::FeatureGates;
use kueue_lab_api::convert::convert;
use kueue_lab_api::v1beta2::VERSION;
use kueue_lab_api::{validation, webhook_defaults};
use kueue_lab_apimachinery::admission_request::{AdmissionRequest, Operation};
use kueue_lab_controller::jobs::webhooks::Denial;

/// Converts an object to the storage version.
fn convert_to_hub(object: &Value) -> Result<Value, WebhookError> {
    let mut hub = object.clone();
    convert(&mut hub, VERSION).map_err(|e| WebhookError::BadRequest(e.to_string()))?;
    Ok(hub)
}

fn malformed(error: serde_json::Error) -> WebhookError {
    WebhookError::Denied(Denial::Other(error.to_string()))
}

/// Defaults an object, which keeps its API version.
///
/// # Errors
/// The object cannot be decoded.
pub fn mutate(
    request: &AdmissionRequest<'_>,
    object: &mut Value,
    gates: &FeatureGates,
) -> Result<(), WebhookError> {
    if request.operation != Operation::Create {
        return Ok(());
    }
    let mut hub = convert_to_hub(object)?;
    let before = hub.clone();
    webhook_defaults::create(&mut hub, gates);
    if hub == before {
        return Ok(());
    }
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let version = api_version
        .rsplit_once('/')
        .map_or("", |(_, v)| v)
        .to_owned();
    convert(&mut hub, &version).map_err(|e| WebhookError::BadRequest(e.to_string()))?;
    *object = hub;
    Ok(())
}

/// Validates a new or updated object.
///
/// # Errors
/// The object is denied, or cannot be decoded.
pub fn validate(
    request: &AdmissionRequest<'_>,
    object: &Value,
    gates: &FeatureGates,
) -> Result<(), WebhookError> {
    let errors = match (request.operation, request.old_object) {
        (Operation::Delete | Operation::Connect, _) => return Ok(()),
        (Operation::Update, Some(old)) => {
            let (new, old) = (convert_to_hub(object)?, convert_to_hub(old)?);
            validation::update(&new, &old, gates).map_err(malformed)?
        }
        _ => validation::create(&convert_to_hub(object)?, gates).map_err(malformed)?,
    };
    match errors.is_empty() {
        true => Ok(()),
        false => Err(WebhookError::Denied(errors.into())),
    }
}
