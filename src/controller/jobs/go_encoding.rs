//! Go's encoding of pod templates: structs that are empty are written as `{}`, and quantities in
//! canonical form. Custom resources keep the form they were written in, so that it shows what upstream
//! encodes: a job that its webhook changes, and the pod sets of a Workload.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use kueue_lab_quantity::Quantity;
use serde_json::{Map, Value};

/// Sets absent metadata of an encoded template.
pub(crate) fn set_absent_metadata(template: &mut Value) {
    if let Some(template) = template.as_object_mut() {
        struct_field(template, "metadata");
    }
}

/// Brings an encoded pod template into Go's encoding.
pub(crate) fn encode_pod_template(template: &mut Value) {
    set_absent_metadata(template);
    let Some(spec) = template.get_mut("spec") else {
        return;
    };
    for field in ["containers", "initContainers"] {
        let containers = spec.get_mut(field).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            if let Some(container) = container.as_object_mut() {
                encode_resources(struct_field(container, "resources"));
            }
        }
    }
}

fn struct_field<'a>(object: &'a mut Map<String, Value>, name: &str) -> &'a mut Value {
    let empty = || Value::Object(Map::new());
    object.entry(name).or_insert_with(empty)
}

fn encode_resources(resources: &mut Value) {
    for field in ["limits", "requests"] {
        let quantities = resources.get_mut(field).and_then(Value::as_object_mut);
        for quantity in quantities.into_iter().flat_map(Map::values_mut) {
            let text = match &*quantity {
                Value::String(text) => Text(text.clone()),
                Value::Number(number) => Text(number.to_string()),
                _ => continue,
            };
            if let Ok(parsed) = Quantity::try_from(&text) {
                *quantity = Value::String(Text::from(parsed).0);
            }
        }
    }
}

/// Brings a pod template into the form in which Go encodes it.
pub(crate) fn normalize_pod_template(template: &mut PodTemplateSpec) {
    template.metadata.get_or_insert_default();
    if let Some(spec) = &mut template.spec {
        let init = spec.init_containers.iter_mut().flatten();
        spec.containers
            .iter_mut()
            .chain(init)
            .for_each(normalize_container);
    }
}

fn normalize_container(container: &mut Container) {
    let resources = container.resources.get_or_insert_default();
    normalize_quantities(&mut resources.limits);
    normalize_quantities(&mut resources.requests);
}

fn normalize_quantities(quantities: &mut Option<BTreeMap<String, Text>>) {
    for quantity in quantities.iter_mut().flat_map(BTreeMap::values_mut) {
        if let Ok(parsed) = Quantity::try_from(&*quantity) {
            *quantity = Text::from(parsed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn structs_are_written_and_quantities_are_canonical() {
        let given = json!({"spec": {"containers": [
            {"name": "a", "unknown": 1, "resources": {
                "requests": {"cpu": 0.5, "memory": "1024Mi"}, "limits": {"cpu": 2, "x": "?"}}},
            {"name": "b"}]}});
        let mut template = given.clone();
        encode_pod_template(&mut template);
        let wanted = json!({"metadata": {}, "spec": {"containers": [
            {"name": "a", "unknown": 1, "resources": {
                "requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "2", "x": "?"}}},
            {"name": "b", "resources": {}}]}});
        assert_eq!(template, wanted);

        let mut typed: PodTemplateSpec = serde_json::from_value(given).unwrap();
        normalize_pod_template(&mut typed);
        let wanted: PodTemplateSpec = serde_json::from_value(wanted).unwrap();
        assert_eq!(typed, wanted);
    }
}
