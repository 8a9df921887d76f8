//! The actions of a scenario's steps.

use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kueue_lab_api::v1beta2::API_VERSION;
use kueue_lab_presets::SCENARIO_MANAGER;
use kueue_lab_runtime::Api;
use kueue_lab_skypilot::Task;
use kueue_lab_yaml::{Limits, parse};
use serde_json::{Value, json};

use super::clean_up::CreatedObject;
use super::format::StepAction;
use super::glob::glob_matches;
use super::observed_state::{ApiVersionKind, resource};
use super::run::{ScenarioRun, add_duration};
use super::selector::Selector;

impl ScenarioRun<'_> {
    pub(super) async fn run_action(&mut self, action: &StepAction) -> Result<(), String> {
        match action {
            StepAction::ExpectOnly => Ok(()),
            StepAction::Wait(time) => {
                self.wait_until(add_duration(self.environment.clock.now(), *time))
                    .await;
                Ok(())
            }
            StepAction::Launch { name, task } => {
                let launched = self
                    .environment
                    .jobs
                    .launch((**task).clone(), Some(name))
                    .await;
                let id = launched.map_err(|e| e.to_string())?;
                self.observed.job_ids.insert(name.clone(), id);
                Ok(())
            }
            StepAction::Sample { sample, name } => self.submit_sample(sample, name).await,
            StepAction::Cancel(name) => {
                let id = self.observed.job_ids.get(name).copied().unwrap_or_default();
                self.environment.jobs.cancel(id);
                Ok(())
            }
            StepAction::SwitchPreset(preset) => match &self.environment.presets {
                None => Err("this lab has no presets folder".into()),
                Some(presets) => {
                    let switched = presets.switch(preset).await;
                    switched.map_err(|f| preset_error(&format!("the preset {preset}"), &f))
                }
            },
            StepAction::Apply(objects) => {
                for object in objects {
                    self.apply(object).await.map_err(|e| e.to_string())?;
                }
                Ok(())
            }
            StepAction::Patch {
                object,
                merge,
                subresource,
            } => {
                let patch = Patch::Merge(merge);
                let params = PatchParams {
                    field_manager: Some(SCENARIO_MANAGER.to_owned()),
                    ..PatchParams::default()
                };
                let kind = (object.api_version.clone(), object.kind.clone());
                for (api, name) in self.selected_objects(object)? {
                    let patched = match subresource.as_deref() {
                        None => api.patch(&name, &params, &patch).await,
                        Some(sub) => api.patch_subresource(sub, &name, &params, &patch).await,
                    };
                    let written = patched.map_err(|e| e.to_string())?;
                    self.observed.record_write(&kind, &written);
                }
                Ok(())
            }
            StepAction::CreateJobs(template) => {
                for (number, job) in template.jobs.iter().enumerate() {
                    if number > 0 && !template.interval.is_zero() {
                        let next = add_duration(self.environment.clock.now(), template.interval);
                        self.wait_until(next).await;
                    }
                    self.apply(job).await.map_err(|e| e.to_string())?;
                }
                Ok(())
            }
            StepAction::EndPods { jobs, succeed } => self.end_pods(jobs, *succeed).await,
            StepAction::NodePower { node, on } => {
                let machines = self.environment.machines.as_ref();
                let machines = machines.ok_or("this lab has no nodes of its own")?;
                let changed = match on {
                    true => machines.recover_node(node),
                    false => machines.fail_node(node),
                };
                match changed {
                    true => Ok(()),
                    false => {
                        let pools = machines.pools();
                        let names = pools.pools.iter().flat_map(|pool| {
                            (0..pool.count).map(move |number| pool.node_name(number))
                        });
                        let nodes: Vec<_> = names.take(20).collect();
                        let nodes = nodes.join(", ");
                        Err(format!("there is no node {node:?}; the nodes are {nodes}"))
                    }
                }
            }
            StepAction::AnswerCheck {
                check,
                jobs,
                state,
                message,
            } => self.answer_check(check, jobs, state, message).await,
            StepAction::ActivateCheck { check, active } => {
                let status = if *active { "True" } else { "False" };
                let condition = json!({
                    "type": "Active", "status": status, "reason": "ByHand", "message": "",
                    "lastTransitionTime": self.environment.clock.time(),
                });
                let patch = Patch::Merge(json!({"status": {"conditions": [condition]}}));
                let kind = (API_VERSION.to_owned(), "AdmissionCheck".to_owned());
                let api = self.api(&kind, None);
                let params = PatchParams::default();
                let patched = api
                    .patch_subresource("status", check, &params, &patch)
                    .await;
                patched.map_err(|e| e.to_string()).map(|_| ())
            }
            StepAction::Delete(object) => {
                for (api, name) in self.selected_objects(object)? {
                    let deleted = api.delete(&name, &DeleteParams::background()).await;
                    deleted.map_err(|e| e.to_string())?;
                }
                Ok(())
            }
        }
    }

    /// Sets the phase of the pods of jobs that are running.
    async fn end_pods(&mut self, jobs: &[String], succeed: bool) -> Result<(), String> {
        self.observe_changes().await;
        let pods: Vec<(String, String)> = self
            .observed
            .objects_of(POD_KIND)
            .filter(|pod| is_running(pod) && is_pod_of(pod, jobs))
            .map(|pod| {
                let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default();
                (text("namespace").to_owned(), text("name").to_owned())
            })
            .collect();
        if pods.is_empty() {
            return Err(format!("no pod of {} is running", jobs.join(", ")));
        }
        let phase = if succeed { "Succeeded" } else { "Failed" };
        let ready = json!({
            "type": "Ready", "status": "False", "reason": "PodCompleted",
            "lastTransitionTime": self.environment.clock.time(),
        });
        let patch = json!({"status": {"phase": phase, "conditions": [ready]}});
        for (namespace, name) in pods {
            let kind = (POD_KIND.0.to_owned(), POD_KIND.1.to_owned());
            let api = self.api(&kind, Some(&namespace));
            let params = PatchParams::default();
            let patch = Patch::Strategic(&patch);
            let patched = api
                .patch_subresource("status", &name, &params, &patch)
                .await;
            patched.map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    /// Sets the state of an admission check in the Workloads of jobs.
    async fn answer_check(
        &mut self,
        check: &str,
        jobs: &[String],
        state: &str,
        message: &str,
    ) -> Result<(), String> {
        self.observe_changes().await;
        let now = json!(self.environment.clock.time());
        let mut answers = Vec::new();
        for workload in self.observed.history.matching(jobs, false) {
            let states = workload.object["status"]["admissionChecks"].as_array();
            let mut states = states.cloned().unwrap_or_default();
            let found = states.iter_mut().find(|state| state["name"] == check);
            let Some(found) = found.filter(|_| !workload.is_finished()) else {
                continue;
            };
            found["state"] = state.into();
            found["message"] = message.into();
            found["lastTransitionTime"] = now.clone();
            let patch = json!({"status": {"admissionChecks": states}});
            answers.push((workload.namespace.clone(), workload.name.clone(), patch));
        }
        if answers.is_empty() {
            let jobs = jobs.join(", ");
            return Err(format!(
                "no Workload of {jobs} has the admission check {check:?}"
            ));
        }
        for (namespace, name, patch) in answers {
            let kind = (API_VERSION.to_owned(), "Workload".to_owned());
            let api = self.api(&kind, Some(&namespace));
            let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
            let patched = api
                .patch_subresource("status", &name, &params, &patch)
                .await;
            patched.map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    async fn apply(&mut self, object: &Value) -> Result<(), kube::Error> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let kind = (
            text("/apiVersion").unwrap_or_default().to_owned(),
            text("/kind").unwrap_or_default().to_owned(),
        );
        let api = self.api(&kind, text("/metadata/namespace"));
        let dynamic: DynamicObject =
            serde_json::from_value(object.clone()).map_err(kube::Error::SerdeError)?;
        let written = match text("/metadata/name") {
            None => api.create(&PostParams::default(), &dynamic).await?,
            Some(name) => {
                let exists = api.get_opt(name).await?.is_some();
                let params = PatchParams::apply(SCENARIO_MANAGER).force();
                let written = api.patch(name, &params, &Patch::Apply(&dynamic)).await?;
                if exists {
                    self.observed.record_write(&kind, &written);
                    return Ok(());
                }
                written
            }
        };
        self.traces.created.push(CreatedObject::of(&kind, &written));
        self.observed.record_write(&kind, &written);
        Ok(())
    }

    /// Submits a sample of the active preset, under another name if it differs from the sample's.
    async fn submit_sample(&mut self, sample: &str, name: &str) -> Result<(), String> {
        let presets = self.environment.presets.as_ref();
        let state = presets.ok_or("this lab has no presets folder")?.state();
        let active = state
            .presets
            .iter()
            .find(|p| Some(&p.name) == state.active.as_ref());
        let found = active.and_then(|p| p.samples.iter().find(|s| s.name == sample));
        let Some(found) = found else {
            let preset = state.active.as_deref().unwrap_or("none");
            return Err(format!(
                "the active preset, {preset}, has no sample {sample:?}"
            ));
        };
        let in_file = |e: &dyn std::fmt::Display| format!("{}: {e}", found.file);
        if found.is_task {
            let task = Task::parse(&found.text).map_err(|e| in_file(&e))?;
            let launched = self.environment.jobs.launch(task, Some(name)).await;
            let id = launched.map_err(|e| e.to_string())?;
            self.observed.job_ids.insert(name.to_owned(), id);
            return Ok(());
        }
        let documents = parse(&found.text, Limits::default()).map_err(|e| in_file(&e))?;
        for document in documents.iter().filter(|document| !document.is_null()) {
            let mut object = document.to_json();
            if name != sample && object["metadata"]["name"] == sample {
                object["metadata"]["name"] = name.into();
            }
            self.apply(&object).await.map_err(|e| in_file(&e))?;
        }
        Ok(())
    }

    /// The selected objects. Fails if there is none.
    fn selected_objects(
        &self,
        selector: &Selector,
    ) -> Result<Vec<(Api<DynamicObject>, String)>, String> {
        let kind = (selector.api_version.clone(), selector.kind.clone());
        let found: Vec<_> = self
            .observed
            .select(selector)
            .into_iter()
            .map(|o| {
                let text = |field: &str| o["metadata"][field].as_str();
                let api = self.api(&kind, text("namespace"));
                (api, text("name").unwrap_or_default().to_owned())
            })
            .collect();
        if !found.is_empty() {
            return Ok(found);
        }
        // The watch may not have delivered a new object yet; a full name is enough then.
        match &selector.name {
            Some(name) if !name.contains('*') => {
                let api = self.api(&kind, selector.namespace.as_deref());
                Ok(vec![(api, name.clone())])
            }
            _ => Err(format!("there is no {selector}")),
        }
    }

    fn api(&self, kind: &ApiVersionKind, namespace: Option<&str>) -> Api<DynamicObject> {
        let client = self.environment.client.clone();
        match namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource(kind)),
            None if is_cluster_scoped(&kind.1) => Api::all_with(client, &resource(kind)),
            None => Api::default_namespaced_with(client, &resource(kind)),
        }
    }
}

