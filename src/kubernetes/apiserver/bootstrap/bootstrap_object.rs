//! Creates the objects of a new cluster.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{flow_control, rbac_bootstrap_policy, system_objects, system_roles};
use crate::plugins::AggregatedApi;
use crate::server_state::ServerState;
use crate::storage::PendingObject;
use kueue_lab_apimachinery::object_meta;

/// Creates the bootstrap objects.
pub(crate) fn create_bootstrap_objects(core: &ServerState) {
    let objects = system_objects::namespaces()
        .chain(system_objects::priority_classes())
        .chain(rbac_bootstrap_policy::cluster_roles())
        .chain(rbac_bootstrap_policy::cluster_role_bindings())
        .chain(system_objects::api_services(core))
        .chain(system_objects::kubernetes_service());
    for object in objects {
        create_object(core, object);
    }
}

/// Creates the roles of the components of a control plane, which only clients on the network have.
pub(crate) fn create_system_roles(core: &ServerState) {
    for object in system_roles::system_roles() {
        create_object(core, object);
    }
}

/// Creates the FlowSchemas and PriorityLevelConfigurations, once.
pub(crate) fn ensure_flow_control(core: &ServerState) {
    core.flow_control.call_once(|| {
        flow_control::objects().for_each(|object| create_object(core, object));
    });
}

/// Keeps the FlowSchemas and PriorityLevelConfigurations of an earlier server, if it has created
/// them.
pub(crate) fn keep_flow_control(core: &ServerState) {
    let served = core.registry.find(flow_control::GROUP, "v1", "flowschemas");
    let storage = served.as_ref().and_then(|served| served.storage.as_ref());
    if storage.is_some_and(|storage| !storage.is_empty()) {
        core.flow_control.call_once(|| {});
    }
}

/// Creates the APIServices of an extension API server.
pub(crate) fn create_api_services(core: &ServerState, api: &dyn AggregatedApi) {
    for object in system_objects::aggregated_api_services(core, api) {
        create_object(core, object);
    }
}

/// The `managedFields` entry for a status that the API server writes. Other fields have no manager,
/// so that the first apply of a manifest has no conflicts.
pub(crate) fn status_manager(api_version: &str, now: Timestamp) -> Value {
    json!({
        "manager": "kube-apiserver",
        "operation": "Update",
        "apiVersion": api_version,
        "time": object_meta::metav1_time(now),
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:conditions": {}}},
        "subresource": "status",
    })
}

/// An object to create and its resource.
pub(super) struct BootstrapObject {
    /// Group, version and plural name of its resource.
    pub(super) resource: (&'static str, &'static str, &'static str),
    /// The object, without the system-populated metadata.
    pub(super) object: Value,
}

impl BootstrapObject {
    /// An object of a resource with the given name, labels and further fields.
    pub(super) fn new(
        resource: (&'static str, &'static str, &'static str),
        kind: &str,
        name: &str,
        labels: &[(&str, &str)],
        fields: Value,
    ) -> Self {
        let (group, version, _) = resource;
        let mut object = json!({
            "apiVersion": kueue_lab_apimachinery::group_version::api_version(group, version),
            "kind": kind,
            "metadata": {"name": name},
        });
        if !labels.is_empty() {
            let labels: Map<String, Value> = labels
                .iter()
                .map(|(k, v)| ((*k).to_string(), (*v).into()))
                .collect();
            object["metadata"]["labels"] = labels.into();
        }
        if let (Value::Object(into), Value::Object(fields)) = (&mut object, fields) {
            into.extend(fields);
        }
        Self { resource, object }
    }
}

pub(super) fn create_object(core: &ServerState, mut bootstrap_object: BootstrapObject) {
    let (group, version, plural) = bootstrap_object.resource;
    let Some(served) = core.registry.find(group, version, plural) else {
        return;
    };
    let Some(storage) = &served.storage else {
        return;
    };
    let name = object_meta::meta_str(&bootstrap_object.object, "name").to_string();
    let key = match object_meta::meta_str(&bootstrap_object.object, "namespace") {
        "" => name,
        namespace => format!("{namespace}/{name}"),
    };
    // An object of the same name is kept.
    if storage.get(&key).is_some() {
        return;
    }
    let behaviour = &served.kind.strategy;
    behaviour.set_defaults(&mut bootstrap_object.object);
    object_meta::fill_system_fields(
        &mut bootstrap_object.object,
        &core.entropy,
        core.clock.now(),
    );
    if behaviour.has_generation() {
        object_meta::set_generation(&mut bootstrap_object.object, 1);
    }
    if let Ok(pending) = PendingObject::new(bootstrap_object.object) {
        let _ = core.store.create(storage, &key, pending);
    }
}
