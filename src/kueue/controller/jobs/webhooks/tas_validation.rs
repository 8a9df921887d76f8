//! Validation of the topology annotations of a pod template.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::job_annotations::parse_bool;
use crate::jobs::integration_context::IntegrationContext;
use crate::jobs::slice_topology_constraints::parse_slice_topology_constraints;
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::field::{FieldError, FieldErrors, Path};
use kueue_lab_api::v1beta2::PodSet;
use kueue_lab_api::validation::label_name;

const REQUIRED: &str = c::POD_SET_REQUIRED_TOPOLOGY_ANNOTATION;
const PREFERRED: &str = c::POD_SET_PREFERRED_TOPOLOGY_ANNOTATION;
const UNCONSTRAINED: &str = c::POD_SET_UNCONSTRAINED_TOPOLOGY_ANNOTATION;
const SLICE_REQUIRED: &str = c::POD_SET_SLICE_REQUIRED_TOPOLOGY_ANNOTATION;
const SLICE_SIZE: &str = c::POD_SET_SLICE_SIZE_ANNOTATION;
const SLICE_REQUIRED_CONSTRAINTS: &str = c::POD_SET_SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS_ANNOTATION;
const POD_SET_GROUP_NAME: &str = c::POD_SET_GROUP_NAME_ANNOTATION;

fn get<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a String> {
    meta.annotations.as_ref()?.get(key)
}

/// Validates the annotations against each other.
pub(crate) fn validate_tas_pod_set_request(
    env: &IntegrationContext,
    replica: &Path,
    meta: &ObjectMeta,
) -> FieldErrors {
    let path = replica.child("annotations");
    let has = |key: &str| get(meta, key).is_some();
    let mut errors = Vec::new();
    if [REQUIRED, PREFERRED, UNCONSTRAINED]
        .iter()
        .filter(|key| has(key))
        .count()
        > 1
    {
        let detail = format!(
            "must not contain more than one topology annotation: [{REQUIRED:?}, {PREFERRED:?}, {UNCONSTRAINED:?}]"
        );
        errors.push(FieldError::invalid_without_value(&path, detail));
    }
    for key in [REQUIRED, PREFERRED, SLICE_REQUIRED] {
        if let Some(level) = get(meta, key) {
            errors.extend(label_name(level, &path.key(key)));
        }
    }
    errors.extend(validate_pod_set_group_name(&path, meta));
    if let Some(text) = get(meta, UNCONSTRAINED).filter(|text| parse_bool(text).is_none()) {
        errors.push(FieldError::invalid(
            &path.key(UNCONSTRAINED),
            text,
            "must be a boolean value",
        ));
    }
    let size = get(meta, SLICE_SIZE);
    if let Some(text) = size {
        match text.parse::<i32>() {
            Err(_) => errors.push(FieldError::invalid(
                &path.key(SLICE_SIZE),
                text,
                "must be a numeric value",
            )),
            Ok(n) if n < 1 => {
                let detail = "must be greater than or equal to 1";
                errors.push(FieldError::invalid(&path.key(SLICE_SIZE), text, detail));
            }
            Ok(_) => {}
        }
    }
    match (has(SLICE_REQUIRED), size.is_some()) {
        (true, false) => {
            let detail = format!("must be set when '{SLICE_REQUIRED}' is specified");
            errors.push(FieldError::required(&path.key(SLICE_SIZE), detail));
        }
        (false, true) => {
            let detail = format!("may not be set when '{SLICE_REQUIRED}' is not specified");
            errors.push(FieldError::forbidden(&path.key(SLICE_SIZE), detail));
        }
        _ => {}
    }
    errors.extend(validate_slice_required_topology_constraints(
        env, &path, meta,
    ));
    errors
}

fn validate_pod_set_group_name(path: &Path, meta: &ObjectMeta) -> FieldErrors {
    let Some(name) = get(meta, POD_SET_GROUP_NAME) else {
        return Vec::new();
    };
    let (path, mut errors) = (path.key(POD_SET_GROUP_NAME), Vec::new());
    if name.parse::<u64>().is_ok() {
        errors.push(FieldError::invalid(&path, name, "must not be a number"));
    }
    for key in [SLICE_SIZE, SLICE_REQUIRED] {
        if get(meta, key).is_some() {
            let detail = format!("may not be set when '{key}' is specified");
            errors.push(FieldError::forbidden(&path, detail));
        }
    }
    if get(meta, PREFERRED).is_none() && get(meta, REQUIRED).is_none() {
        let detail =
            format!("may not be set when neither '{PREFERRED}' nor '{REQUIRED}' is specified");
        errors.push(FieldError::forbidden(&path, detail));
    }
    errors
}

