//! Jobs of the training operator: one pod for each replica of each replica type.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::super::child_objects::{self, count, has_containers, label};
use super::super::observed::Observed;
use super::super::reconcile_plan::{ChildReference, ReconcilePlan};
use super::job_conditions::{JobConditions, is_finished};
use super::run_policy::{clean_up, delete_pods};
use super::{JOB_NAME, JOB_ROLE, OPERATOR_NAME, REPLICA_INDEX, REPLICA_TYPE};
use kueue_lab_controller_utils::event_recorder::NewEvent;
use kueue_lab_controller_utils::pods::{is_deleting, phase};

/// Exit codes from which on `restartPolicy: ExitCode` restarts a pod.
const RETRYABLE_EXIT_CODE: i32 = 128;

/// A kind of the training operator.
pub(super) struct TrainingJob {
    /// Its name.
    pub kind: &'static str,
    /// The label `operator-name` of its pods.
    pub operator: &'static str,
    /// The field with the replica specs.
    pub specs: &'static str,
    /// The replica types, in the order of their creation.
    pub replica_types: &'static [&'static str],
    /// The replica types whose success is that of the job; without them, all workers.
    pub leaders: &'static [&'static str],
    /// The default restart policy.
    pub restart_policy: &'static str,
    /// Environment variables of a pod.
    pub environment: fn(&Replica<'_>) -> Vec<(&'static str, String)>,
}

/// One replica of a job.
pub(super) struct Replica<'a> {
    job: &'a str,
    replica_type: &'a str,
    index: usize,
    has_master: bool,
    total: usize,
}

/// No environment variables.
pub(super) fn no_environment(_: &Replica<'_>) -> Vec<(&'static str, String)> {
    Vec::new()
}

/// The variables of `torch.distributed`.
pub(super) fn py_torch_environment(replica: &Replica<'_>) -> Vec<(&'static str, String)> {
    let master = if replica.has_master {
        "master"
    } else {
        "worker"
    };
    let is_master = replica.replica_type == "Master";
    let rank = replica.index + usize::from(replica.has_master && !is_master);
    vec![
        ("MASTER_ADDR", format!("{}-{master}-0", replica.job)),
        ("MASTER_PORT", "23456".to_owned()),
        ("WORLD_SIZE", replica.total.to_string()),
        ("RANK", rank.to_string()),
    ]
}

/// Reconciles a job of that kind.
pub(super) fn reconcile(kind: &TrainingJob, job: &Observed<'_>) -> ReconcilePlan {
    let spec = job.spec();
    let policy = &spec["runPolicy"];
    let specs = child_objects::fields(&spec[kind.specs]);
    for (replica_type, replicas) in specs {
        if !kind.replica_types.contains(&replica_type.as_str()) {
            let message = format!("{} has no replica type {replica_type}", kind.kind);
            return ReconcilePlan::not_simulated(message);
        }
        if !has_containers(&replicas["template"]) {
            return ReconcilePlan::not_simulated(format!(
                "replica type {replica_type} needs a container"
            ));
        }
    }
    let mut status = job.status();
    let mut plan = ReconcilePlan::default();
    if is_finished(&status) {
        clean_up(job, policy, &status, &mut plan);
        plan.status = Some(status);
        return plan;
    }
    let conditions = JobConditions {
        job,
        kind: kind.kind,
        subject: job.name(),
    };
    conditions.set(&mut status, "Created", "is created.");
    if policy["suspend"] == true {
        delete_pods(&job.pods, &mut plan);
        replica_statuses(kind, job, &[], &mut status);
        if conditions.set(&mut status, "Suspended", "is suspended.") {
            if let Some(fields) = status.as_object_mut() {
                fields.remove("startTime");
            }
            let message = format!("{} {} is suspended.", kind.kind, job.name());
            plan.events
                .push(NewEvent::normal(format!("{}Suspended", kind.kind), message));
        }
        plan.status = Some(status);
        return plan;
    }
    conditions.resumed(&mut status);
    if status["startTime"].is_null() {
        status["startTime"] = json!(job.timestamp());
    }
    if spec["elasticPolicy"].is_object() {
        plan.warn_not_simulated("elasticPolicy: the job keeps its replicas");
    }
    let mut restarting = false;
    for replica_type in kind.replica_types {
        let replicas = &spec[kind.specs][*replica_type];
        if replicas.is_object() {
            restarting |= plan_replicas(kind, job, replica_type, replicas, &mut plan);
        }
    }
    if restarting {
        conditions.set(
            &mut status,
            "Restarting",
            "is restarting because a replica failed.",
        );
    }
    replica_statuses(kind, job, &job.pods, &mut status);
    progress(kind, job, &conditions, &mut status, &mut plan);
    plan.status = Some(status);
    plan
}

