//! Makes the Workloads of jobs: a lab in virtual time creates them, with its webhooks and controllers.

use std::path::Path;
use std::time::Duration;

use jiff::SignedDuration;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::discovery::{Scope, pinned_kind};
use kube::{Api, Client, Resource};
use kueue_lab_api::config::Configuration;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_lab::{KueueConfig, Lab, LabConfig, NodePools, VirtualLab, sky_config_file};
use serde_json::Value;

use super::submission::Submission;
use super::why_no_workload::why_no_workload;
use crate::cli::CliError;

/// The longest time that a lab may take, in real time.
const DEADLINE: Duration = Duration::from_secs(60);
/// The time in which controllers make Workloads, in lab time.
const LIMIT: SignedDuration = SignedDuration::from_mins(5);

/// The Workloads of a submission, in a lab with these queues and this configuration of Kueue.
///
/// # Errors
/// The lab refuses an object, or no Workload is made.
pub(super) fn make_workloads(
    file: &Path,
    submission: &Submission,
    queues: &[Value],
    kueue: Option<KueueConfig>,
) -> Result<Vec<Workload>, CliError> {
    let folder = std::env::temp_dir();
    let configuration = kueue.as_ref().map(|kueue| kueue.configuration.clone());
    let lab = VirtualLab {
        deadline: Some(DEADLINE),
        ..VirtualLab::default()
    };
    let made = lab.run(
        |clock, entropy| LabConfig {
            kueue,
            nodes: NodePools::built_in(),
            ..LabConfig::embedded(clock, entropy, folder)
        },
        async |lab: &Lab| made_in(lab, file, submission, queues, configuration.as_ref()).await,
    );
    made.map_err(CliError::failed)?
}

async fn made_in(
    lab: &Lab,
    file: &Path,
    submission: &Submission,
    queues: &[Value],
    configuration: Option<&Configuration>,
) -> Result<Vec<Workload>, CliError> {
    let client = lab.client();
    for object in queues {
        match create(&client, object, Validation::Warn).await {
            Err(CreateError::Refused(status)) if status.code == 409 => {}
            created => created.map_err(|error| CliError::Failed(error.text(object)))?,
        }
    }
    let refused = |message: String| CliError::Usage(format!("{}: {message}", file.display()));
    match submission {
        Submission::Objects(objects) => {
            for object in objects {
                let created = create(&client, object, Validation::Strict).await;
                created.map_err(|error| refused(error.text(object)))?;
            }
        }
        Submission::Tasks(tasks) => {
            // The LocalQueue is in the user's configuration of SkyPilot.
            let jobs = match sky_config_file().filter(|file| file.exists()) {
                Some(file) => lab.jobs().clone().with_config_file(file),
                None => lab.jobs().clone(),
            };
            for task in tasks {
                let launched = jobs.launch(task.clone(), None).await;
                launched.map_err(|error| refused(error.to_string()))?;
            }
        }
    }
    lab.wait_until_idle(lab.clock().now() + LIMIT).await;
    let workloads: Api<Workload> = Api::all(client.clone());
    let listed = workloads.list(&ListParams::default()).await;
    let mut workloads = listed.map_err(CliError::failed)?.items;
    if workloads.is_empty() {
        let objects = match submission {
            Submission::Objects(objects) => objects.as_slice(),
            Submission::Tasks(_) => &[],
        };
        let why = why_no_workload(&client, objects, configuration).await;
        return Err(refused(why));
    }
    for wl in &mut workloads {
        wl.status = Default::default();
    }
    Ok(workloads)
}

/// Why an object was not created.
enum CreateError {
    /// The lab has no such kind.
    NoKind,
    /// The API server refused it.
    Refused(Box<kube::core::Status>),
    /// Another error.
    Other(String),
}

impl CreateError {
    fn text(&self, object: &Value) -> String {
        let of = |field: &str| object[field].as_str().unwrap_or_default();
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let reason = match self {
            CreateError::NoKind => {
                format!("the lab has no kind {} of {}", of("kind"), of("apiVersion"))
            }
            CreateError::Refused(status) => status.message.clone(),
            CreateError::Other(message) => message.clone(),
        };
        format!("{} {name}: {reason}", of("kind"))
    }
}

/// How the API server treats unknown fields.
#[derive(Clone, Copy, Debug)]
enum Validation {
    /// It leaves them out.
    Warn,
    /// It refuses the object, as with kubectl.
    Strict,
}

async fn create(
    client: &Client,
    object: &Value,
    validation: Validation,
) -> Result<(), CreateError> {
    let of = |field: &str| object[field].as_str().unwrap_or_default();
    let (group, version) = of("apiVersion")
        .split_once('/')
        .unwrap_or(("", of("apiVersion")));
    let gvk = GroupVersionKind::gvk(group, version, of("kind"));
    let found = pinned_kind(client, &gvk).await;
    let (resource, capabilities): (ApiResource, _) = found.map_err(|_| CreateError::NoKind)?;
    let namespace = object["metadata"]["namespace"]
        .as_str()
        .unwrap_or("default");
    let mut object = object.clone();
    let namespace = match capabilities.scope {
        Scope::Namespaced => Some(namespace.to_owned()),
        Scope::Cluster => {
            object["metadata"]["namespace"].take();
            None
        }
    };
    let path = DynamicObject::url_path(&resource, namespace.as_deref());
    let validation = match validation {
        Validation::Warn => "Warn",
        Validation::Strict => "Strict",
    };
    let request = http::Request::post(format!("{path}?fieldValidation={validation}"))
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(object.to_string().into_bytes());
    let request = request.map_err(|error| CreateError::Other(error.to_string()))?;
    match client.request::<Value>(request).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => Err(CreateError::Refused(status)),
        Err(error) => Err(CreateError::Other(error.to_string())),
    }
}
