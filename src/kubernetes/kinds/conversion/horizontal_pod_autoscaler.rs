//! HorizontalPodAutoscalers: `autoscaling/v1` has only the CPU utilization metric; other fields of
//! `autoscaling/v2` are kept in annotations.

use serde_json::{Map, Value, json};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

fn take_json(object: &mut Value, annotation: &str) -> Option<Value> {
    let annotations = object
        .pointer_mut("/metadata/annotations")?
        .as_object_mut()?;
    let text = annotations.remove(annotation)?;
    let empty = annotations.is_empty();
    if empty && let Some(meta) = object["metadata"].as_object_mut() {
        meta.remove("annotations");
    }
    serde_json::from_str(text.as_str()?).ok()
}

fn put_json(object: &mut Value, annotation: &str, value: &Value) {
    if !object["metadata"]["annotations"].is_object() {
        object["metadata"]["annotations"] = json!({});
    }
    object["metadata"]["annotations"][annotation] = value.to_string().into();
}

/// Removes and returns a field of a section of the object.
fn take(object: &mut Value, part: &str, field: &str) -> Option<Value> {
    object.get_mut(part)?.as_object_mut()?.remove(field)
}

fn put(object: &mut Value, part: &str, field: &str, value: Value) {
    let part = &mut object[part];
    if part.is_null() {
        *part = Value::Object(Map::new());
    }
    part[field] = value;
}

fn list(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

pub(crate) fn to_v2(object: &mut Value) {
    let mut metrics = list(take_json(object, METRICS));
    if let Some(percent) = take(object, "spec", "targetCPUUtilizationPercentage") {
        metrics.push(json!({
            "type": "Resource",
            "resource": {
                "name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": percent},
            },
        }));
    }
    if !metrics.is_empty() {
        put(object, "spec", "metrics", metrics.into());
    }
    if let Some(behavior) = take_json(object, BEHAVIOR) {
        put(object, "spec", "behavior", behavior);
    }
    let mut current = list(take_json(object, CURRENT));
    if let Some(percent) = take(object, "status", "currentCPUUtilizationPercentage") {
        current.push(json!({
            "type": "Resource",
            "resource": {"name": "cpu", "current": {"averageUtilization": percent}},
        }));
    }
    if !current.is_empty() {
        put(object, "status", "currentMetrics", current.into());
    }
    if let Some(conditions) = take_json(object, CONDITIONS) {
        put(object, "status", "conditions", conditions);
    }
}

pub(crate) fn to_v1(object: &mut Value) {
    let mut metrics = list(take(object, "spec", "metrics"));
    let is_cpu = |m: &Value| m["type"] == "Resource" && m["resource"]["name"] == "cpu";
    let wanted = |m: &Value| is_cpu(m) && m["resource"]["target"]["averageUtilization"].is_i64();
    if let Some(at) = metrics.iter().position(wanted) {
        let cpu = metrics.remove(at);
        let percent = cpu["resource"]["target"]["averageUtilization"].clone();
        put(object, "spec", "targetCPUUtilizationPercentage", percent);
    }
    if !metrics.is_empty() {
        put_json(object, METRICS, &metrics.into());
    }
    if let Some(behavior) = take(object, "spec", "behavior") {
        put_json(object, BEHAVIOR, &behavior);
    }
    let current = list(take(object, "status", "currentMetrics"));
    if let Some(cpu) = current.iter().find(|m| is_cpu(m)) {
        let percent = cpu["resource"]["current"]["averageUtilization"].clone();
        if !percent.is_null() {
            put(object, "status", "currentCPUUtilizationPercentage", percent);
        }
    }
    if !current.is_empty() {
        put_json(object, CURRENT, &current.into());
    }
    if let Some(conditions) = take(object, "status", "conditions") {
        put_json(object, CONDITIONS, &conditions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversion::convert_builtin;

    #[test]
    fn cpu_is_a_field_and_other_metrics_are_annotations() {
        let v2 = json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "h"},
            "spec": {
                "maxReplicas": 3,
                "behavior": {"scaleUp": {"selectPolicy": "Max"}},
                "metrics": [
                    {"type": "Pods", "pods": {"metric": {"name": "m"}}},
                    {"type": "Resource", "resource": {
                        "name": "cpu",
                        "target": {"type": "Utilization", "averageUtilization": 50},
                    }},
                ],
            },
        });
        let mut object = v2.clone();
        convert_builtin(&mut object, "autoscaling/v1");
        assert_eq!(object["spec"]["targetCPUUtilizationPercentage"], 50);
        assert!(object["spec"].get("metrics").is_none());
        convert_builtin(&mut object, "autoscaling/v2");
        assert_eq!(object, v2);
    }
}
