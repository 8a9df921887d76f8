//! Removes Kueue's scheduling gates from the pod templates of jobs: those of elastic jobs, and
//! those of jobs with a topology.

use kube::Client;
use kube::api::{ApiResource, DynamicObject, Patch};
use serde_json::{Value, json};

use super::UninstallReport;
use super::resume_jobs::{is_scheduling_gate, shown};
use crate::InstallError;
use crate::dynamic_objects;
use kueue_lab_json::ValueExt;

/// The conditions of a job that creates no more pods.
const FINISHED: [&str; 5] = ["Complete", "Completed", "Succeeded", "Failed", "Finished"];

/// Removes the gates from the pod templates of all jobs of a kind. Jobs whose templates are
/// immutable are reported.
pub(super) async fn ungate_pod_templates(
    client: &Client,
    kind: &ApiResource,
    jobs: &[DynamicObject],
    report: &mut UninstallReport,
) -> Result<(), InstallError> {
    for job in jobs {
        let Some(patch) = ungate_patch(job).filter(|_| !is_finished(job)) else {
            continue;
        };
        let job_name = format!("{} {}", kind.kind, shown(job));
        match dynamic_objects::patch(client, kind, job, &Patch::Json::<()>(patch)).await {
            Ok(true) => report.templates.push(job_name),
            Ok(false) => {}
            Err(kube::Error::Api(status)) if status.code == 422 => report.kept.push(format!(
                "{job_name} has scheduling gates of Kueue in its pod template, which is immutable; recreate the job if it has to create more pods"
            )),
            Err(error) => return Err(dynamic_objects::patch_error(kind, job, error)),
        }
    }
    Ok(())
}

fn is_finished(job: &DynamicObject) -> bool {
    FINISHED
        .iter()
        .any(|finished| job.data.is_condition_true(finished))
}

/// The patch that removes Kueue's gates from every pod template of a job, if there are any.
fn ungate_patch(job: &DynamicObject) -> Option<json_patch::Patch> {
    let mut operations = Vec::new();
    collect_operations(&job.data["spec"], "/spec", &mut operations);
    if operations.is_empty() {
        return None;
    }
    serde_json::from_value(Value::Array(operations)).ok()
}

fn collect_operations(value: &Value, path: &str, operations: &mut Vec<Value>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
                match (name.as_str(), field.as_array()) {
                    ("schedulingGates", Some(gates)) => {
                        let others: Vec<_> = gates
                            .iter()
                            .filter(|gate| !is_scheduling_gate(gate))
                            .collect();
                        if others.len() < gates.len() {
                            operations.push(json!({"op": "test", "path": path, "value": gates}));
                            operations
                                .push(json!({"op": "replace", "path": path, "value": others}));
                        }
                    }
                    _ => collect_operations(field, &path, operations),
                }
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                collect_operations(item, &format!("{path}/{i}"), operations);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kueue_lab_api::constants as c;

    fn template(gates: &[&str]) -> Value {
        let gates: Vec<_> = gates.iter().map(|gate| json!({"name": gate})).collect();
        json!({"spec": {"schedulingGates": gates, "containers": [{"name": "c"}]}})
    }

    fn ray_cluster() -> Value {
        json!({
            "metadata": {"name": "r", "namespace": "n"},
            "spec": {
                "headGroupSpec": {"template": template(&[c::ELASTIC_JOB_SCHEDULING_GATE])},
                "workerGroupSpecs": [
                    {"groupName": "plain", "template": template(&["example.com/other"])},
                    {"groupName": "gpu", "template": template(&[
                        "example.com/other",
                        c::ELASTIC_JOB_SCHEDULING_GATE,
                        c::TOPOLOGY_SCHEDULING_GATE,
                    ])},
                ],
            },
        })
    }

    #[test]
    fn only_kueues_gates_are_removed_from_all_templates() {
        let job: DynamicObject = serde_json::from_value(ray_cluster()).unwrap();
        let patch = ungate_patch(&job).unwrap();
        let mut patched = ray_cluster();
        json_patch::patch(&mut patched, &patch).unwrap();
        let mut expected = ray_cluster();
        expected["spec"]["headGroupSpec"]["template"] = template(&[]);
        expected["spec"]["workerGroupSpecs"][1]["template"] = template(&["example.com/other"]);
        assert_eq!(patched, expected);
        let patched: DynamicObject = serde_json::from_value(patched).unwrap();
        assert_eq!(ungate_patch(&patched), None);
    }

    #[test]
    fn a_finished_job_creates_no_more_pods() {
        let job = |status: &str| -> DynamicObject {
            let condition = json!({"type": "Complete", "status": status});
            serde_json::from_value(json!({
                "metadata": {"name": "j"}, "status": {"conditions": [condition]},
            }))
            .unwrap()
        };
        assert!(is_finished(&job("True")) && !is_finished(&job("False")));
    }
}
