//! Conversion webhooks of custom resources, called with `ConversionReview`.
//!
//! Conversion runs in synchronous code, so webhooks are called from a separate thread and the
//! caller blocks until the response arrives.

use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::registry::object_reader::ObjectReader;
use crate::service_client::client_manager::{ClientManager, WebhookCallError};
use crate::service_client::webhook_target::WebhookTarget;
use kueue_lab_apimachinery::schema::go_format::go_type;
use kueue_lab_json::ValueExt;

/// The timeout of a call, in seconds.
const TIMEOUT: u64 = 30;

/// One call of a conversion webhook.
struct ConversionCall {
    target: WebhookTarget,
    review: Value,
    response: SyncSender<Result<Value, WebhookCallError>>,
}

/// A conversion that a webhook has not done, in the wording of the API server. `webhook` names it by what it
/// converts.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WebhookConversionError {
    /// The call fails.
    #[error("{webhook} failed: {source}")]
    Call {
        /// The webhook.
        webhook: String,
        /// Why.
        source: Box<CallError>,
    },
    /// The response is not valid, or a failure.
    #[error("{webhook} failed: {reason}")]
    Response {
        /// The webhook.
        webhook: String,
        /// Why.
        reason: String,
    },
    /// The response has another number of objects.
    #[error("{webhook} returned {got} objects, expected {expected}")]
    Count {
        /// The webhook.
        webhook: String,
        /// Their number.
        got: usize,
        /// The expected number.
        expected: usize,
    },
    /// An object is not the converted one.
    #[error("{webhook} returned invalid converted object at index {index}: {reason}")]
    Object {
        /// The webhook.
        webhook: String,
        /// The index of the object.
        index: usize,
        /// Why.
        reason: String,
    },
    /// The metadata of an object is not valid.
    #[error("{webhook} returned invalid metadata in object at index {index}: {reason}")]
    Metadata {
        /// The webhook.
        webhook: String,
        /// The index of the object.
        index: usize,
        /// Why.
        reason: String,
    },
}

/// A failed call of a conversion webhook.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The webhook does not answer.
    #[error(transparent)]
    Webhook(#[from] WebhookCallError),
    /// There is no thread to call it.
    #[error("the thread that calls webhooks has ended")]
    ThreadEnded,
}

/// Sends conversion calls to the webhook thread.
#[derive(Default)]
pub(crate) struct WebhookConverter {
    calls: OnceLock<UnboundedSender<ConversionCall>>,
}

impl WebhookConverter {
    /// Converts objects to the apiVersion `to` in one ConversionReview. `webhook` is that of a
    /// CustomResourceDefinition, `kind` names what is converted in errors: the kind of an object or
    /// of a list. Objects of that apiVersion are not sent.
    ///
    /// # Errors
    /// The conversion fails.
    pub(crate) fn convert(
        &self,
        reader: &dyn ObjectReader,
        webhook: &Value,
        kind: &str,
        objects: &mut [Value],
        to: &str,
        uid: &str,
    ) -> Result<(), WebhookConversionError> {
        let mut objects_to_convert: Vec<&mut Value> = objects
            .iter_mut()
            .filter(|o| o.text("/apiVersion") != to)
            .collect();
        let Some(first) = objects_to_convert.first() else {
            return Ok(());
        };
        let name = format!(
            "conversion webhook for {}, Kind={kind}",
            first.text("/apiVersion")
        );
        let config = webhook.at("/clientConfig");
        let version = review_version(webhook);
        let review = json!({
            "apiVersion": format!("apiextensions.k8s.io/{version}"), "kind": "ConversionReview",
            "request": {"uid": uid, "desiredAPIVersion": to, "objects": objects_to_convert},
        });
        let response = self
            .call(WebhookTarget::of(config, reader), review)
            .map_err(|source| WebhookConversionError::Call {
                webhook: name.clone(),
                source: Box::new(source),
            })?;
        let converted = converted_objects(&response, version, uid).map_err(|reason| {
            let webhook = name.clone();
            WebhookConversionError::Response { webhook, reason }
        })?;
        if converted.len() != objects_to_convert.len() {
            let (got, expected) = (converted.len(), objects_to_convert.len());
            return Err(WebhookConversionError::Count {
                webhook: name,
                got,
                expected,
            });
        }
        let converted = objects_to_convert.iter_mut().zip(converted).enumerate();
        for (index, (object, converted)) in converted {
            let invalid = |reason| WebhookConversionError::Object {
                webhook: name.clone(),
                index,
                reason,
            };
            check_group_version_kind(object, converted, to).map_err(invalid)?;
            check_identity(object, converted).map_err(invalid)?;
            let restored = restore_object_meta(object, converted.clone());
            **object = restored.map_err(|reason| WebhookConversionError::Metadata {
                webhook: name.clone(),
                index,
                reason,
            })?;
        }
        Ok(())
    }

