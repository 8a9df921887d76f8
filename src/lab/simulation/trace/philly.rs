//! The job log of Philly (`cluster_job_log`): a JSON list of jobs with their scheduling attempts.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde::Deserialize;

use super::error::RecordError;
use super::fields::{between, is_missing, time};
use super::job::{PodRequests, PodSets, TraceJob, spec};

/// A job.
#[derive(Deserialize)]
struct PhillyJob {
    #[serde(default)]
    vc: Option<String>,
    jobid: String,
    #[serde(default)]
    attempts: Vec<Attempt>,
    #[serde(default)]
    submitted_time: Option<String>,
}

/// A scheduling attempt.
#[derive(Deserialize)]
struct Attempt {
    #[serde(default)]
    start_time: Option<String>,
    #[serde(default)]
    end_time: Option<String>,
    #[serde(default)]
    detail: Vec<Server>,
}

/// The part of an attempt on one server.
#[derive(Deserialize)]
struct Server {
    #[serde(default)]
    gpus: Vec<String>,
}

/// The job of a list item: one pod for each server of its last attempt with servers. It runs as long as
/// this attempt did, or with `past_runs` as all attempts did together. The queue is its virtual cluster
/// `vc`.
pub(super) fn job(
    text: &str,
    line: usize,
    gpu_resource: &str,
    past_runs: bool,
    pod_sets: &mut PodSets,
) -> Result<TraceJob, RecordError> {
    let job: PhillyJob = serde_json::from_str(text)
        .map_err(|error| RecordError::invalid(format!("it is not a job of Philly: {error}")))?;
    let name = &job.jobid;
    let submitted = time("submitted_time", &job.submitted_time.unwrap_or_default())?;
    let with_servers = |attempt: &Attempt| !attempt.detail.is_empty();
    let last = job.attempts.iter().rposition(with_servers);
    let mut duration = SignedDuration::ZERO;
    for (index, attempt) in job.attempts.iter().enumerate() {
        let start = attempt.start_time.as_deref().unwrap_or_default();
        let end = attempt.end_time.as_deref().unwrap_or_default();
        if is_missing(start) || is_missing(end) {
            return Err(RecordError::missing(format!(
                "an attempt of job {name} has no start_time or no end_time"
            )));
        }
        let (start, end) = (time("start_time", start)?, time("end_time", end)?);
        between(("submitted_time", submitted), ("start_time", start))?;
        let ran = between(("start_time", start), ("end_time", end))?;
        if past_runs || last == Some(index) {
            duration = duration.saturating_add(ran);
        }
    }
    let Some(last) = last.and_then(|last| job.attempts.get(last)) else {
        return Err(RecordError::missing(format!(
            "job {name} has no attempt with servers"
        )));
    };
    let mut by_gpus: BTreeMap<usize, i32> = BTreeMap::new();
    for server in &last.detail {
        *by_gpus.entry(server.gpus.len()).or_default() += 1;
    }
    let all = by_gpus.into_iter().enumerate();
    let all = all.map(|(index, (gpus, count))| {
        let mut requests = PodRequests::new();
        if gpus > 0 {
            requests.insert(gpu_resource.to_owned(), gpus.to_string());
        }
        pod_sets.pod_set(&format!("servers-{index}"), count, requests)
    });
    Ok(TraceJob {
        line,
        name: name.clone(),
        queue: job.vc.unwrap_or_default(),
        submitted,
        duration,
        spec: spec(all.collect(), 0),
    })
}
