//! MPIJob: worker pods and a launcher Job.

use kube::ResourceExt;
use serde_json::{Value, json};

use super::super::child_objects::{self, count, has_containers, items, label};
use super::super::observed::Observed;
use super::super::reconcile_plan::{ChildReference, ReconcilePlan};
use super::super::{job_status, suspended_job};
use super::job_conditions::{JobConditions, is_finished};
use super::run_policy::delete_pods;
use super::{JOB_NAME, JOB_ROLE, OPERATOR_NAME, REPLICA_INDEX, REPLICA_TYPE, mpi_job_config};
use kueue_lab_controller_utils::event_recorder::NewEvent;
use kueue_lab_controller_utils::pods::{is_deleting, is_ready, is_terminal, phase};

/// The value of the label `operator-name`.
const OPERATOR: &str = "mpi-operator";

/// Reconciles an MPIJob.
pub(in super::super) fn reconcile(job: &Observed<'_>) -> ReconcilePlan {
    let spec = job.spec();
    let policy = &spec["runPolicy"];
    let (launcher, worker) = (
        &spec["mpiReplicaSpecs"]["Launcher"],
        &spec["mpiReplicaSpecs"]["Worker"],
    );
    if !has_containers(&launcher["template"]) {
        return ReconcilePlan::not_simulated("mpiReplicaSpecs.Launcher needs a container");
    }
    if worker.is_object() && !has_containers(&worker["template"]) {
        return ReconcilePlan::not_simulated("mpiReplicaSpecs.Worker needs a container");
    }
    let mut status = job.status();
    let mut plan = ReconcilePlan::default();
    if is_finished(&status) {
        let policy = policy["cleanPodPolicy"].as_str().unwrap_or("None");
        let cleaned = job.pods.iter().filter(|pod| match policy {
            "All" => true,
            "Running" => !is_terminal(pod),
            _ => false,
        });
        delete_pods(cleaned, &mut plan);
        // The counts stay when the launcher is deleted after its TTL.
        if !job.jobs.is_empty() {
            replica_statuses(job, &mut status);
        }
        plan.status = Some(status);
        return plan;
    }
    let conditions = JobConditions {
        job,
        kind: "MPIJob",
        subject: format!("{}/{}", job.namespace(), job.name()),
    };
    conditions.set(&mut status, "Created", "is created.");
    let suspended = policy["suspend"] == true;
    if suspended {
        delete_pods(&job.pods, &mut plan);
        if conditions.set(&mut status, "Suspended", "is suspended.") {
            if let Some(fields) = status.as_object_mut() {
                fields.remove("startTime");
            }
            plan.events
                .push(NewEvent::normal("MPIJobSuspended", "MPIJob suspended"));
        }
    } else {
        conditions.resumed(&mut status);
        if status["startTime"].is_null() {
            status["startTime"] = json!(job.timestamp());
        }
        plan_workers(job, worker, &mut plan);
    }
    plan_launcher(job, launcher, worker, suspended, &mut plan);
    if !suspended {
        plan_config(job, worker, &mut plan);
    }
    replica_statuses(job, &mut status);
    if !suspended {
        progress(job, &conditions, &mut status, &mut plan);
    }
    plan.status = Some(status);
    plan
}

/// The number of workers.
fn wanted_workers(worker: &Value) -> usize {
    if worker.is_object() {
        count(&worker["replicas"], 1)
    } else {
        0
    }
}

/// The replica index of the first worker: with `runLauncherAsWorker` the launcher has index 0.
fn first_replica_index(job: &Observed<'_>) -> usize {
    usize::from(job.spec()["runLauncherAsWorker"] == true)
}

