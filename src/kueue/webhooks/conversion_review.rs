//! `ConversionReview`: converts objects to the desired API version.

use serde_json::{Value, json};

use kueue_lab_api::convert::convert;

/// A review without a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a ConversionReview with a request")]
pub(super) struct MalformedReview;

/// Handles a review.
///
/// # Errors
/// It has no request.
pub(super) fn handle(review: &Value) -> Result<Value, MalformedReview> {
    let request = &review["request"];
    let (Some(uid), Some(desired), Some(objects)) = (
        request["uid"].as_str(),
        request["desiredAPIVersion"].as_str(),
        request["objects"].as_array(),
    ) else {
        return Err(MalformedReview);
    };
    let version = desired.rsplit_once('/').map_or(desired, |(_, v)| v);
    let converted: Result<Vec<Value>, String> = objects
        .iter()
        .map(|object| {
            let mut object = object.clone();
            convert(&mut object, version).map_err(|e| format!("{}: {e}", name(&object)))?;
            Ok(object)
        })
        .collect();
    let response = match converted {
        Ok(objects) => json!({
            "uid": uid, "convertedObjects": objects, "result": {"status": "Success"},
        }),
        Err(reason) => json!({
            "uid": uid, "convertedObjects": [], "result": {"status": "Failure", "message": reason},
        }),
    };
    Ok(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response,
    }))
}

fn name(object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    match text("namespace") {
        "" => text("name").to_owned(),
        namespace => format!("{namespace}/{}", text("name")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn review(objects: &Value, to: &str) -> Value {
        let request = json!({"uid": "u1", "desiredAPIVersion": to, "objects": objects});
        handle(&json!({"kind": "ConversionReview", "request": request})).unwrap()["response"].take()
    }

    #[test]
    fn objects_are_converted_to_the_desired_version() {
        let queue = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue",
            "metadata": {"name": "q"}, "spec": {"cohort": "all"},
        });
        let response = review(&json!([queue]), "kueue.x-k8s.io/v1beta2");
        assert_eq!(response["result"]["status"], "Success");
        assert_eq!(response["uid"], "u1");
        let converted = &response["convertedObjects"][0];
        assert_eq!(converted["apiVersion"], "kueue.x-k8s.io/v1beta2");
        assert_eq!(converted["spec"]["cohortName"], "all");
    }

    #[test]
    fn failed_conversion_fails_the_review_and_names_the_object() {
        let other = json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "n"},
        });
        let response = review(&json!([other]), "kueue.x-k8s.io/v1beta2");
        assert_eq!(response["result"]["status"], "Failure");
        let message = response["result"]["message"].as_str().unwrap();
        assert!(message.starts_with("n/j: "), "{message}");
        assert!(handle(&json!({})).is_err());
    }
}
