//! Workload: priority classes, topology assignments, a misspelt field.

use serde_json::{Value, json};

use super::ConvertError;
use super::json_edit::{items, object_at, remove, rename};
use crate::constants::{POD_PRIORITY_CLASS_SOURCE, WORKLOAD_PRIORITY_CLASS_SOURCE};
use crate::v1beta2::{PriorityClassRef, TopologyAssignment, TopologyDomain};

/// The field as v1beta1 spells it.
const ACCUMULATED_TIME_V1BETA1: &str = "accumulatedPastExexcutionTimeSeconds";
const ACCUMULATED_TIME: &str = "accumulatedPastExecutionTimeSeconds";

pub(super) fn to_hub(object: &mut Value) -> Result<(), ConvertError> {
    if let Some(spec) = object_at(object, &["spec"]) {
        let text = |v: Option<Value>| v.as_ref().and_then(Value::as_str).unwrap_or("").to_owned();
        let source = text(spec.remove("priorityClassSource"));
        let name = text(spec.remove("priorityClassName"));
        // A name without a source is dropped, as upstream.
        let class = match source.as_str() {
            WORKLOAD_PRIORITY_CLASS_SOURCE => Some(PriorityClassRef::workload(name)),
            POD_PRIORITY_CLASS_SOURCE => Some(PriorityClassRef::pod(name)),
            _ => None,
        };
        if let Some(class) = class {
            spec.insert(
                "priorityClassRef".into(),
                json!({ "group": class.group, "kind": class.kind, "name": class.name }),
            );
        }
    }
    rename(
        object,
        &["status"],
        ACCUMULATED_TIME_V1BETA1,
        ACCUMULATED_TIME,
    );
    for_each_topology_assignment(object, |assignment, path| {
        let Some(domains) = assignment.get_mut("domains").map(Value::take) else {
            return Ok(());
        };
        let levels = strings(&assignment["levels"], path, "levels")?;
        let domains = domains_of(&domains, levels.len(), path)?;
        let encoded = TopologyAssignment::encode(levels, &domains, true);
        *assignment = json!({ "levels": encoded.levels, "slices": encoded.slices });
        Ok(())
    })
}

pub(super) fn from_hub(object: &mut Value) -> Result<(), ConvertError> {
    if let Some(spec) = object_at(object, &["spec"]) {
        let class = spec.remove("priorityClassRef").unwrap_or_default();
        let field = |name: &str| class[name].as_str().unwrap_or("");
        let source = match (field("group"), field("kind")) {
            ("kueue.x-k8s.io", "WorkloadPriorityClass") => Some(WORKLOAD_PRIORITY_CLASS_SOURCE),
            ("scheduling.k8s.io", "PriorityClass") => Some(POD_PRIORITY_CLASS_SOURCE),
            _ => None,
        };
        if let Some(source) = source {
            spec.insert("priorityClassSource".into(), json!(source));
            spec.insert("priorityClassName".into(), json!(field("name")));
        }
        spec.remove("preemptionGates");
    }
    for pod_set in items(object, &["spec", "podSets"]) {
        remove(
            pod_set,
            &["topologyRequest", "podsetSliceRequiredTopologyConstraints"],
        );
    }
    rename(
        object,
        &["status"],
        ACCUMULATED_TIME,
        ACCUMULATED_TIME_V1BETA1,
    );
    remove(object, &["status", "preemptionGates"]);
    for_each_topology_assignment(object, |assignment, path| {
        let invalid = |e: serde_json::Error| ConvertError::InvalidType {
            path: path.to_owned(),
            detail: e.to_string(),
        };
        let encoded: TopologyAssignment =
            serde_json::from_value(assignment.take()).map_err(invalid)?;
        let domains =
            encoded
                .decode()
                .map_err(|source| ConvertError::InvalidTopologyAssignment {
                    path: path.to_owned(),
                    source,
                })?;
        let domains: Vec<Value> = domains
            .into_iter()
            .map(|d| json!({ "values": d.values, "count": d.count }))
            .collect();
        *assignment = json!({ "levels": encoded.levels, "domains": domains });
        Ok(())
    })
}

/// Calls `change` for every topology assignment, with its path.
fn for_each_topology_assignment(
    object: &mut Value,
    mut change: impl FnMut(&mut Value, &str) -> Result<(), ConvertError>,
) -> Result<(), ConvertError> {
    let sets = items(object, &["status", "admission", "podSetAssignments"]);
    for (i, set) in sets.iter_mut().enumerate() {
        if let Some(assignment) = set.get_mut("topologyAssignment").filter(|a| a.is_object()) {
            change(
                assignment,
                &format!("status.admission.podSetAssignments[{i}].topologyAssignment"),
            )?;
        }
    }
    Ok(())
}

fn domains_of(
    domains: &Value,
    levels: usize,
    path: &str,
) -> Result<Vec<TopologyDomain>, ConvertError> {
    let list = domains.as_array().map_or(&[][..], Vec::as_slice);
    let domain = |(i, domain): (usize, &Value)| {
        let field = format!("domains[{i}]");
        let values = strings(&domain["values"], path, &format!("{field}.values"))?;
        let count = domain["count"].as_i64().and_then(|n| i32::try_from(n).ok());
        match count {
            Some(count) if values.len() == levels => Ok(TopologyDomain { values, count }),
            Some(_) => Err(invalid_type(
                path,
                &field,
                "has not one value for each level",
            )),
            None => Err(invalid_type(
                path,
                &format!("{field}.count"),
                "is not a 32-bit number",
            )),
        }
    };
    list.iter().enumerate().map(domain).collect()
}

fn strings(list: &Value, path: &str, field: &str) -> Result<Vec<String>, ConvertError> {
    let items = list.as_array().map_or(&[][..], Vec::as_slice);
    items
        .iter()
        .map(|v| {
            v.as_str()
                .map(str::to_owned)
                .ok_or_else(|| invalid_type(path, field, "holds no text"))
        })
        .collect()
}

fn invalid_type(path: &str, field: &str, detail: &str) -> ConvertError {
    ConvertError::InvalidType {
        path: format!("{path}.{field}"),
        detail: detail.to_owned(),
    }
}
