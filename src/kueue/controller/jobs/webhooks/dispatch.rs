//! Dispatch of a request to the webhook of its kind.

use serde_json::Value;

use super::response::{Denial, Warnings};
use crate::ControllerContext;
use crate::jobs::ancestor_job::AncestorFinder;
use crate::jobs::integration_callbacks::integration_of_kind;
use crate::jobs::integration_context::IntegrationContext;
use kueue_lab_api::config::FRAMEWORKS;
use kueue_lab_apimachinery::admission_request::{AdmissionRequest, Operation};

/// The mutating and validating webhooks of jobs.
#[derive(Clone)]
pub struct JobWebhooks {
    env: IntegrationContext,
}

impl JobWebhooks {
    /// Webhooks that share the informers of the controller.
    pub(crate) fn new(shared: &ControllerContext, owners: &AncestorFinder) -> Self {
        Self {
            env: IntegrationContext::new(shared, owners, "webhook"),
        }
    }

    /// Whether a webhook is registered for a resource.
    pub fn handles(&self, group: &str, resource: &str, subresource: &str) -> bool {
        subresource.is_empty()
            && FRAMEWORKS.iter().any(|framework| {
                (framework.group, framework.resource) == (group, resource)
                    && self.env.integrations.is_enabled(framework.name)
            })
    }

    /// Whether an integration is enabled, by its framework name.
    pub fn is_integration_enabled(&self, framework: &str) -> bool {
        self.env.integrations.is_enabled(framework)
    }

    /// Defaults a job.
    ///
    /// # Errors
    /// The object cannot be decoded, or its owners cannot be read.
    pub async fn mutate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
    ) -> Result<(), Denial> {
        let integration = integration_of_kind(request.kind_group, request.kind);
        match integration.filter(|_| is_write(request)) {
            Some(integration) => (integration.default)(&self.env, request, object).await,
            None => Ok(()),
        }
    }

    /// Validates a job.
    ///
    /// # Errors
    /// The object is denied.
    pub async fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &Value,
    ) -> Result<Warnings, Denial> {
        let integration = integration_of_kind(request.kind_group, request.kind);
        let Some(integration) = integration.filter(|_| is_write(request)) else {
            return Ok(Warnings::new());
        };
        let old = request
            .old_object
            .filter(|_| request.operation == Operation::Update);
        let (errors, warnings) =
            (integration.validate)(&self.env, request.namespace, object, old).await?;
        match errors.is_empty() {
            true => Ok(warnings),
            false => Err(errors.into()),
        }
    }
}

/// Whether the request creates or updates an object.
fn is_write(request: &AdmissionRequest<'_>) -> bool {
    matches!(request.operation, Operation::Create | Operation::Update)
}
