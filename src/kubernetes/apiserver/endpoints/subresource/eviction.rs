//! `pods/eviction`: a delete subject to PodDisruptionBudgets.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::admission_chain::{AdmissionChain, OperationOptions, SubresourceKind};
use super::super::delete::delete_named;
use super::super::pending_object::pending_object;
use super::super::request_body;
use super::super::request_context::RequestContext;
use super::super::response::ApiResponse;
use super::super::write_options::WriteOptions;
use super::dispatch::created_status;
use crate::endpoints::delete_options::DeleteOptions;
use crate::plugins::Operation;
use crate::registry::ServedResource;
use crate::storage::{CommitError, Object};
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::metadata_validation::labels::{is_empty_selector, selector_matches};
use kueue_lab_apimachinery::object_meta;
use kueue_lab_apimachinery::status_reason::StatusReason;
use kueue_lab_json::ValueExt;

const EVICTION_BLOCKED_MESSAGE: &str =
    "Cannot evict pod as it would violate the pod's disruption budget.";
/// The maximum size of `status.disruptedPods`.
const MAX_DISRUPTED_PODS: usize = 2000;

/// The kind of the objects of `pods/eviction`.
const EVICTION: SubresourceKind = SubresourceKind {
    group: "policy",
    version: "v1",
    kind: "Eviction",
};

/// A PodDisruptionBudget and its resource.
type StoredPdb = (Arc<ServedResource>, Arc<Object>);

/// Handles POST of an Eviction to a pod.
pub(super) async fn create_eviction(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let write = WriteOptions::from_request(call, "CreateOptions")?;
    let mut eviction =
        request_body::decode_as(call, "policy/v1", "Eviction", write.field_validation)?;
    object_meta::ensure_namespace(&mut eviction, call.namespace())?;
    let name = &call.path.name;
    let chain = AdmissionChain {
        context: call,
        operation: Operation::Create,
        name,
        subresource_kind: Some(EVICTION),
        old: None,
        options: OperationOptions::Write(&write),
    };
    chain.mutate(&mut eviction).await?;
    if object_meta::meta_str(&eviction, "name") != name {
        return Err(ApiError::bad_request(
            "name in URL does not match name in Eviction object",
        ));
    }
    let given = eviction.get("deleteOptions").cloned().unwrap_or_default();
    let mut options = DeleteOptions::from_value(&given)?;
    options.dry_run |= write.dry_run;
    let present = call.stored_object()?;
    chain.validate(&eviction).await?;
    let pod = call.transformer.decoded(&present)?;
    if !can_ignore_pdb(&pod)
        && let Some((served, budget)) = find_pdb(call, &pod)?
    {
        let status = &budget.value()["status"];
        let number = |field: &str| status[field].as_i64().unwrap_or(0);
        let wanted = number("desiredHealthy");
        if !pod.is_condition_true("Ready") && wanted > 0 && number("currentHealthy") >= wanted {
            // An unready pod does not reduce currentHealthy; the resourceVersion keeps that valid.
            options
                .resource_version
                .get_or_insert(present.revision().to_string());
        } else {
            take_disruption(call, &served, budget, name, options.dry_run)?;
        }
    }
    delete_named(call, &options, name).await?;
    Ok(created_status(call))
}

/// Whether the pod is finished, terminating or pending, and may be evicted without a budget.
fn can_ignore_pdb(pod: &Value) -> bool {
    let phase = pod.text("/status/phase");
    matches!(phase, "Succeeded" | "Failed" | "Pending") || object_meta::is_terminating(pod)
}

/// The PodDisruptionBudget that selects a pod.
fn find_pdb(call: &RequestContext<'_>, pod: &Value) -> Result<Option<StoredPdb>, ApiError> {
    let Some(served) = call
        .core
        .registry
        .find("policy", "v1", "poddisruptionbudgets")
    else {
        return Ok(None);
    };
    let Some(storage) = &served.storage else {
        return Ok(None);
    };
    let prefix = format!("{}/", call.path.namespace);
    let labels = &pod["metadata"]["labels"];
    let snapshot = call.core.store.snapshot(storage);
    let mut covering = snapshot.scan(&prefix, None).filter(|budget| {
        let selector = &budget.value()["spec"]["selector"];
        !is_empty_selector(selector) && selector_matches(selector, labels)
    });
    let found = covering.next().cloned();
    if covering.next().is_some() {
        return Err(ApiError::new(
            500,
            StatusReason::Unknown,
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        ));
    }
    Ok(found.map(|budget| (served.clone(), budget)))
}

/// Decrements `disruptionsAllowed` of a PodDisruptionBudget, with retries on conflict.
fn take_disruption(
    call: &RequestContext<'_>,
    served: &ServedResource,
    mut budget: Arc<Object>,
    pod: &str,
    dry_run: bool,
) -> Result<(), ApiError> {
    let Some(storage) = &served.storage else {
        return Ok(());
    };
    loop {
        let reduced = check_and_decrement(&budget.value(), pod, call.core.clock.now())?;
        if dry_run {
            return Ok(());
        }
        let pending = pending_object(reduced)?;
        let (key, revision) = (budget.key().to_string(), budget.revision());
        match call.core.store.replace(storage, &key, revision, pending) {
            Ok(_) | Err(CommitError::KeyNotFound) => return Ok(()),
            Err(CommitError::ResourceVersionConflict(present)) => budget = present,
            Err(_) => return Err(ApiError::no_such_resource()),
        }
    }
}

/// The PodDisruptionBudget with `disruptionsAllowed` decremented and the pod recorded.
fn check_and_decrement(budget: &Value, pod: &str, now: Timestamp) -> Result<Value, ApiError> {
    let name = object_meta::meta_str(budget, "name");
    let status = &budget["status"];
    let number = |field: &str| status[field].as_i64().unwrap_or(0);
    if number("observedGeneration") < object_meta::generation(budget) {
        let text = format!("The disruption budget {name} is still being processed by the server.");
        return Err(too_many_requests(&text, Some(10)));
    }
    let allowed = number("disruptionsAllowed");
    let waiting = status["disruptedPods"]
        .as_object()
        .map_or(0, serde_json::Map::len);
    if allowed < 0 || waiting > MAX_DISRUPTED_PODS {
        let reason = if allowed < 0 {
            "pdb disruptions allowed is negative"
        } else {
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        };
        return Err(ApiError::forbidden(
            "policy",
            "poddisruptionbudget",
            name,
            reason,
        ));
    }
    if allowed == 0 {
        let text = format!(
            "The disruption budget {name} needs {} healthy pods and has {} currently",
            number("desiredHealthy"),
            number("currentHealthy")
        );
        return Err(too_many_requests(&text, None));
    }
    let mut reduced = budget.clone();
    let status = &mut reduced["status"];
    status["disruptionsAllowed"] = (allowed - 1).into();
    status["disruptedPods"][pod] = object_meta::metav1_time(now);
    Ok(reduced)
}

fn too_many_requests(cause: &str, retry_after: Option<i64>) -> ApiError {
    let mut error = ApiError::new(429, StatusReason::TooManyRequests, EVICTION_BLOCKED_MESSAGE);
    error.details = json!({"causes": [{"reason": "DisruptionBudget", "message": cause}]});
    if let Some(seconds) = retry_after {
        error.details["retryAfterSeconds"] = seconds.into();
    }
    error
}
