//! Calls one webhook and applies its failure policy.

use serde_json::Value;

use super::admission_review::{
    self, AdmissionResponse, AdmissionReviewBuilder, ReviewResponseError,
};
use crate::admission::matching::AdmissionAttributes;
use crate::service_client::client_manager::{ClientManager, WebhookCallError};
use crate::service_client::webhook_target::WebhookTarget;
use kueue_lab_apiextensions::cel::activation::Activation;
use kueue_lab_apiextensions::cel::authorizer::AuthorizationCheck;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::schema::Schema;
use kueue_lab_json::ValueExt;

/// A write with its objects converted to the version of the webhook's rule.
pub(crate) struct VersionedAttributes<'a> {
    /// The attributes of the write.
    pub subject: &'a AdmissionAttributes<'a>,
    /// The API version.
    pub version: &'a str,
    /// The object in that version; null for a delete.
    pub object: &'a Value,
    /// The old object in that version, or null.
    pub old: &'a Value,
    /// The schema of the version.
    pub schema: Option<&'a Schema>,
    /// Unique id of this call.
    pub uid: &'a str,
}

/// The response of a webhook that allowed the request.
#[derive(Debug, Default)]
pub(crate) struct WebhookResponse {
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// The JSON patch; empty if there is none.
    pub patch: Vec<u8>,
}

/// A failed call of a webhook.
#[derive(Debug, thiserror::Error)]
enum SendReviewError {
    #[error("failed to call webhook: {0}")]
    Call(#[from] WebhookCallError),
    #[error(transparent)]
    Response(#[from] ReviewResponseError),
}

impl VersionedAttributes<'_> {
    fn review_builder(&self) -> AdmissionReviewBuilder<'_> {
        AdmissionReviewBuilder {
            subject: self.subject,
            version: self.version,
            object: self.object,
            old: self.old,
            uid: self.uid,
        }
    }

    /// The CEL variables of match conditions and policies.
    pub(crate) fn activation(&self) -> Activation {
        let mut request = self.review_builder().admission_request();
        if let Some(fields) = request.as_object_mut() {
            fields.remove("object");
            fields.remove("oldObject");
        }
        let mut names = Activation::default();
        names.bind("object", self.schema, self.object);
        names.bind("oldObject", self.schema, self.old);
        names.bind("request", None, &request);
        let request = self.subject.request;
        let resource = AuthorizationCheck {
            group: request.group.into(),
            resource: request.resource.into(),
            subresource: request.subresource.into(),
            namespace: request.namespace.into(),
            name: request.name.into(),
            ..AuthorizationCheck::default()
        };
        names.bind_authorizer(self.subject.authorizer.clone(), resource);
        names
    }

    /// Calls the webhook if its match conditions are met.
    ///
    /// # Errors
    /// The webhook denied the request, or the call failed and its failure policy is `Fail`.
    pub(crate) async fn call_hook(
        &self,
        clients: &ClientManager,
        hook: &Value,
        mutating: bool,
    ) -> Result<WebhookResponse, ApiError> {
        let r = self.subject.request;
        let ignored = hook.text("/failurePolicy") == "Ignore";
        let conditions = hook.list("/matchConditions");
        if !conditions.is_empty() {
            match self
                .subject
                .match_conditions_met(conditions, &self.activation())
            {
                Ok(true) => {}
                Ok(false) => return Ok(WebhookResponse::default()),
                Err(_) if ignored => return Ok(WebhookResponse::default()),
                Err(reason) => {
                    return Err(ApiError::forbidden(
                        r.group,
                        r.resource,
                        r.name,
                        &reason.to_string(),
                    ));
                }
            }
        }
        let name = hook.text("/name");
        let has_no_side_effects = matches!(hook.text("/sideEffects"), "None" | "NoneOnDryRun");
        if r.dry_run && !has_no_side_effects {
            let reason = format!("admission webhook {name:?} does not support dry run");
            return Err(ApiError::bad_request(reason));
        }
        match self.send_review(clients, hook, mutating).await {
            Ok(AdmissionResponse {
                rejection: Some(rejection),
                ..
            }) => Err(rejection),
            Ok(AdmissionResponse {
                warnings, patch, ..
            }) => Ok(WebhookResponse { warnings, patch }),
            Err(reason) if ignored => {
                tracing::warn!("webhook {name} failed, and is ignored: {reason}");
                Ok(WebhookResponse::default())
            }
            Err(reason) => Err(ApiError::internal(format!(
                "Internal error occurred: failed calling webhook {name:?}: {reason}"
            ))),
        }
    }

    async fn send_review(
        &self,
        clients: &ClientManager,
        hook: &Value,
        mutating: bool,
    ) -> Result<AdmissionResponse, SendReviewError> {
        let version = admission_review::review_version(hook);
        let review = self.review_builder().admission_review(version);
        let timeout = u64::try_from(hook.int("/timeoutSeconds")).unwrap_or_default();
        let timeout = if timeout == 0 { 10 } else { timeout.min(30) };
        let target = WebhookTarget::of(hook.at("/clientConfig"), self.subject.reader);
        let response = clients.call(&target, &review, timeout).await?;
        let name = hook.text("/name");
        Ok(admission_review::verify_response(
            &response, version, self.uid, name, mutating,
        )?)
    }
}
