//! Explains a Workload: nominates it in an engine with the cluster's objects, and tries out changes.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use kube::{Client, ResourceExt};
use kueue_lab_controller_runtime::Api;
use serde::Serialize;

use super::load_engine::load_engine;
use super::text;
use crate::cli::CliError;
use kueue_lab_api::v1beta2::{Admission, Workload, WorkloadPriorityClass};
use kueue_lab_engine::engine::{Explanation, PendingVerdict, PendingVerdictKind};
use kueue_lab_engine::workload::WorkloadKey;
use kueue_lab_engine::{Engine, EngineConfig};
use kueue_lab_preemption_loops::SchedulingLoop;
use kueue_lab_simulation::simulate::{
    AdmittingChanges, PriorityClass, admitting_changes, simulate,
};
use kueue_lab_tui::model::loops::loops_in_events;

/// The most Workloads of a cluster in which changes are tried out.
const MAX_WORKLOADS: usize = 2_000;

/// An explained Workload.
pub(super) struct ExplainedWorkload {
    pub(super) workload: Workload,
    pub(super) explanation: Explanation,
    /// The changes that admit it, if it is pending and the cluster is not too large to try them out.
    pub(super) changes: AdmittingChanges,
}

/// The explanation as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExplanationReport<'a> {
    #[serde(flatten)]
    explanation: &'a Explanation,
    /// Its flavors, quota and topology domains, if it reserves quota.
    admission: Option<&'a Admission>,
    #[serde(flatten)]
    changes: &'a AdmittingChanges,
}

impl ExplainedWorkload {
    /// The explanation as JSON.
    pub(super) fn report(&self) -> ExplanationReport<'_> {
        ExplanationReport {
            explanation: &self.explanation,
            admission: self.workload.status.admission.as_ref(),
            changes: &self.changes,
        }
    }
}

/// Explains a Workload of an engine with the objects of the cluster.
///
/// # Errors
/// The Workload was deleted.
pub(super) async fn explain(
    client: &Client,
    engine: &mut Engine,
    now: Timestamp,
    key: &WorkloadKey,
) -> Result<ExplainedWorkload, CliError> {
    let deleted = || CliError::Failed(format!("the Workload {key} was deleted"));
    let workload = engine.workload(key).ok_or_else(deleted)?.clone();
    let explanation = engine.explain(key, now).ok_or_else(deleted)?;
    let is_held = |verdict: &PendingVerdict| verdict.kind == PendingVerdictKind::Held;
    let is_waiting = explanation.verdict.as_ref().is_some_and(|v| !is_held(v));
    let changes = match is_waiting && engine.workloads().count() <= MAX_WORKLOADS {
        true => {
            let classes = priority_classes(client).await;
            let workloads = std::slice::from_ref(&workload);
            // The pods of Workloads that are admitted in the copy count as ready, as those of `simulate`.
            let pods_ready = engine.config().block_admission_until_pods_ready;
            let simulation = simulate(engine, pods_ready, workloads, now);
            admitting_changes(engine, pods_ready, workloads, &classes, &simulation, now)
        }
        false => AdmittingChanges::default(),
    };
    Ok(ExplainedWorkload {
        workload: Workload::clone(&workload),
        explanation,
        changes,
    })
}

/// The WorkloadPriorityClasses of a cluster; none without the right to list them.
async fn priority_classes(client: &Client) -> Vec<PriorityClass> {
    let api: Api<WorkloadPriorityClass> = Api::all(client.clone());
    let listed = api.list(&ListParams::default()).await;
    let listed = listed.map_or_else(|_| Vec::new(), |listed| listed.items);
    let classes = listed.into_iter().map(|class| PriorityClass {
        name: class.name_any(),
        value: class.value,
    });
    classes.collect()
}

/// Explains a Workload as text.
///
/// # Errors
/// A message for the user: the objects cannot be listed, or the Workload was deleted.
pub(in crate::cli) async fn explain_text(
    client: &Client,
    config: EngineConfig,
    now: Timestamp,
    key: &WorkloadKey,
) -> Result<String, String> {
    let explained = async {
        let mut engine = load_engine(client, config, now).await?;
        explain(client, &mut engine, now, key).await
    };
    let explained = explained.await.map_err(|error| error.to_string())?;
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
