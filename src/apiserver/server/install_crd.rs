//! Preinstalled custom resources, whose definitions are parsed lazily.

use serde_json::{Value, json};

use super::api_server::ApiServer;
use crate::bootstrap::status_manager;
use crate::endpoints::crd_lifecycle;
use crate::registry::CrdSpec;
use crate::storage::PendingObject;
use kueue_lab_apimachinery::object_meta;

impl ApiServer {
    /// As [`install_crd`](Self::install_crd); a request that creates or applies a
    /// CustomResourceDefinition of the same name replaces this one, as if it did not exist.
    pub fn install_replaceable_crd(
        &self,
        definition: CrdSpec,
        object: impl Fn() -> Value + Send + Sync + 'static,
    ) {
        let name = definition.name.clone();
        if self.installs_crd(&name) {
            self.core.replaceable_crds.lock().insert(name);
        }
        self.install_crd(definition, object);
    }

    /// Serves a custom resource from the start. `object` builds its CustomResourceDefinition
    /// (apiVersion, kind and spec; the server sets metadata and status) on the first read beyond
    /// its metadata. The schemas of `definition` are loaded on first use.
    pub fn install_crd(
        &self,
        definition: CrdSpec,
        object: impl Fn() -> Value + Send + Sync + 'static,
    ) {
        let core = &self.core;
        if !self.installs_crd(&definition.name) {
            return;
        }
        let Some(storage) = crd_lifecycle::crd_storage(core) else {
            return;
        };
        let mut identity = json!({
            "kind": "CustomResourceDefinition",
            "apiVersion": "apiextensions.k8s.io/v1",
            "metadata": {
                "name": definition.name,
                "managedFields": [status_manager("apiextensions.k8s.io/v1", core.clock.now())],
            },
            "status": crd_lifecycle::established_status(&definition, core.clock.now()),
        });
        object_meta::fill_system_fields(&mut identity, &core.entropy, core.clock.now());
        if let Some(head) = core
            .store
            .preinstalled(storage.resource(), &definition.name)
        {
            for field in ["uid", "creationTimestamp"] {
                identity["metadata"][field] = head["metadata"][field].clone();
            }
        }
        object_meta::set_generation(&mut identity, 1);
        let name = definition.name.clone();
        let uid = object_meta::meta_str(&identity, "uid");
        let settled = format!("{uid} 1 {:?}", definition.names);
        core.registry.serve_crd(definition, &settled, false);
        let head = json!({
            "kind": identity["kind"],
            "apiVersion": identity["apiVersion"],
            "metadata": identity["metadata"],
        });
        let whole = move || {
            let mut whole = object();
            for field in ["metadata", "status"] {
                whole[field] = identity[field].clone();
            }
            whole
        };
        // An existing object of the same name is kept.
        let _ = core
            .store
            .create(&storage, &name, PendingObject::lazy(head, whole));
        if let Some(known) = &core.preinstalled_crds
            && let Ok(entry) = PendingObject::new(json!({"metadata": {"name": name}}))
        {
            let _ = core.store.create(known, &name, entry);
        }
    }

    /// Whether a definition is installed: not if one of the same name was restored, which replaced it,
    /// or if it was deleted before the restart.
    fn installs_crd(&self, name: &str) -> bool {
        let core = &self.core;
        let Some(storage) = crd_lifecycle::crd_storage(core) else {
            return false;
        };
        let resource = storage.resource();
        let known = core.preinstalled_crds.as_ref();
        let was_deleted = known.is_some_and(|known| known.get(name).is_some())
            && core.store.preinstalled(resource, name).is_none();
        storage.get(name).is_none() && !was_deleted
    }
}
