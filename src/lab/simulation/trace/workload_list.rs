//! Workloads of a cluster, as `kubectl get workloads -o json` prints them or one after the other, as a
//! recording has them.

use jiff::SignedDuration;
use serde::Deserialize;

use super::error::RecordError;
use super::fields::between;
use super::job::TraceJob;
use kueue_lab_api::constants::{ADMITTED, FINISHED};
use kueue_lab_api::v1beta2::{self, Workload};
use kueue_lab_codec::Codec;

/// The fields that name the kind of an object.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TypeMeta {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
}

/// The job of a Workload. It runs as long as the Workload was admitted until it finished, with `past_runs`
/// also as long as it was admitted before evictions. The queue is its LocalQueue with the namespace.
pub(super) fn job(text: &str, line: usize, past_runs: bool) -> Result<TraceJob, RecordError> {
    let invalid =
        |error: serde_json::Error| RecordError::invalid(format!("it is not a Workload: {error}"));
    let TypeMeta { api_version, kind } = serde_json::from_str(text).map_err(invalid)?;
    if kind != "Workload" {
        return Err(RecordError::invalid(format!(
            "it is a {kind:?}, not a Workload"
        )));
    }
    if api_version != v1beta2::API_VERSION {
        return Err(RecordError::invalid(format!(
            "its version is {api_version:?}; print {} with `kubectl get workloads.v1beta2.kueue.x-k8s.io -A -o json`",
            v1beta2::API_VERSION
        )));
    }
    let wl = Workload::decode(text).map_err(invalid)?;
    let namespace = wl.metadata.namespace.clone().unwrap_or_default();
    let name = wl.metadata.name.clone().unwrap_or_default();
    let Some(created) = wl.metadata.creation_timestamp.as_ref() else {
        return Err(RecordError::missing(format!(
            "Workload {namespace}/{name} has no creationTimestamp"
        )));
    };
    let time_of = |type_: &str| {
        let condition = wl.condition(type_).filter(|c| c.status == "True");
        condition.map(|condition| condition.last_transition_time.0)
    };
    let (Some(admitted), Some(finished)) = (time_of(ADMITTED), time_of(FINISHED)) else {
        return Err(RecordError::missing(format!(
            "Workload {namespace}/{name} is not finished after an admission, so its duration is not known"
        )));
    };
    between(("creationTimestamp", created.0), ("Admitted", admitted))?;
    let last = between(("Admitted", admitted), ("Finished", finished))?;
    let past = wl.status.accumulated_past_execution_time_seconds;
    let past = past.filter(|_| past_runs);
    let past = SignedDuration::from_secs(past.unwrap_or(0).into());
    Ok(TraceJob {
        line,
        name: format!("{namespace}/{name}"),
        queue: format!("{namespace}/{}", wl.spec.queue_name),
        submitted: created.0,
        duration: last.saturating_add(past),
        spec: wl.spec,
    })
}
