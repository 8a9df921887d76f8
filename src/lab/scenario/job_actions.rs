//! Actions on jobs and their pods: pods end, are deleted or get ready; Workloads are activated and get
//! another priority.

use std::time::Duration;

use kube::api::{DeleteParams, Patch, PatchParams};
use kueue_lab_api::constants::PRIORITY_CLASS_LABEL;
use kueue_lab_api::v1beta2::API_VERSION;
use kueue_lab_controller_runtime::api_errors::is_not_found;
use kueue_lab_json::ValueExt;
use kueue_lab_kubelet::READY_ANNOTATION;
use serde_json::{Value, json};

use super::action_error::ActionError;
use super::observed_state::ApiVersionKind;
use super::pod_selection::{PodCount, PodSelection};
use super::run::{ScenarioRun, add_duration};
use super::workload_history::ObservedWorkload;

/// The kind of the pods that a step acts on.
pub(super) const POD_KIND: (&str, &str) = ("v1", "Pod");
/// How long pods that end may take to be replaced by others.
const NEXT_POD: Duration = Duration::from_millis(300);
/// How long a job may take to finish once no pod of it runs.
const FINISH_LIMIT: Duration = Duration::from_secs(60);

impl ScenarioRun<'_> {
    /// Sets the phase of the running pods of jobs.
    pub(super) async fn end_pods(
        &mut self,
        pods: &PodSelection,
        succeed: bool,
    ) -> Result<(), ActionError> {
        let mut limit = None;
        loop {
            self.observe_changes().await;
            let running = self.pods(pods, "running", is_running)?;
            if running.is_empty() && limit.is_none() {
                return Err(format!("none of {pods} is running").into());
            }
            for (namespace, name) in &running {
                self.end_pod(namespace, name, succeed).await?;
            }
            if pods.count != PodCount::UntilFinished || self.are_finished(&pods.jobs) {
                return Ok(());
            }
            let now = self.environment.clock.now();
            if limit.is_none() || !running.is_empty() {
                limit = Some(add_duration(now, FINISH_LIMIT));
            }
            if limit.is_some_and(|limit| now >= limit) {
                let jobs = pods.jobs.join(", ");
                let message = format!("{jobs}: no pod is running, and not all are finished");
                return Err(message.into());
            }
            self.wait_until(add_duration(now, NEXT_POD)).await;
        }
    }

    /// Whether no job has quota and is not finished.
    fn are_finished(&self, jobs: &[String]) -> bool {
        let mut workloads = self.observed.history.matching(jobs, false);
        workloads.all(|w| w.is_finished() || !w.is_admitted())
    }

    async fn end_pod(
        &mut self,
        namespace: &str,
        name: &str,
        succeed: bool,
    ) -> Result<(), ActionError> {
        let (phase, reason) = match succeed {
            true => ("Succeeded", "PodCompleted"),
            false => ("Failed", "PodFailed"),
        };
        let ready = json!({
            "type": "Ready", "status": "False", "reason": reason,
            "lastTransitionTime": self.environment.clock.time(),
        });
        let status = json!({"phase": phase, "conditions": [ready]});
        self.patch_pod_status(namespace, name, status).await
    }

    /// Sets whether the running pods of jobs are ready.
    pub(super) async fn set_ready(
        &mut self,
        pods: &PodSelection,
        ready: bool,
    ) -> Result<(), ActionError> {
        self.observe_changes().await;
        let state = match ready {
            true => "running and unready",
            false => "running and ready",
        };
        let running = self.pods(pods, state, |pod| {
            is_running(pod) && pod.is_condition_true("Ready") != ready
        })?;
        if running.is_empty() {
            return Err(format!("none of {pods} is {state}").into());
        }
        // The kubelet stand-in reads it.
        let value = if ready { Value::Null } else { "false".into() };
        let patch = json!({"metadata": {"annotations": {READY_ANNOTATION: value}}});
        for (namespace, name) in running {
            self.merge(&owned(POD_KIND), &namespace, &name, &patch)
                .await?;
        }
        Ok(())
    }

    async fn patch_pod_status(
        &mut self,
        namespace: &str,
        name: &str,
        status: Value,
    ) -> Result<(), ActionError> {
        let api = self.api(&owned(POD_KIND), Some(namespace));
        let (params, patch) = (PatchParams::default(), json!({"status": status}));
        let patch = Patch::Strategic(&patch);
        let patched = api.patch_subresource("status", name, &params, &patch).await;
        match patched {
            // The end of another pod can delete it.
            Err(error) if is_not_found(&error) => Ok(()),
            patched => Ok(patched.map(|_| ())?),
        }
    }

    /// Deletes the pods of jobs that have not ended.
    pub(super) async fn delete_pods(&mut self, pods: &PodSelection) -> Result<(), ActionError> {
        self.observe_changes().await;
        let found = self.pods(pods, "live", is_live)?;
        // An empty node is drained already.
        if found.is_empty() && !pods.jobs.is_empty() {
            let message = format!("{} have no pods to delete", pods.jobs.join(", "));
            return Err(message.into());
        }
        for (namespace, name) in found {
            let api = self.api(&owned(POD_KIND), Some(&namespace));
            match api.delete(&name, &DeleteParams::default()).await {
                Err(error) if !is_not_found(&error) => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// The selected pods in a state. Fails if a job has fewer of them than the step names.
    fn pods(
        &self,
        selection: &PodSelection,
        state: &str,
        is_wanted: impl Fn(&Value) -> bool,
    ) -> Result<Vec<(String, String)>, ActionError> {
        let in_state = || {
            let pods = self.observed.objects_of(POD_KIND);
            pods.filter(|pod| is_wanted(pod))
        };
        match selection.missing(in_state()) {
            None => Ok(selection.select(in_state())),
            Some((job, number)) => {
                let pods = if number == 1 { "pod" } else { "pods" };
                Err(format!("{job} has only {number} {state} {pods}").into())
            }
        }
    }

    /// Sets `spec.active` of the Workloads of jobs.
    pub(super) async fn set_active(
        &mut self,
        jobs: &[String],
        active: bool,
    ) -> Result<(), ActionError> {
        let patch = json!({"spec": {"active": active}});
        for (namespace, name) in self.unfinished(jobs, full_name).await? {
            let kind = (API_VERSION.to_owned(), "Workload".to_owned());
            self.merge(&kind, &namespace, &name, &patch).await?;
        }
        Ok(())
    }

    /// Sets the WorkloadPriorityClass of jobs.
    pub(super) async fn set_priority(
        &mut self,
        jobs: &[String],
        class: &str,
    ) -> Result<(), ActionError> {
        let owners = |workload: &ObservedWorkload| {
            let namespace = workload.namespace.clone();
            let owners = workload.object["metadata"]["ownerReferences"].as_array()?;
            let owners = owners.iter().filter_map(|owner| {
                let text = |field: &str| owner[field].as_str().map(str::to_owned);
                Some(((text("apiVersion")?, text("kind")?), text("name")?))
            });
            Some((namespace, owners.collect::<Vec<_>>()))
        };
        let patch = json!({"metadata": {"labels": {PRIORITY_CLASS_LABEL: class}}});
        for (namespace, owners) in self.unfinished(jobs, owners).await? {
            for (kind, name) in owners {
                self.merge(&kind, &namespace, &name, &patch).await?;
            }
        }
        Ok(())
    }

    /// A value of each unfinished Workload of jobs; at least one.
    async fn unfinished<T>(
        &mut self,
        jobs: &[String],
        value: impl Fn(&ObservedWorkload) -> Option<T>,
    ) -> Result<Vec<T>, ActionError> {
        self.observe_changes().await;
        let workloads = self.observed.history.matching(jobs, false);
        let values = workloads.filter(|w| !w.is_finished()).filter_map(value);
        let values: Vec<T> = values.collect();
        match values.is_empty() {
            true => {
                let jobs = jobs.join(", ");
                Err(format!("there is no unfinished Workload of {jobs}").into())
            }
            false => Ok(values),
        }
    }

    async fn merge(
        &mut self,
        kind: &ApiVersionKind,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<(), ActionError> {
        let (api, params) = (self.api(kind, Some(namespace)), PatchParams::default());
        let patched = api.patch(name, &params, &Patch::Merge(patch)).await;
        Ok(patched.map(|_| ())?)
    }
}

fn full_name(workload: &ObservedWorkload) -> Option<(String, String)> {
    Some((workload.namespace.clone(), workload.name.clone()))
}

fn owned((api_version, kind): (&str, &str)) -> ApiVersionKind {
    (api_version.to_owned(), kind.to_owned())
}

fn is_live(pod: &Value) -> bool {
    let phase = pod["status"]["phase"].as_str();
    pod["metadata"]["deletionTimestamp"].is_null() && !matches!(phase, Some("Succeeded" | "Failed"))
}

fn is_running(pod: &Value) -> bool {
    is_live(pod) && pod["status"]["phase"] == "Running"
}
