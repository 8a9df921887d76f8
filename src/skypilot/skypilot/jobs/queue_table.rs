//! The output of `sky jobs queue`.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{ManagedJob, ManagedJobStatus};
use crate::table::{align, format_ago};

const COLUMNS: [&str; 11] = [
    "ID",
    "TASK",
    "NAME",
    "REQUESTED",
    "SUBMITTED",
    "TOT. DURATION",
    "JOB DURATION",
    "#RECOVERIES",
    "STATUS",
    "PROGRESS",
    "POOL",
];
const MORE_COLUMNS: [&str; 4] = ["WORKER_CLUSTER", "STARTED", "SCHED. STATE", "DETAILS"];

/// Renders the jobs as a table in the given order, below the count of jobs in progress. `all` adds the
/// columns of `-v` that apply to a lab.
pub fn queue_table(jobs: &[ManagedJob], now: Timestamp, all: bool) -> String {
    let mut counts: BTreeMap<ManagedJobStatus, usize> = BTreeMap::new();
    for job in jobs.iter().filter(|j| !j.status.is_final()) {
        *counts.entry(job.status).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.iter().map(|(s, n)| format!("{n} {s}")).collect();
    counts.sort();
    let head = match counts.is_empty() {
        true => "No in-progress managed jobs.".to_owned(),
        false => format!("In progress tasks: {}", counts.join(", ")),
    };
    if jobs.is_empty() {
        return head;
    }
    let mut columns = COLUMNS.to_vec();
    if all {
        columns.extend(MORE_COLUMNS);
    }
    let mut rows = vec![columns.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    rows.extend(jobs.iter().map(|job| row(job, now, all)));
    format!("{head}\n{}", align(&rows))
}

fn row(job: &ManagedJob, now: Timestamp, all: bool) -> Vec<String> {
    let none = || "-".to_owned();
    let mut row = vec![
        job.id.to_string(),
        none(),
        job.name.clone(),
        job.requested.clone(),
        job.submitted_at
            .map_or_else(none, |at| format_ago(now.duration_since(at))),
        format_duration(job.total_duration(now)),
        job.job_duration(now).map_or_else(none, format_duration),
        job.recoveries.to_string(),
        job.status.to_string(),
        none(),
        none(),
    ];
    if all {
        row.push(job.cluster.clone().unwrap_or_else(none));
        row.push(
            job.started_at
                .map_or_else(none, |at| format_ago(now.duration_since(at))),
        );
        row.push(job.schedule_state.as_str().to_owned());
        row.push(job.details.clone().unwrap_or_else(none));
    }
    row
}

/// `2m 31s`, `1h 4m 7s`.
fn format_duration(time: SignedDuration) -> String {
    let seconds = time.as_secs().max(0);
    let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (h, m) {
        (0, 0) => format!("{s}s"),
        (0, m) => format!("{m}m {s}s"),
        (h, m) => format!("{h}h {m}m {s}s"),
    }
}
