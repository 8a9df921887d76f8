//! Pod templates of custom kinds, in the form in which Go encodes them.
//!
//! Upstream decodes a job into Go structs and encodes these again when it defaults, starts or stops
//! the job and when it constructs its Workload. That leaves out empty maps, lists and texts, writes
//! empty structs that are no pointers (`metadata`, `resources`), and quantities in canonical form.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Container, EnvVar, PodSpec, PodTemplateSpec, ResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as QuantityText;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kueue_lab_quantity::Quantity;
use serde::{Deserialize, Deserializer};

/// Decodes a pod template.
///
/// # Errors
/// A field has another type.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<PodTemplateSpec, D::Error> {
    let mut template = PodTemplateSpec::deserialize(deserializer)?;
    encode_as_go(&mut template);
    Ok(template)
}

/// Decodes an optional pod template.
///
/// # Errors
/// A field has another type.
pub(crate) fn deserialize_optional<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<PodTemplateSpec>, D::Error> {
    let mut template = Option::<PodTemplateSpec>::deserialize(deserializer)?;
    template.iter_mut().for_each(encode_as_go);
    Ok(template)
}

/// Decodes optional resource requirements.
///
/// # Errors
/// A field has another type.
pub(crate) fn deserialize_resources<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ResourceRequirements>, D::Error> {
    let mut resources = Option::<ResourceRequirements>::deserialize(deserializer)?;
    resources.iter_mut().for_each(resource_requirements);
    Ok(resources)
}

/// Brings a pod template into the form in which Go encodes it.
pub(crate) fn encode_as_go(template: &mut PodTemplateSpec) {
    object_meta(template.metadata.get_or_insert_default());
    pod_spec(template.spec.get_or_insert_default());
}

fn object_meta(meta: &mut ObjectMeta) {
    omit_empty_map(&mut meta.labels);
    omit_empty_map(&mut meta.annotations);
    omit_empty_list(&mut meta.finalizers);
    omit_empty_list(&mut meta.owner_references);
    omit_empty_text(&mut meta.name);
    omit_empty_text(&mut meta.namespace);
}

fn pod_spec(spec: &mut PodSpec) {
    let init = spec.init_containers.iter_mut().flatten();
    spec.containers.iter_mut().chain(init).for_each(container);
    for ephemeral in spec.ephemeral_containers.iter_mut().flatten() {
        resource_requirements(ephemeral.resources.get_or_insert_default());
    }
    spec.resources.iter_mut().for_each(resource_requirements);
    quantities(&mut spec.overhead);
    omit_empty_map(&mut spec.node_selector);
    omit_empty_list(&mut spec.init_containers);
    omit_empty_list(&mut spec.ephemeral_containers);
    omit_empty_list(&mut spec.volumes);
    omit_empty_list(&mut spec.tolerations);
    omit_empty_list(&mut spec.scheduling_gates);
    omit_empty_list(&mut spec.topology_spread_constraints);
    omit_empty_list(&mut spec.image_pull_secrets);
    omit_empty_list(&mut spec.host_aliases);
    omit_empty_list(&mut spec.readiness_gates);
    omit_empty_list(&mut spec.resource_claims);
    omit_false(&mut spec.host_network);
    omit_false(&mut spec.host_pid);
    omit_false(&mut spec.host_ipc);
    for text in [
        &mut spec.priority_class_name,
        &mut spec.service_account_name,
        &mut spec.scheduler_name,
        &mut spec.restart_policy,
        &mut spec.dns_policy,
        &mut spec.node_name,
        &mut spec.hostname,
        &mut spec.subdomain,
    ] {
        omit_empty_text(text);
    }
    for volume in spec.volumes.iter_mut().flatten() {
        if let Some(limit) = volume
            .empty_dir
            .as_mut()
            .and_then(|dir| dir.size_limit.as_mut())
        {
            quantity(limit);
        }
    }
}

fn container(container: &mut Container) {
    resource_requirements(container.resources.get_or_insert_default());
    container.env.iter_mut().flatten().for_each(env_var);
    omit_empty_list(&mut container.env);
    omit_empty_list(&mut container.env_from);
    omit_empty_list(&mut container.command);
    omit_empty_list(&mut container.args);
    omit_empty_list(&mut container.ports);
    omit_empty_list(&mut container.volume_mounts);
    omit_empty_list(&mut container.volume_devices);
    omit_empty_list(&mut container.resize_policy);
    omit_empty_text(&mut container.image);
    omit_empty_text(&mut container.image_pull_policy);
    omit_empty_text(&mut container.working_dir);
    omit_false(&mut container.stdin);
    omit_false(&mut container.stdin_once);
    omit_false(&mut container.tty);
    for mount in container.volume_mounts.iter_mut().flatten() {
        omit_false(&mut mount.read_only);
    }
}

fn env_var(variable: &mut EnvVar) {
    omit_empty_text(&mut variable.value);
    let source = variable.value_from.as_mut();
    if let Some(field) = source.and_then(|source| source.resource_field_ref.as_mut()) {
        let zero = || QuantityText("0".to_owned());
        quantity(field.divisor.get_or_insert_with(zero));
    }
}

fn resource_requirements(resources: &mut ResourceRequirements) {
    quantities(&mut resources.limits);
    quantities(&mut resources.requests);
    omit_empty_list(&mut resources.claims);
}

fn quantities(list: &mut Option<BTreeMap<String, QuantityText>>) {
    list.iter_mut()
        .flat_map(BTreeMap::values_mut)
        .for_each(quantity);
    omit_empty_map(list);
}

/// A quantity in canonical form; an invalid one is left to validation.
fn quantity(text: &mut QuantityText) {
    if let Ok(parsed) = Quantity::parse(&text.0) {
        text.0 = parsed.to_string();
    }
}

fn omit_empty_map<V>(map: &mut Option<BTreeMap<String, V>>) {
    map.take_if(|map| map.is_empty());
}

fn omit_empty_list<V>(list: &mut Option<Vec<V>>) {
    list.take_if(|list| list.is_empty());
}

fn omit_empty_text(text: &mut Option<String>) {
    text.take_if(|text| text.is_empty());
}

fn omit_false(flag: &mut Option<bool>) {
    flag.take_if(|flag| !*flag);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn empty_values_are_omitted_and_quantities_are_canonical() {
        let template = json!({"metadata": {"labels": {}}, "spec": {"tolerations": [], "securityContext": {},
            "containers": [
                {"name": "a", "env": [{"name": "E", "value": ""}], "resources": {"limits": {}, "requests": {"cpu": 0.5, "memory": "1024Mi"}}},
                {"name": "b", "stdin": false}]}});
        let decoded: PodTemplateSpec = deserialize(template).unwrap();
        let value: Value = serde_json::to_value(decoded).unwrap();
        assert_eq!(
            value,
            json!({"metadata": {}, "spec": {"securityContext": {}, "containers": [
                {"name": "a", "env": [{"name": "E"}], "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}},
                {"name": "b", "resources": {}}]}})
        );
    }
}
