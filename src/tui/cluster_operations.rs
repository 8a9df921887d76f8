//! The actions that need nothing but a cluster: submitting sample Jobs and deleting objects. A bare
//! UI has these; a lab adds presets and demos to them.

use std::collections::BTreeMap;

use async_trait::async_trait;
use k8s_openapi::api::batch::v1::Job;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

use super::fetch::{api_for, error_message};
use super::operations::{ObjectRef, OperationError, Operations, SampleJob};
use kueue_lab_api::constants::{PRIORITY_CLASS_LABEL, QUEUE_LABEL};

/// Actions on a cluster.
#[derive(Clone)]
pub struct ClusterOperations {
    client: Client,
}

impl ClusterOperations {
    /// Actions through this client.
    pub fn new(client: Client) -> Self {
        Self { client }
    }
}

#[async_trait]
impl Operations for ClusterOperations {
    async fn submit_job(&self, sample: &SampleJob) -> Result<String, OperationError> {
        let api: Api<Job> = Api::namespaced(self.client.clone(), &sample.queue.namespace);
        let job = sample_job(sample)?;
        let mut names = Vec::new();
        for _ in 0..sample.copies {
            let made = api.create(&PostParams::default(), &job).await;
            match made {
                Ok(made) => names.extend(made.metadata.name),
                Err(error) => {
                    let so_far = match names.len() {
                        0 => String::new(),
                        n => format!(" (after {n} of {})", sample.copies),
                    };
                    return Err(OperationError::Failed(format!(
                        "cannot submit to {}{so_far}: {}",
                        sample.queue,
                        error_message(&error)
                    )));
                }
            }
        }
        Ok(match names.as_slice() {
            [one] => format!("submitted Job {one} to {}", sample.queue),
            many => format!("submitted {} Jobs to {}", many.len(), sample.queue),
        })
    }

    async fn delete(&self, target: &ObjectRef) -> Result<String, OperationError> {
        let failed = |why: String| OperationError::Failed(format!("cannot delete {target}: {why}"));
        let api = api_for(&self.client, target).await.map_err(failed)?;
        match api
            .delete(&target.key.name, &DeleteParams::background())
            .await
        {
            Ok(_) => Ok(format!("deleted {target}")),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(format!("{target} is gone")),
            Err(error) => Err(failed(error_message(&error))),
        }
    }
}

/// The Job for a sample: it sleeps, and its requests are its limits.
fn sample_job(sample: &SampleJob) -> Result<Job, OperationError> {
    let requests: BTreeMap<&str, &str> = sample
        .requests
        .iter()
        .map(|(name, amount)| (name.as_str(), amount.as_str()))
        .collect();
    let mut labels = BTreeMap::from([(QUEUE_LABEL, sample.queue.name.as_str())]);
    if let Some(class) = &sample.priority_class {
        labels.insert(PRIORITY_CLASS_LABEL, class);
    }
    serde_json::from_value(json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": "sample-", "labels": labels},
        "spec": {
            "suspend": true,
            "parallelism": sample.pods,
            "completions": sample.pods,
            "template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{
                    "name": "sleep",
                    "image": "busybox:1.36",
                    "command": ["sleep", sample.seconds.to_string()],
                    "resources": {"requests": requests, "limits": requests},
                }],
            }},
        },
    }))
    .map_err(|e| OperationError::Failed(format!("cannot make a Job of the form: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NamespacedName;

    #[test]
    fn a_sample_is_a_suspended_job_in_its_queue() {
        let sample = SampleJob {
            queue: NamespacedName::new("ml", "research"),
            pods: 3,
            requests: vec![("nvidia.com/gpu".to_owned(), "2".to_owned())],
            priority_class: Some("high".to_owned()),
            seconds: 30,
            copies: 1,
        };
        let job = sample_job(&sample).unwrap();
        let labels = job.metadata.labels.unwrap();
        assert_eq!(labels[QUEUE_LABEL], "research");
        assert_eq!(labels[PRIORITY_CLASS_LABEL], "high");
        let spec = job.spec.unwrap();
        assert_eq!((spec.suspend, spec.parallelism), (Some(true), Some(3)));
        let pod = spec.template.spec.unwrap();
        let limits = pod.containers[0].resources.clone().unwrap().limits.unwrap();
        assert_eq!(limits["nvidia.com/gpu"].0, "2");
    }
}