/// The kind of the pods that a step can end.
pub(super) const POD_KIND: (&str, &str) = ("v1", "Pod");

fn is_running(pod: &Value) -> bool {
    pod["status"]["phase"] == "Running" && pod["metadata"]["deletionTimestamp"].is_null()
}

/// Whether a pod, or the owner of a pod, matches one of some patterns.
fn is_pod_of(pod: &Value, jobs: &[String]) -> bool {
    let metadata = &pod["metadata"];
    let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
    let names = owners.map(|owner| &owner["name"]);
    let mut names = names.chain([&metadata["name"]]).filter_map(Value::as_str);
    let namespace = metadata["namespace"].as_str().unwrap_or_default();
    names.any(|name| {
        jobs.iter().any(|pattern| match pattern.split_once('/') {
            Some((of, pattern)) => glob_matches(of, namespace) && glob_matches(pattern, name),
            None => glob_matches(pattern, name),
        })
    })
}

/// Whether a kind without a namespace in the scenario is cluster-scoped.
fn is_cluster_scoped(kind: &str) -> bool {
    matches!(
        kind,
        "ClusterQueue"
            | "Cohort"
            | "ResourceFlavor"
            | "AdmissionCheck"
            | "MultiKueueCluster"
            | "WorkloadPriorityClass"
            | "ProvisioningRequestConfig"
            | "Topology"
            | "Node"
            | "Namespace"
            | "PriorityClass"
            | "CustomResourceDefinition"
    )
}

/// The error of a preset that cannot be applied.
pub(super) fn preset_error(what: &str, findings: &[kueue_lab_presets::Finding]) -> String {
    let messages: Vec<_> = findings.iter().map(ToString::to_string).collect();
    format!("{what} cannot be applied: {}", messages.join("; "))
}
