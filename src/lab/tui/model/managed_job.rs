//! Managed jobs of SkyPilot as rows.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kueue_lab_codec::{impl_codec, impl_resource};
use serde::{Deserialize, Serialize};

use super::meta::Meta;
use super::{ObjectKey, Row};
use crate::text::sanitize;

/// The kind `ManagedJob` of a lab: a job of `sky jobs launch`, with the fields that the UI shows.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct ManagedJob {
    metadata: ObjectMeta,
    status: ManagedJobObjectStatus,
}

impl_codec!(ManagedJob);
impl_resource!(cluster ManagedJob "skypilot.kueue-lab.dev" "v1alpha1" "managedjobs");

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct ManagedJobObjectStatus {
    job: Option<JobStatus>,
    error: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
struct JobStatus {
    id: u64,
    name: String,
    requested: String,
    status: String,
    submitted_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    recoveries: u32,
    details: Option<String>,
    cluster: Option<String>,
    ran: String,
    running_since: Option<Timestamp>,
}

/// A managed job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManagedJobRow {
    /// Metadata.
    pub(crate) meta: Meta,
    /// The id of the job, from 1; `None` before it is submitted.
    pub(crate) id: Option<u64>,
    /// The name of the job, or else of the object.
    pub(crate) name: String,
    /// Requested resources, such as `1x[CPU:6]`.
    pub(crate) requested: String,
    /// The status in `sky jobs queue`, such as `RECOVERING`; `REJECTED` for a task that is invalid.
    pub(crate) status: String,
    /// The start of the job controller.
    pub(crate) submitted_at: Option<Timestamp>,
    /// The end of the job.
    pub(crate) ended_at: Option<Timestamp>,
    /// The number of recoveries.
    pub(crate) recoveries: u32,
    /// The details of the status, or why the job was rejected.
    pub(crate) details: String,
    /// The name of its cluster in Kubernetes, once launched.
    pub(crate) cluster: Option<String>,
    /// How long its commands ran before `running_since`.
    ran: SignedDuration,
    running_since: Option<Timestamp>,
}

impl ManagedJobRow {
    /// Converts an object.
    pub(crate) fn of(object: &ManagedJob) -> Self {
        let meta = Meta::of(&object.metadata);
        let status = &object.status;
        let error = status.error.as_deref().map(sanitize);
        let Some(job) = &status.job else {
            return Self {
                name: meta.key.name.clone(),
                status: if error.is_some() { "REJECTED" } else { "-" }.to_owned(),
                details: error.unwrap_or_default(),
                meta,
                ..Self::default()
            };
        };
        Self {
            meta,
            id: Some(job.id),
            name: sanitize(&job.name),
            requested: sanitize(&job.requested),
            status: sanitize(&job.status),
            submitted_at: job.submitted_at,
            ended_at: job.ended_at,
            recoveries: job.recoveries,
            details: error.unwrap_or_else(|| sanitize(job.details.as_deref().unwrap_or_default())),
            cluster: job.cluster.as_deref().map(sanitize),
            ran: job.ran.parse().unwrap_or_default(),
            running_since: job.running_since,
        }
    }

    /// Whether the job has ended or was rejected.
    pub(crate) fn is_final(&self) -> bool {
        matches!(
            self.status.as_str(),
            "SUCCEEDED" | "FAILED" | "CANCELLED" | "REJECTED"
        )
    }

    /// How long the commands of the job ran, without queueing and recoveries.
    pub(crate) fn job_duration(&self, now: Timestamp) -> SignedDuration {
        let current = self.running_since.map(|since| now.duration_since(since));
        self.ran.saturating_add(current.unwrap_or_default())
    }

    /// The id and the name.
    pub(crate) fn title(&self) -> String {
        match self.id {
            Some(id) => format!("managed job {id} ({})", self.name),
            None => format!("managed job {}", self.name),
        }
    }
}

impl Row for ManagedJobRow {
    fn key(&self) -> &ObjectKey {
        &self.meta.key
    }
}

#[cfg(test)]
mod tests {
    use kueue_lab_codec::Codec;
    use serde_json::json;

    use super::*;

    fn row(status: serde_json::Value) -> ManagedJobRow {
        let object = json!({
            "apiVersion": "skypilot.kueue-lab.dev/v1alpha1", "kind": "ManagedJob",
            "metadata": {"name": "job-x"}, "status": status,
        });
        ManagedJobRow::of(&ManagedJob::from_value(&object).unwrap())
    }

    #[test]
    fn the_duration_counts_time_in_which_the_commands_run() {
        let job = json!({
            "id": 3, "name": "train", "requested": "1x[CPU:6]", "status": "RUNNING",
            "ran": "PT30S", "runningSince": "2026-03-02T12:00:00Z",
        });
        let row = row(json!({"job": job}));
        let now = "2026-03-02T12:00:10Z".parse().unwrap();
        assert_eq!(row.job_duration(now), SignedDuration::from_secs(40));
        assert_eq!(row.title(), "managed job 3 (train)");
        assert!(!row.is_final());
    }

    #[test]
    fn a_rejected_job_has_a_reason_and_no_id() {
        let row = row(json!({"error": "task.yaml: `num_nodes` has to be a number"}));
        assert_eq!((row.id, row.status.as_str()), (None, "REJECTED"));
        assert!(row.is_final() && row.details.contains("num_nodes"));
    }
}
