//! The steps of recordings as steps of test files.

use serde_json::{Value, json};

use super::replay::owner_resource;

/// The creations of a step are this far apart.
const BETWEEN_CREATIONS: &str = "1150ms";
/// The longest time in seconds until a job is evicted as often as a step waits for.
const EVICTION_TIMEOUT: f64 = 25.0;
/// The label of the pods of a group.
const POD_GROUP_LABEL: &str = "kueue.x-k8s.io/pod-group-name";

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// The pattern of the jobs with the key of an owner.
pub(crate) fn jobs_of(key: &str, namespace: &str) -> String {
    match key.split_once('/') {
        // Each pod of a Deployment has its own Workload; older slices of a Job have its name.
        Some(("Deployment", name)) => {
            let name = name.split('#').next().unwrap_or(name);
            format!("{namespace}/{name}-*")
        }
        Some((_, name)) => format!("{namespace}/{}", name.split('~').next().unwrap_or(name)),
        None => key.to_owned(),
    }
}

/// The steps of a recorded step; `None` if test files do not have them.
pub(crate) fn actions(
    step: &Value,
    record: &Value,
    before: &Value,
    namespace: &str,
) -> Option<Vec<Value>> {
    let mut steps = match text(step, "op") {
        "create" => return Some(creations(step, record)),
        "createObject" => {
            let objects = step["objects"].as_array()?.iter();
            let create = objects.map(|object| refusable(json!({"create": object}), object, record));
            return Some(create.collect());
        }
        "wait" => {
            let seconds = step["seconds"].as_f64()?;
            vec![json!({"wait": format!("{seconds}s")})]
        }
        "patch" => vec![json!({"patch": {"object": selector(step), "merge": step["patch"]}})],
        "patchStatus" => vec![json!({"patch": {
            "object": selector(step), "merge": step["patch"], "subresource": "status",
        }})],
        "deleteObject" => vec![json!({"delete": selector(step)})],
        "evictNode" if record["idle"] == true => Vec::new(),
        "evictNode" => vec![json!({"deletePods": {"node": step["node"]}})],
        op => {
            let mut steps = waits(step, record, namespace);
            // Without a target nothing is done.
            if let Some(target) = record["chosen"].as_str() {
                if is_on_waiting_pods(op, record, before, target) {
                    return None;
                }
                steps.extend(on_target(op, step, record, target, namespace)?);
            }
            steps
        }
    };
    if let (Some(error), Some(last)) = (record["errors"].get(0), steps.last_mut()) {
        last["refused"] = pattern(error).into();
    }
    Some(steps)
}

/// Whether a step ends pods that do not run, which is not possible on a cluster.
fn is_on_waiting_pods(op: &str, record: &Value, before: &Value, target: &str) -> bool {
    let waiting = format!("{target} admitted, pods not ready");
    let is_waiting = before["unsettled"] == waiting || record["unsettled"] == waiting;
    let workload = &record["state"]["workloads"][target];
    let ends_pods = match op {
        "finish" => workload["Finished"]["status"] != "True",
        op => op == "finishOne" && before["unsettled"] == waiting,
    };
    is_waiting && ends_pods && target.starts_with("Job/")
}

/// The steps on a target.
fn on_target(
    op: &str,
    step: &Value,
    record: &Value,
    target: &str,
    namespace: &str,
) -> Option<Vec<Value>> {
    let (kind, name) = target.split_once('/')?;
    if kind == "Deployment" && name.contains('#') {
        // The names of its pods are random.
        return None;
    }
    let jobs = jobs_of(target, namespace);
    let owner = owner_resource(target).map(|(api_version, kind, name)| {
        json!({"apiVersion": api_version, "kind": kind, "namespace": namespace, "name": name})
    });
    let action = match op {
        "finish" if kind == "Job" => json!({"finish": {"jobs": jobs, "pods": "all"}}),
        "finish" => json!({"finish": jobs}),
        "finishOne" => json!({"finish": {"jobs": jobs, "pods": 1}}),
        "failPod" => json!({"fail": {"jobs": jobs, "pods": 1}}),
        "setActive" if step["active"] == true => json!({"activate": jobs}),
        "setActive" => json!({"deactivate": jobs}),
        "setPriority" => json!({"priority": {"jobs": jobs, "class": step["class"]}}),
        "scale" => json!({"patch": {"object": owner?, "merge": {"spec": step["patch"]}}}),
        "delete" => json!({"delete": match (kind, owner) {
            (_, Some(owner)) => owner,
            ("Pod", _) => json!({"kind": "Pod", "namespace": namespace, "name": name}),
            _ => json!({"kind": "Pod", "namespace": namespace, "labels": {POD_GROUP_LABEL: name}}),
        }}),
        "deletePod" => {
            let mut delete = json!({"jobs": jobs, "pods": 1});
            if !step["node"].is_null() {
                delete["node"] = step["node"].clone();
            }
            let unlabel = &step["unlabel"];
            let unlabeled = (!unlabel.is_null()).then(|| label_node(unlabel, name, Value::Null));
            let delete = json!({"deletePods": delete});
            return Some(unlabeled.into_iter().chain([delete]).collect());
        }
        "makeReady" => label_node(step, name, "yes".into()),
        "setCheck" if record["noCheck"] == true => return Some(Vec::new()),
        "setCheck" => json!({"check": check(step, &jobs)}),
        "prov" if record["found"] == false => return Some(Vec::new()),
        "prov" => json!({"provisioningRequest": provisioning_request(step, &jobs)}),
        _ => return None,
    };
    Some(vec![action])
}