fn validate_slice_required_topology_constraints(
    env: &IntegrationContext,
    path: &Path,
    meta: &ObjectMeta,
) -> FieldErrors {
    let Some(text) = get(meta, SLICE_REQUIRED_CONSTRAINTS) else {
        return Vec::new();
    };
    let annotation_path = path.key(SLICE_REQUIRED_CONSTRAINTS);
    let gate = Feature::TASMultiLayerTopology;
    if !env.enabled(gate) {
        let detail = format!("the {gate} feature gate must be enabled to use this annotation");
        return vec![FieldError::forbidden(&annotation_path, detail)];
    }
    let mut errors = Vec::new();
    for key in [SLICE_REQUIRED, SLICE_SIZE] {
        if get(meta, key).is_some() {
            let detail = format!("may not be set when '{key}' is specified");
            errors.push(FieldError::forbidden(&annotation_path, detail));
        }
    }
    if get(meta, POD_SET_GROUP_NAME).is_some() {
        let detail = format!("may not be set when '{SLICE_REQUIRED_CONSTRAINTS}' is specified");
        errors.push(FieldError::forbidden(&path.key(POD_SET_GROUP_NAME), detail));
    }
    errors.extend(validate_constraint_entries(&annotation_path, text));
    errors
}

fn validate_constraint_entries(path: &Path, text: &str) -> FieldErrors {
    let layers = match parse_slice_topology_constraints(text) {
        Ok(layers) => layers,
        Err(e) => {
            let detail = format!("must be a valid JSON array: {e}");
            return vec![FieldError::invalid(path, text, detail)];
        }
    };
    if !(1..=3).contains(&layers.len()) {
        return vec![FieldError::invalid(
            path,
            text,
            "topology constraints must contain between 1 and 3 entries",
        )];
    }
    let mut errors = Vec::new();
    for (i, layer) in layers.iter().enumerate() {
        let at = path.index(i);
        errors.extend(label_name(&layer.topology, &at.child("topology")));
        if layer.size < 1 {
            let detail = "must be greater than or equal to 1";
            errors.push(FieldError::invalid(&at.child("size"), &layer.size, detail));
        }
    }
    for (i, layer) in layers.iter().enumerate() {
        if let Some(first) = layers[..i]
            .iter()
            .position(|l| l.topology == layer.topology)
        {
            let bad = format!("{} (also at index {first})", layer.topology);
            errors.push(FieldError::duplicate(
                &path.index(i).child("topology"),
                &bad,
            ));
        }
    }
    for (i, pair) in layers.windows(2).enumerate() {
        let (above, size) = (pair[0].size, pair[1].size);
        if size > 0 && above % size != 0 {
            let detail = format!("must evenly divide the parent layer size {above}");
            errors.push(FieldError::invalid(
                &path.index(i + 1).child("size"),
                &size,
                detail,
            ));
        }
    }
    errors
}

/// Validates the topology request of a pod set; `replica` is the path of the metadata of its
/// template.
pub(crate) fn validate_pod_set(
    env: &IntegrationContext,
    replica: &Path,
    pod_set: &PodSet,
) -> FieldErrors {
    let none = ObjectMeta::default();
    let meta = pod_set.template.metadata.as_ref().unwrap_or(&none);
    let mut errors = validate_tas_pod_set_request(env, replica, meta);
    errors.extend(validate_slice_size_upper_bound(
        replica,
        meta,
        pod_set.count,
    ));
    errors
}

/// A slice must not be larger than the pod set.
pub(crate) fn validate_slice_size_upper_bound(
    replica: &Path,
    meta: &ObjectMeta,
    count: i32,
) -> FieldErrors {
    let path = replica.child("annotations");
    let detail = || format!("must not be greater than pod set count {count}");
    let mut errors = Vec::new();
    if let Some(text) = get(meta, SLICE_SIZE) {
        match text.parse::<i32>() {
            Err(_) => {
                return vec![FieldError::invalid(
                    &path.key(SLICE_SIZE),
                    text,
                    "must be a numeric value",
                )];
            }
            Ok(n) if n > count => {
                errors.push(FieldError::invalid(&path.key(SLICE_SIZE), text, detail()))
            }
            Ok(_) => {}
        }
    }
    let layers = get(meta, SLICE_REQUIRED_CONSTRAINTS)
        .and_then(|text| parse_slice_topology_constraints(text).ok());
    if let Some(first) = layers
        .as_deref()
        .and_then(<[_]>::first)
        .filter(|l| l.size > count)
    {
        errors.push(FieldError::invalid(
            &path.key(SLICE_REQUIRED_CONSTRAINTS),
            &first.size,
            detail(),
        ));
    }
    errors
}

