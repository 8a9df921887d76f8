//! The controller's webhooks of jobs, plugged into the embedded API server where a real cluster would
//! call them.

use async_trait::async_trait;
use serde_json::Value;

use kueue_lab_cluster::plugs::{Admission, AdmissionRequest, Admitted, ApiError, Operation};
use kueue_lab_controller::Webhooks;
use kueue_lab_controller::webhook::{self, Refusal};

/// Defaulting and validation of jobs.
pub struct JobPolicy(Webhooks);

impl JobPolicy {
    /// The policy of a controller.
    pub fn new(webhooks: &Webhooks) -> Self {
        Self(webhooks.clone())
    }
}

/// What happens, in the words of the webhooks.
pub(super) fn operation(operation: Operation) -> webhook::Operation {
    match operation {
        Operation::Create => webhook::Operation::Create,
        Operation::Update => webhook::Operation::Update,
        Operation::Delete => webhook::Operation::Delete,
    }
}

fn translate<'a>(request: &AdmissionRequest<'a>) -> webhook::Request<'a> {
    webhook::Request {
        kind: request.kind,
        group: request.group,
        namespace: request.namespace,
        operation: operation(request.operation),
        old: request.old,
    }
}

fn refused(request: &AdmissionRequest<'_>, mutating: bool, refusal: &Refusal) -> ApiError {
    let webhook = Webhooks::name(request.group, request.kind, mutating);
    let message = format!("admission webhook {webhook:?} denied the request: {refusal}");
    ApiError::new(403, "Forbidden", message)
}

#[async_trait]
impl Admission for JobPolicy {
    fn handles(&self, group: &str, resource: &str, subresource: &str) -> bool {
        self.0.handles(group, resource, subresource)
    }

    async fn mutate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
    ) -> Result<Admitted, ApiError> {
        let mutated = self.0.mutate(&translate(request), object).await;
        mutated.map_err(|refusal| refused(request, true, &refusal))?;
        Ok(Admitted::default())
    }

    async fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &Value,
    ) -> Result<Admitted, ApiError> {
        let validated = self.0.validate(&translate(request), object).await;
        let warnings = validated.map_err(|refusal| refused(request, false, &refusal))?;
        Ok(Admitted { warnings })
    }
}
