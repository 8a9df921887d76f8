//! The controller's job webhooks as an admission plugin of the embedded API server.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::kueue_manager::CurrentController;
use kueue_lab_cluster::plugins::StatusReason;
use kueue_lab_cluster::plugins::{AdmissionPlugin, AdmissionRequest, AdmissionWarnings, ApiError};
use kueue_lab_controller::JobWebhooks;
use kueue_lab_controller::jobs::webhooks::{self, Denial};

/// Defaulting and validation of jobs.
pub struct JobWebhooksPlugin(Box<dyn Fn() -> Arc<JobWebhooks> + Send + Sync>);

impl JobWebhooksPlugin {
    /// The plugin for the webhooks of a controller.
    pub fn new(webhooks: &JobWebhooks) -> Self {
        let webhooks = Arc::new(webhooks.clone());
        Self(Box::new(move || webhooks.clone()))
    }

    /// The plugin for the webhooks of the current controller.
    pub(super) fn of_current(controller: &CurrentController) -> Self {
        let controller = controller.clone();
        Self(Box::new(move || controller.webhooks()))
    }
}

fn refused(request: &AdmissionRequest<'_>, mutating: bool, refusal: &Denial) -> ApiError {
    let webhook = webhooks::webhook_name(request.kind, mutating);
    let message = format!("admission webhook {webhook:?} denied the request: {refusal}");
    ApiError::new(403, StatusReason::Forbidden, message)
}

#[async_trait]
impl AdmissionPlugin for JobWebhooksPlugin {
    fn handles(&self, group: &str, resource: &str, subresource: &str) -> bool {
        (self.0)().handles(group, resource, subresource)
    }

    async fn mutate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
    ) -> Result<AdmissionWarnings, ApiError> {
        let mutated = (self.0)().mutate(request, object).await;
        mutated.map_err(|refusal| refused(request, true, &refusal))?;
        Ok(AdmissionWarnings::default())
    }

    async fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &Value,
    ) -> Result<AdmissionWarnings, ApiError> {
        let validated = (self.0)().validate(request, object).await;
        let warnings = validated.map_err(|refusal| refused(request, false, &refusal))?;
        Ok(AdmissionWarnings { warnings })
    }
}
