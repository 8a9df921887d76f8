//! The objects with which the pods of an MPIJob find each other: the headless Service, and the ConfigMap with the hostfile.
//! The script `discover_hosts.sh` of elastic Horovod is not simulated.

use std::fmt::Write;

use serde_json::{Value, json};

use super::super::child_objects::items_mut;
use super::super::observed::Observed;
use super::{JOB_NAME, OPERATOR_NAME};

/// The volume of the ConfigMap.
const VOLUME: &str = "mpi-job-config";
/// The most bytes of the hostfile: those of a ConfigMap.
const MAX_HOSTFILE: usize = 1 << 20;
/// Where it is mounted.
const MOUNT_PATH: &str = "/etc/mpi";
/// The key of the hostfile.
const HOSTFILE: &str = "hostfile";

/// The Service of the domain of launcher and workers.
pub(super) fn service(job: &Observed<'_>, operator: &str) -> Value {
    let own = job.name();
    let mut service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": own, "labels": {"app": own}},
        "spec": {
            "clusterIP": "None",
            "selector": {OPERATOR_NAME: operator, JOB_NAME: own},
        },
    });
    if runs_launcher_as_worker(job) {
        service["spec"]["publishNotReadyAddresses"] = true.into();
    }
    service
}

/// The name of the ConfigMap.
fn config_map_name(job: &Observed<'_>) -> String {
    format!("{}-config", job.name())
}

/// The ConfigMap. `workers` is lazy. `None` if no ConfigMap has room for all of them.
pub(super) fn config_map(
    job: &Observed<'_>,
    workers: impl Iterator<Item = String>,
) -> Option<Value> {
    Some(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": config_map_name(job), "labels": {"app": job.name()}},
        "data": {HOSTFILE: hostfile(job, workers)?},
    }))
}

/// Mounts the ConfigMap in the first container of the launcher.
pub(super) fn mount(job: &Observed<'_>, pod_spec: &mut Value) {
    let items = json!([{"key": HOSTFILE, "path": HOSTFILE, "mode": 0o444}]);
    let config_map = json!({"name": config_map_name(job), "items": items});
    push(
        &mut pod_spec["volumes"],
        json!({"name": VOLUME, "configMap": config_map}),
    );
    if let Some(container) = items_mut(&mut pod_spec["containers"]).first_mut() {
        let mount = json!({"name": VOLUME, "mountPath": MOUNT_PATH});
        push(&mut container["volumeMounts"], mount);
    }
}

fn push(list: &mut Value, item: Value) {
    match list {
        Value::Array(items) => items.push(item),
        other => *other = json!([item]),
    }
}

fn runs_launcher_as_worker(job: &Observed<'_>) -> bool {
    job.spec()["runLauncherAsWorker"] == true
}

/// The name of a pod in the domain of the Service.
fn host(job: &Observed<'_>, pod: &str) -> String {
    format!("{pod}.{}.{}.svc", job.name(), job.namespace())
}

/// One line for each pod with slots, in the format of the MPI implementation.
fn hostfile(job: &Observed<'_>, workers: impl Iterator<Item = String>) -> Option<String> {
    let slots = job.spec()["slotsPerWorker"].as_i64().unwrap_or(1);
    let launcher = format!("{}-launcher", job.name());
    let first = runs_launcher_as_worker(job).then_some(launcher);
    let mut text = String::new();
    for pod in first.into_iter().chain(workers) {
        if text.len() > MAX_HOSTFILE {
            return None;
        }
        let host = host(job, &pod);
        let _ = match job.spec()["mpiImplementation"].as_str() {
            Some("Intel" | "MPICH") => writeln!(text, "{host}:{slots}"),
            _ => writeln!(text, "{host} slots={slots}"),
        };
    }
    Some(text)
}