/// Creates the missing pods of a replica type, and deletes those to restart. True if there are any.
fn plan_replicas(
    kind: &TrainingJob,
    job: &Observed<'_>,
    replica_type: &str,
    replicas: &Value,
    plan: &mut ReconcilePlan,
) -> bool {
    let specs = &job.spec()[kind.specs];
    let total = child_objects::fields(specs)
        .map(|(_, r)| count(&r["replicas"], 1))
        .sum();
    let lower = replica_type.to_lowercase();
    let wanted = count(&replicas["replicas"], 1);
    let mut restarting = false;
    for pod in pods_of(&job.pods, replica_type) {
        let index = label(pod, REPLICA_INDEX).and_then(|index| index.parse::<usize>().ok());
        let surplus = index.is_none_or(|index| index >= wanted);
        let restarts = is_restartable(replicas, pod);
        restarting |= restarts;
        if (surplus || restarts) && !is_deleting(pod) {
            plan.delete.push(ChildReference::of(pod.as_ref()));
        }
    }
    let own = job.name();
    let existing = job.pod_names();
    let names = (0..wanted).map(|index| (index, format!("{own}-{lower}-{index}")));
    let missing = names.filter(|(_, name)| !existing.contains(name.as_str()));
    plan.create_replicas(job, missing, |(index, name)| {
        let number = index.to_string();
        let mut labels = vec![
            (JOB_NAME, own.as_str()),
            (OPERATOR_NAME, kind.operator),
            (REPLICA_TYPE, lower.as_str()),
            (REPLICA_INDEX, number.as_str()),
        ];
        let has_leader = kind.leaders.iter().any(|leader| specs[*leader].is_object());
        let leads = kind.leaders.contains(&replica_type) || !has_leader && index == 0;
        if leads && !kind.leaders.is_empty() {
            labels.push((JOB_ROLE, "master"));
        }
        let mut pod = child_objects::pod(&replicas["template"], json!({"name": name}), &labels);
        let policy = replicas["restartPolicy"]
            .as_str()
            .unwrap_or(kind.restart_policy);
        let policy = if policy == "ExitCode" {
            "Never"
        } else {
            policy
        };
        pod["spec"]["restartPolicy"] = json!(policy);
        let replica = Replica {
            job: &own,
            replica_type,
            index,
            has_master: specs["Master"].is_object(),
            total,
        };
        child_objects::add_env(&mut pod["spec"], &(kind.environment)(&replica));
        pod
    });
    restarting
}

/// The pods of a replica type.
fn pods_of<'a>(pods: &'a [Arc<Pod>], replica_type: &str) -> impl Iterator<Item = &'a Arc<Pod>> {
    let lower = replica_type.to_lowercase();
    pods.iter()
        .filter(move |pod| label(pod, REPLICA_TYPE) == Some(&lower))
}

/// Whether `restartPolicy: ExitCode` replaces a failed pod.
fn is_restartable(replicas: &Value, pod: &Pod) -> bool {
    let codes = pod
        .status
        .iter()
        .flat_map(|s| s.container_statuses.iter().flatten());
    let mut codes = codes.filter_map(|s| Some(s.state.as_ref()?.terminated.as_ref()?.exit_code));
    replicas["restartPolicy"] == "ExitCode"
        && phase(pod) == "Failed"
        && codes.any(|code| code >= RETRYABLE_EXIT_CODE)
}