fn check(step: &Value, jobs: &str) -> Value {
    let mut check = json!({
        "name": step["check"], "jobs": jobs, "state": step["state"], "message": text(step, "message"),
    });
    if let Some(updates) = step.get("podSetUpdates") {
        check["podSetUpdates"] = updates.clone();
    }
    if let Some(seconds) = step["requeueAfterSeconds"].as_u64() {
        check["requeueAfter"] = format!("{seconds}s").into();
    }
    check
}

fn provisioning_request(step: &Value, jobs: &str) -> Value {
    let conditions = step["conditions"].as_array().into_iter().flatten();
    let conditions = conditions.map(|condition| {
        let mut parts = condition.clone();
        parts.as_object_mut().unwrap().remove("type");
        (text(condition, "type").to_owned(), parts)
    });
    let conditions: serde_json::Map<String, Value> = conditions.collect();
    let mut request = json!({"jobs": jobs, "check": step["check"], "conditions": conditions});
    if !step["details"].is_null() {
        request["details"] = step["details"].clone();
    }
    request
}

fn creations(step: &Value, record: &Value) -> Vec<Value> {
    let also = step["also"].as_array().into_iter().flatten();
    let creations = std::iter::once(step).chain(also).enumerate();
    let action = |(index, creation): (usize, &Value)| {
        let apply = json!({"apply": creation["objects"]});
        let mut apply = refusable(apply, &creation["objects"][0], record);
        if index > 0 {
            apply["after"] = BETWEEN_CREATIONS.into();
        }
        apply
    };
    creations.map(action).collect()
}

/// A step that creates an object, with the error of the recording.
fn refusable(mut step: Value, object: &Value, record: &Value) -> Value {
    let what = format!(
        "{}/{}",
        text(object, "kind"),
        text(&object["metadata"], "name")
    );
    let mut errors = record["errors"].as_array().into_iter().flatten();
    if let Some(error) = errors.find(|error| error["create"] == what) {
        step["refused"] = pattern(error).into();
    }
    step
}

/// The message of an error, with `*` for the parts that differ between runs.
fn pattern(error: &Value) -> String {
    let mut parts = text(error, "message").split('<');
    let mut pattern = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        pattern.push('*');
        pattern.push_str(part.split_once('>').map_or(part, |(_, rest)| rest));
    }
    pattern
}

/// The condition that a step waits for.
fn waits(step: &Value, record: &Value, namespace: &str) -> Vec<Value> {
    let after = &step["after"];
    let Some(target) = after["target"].as_str() else {
        return Vec::new();
    };
    let jobs = jobs_of(target, namespace);
    let mut waits = Vec::new();
    if let Some(evictions) = after["evictions"].as_u64().filter(|number| *number > 0) {
        if evictions_of(&record["state"]["workloads"][target]) < evictions {
            let seconds = after["timeout"].as_f64().unwrap_or(EVICTION_TIMEOUT);
            return vec![json!({"wait": format!("{seconds}s")})];
        }
        let evicted = json!({"jobs": jobs, "times": format!(">= {evictions}")});
        waits.push(json!({"when": {"evicted": evicted, "within": "2m"}}));
    }
    if after["admitted"] == true {
        waits.push(json!({"when": {"admitted": jobs, "within": "2m"}}));
    }
    waits
}

/// The number of evictions, from entries such as `Preempted/=2`.
fn evictions_of(workload: &Value) -> u64 {
    let evictions = workload["evictions"].as_array().into_iter().flatten();
    let counts = evictions.filter_map(|e| e.as_str()?.rsplit_once('=')?.1.parse::<u64>().ok());
    counts.sum()
}

fn selector(step: &Value) -> Value {
    let fields = ["apiVersion", "kind", "namespace", "name"];
    let fields = fields.into_iter().filter(|field| !step[*field].is_null());
    fields
        .map(|field| (field.to_owned(), step[field].clone()))
        .collect()
}

/// A step that sets or removes the label that the pods of a job select.
fn label_node(step: &Value, job: &str, value: Value) -> Value {
    let label = format!("{}{job}", text(step, "prefix"));
    json!({"patch": {
        "object": {"kind": "Node", "name": step["node"]},
        "merge": {"metadata": {"labels": {label: value}}},
    }})
}