fn plan_workers(job: &Observed<'_>, worker: &Value, plan: &mut ReconcilePlan) {
    let wanted = wanted_workers(worker);
    let first = first_replica_index(job);
    let surplus = job.pods.iter().filter(|pod| {
        let index = label(pod, REPLICA_INDEX).and_then(|index| index.parse::<usize>().ok());
        !is_deleting(pod) && index.is_none_or(|index| index >= wanted + first)
    });
    plan.delete
        .extend(surplus.map(|pod| ChildReference::of(pod.as_ref())));
    let own = job.name();
    let existing = job.pod_names();
    let names = (0..wanted).map(|index| (index, worker_name(job, index)));
    let missing = names.filter(|(_, name)| !existing.contains(name.as_str()));
    plan.create_replicas(job, missing, |(index, name)| {
        let number = (index + first).to_string();
        let labels = [
            (JOB_NAME, own.as_str()),
            (OPERATOR_NAME, OPERATOR),
            (JOB_ROLE, "worker"),
            (REPLICA_TYPE, "worker"),
            (REPLICA_INDEX, number.as_str()),
        ];
        let mut pod = child_objects::pod(&worker["template"], json!({"name": name}), &labels);
        pod["spec"]["hostname"] = json!(name);
        pod["spec"]["subdomain"] = json!(own);
        let policy = worker["restartPolicy"].as_str().unwrap_or("Never");
        pod["spec"]["restartPolicy"] = json!(if policy == "ExitCode" {
            "Never"
        } else {
            policy
        });
        child_objects::add_env(&mut pod["spec"], &[("K_MPI_JOB_ROLE", "worker".to_owned())]);
        let first = child_objects::items_mut(&mut pod["spec"]["containers"]).first_mut();
        if let Some(container) = first
            && items(&container["command"]).is_empty()
            && items(&container["args"]).is_empty()
        {
            container["command"] = json!(["/usr/sbin/sshd", "-De"]);
        }
        pod
    });
}

/// Plans the Service and the ConfigMap before the first pods. Those of others with their names are kept.
fn plan_config(job: &Observed<'_>, worker: &Value, plan: &mut ReconcilePlan) {
    if plan.create.is_empty() && plan.patch.is_empty() {
        return;
    }
    let workers = (0..wanted_workers(worker)).map(|index| worker_name(job, index));
    let config_map = mpi_job_config::config_map(job, workers);
    if config_map.is_none() {
        plan.warn_not_simulated("a hostfile of more than 1 MiB");
    }
    let service = mpi_job_config::service(job, OPERATOR);
    let objects = config_map.into_iter().chain([service]);
    plan.create.splice(0..0, objects);
}

fn worker_name(job: &Observed<'_>, index: usize) -> String {
    format!("{}-worker-{index}", job.name())
}

fn launcher_name(job: &Observed<'_>) -> String {
    format!("{}-launcher", job.name())
}

fn plan_launcher(
    job: &Observed<'_>,
    launcher: &Value,
    worker: &Value,
    suspended: bool,
    plan: &mut ReconcilePlan,
) {
    let name = launcher_name(job);
    let Some(existing) = job.jobs.iter().find(|j| j.name_any() == name) else {
        let waits = job.spec()["launcherCreationPolicy"] == "WaitForWorkersReady";
        let ready = job.pods.iter().filter(|pod| is_ready(pod)).count();
        if !waits || !suspended && ready >= wanted_workers(worker) {
            plan.create.push(launcher_job(job, launcher, suspended));
        }
        return;
    };
    if job_status::is_finished(existing) || suspended == job_status::is_suspended(existing) {
        return;
    }
    let patch = match suspended {
        true => suspended_job::suspend(),
        false => suspended_job::resume(existing, &launcher["template"]),
    };
    plan.patch
        .push((ChildReference::of(existing.as_ref()), patch));
}

