//! `pods/eviction`: a delete that a PodDisruptionBudget may hold up.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::call::Call;
use super::super::delete::{DeleteOptions, delete_named};
use super::super::options::WriteOptions;
use super::super::reply::Reply;
use super::super::{input, meta};
use super::{done, text};
use crate::kinds::meta::labels::{is_empty_selector, selects};
use crate::registry::Served;
use crate::status::ApiError;
use crate::store::{CommitError, Draft, Object};

const BLOCKED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
/// How many evictions may await the budget's controller.
const DISRUPTED_MAX: usize = 2000;

/// A budget and where it is stored.
type Budget = (Arc<Served>, Arc<Object>);

/// POST of an Eviction to a pod.
pub(super) async fn evict(call: &Call<'_>) -> Result<Reply, ApiError> {
    let write = WriteOptions::of(call, "CreateOptions")?;
    let eviction = input::other(call, "policy/v1", "Eviction", write.validation)?;
    let name = &call.path.name;
    if meta::text(&eviction, "name") != name {
        return Err(ApiError::bad_request(
            "name in URL does not match name in Eviction object",
        ));
    }
    let given = eviction.get("deleteOptions").cloned().unwrap_or_default();
    let mut options = DeleteOptions::from_value(&given)?;
    options.dry_run |= write.dry_run;
    let present = call
        .space()?
        .get(&call.key(name))
        .ok_or_else(|| call.not_found(name))?;
    let pod = call.view.decoded(&present)?;
    if !ignores_budgets(&pod)
        && let Some((served, budget)) = budget_of(call, &pod)?
    {
        let status = &budget.value()["status"];
        let number = |field: &str| status[field].as_i64().unwrap_or(0);
        let wanted = number("desiredHealthy");
        if !is_ready(&pod) && wanted > 0 && number("currentHealthy") >= wanted {
            // It does not count as healthy, so its end disrupts nothing, if it is still like that.
            options
                .resource_version
                .get_or_insert(present.revision().to_string());
        } else {
            take(call, &served, budget, name, options.dry_run)?;
        }
    }
    delete_named(call, &options, name).await?;
    Ok(done(call))
}

/// Pods that have ended, or are about to, or have not begun, may always go.
fn ignores_budgets(pod: &Value) -> bool {
    let phase = text(pod, "/status/phase");
    matches!(phase, "Succeeded" | "Failed" | "Pending") || meta::is_terminating(pod)
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|c| c["type"] == "Ready" && c["status"] == "True")
}

/// The budget that covers a pod.
fn budget_of(call: &Call<'_>, pod: &Value) -> Result<Option<Budget>, ApiError> {
    let Some(served) = call
        .core
        .registry
        .find("policy", "v1", "poddisruptionbudgets")
    else {
        return Ok(None);
    };
    let Some(space) = &served.space else {
        return Ok(None);
    };
    let prefix = format!("{}/", call.path.namespace);
    let labels = &pod["metadata"]["labels"];
    let snapshot = call.core.store.snapshot(space);
    let mut covering = snapshot.scan(&prefix, None).filter(|budget| {
        let selector = &budget.value()["spec"]["selector"];
        !is_empty_selector(selector) && selects(selector, labels)
    });
    let found = covering.next().cloned();
    if covering.next().is_some() {
        return Err(ApiError::new(
            500,
            "",
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        ));
    }
    Ok(found.map(|budget| (served.clone(), budget)))
}

/// Takes one disruption off the budget.
fn take(
    call: &Call<'_>,
    served: &Served,
    mut budget: Arc<Object>,
    pod: &str,
    dry_run: bool,
) -> Result<(), ApiError> {
    let Some(space) = &served.space else {
        return Ok(());
    };
    loop {
        let reduced = reduce(&budget.value(), pod, call.core.clock.now())?;
        if dry_run {
            return Ok(());
        }
        let draft = Draft::new(reduced).map_err(|e| ApiError::internal(e.to_string()))?;
        let (key, revision) = (budget.key().to_string(), budget.revision());
        match call.core.store.replace(space, &key, revision, draft) {
            Ok(_) | Err(CommitError::Missing) => return Ok(()),
            Err(CommitError::Stale(present)) => budget = present,
            Err(_) => return Err(ApiError::no_such_resource()),
        }
    }
}

/// The budget with one disruption less.
fn reduce(budget: &Value, pod: &str, now: Timestamp) -> Result<Value, ApiError> {
    let name = meta::text(budget, "name");
    let status = &budget["status"];
    let number = |field: &str| status[field].as_i64().unwrap_or(0);
    if number("observedGeneration") < meta::generation(budget) {
        let text = format!("The disruption budget {name} is still being processed by the server.");
        return Err(too_many(&text, Some(10)));
    }
    let allowed = number("disruptionsAllowed");
    let waiting = status["disruptedPods"]
        .as_object()
        .map_or(0, serde_json::Map::len);
    if allowed < 0 || waiting > DISRUPTED_MAX {
        let why = if allowed < 0 {
            "pdb disruptions allowed is negative"
        } else {
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        };
        return Err(ApiError::forbidden(
            "policy",
            "poddisruptionbudget",
            name,
            why,
        ));
    }
    if allowed == 0 {
        let text = format!(
            "The disruption budget {name} needs {} healthy pods and has {} currently",
            number("desiredHealthy"),
            number("currentHealthy")
        );
        return Err(too_many(&text, None));
    }
    let mut reduced = budget.clone();
    let status = &mut reduced["status"];
    status["disruptionsAllowed"] = (allowed - 1).into();
    status["disruptedPods"][pod] = meta::time(now);
    Ok(reduced)
}

fn too_many(cause: &str, retry_after: Option<i64>) -> ApiError {
    let mut error = ApiError::new(429, "TooManyRequests", BLOCKED);
    error.details = json!({"causes": [{"reason": "DisruptionBudget", "message": cause}]});
    if let Some(seconds) = retry_after {
        error.details["retryAfterSeconds"] = seconds.into();
    }
    error
}
