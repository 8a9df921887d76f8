//! The objects a cluster has before anybody creates any.

use serde_json::{Value, json};

use super::handlers::meta;
use super::server::Core;
use super::store::Draft;

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Creates them.
pub(super) fn bootstrap(core: &Core) {
    for name in NAMESPACES {
        let namespace = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        });
        put(core, ("", "v1", "namespaces"), name, namespace);
    }
}

fn put(core: &Core, (group, version, plural): (&str, &str, &str), key: &str, mut object: Value) {
    let Some(served) = core.registry.find(group, version, plural) else {
        return;
    };
    let Some(space) = &served.space else { return };
    served.kind.behaviour.default(&mut object);
    meta::fill(&mut object, &core.entropy, core.clock.now());
    if let Ok(draft) = Draft::new(object) {
        // The space is empty, so the only refusal, a namesake, cannot be.
        let _ = core.store.create(space, key, draft);
    }
}
