//! Preinstalled custom resources, whose definitions are parsed lazily.

use serde_json::{Value, json};

use super::api_server::ApiServer;
use crate::bootstrap::status_manager;
use crate::endpoints::crd_lifecycle;
use crate::registry::CrdSpec;
use crate::storage::PendingObject;
use kueue_lab_apimachinery::object_meta;

/// Builds a CustomResourceDefinition by name.
type DefinitionBuilder = Box<dyn Fn(&str) -> Value + Send + Sync>;

/// A preinstalled custom resource.
pub struct PreinstalledKind {
    /// The names and versions. Their schemas are loaded on first use.
    pub definition: CrdSpec,
    /// Builds its CustomResourceDefinition (apiVersion, kind and spec; the server sets metadata and
    /// status) by name, on the first read beyond its metadata.
    pub object: DefinitionBuilder,
    /// Whether a request that creates or applies a CustomResourceDefinition of the same name
    /// replaces this one, as if it did not exist.
    pub replaceable: bool,
}

impl ApiServer {
    /// Serves custom resources from the start.
    pub fn install_crds(&self, kinds: impl IntoIterator<Item = PreinstalledKind>) {
        let core = &self.core;
        let Some(storage) = crd_lifecycle::crd_storage(core) else {
            return;
        };
        let mut definitions = Vec::new();
        let mut objects = Vec::new();
        for kind in kinds {
            let name = kind.definition.name.clone();
            if !self.installs_crd(&name) {
                continue;
            }
            if kind.replaceable {
                core.replaceable_crds.lock().insert(name.clone());
            }
            let identity = self.identity(&kind.definition, storage.resource());
            let uid = object_meta::meta_str(&identity, "uid");
            let settled = format!("{uid} 1 {:?}", kind.definition.names);
            definitions.push((kind.definition, settled));
            objects.push((name, identity, kind.object));
        }
        core.registry.serve_crds(definitions);
        for (name, identity, object) in objects {
            let head = json!({
                "kind": identity["kind"],
                "apiVersion": identity["apiVersion"],
                "metadata": identity["metadata"],
            });
            let whole = {
                let name = name.clone();
                move || {
                    let mut whole = object(&name);
                    for field in ["metadata", "status"] {
                        whole[field] = identity[field].clone();
                    }
                    whole
                }
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
    }

    /// The CustomResourceDefinition without its spec.
    fn identity(&self, definition: &CrdSpec, resource: &str) -> Value {
        let core = &self.core;
        let mut identity = json!({
            "kind": "CustomResourceDefinition",
            "apiVersion": "apiextensions.k8s.io/v1",
            "metadata": {
                "name": definition.name,
                "managedFields": [status_manager("apiextensions.k8s.io/v1", core.clock.now())],
            },
            "status": crd_lifecycle::established_status(definition, core.clock.now()),
        });
        object_meta::fill_system_fields(&mut identity, &core.entropy, core.clock.now());
        if let Some(head) = core.store.preinstalled(resource, &definition.name) {
            for field in ["uid", "creationTimestamp"] {
                identity["metadata"][field] = head["metadata"][field].clone();
            }
        }
        object_meta::set_generation(&mut identity, 1);
        identity
    }

    /// Whether a definition is installed: not if one of the same name was restored, which replaced
    /// it, or if it was deleted before the restart.
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
