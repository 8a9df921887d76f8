//! Objects of custom kinds, in the form in which Go encodes the types that upstream decodes them to.
//!
//! Upstream's webhooks and reconcilers encode these types to compute their patches. That leaves out
//! zero values that the tags of a type omit (a `replicas` of 0), for which the schema of a
//! CustomResourceDefinition may have another default; it writes fields and structs that are always
//! encoded, and drops unknown fields. The tags are in the tables of
//! [`kueue_lab_apimachinery::schema`].

use kube::Resource;
use kueue_lab_apimachinery::schema::custom_kind_schema;
use kueue_lab_apimachinery::schema::decode::reencode;
use serde_json::Value;

use super::integration_manager::Gvk;

/// Encodes an object of a custom kind as its Go type. Objects of other kinds, and those that are not
/// of the form of their kind, stay as they are.
pub(crate) fn encode_as_go<K: Resource<DynamicType = ()>>(object: Value) -> Value {
    encode_kind_as_go(&K::group(&()), &K::version(&()), &K::kind(&()), object)
}

/// As [`encode_as_go`] for an object whose kind is known by name.
pub(crate) fn encode_gvk_as_go(gvk: &Gvk, object: Value) -> Value {
    encode_kind_as_go(&gvk.group, &gvk.version, &gvk.kind, object)
}

fn encode_kind_as_go(group: &str, version: &str, kind: &str, object: Value) -> Value {
    let Some(schema) = custom_kind_schema(group, version, kind) else {
        return object;
    };
    let mut encoded = object.clone();
    match reencode(&schema, &mut encoded) {
        Ok(()) => encoded,
        Err(error) => {
            tracing::debug!(kind, "not encoded as the Go type: {error}");
            object
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::jobs::job_set::JobSet;

    #[test]
    fn tags_decide_about_empty_values() {
        let object = json!({
            "metadata": {"name": "s", "labels": {}},
            "spec": {
                "suspend": false,
                "unknown": 1,
                "replicatedJobs": [
                    {"name": "a", "replicas": 0, "template": {"spec": {"template": {"spec": {
                        "containers": [{"name": "c", "resources": {"requests": {"cpu": 0.5}}, "args": []}],
                    }}}}},
                    {"name": "b", "replicas": 2, "groupName": "", "template": {}},
                ],
                "failurePolicy": {"maxRestarts": 0},
            },
        });
        let template = json!({"metadata": {}, "spec": {"template": {"metadata": {}, "spec": {
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}],
        }}}});
        let empty = json!({"metadata": {}, "spec": {"template": {"metadata": {}, "spec": {"containers": null}}}});
        assert_eq!(
            encode_as_go::<JobSet>(object)["spec"],
            json!({
                "suspend": false,
                "replicatedJobs": [
                    {"name": "a", "template": template},
                    {"name": "b", "replicas": 2, "template": empty},
                ],
                "failurePolicy": {},
            })
        );
    }

    #[test]
    fn built_in_kinds_are_not_encoded() {
        let object = json!({"spec": {"replicas": 0, "x": {}}});
        let deployment = encode_as_go::<k8s_openapi::api::apps::v1::Deployment>(object.clone());
        assert_eq!(deployment, object);
    }
}
