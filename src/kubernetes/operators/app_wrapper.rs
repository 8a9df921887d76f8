//! AppWrapper: the objects it wraps; a state machine over `status.phase`.

use std::time::Duration;

use serde_json::{Value, json};

use super::child_objects::{self, count, fields, items};
use super::conditions::{find, is_true};
use super::job_status;
use super::observed::{Observed, parse_timestamp};
use super::reconcile_plan::{ChildReference, ReconcilePlan};
use kueue_lab_controller_utils::event_recorder::NewEvent;
use kueue_lab_controller_utils::pods::phase;

/// Label: the AppWrapper of an object or pod.
pub(super) const NAME_LABEL: &str = "workload.codeflare.dev/appwrapper";
/// The time in which failed pods may be replaced.
const FAILURE_GRACE_PERIOD: Duration = Duration::from_secs(60);
/// How often the end of the wrapped objects is checked.
const POLL: Duration = Duration::from_secs(1);

/// Reconciles an AppWrapper.
pub(super) fn reconcile(wrapper: &Observed<'_>) -> ReconcilePlan {
    let spec = wrapper.spec();
    let mut status = wrapper.status();
    let mut plan = ReconcilePlan::default();
    let suspended = spec["suspend"] == true;
    let set = |status: &mut Value, types: &[(&str, bool)], reason: &str, message: &str| {
        for (condition_type, is) in types {
            wrapper.set_condition(status, condition_type, *is, reason, message);
        }
    };
    let phase = status["phase"].as_str().unwrap_or_default().to_owned();
    match phase.as_str() {
        "" => {
            status["componentStatus"] = items(&spec["components"])
                .iter()
                .map(component_status)
                .collect();
            status["phase"] = json!("Suspended");
        }
        "Suspended" if !suspended => {
            let on = [("QuotaReserved", true), ("ResourcesDeployed", true)];
            set(&mut status, &on, "Resuming", "Suspend is false");
            let off = [("PodsReady", false), ("Unhealthy", false)];
            set(&mut status, &off, "Resuming", "Suspend is false");
            status["phase"] = json!("Resuming");
        }
        "Resuming" | "Running" if suspended => status["phase"] = json!("Suspending"),
        "Resuming" => match deploy(wrapper, &status) {
            Ok(objects) => {
                plan.create = objects;
                status["phase"] = json!("Running");
            }
            Err(error) => {
                let message = format!("error creating components: {error}");
                set(
                    &mut status,
                    &[("Unhealthy", true)],
                    "CreateFailed",
                    &message,
                );
                plan.events.push(NewEvent::warning(
                    "Unhealthy",
                    format!("CreateFailed: {message}"),
                ));
                status["phase"] = json!("Failed");
            }
        },
        "Running" => run(wrapper, &mut status, &mut plan),
        "Suspending" => {
            if !delete(wrapper, &status, &mut plan) {
                plan.requeue(POLL);
            } else {
                let off = [("ResourcesDeployed", false), ("QuotaReserved", false)];
                set(&mut status, &off, "Suspended", "Suspend is true");
                let off = [("PodsReady", false), ("Unhealthy", false)];
                set(&mut status, &off, "Suspended", "");
                status["phase"] = json!("Suspended");
            }
        }
        "Failed" if is_true(&status, "ResourcesDeployed") => {
            if !delete(wrapper, &status, &mut plan) {
                plan.requeue(POLL);
            } else {
                let message = "Resources deleted for failed AppWrapper";
                set(
                    &mut status,
                    &[("ResourcesDeployed", false)],
                    "Failed",
                    message,
                );
                set(
                    &mut status,
                    &[("QuotaReserved", false)],
                    "Failed",
                    "No resources deployed",
                );
            }
        }
        _ => {}
    }
    plan.status = Some(status);
    plan
}

/// The status of a component: identity and pod sets.
fn component_status(component: &Value) -> Value {
    let template = &component["template"];
    let pod_sets = match component["podSets"].as_array() {
        Some(own) if !own.is_empty() => own.clone(),
        _ => infer_pod_sets(template),
    };
    json!({
        "apiVersion": template["apiVersion"].as_str().unwrap_or_default(),
        "kind": template["kind"].as_str().unwrap_or_default(),
        "name": template["metadata"]["name"].as_str().unwrap_or_default(),
        "podSets": pod_sets,
    })
}

