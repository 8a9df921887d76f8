//! TrainJob: a JobSet from the template of its runtime.

use serde_json::{Value, json};

use jiff::SignedDuration;

use super::child_objects::{self, count, fields, items, items_mut};
use super::conditions::{find, is_true};
use super::observed::{Observed, parse_timestamp};
use super::reconcile_plan::{ChildReference, ReconcilePlan};
use kueue_lab_controller_runtime::ObjectKey;

/// Label of a replicated job: its step of the TrainJob.
const ANCESTOR: &str = "trainer.kubeflow.org/trainjob-ancestor-step";
/// The container of the trainer.
const NODE: &str = "node";

/// Reconciles a TrainJob.
pub(super) fn reconcile(job: &Observed<'_>) -> ReconcilePlan {
    let spec = job.spec();
    let mut status = job.status();
    if is_true(&status, "Complete") || is_true(&status, "Failed") {
        return ReconcilePlan::default();
    }
    let mut plan = ReconcilePlan::default();
    let suspended = spec["suspend"] == true;
    let set = job.child("JobSet", &job.name());
    match (set, runtime(job)) {
        (Some(set), runtime) => {
            let was = set.data["spec"]["suspend"] == true;
            if suspended && !was {
                let patch = json!({"spec": {"suspend": true}});
                plan.patch.push((ChildReference::dynamic(set), patch));
            } else if !suspended
                && was
                && let Some(new) = runtime.and_then(|runtime| job_set(job, &runtime))
            {
                plan.patch
                    .push((ChildReference::dynamic(set), json!({"spec": new["spec"]})));
            }
        }
        (None, None) => {
            let name = spec["runtimeRef"]["name"].as_str().unwrap_or_default();
            plan.warn_not_simulated(format!("runtime {name} is not found"));
            plan.requeue(std::time::Duration::from_secs(5));
            return plan;
        }
        (None, Some(runtime)) => match job_set(job, &runtime) {
            Some(set) => plan.create.push(set),
            None => return ReconcilePlan::not_simulated("the runtime has no JobSet template"),
        },
    }
    suspend_condition(job, suspended, &mut status);
    if let Some(set) = set {
        follow(job, &set.data["status"], &mut status);
    }
    deadline(job, set.is_some(), &mut status, &mut plan);
    let is_empty = status.as_object().is_none_or(serde_json::Map::is_empty);
    plan.status = (!is_empty).then_some(status);
    plan
}

/// The spec of the runtime that the TrainJob refers to.
fn runtime(job: &Observed<'_>) -> Option<Value> {
    let reference = &job.spec()["runtimeRef"];
    let kind = reference["kind"]
        .as_str()
        .unwrap_or("ClusterTrainingRuntime");
    let name = reference["name"].as_str().unwrap_or_default();
    let key = match kind {
        "TrainingRuntime" => ObjectKey::new(job.namespace(), name),
        _ => ObjectKey::cluster(name),
    };
    job.lookup
        .find(kind, &key)
        .map(|runtime| runtime.data["spec"].clone())
}

fn suspend_condition(job: &Observed<'_>, suspended: bool, status: &mut Value) {
    let (reason, message) = match suspended {
        true => ("Suspended", "TrainJob is suspended"),
        false if is_true(status, "Suspended") => ("Resumed", "TrainJob is resumed"),
        false => return,
    };
    job.set_condition(status, "Suspended", suspended, reason, message);
}

/// Copies the outcome and the counts of the JobSet.
fn follow(job: &Observed<'_>, set: &Value, status: &mut Value) {
    for (theirs, ours) in [("Completed", "Complete"), ("Failed", "Failed")] {
        if let Some(condition) = find(set, theirs).filter(|c| c["status"] == "True") {
            let text = |field: &str| condition[field].as_str().unwrap_or_default();
            job.set_condition(status, ours, true, text("reason"), text("message"));
        }
    }
    if set["replicatedJobsStatus"].is_array() {
        status["jobsStatus"] = set["replicatedJobsStatus"].clone();
    }
}