fn replica_statuses(kind: &TrainingJob, job: &Observed<'_>, pods: &[Arc<Pod>], status: &mut Value) {
    let mut all = json!({});
    for replica_type in kind.replica_types {
        if !job.spec()[kind.specs][*replica_type].is_object() {
            continue;
        }
        let number = |wanted: &str| {
            let pods = pods_of(pods, replica_type);
            pods.filter(|pod| phase(pod) == wanted && (wanted != "Running" || !is_deleting(pod)))
                .count()
        };
        let mut entry = json!({});
        for (field, wanted) in [
            ("active", "Running"),
            ("succeeded", "Succeeded"),
            ("failed", "Failed"),
        ] {
            match number(wanted) {
                0 => {}
                count => entry[field] = json!(count),
            }
        }
        let selector = format!(
            "{JOB_NAME}={},{OPERATOR_NAME}={},{REPLICA_TYPE}={}",
            job.name(),
            kind.operator,
            replica_type.to_lowercase()
        );
        entry["selector"] = json!(selector);
        all[*replica_type] = entry;
    }
    status["replicaStatuses"] = all;
}

/// Sets Running, Succeeded or Failed.
fn progress(
    kind: &TrainingJob,
    job: &Observed<'_>,
    conditions: &JobConditions<'_>,
    status: &mut Value,
    plan: &mut ReconcilePlan,
) {
    let spec = job.spec();
    let policy = &spec["runPolicy"];
    let leader = kind
        .leaders
        .iter()
        .find(|leader| spec[kind.specs][**leader].is_object());
    let decisive = leader.copied().unwrap_or("Worker");
    let number =
        |replica_type: &str, field: &str| count(&status["replicaStatuses"][replica_type][field], 0);
    let wanted = count(&spec[kind.specs][decisive]["replicas"], 1);
    let by_worker_0 =
        kind.kind == "TFJob" && leader.is_none() && spec["successPolicy"] != "AllWorkers";
    let worker_0 = || {
        let mut workers = pods_of(&job.pods, "Worker");
        workers.any(|pod| label(pod, REPLICA_INDEX) == Some("0") && phase(pod) == "Succeeded")
    };
    let succeeded = number(decisive, "succeeded") >= wanted.max(1) || by_worker_0 && worker_0();
    let failed = kind.replica_types.iter().find_map(|replica_type| {
        let mut failed = pods_of(&job.pods, replica_type).filter(|pod| {
            phase(pod) == "Failed" && !is_restartable(&spec[kind.specs][*replica_type], pod)
        });
        failed
            .next()
            .map(|_| (*replica_type, number(replica_type, "failed")))
    });
    let left = job.remaining_time(policy, status);
    let ended = if succeeded {
        Some(("Succeeded", "is successfully completed.".to_owned()))
    } else if left.is_some_and(|left| left.is_zero()) {
        Some((
            "Failed",
            "has failed because it was active longer than specified deadline".to_owned(),
        ))
    } else {
        failed.map(|(replica_type, pods)| {
            (
                "Failed",
                format!("is failed because {pods} {replica_type} replica(s) failed."),
            )
        })
    };
    if let Some((condition, message)) = ended {
        status["completionTime"] = json!(job.timestamp());
        conditions.set(status, condition, &message);
        let message = format!("{} {} {message}", kind.kind, job.name());
        let reason = format!("{}{condition}", kind.kind);
        plan.events.push(match succeeded {
            true => NewEvent::normal(reason, message),
            false => NewEvent::warning(reason, message),
        });
        plan.clear_create();
        return;
    }
    if let Some(left) = left {
        plan.requeue(left);
    }
    if number(decisive, "active") > 0 {
        conditions.set(status, "Running", "is running.");
    }
}