    fn call(&self, target: WebhookTarget, review: Value) -> Result<Value, CallError> {
        let (sender, receiver) = sync_channel(1);
        let call = ConversionCall {
            target,
            review,
            response: sender,
        };
        let calls = self.calls.get_or_init(start);
        calls.send(call).map_err(|_| CallError::ThreadEnded)?;
        // The thread enforces the call timeout; the longer timeout detects a failed thread.
        let timeout = Duration::from_secs(TIMEOUT + 5);
        let wait = || match receiver.recv_timeout(timeout) {
            Ok(response) => Ok(response?),
            Err(_) => Err(CallError::ThreadEnded),
        };
        kueue_lab_blocking::wait(wait)
    }
}

/// Starts the webhook thread.
fn start() -> UnboundedSender<ConversionCall> {
    let (send, receive) = unbounded_channel();
    let thread = std::thread::Builder::new().name("conversion-webhooks".into());
    // Without the thread every call fails with an error.
    if let Err(error) = thread.spawn(move || serve(receive)) {
        tracing::error!(%error, "conversion webhooks cannot be called");
    }
    send
}

fn serve(mut calls: UnboundedReceiver<ConversionCall>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        let clients = std::sync::Arc::new(ClientManager::default());
        while let Some(call) = calls.recv().await {
            let clients = clients.clone();
            tokio::spawn(async move {
                let ConversionCall {
                    target,
                    review,
                    response,
                } = call;
                // The caller may have timed out; a failed send is ignored.
                let _ = response.send(clients.call(&target, &review, TIMEOUT).await);
            });
        }
    });
}

/// The first supported version of ConversionReviews of a webhook.
fn review_version(webhook: &Value) -> &'static str {
    let mut versions = webhook.list("/conversionReviewVersions").iter();
    versions
        .find_map(|v| ["v1", "v1beta1"].into_iter().find(|known| v == known))
        .unwrap_or("v1")
}

/// The converted objects of a ConversionReview response.
fn converted_objects<'r>(
    review: &'r Value,
    version: &str,
    uid: &str,
) -> Result<&'r [Value], String> {
    let response = review.at("/response");
    let expected = format!("apiextensions.k8s.io/{version}");
    let given = (review.text("/apiVersion"), review.text("/kind"));
    if version == "v1" && given != (expected.as_str(), "ConversionReview") {
        return Err(format!(
            "expected webhook response of {expected}, Kind=ConversionReview, got {}, Kind={}",
            given.0, given.1
        ));
    }
    if !response.is_object() {
        return Err("no response provided".into());
    }
    if version == "v1" && response.text("/uid") != uid {
        let got = response.text("/uid");
        return Err(format!("expected response.uid={uid:?}, got {got:?}"));
    }
    let status = response.text("/result/status");
    if status != "Success" {
        return Err(match response.text("/result/message") {
            "" => format!("response.result.status was '{status}', not 'Success'"),
            message => message.to_owned(),
        });
    }
    Ok(response.list("/convertedObjects"))
}

