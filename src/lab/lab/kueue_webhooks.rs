//! Kueue's defaulting, validation and conversion as plugins of the embedded API server.

use std::error::Error;

use async_trait::async_trait;
use serde_json::Value;

use super::kueue_manager::CurrentGates;
use kueue_lab_api::convert::convert;
use kueue_lab_api::v1beta2::GROUP;
use kueue_lab_api::{crds, validation};
use kueue_lab_cluster::plugins::StatusReason;
use kueue_lab_cluster::plugins::{
    AdmissionPlugin, AdmissionRequest, AdmissionWarnings, ApiError, CustomResourceConverter,
};
use kueue_lab_webhooks::{WebhookError, kueue_kinds};

/// Conversion between the versions of Kueue's kinds.
pub(super) struct KueueConversion;

impl CustomResourceConverter for KueueConversion {
    fn handles(&self, group: &str, kind: &str) -> bool {
        crds::by_kind(group, kind).is_some()
    }

    fn convert(&self, object: &mut Value, to: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
        let (_, version) = to.rsplit_once('/').unwrap_or(("", to));
        convert(object, version)?;
        Ok(())
    }
}

/// Defaulting and validation of Kueue's kinds.
pub(super) struct KueueWebhooks {
    gates: CurrentGates,
}

impl KueueWebhooks {
    pub(super) fn new(gates: CurrentGates) -> Self {
        Self { gates }
    }
}

fn refused(kind: &str, error: &WebhookError) -> ApiError {
    match error {
        WebhookError::Denied(reason) => {
            let webhook = validation::webhook_name(kind).unwrap_or("kueue");
            let message = format!("admission webhook {webhook:?} denied the request: {reason}");
            ApiError::new(403, StatusReason::Forbidden, message)
        }
        error => ApiError::bad_request(error.to_string()),
    }
}

#[async_trait]
impl AdmissionPlugin for KueueWebhooks {
    fn handles(&self, group: &str, resource: &str, subresource: &str) -> bool {
        // Of status updates only those of Workloads are validated, as upstream registers its
        // webhooks.
        group == GROUP
            && (subresource.is_empty() || (subresource == "status" && resource == "workloads"))
    }

    async fn mutate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
    ) -> Result<AdmissionWarnings, ApiError> {
        if request.subresource.is_empty() {
            kueue_kinds::mutate(request, object, &self.gates.get())
                .map_err(|error| refused(request.kind, &error))?;
        }
        Ok(AdmissionWarnings::default())
    }

    async fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &Value,
    ) -> Result<AdmissionWarnings, ApiError> {
        kueue_kinds::validate(request, object, &self.gates.get())
            .map_err(|error| refused(request.kind, &error))?;
        Ok(AdmissionWarnings::default())
    }
}
