//! `sky.jobs.utils` and `sky.jobs.state`: the table of the managed jobs.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_lab_python::{Arguments, Exception, Value};

use super::host::{Modules, encode_payload};
use super::managed_job_logs;
use crate::jobs_controller::{JobsController, ManagedJob, NewManagedJob};

/// Why a function for managed jobs fails on a cluster where the lab runs no jobs controller.
const NO_JOBS_CONTROLLER: &str = "kueue-lab: the jobs controller runs on the embedded cluster only; on this \
    cluster set jobs.controller.consolidation_mode: true in ~/.sky/config.yaml and restart the API server";
/// The environment variable with the hash of the user who runs a command.
const USER_ID: &str = "SKYPILOT_USER_ID";

/// Calls a function.
pub(super) async fn call(
    modules: &Modules,
    name: &str,
    arguments: &Arguments,
) -> Result<Value, Exception> {
    let controller = modules.runtime.nodes.jobs_controller();
    let controller =
        controller.ok_or_else(|| Exception::new("RuntimeError", NO_JOBS_CONTROLLER))?;
    Ok(match name {
        // There are no plugins.
        "sky.sky_logging.silent"
        | "sky.server.plugins.load_plugins"
        | "sky.server.plugins.ExtensionContext" => Value::None,
        "sky.jobs.state.set_job_info_without_job_id" => {
            let text = |name: &str| arguments.by_name(name).and_then(Value::as_str);
            let is_set = |name: &str| arguments.by_name(name).is_some_and(Value::is_true);
            for unsupported in ["pool", "is_batch"] {
                if is_set(unsupported) {
                    return Err(Exception::not_supported(format!("{unsupported} of a job")));
                }
            }
            let job = NewManagedJob {
                name: text("name").unwrap_or("sky-job").to_owned(),
                user_hash: text("user_hash").unwrap_or_default().to_owned(),
                workspace: text("workspace").unwrap_or("default").to_owned(),
            };
            let added = controller.add(job);
            Value::Int(added.map_err(|error| Exception::new("RuntimeError", error.to_string()))?)
        }
        "sky.jobs.state.set_pending" => {
            if arguments.int(1, "task_id").is_some_and(|task| task > 0) {
                return Err(Exception::not_supported("a job of several tasks"));
            }
            let id = arguments.int(0, "job_id").unwrap_or(0);
            controller.set_resources(id, &arguments.text(3, "resources_str")?);
            Value::None
        }
        "sky.jobs.state.get_all_job_ids_by_name" => {
            let name = arguments.get(0, "name").and_then(Value::as_str);
            let jobs = controller.jobs().into_iter();
            let named = jobs.filter(|job| name.is_none_or(|name| job.job.name == name));
            Value::list(named.map(|job| Value::Int(job.id)).collect())
        }
        "sky.jobs.utils.dump_managed_job_queue" => encode_payload(&queue(&controller, arguments)?)?,
        "sky.jobs.utils.CancelRequestInfo" => {
            Value::object("CancelRequestInfo", arguments.named.clone())
        }
        "sky.jobs.utils.cancel_managed_jobs" => {
            let user = modules.environment.get(USER_ID).map(String::as_str);
            Value::str(cancel(&controller, arguments, user)?)
        }
        "sky.jobs.utils.stream_logs" => {
            managed_job_logs::stream_logs(modules, &controller, arguments).await?
        }
        other => return Err(Exception::not_supported(other)),
    })
}

/// The integers of a list; `None` if the argument is `None`.
fn integers(arguments: &Arguments, name: &str) -> Option<Vec<i64>> {
    let values = arguments.by_name(name)?.values()?;
    Some(values.iter().filter_map(Value::as_int).collect())
}

/// The texts of a list, in which `None` is the empty text; `None` if the argument is `None`.
fn texts(arguments: &Arguments, name: &str) -> Option<Vec<String>> {
    let values = arguments.by_name(name)?.values()?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Some(values.iter().map(text).collect())
}

/// `dump_managed_job_queue`: the jobs that the filters select.
fn queue(controller: &Arc<dyn JobsController>, arguments: &Arguments) -> Result<Value, Exception> {
    let text = |name: &str| arguments.by_name(name).and_then(Value::as_str);
    let time = |name: &str| arguments.by_name(name).and_then(Value::as_float);
    if text("infra_match").is_some() {
        return Err(Exception::not_supported("the filter infra_match"));
    }
    let skip_finished = arguments
        .by_name("skip_finished")
        .is_some_and(Value::is_true);
    let (ids, users) = (
        integers(arguments, "job_ids"),
        texts(arguments, "user_hashes"),
    );
    let (workspaces, statuses) = (
        texts(arguments, "accessible_workspaces"),
        texts(arguments, "statuses"),
    );
    let all = controller.jobs();
    let total_without_filter = all.len();
    let one_of = |known: &Option<Vec<String>>, value: &str| {
        known
            .as_ref()
            .is_none_or(|known| known.iter().any(|known| known == value))
    };
    let contains = |name: &str, value: &str| text(name).is_none_or(|part| value.contains(part));
    let selected = |job: &ManagedJob| {
        !(skip_finished && job.is_terminal())
            && ids.as_ref().is_none_or(|ids| ids.contains(&job.id))
            && one_of(&users, &job.job.user_hash)
            && one_of(&workspaces, &job.job.workspace)
            && contains("workspace_match", &job.job.workspace)
            && contains("name_match", &job.job.name)
            // No job is in a pool.
            && text("pool_match").is_none()
            && time("submitted_after").is_none_or(|after| job.submitted_at >= Some(after))
            && time("submitted_before").is_none_or(|before| job.submitted_at <= Some(before))
    };
    let mut jobs: Vec<ManagedJob> = all.into_iter().filter(selected).collect();
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for job in &jobs {
        *counts.entry(job.status).or_default() += 1;
    }
    jobs.retain(|job| one_of(&statuses, job.status));
    let total = jobs.len();
    let number = |name| usize::try_from(arguments.by_name(name)?.as_int()?).ok();
    if let (Some(page), Some(limit)) = (number("page"), number("limit")) {
        let skipped = page.saturating_sub(1).saturating_mul(limit);
        jobs = jobs.into_iter().skip(skipped).take(limit).collect();
    }
    let count = |count: usize| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
    Ok(Value::record([
        ("jobs", Value::list(jobs.iter().map(record).collect())),
        ("total", count(total)),
        ("total_no_filter", count(total_without_filter)),
        (
            "status_counts",
            Value::record(counts.into_iter().map(|(s, n)| (s, Value::Int(n)))),
        ),
        ("infra_options", Value::list(Vec::new())),
    ]))
}