/// A group has two pod sets, one of them with one pod, and both request the same topology.
/// `annotations` has the path of the annotations of each pod set.
pub(crate) fn validate_pod_set_grouping_topology(
    pod_sets: &[PodSet],
    annotations: &[Path],
) -> FieldErrors {
    let mut groups: Vec<(&str, Vec<(&PodSet, &Path)>)> = Vec::new();
    for (pod_set, path) in pod_sets.iter().zip(annotations) {
        let request = pod_set.topology_request.as_ref();
        let Some(name) = request.and_then(|r| r.pod_set_group_name.as_deref()) else {
            continue;
        };
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, members)) => members.push((pod_set, path)),
            None => groups.push((name, vec![(pod_set, path)])),
        }
    }
    let mut errors = FieldErrors::new();
    for (name, members) in groups {
        match members.as_slice() {
            [one, other] => errors.extend(validate_pod_set_group(name, *one, *other)),
            _ => {
                let detail = format!(
                    "can only define groups of exactly 2 pod sets, got: {} pod set(s)",
                    members.len()
                );
                errors.extend(members.iter().map(|(_, path)| {
                    FieldError::invalid(&path.key(POD_SET_GROUP_NAME), name, detail.clone())
                }));
            }
        }
    }
    errors
}

fn validate_pod_set_group(
    name: &str,
    (one, path1): (&PodSet, &Path),
    (other, path2): (&PodSet, &Path),
) -> FieldErrors {
    let mut errors = FieldErrors::new();
    if one.count != 1 && other.count != 1 {
        let detail = format!(
            "can only define groups where at least one pod set has only 1 replica, got: {} replica(s) and {} replica(s) in the group",
            one.count, other.count
        );
        for path in [path1, path2] {
            let path = path.key(POD_SET_GROUP_NAME);
            errors.push(FieldError::invalid(&path, name, detail.clone()));
        }
    }
    let topology = |pod_set: &PodSet| {
        let request = pod_set.topology_request.as_ref()?;
        let levels = (request.required.clone(), request.preferred.clone());
        (levels.0.is_some() || levels.1.is_some()).then_some(levels)
    };
    if topology(one).is_none() || topology(one) != topology(other) {
        for (path, consistent) in [(path1, path2), (path2, path1)] {
            let detail = format!(
                "must specify '{REQUIRED}' or '{PREFERRED}' topology consistent with '{}' in group '{name}'",
                consistent.as_str()
            );
            errors.push(FieldError::invalid_without_value(path, detail));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use kueue_lab_api::v1beta2::PodSetTopologyRequest;

    #[test]
    fn a_group_is_two_pod_sets_with_one_topology() {
        let set = |count, required: &str| PodSet {
            count,
            topology_request: Some(PodSetTopologyRequest {
                required: Some(required.to_owned()),
                pod_set_group_name: Some("g".to_owned()),
                ..Default::default()
            }),
            ..Default::default()
        };
        let paths = ["a", "b", "c"].map(Path::new);
        let errors = |sets: &[PodSet]| {
            let errors = validate_pod_set_grouping_topology(sets, &paths);
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(errors(&[set(1, "rack"), set(4, "rack")]).is_empty());
        assert_eq!(
            errors(&[set(1, "rack")]),
            [format!(
                "a[{POD_SET_GROUP_NAME}]: Invalid value: \"g\": can only define groups of exactly 2 pod sets, got: 1 pod set(s)"
            )]
        );
        assert_eq!(errors(&[set(2, "rack"), set(3, "rack")]).len(), 2);
        assert_eq!(
            errors(&[set(1, "rack"), set(3, "block")])[0],
            format!(
                "a: Invalid value: must specify '{REQUIRED}' or '{PREFERRED}' topology consistent with 'b' in group 'g'"
            )
        );
        assert_eq!(errors(&[set(1, "r"), set(1, "r"), set(1, "r")]).len(), 3);
    }
}
