//! The CRDs of job operators in an embedded cluster. A definition that the user installs replaces
//! the one here.

use std::sync::{Arc, LazyLock};

use serde_json::Value;

use kueue_lab_cluster::plugins::{CrdSpec, PreinstalledKind, SchemaSource};
use kueue_lab_operators::crds;

/// The definitions of all kinds, each with the builder of its CustomResourceDefinition.
pub(super) fn definitions() -> Vec<PreinstalledKind> {
    let plug = |definition: &CrdSpec| PreinstalledKind {
        definition: definition.clone(),
        object: Box::new(object),
        replaceable: true,
    };
    DEFINITIONS.iter().map(plug).collect()
}

/// The definitions. All labs of the process share their compiled schemas.
static DEFINITIONS: LazyLock<Vec<CrdSpec>> = LazyLock::new(|| {
    let parse = |definition: Value| {
        let name = definition["metadata"]["name"].as_str().unwrap_or_default();
        let name: Arc<str> = name.into();
        CrdSpec::from_object(&definition, |_| {
            let name = name.clone();
            SchemaSource::new(move || crds::schema(&name).unwrap_or_default())
        })
    };
    crds::definitions().map(parse).collect()
});

/// The CustomResourceDefinition with a name.
fn object(name: &str) -> Value {
    crds::definition(name).unwrap_or_default()
}
