//! Explains a Workload: loads the cluster's objects into an engine and nominates the Workload.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use kube::{Client, ResourceExt};
use kueue_lab_runtime::Api;
use serde::Serialize;

use super::{load_engine, text};
use crate::cli::CliError;
use crate::cli::kubeconfig_args::{error_message, request_error};
use kueue_lab_admission::EngineConfig;
use kueue_lab_admission::engine::{Explanation, PendingVerdict, PendingVerdictKind};
use kueue_lab_admission::workload::WorkloadKey;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_loops::SchedulingLoop;
use kueue_lab_simulation::simulate::{AdmittingChange, admitting_changes};
use kueue_lab_tui::model::loops::loops_in_events;

/// The key of the Workload with this name, or of the newest Workload owned by a job with this name.
pub(super) async fn find_workload(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<WorkloadKey, CliError> {
    let api: Api<Workload> = Api::namespaced(client.clone(), namespace);
    let failed = |e: kube::Error| request_error(&e);
    let key = |name: &str| WorkloadKey::new(namespace, name);
    if api.get_opt(name).await.map_err(failed)?.is_some() {
        return Ok(key(name));
    }
    let all = api.list(&ListParams::default()).await.map_err(failed)?;
    let owned = |wl: &&Workload| wl.owner_references().iter().any(|o| o.name == name);
    let mut found: Vec<&Workload> = all.iter().filter(owned).collect();
    // A job can own several Workloads (slices, earlier runs): take the newest.
    found.sort_by_key(|wl| wl.creation_timestamp());
    match found.last() {
        Some(wl) => Ok(key(&wl.name_any())),
        None => Err(CliError::Failed(format!(
            "there is no Workload {name:?} in namespace {namespace:?}, and no job {name:?} owns one; list them with `kubectl get workloads -A`"
        ))),
    }
}

/// The most Workloads of a cluster in which changes are tried out.
const MAX_WORKLOADS: usize = 2_000;

/// An explained Workload.
pub(super) struct ExplainedWorkload {
    pub(super) workload: Workload,
    pub(super) explanation: Explanation,
    /// The changes that admit it, if it is pending and the cluster is not too large to try them out.
    pub(super) changes: Vec<AdmittingChange>,
}

/// The explanation as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExplanationReport<'a> {
    #[serde(flatten)]
    explanation: &'a Explanation,
    admitting_changes: &'a [AdmittingChange],
}

impl ExplainedWorkload {
    /// The explanation as JSON.
    pub(super) fn report(&self) -> ExplanationReport<'_> {
        ExplanationReport {
            explanation: &self.explanation,
            admitting_changes: &self.changes,
        }
    }
}

/// Explains a Workload over the current objects of the cluster.
///
/// # Errors
/// A message for the user: the objects cannot be listed, or the Workload was deleted.
pub(super) async fn explain(
    client: &Client,
    config: EngineConfig,
    now: Timestamp,
    key: &WorkloadKey,
) -> Result<ExplainedWorkload, String> {
    let mut engine = load_engine::load_engine(client, config, now)
        .await
        .map_err(|e| error_message(&e))?;
    let deleted = || format!("the Workload {key} was deleted");
    let workload = engine.workload(key).ok_or_else(deleted)?.clone();
    let explanation = engine.explain(key, now).ok_or_else(deleted)?;
    let is_held = |verdict: &PendingVerdict| verdict.kind == PendingVerdictKind::Held;
    let is_waiting = explanation.verdict.as_ref().is_some_and(|v| !is_held(v));
    let changes = match is_waiting && engine.workloads().count() <= MAX_WORKLOADS {
        // Pods of admitted workloads count as ready.
        true => admitting_changes(&engine, false, std::slice::from_ref(&workload), now),
        false => Vec::new(),
    };
    Ok(ExplainedWorkload {
        workload: Workload::clone(&workload),
        explanation,
        changes,
    })
}

/// Explains a Workload as text.
///
/// # Errors
/// As for [`explain`].
pub(in crate::cli) async fn explain_text(
    client: &Client,
    config: EngineConfig,
    now: Timestamp,
    key: &WorkloadKey,
) -> Result<String, String> {
    let explained = explain(client, config, now, key).await?;
    let found = loop_of(client, &explained.workload, now).await;
    Ok(text::render(&explained, found.as_ref()))
}

/// The loop of scheduling attempts that a Workload is in.
pub(super) async fn loop_of(
    client: &Client,
    workload: &Workload,
    now: Timestamp,
) -> Option<SchedulingLoop> {
    let own = workload.namespace().unwrap_or_default();
    let events = workload_events(client, &own).await;
    let uid = workload.uid()?;
    let loops = loops_in_events(&events, now);
    loops.into_iter().find(|found| found.involves(&uid))
}

/// The Events of Workloads in all namespaces, or only in one without permission; none if they cannot be
/// listed.
pub(super) async fn workload_events(client: &Client, namespace: &str) -> Vec<Event> {
    let params = ListParams::default().fields("involvedObject.kind=Workload");
    let listed = match Api::<Event>::all(client.clone()).list(&params).await {
        Err(_) => {
            let api: Api<Event> = Api::namespaced(client.clone(), namespace);
            api.list(&params).await
        }
        listed => listed,
    };
    match listed {
        Ok(listed) => listed.items,
        Err(error) => {
            tracing::debug!(%error, "cannot list Events");
            Vec::new()
        }
    }
}