fn deadline(job: &Observed<'_>, started: bool, status: &mut Value, plan: &mut ReconcilePlan) {
    let Some(seconds) = job.spec()["activeDeadlineSeconds"]
        .as_i64()
        .filter(|_| started)
    else {
        return;
    };
    if job.spec()["suspend"] == true || is_true(status, "Complete") || is_true(status, "Failed") {
        return;
    }
    let resumed = find(status, "Suspended").map(|c| &c["lastTransitionTime"]);
    let created = job.object.metadata.creation_timestamp.as_ref().map(|t| t.0);
    let since = resumed
        .and_then(parse_timestamp)
        .or(created)
        .unwrap_or(job.now);
    let left = SignedDuration::from_secs(seconds).saturating_sub(job.now.duration_since(since));
    if left > SignedDuration::ZERO {
        plan.requeue(left.unsigned_abs());
        return;
    }
    let message = "TrainJob exceeded its active deadline";
    job.set_condition(status, "Failed", true, "DeadlineExceeded", message);
    if let Some(set) = job.child("JobSet", &job.name()) {
        plan.delete.push(ChildReference::dynamic(set));
    }
}

/// The JobSet of the TrainJob.
fn job_set(job: &Observed<'_>, runtime: &Value) -> Option<Value> {
    let mut template = runtime
        .get("template")
        .filter(|t| t["spec"].is_object())?
        .clone();
    for replicated in items_mut(&mut template["spec"]["replicatedJobs"]) {
        if !replicated.is_object()
            || !child_objects::has_containers(&replicated["template"]["spec"]["template"])
        {
            return None;
        }
        let step = replicated["template"]["metadata"]["labels"][ANCESTOR]
            .as_str()
            .map(str::to_owned);
        match step.as_deref() {
            Some("trainer") => set_trainer(job, runtime, replicated),
            Some("dataset-initializer") => {
                set_initializer(
                    &job.spec()["initializer"]["dataset"],
                    "dataset-initializer",
                    replicated,
                );
            }
            Some("model-initializer") => {
                set_initializer(
                    &job.spec()["initializer"]["model"],
                    "model-initializer",
                    replicated,
                );
            }
            _ => {}
        }
    }
    for patch in items(&job.spec()["runtimePatches"]) {
        apply_patch(&patch["trainingRuntimeSpec"]["template"], &mut template);
    }
    let mut set = json!({
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": job.name()},
        "spec": template["spec"],
    });
    for field in ["labels", "annotations"] {
        let own: serde_json::Map<_, _> = fields(&template["metadata"][field])
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        set["metadata"][field] = Value::Object(own);
    }
    set["spec"]["suspend"] = json!(job.spec()["suspend"] == true);
    Some(set)
}

/// Applies the trainer of the TrainJob and the number of nodes.
fn set_trainer(job: &Observed<'_>, runtime: &Value, replicated: &mut Value) {
    let trainer = &job.spec()["trainer"];
    let nodes = trainer["numNodes"]
        .as_i64()
        .or_else(|| runtime["mlPolicy"]["numNodes"].as_i64());
    replicated["replicas"] = json!(1);
    let spec = &mut replicated["template"]["spec"];
    // The launcher of MPI is one pod.
    if let Some(nodes) = nodes.filter(|_| !runtime["mlPolicy"]["mpi"].is_object()) {
        spec["parallelism"] = json!(nodes);
        spec["completions"] = json!(nodes);
    }
    let world = count(&spec["parallelism"], 1);
    for container in items_mut(&mut spec["template"]["spec"]["containers"]) {
        if container["name"] != NODE {
            continue;
        }
        for field in ["image", "command", "args"] {
            if !trainer[field].is_null() {
                container[field] = trainer[field].clone();
            }
        }
        if trainer["resourcesPerNode"].is_object() {
            container["resources"] = trainer["resourcesPerNode"].clone();
        }
        add_env(container, items(&trainer["env"]));
    }
    if runtime["mlPolicy"]["torch"].is_object() {
        let name = job.name();
        let variables = [
            ("PET_NNODES", world.to_string()),
            ("PET_MASTER_ADDR", format!("{name}-{NODE}-0-0.{name}")),
            ("PET_MASTER_PORT", "29400".to_owned()),
        ];
        child_objects::add_env(&mut spec["template"]["spec"], &variables);
    }
}

