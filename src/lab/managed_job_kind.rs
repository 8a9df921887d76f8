//! The kind of SkyPilot's managed jobs in an embedded cluster.

use std::sync::Arc;

use kueue_lab_cluster::plugins::{CrdSpec, PreinstalledKind};
use kueue_lab_skypilot::jobs::{managed_job_definition, managed_job_definition_name};

/// The definition of the kind, with the builder of its CustomResourceDefinition.
pub(super) fn definition() -> PreinstalledKind {
    let definition = managed_job_definition(&managed_job_definition_name());
    let schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
    PreinstalledKind {
        definition: CrdSpec::from_object(&definition, |_| {
            let schema = schema.clone();
            Arc::new(move || schema.clone())
        }),
        object: managed_job_definition,
        replaceable: true,
    }
}
