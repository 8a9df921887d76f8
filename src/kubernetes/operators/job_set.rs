//! JobSet: the Jobs of its replicated jobs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::child_objects::{count, fields, items, set_annotations, set_labels};
use super::conditions::{find, is_true};
use super::observed::{Observed, parse_timestamp};
use super::reconcile_plan::{ChildReference, ReconcilePlan};
use super::{job_status, suspended_job};
use kueue_lab_controller_utils::event_recorder::NewEvent;

const RESTART_ATTEMPT: &str = "jobset.sigs.k8s.io/restart-attempt";
const REPLICATED_JOB_NAME: &str = "jobset.sigs.k8s.io/replicatedjob-name";

/// Reconciles a JobSet.
pub(super) fn reconcile(set: &Observed<'_>) -> ReconcilePlan {
    let spec = set.spec();
    let mut templates = items(&spec["replicatedJobs"]).iter();
    if !templates.all(|r| r["template"]["spec"]["template"].is_object()) {
        return ReconcilePlan::not_simulated("every replicated job needs a pod template");
    }
    let mut status = set.status();
    let restarts = count(&status["restarts"], 0);
    let (jobs, previous): (Vec<_>, Vec<_>) = set
        .jobs
        .iter()
        .cloned()
        .partition(|job| attempt(job) == restarts);
    status["replicatedJobsStatus"] = replicated_jobs_status(spec, &jobs);
    let mut plan = ReconcilePlan::default();
    if let Some(finished) = find_finished(&status) {
        let active = jobs.iter().filter(|job| !job_status::is_finished(job));
        plan.delete
            .extend(active.map(|job| ChildReference::of(job.as_ref())));
        ttl(set, finished, &mut plan);
        plan.status = Some(status);
        return plan;
    }
    plan.delete
        .extend(previous.iter().map(|job| ChildReference::of(job.as_ref())));
    if status["restarts"].is_null() {
        status["restarts"] = json!(0);
    }
    if let Some(failed) = jobs.iter().find(|job| job_status::is_failed(job)) {
        failure(set, failed, restarts, &mut status, &mut plan);
    } else if is_successful(spec, &jobs) {
        finish(
            set,
            &mut status,
            true,
            "AllJobsCompleted",
            "jobset completed successfully",
        );
        plan.events.push(NewEvent::normal(
            "AllJobsCompleted",
            "jobset completed successfully",
        ));
    } else {
        plan_jobs(set, &jobs, &previous, restarts, &mut status, &mut plan);
    }
    plan.status = Some(status);
    plan
}

fn attempt(job: &Job) -> usize {
    let label = job.labels().get(RESTART_ATTEMPT);
    label.and_then(|attempt| attempt.parse().ok()).unwrap_or(0)
}

fn replicated_job_of(job: &Job) -> &str {
    job.labels()
        .get(REPLICATED_JOB_NAME)
        .map(String::as_str)
        .unwrap_or_default()
}

/// The finished condition.
fn find_finished(status: &Value) -> Option<&Value> {
    let finished = ["Completed", "Failed"].into_iter();
    finished
        .filter_map(|t| find(status, t))
        .find(|c| c["status"] == "True")
}

fn ttl(set: &Observed<'_>, finished: &Value, plan: &mut ReconcilePlan) {
    let Some(seconds) = set.spec()["ttlSecondsAfterFinished"].as_i64() else {
        return;
    };
    let since = parse_timestamp(&finished["lastTransitionTime"]).unwrap_or(set.now);
    let left = SignedDuration::from_secs(seconds).saturating_sub(set.now.duration_since(since));
    match left > SignedDuration::ZERO {
        true => plan.requeue(left.unsigned_abs()),
        false => plan.delete_self = true,
    }
}

/// The number of pods of a Job that have to be ready or succeeded.
fn wanted_pods(template: &Value) -> usize {
    let spec = &template["spec"];
    let parallelism = count(&spec["parallelism"], 1);
    parallelism.min(count(&spec["completions"], parallelism))
}

fn is_ready(job: &Job, template: &Value) -> bool {
    let pods = job_status::ready(job).saturating_add(job_status::succeeded(job));
    usize::try_from(pods).unwrap_or(0) >= wanted_pods(template)
}

