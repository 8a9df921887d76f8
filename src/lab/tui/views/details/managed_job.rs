//! Details of a managed job of SkyPilot: status, cluster, Pods and their Workloads.

use crate::model::Kind;
use crate::model::managed_job::ManagedJobRow;
use crate::model::pod::PodRow;
use crate::model::{Row, SKYPILOT_CLUSTER_LABEL};
use crate::state::State;
use crate::text::{age, human_duration};
use crate::theme::Role;
use crate::views::jobs::status_role;
use crate::widgets::PageBuilder;

/// The most Pods and Events listed.
const MAX_ROWS: usize = 60;

/// The Pods of the current cluster of a job.
pub(in crate::views) fn pods<'a>(
    state: &'a State,
    job: &'a ManagedJobRow,
) -> impl Iterator<Item = &'a PodRow> {
    let cluster = job.cluster.as_ref();
    let of_cluster = move |pod: &&PodRow| {
        let label = pod.meta.labels.get(SKYPILOT_CLUSTER_LABEL);
        label.is_some() && label == cluster
    };
    state.data.pods.iter().filter(of_cluster)
}

/// Writes the details of a managed job.
pub(in crate::views) fn write(state: &State, job: &ManagedJobRow, page: &mut PageBuilder<'_>) {
    let now = state.data.now;
    page.field("Job", &job.title(), Role::Bold);
    page.field("Status", &job.status, status_role(job));
    if !job.details.is_empty() {
        page.field("Details", &job.details, Role::Text);
    }
    if !job.requested.is_empty() {
        page.field("Requested", &job.requested, Role::Text);
    }
    page.field("Recoveries", &job.recoveries.to_string(), Role::Text);
    let duration = human_duration(job.job_duration(now).as_secs());
    page.field(
        "Duration",
        &format!("{duration} of its commands"),
        Role::Text,
    );
    page.field("Submitted", &ago(state, job.submitted_at), Role::Text);
    if job.ended_at.is_some() {
        page.field("Ended", &ago(state, job.ended_at), Role::Text);
    }
    page.field("Cluster", job.cluster.as_deref().unwrap_or("-"), Role::Text);

    page.section("Pods");
    let pods: Vec<&PodRow> = pods(state, job).collect();
    if pods.is_empty() {
        page.text("None.", Role::Dim);
    } else {
        let titles = ["POD", "PHASE", "NODE", "WORKLOAD"];
        page.list(&titles, pods.iter(), MAX_ROWS, |pod| {
            let workload = state.derived.workload_of(pod.key());
            let phase = match pod.meta.deleting {
                true => "Terminating".to_owned(),
                false => pod.phase.clone(),
            };
            let node = pod.node.clone();
            let workload = workload.map(ToString::to_string).unwrap_or_default();
            vec![
                (pod.key().to_string(), Role::Text),
                (phase, Role::Text),
                (node, Role::Text),
                (workload, Role::Text),
            ]
        });
    }
    page.events(Kind::ManagedJob.name(), job.key(), MAX_ROWS);
}

fn ago(state: &State, at: Option<jiff::Timestamp>) -> String {
    match at {
        Some(_) => format!("{} ago", age(state.data.now, at)),
        None => "-".to_owned(),
    }
}
