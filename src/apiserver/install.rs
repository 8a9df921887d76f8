//! Custom kinds that are there from the start, without anything being parsed.

use serde_json::Value;

use super::handlers::{definitions, meta};
use super::registry::Definition;
use super::server::ApiServer;
use super::store::Draft;

impl ApiServer {
    /// Serves a custom kind ahead of time. `object` makes its CustomResourceDefinition (apiVersion,
    /// kind and spec; metadata and status are the server's) when somebody reads more of it than its
    /// metadata; until then nothing is parsed, and the schemas of `definition` are read when they
    /// are first needed.
    pub fn install(
        &self,
        definition: Definition,
        object: impl Fn() -> Value + Send + Sync + 'static,
    ) {
        let core = &self.core;
        let Some(space) = definitions::space(core) else {
            return;
        };
        let mut identity = serde_json::json!({
            "kind": "CustomResourceDefinition",
            "apiVersion": "apiextensions.k8s.io/v1",
            "metadata": {"name": definition.name},
            "status": definitions::settled(&definition, core.clock.now()),
        });
        meta::fill(&mut identity, &core.entropy, core.clock.now());
        meta::set_generation(&mut identity, 1);
        let name = definition.name.clone();
        let uid = meta::text(&identity, "uid");
        let settled = format!("{uid} 1 {:?}", definition.names);
        core.registry.define(definition, &settled, false);
        let head = serde_json::json!({
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
        // A namesake that is there already keeps its object.
        let _ = core.store.create(&space, &name, Draft::lazy(head, whole));
    }
}
