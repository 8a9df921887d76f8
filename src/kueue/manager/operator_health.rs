//! The health checks and metrics that an instance serves.

use std::sync::Arc;

use tokio::sync::watch;

use super::health::{self, HealthError};
use super::instance::InstanceRole;
use super::operator::OperatorError;
use kueue_lab_controller::Controller;
use kueue_lab_metrics::{self as metrics, Metrics};
use kueue_lab_webhooks::AdmissionHandler;

/// The state that the health checks report.
pub(super) struct OperatorHealth {
    pub(super) role: watch::Receiver<InstanceRole>,
    pub(super) failed: watch::Receiver<Option<Arc<OperatorError>>>,
    pub(super) policy: Option<Arc<AdmissionHandler>>,
    pub(super) metrics: Option<Metrics>,
    pub(super) endpoints: health::HealthEndpoints,
}

impl health::HealthChecker for OperatorHealth {
    fn live(&self) -> Result<(), HealthError> {
        match &*self.failed.borrow() {
            Some(error) => Err(HealthError::Failed(error.clone())),
            None => Ok(()),
        }
    }

    fn ready(&self) -> Result<(), HealthError> {
        self.live()?;
        match &self.policy {
            Some(policy) if !policy.is_ready() => Err(HealthError::NotSynced),
            _ => Ok(()),
        }
    }

    fn endpoints(&self) -> &health::HealthEndpoints {
        &self.endpoints
    }

    fn metrics(&self) -> (&'static str, String) {
        let controller = match &*self.role.borrow() {
            InstanceRole::Leader(controller) => Some(Controller::clone(controller)),
            _ => None,
        };
        let shared = controller.as_ref().map(Controller::shared);
        let text = self.metrics.as_ref().map(|metrics| metrics.text(shared));
        (metrics::CONTENT_TYPE, text.unwrap_or_default())
    }
}
