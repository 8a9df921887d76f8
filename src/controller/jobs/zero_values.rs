//! Empty fields that Go encodes: structs without pointer are written even if they are empty, so
//! upstream's mutating webhooks add them to jobs of custom kinds.

use k8s_openapi::api::core::v1::{Container, PodTemplateSpec};

/// Sets the fields of a pod template that Go encodes when they are empty.
pub(crate) fn set_zero_values(template: &mut PodTemplateSpec) {
    template.metadata.get_or_insert_default();
    let spec = template.spec.get_or_insert_default();
    let init = spec.init_containers.iter_mut().flatten();
    spec.containers
        .iter_mut()
        .chain(init)
        .for_each(set_container_zero_values);
    for container in spec.ephemeral_containers.iter_mut().flatten() {
        container.resources.get_or_insert_default();
    }
}

fn set_container_zero_values(container: &mut Container) {
    container.resources.get_or_insert_default();
}