/// The pod sets of the kinds that AppWrapper knows.
fn infer_pod_sets(template: &Value) -> Vec<Value> {
    let spec = &template["spec"];
    let set = |path: String, replicas: usize| json!({"path": path, "replicas": replicas});
    let job = |spec: &Value| {
        let parallelism = count(&spec["parallelism"], 1);
        parallelism.min(count(&spec["completions"], parallelism))
    };
    let ray = |prefix: &str, cluster: &Value| {
        let workers = items(&cluster["workerGroupSpecs"]).iter().enumerate();
        let workers = workers.map(|(index, group)| {
            let path = format!("template.spec{prefix}.workerGroupSpecs[{index}].template");
            set(
                path,
                count(&group["replicas"], 0).saturating_mul(count(&group["numOfHosts"], 1)),
            )
        });
        let head = set(format!("template.spec{prefix}.headGroupSpec.template"), 1);
        std::iter::once(head).chain(workers).collect::<Vec<_>>()
    };
    match template["kind"].as_str().unwrap_or_default() {
        "Pod" => vec![set("template".to_owned(), 1)],
        "Job" => vec![set("template.spec.template".to_owned(), job(spec))],
        "Deployment" | "ReplicaSet" | "StatefulSet" => {
            vec![set(
                "template.spec.template".to_owned(),
                count(&spec["replicas"], 1),
            )]
        }
        "JobSet" => items(&spec["replicatedJobs"])
            .iter()
            .enumerate()
            .map(|(index, r)| {
                let path = format!("template.spec.replicatedJobs[{index}].template.spec.template");
                let replicas = count(&r["replicas"], 1);
                set(path, replicas.saturating_mul(job(&r["template"]["spec"])))
            })
            .collect(),
        "PyTorchJob" => fields(&spec["pytorchReplicaSpecs"])
            .map(|(replica_type, r)| {
                let path = format!("template.spec.pytorchReplicaSpecs.{replica_type}.template");
                set(path, count(&r["replicas"], 1))
            })
            .collect(),
        "RayCluster" => ray("", spec),
        "RayJob" => ray(".rayClusterSpec", &spec["rayClusterSpec"]),
        _ => Vec::new(),
    }
}

/// The wrapped objects with labels and the pod set infos of their admission.
fn deploy(wrapper: &Observed<'_>, status: &Value) -> Result<Vec<Value>, String> {
    let name = wrapper.name();
    let components = items(&wrapper.spec()["components"]);
    let mut objects = Vec::new();
    for (component, state) in components.iter().zip(items(&status["componentStatus"])) {
        let mut object = component["template"].clone();
        if !object.is_object() {
            return Err("a component has no template".to_owned());
        }
        child_objects::set_labels(&mut object, &[(NAME_LABEL, &name)]);
        for (index, pod_set) in items(&state["podSets"]).iter().enumerate() {
            let path = pod_set["path"].as_str().unwrap_or_default();
            let template = template_at(&mut object, path).filter(|t| t.is_object());
            let template = template.ok_or_else(|| format!("path {path} is not found"))?;
            child_objects::set_labels(template, &[(NAME_LABEL, &name)]);
            inject(&component["podSetInfos"][index], template);
        }
        objects.push(object);
    }
    Ok(objects)
}

/// The pod template at a path such as `template.spec.replicatedJobs[0].template.spec.template`.
fn template_at<'a>(object: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    let mut steps = path.split('.');
    if steps.next() != Some("template") {
        return None;
    }
    steps.try_fold(object, |at, step| {
        let (name, index) = match step.strip_suffix(']').and_then(|s| s.split_once('[')) {
            Some((name, index)) => (name, Some(index.parse::<usize>().ok()?)),
            None => (step, None),
        };
        let field = at.get_mut(name)?;
        match index {
            Some(index) => field.get_mut(index),
            None => Some(field),
        }
    })
}

/// Adds a pod set info to a pod template.
fn inject(info: &Value, template: &mut Value) {
    for field in ["labels", "annotations"] {
        let entries = fields(&info[field]);
        let entries: Vec<_> = entries
            .filter_map(|(k, v)| Some((k.as_str(), v.as_str()?)))
            .collect();
        match field {
            "labels" => child_objects::set_labels(template, &entries),
            _ => child_objects::set_annotations(template, &entries),
        }
    }
    let Some(spec) = template.get_mut("spec").filter(|spec| spec.is_object()) else {
        return;
    };
    let selector: serde_json::Map<_, _> = fields(&spec["nodeSelector"])
        .chain(fields(&info["nodeSelector"]))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if !selector.is_empty() {
        spec["nodeSelector"] = Value::Object(selector);
    }
    for field in ["tolerations", "schedulingGates"] {
        let mut all = items(&spec[field]).to_vec();
        all.extend(items(&info[field]).iter().cloned());
        if !all.is_empty() {
            spec[field] = Value::Array(all);
        }
    }
}

/// Deletes the wrapped objects. True when none is left.
fn delete(wrapper: &Observed<'_>, status: &Value, plan: &mut ReconcilePlan) -> bool {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for component in items(&status["componentStatus"]) {
        plan.delete.push(ChildReference {
            api_version: text(&component["apiVersion"]),
            kind: text(&component["kind"]),
            name: text(&component["name"]),
            uid: None,
        });
    }
    wrapper.pods.is_empty() && wrapper.jobs.is_empty() && wrapper.children.is_empty()
}

