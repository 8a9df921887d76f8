//! The webhooks of job operators as an admission plugin of the embedded API server.

use async_trait::async_trait;
use serde_json::Value;

use kueue_lab_cluster::plugins::{
    AdmissionPlugin, AdmissionRequest, AdmissionWarnings, ApiError, Operation,
};
use kueue_lab_operators::webhooks;

/// Defaulting of the kinds of job operators.
pub(super) struct OperatorWebhooks;

#[async_trait]
impl AdmissionPlugin for OperatorWebhooks {
    fn handles(&self, group: &str, resource: &str, subresource: &str) -> bool {
        subresource.is_empty() && webhooks::handles(group, resource)
    }

    async fn mutate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
    ) -> Result<AdmissionWarnings, ApiError> {
        if request.operation != Operation::Delete {
            let is_create = request.operation == Operation::Create;
            let creator = is_create.then_some((request.user, request.user_id));
            webhooks::set_defaults(request.resource, object, creator);
        }
        Ok(AdmissionWarnings::default())
    }
}
