//! [`AdmissionHandler`]: what is answered to a write, whoever asks.

use arc_swap::ArcSwapOption;
use serde_json::Value;
use std::sync::Arc;

use super::kueue_kinds;
use kueue_lab_api::config::FeatureGates;
use kueue_lab_api::v1beta2::GROUP;
use kueue_lab_controller::JobWebhooks;
use kueue_lab_controller::job_webhooks::{Denial, Warnings, WebhookRequest};

/// Why a write does not go through.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// It is refused.
    #[error("{0}")]
    Denied(#[from] Denial),
    /// The object cannot be read.
    #[error("{0}")]
    BadRequest(String),
    /// Jobs cannot be judged yet: the controller does not know the cluster so far.
    #[error("the controller is not ready yet")]
    NotReady,
}

/// What is answered to a write of Kueue's own kinds and of jobs.
pub struct AdmissionHandler {
    gates: FeatureGates,
    jobs: ArcSwapOption<JobWebhooks>,
}

impl AdmissionHandler {
    /// A policy that judges Kueue's own kinds; jobs from [`AdmissionHandler::set_jobs`] on.
    pub fn new(gates: FeatureGates) -> Self {
        Self {
            gates,
            jobs: ArcSwapOption::empty(),
        }
    }

    /// Lets a controller judge jobs from now on.
    pub fn set_job_webhooks(&self, webhooks: &JobWebhooks) {
        self.jobs.store(Some(Arc::new(webhooks.clone())));
    }

    /// Whether jobs can be judged.
    pub fn is_ready(&self) -> bool {
        self.jobs.load().is_some()
    }

    /// Changes an object on its way in.
    ///
    /// # Errors
    /// It is refused, or cannot be judged.
    pub async fn mutate(
        &self,
        request: &WebhookRequest<'_>,
        object: &mut Value,
    ) -> Result<(), WebhookError> {
        if request.group == GROUP {
            return kueue_kinds::mutate(object, request.operation, &self.gates);
        }
        let jobs = self.jobs.load_full().ok_or(WebhookError::NotReady)?;
        Ok(jobs.mutate(request, object).await?)
    }

    /// Looks at an object that is to be stored.
    ///
    /// # Errors
    /// It is refused, or cannot be judged.
    pub async fn validate(
        &self,
        request: &WebhookRequest<'_>,
        object: &Value,
    ) -> Result<Warnings, WebhookError> {
        if request.group == GROUP {
            kueue_kinds::validate(object, request.old, request.operation, &self.gates)?;
            return Ok(Warnings::new());
        }
        let jobs = self.jobs.load_full().ok_or(WebhookError::NotReady)?;
        Ok(jobs.validate(request, object).await?)
    }
}