/// Whether the status of a wrapped object says that it has failed.
fn has_failed(wrapper: &Observed<'_>) -> bool {
    let failed = |status: &Value| {
        is_true(status, "Failed")
            || status["jobDeploymentStatus"] == "Failed"
            || status["applicationState"]["state"] == "FAILED"
    };
    wrapper.jobs.iter().any(|job| job_status::is_failed(job))
        || wrapper
            .children
            .iter()
            .any(|child| failed(&child.data["status"]))
}

fn run(wrapper: &Observed<'_>, status: &mut Value, plan: &mut ReconcilePlan) {
    let expected: usize = items(&status["componentStatus"])
        .iter()
        .flat_map(|component| items(&component["podSets"]))
        .map(|set| count(&set["replicas"], 1))
        .fold(0, usize::saturating_add);
    let number = |wanted: &str| {
        wrapper
            .pods
            .iter()
            .filter(|pod| phase(pod) == wanted)
            .count()
    };
    let (pending, running) = (number("Pending"), number("Running"));
    let (succeeded, failed) = (number("Succeeded"), number("Failed"));
    if has_failed(wrapper) {
        wrapper.set_condition(
            status,
            "Unhealthy",
            true,
            "FailedComponent",
            "Found 1 failed components",
        );
        plan.events.push(NewEvent::warning(
            "Unhealthy",
            "FailedComponent: Found 1 failed components",
        ));
        status["phase"] = json!("Failed");
    } else if succeeded >= expected && pending + running + failed == 0 && expected > 0 {
        let message = format!("{succeeded} pods succeeded and no running, pending, or failed pods");
        wrapper.set_condition(status, "QuotaReserved", false, "Succeeded", &message);
        wrapper.set_condition(status, "ResourcesDeployed", true, "Succeeded", &message);
        status["phase"] = json!("Succeeded");
    } else if failed > 0 {
        wrapper.set_condition(status, "Unhealthy", true, "FoundFailedPods", "");
        let since =
            find(status, "Unhealthy").and_then(|c| parse_timestamp(&c["lastTransitionTime"]));
        let elapsed = wrapper
            .now
            .duration_since(since.unwrap_or(wrapper.now))
            .unsigned_abs();
        match FAILURE_GRACE_PERIOD
            .checked_sub(elapsed)
            .filter(|left| !left.is_zero())
        {
            Some(left) => plan.requeue(left),
            None => {
                let message = format!("FoundFailedPods: {failed} failed pods");
                plan.events.push(NewEvent::warning("Unhealthy", message));
                plan.warn_not_simulated("a failed AppWrapper is not restarted");
                status["phase"] = json!("Failed");
            }
        }
    } else {
        wrapper.set_condition(status, "Unhealthy", false, "FoundNoFailedPods", "");
        let ready = running + succeeded >= expected;
        let (reason, message) = match ready {
            true => (
                "SufficientPodsReady",
                format!("{running} pods running; {succeeded} pods succeeded"),
            ),
            false => (
                "InsufficientPodsReady",
                format!(
                    "{pending} pods pending; {running} pods running; {succeeded} pods succeeded"
                ),
            ),
        };
        wrapper.set_condition(status, "PodsReady", ready, reason, &message);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{infer_pod_sets, inject, template_at};

    #[test]
    fn pod_sets_are_inferred_and_found() {
        let mut job_set = json!({"kind": "JobSet", "spec": {"replicatedJobs": [
            {"replicas": 2, "template": {"spec": {"parallelism": 3, "template": {"spec": {}}}}},
        ]}});
        let sets = infer_pod_sets(&job_set);
        let path = "template.spec.replicatedJobs[0].template.spec.template";
        assert_eq!(sets, [json!({"path": path, "replicas": 6})]);
        assert_eq!(
            template_at(&mut job_set, path),
            Some(&mut json!({"spec": {}}))
        );
        assert_eq!(
            template_at(&mut job_set, "template.spec.replicatedJobs[1].template"),
            None
        );
        assert_eq!(template_at(&mut job_set, "spec.template"), None);
    }

    #[test]
    fn pod_set_infos_are_added() {
        let info = json!({
            "labels": {"a": "1"}, "nodeSelector": {"pool": "x"},
            "tolerations": [{"key": "spot"}],
        });
        let mut template =
            json!({"spec": {"nodeSelector": {"own": "y"}, "tolerations": [{"key": "own"}]}});
        inject(&info, &mut template);
        assert_eq!(template["metadata"]["labels"], json!({"a": "1"}));
        assert_eq!(
            template["spec"]["nodeSelector"],
            json!({"own": "y", "pool": "x"})
        );
        assert_eq!(
            template["spec"]["tolerations"],
            json!([{"key": "own"}, {"key": "spot"}])
        );
    }
}
