//! [`AdmissionHandler`]: admission of Kueue's kinds and of jobs, independent of the transport.

use arc_swap::ArcSwapOption;
use serde_json::Value;
use std::sync::Arc;

use super::kueue_kinds;
use kueue_lab_api::config::FeatureGates;
use kueue_lab_api::v1beta2::GROUP;
use kueue_lab_apimachinery::admission_request::AdmissionRequest;
use kueue_lab_controller::JobWebhooks;
use kueue_lab_controller::jobs::webhooks::{Denial, Warnings};

/// The reason that a request is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// Denied.
    #[error("{0}")]
    Denied(#[from] Denial),
    /// The object cannot be decoded.
    #[error("{0}")]
    BadRequest(String),
    /// Jobs cannot be admitted before the informers of the controller are synced.
    #[error("the controller is not ready yet")]
    NotReady,
}

/// Admission of Kueue's kinds and of jobs.
pub struct AdmissionHandler {
    gates: FeatureGates,
    jobs: ArcSwapOption<JobWebhooks>,
}

impl AdmissionHandler {
    /// A handler of Kueue's kinds; jobs are handled after [`AdmissionHandler::set_job_webhooks`].
    pub fn new(gates: FeatureGates) -> Self {
        Self {
            gates,
            jobs: ArcSwapOption::empty(),
        }
    }

    /// Sets the webhooks of jobs.
    pub fn set_job_webhooks(&self, webhooks: &JobWebhooks) {
        self.jobs.store(Some(Arc::new(webhooks.clone())));
    }

    /// Whether jobs are handled.
    pub fn is_ready(&self) -> bool {
        self.jobs.load().is_some()
    }

    /// Mutates an object.
    ///
    /// # Errors
    /// The request is denied, or jobs are not handled yet.
    pub async fn mutate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
    ) -> Result<(), WebhookError> {
        if request.kind_group == GROUP {
            return kueue_kinds::mutate(request, object, &self.gates);
        }
        let jobs = self.jobs.load_full().ok_or(WebhookError::NotReady)?;
        Ok(jobs.mutate(request, object).await?)
    }

    /// Validates an object.
    ///
    /// # Errors
    /// The request is denied, or jobs are not handled yet.
    pub async fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &Value,
    ) -> Result<Warnings, WebhookError> {
        if request.kind_group == GROUP {
            kueue_kinds::validate(request, object, &self.gates)?;
            return Ok(Warnings::new());
        }
        let jobs = self.jobs.load_full().ok_or(WebhookError::NotReady)?;
        Ok(jobs.validate(request, object).await?)
    }
}
