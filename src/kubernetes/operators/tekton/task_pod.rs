//! The pod of a TaskRun: a container for each step, run one after the other by Tekton's entrypoint.

use serde_json::{Value, json};

use super::super::child_objects::{
    copy_entries, copy_fields, items, set_annotations, set_labels, text_of,
};
use super::super::observed::Observed;
use super::MANAGED_BY;

/// The image of Tekton's own containers.
const ENTRYPOINT_IMAGE: &str = "ghcr.io/tektoncd/pipeline/entrypoint";
/// Tekton's entrypoint in the containers of steps.
const ENTRYPOINT: &str = "/tekton/bin/entrypoint";
/// The longest name of a container.
const MAX_NAME: usize = 63;

/// The pod `name` of a TaskRun with this spec of its Task.
pub(super) fn task_pod(run: &Observed<'_>, name: &str, task: &Value, deadline: i64) -> Value {
    let spec = run.spec();
    let steps = items(&task["steps"]);
    let containers = steps.iter().enumerate();
    let containers: Vec<Value> = containers
        .map(|(index, step)| container(spec, task, index, step))
        .collect();
    let mut prepare = vec![
        json!("/ko-app/entrypoint"),
        json!("init"),
        json!("/ko-app/entrypoint"),
        json!(ENTRYPOINT),
    ];
    prepare.extend(
        steps
            .iter()
            .enumerate()
            .map(|(index, step)| json!(step_name(index, step))),
    );
    let mut init = vec![json!({
        "name": "prepare", "image": ENTRYPOINT_IMAGE, "workingDir": "/", "command": prepare,
    })];
    init.extend(items(&task["sidecars"]).iter().map(sidecar));
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": deadline,
            "initContainers": init,
            "containers": containers,
        },
    });
    let template = &spec["podTemplate"];
    let fields = [
        "nodeSelector",
        "tolerations",
        "affinity",
        "securityContext",
        "runtimeClassName",
        "automountServiceAccountToken",
        "schedulerName",
        "hostNetwork",
        "hostUsers",
        "dnsPolicy",
        "dnsConfig",
        "enableServiceLinks",
        "priorityClassName",
        "imagePullSecrets",
        "hostAliases",
        "topologySpreadConstraints",
    ];
    copy_fields(template, &mut pod["spec"], &fields);
    copy_fields(spec, &mut pod["spec"], &["serviceAccountName"]);
    let volumes: Vec<Value> = [&task["volumes"], &template["volumes"]]
        .into_iter()
        .flat_map(|volumes| items(volumes).iter().cloned())
        .collect();
    if !volumes.is_empty() {
        pod["spec"]["volumes"] = json!(volumes);
    }
    let own = super::super::child_objects::metadata_of(run.object);
    copy_entries(&own, &mut pod, "labels");
    copy_entries(&own, &mut pod, "annotations");
    let (task_run, uid) = (run.name(), run.uid());
    set_labels(
        &mut pod,
        &[
            ("tekton.dev/taskRun", &task_run),
            ("tekton.dev/taskRunUID", &uid),
            ("app.kubernetes.io/managed-by", MANAGED_BY),
        ],
    );
    set_annotations(&mut pod, &[("tekton.dev/ready", "READY")]);
    pod
}

fn step_name(index: usize, step: &Value) -> String {
    match step["name"].as_str().filter(|name| !name.is_empty()) {
        Some(name) => format!("step-{name}"),
        None => format!("step-unnamed-{index}"),
    }
}

