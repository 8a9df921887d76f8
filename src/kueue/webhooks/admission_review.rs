//! `AdmissionReview`: decodes the request and encodes the response.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::webhook_definitions::AdmissionPhase;
use super::{AdmissionHandler, WebhookError};
use kueue_lab_apimachinery::admission_request::{AdmissionRequest, Operation};

/// Handles a review.
///
/// # Errors
/// The review is malformed, or jobs are not handled yet.
pub(super) async fn handle(
    policy: &AdmissionHandler,
    review: &mut Value,
    phase: AdmissionPhase,
) -> Result<Value, ReviewError> {
    let mut request_json = review["request"].take();
    let Some(uid) = request_json["uid"].as_str().map(str::to_owned) else {
        return Err(ReviewError::Malformed);
    };
    let object = request_json["object"].take();
    let old = Some(request_json["oldObject"].take()).filter(|old| !old.is_null());
    let text = |at: &str| {
        request_json
            .pointer(at)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let request = AdmissionRequest {
        group: text("/resource/group"),
        version: text("/resource/version"),
        kind_group: text("/kind/group"),
        kind_version: text("/kind/version"),
        kind: text("/kind/kind"),
        resource: text("/resource/resource"),
        subresource: text("/subResource"),
        namespace: text("/namespace"),
        name: text("/name"),
        operation: match text("/operation") {
            "CREATE" => Operation::Create,
            "UPDATE" => Operation::Update,
            "DELETE" => Operation::Delete,
            // Other operations are not registered.
            _ => return Ok(allowed(&uid)),
        },
        old_object: old.as_ref(),
        dry_run: request_json["dryRun"] == true,
        user: text("/userInfo/username"),
        user_id: text("/userInfo/uid"),
    };
    let mut response = allowed(&uid);
    let error = match phase {
        AdmissionPhase::Mutate => {
            let mut changed = object.clone();
            let mutated = policy.mutate(&request, &mut changed).await;
            if mutated.is_ok() {
                let patch = json_patch::diff(&object, &changed);
                if !patch.is_empty() {
                    let patch = serde_json::to_vec(&patch).map_err(|_| ReviewError::Malformed)?;
                    response["response"]["patchType"] = "JSONPatch".into();
                    response["response"]["patch"] = STANDARD.encode(patch).into();
                }
            }
            mutated.err()
        }
        AdmissionPhase::Validate => match policy.validate(&request, &object).await {
            Ok(warnings) => {
                if !warnings.is_empty() {
                    response["response"]["warnings"] = json!(warnings);
                }
                None
            }
            Err(error) => Some(error),
        },
    };
    match error {
        None => Ok(response),
        Some(WebhookError::NotReady) => Err(ReviewError::NotReady),
        Some(WebhookError::Denied(reason)) => {
            Ok(denied(&uid, 403, "Forbidden", &reason.to_string()))
        }
        Some(WebhookError::BadRequest(reason)) => Ok(denied(&uid, 400, "BadRequest", &reason)),
    }
}

/// The error of a request without an AdmissionReview response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReviewError {
    #[error("not an AdmissionReview with a request")]
    Malformed,
    #[error("the controller is not ready yet")]
    NotReady,
}

fn wrap(response: Value) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response,
    })
}

fn allowed(uid: &str) -> Value {
    wrap(json!({"uid": uid, "allowed": true}))
}

fn denied(uid: &str, code: u16, reason: &str, message: &str) -> Value {
    wrap(json!({
        "uid": uid, "allowed": false,
        "status": {"code": code, "reason": reason, "message": message},
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kueue_lab_api::config::FeatureGates;

    async fn ask(
        phase: AdmissionPhase,
        kind: &Value,
        object: &Value,
    ) -> Result<Value, ReviewError> {
        let request = json!({
            "uid": "u1", "kind": kind, "operation": "CREATE", "object": object,
        });
        let policy = AdmissionHandler::new(FeatureGates::default());
        let mut review = json!({"request": request});
        let answer = handle(&policy, &mut review, phase).await;
        answer.map(|mut answer| answer["response"].take())
    }

    fn queue() -> (Value, Value) {
        let kind = json!({"group": "kueue.x-k8s.io", "version": "v1beta2", "kind": "ClusterQueue"});
        let object = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue",
            "metadata": {"name": "q"}, "spec": {},
        });
        (kind, object)
    }

    #[tokio::test]
    async fn mutation_is_returned_as_a_json_patch() {
        let (kind, object) = queue();
        let response = ask(AdmissionPhase::Mutate, &kind, &object).await.unwrap();
        assert_eq!(response["allowed"], true);
        let patch = STANDARD
            .decode(response["patch"].as_str().unwrap())
            .unwrap();
        let patch: json_patch::Patch = serde_json::from_slice(&patch).unwrap();
        let mut patched = object;
        json_patch::patch(&mut patched, &patch).unwrap();
        let finalizers = json!(["kueue.x-k8s.io/resource-in-use"]);
        assert_eq!(patched["metadata"]["finalizers"], finalizers);
    }

    #[tokio::test]
    async fn invalid_object_is_denied_with_its_field() {
        let (kind, mut object) = queue();
        object["spec"] = json!({"resourceGroups": [{
            "coveredResources": ["cpu"],
            "flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": "-1"}]}],
        }]});
        let response = ask(AdmissionPhase::Validate, &kind, &object).await.unwrap();
        assert_eq!(response["allowed"], false);
        assert_eq!(response["status"]["code"], 403);
        let message = response["status"]["message"].as_str().unwrap();
        assert!(message.contains("nominalQuota"), "{message}");
    }

    #[tokio::test]
    async fn jobs_are_not_ready_before_informers_sync() {
        let kind = json!({"group": "batch", "version": "v1", "kind": "Job"});
        let answer = ask(AdmissionPhase::Mutate, &kind, &json!({})).await;
        assert_eq!(answer, Err(ReviewError::NotReady));
    }
}
