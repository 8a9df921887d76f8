//! Submitting sample Jobs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use kube::Client;
use kube::api::PostParams;
use kueue_lab_codec::Codec;
use kueue_lab_controller_runtime::Api;
use kueue_lab_controller_runtime::api_errors::error_message;
use serde_json::json;

use super::Action;
use crate::backend::{Backend, OperationError};
use crate::msg::{Cmd, Msg};
use crate::operation::Operation;
use crate::state::{Dialog, SampleJob, State, SubmitForm, UnavailableReason, requires};
use crate::views;
use kueue_lab_api::constants::{PRIORITY_CLASS_LABEL, QUEUE_LABEL};

/// Opens the form for sample Jobs, with the LocalQueue of the current row.
#[derive(Debug)]
pub(crate) struct OpenSubmitForm;

impl Action for OpenSubmitForm {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        requires::submission(state)?;
        match state.data.local_queues.is_empty() {
            true => Err(UnavailableReason::because(
                "there is no LocalQueue to submit to; apply a preset with one (p)",
            )),
            false => Ok(()),
        }
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        let row = state.current_row();
        let preferred = row.and_then(|row| views::of_row(row).local_queue(state, row));
        let form = match preferred {
            None => last_form(state).or_else(|| SubmitForm::new(&state.data, None)),
            Some(queue) => SubmitForm::new(&state.data, Some(&queue)),
        };
        state.ui.dialog = form.map(Dialog::Form);
        Vec::new()
    }
}

/// The form as it was submitted last, if its LocalQueue still exists.
fn last_form(state: &State) -> Option<SubmitForm> {
    let mut form = state.ui.last_form.clone()?;
    state.data.local_queues.get(&form.queue()?)?;
    form.reload_resources(&state.data);
    Some(form)
}

/// Submits sample Jobs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SubmitJob(pub(crate) SampleJob);

impl Operation for SubmitJob {
    async fn run(self, backend: Backend, _: Timestamp) -> Msg {
        Msg::OperationFinished(submit_job(&backend.client, &self.0).await)
    }
}

/// Submits sample Jobs; returns one sentence about the created Jobs.
///
/// # Errors
/// The API server rejects a Job.
pub async fn submit_job(client: &Client, sample: &SampleJob) -> Result<String, OperationError> {
    let api: Api<Job> = Api::namespaced(client.clone(), &sample.queue.namespace);
    let job = sample_job(sample)?;
    let mut names = Vec::new();
    for _ in 0..sample.copies {
        match api.create(&PostParams::default(), &job).await {
            Ok(created) => names.extend(created.metadata.name),
            Err(error) => {
                let progress = match names.len() {
                    0 => String::new(),
                    n => format!(" (after {n} of {})", sample.copies),
                };
                return Err(OperationError(format!(
                    "cannot submit to {}{progress}: {}",
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

/// A suspended Job whose pods sleep; limits equal requests.
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
    Job::from_value(&json!({
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
    .map_err(|e| OperationError(format!("cannot make a Job of the form: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ObjectKey;

    #[test]
    fn a_sample_is_a_suspended_job_in_its_queue() {
        let sample = SampleJob {
            queue: ObjectKey::new("ml", "research"),
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