fn replicated_jobs_status(spec: &Value, jobs: &[Arc<Job>]) -> Value {
    let status = |replicated: &Value| {
        let name = replicated["name"].as_str().unwrap_or_default();
        let own: Vec<_> = jobs
            .iter()
            .filter(|job| replicated_job_of(job) == name)
            .collect();
        let number = |of: &dyn Fn(&Job) -> bool| own.iter().filter(|job| of(job)).count();
        let runs = |job: &Job| !job_status::is_finished(job);
        json!({
            "name": name,
            "ready": number(&|j| runs(j) && is_ready(j, &replicated["template"])),
            "active": number(&|j| runs(j) && job_status::active(j) > 0),
            "failed": number(&job_status::is_failed),
            "succeeded": number(&job_status::is_complete),
            "suspended": number(&|j| runs(j) && job_status::is_suspended(j)),
        })
    };
    items(&spec["replicatedJobs"]).iter().map(status).collect()
}

/// Whether the success policy is met.
fn is_successful(spec: &Value, jobs: &[Arc<Job>]) -> bool {
    let targets = items(&spec["successPolicy"]["targetReplicatedJobs"]);
    let counts = |name: &str| targets.is_empty() || targets.iter().any(|t| t == name);
    let complete = jobs
        .iter()
        .filter(|job| counts(replicated_job_of(job)) && job_status::is_complete(job))
        .count();
    if spec["successPolicy"]["operator"] == "Any" {
        return complete > 0;
    }
    let replicated = items(&spec["replicatedJobs"]).iter();
    let wanted: usize = replicated
        .filter(|r| counts(r["name"].as_str().unwrap_or_default()))
        .map(|r| count(&r["replicas"], 1))
        .sum();
    complete > 0 && complete >= wanted
}

fn finish(set: &Observed<'_>, status: &mut Value, success: bool, reason: &str, message: &str) {
    let condition_type = if success { "Completed" } else { "Failed" };
    set.set_condition(status, condition_type, true, reason, message);
    status["terminalState"] = json!(condition_type);
}

/// Applies the failure policy: restarts all Jobs or fails.
fn failure(
    set: &Observed<'_>,
    failed: &Job,
    restarts: usize,
    status: &mut Value,
    plan: &mut ReconcilePlan,
) {
    let policy = &set.spec()["failurePolicy"];
    let rules = items(&policy["rules"]).iter();
    let name = replicated_job_of(failed);
    let reason = failed_reason(failed);
    let mut rules = rules.filter(|rule| {
        let targets = items(&rule["targetReplicatedJobs"]);
        let reasons = items(&rule["onJobFailureReasons"]);
        (targets.is_empty() || targets.iter().any(|t| t == name))
            && (reasons.is_empty() || reasons.iter().any(|r| r == reason))
    });
    let action = rules.next().and_then(|rule| rule["action"].as_str());
    let counted = count(&status["restartsCountTowardsMax"], 0);
    let ignores_max = action == Some("RestartJobSetAndIgnoreMaxRestarts");
    let max = count(&policy["maxRestarts"], 0);
    let ending = match action {
        _ if !policy.is_object() => Some((
            "FailedJobs",
            "jobset failed due to one or more job failures",
        )),
        Some("FailJobSet") => Some((
            "FailJobSetFailurePolicyAction",
            "applying FailJobSet failure policy action",
        )),
        _ if !ignores_max && counted >= max => Some((
            "ReachedMaxRestarts",
            "jobset failed due to reaching max number of restarts",
        )),
        _ => None,
    };
    if let Some((reason, message)) = ending {
        let message = format!("{message} (first failed job: {})", failed.name_any());
        finish(set, status, false, reason, &message);
        plan.events.push(NewEvent::warning(reason, message));
        return;
    }
    status["restarts"] = json!(restarts.saturating_add(1));
    if !ignores_max {
        status["restartsCountTowardsMax"] = json!(counted.saturating_add(1));
    }
    plan.events.push(NewEvent::warning(
        "Restarting",
        format!("restarting jobset without counting towards max restarts: {ignores_max}"),
    ));
}

