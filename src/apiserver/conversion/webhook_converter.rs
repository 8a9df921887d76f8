//! Conversion webhooks of custom resources, called with `ConversionReview`.
//!
//! Conversion runs in synchronous code, so webhooks are called from a separate thread and the
//! caller blocks until the response arrives.

use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::registry::object_reader::ObjectReader;
use crate::service_client::client_manager::ClientManager;
use crate::service_client::webhook_target::WebhookTarget;
use kueue_lab_json::ValueExt;

/// The timeout of a call, in seconds.
const TIMEOUT: u64 = 30;

/// One call of a conversion webhook.
struct ConversionCall {
    target: WebhookTarget,
    review: Value,
    response: SyncSender<Result<Value, String>>,
}

/// Sends conversion calls to the webhook thread.
#[derive(Default)]
pub(crate) struct WebhookConverter {
    calls: OnceLock<UnboundedSender<ConversionCall>>,
}

impl WebhookConverter {
    /// Converts `object` to the apiVersion `to` with the webhook of a `clientConfig`.
    ///
    /// # Errors
    /// The message of the failed conversion, in the wording of the API server.
    pub(crate) fn convert(
        &self,
        reader: &dyn ObjectReader,
        config: &Value,
        object: &mut Value,
        to: &str,
        uid: &str,
    ) -> Result<(), String> {
        let (from, kind) = (object.text("/apiVersion"), object.text("/kind"));
        let failed = format!("conversion webhook for {from}, Kind={kind} failed");
        let review = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "request": {"uid": uid, "desiredAPIVersion": to, "objects": [object]},
        });
        let answer = self.call(WebhookTarget::of(config, reader), review);
        let answer = answer.map_err(|why| {
            let why = why.strip_prefix("failed to call webhook: ").unwrap_or(&why);
            format!("{failed}: {why}")
        })?;
        let converted =
            converted_object(&answer, uid, to).map_err(|why| format!("{failed}: {why}"))?;
        *object =
            restore_object_meta(object, converted).map_err(|why| format!("{failed}: {why}"))?;
        Ok(())
    }

    fn call(&self, target: WebhookTarget, review: Value) -> Result<Value, String> {
        let (answer, answered) = sync_channel(1);
        let question = ConversionCall {
            target,
            review,
            response: answer,
        };
        let gone = || "the thread that calls webhooks has ended".to_owned();
        let questions = self.calls.get_or_init(start);
        questions.send(question).map_err(|_| gone())?;
        // The thread enforces the call timeout; the longer timeout detects a failed thread.
        let patience = Duration::from_secs(TIMEOUT + 5);
        let wait = || answered.recv_timeout(patience).map_err(|_| gone())?;
        match Handle::try_current().map(|handle| handle.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(wait),
            _ => wait(),
        }
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

fn serve(mut questions: UnboundedReceiver<ConversionCall>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        let callers = std::sync::Arc::new(ClientManager::default());
        while let Some(question) = questions.recv().await {
            let callers = callers.clone();
            tokio::spawn(async move {
                let ConversionCall {
                    target,
                    review,
                    response: answer,
                } = question;
                // The caller may have timed out; a failed send is ignored.
                let _ = answer.send(callers.call(&target, &review, TIMEOUT).await);
            });
        }
    });
}

/// The converted object of a ConversionReview response.
fn converted_object(review: &Value, uid: &str, to: &str) -> Result<Value, String> {
    let response = review.at("/response");
    if response.text("/uid") != uid {
        let got = response.text("/uid");
        return Err(format!("expected response.uid={uid:?}, got {got:?}"));
    }
    if response.text("/result/status") != "Success" {
        return Err(match response.text("/result/message") {
            "" => "response.result.status was not 'Success'".to_owned(),
            message => message.to_owned(),
        });
    }
    let [object] = response.list("/convertedObjects") else {
        let got = response.list("/convertedObjects").len();
        return Err(format!("webhook returned {got} objects, expected 1"));
    };
    if object.text("/apiVersion") != to {
        let got = object.text("/apiVersion");
        return Err(format!(
            "webhook returned object at index 0 with apiVersion {got:?}, expected {to:?}"
        ));
    }
    Ok(object.clone())
}

/// Restores the metadata of the original object: only labels and annotations may change.
fn restore_object_meta(original: &Value, mut converted: Value) -> Result<Value, String> {
    for field in [
        "/kind",
        "/metadata/name",
        "/metadata/namespace",
        "/metadata/uid",
    ] {
        if original.text(field) != converted.text(field) {
            let field = field.trim_start_matches('/').replace('/', ".");
            return Err(format!("must have the same {field}"));
        }
    }
    let mut metadata = original["metadata"].clone();
    for field in ["labels", "annotations"] {
        match converted["metadata"].get(field) {
            Some(changed) => metadata[field] = changed.clone(),
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

    #[test]
    fn responses_must_be_of_the_same_object() {
        let original = json!({"apiVersion": "g/v1", "kind": "K", "metadata": {
            "name": "a", "uid": "u", "generation": 3, "labels": {"x": "1"},
        }});
        let answer = |change: Value| {
            let mut object = original.clone();
            object["apiVersion"] = "g/v2".into();
            json_patch::merge(&mut object, &change);
            let review = json!({"response": {
                "uid": "1", "result": {"status": "Success"}, "convertedObjects": [object],
            }});
            converted_object(&review, "1", "g/v2")
                .and_then(|object| restore_object_meta(&original, object))
        };
        let kept = answer(json!({"metadata": {"generation": 9, "labels": {"x": "2"}}})).unwrap();
        assert_eq!(kept["metadata"]["generation"], 3);
        assert_eq!(kept["metadata"]["labels"], json!({"x": "2"}));
        let other = answer(json!({"metadata": {"name": "b"}})).unwrap_err();
        assert_eq!(other, "must have the same metadata.name");
        assert!(answer(json!({"apiVersion": "g/v3"})).is_err());
    }

    #[test]
    fn a_failure_keeps_its_message() {
        let review = json!({"response": {
            "uid": "1", "result": {"status": "Failure", "message": "no such version"},
        }});
        assert_eq!(
            converted_object(&review, "1", "g/v2").unwrap_err(),
            "no such version"
        );
        assert!(
            converted_object(&review, "2", "g/v2")
                .unwrap_err()
                .starts_with("expected response.uid")
        );
    }
}
