//! Conversion of alpha versions: v1alpha2 of Kueue up to 0.2, and alpha versions with a body of
//! v1beta1, as in older documentation. No Kueue serves these; they are converted with a warning.

use serde_json::{Map, Value, json};

use super::json_edit::{items, object_at, remove, rename};
use super::{ConvertError, Warning};
use kueue_lab_quantity::Quantity;

/// Converts an alpha object to v1beta1.
pub(super) fn to_v1beta1(
    object: &mut Value,
    kind: &str,
    from: &str,
) -> Result<Vec<Warning>, ConvertError> {
    let mut warnings = Vec::new();
    let is_old_form = match kind {
        "ClusterQueue" => cluster_queue(object, &mut warnings)?,
        "Cohort" => cohort(object),
        "ResourceFlavor" => resource_flavor(object),
        "Workload" => workload(object, &mut warnings),
        _ => false,
    };
    let read_as = if is_old_form {
        "read in its old form"
    } else {
        "its body is read as v1beta1"
    };
    let header = format!(
        "kueue.x-k8s.io/{from} {kind} is no longer served by any Kueue; {read_as}. Write kueue.x-k8s.io/v1beta2"
    );
    warnings.insert(0, Warning::new("apiVersion", header));
    Ok(warnings)
}

/// A resource and its quota in each flavor of its group.
type CoveredResource = (String, Vec<Value>);

/// `spec.resources[].flavors[].quota{min,max}` becomes resource groups.
fn cluster_queue(object: &mut Value, warnings: &mut Vec<Warning>) -> Result<bool, ConvertError> {
    remove(object, &["status"]);
    let Some(spec) = object_at(object, &["spec"]) else {
        return Ok(false);
    };
    let Some(resources) = spec.remove("resources") else {
        return Ok(false);
    };
    let cohort = spec
        .get("cohort")
        .and_then(Value::as_str)
        .is_some_and(|c| !c.is_empty());
    // Resources with the same flavors in the same order were admitted together: one group.
    let mut groups: Vec<(Vec<String>, Vec<CoveredResource>)> = Vec::new();
    for (i, resource) in resources.as_array().into_iter().flatten().enumerate() {
        let name = resource["name"].as_str().unwrap_or_default().to_owned();
        let mut flavors = Vec::new();
        for (j, flavor) in resource["flavors"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            let path = format!("spec.resources[{i}].flavors[{j}].quota");
            let quota = quota(&flavor["quota"], &path, cohort, warnings)?;
            flavors.push((
                flavor["name"].as_str().unwrap_or("default").to_owned(),
                quota,
            ));
        }
        let names: Vec<String> = flavors.iter().map(|(n, _)| n.clone()).collect();
        let quotas = flavors.into_iter().map(|(_, mut quota)| {
            quota.insert("name".into(), json!(name));
            Value::Object(quota)
        });
        match groups.iter_mut().find(|(flavors, _)| *flavors == names) {
            Some((_, covered)) => covered.push((name.clone(), quotas.collect())),
            None => groups.push((names, vec![(name.clone(), quotas.collect())])),
        }
    }
    let groups: Vec<Value> = groups
        .into_iter()
        .map(|(flavors, covered)| {
            let quotas = |f: usize| -> Vec<&Value> {
                covered
                    .iter()
                    .filter_map(|(_, quotas)| quotas.get(f))
                    .collect()
            };
            let flavors: Vec<Value> = flavors
                .iter()
                .enumerate()
                .map(|(f, name)| json!({ "name": name, "resources": quotas(f) }))
                .collect();
            let covered: Vec<&String> = covered.iter().map(|(name, _)| name).collect();
            json!({ "coveredResources": covered, "flavors": flavors })
        })
        .collect();
    spec.insert("resourceGroups".into(), Value::Array(groups));
    Ok(true)
}

/// `min` is the nominal quota; `max` is the limit of usage, so `max - min` is the borrowing limit.
fn quota(
    quota: &Value,
    path: &str,
    cohort: bool,
    warnings: &mut Vec<Warning>,
) -> Result<Map<String, Value>, ConvertError> {
    let read = |field: &str| match &quota[field] {
        Value::Null => Ok(None),
        value => {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            Quantity::parse(&text)
                .map(Some)
                .map_err(|e| ConvertError::InvalidType {
                    path: format!("{path}.{field}"),
                    detail: e.to_string(),
                })
        }
    };
    let (min, max) = (read("min")?.unwrap_or_default(), read("max")?);
    let mut out = Map::new();
    out.insert("nominalQuota".into(), json!(min.to_string()));
    match max {
        Some(max) if cohort => {
            out.insert("borrowingLimit".into(), json!((max - min).to_string()));
        }
        Some(_) => warnings.push(Warning::new(
            format!("{path}.max"),
            "has no effect without a cohort and is left out",
        )),
        None => {}
    }
    Ok(out)
}

/// `spec.parent` of v1alpha1.
fn cohort(object: &mut Value) -> bool {
    let old = object_at(object, &["spec"]).is_some_and(|s| s.contains_key("parent"));
    rename(object, &["spec"], "parent", "parentName");
    // Later versions do not have its conditions.
    remove(object, &["status"]);
    old
}

/// Labels and taints at the top, without a spec.
fn resource_flavor(object: &mut Value) -> bool {
    let Some(flavor) = object.as_object_mut() else {
        return false;
    };
    let labels = flavor
        .remove("nodeSelector")
        .or_else(|| flavor.remove("labels"));
    let taints = flavor.remove("taints");
    let old = labels.is_some() || taints.is_some();
    if old {
        let mut spec = match flavor.remove("spec") {
            Some(Value::Object(spec)) => spec,
            _ => Map::new(),
        };
        spec.extend(labels.map(|l| ("nodeLabels".to_owned(), l)));
        spec.extend(taints.map(|t| ("nodeTaints".to_owned(), t)));
        flavor.insert("spec".into(), Value::Object(spec));
    }
    old
}

/// Pod specs without a template, and the admission in the spec.
fn workload(object: &mut Value, warnings: &mut Vec<Warning>) -> bool {
    let mut old = false;
    for pod_set in items(object, &["spec", "podSets"]) {
        if let Some(pod_set) = pod_set.as_object_mut()
            && let Some(spec) = pod_set.remove("spec")
        {
            old = true;
            pod_set
                .entry("template")
                .or_insert_with(|| json!({ "spec": spec }));
        }
    }
    if object_at(object, &["spec"])
        .and_then(|spec| spec.remove("admission"))
        .is_some()
    {
        old = true;
        warnings.push(Warning::new(
            "spec.admission",
            "is left out: the admission is now in the status and is the controller's to set",
        ));
    }
    old
}