fn set_initializer(initializer: &Value, name: &str, replicated: &mut Value) {
    replicated["replicas"] = json!(1);
    for container in
        items_mut(&mut replicated["template"]["spec"]["template"]["spec"]["containers"])
    {
        if container["name"] != name {
            continue;
        }
        let uri = initializer["storageUri"].as_str();
        let uri = uri.map(|uri| json!({"name": "STORAGE_URI", "value": uri}));
        add_env(container, uri.as_slice());
        add_env(container, items(&initializer["env"]));
    }
}

/// Sets environment variables, by name.
fn add_env(container: &mut Value, variables: &[Value]) {
    if variables.is_empty() {
        return;
    }
    let mut env = items(&container["env"]).to_vec();
    for variable in variables {
        env.retain(|old| old["name"] != variable["name"]);
        env.push(variable.clone());
    }
    container["env"] = Value::Array(env);
}

/// Applies a runtime patch to the template of the JobSet: metadata, and the pod templates of
/// replicated jobs by name.
fn apply_patch(patch: &Value, template: &mut Value) {
    merge(&patch["metadata"], &mut template["metadata"]);
    for change in items(&patch["spec"]["replicatedJobs"]) {
        let all = items_mut(&mut template["spec"]["replicatedJobs"]);
        let Some(replicated) = all.iter_mut().find(|r| r["name"] == change["name"]) else {
            continue;
        };
        let (change, job) = (&change["template"], &mut replicated["template"]);
        merge(&change["metadata"], &mut job["metadata"]);
        merge(&change["spec"]["template"], &mut job["spec"]["template"]);
    }
}

/// Merges `change` into `value`: objects by field, lists of named items by name, other lists are
/// appended.
fn merge(change: &Value, value: &mut Value) {
    match (change, value) {
        (Value::Null, _) => {}
        (Value::Object(change), Value::Object(value)) => {
            for (key, change) in change {
                merge(change, value.entry(key.clone()).or_insert(Value::Null));
            }
        }
        (Value::Array(change), Value::Array(value)) => {
            for item in change {
                let named = item.get("name").is_some_and(Value::is_string);
                let same = |old: &Value| named && old.get("name") == item.get("name");
                match value.iter().position(same) {
                    Some(at) => merge(item, &mut value[at]),
                    None if value.contains(item) => {}
                    None => value.push(item.clone()),
                }
            }
        }
        (change, value) => *value = change.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::apply_patch;

    #[test]
    fn runtime_patches_are_merged_by_name() {
        let mut template = json!({"spec": {"replicatedJobs": [{
            "name": "node",
            "template": {"spec": {"template": {"spec": {
                "containers": [{"name": "node", "image": "i"}],
                "tolerations": [{"key": "own"}],
            }}}},
        }]}});
        let patch = json!({"spec": {"replicatedJobs": [
            {"name": "other", "template": {"spec": {}}},
            {"name": "node", "template": {"spec": {"template": {
                "metadata": {"labels": {"a": "1"}},
                "spec": {
                    "nodeSelector": {"pool": "x"},
                    "containers": [{"name": "node", "env": [{"name": "E", "value": "v"}]}],
                    "tolerations": [{"key": "own"}, {"key": "spot"}],
                },
            }}}},
        ]}});
        apply_patch(&patch, &mut template);
        let pod = &template["spec"]["replicatedJobs"][0]["template"]["spec"]["template"];
        assert_eq!(pod["metadata"]["labels"], json!({"a": "1"}));
        assert_eq!(pod["spec"]["nodeSelector"], json!({"pool": "x"}));
        assert_eq!(
            pod["spec"]["containers"],
            json!([{"name": "node", "image": "i", "env": [{"name": "E", "value": "v"}]}])
        );
        assert_eq!(
            pod["spec"]["tolerations"],
            json!([{"key": "own"}, {"key": "spot"}])
        );
    }
}
