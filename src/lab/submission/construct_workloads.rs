//! Constructs the Workloads of jobs: a lab in virtual time creates them, with its webhooks and controllers.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::SignedDuration;
use kube::Api;
use kube::Client;
use kube::api::ListParams;
use kueue_lab_api::config::Configuration;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_explain::{
    JobWithoutWorkload, NO_LOCAL_QUEUE_OF_TASK, jobs_without_workload, no_workload_reason,
};
use kueue_lab_lab::{KueueConfig, Lab, LabConfig, NodePools, VirtualLab, sky_config_file};
use serde_json::{Value, json};

use super::create_object::{CreateError, Validation, create_object};
use super::submission::{Submission, Submitted};
use super::submission_error::SubmissionError;

/// The longest time that a lab may take, in real time.
const DEADLINE: Duration = Duration::from_secs(60);
/// The time in which controllers construct Workloads, in lab time.
const LIMIT: SignedDuration = SignedDuration::from_mins(5);

/// The Workloads of a submission.
pub struct ConstructedWorkloads {
    /// The Workloads, without a status.
    pub workloads: Vec<Workload>,
    /// The jobs without a Workload.
    pub without_workload: Vec<JobWithoutWorkload>,
    /// The namespaces of the file's objects that the cluster does not have, in which the lab created them.
    pub created_namespaces: Vec<String>,
}

/// The Workloads of a submission, in a lab with these queues and this configuration of Kueue.
///
/// # Errors
/// The lab refuses an object, or no Workload is constructed.
pub fn construct_workloads(
    submission: &Submission,
    queues: &[Value],
    kueue: Option<KueueConfig>,
) -> Result<ConstructedWorkloads, SubmissionError> {
    // There is no preset.
    let folder = tempfile::tempdir()?;
    let configuration = kueue.as_ref().map(|kueue| kueue.configuration.clone());
    let lab = VirtualLab {
        deadline: Some(DEADLINE),
        ..VirtualLab::default()
    };
    let constructed = lab.run(
        |clock, entropy| {
            let mut config = LabConfig::embedded(clock, entropy, folder.path());
            config.components.kueue = kueue;
            config.components.nodes = NodePools::built_in();
            config
        },
        async |lab: &Lab| construct_in(lab, submission, queues, configuration.as_ref()).await,
    );
    constructed?
}

async fn construct_in(
    lab: &Lab,
    submission: &Submission,
    queues: &[Value],
    configuration: Option<&Configuration>,
) -> Result<ConstructedWorkloads, SubmissionError> {
    let client = lab.client();
    for object in queues {
        create_unless_exists(&client, object).await?;
    }
    let file = &submission.file;
    let (mut created_objects, mut created_namespaces) = (Vec::new(), Vec::new());
    match &submission.submitted {
        Submitted::Objects(objects) => {
            let objects_of_file: Vec<&Value> = objects.iter().map(|object| &object.value).collect();
            for name in missing_namespaces(&objects_of_file, queues) {
                let namespace = json!({
                    "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
                if create_unless_exists(&client, &namespace).await? {
                    created_namespaces.push(name);
                }
            }
            for object in objects {
                let created = create_object(&client, &object.value, Validation::Strict).await;
                match created {
                    Ok(created) => {
                        let mut object = object.value.clone();
                        // A webhook can set the label of the default LocalQueue.
                        object["metadata"] = created["metadata"].clone();
                        created_objects.push(object);
                    }
                    Err(error) => {
                        let text = error.with_source(&client, object, file).await;
                        return Err(SubmissionError::Invalid(text));
                    }
                }
            }
        }
        Submitted::Tasks(tasks) => {
            let jobs = lab.jobs().clone().in_namespace(&submission.namespace);
            // The LocalQueue is in the user's configuration of SkyPilot.
            let jobs = match sky_config_file().filter(|file| file.exists()) {
                Some(file) => jobs.with_config_file(file),
                None => jobs,
            };
            for task in tasks {
                let launched = jobs.launch(task.clone(), None).await;
                launched.map_err(|error| file.error(&error.to_string()))?;
            }
        }
    }
    lab.wait_until_idle(lab.clock().now() + LIMIT).await;
    let workloads: Api<Workload> = Api::all(client.clone());
    let listed = workloads.list(&ListParams::default()).await;
    let mut workloads = listed?.items;
    if workloads.is_empty() {
        let why = match submission.submitted {
            Submitted::Objects(_) => {
                no_workload_reason(&client, &created_objects, configuration).await
            }
            Submitted::Tasks(_) => NO_LOCAL_QUEUE_OF_TASK.to_owned(),
        };
        return Err(file.error(&why));
    }
    let without_workload =
        jobs_without_workload(&client, &created_objects, &workloads, configuration).await;
    for wl in &mut workloads {
        wl.status = Default::default();
    }
    Ok(ConstructedWorkloads {
        workloads,
        without_workload,
        created_namespaces,
    })
}

/// Creates an object that the lab may have itself; returns whether it did not.
async fn create_unless_exists(client: &Client, object: &Value) -> Result<bool, SubmissionError> {
    match create_object(client, object, Validation::Warn).await {
        Ok(_) => Ok(true),
        Err(CreateError::Refused(status)) if status.code == 409 => Ok(false),
        Err(error) => Err(SubmissionError::Refused(error.text(object))),
    }
}

/// The namespaces of objects of a file that neither the file nor the cluster has.
fn missing_namespaces(objects: &[&Value], queues: &[Value]) -> BTreeSet<String> {
    let all = objects.iter().copied().chain(queues);
    let namespaces = all.filter(|object| object["kind"] == "Namespace");
    let known: BTreeSet<&str> = namespaces
        .filter_map(|namespace| namespace["metadata"]["name"].as_str())
        .chain(["default"])
        .collect();
    let used = objects
        .iter()
        .filter_map(|object| object["metadata"]["namespace"].as_str());
    let missing = used.filter(|name| !name.is_empty() && !known.contains(name));
    missing.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_of_the_file_and_of_the_cluster_are_not_missing() {
        let namespace = |name: &str| json!({"kind": "Namespace", "metadata": {"name": name}});
        let job = |name: &str| json!({"kind": "Job", "metadata": {"namespace": name}});
        let (own, of_file) = (namespace("own"), namespace("file"));
        let jobs = ["own", "file", "default", "other", "other", ""].map(job);
        let mut objects: Vec<&Value> = jobs.iter().collect();
        objects.push(&of_file);
        let missing = missing_namespaces(&objects, &[own]);
        assert_eq!(missing.into_iter().collect::<Vec<_>>(), ["other"]);
    }
}