fn check_group_version_kind(original: &Value, converted: &Value, to: &str) -> Result<(), String> {
    let got = converted.text("/apiVersion");
    if got != to {
        return Err(format!(
            "invalid groupVersion (expected {to}, received {got})"
        ));
    }
    let (expected, got) = (original.text("/kind"), converted.text("/kind"));
    if expected != got {
        return Err(format!(
            "invalid kind (expected {expected}, received {got})"
        ));
    }
    Ok(())
}

/// Checks the metadata that identifies an object.
fn check_identity(original: &Value, converted: &Value) -> Result<(), String> {
    for (name, field) in [
        ("name", "/metadata/name"),
        ("namespace", "/metadata/namespace"),
        ("UID", "/metadata/uid"),
    ] {
        let (before, after) = (original.text(field), converted.text(field));
        if before != after {
            return Err(format!("must have the same {name}: {before} != {after}"));
        }
    }
    Ok(())
}

/// Restores the metadata of the original object: only labels and annotations may change.
fn restore_object_meta(original: &Value, mut converted: Value) -> Result<Value, String> {
    if converted.get("metadata").is_none() {
        return Err("missing metadata in converted object".into());
    }
    let mut metadata = original["metadata"].clone();
    for field in ["labels", "annotations"] {
        match converted["metadata"].get(field).filter(|v| !v.is_null()) {
            Some(Value::Object(changed)) => {
                if let Some((key, value)) = changed.iter().find(|(_, v)| !v.is_string()) {
                    let got = go_type(value);
                    return Err(format!(
                        "metadata.{field}[{key}] must be a string, but is {got} in converted object"
                    ));
                }
                metadata[field] = Value::Object(changed.clone());
            }
            Some(other) => {
                let got = go_type(other);
                return Err(format!(
                    "invalid metadata.{field} of type {got} in converted object"
                ));
            }
            None => {
                metadata.as_object_mut().map(|m| m.remove(field));
            }
        }
    }
    if !metadata.is_null() {
        converted["metadata"] = metadata;
    }
    Ok(converted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn review(response: Value) -> Value {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "response": response})
    }

    #[test]
    fn responses_must_be_of_the_same_object() {
        let original = json!({"apiVersion": "g/v1", "kind": "K", "metadata": {
            "name": "a", "uid": "u", "generation": 3, "labels": {"x": "1"},
        }});
        let answer = |change: Value| {
            let mut object = original.clone();
            object["apiVersion"] = "g/v2".into();
            json_patch::merge(&mut object, &change);
            check_group_version_kind(&original, &object, "g/v2")
                .and_then(|()| check_identity(&original, &object))
                .and_then(|()| restore_object_meta(&original, object))
        };
        let kept = answer(json!({"metadata": {"generation": 9, "labels": {"x": "2"}}})).unwrap();
        assert_eq!(kept["metadata"]["generation"], 3);
        assert_eq!(kept["metadata"]["labels"], json!({"x": "2"}));
        for (change, error) in [
            (
                json!({"metadata": {"name": "b"}}),
                "must have the same name: a != b",
            ),
            (
                json!({"apiVersion": "g/v3"}),
                "invalid groupVersion (expected g/v2, received g/v3)",
            ),
            (
                json!({"kind": "L"}),
                "invalid kind (expected K, received L)",
            ),
            (
                json!({"metadata": {"labels": {"x": 1}}}),
                "metadata.labels[x] must be a string, but is int64 in converted object",
            ),
        ] {
            assert_eq!(answer(change), Err(error.into()));
        }
    }

    #[test]
    fn a_failure_keeps_its_message() {
        let failed = review(json!({
            "uid": "1", "result": {"status": "Failure", "message": "no such version"},
        }));
        let error = |uid: &str| converted_objects(&failed, "v1", uid).unwrap_err();
        assert_eq!(error("1"), "no such version");
        assert_eq!(error("2"), "expected response.uid=\"2\", got \"1\"");
        let silent = review(json!({"uid": "1", "result": {}}));
        assert_eq!(
            converted_objects(&silent, "v1", "1").unwrap_err(),
            "response.result.status was '', not 'Success'"
        );
    }
}