fn failed_reason(job: &Job) -> &str {
    let conditions = job.status.as_ref().and_then(|s| s.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    let failed = conditions.find(|c| c.type_ == "Failed" && c.status == "True");
    failed.and_then(|c| c.reason.as_deref()).unwrap_or_default()
}

/// Creates missing Jobs, suspends or resumes the others.
fn plan_jobs(
    set: &Observed<'_>,
    jobs: &[Arc<Job>],
    previous: &[Arc<Job>],
    restarts: usize,
    status: &mut Value,
    plan: &mut ReconcilePlan,
) {
    let spec = set.spec();
    let suspended = spec["suspend"] == true;
    let in_order = spec["startupPolicy"]["startupPolicyOrder"] == "InOrder";
    let name = set.name();
    if !previous.is_empty() {
        // Names are free again when the Jobs of the last attempt are gone.
        plan.requeue(Duration::from_secs(1));
        return;
    }
    if status["conditions"].is_null() && spec["network"]["enableDNSHostnames"] != false {
        plan.create.push(headless_service(set));
    }
    for replicated in items(&spec["replicatedJobs"]) {
        let own = replicated["name"].as_str().unwrap_or_default();
        if !suspended && !dependencies_met(spec, status, replicated) {
            continue;
        }
        let wanted = count(&replicated["replicas"], 1);
        let prefix = format!("{name}-{own}-");
        let index = |job: &Job| job.name_any().strip_prefix(&prefix)?.parse::<usize>().ok();
        let existing = jobs.iter().filter_map(|job| Some((index(job)?, job)));
        let existing: BTreeMap<usize, &Arc<Job>> =
            existing.filter(|(index, _)| *index < wanted).collect();
        for job in existing.values() {
            if !job_status::is_finished(job) && suspended != job_status::is_suspended(job) {
                let patch = match suspended {
                    true => suspended_job::suspend(),
                    false => {
                        suspended_job::resume(job, &replicated["template"]["spec"]["template"])
                    }
                };
                plan.patch.push((ChildReference::of(job.as_ref()), patch));
            }
        }
        let missing = (0..wanted).filter(|index| !existing.contains_key(index));
        plan.create_replicas(set, missing, |index| job(set, replicated, index, restarts));
        let started = items(&status["replicatedJobsStatus"]).iter().any(|s| {
            let ready = count(&s["ready"], 0).saturating_add(count(&s["succeeded"], 0));
            s["name"] == own && ready >= count(&replicated["replicas"], 1)
        });
        if in_order && !suspended && !started {
            break;
        }
    }
    suspend_condition(set, suspended, status, plan);
    if in_order && !suspended {
        startup_conditions(set, status);
    }
}

fn startup_conditions(set: &Observed<'_>, status: &mut Value) {
    let replicated = items(&set.spec()["replicatedJobs"]);
    let statuses = items(&status["replicatedJobsStatus"]);
    let all_ready = replicated.iter().zip(statuses).all(|(r, s)| {
        count(&s["ready"], 0).saturating_add(count(&s["succeeded"], 0)) >= count(&r["replicas"], 1)
    });
    set.set_condition(
        status,
        "StartupPolicyInProgress",
        !all_ready,
        "InOrderStartupPolicyInProgress",
        "in order startup policy is in progress",
    );
    set.set_condition(
        status,
        "StartupPolicyCompleted",
        all_ready,
        "InOrderStartupPolicyCompleted",
        "in order startup policy has completed",
    );
}

fn suspend_condition(
    set: &Observed<'_>,
    suspended: bool,
    status: &mut Value,
    plan: &mut ReconcilePlan,
) {
    let was = is_true(status, "Suspended");
    if was == suspended && find(status, "Suspended").is_some() || !suspended && !was {
        return;
    }
    let (reason, message) = match suspended {
        true => ("SuspendedJobs", "jobset is suspended"),
        false => ("ResumeJobs", "jobset is resumed"),
    };
    set.set_condition(status, "Suspended", suspended, reason, message);
    plan.events.push(NewEvent::normal(reason, message));
}

/// Whether the replicated jobs that this one depends on are ready or complete.
fn dependencies_met(spec: &Value, status: &Value, replicated: &Value) -> bool {
    items(&replicated["dependsOn"]).iter().all(|dependency| {
        let by_name = |list: &Value| {
            items(list)
                .iter()
                .find(|item| item["name"] == dependency["name"])
                .cloned()
        };
        let (Some(on), Some(at)) = (
            by_name(&spec["replicatedJobs"]),
            by_name(&status["replicatedJobsStatus"]),
        ) else {
            return false;
        };
        let succeeded = count(&at["succeeded"], 0);
        let met = match dependency["status"].as_str() {
            Some("Ready") => succeeded.saturating_add(count(&at["ready"], 0)),
            _ => succeeded,
        };
        met >= count(&on["replicas"], 1)
    })
}

/// The service of the pods' host names.
fn subdomain(set: &Observed<'_>) -> String {
    let own = set.spec()["network"]["subdomain"].as_str();
    own.filter(|s| !s.is_empty())
        .map_or_else(|| set.name(), str::to_owned)
}

fn headless_service(set: &Observed<'_>) -> Value {
    let name = set.name();
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": subdomain(set)},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": true,
            "selector": {"jobset.sigs.k8s.io/jobset-name": name},
        },
    })
}

