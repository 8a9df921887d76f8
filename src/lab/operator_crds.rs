//! The CRDs of job operators in an embedded cluster. A definition that the user installs replaces
//! the one here.

use std::sync::Arc;

use serde_json::Value;

use kueue_lab_cluster::plugins::{CrdSpec, PreinstalledKind};
use kueue_lab_machines::operators::crds;

/// The definitions of all kinds, each with the builder of its CustomResourceDefinition.
pub(super) fn definitions() -> Vec<PreinstalledKind> {
    let plug = |definition: Value| {
        let name = definition["metadata"]["name"].as_str().unwrap_or_default();
        let name: Arc<str> = name.into();
        let schema = |_| {
            let name = name.clone();
            Arc::new(move || crds::schema(&name).unwrap_or_default())
                as Arc<dyn Fn() -> Value + Send + Sync>
        };
        PreinstalledKind {
            definition: CrdSpec::from_object(&definition, schema),
            object: Box::new(object),
            replaceable: true,
        }
    };
    crds::definitions().map(plug).collect()
}

/// The CustomResourceDefinition with a name.
fn object(name: &str) -> Value {
    crds::definition(name).unwrap_or_default()
}
