//! `sky.skylet.job_lib`: the job table and the queue.

use kueue_lab_python::{Arguments, Exception, Value};

use super::host::{Modules, encode_payload};
use crate::job_table::{Job, JobStatus};
use crate::runtime::now;

/// The functions.
pub(super) const FUNCTIONS: [&str; 21] = [
    "add_job",
    "scheduler.queue",
    "scheduler.schedule_step",
    "update_status",
    "set_status",
    "set_job_started",
    "set_exit_codes",
    "get_exit_codes",
    "dump_job_queue",
    "cancel_jobs_encoded_results",
    "fail_all_jobs_in_progress",
    "get_latest_job_id",
    "get_log_dir_for_job",
    "get_log_dir_for_jobs",
    "get_run_timestamp",
    "get_status",
    "get_statuses_payload",
    "get_job_submitted_or_ended_timestamp_payload",
    "wait_for_job_completion",
    "is_cluster_idle",
    "remove_job",
];

/// Calls a function of the module.
pub(super) async fn call(
    modules: &Modules,
    name: &str,
    arguments: &Arguments,
) -> Result<Value, Exception> {
    let (runtime, container) = (&modules.runtime, &modules.container);
    let time = now(container);
    // Most functions have the number of a job first.
    let id = arguments.int(0, "job_id").unwrap_or(0);
    let mut jobs = runtime.jobs.lock();
    Ok(match name {
        "add_job" => {
            let job = new_job(arguments, time)?;
            let log_dir = |id| job.log_dir(id);
            let id = jobs.latest().unwrap_or(0) + 1;
            let log_dir = Value::str(log_dir(id));
            let id = jobs
                .add(job)
                .ok_or_else(|| Exception::new("RuntimeError", "too many jobs on this cluster"))?;
            Value::Tuple([Value::Int(id), log_dir].into())
        }
        "scheduler.queue" => {
            drop(jobs);
            runtime.queue_job(container, id, arguments.text(1, "cmd")?);
            Value::None
        }
        "scheduler.schedule_step" => {
            drop(jobs);
            runtime.schedule_step(container);
            Value::None
        }
        // The table is always current: drivers set the states.
        "update_status" => Value::None,
        "set_status" => {
            jobs.set_status(id, status(arguments)?, time);
            Value::None
        }
        "set_job_started" => {
            jobs.set_status(id, JobStatus::Running, time);
            Value::None
        }
        "set_exit_codes" => {
            let codes = arguments
                .required(1, "exit_codes")?
                .values()
                .unwrap_or_default();
            if let Some(job) = jobs.get_mut(id) {
                job.exit_codes = Some(codes.iter().filter_map(Value::as_int).collect());
            }
            Value::None
        }
        "get_exit_codes" => {
            let codes = jobs.get(id).and_then(|job| job.exit_codes.as_ref());
            codes.map_or(Value::None, |codes| {
                Value::list(codes.iter().map(|code| Value::Int(*code)).collect())
            })
        }
        "dump_job_queue" => {
            let user = arguments.get(0, "user_hash").and_then(Value::as_str);
            let all = arguments.get(1, "all_jobs").is_some_and(Value::is_true);
            let listed =
                |job: &Job| all || (job.status != JobStatus::Init && !job.status.is_terminal());
            let jobs = jobs.newest(user).filter(|(_, job)| listed(job));
            encode_payload(&Value::list(jobs.map(|(id, job)| job.record(id)).collect()))?
        }
        "cancel_jobs_encoded_results" => {
            drop(jobs);
            let ids = arguments.get(0, "jobs").and_then(Value::values);
            let ids = ids.map(|ids| ids.iter().filter_map(Value::as_int).collect());
            let all = arguments.get(1, "cancel_all").is_some_and(Value::is_true);
            let user = arguments.get(2, "user_hash").and_then(Value::as_str);
            let cancelled = runtime.cancel_jobs(container, ids, all, user);
            encode_payload(&Value::list(
                cancelled.into_iter().map(Value::Int).collect(),
            ))?
        }
        "fail_all_jobs_in_progress" => {
            let ids: Vec<i64> = jobs.newest(None).map(|(id, _)| id).collect();
            for id in ids {
                jobs.set_status(id, JobStatus::Failed, time);
            }
            Value::None
        }
        "get_latest_job_id" => jobs.latest().map_or(Value::None, Value::Int),
        "get_log_dir_for_job" => {
            let directory = jobs.get(id).map(|job| job.log_dir(id));
            directory.map_or(Value::None, Value::str)
        }
        "get_run_timestamp" => {
            let timestamp = jobs
                .get(id)
                .map(|job| Value::str(job.run_timestamp.as_str()));
            timestamp.unwrap_or(Value::None)
        }
        "get_status" => status_value(jobs.status(id)),
        "get_statuses_payload" | "get_log_dir_for_jobs" => {
            let ids = arguments
                .required(0, "job_ids")?
                .values()
                .unwrap_or_default();
            let value = |id: Value| {
                let job = id.as_int().and_then(|id| Some((id, jobs.get(id)?)));
                let value = match (name, job) {
                    ("get_statuses_payload", job) => status_value(job.map(|(_, job)| job.status)),
                    (_, job) => Value::str(job?.1.log_dir(job?.0)),
                };
                Some((id, value))
            };
            encode_payload(&Value::dict(ids.into_iter().filter_map(value).collect()))?
        }
        "get_job_submitted_or_ended_timestamp_payload" => {
            let ended = arguments
                .get(1, "get_ended_time")
                .is_some_and(Value::is_true);
            let time = jobs.get(id).and_then(|job| match ended {
                true => job.end_at,
                false => Some(job.submitted_at),
            });
            encode_payload(&time.map_or(Value::None, Value::Float))?
        }
        other => {
            drop(jobs);
            return Err(Exception::not_supported(format!("job_lib.{other}")));
        }
    })
}

fn status(arguments: &Arguments) -> Result<JobStatus, Exception> {
    let name = arguments.text(1, "status")?;
    JobStatus::of_name(&name).ok_or_else(|| Exception::new("ValueError", name))
}

fn status_value(status: Option<JobStatus>) -> Value {
    status.map_or(Value::None, |status| Value::str(status.name()))
}

fn new_job(arguments: &Arguments, time: f64) -> Result<Job, Exception> {
    let metadata = arguments.text(4, "metadata");
    Ok(Job {
        name: arguments.text(0, "job_name")?,
        username: arguments.text(1, "username")?,
        run_timestamp: arguments.text(2, "run_timestamp")?,
        resources: arguments.text(3, "resources_str")?,
        metadata: metadata.unwrap_or_else(|_| "{}".into()),
        status: JobStatus::Init,
        submitted_at: time,
        start_at: None,
        end_at: None,
        pid: 0,
        exit_codes: None,
    })
}