/// One Job of a replicated job.
fn job(set: &Observed<'_>, replicated: &Value, index: usize, restarts: usize) -> Value {
    let (name, own) = (set.name(), replicated["name"].as_str().unwrap_or_default());
    let job_name = format!("{name}-{own}-{index}");
    let group = replicated["groupName"].as_str().unwrap_or("default");
    let all = items(&set.spec()["replicatedJobs"]);
    let replicas = |of: &dyn Fn(&&Value) -> bool| -> usize {
        all.iter()
            .filter(of)
            .map(|r| count(&r["replicas"], 1))
            .sum()
    };
    let before = |of: &dyn Fn(&&Value) -> bool| -> usize {
        let earlier = all.iter().take_while(|r| r["name"] != own);
        earlier
            .filter(of)
            .map(|r| count(&r["replicas"], 1))
            .sum::<usize>()
            + index
    };
    let in_group = |r: &&Value| r["groupName"].as_str().unwrap_or("default") == group;
    let key = Sha256::digest(format!("{}/{job_name}", set.namespace()));
    let key: String = key
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .take(20)
        .collect();
    let identity = [
        ("jobset.sigs.k8s.io/jobset-name", name.clone()),
        ("jobset.sigs.k8s.io/jobset-uid", set.uid()),
        (REPLICATED_JOB_NAME, own.to_owned()),
        (RESTART_ATTEMPT, restarts.to_string()),
        (
            "jobset.sigs.k8s.io/replicatedjob-replicas",
            count(&replicated["replicas"], 1).to_string(),
        ),
        (
            "jobset.sigs.k8s.io/global-replicas",
            replicas(&|_| true).to_string(),
        ),
        ("jobset.sigs.k8s.io/job-index", index.to_string()),
        ("jobset.sigs.k8s.io/job-key", key),
        (
            "jobset.sigs.k8s.io/job-global-index",
            before(&|_| true).to_string(),
        ),
        ("jobset.sigs.k8s.io/group-name", group.to_owned()),
        (
            "jobset.sigs.k8s.io/group-replicas",
            replicas(&in_group).to_string(),
        ),
        (
            "jobset.sigs.k8s.io/job-group-index",
            before(&in_group).to_string(),
        ),
    ];
    let mut identity: Vec<(&str, String)> = identity.to_vec();
    if let Some(coordinator) = coordinator_endpoint(set) {
        identity.push(("jobset.sigs.k8s.io/coordinator", coordinator));
    }
    let identity: Vec<(&str, &str)> = identity.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let mut spec = replicated["template"]["spec"].clone();
    set_labels(&mut spec["template"], &identity);
    set_annotations(&mut spec["template"], &identity);
    spec["suspend"] = json!(set.spec()["suspend"] == true);
    if set.spec()["network"]["enableDNSHostnames"] != false && spec["template"]["spec"].is_object()
    {
        spec["template"]["spec"]["subdomain"] = json!(subdomain(set));
    }
    let mut metadata = json!({"name": job_name});
    for field in ["labels", "annotations"] {
        let own: serde_json::Map<_, _> = fields(&replicated["template"]["metadata"][field])
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        metadata[field] = Value::Object(own);
    }
    let mut job =
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec});
    set_labels(&mut job, &identity);
    set_annotations(&mut job, &identity);
    job
}

/// The host name of the coordinator pod.
fn coordinator_endpoint(set: &Observed<'_>) -> Option<String> {
    let coordinator = &set.spec()["coordinator"];
    let job = coordinator["replicatedJob"].as_str()?;
    let (index, pod) = (
        count(&coordinator["jobIndex"], 0),
        count(&coordinator["podIndex"], 0),
    );
    Some(format!(
        "{}-{job}-{index}-{pod}.{}",
        set.name(),
        subdomain(set)
    ))
}
