//! Explains a Workload by the engine that decides, or by one with a copy of the objects of the cluster.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use kube::{Client, ResourceExt};
use kueue_lab_controller_runtime::Api;

use super::cluster_configuration::{configuration_or_default, settings};
use super::explain_error::ExplainError;
use super::live_explanations::LiveExplanations;
use super::load_engine::load_engine;
use super::text;
use super::workload_notes::{WorkloadNote, workload_notes};
use kueue_lab_api::v1beta2::{Workload, WorkloadPriorityClass};
use kueue_lab_controller::Controller;
use kueue_lab_engine::Engine;
use kueue_lab_engine::workload::WorkloadKey;
use kueue_lab_lab::explain_live_workload;
use kueue_lab_preemption_loops::{DetectedLoop, loops_in_events};
use kueue_lab_simulation::simulate::{ExplainedWorkload, PriorityClass, explain_workload};

/// A Workload and its explanation.
#[derive(Debug)]
pub struct WorkloadReport {
    /// The object.
    pub workload: Workload,
    /// The explanation of the engine, and the changes that admit it.
    pub explained: ExplainedWorkload,
    /// Whether the engine of the controller explains it, and not one with a copy of the objects.
    pub is_live: bool,
    /// What the decision does not show.
    pub notes: Vec<WorkloadNote>,
}

impl WorkloadReport {
    /// The explanation as several lines of text, with the loop of scheduling attempts that the Workload is in.
    pub fn text(&self, found: Option<&DetectedLoop>) -> String {
        text::render(self, found)
    }
}

/// Explains a Workload of an engine with a copy of the objects of the cluster.
///
/// # Errors
/// The Workload was deleted.
pub(super) async fn explain_loaded(
    client: &Client,
    engine: &mut Engine,
    now: Timestamp,
    key: &WorkloadKey,
) -> Result<WorkloadReport, ExplainError> {
    let classes = priority_classes(client).await;
    let explained = explain_workload(engine, &classes, key, now);
    let workload = engine.workload(key).map(|wl| Workload::clone(wl));
    match explained.zip(workload) {
        Some((explained, workload)) => Ok(WorkloadReport {
            notes: workload_notes(client, &workload).await,
            workload,
            explained,
            is_live: false,
        }),
        None => Err(deleted(key)),
    }
}

/// Explains a Workload by the API of a running lab. `None` without the right to.
///
/// # Errors
/// The Workload was deleted.
pub(super) async fn explain_live(
    client: &Client,
    live: &LiveExplanations<'_>,
    key: &WorkloadKey,
) -> Result<Option<WorkloadReport>, ExplainError> {
    let Some(explained) = live.workload(key).await? else {
        return Ok(None);
    };
    let api: Api<Workload> = Api::namespaced(client.clone(), key.namespace());
    let workload = api.get_opt(key.name()).await;
    let workload = workload.map_err(|error| ExplainError::of_request(&error))?;
    let workload = workload.ok_or_else(|| deleted(key))?;
    Ok(Some(WorkloadReport {
        notes: workload_notes(client, &workload).await,
        workload,
        explained,
        is_live: true,
    }))
}

fn deleted(key: &WorkloadKey) -> ExplainError {
    ExplainError::Deleted(key.clone())
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

/// Explains a Workload as text, by the engine of a controller of this process.
///
/// # Errors
/// The Workload was deleted.
pub async fn explain_text_of_controller(
    client: &Client,
    controller: &Controller,
    key: &WorkloadKey,
) -> Result<String, ExplainError> {
    let explained = explain_live_workload(controller, key);
    let workload = controller.shared().engine().workload(key).cloned();
    let (Some(explained), Some(workload)) = (explained, workload) else {
        return Err(deleted(key));
    };
    let report = WorkloadReport {
        notes: workload_notes(client, &workload).await,
        workload: Workload::clone(&workload),
        explained,
        is_live: true,
    };
    let found = loop_of(client, &report.workload, controller.shared().now()).await;
    Ok(report.text(found.as_ref()))
}

/// Explains a Workload of a cluster as text: by the engine of a running lab, or one with a copy of the objects.
///
/// # Errors
/// The objects cannot be listed, or the Workload was deleted.
pub async fn explain_text_of_cluster(
    client: &Client,
    now: Timestamp,
    key: &WorkloadKey,
) -> Result<String, ExplainError> {
    let of_lab = match LiveExplanations::find(client).await {
        Some(live) => explain_live(client, &live, key).await?,
        None => None,
    };
    let report = match of_lab {
        Some(report) => report,
        None => {
            let warn = |note: &str| tracing::warn!("{note}");
            let kueue = configuration_or_default(client, warn).await;
            let config = settings(kueue.as_ref()).engine();
            let mut engine = load_engine(client, config, now).await?;
            explain_loaded(client, &mut engine, now, key).await?
        }
    };
    let found = loop_of(client, &report.workload, now).await;
    Ok(report.text(found.as_ref()))
}

/// The preemption candidates of a Workload with their outcomes in one line, by the engine of a controller of this process.
/// `None` without any.
pub fn candidates_of_controller(controller: &Controller, key: &WorkloadKey) -> Option<String> {
    let shared = controller.shared();
    let explained = shared.engine().explain(key, shared.now())?;
    explained.now?.candidates_text()
}

/// The preemption candidates of a Workload of a cluster with their outcomes in one line, by the engine that decides. `None`
/// without any, and where no such engine is reached.
///
/// # Errors
/// The request failed.
pub async fn candidates_of_cluster(
    client: &Client,
    key: &WorkloadKey,
) -> Result<Option<String>, ExplainError> {
    let Some(live) = LiveExplanations::find(client).await else {
        return Ok(None);
    };
    let explained = live.workload(key).await?;
    let now = explained.and_then(|explained| explained.explanation.now);
    Ok(now.and_then(|decision| decision.candidates_text()))
}

/// The loop of scheduling attempts that a Workload is in.
pub(super) async fn loop_of(
    client: &Client,
    workload: &Workload,
    now: Timestamp,
) -> Option<DetectedLoop> {
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
