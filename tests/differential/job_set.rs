//! JobSet, whose CustomResourceDefinition the lab does not contain.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A definition without a schema.
pub(crate) const DEFINITION: &str = include_str!("jobset-crd.yaml");

/// A JobSet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct JobSet {
    metadata: ObjectMeta,
    #[serde(flatten)]
    other: Map<String, Value>,
}

kueue_lab_codec::impl_codec!(JobSet);
kueue_lab_codec::impl_resource!(namespaced JobSet "jobset.x-k8s.io" "v1alpha2" "jobsets");
