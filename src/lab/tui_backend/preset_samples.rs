//! Submission of preset samples: SkyPilot tasks become managed jobs, manifests their objects.

use kube::Client;
use kube::api::{DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::{Scope, pinned_kind};
use kueue_lab_controller_runtime::Api;
use serde_json::Value;

use kueue_lab_api::config::FeatureGates;
use kueue_lab_api::load::{self, Problem};
use kueue_lab_lab::request_error_message;
use kueue_lab_presets::{PresetsState, Sample};
use kueue_lab_skypilot::jobs::{ManagedJobSpec, ManagedJobs, SubmitError};
use kueue_lab_skypilot::{Task, TaskError};
use kueue_lab_tui::backend::OperationError;

/// The runner of the SkyPilot tasks of samples.
pub(crate) enum TaskTarget {
    /// The managed jobs of this process.
    Jobs(ManagedJobs),
    /// The lab of the cluster, by `ManagedJob` objects.
    Objects,
}

impl TaskTarget {
    /// Launches a task; returns one sentence about the job.
    async fn launch(&self, client: &Client, sample: &Sample) -> Result<String, SampleProblem> {
        let task = Task::parse(&sample.text)?;
        let name = task.name.clone().unwrap_or_else(|| sample.name.clone());
        let job = match self {
            Self::Jobs(jobs) => {
                let id = jobs.launch(task, None).await?;
                format!("managed job {id} ({name})")
            }
            Self::Objects => {
                let spec = ManagedJobSpec {
                    task: Some(sample.text.clone()),
                    ..ManagedJobSpec::default()
                };
                let api = Api::all_with(client.clone(), &ManagedJobSpec::api_resource());
                api.create(&PostParams::default(), &spec.object()).await?;
                format!("a managed job ({name})")
            }
        };
        Ok(format!(
            "launched {job}; `kueue-lab sky jobs queue` lists it"
        ))
    }
}

/// Why a sample is not submitted.
#[derive(Debug, thiserror::Error)]
enum SampleProblem {
    /// The file is not a SkyPilot task.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The managed job cannot be launched.
    #[error(transparent)]
    Launch(#[from] SubmitError),
    /// The manifests are invalid.
    #[error("{}", joined(.0))]
    Manifests(Vec<Problem>),
    /// The cluster does not serve the kind of an object.
    #[error("this cluster does not serve {kind} of {api_version}")]
    NotServed { kind: String, api_version: String },
    /// A manifest is no object of the Kubernetes API.
    #[error(transparent)]
    Object(#[from] serde_json::Error),
    /// The API server rejects an object, or cannot be reached.
    #[error("{}", request_error_message(.0))]
    Request(#[from] kube::Error),
}

fn joined(problems: &[Problem]) -> String {
    let all: Vec<_> = problems.iter().map(ToString::to_string).collect();
    all.join("; ")
}

/// Submits a sample of a preset; returns one sentence about the created objects.
///
/// # Errors
/// The sample does not exist or is invalid, or the API server rejects its objects.
pub(crate) async fn submit_named_sample(
    client: &Client,
    target: &TaskTarget,
    state: &PresetsState,
    preset: &str,
    sample: &str,
) -> Result<String, OperationError> {
    let preset_info = state.presets.iter().find(|p| p.name == preset);
    let found = preset_info.and_then(|p| p.samples.iter().find(|s| s.name == sample));
    let Some(found) = found else {
        return Err(OperationError(format!(
            "no sample {sample:?} of preset {preset:?} here: it is not in the folder"
        )));
    };
    let submitted = submit_preset_sample(client, target, found).await;
    submitted.map_err(|problem| OperationError(format!("{}: {problem}", found.file)))
}

async fn submit_preset_sample(
    client: &Client,
    target: &TaskTarget,
    sample: &Sample,
) -> Result<String, SampleProblem> {
    if sample.is_task {
        return target.launch(client, sample).await;
    }
    let loaded = load::objects(&sample.text, &FeatureGates::default());
    let objects = loaded.map_err(SampleProblem::Manifests)?;
    let mut created = Vec::new();
    for object in objects {
        created.push(create(client, object.value).await?);
    }
    Ok(format!("created {}", created.join(", ")))
}

/// Creates an object. If the name exists, the object gets a generated name with it as prefix, so that
/// the same sample can be submitted again.
async fn create(client: &Client, object: Value) -> Result<String, SampleProblem> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let (api_version, kind) = (
        text("/apiVersion").unwrap_or_default(),
        text("/kind").unwrap_or_default(),
    );
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let gvk = GroupVersionKind::gvk(group, version, kind);
    let found = pinned_kind(client, &gvk).await;
    let (resource, capabilities) = found.map_err(|_| SampleProblem::NotServed {
        kind: kind.to_owned(),
        api_version: api_version.to_owned(),
    })?;
    let namespace = text("/metadata/namespace").unwrap_or("default");
    let api: Api<DynamicObject> = match capabilities.scope {
        Scope::Cluster => Api::all_with(client.clone(), &resource),
        Scope::Namespaced => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let mut object: DynamicObject = serde_json::from_value(object.clone())?;
    let params = PostParams::default();
    let created = match api.create(&params, &object).await {
        Err(kube::Error::Api(status)) if status.code == 409 && status.reason == "AlreadyExists" => {
            let taken = object.metadata.name.take().unwrap_or_default();
            object.metadata.generate_name = Some(format!("{taken}-"));
            api.create(&params, &object).await
        }
        created => created,
    };
    let name = created?.metadata.name;
    Ok(format!("{kind} {}", name.unwrap_or_default()))
}
