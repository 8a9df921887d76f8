//! The status of ValidatingAdmissionPolicies, which the policy status controller of Kubernetes
//! writes: the result of type checking and the generation that it is of.

use std::sync::Arc;

use serde_json::{Value, json};

use super::pending_object::pending_object;
use super::request_context::RequestContext;
use crate::admission::policies::type_checking::{self, SchemaResolver};
use crate::registry::ResourceTable;
use crate::storage::Object;
use kueue_lab_apimachinery::object_meta;
use kueue_lab_apimachinery::schema::Schema;
use kueue_lab_json::ValueExt;

const GROUP: &str = "admissionregistration.k8s.io";
/// The field manager of the controller.
const MANAGER: &str = "validatingadmissionpolicy-status";

/// Writes the status of a policy after a write of another generation.
pub(super) fn after_commit(call: &RequestContext<'_>, object: &Arc<Object>) {
    let kind = &call.served.kind;
    if *kind.group != *GROUP || &*kind.plural != "validatingadmissionpolicies" {
        return;
    }
    let policy = object.value();
    let generation = object_meta::generation(&policy);
    if policy.int("/status/observedGeneration") == generation {
        return;
    }
    let warnings = type_checking::check(&policy, &ServedKinds(&call.core.registry.table()));
    let type_checking = match warnings.is_empty() {
        true => json!({}),
        false => json!({"expressionWarnings": warnings}),
    };
    let mut updated = (*policy).clone();
    let mut status = policy.at("/status").clone();
    if !status.is_object() {
        status = json!({});
    }
    status["observedGeneration"] = generation.into();
    status["typeChecking"] = type_checking;
    updated["status"] = status;
    set_manager(call, &mut updated);
    let Ok(pending) = pending_object(updated) else {
        return;
    };
    if let Some(storage) = &call.served.storage {
        // After a conflict the other write is checked.
        let store = &call.core.store;
        let _ = store.replace(storage, object.key(), object.revision(), pending);
    }
}

fn set_manager(call: &RequestContext<'_>, policy: &mut Value) {
    let entry = json!({
        "manager": MANAGER,
        "operation": "Apply",
        "apiVersion": call.served.storage_api_version,
        "time": object_meta::metav1_time(call.core.clock.now()),
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:observedGeneration": {}, "f:typeChecking": {}}},
        "subresource": "status",
    });
    let managed = object_meta::meta_mut(policy)
        .entry("managedFields")
        .or_insert_with(|| json!([]));
    if let Some(entries) = managed.as_array_mut() {
        entries.retain(|e| e.text("/manager") != MANAGER);
        entries.insert(0, entry);
    }
}

/// The served kinds and their schemas.
struct ServedKinds<'a>(&'a ResourceTable);

impl SchemaResolver for ServedKinds<'_> {
    fn kind_for(&self, group: &str, version: &str, resource: &str) -> Option<String> {
        let served = self.0.find(group, version, resource)?;
        Some(served.kind.kind.to_string())
    }

    fn schema(&self, group: &str, version: &str, kind: &str) -> Option<Arc<Schema>> {
        let served = self.0.group(group)?.version(version)?.resources.iter();
        served.into_iter().find(|s| &*s.kind.kind == kind)?.schema()
    }
}