/// The container of a step.
fn container(spec: &Value, task: &Value, index: usize, step: &Value) -> Value {
    let mut step = step.clone();
    if let Some(defaults) = task["stepTemplate"].as_object() {
        for (field, value) in defaults {
            match (field.as_str(), &step[field]) {
                (_, Value::Null) => step[field] = value.clone(),
                ("env" | "envFrom" | "volumeMounts", Value::Array(own)) => {
                    let mut all = items(value).to_vec();
                    all.retain(|old| own.iter().all(|new| old["name"] != new["name"]));
                    all.extend(own.iter().cloned());
                    step[field] = json!(all);
                }
                _ => {}
            }
        }
    }
    let name: String = step_name(index, &step).chars().take(MAX_NAME).collect();
    let mut container = json!({"name": name, "command": [ENTRYPOINT]});
    let fields = [
        "image",
        "imagePullPolicy",
        "env",
        "envFrom",
        "workingDir",
        "volumeMounts",
        "volumeDevices",
        "securityContext",
        "resources",
    ];
    copy_fields(&step, &mut container, &fields);
    if !step["computeResources"].is_null() {
        container["resources"] = step["computeResources"].clone();
    }
    let own = items(&spec["stepSpecs"])
        .iter()
        .find(|s| s["name"] == step["name"]);
    if let Some(own) = own.filter(|own| own["computeResources"].is_object()) {
        container["resources"] = own["computeResources"].clone();
    }
    // Resources of the whole task are requested by the last step.
    let last = items(&task["steps"]).len().saturating_sub(1);
    if index == last && spec["computeResources"].is_object() {
        container["resources"] = spec["computeResources"].clone();
    }
    let mut args = Vec::new();
    if let Some(previous) = index.checked_sub(1) {
        args.extend([
            "-wait_file".to_owned(),
            format!("/tekton/run/{previous}/out"),
        ]);
    }
    args.extend(["-post_file".to_owned(), format!("/tekton/run/{index}/out")]);
    args.extend([
        "-termination_path".to_owned(),
        "/tekton/termination".to_owned(),
    ]);
    for (field, option) in [("onError", "-on_error"), ("timeout", "-timeout")] {
        if let Some(value) = step[field].as_str() {
            args.extend([option.to_owned(), value.to_owned()]);
        }
    }
    let mut command = command(&step).into_iter();
    if let Some(program) = command.next().filter(|program| !program.is_empty()) {
        args.extend(["-entrypoint".to_owned(), program]);
    }
    args.push("--".to_owned());
    args.extend(command);
    container["args"] = json!(args);
    container["terminationMessagePath"] = json!("/tekton/termination");
    container
}

/// Program and arguments of a step; an empty program is the one of the image.
fn command(step: &Value) -> Vec<String> {
    let words = |field: &str| items(&step[field]).iter().map(text_of);
    let Some(script) = step["script"].as_str().filter(|script| !script.is_empty()) else {
        let mut command: Vec<String> = words("command").collect();
        if command.is_empty() {
            command.push(String::new());
        }
        command.extend(words("args"));
        return command;
    };
    let interpreter = match script.trim_start().strip_prefix("#!") {
        Some(rest) => rest.lines().next().unwrap_or_default().trim(),
        None => "/bin/sh -xe",
    };
    let mut command: Vec<String> = interpreter.split_whitespace().map(str::to_owned).collect();
    if command
        .first()
        .is_some_and(|program| program.ends_with("/env"))
    {
        command.remove(0);
    }
    command.extend(["-c".to_owned(), script.to_owned()]);
    command.extend(words("args"));
    command
}

/// The init container of a sidecar, which runs as long as the steps.
fn sidecar(sidecar: &Value) -> Value {
    let name = sidecar["name"].as_str().unwrap_or("sidecar");
    let mut container = json!({"name": format!("sidecar-{name}"), "restartPolicy": "Always"});
    let fields = [
        "image",
        "imagePullPolicy",
        "command",
        "args",
        "env",
        "envFrom",
        "workingDir",
        "ports",
        "volumeMounts",
        "securityContext",
        "readinessProbe",
        "livenessProbe",
        "startupProbe",
        "lifecycle",
        "resources",
    ];
    copy_fields(sidecar, &mut container, &fields);
    if !sidecar["computeResources"].is_null() {
        container["resources"] = sidecar["computeResources"].clone();
    }
    if let Some(script) = sidecar["script"].as_str() {
        container["command"] = json!(["/bin/sh", "-c", script]);
    }
    container
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn steps_become_containers() {
        let task = json!({
            "stepTemplate": {"image": "alpine", "env": [{"name": "A", "value": "1"}]},
            "steps": [
                {"name": "build", "script": "#!/usr/bin/env bash\nmake"},
                {"command": ["true"], "args": ["x"], "env": [{"name": "B", "value": "2"}],
                 "computeResources": {"requests": {"cpu": "1"}}},
            ],
        });
        let first = container(&json!({}), &task, 0, &task["steps"][0]);
        assert_eq!(first["name"], "step-build");
        assert_eq!(first["image"], "alpine");
        let args = items(&first["args"]);
        assert!(args.ends_with(&[
            json!("-entrypoint"),
            json!("bash"),
            json!("--"),
            json!("-c"),
            json!("#!/usr/bin/env bash\nmake"),
        ]));
        let second = container(&json!({}), &task, 1, &task["steps"][1]);
        assert_eq!(second["name"], "step-unnamed-1");
        assert_eq!(second["env"].as_array().map(Vec::len), Some(2));
        assert_eq!(second["resources"], json!({"requests": {"cpu": "1"}}));
        assert_eq!(
            items(&second["args"])[..2],
            [json!("-wait_file"), json!("/tekton/run/0/out")]
        );
    }
}
