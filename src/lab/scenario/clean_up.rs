//! Removes the objects of a scenario from a lab that keeps running.

use kube::ResourceExt;
use kube::api::{ApiResource, DeleteParams, DynamicObject};
use kueue_lab_controller_runtime::Api;
use kueue_lab_controller_runtime::api_errors::is_not_found;

use super::environment::ScenarioEnvironment;

/// The clean-up of a run of a scenario: the objects and jobs to remove, and the preset to activate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScenarioCleanUp {
    /// The preset that was active before, if there are presets.
    pub(super) preset: Option<String>,
    /// The objects that the run created.
    pub(super) created: Vec<CreatedObject>,
    /// The managed jobs that it launched.
    pub(super) jobs: Vec<u64>,
}

/// An object that a run created.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CreatedObject {
    resource: ApiResource,
    namespace: Option<String>,
    name: String,
}

impl CreatedObject {
    /// The created object of a resource.
    pub(super) fn of(resource: &ApiResource, object: &DynamicObject) -> Self {
        Self {
            resource: resource.clone(),
            namespace: object.namespace(),
            name: object.name_any(),
        }
    }
}

impl ScenarioCleanUp {
    /// The clean-up at the start of a run.
    pub(super) fn of(environment: &ScenarioEnvironment) -> Self {
        let presets = environment.presets.as_ref();
        Self {
            preset: presets.and_then(|presets| presets.state().active.clone()),
            ..Self::default()
        }
    }

    /// Cancels the jobs, deletes the created objects, and applies the preset that was active before the run
    /// with all of its fields. Returns one line for each problem.
    pub async fn run(&self, environment: &ScenarioEnvironment) -> Vec<String> {
        let mut problems = Vec::new();
        for job in &self.jobs {
            environment.jobs.cancel(*job);
        }
        for CreatedObject {
            resource,
            namespace,
            name,
        } in self.created.iter().rev()
        {
            let client = environment.client.clone();
            let api: Api<DynamicObject> = match namespace {
                Some(namespace) => Api::namespaced_with(client, namespace, resource),
                None => Api::all_with(client, resource),
            };
            match api.delete(name, &DeleteParams::background()).await {
                Err(error) if !is_not_found(&error) => {
                    problems.push(format!("{} {name} is not deleted: {error}", resource.kind));
                }
                _ => {}
            }
        }
        let Some(presets) = &environment.presets else {
            return problems;
        };
        let active = presets.state().active.clone();
        let restored = match &self.preset {
            Some(before) if active.as_ref() != Some(before) => presets.switch(before).await,
            _ => presets.restore().await,
        };
        let findings = restored.err().unwrap_or_default();
        problems.extend(findings.iter().map(ToString::to_string));
        problems
    }
}