fn launcher_job(job: &Observed<'_>, launcher: &Value, suspended: bool) -> Value {
    let own = job.name();
    let labels = [
        (JOB_NAME, own.as_str()),
        (OPERATOR_NAME, OPERATOR),
        (JOB_ROLE, "launcher"),
    ];
    let mut template = launcher["template"].clone();
    child_objects::set_labels(&mut template, &labels);
    if first_replica_index(job) > 0 {
        child_objects::set_labels(&mut template, &[(REPLICA_INDEX, "0")]);
    }
    template["spec"]["hostname"] = json!(launcher_name(job));
    template["spec"]["subdomain"] = json!(own);
    let policy = launcher["restartPolicy"].as_str().unwrap_or("OnFailure");
    let policy = if policy == "ExitCode" || policy == "Always" {
        "OnFailure"
    } else {
        policy
    };
    template["spec"]["restartPolicy"] = json!(policy);
    let variables = [
        ("K_MPI_JOB_ROLE", "launcher".to_owned()),
        (
            "OMPI_MCA_orte_default_hostfile",
            "/etc/mpi/hostfile".to_owned(),
        ),
    ];
    child_objects::add_env(&mut template["spec"], &variables);
    mpi_job_config::mount(job, &mut template["spec"]);
    let mut launcher = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": launcher_name(job), "labels": {"app": own}},
        "spec": {"suspend": suspended, "template": template},
    });
    let policy = &job.spec()["runPolicy"];
    for field in [
        "backoffLimit",
        "activeDeadlineSeconds",
        "ttlSecondsAfterFinished",
    ] {
        if !policy[field].is_null() {
            launcher["spec"][field] = policy[field].clone();
        }
    }
    launcher
}

fn replica_statuses(job: &Observed<'_>, status: &mut Value) {
    let mut all = json!({"Launcher": {}});
    let mut set = |replica_type: &str, field: &str, number: usize| {
        if number > 0 {
            all[replica_type][field] = json!(number);
        }
    };
    if let Some(launcher) = job.jobs.iter().find(|j| j.name_any() == launcher_name(job)) {
        let number = |number: i32| usize::try_from(number).unwrap_or(0);
        set("Launcher", "active", number(job_status::active(launcher)));
        set(
            "Launcher",
            "succeeded",
            usize::from(job_status::is_complete(launcher)),
        );
        set("Launcher", "failed", number(job_status::failed(launcher)));
    }
    for (field, wanted) in [
        ("active", "Running"),
        ("succeeded", "Succeeded"),
        ("failed", "Failed"),
    ] {
        let pods = job
            .pods
            .iter()
            .filter(|pod| phase(pod) == wanted && !is_deleting(pod));
        set("Worker", field, pods.count());
    }
    if job.spec()["mpiReplicaSpecs"]["Worker"].is_object() && all["Worker"].is_null() {
        all["Worker"] = json!({});
    }
    status["replicaStatuses"] = all;
}

fn progress(
    job: &Observed<'_>,
    conditions: &JobConditions<'_>,
    status: &mut Value,
    plan: &mut ReconcilePlan,
) {
    let name = launcher_name(job);
    let Some(launcher) = job.jobs.iter().find(|j| j.name_any() == name) else {
        return;
    };
    let subject = format!("{}/{}", job.namespace(), job.name());
    if job_status::is_complete(launcher) {
        status["completionTime"] = json!(job.timestamp());
        conditions.set(status, "Succeeded", "successfully completed.");
        let message = format!("MPIJob {subject} successfully completed.");
        plan.events
            .push(NewEvent::normal("MPIJobSucceeded", message));
    } else if job_status::is_failed(launcher) {
        status["completionTime"] = json!(job.timestamp());
        conditions.set(status, "Failed", "has failed");
        plan.events.push(NewEvent::warning(
            "MPIJobFailed",
            format!("MPIJob {subject} has failed"),
        ));
    } else {
        let workers = job
            .pods
            .iter()
            .filter(|pod| phase(pod) == "Running")
            .count();
        let wanted = wanted_workers(&job.spec()["mpiReplicaSpecs"]["Worker"]);
        if job_status::ready(launcher) > 0 && workers >= wanted {
            conditions.set(status, "Running", "is running.");
        }
    }
}
