//! The objects a cluster has before anybody creates any.

mod cluster;
mod rbac;

use serde_json::{Map, Value, json};

use super::handlers::meta;
use super::server::Core;
use super::store::Draft;

/// Creates them.
pub(super) fn bootstrap(core: &Core) {
    let objects = cluster::namespaces()
        .chain(cluster::priority_classes())
        .chain(rbac::roles())
        .chain(rbac::bindings())
        .chain(cluster::api_services(core))
        .chain(cluster::service());
    for object in objects {
        put(core, object);
    }
}

/// One object to create: where, and what.
struct Seed {
    /// Group, version and plural name of its resource.
    resource: (&'static str, &'static str, &'static str),
    /// The object, without identity.
    object: Value,
}

impl Seed {
    /// An object of a kind with the given name, labels and further fields.
    fn new(
        resource: (&'static str, &'static str, &'static str),
        kind: &str,
        name: &str,
        labels: &[(&str, &str)],
        fields: Value,
    ) -> Self {
        let (group, version, _) = resource;
        let mut object = json!({
            "apiVersion": super::registry::api_version(group, version),
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

fn put(core: &Core, mut seed: Seed) {
    let (group, version, plural) = seed.resource;
    let Some(served) = core.registry.find(group, version, plural) else {
        return;
    };
    let Some(space) = &served.space else { return };
    let behaviour = &served.kind.behaviour;
    behaviour.default(&mut seed.object);
    meta::fill(&mut seed.object, &core.entropy, core.clock.now());
    if behaviour.has_generation() {
        meta::set_generation(&mut seed.object, 1);
    }
    let name = meta::text(&seed.object, "name").to_string();
    let key = match meta::text(&seed.object, "namespace") {
        "" => name,
        namespace => format!("{namespace}/{name}"),
    };
    if let Ok(draft) = Draft::new(seed.object) {
        // The space is empty, so the only refusal, a namesake, cannot be.
        let _ = core.store.create(space, &key, draft);
    }
}