/// The fields of a job.
fn record(job: &ManagedJob) -> Value {
    let text = |text: &Option<String>| text.as_deref().map_or(Value::None, Value::str);
    let time = |time: Option<f64>| time.map_or(Value::None, Value::Float);
    let name = || Value::str(job.job.name.as_str());
    let infra = match &job.context {
        Some(context) => format!("Kubernetes ({context})"),
        None => "-".into(),
    };
    let launched = |value: &str| match job.context {
        Some(_) => Value::str(value),
        None => Value::str("-"),
    };
    Value::record([
        ("_job_id", Value::Int(job.id)),
        ("job_id", Value::Int(job.id)),
        ("task_id", Value::Int(0)),
        ("job_name", name()),
        ("task_name", name()),
        ("job_duration", Value::Float(job.duration)),
        ("workspace", Value::str(job.job.workspace.as_str())),
        ("status", Value::str(job.status)),
        ("schedule_state", Value::str(job.schedule_state)),
        ("resources", Value::str(job.resources.as_str())),
        ("cluster_resources", launched(&job.resources)),
        ("cluster_resources_full", launched(&job.resources)),
        ("cloud", launched("Kubernetes")),
        (
            "region",
            job.context.as_deref().map_or(Value::str("-"), Value::str),
        ),
        ("zone", Value::str("-")),
        ("infra", Value::str(infra)),
        ("recovery_count", Value::Int(job.recoveries.into())),
        ("details", text(&job.details)),
        ("failure_reason", Value::None),
        ("metadata", Value::dict(Vec::new())),
        ("user_hash", Value::str(job.job.user_hash.as_str())),
        ("submitted_at", time(job.submitted_at)),
        ("start_at", time(job.started_at)),
        ("end_at", time(job.ended_at)),
        ("execution", Value::str("serial")),
        ("is_job_group", Value::Bool(false)),
    ])
}

/// `cancel_managed_jobs`: cancels the jobs that the arguments name. Returns the message for the user.
fn cancel(
    controller: &Arc<dyn JobsController>,
    arguments: &Arguments,
    user: Option<&str>,
) -> Result<String, Exception> {
    let is_set = |name: &str| arguments.by_name(name).is_some_and(Value::is_true);
    let mut jobs = controller.jobs();
    jobs.reverse();
    jobs.retain(|job| !job.is_terminal());
    let ids = integers(arguments, "job_ids").filter(|ids| !ids.is_empty());
    let name = arguments.by_name("name").and_then(Value::as_str);
    let is_own = |job: &ManagedJob| user.is_none_or(|user| job.job.user_hash == user);
    let mut prefix = String::new();
    match (ids, name) {
        (Some(ids), _) => jobs.retain(|job| ids.contains(&job.id)),
        _ if is_set("all_users") => {}
        _ if is_set("all") => jobs.retain(is_own),
        (None, Some(name)) => {
            jobs.retain(|job| job.job.name == name && is_own(job));
            match &jobs[..] {
                [] => return Ok(format!("No running job found with name '{name}'.")),
                [_] => prefix = format!("'{name}' "),
                jobs => {
                    let ids: Vec<String> = jobs.iter().map(|job| job.id.to_string()).collect();
                    let ids = ids.join(", ");
                    return Ok(format!(
                        "Multiple running jobs found with name '{name}'.\nJob IDs: [{ids}]"
                    ));
                }
            }
        }
        (None, None) => return Err(Exception::not_supported("the jobs of a pool")),
    }
    let reason = reason(arguments.by_name("cancel_request_info"));
    jobs.retain(|job| controller.cancel(job.id, &reason));
    let ids: Vec<String> = jobs.iter().map(|job| job.id.to_string()).collect();
    Ok(match &ids[..] {
        [] => "No job to cancel.".into(),
        [id] => format!("{prefix}Job with ID {id} is scheduled to be cancelled."),
        ids => format!(
            "{prefix}Jobs with IDs {} are scheduled to be cancelled.",
            ids.join(", ")
        ),
    })
}

/// The reason of a cancellation, with its requester.
fn reason(info: Option<&Value>) -> String {
    let attribute = |name: &str| {
        let Some(Value::Object(info)) = info else {
            return None;
        };
        let mut attributes = info.attributes.iter();
        let found = attributes.find(|(known, _)| known == name);
        found
            .and_then(|(_, value)| value.as_str())
            .map(str::to_owned)
    };
    let mut reason = "Cancellation requested".to_owned();
    if let Some(user) = attribute("user_name").or_else(|| attribute("user_hash")) {
        reason.push_str(&format!(" by user {user}"));
    }
    if let Some(request) = attribute("request_id") {
        reason.push_str(&format!(" (request ID: {request})"));
    }
    reason
}
