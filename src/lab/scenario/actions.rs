//! The actions of a scenario's steps.

use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kueue_lab_controller_runtime::Api;
use kueue_lab_presets::SCENARIO_MANAGER;
use kueue_lab_skypilot::Task;
use kueue_lab_yaml::{Limits, parse};
use serde_json::{Value, json};

use super::action_error::ActionError;
use super::clean_up::CreatedObject;
use super::delete_step::delete_step;
use super::kind_discovery::ServedKind;
use super::observed_state::{ApiVersionKind, resource};
use super::run::{ScenarioRun, add_duration};
use super::scenario::StepAction;
use super::selector::Selector;

/// The kinds of applied objects whose status is written too.
const KINDS_WITH_STATUS: [&str; 2] = ["AdmissionCheck", "Node"];

impl ScenarioRun<'_> {
    pub(super) async fn run_action(&mut self, action: &StepAction) -> Result<(), ActionError> {
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
                let Some(id) = self.observed.job_ids.get(name) else {
                    let message = format!(
                        "{name} is no managed job; delete its objects, as with {}",
                        delete_step("Job", name)
                    );
                    return Err(message.into());
                };
                self.environment.jobs.cancel(*id);
                Ok(())
            }
            StepAction::SwitchPreset(preset) => match &self.environment.presets {
                None => Err("this lab has no presets folder".into()),
                Some(presets) => {
                    let switched = presets.switch(preset).await;
                    let what = format!("the preset {preset}");
                    Ok(switched.map_err(|findings| preset_error(&what, &findings))?)
                }
            },
            StepAction::Apply(objects) => {
                for object in objects {
                    self.apply(object).await?;
                }
                Ok(())
            }
            StepAction::Create(objects) => {
                for object in objects {
                    self.create(object).await?;
                }
                Ok(())
            }
            StepAction::Patch {
                object,
                merge,
                subresource,
            } => {
                let patch = Patch::Merge(self.with_times(merge));
                let params = PatchParams {
                    field_manager: Some(SCENARIO_MANAGER.to_owned()),
                    ..PatchParams::default()
                }
                .validation_strict();
                let kind = (object.api_version.clone(), object.kind.clone());
                for (api, name) in self.selected_objects(object).await? {
                    let patched = match subresource.as_deref() {
                        None => api.patch(&name, &params, &patch).await,
                        Some(sub) => api.patch_subresource(sub, &name, &params, &patch).await,
                    };
                    let written = patched?;
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
                    self.create(job).await?;
                }
                Ok(())
            }
            StepAction::EndPods { pods, succeed } => self.end_pods(pods, *succeed).await,
            StepAction::SetReady { pods, ready } => self.set_ready(pods, *ready).await,
            StepAction::DeletePods(pods) => self.delete_pods(pods).await,
            StepAction::SetActive { jobs, active } => self.set_active(jobs, *active).await,
            StepAction::SetPriority { jobs, class } => self.set_priority(jobs, class).await,
            StepAction::NodePower { node, on } => self.set_power(node, *on).await,
            StepAction::Taint { taint, add } => self.taint(taint, *add).await,
            StepAction::UpdateAdmissionCheck(update) => self.update_admission_check(update).await,
            StepAction::ActivateCheck { check, active } => {
                self.activate_check(check, *active).await
            }
            StepAction::UpdateProvisioningRequest(update) => {
                self.update_provisioning_request(update).await
            }
            StepAction::Delete(object) => {
                for (api, name) in self.selected_objects(object).await? {
                    api.delete(&name, &DeleteParams::background()).await?;
                }
                Ok(())
            }
        }
    }

    async fn apply(&mut self, object: &Value) -> Result<(), ActionError> {
        let Some(name) = object["metadata"]["name"].as_str() else {
            return self.create(object).await;
        };
        let (kind, served, dynamic) = self.writable(object).await?;
        let api = self.api_of(&served, dynamic.metadata.namespace.as_deref());
        let exists = api.get_opt(name).await?;
        let params = PatchParams::apply(SCENARIO_MANAGER).force();
        let params = params.validation_strict();
        let written = api.patch(name, &params, &Patch::Apply(&dynamic)).await?;
        if exists.is_none() {
            let created = CreatedObject::of(&served.resource, &written);
            self.clean_up.created.push(created);
        }
        self.write_status(&kind, object, &written).await?;
        self.observed.record_write(&kind, &written);
        Ok(())
    }

    async fn create(&mut self, object: &Value) -> Result<(), ActionError> {
        let (kind, served, dynamic) = self.writable(object).await?;
        let api = self.api_of(&served, dynamic.metadata.namespace.as_deref());
        let written = api.create_strict(&PostParams::default(), &dynamic).await?;
        let created = CreatedObject::of(&served.resource, &written);
        self.clean_up.created.push(created);
        self.write_status(&kind, object, &written).await?;
        self.observed.record_write(&kind, &written);
        Ok(())
    }

    /// An object as it is written, with its kind.
    async fn writable(
        &mut self,
        object: &Value,
    ) -> Result<(ApiVersionKind, ServedKind, DynamicObject), ActionError> {
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        let kind = (text("apiVersion"), text("kind"));
        let client = &self.environment.client;
        let served = self.kinds.find(client, &kind).await?;
        let dynamic = serde_json::from_value(object.clone()).map_err(|e| e.to_string())?;
        Ok((kind, served, dynamic))
    }

    /// Writes the status of an object of a kind whose status no controller of the lab writes. A Node is ready unless
    /// it has another condition.
    async fn write_status(
        &mut self,
        kind: &ApiVersionKind,
        object: &Value,
        written: &DynamicObject,
    ) -> Result<(), ActionError> {
        let name = written.metadata.name.as_deref();
        let has_status = KINDS_WITH_STATUS.contains(&kind.1.as_str());
        let mut status = object["status"].clone();
        match name.filter(|_| has_status && status.is_object()) {
            None => Ok(()),
            Some(name) => {
                if kind.1 == "Node" {
                    add_ready(&mut status, &written.data["status"]);
                }
                let patch = self.with_times(&json!({"status": status}));
                self.patch_status(kind, None, name, &patch).await
            }
        }
    }

    /// A patch in which the conditions of a status have the current time unless they have a time.
    fn with_times(&self, patch: &Value) -> Value {
        let mut patch = patch.clone();
        let now = json!(self.environment.clock.time());
        let conditions = patch.pointer_mut("/status/conditions");
        let conditions = conditions.and_then(Value::as_array_mut);
        for condition in conditions.into_iter().flatten() {
            if let Some(condition) = condition.as_object_mut() {
                let time = condition.entry("lastTransitionTime");
                time.or_insert_with(|| now.clone());
            }
        }
        patch
    }

    /// Submits a sample of the active preset, under another name if it differs from the sample's.
    async fn submit_sample(&mut self, sample: &str, name: &str) -> Result<(), ActionError> {
        let presets = self.environment.presets.as_ref();
        let state = presets.ok_or("this lab has no presets folder")?.state();
        let active = state
            .presets
            .iter()
            .find(|p| Some(&p.name) == state.active.as_ref());
        let found = active.and_then(|p| p.samples.iter().find(|s| s.name == sample));
        let Some(found) = found else {
            let preset = state.active.as_deref().unwrap_or("none");
            let message = format!("the active preset, {preset}, has no sample {sample:?}");
            return Err(message.into());
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
            let applied = self.apply(&object).await;
            applied.map_err(|e| e.in_file(&found.file))?;
        }
        Ok(())
    }

    /// The selected objects. Fails if there is none.
    async fn selected_objects(
        &mut self,
        selector: &Selector,
    ) -> Result<Vec<(Api<DynamicObject>, String)>, ActionError> {
        self.observe_changes().await;
        let kind = (selector.api_version.clone(), selector.kind.clone());
        let served = self.kinds.find(&self.environment.client, &kind).await?;
        let found: Vec<_> = self
            .observed
            .select(selector)
            .into_iter()
            .map(|o| {
                let text = |field: &str| o["metadata"][field].as_str();
                let api = self.api_of(&served, text("namespace"));
                (api, text("name").unwrap_or_default().to_owned())
            })
            .collect();
        if !found.is_empty() {
            return Ok(found);
        }
        // The watch may not have delivered a new object yet; a full name is enough then.
        match &selector.name {
            Some(name) if !name.contains('*') => {
                let api = self.api_of(&served, selector.namespace.as_deref());
                Ok(vec![(api, name.clone())])
            }
            _ => Err(format!("there is no {selector}").into()),
        }
    }

    /// The API of a kind in a namespace, by default that of the client.
    fn api_of(&self, served: &ServedKind, namespace: Option<&str>) -> Api<DynamicObject> {
        let client = self.environment.client.clone();
        match namespace {
            _ if !served.namespaced => Api::all_with(client, &served.resource),
            Some(namespace) => Api::namespaced_with(client, namespace, &served.resource),
            None => Api::default_namespaced_with(client, &served.resource),
        }
    }

    /// The API of a kind in a namespace, or of a cluster-scoped kind.
    pub(super) fn api(&self, kind: &ApiVersionKind, namespace: Option<&str>) -> Api<DynamicObject> {
        let client = self.environment.client.clone();
        match namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource(kind)),
            None => Api::all_with(client, &resource(kind)),
        }
    }
}

/// Adds the condition of a ready Node to a status, unless that or the status `before` has the condition.
fn add_ready(status: &mut Value, before: &Value) {
    let of = |status: &Value| status["conditions"].as_array().cloned().unwrap_or_default();
    let mut conditions = match of(status) {
        conditions if conditions.is_empty() => of(before),
        conditions => conditions,
    };
    if !conditions.iter().any(|c| c["type"] == "Ready") {
        conditions.push(json!({
            "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status",
        }));
        status["conditions"] = conditions.into();
    }
}

/// The error of a preset that cannot be applied.
pub(super) fn preset_error(what: &str, findings: &[kueue_lab_presets::Finding]) -> String {
    let messages: Vec<_> = findings.iter().map(ToString::to_string).collect();
    format!("{what} cannot be applied: {}", messages.join("; "))
}
