//! Cache of the OpenAPI documents by path, with their hashes.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::extension_api::ExtensionOpenApi;
use super::openapi_v3::{group_version, whole};
use super::source::OpenApiSource;
use super::{gnostic, openapi_v2};

/// Cached OpenAPI documents; an entry is rebuilt when the fingerprint of its group versions
/// changes.
#[derive(Default)]
pub(crate) struct Documents {
    cache: Mutex<BTreeMap<String, (String, Bytes)>>,
}

/// Path of a document relative to `/openapi/v3`.
fn path_of(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    }
}

impl Documents {
    /// The `/openapi/v3` response: the paths of all documents with their hashes.
    pub(crate) fn index(&self, source: &dyn OpenApiSource) -> Value {
        let mut paths = Map::new();
        let mut add = |path: &str, state: &str| {
            let url = format!("/openapi/v3/{path}?hash={}", hash(path, state));
            paths.insert(path.into(), json!({"serverRelativeURL": url}));
        };
        for path in [
            ".well-known/openid-configuration",
            "api",
            "apis",
            "openid/v1/jwks",
            "version",
        ] {
            add(path, "");
        }
        for (group, version) in source.group_versions() {
            add(
                &path_of(&group, &version),
                &source.fingerprint(&group, &version),
            );
            if !group.is_empty() {
                add(&format!("apis/{group}"), "");
            }
        }
        json!({"paths": paths})
    }

    /// Returns the document at a path relative to `/openapi/v3` and its hash; `None` if it does not
    /// exist.
    pub(crate) fn document(
        &self,
        source: &dyn OpenApiSource,
        path: &str,
    ) -> Option<(Bytes, String)> {
        let parts: Vec<&str> = path.split('/').collect();
        let (group, version) = match parts.as_slice() {
            ["api", version] => ("", *version),
            ["apis", group, version] => (*group, *version),
            ["api" | "apis" | "version"] | ["openid", "v1", "jwks"] => ("", ""),
            [".well-known", "openid-configuration"] => ("", ""),
            ["apis", group] if source.group_versions().iter().any(|(g, _)| g == group) => ("", ""),
            _ => return None,
        };
        if version.is_empty() {
            let bytes = Bytes::from(whole(Map::new(), Map::new()).to_string());
            return Some((bytes, hash(path, "")));
        }
        let kinds = source.kinds(group, version);
        if kinds.is_empty() {
            return None;
        }
        let state = hash(path, &source.fingerprint(group, version));
        if let Some((known, bytes)) = self.cache.lock().get(path)
            && *known == state
        {
            return Some((bytes.clone(), state));
        }
        let bytes = Bytes::from(group_version(source, group, version, &kinds).to_string());
        self.cache
            .lock()
            .insert(path.into(), (state.clone(), bytes.clone()));
        Some((bytes, state))
    }

    /// Returns the OpenAPI v2 document, as JSON or gnostic protobuf, and its hash.
    /// Those of extension API servers are merged into it.
    pub(crate) fn openapi_v2(
        &self,
        source: &dyn OpenApiSource,
        extensions: &[Arc<ExtensionOpenApi>],
        protobuf: bool,
    ) -> (Bytes, String) {
        let versions = source.group_versions();
        let states = versions.iter().map(|(g, v)| source.fingerprint(g, v));
        let states = states.chain(extensions.iter().map(|extension| extension.hash.clone()));
        let path = if protobuf { "v2+protobuf" } else { "v2" };
        let state = hash(path, &states.collect::<Vec<_>>().join(","));
        if let Some((known, bytes)) = self.cache.lock().get(path)
            && *known == state
        {
            return (bytes.clone(), state);
        }
        let mut whole = openapi_v2::empty();
        for (group, version) in &versions {
            let kinds = source.kinds(group, version);
            openapi_v2::add(&mut whole, group_version(source, group, version, &kinds));
        }
        for extension in extensions {
            extension.merge_into(&mut whole);
        }
        let bytes = if protobuf {
            Bytes::from(gnostic::encode(&whole))
        } else {
            Bytes::from(whole.to_string())
        };
        self.cache
            .lock()
            .insert(path.into(), (state.clone(), bytes.clone()));
        (bytes, state)
    }
}

fn hash(path: &str, state: &str) -> String {
    use sha2::Digest;
    let sum = sha2::Sha256::digest(format!("{}/{path}/{state}", env!("CARGO_PKG_VERSION")));
    sum.iter().map(|b| format!("{b:02X}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::custom::CustomSchema;
    use crate::openapi::openapi_v3::REF;
    use kueue_lab_apimachinery::strategy::api_resource::ApiResource;

    struct Builtins;

    impl OpenApiSource for Builtins {
        fn kinds(&self, group: &str, version: &str) -> Vec<ApiResource> {
            let mut all = kueue_lab_kinds::builtin_api_resources();
            all.retain(|k| &*k.group == group && &*k.version == version);
            all
        }

        fn group_versions(&self) -> Vec<(String, String)> {
            let mut seen = Vec::new();
            for kind in kueue_lab_kinds::builtin_api_resources() {
                let pair = (kind.group.to_string(), kind.version.to_string());
                if !seen.contains(&pair) {
                    seen.push(pair);
                }
            }
            seen
        }

        fn custom(&self, _: &ApiResource) -> Option<CustomSchema> {
            None
        }

        fn fingerprint(&self, _: &str, _: &str) -> String {
            String::new()
        }
    }

    fn document(path: &str) -> Value {
        let documents = Documents::default();
        let (bytes, _) = documents.document(&Builtins, path).expect("a document");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// Collects every `$ref` in a value.
    fn refs(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(target)) = map.get("$ref") {
                    found.push(target.clone());
                }
                map.values().for_each(|v| refs(v, found));
            }
            Value::Array(items) => items.iter().for_each(|v| refs(v, found)),
            _ => {}
        }
    }

    #[test]
    fn every_group_version_has_a_document_with_resolvable_references() {
        let documents = Documents::default();
        let index = documents.index(&Builtins);
        for (group, version) in Builtins.group_versions() {
            let path = path_of(&group, &version);
            assert!(index["paths"].get(&path).is_some(), "{path}");
            let doc = document(&path);
            let mut found = Vec::new();
            refs(&doc, &mut found);
            assert!(!found.is_empty(), "{path}");
            for target in found {
                let name = target.strip_prefix(REF).expect("a reference to a schema");
                assert!(
                    doc["components"]["schemas"].get(name).is_some(),
                    "{path}: {name}"
                );
            }
        }
        assert!(documents.document(&Builtins, "apis/nope/v1").is_none());
    }

    #[test]
    fn a_job_spec_as_kubernetes_describes_it() {
        let doc = document("apis/batch/v1");
        let spec = &doc["components"]["schemas"]["io.k8s.api.batch.v1.JobSpec"];
        assert_eq!(spec["required"], json!(["template"]));
        assert_eq!(
            spec["properties"]["completionMode"]["enum"],
            json!(["Indexed", "NonIndexed"])
        );
        assert_eq!(spec["properties"]["backoffLimit"]["format"], "int32");
        let template = &spec["properties"]["template"];
        assert_eq!(template["default"], json!({}));
        assert_eq!(
            template["allOf"][0]["$ref"],
            format!("{REF}io.k8s.api.core.v1.PodTemplateSpec")
        );
        let pod = &doc["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"];
        let containers = &pod["containers"];
        assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
        assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
        assert_eq!(pod["nodeSelector"]["x-kubernetes-map-type"], "atomic");
        let job = &doc["components"]["schemas"]["io.k8s.api.batch.v1.Job"];
        let gvk = json!([{"group": "batch", "kind": "Job", "version": "v1"}]);
        assert_eq!(job["x-kubernetes-group-version-kind"], gvk);
        assert!(
            doc["components"]["schemas"]
                .get("io.k8s.api.batch.v1.JobList")
                .is_some()
        );
    }

    #[test]
    fn clients_find_the_parameters_of_a_patch() {
        let doc = document("api/v1");
        let patch = &doc["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"];
        assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "Pod");
        let parameters = patch["parameters"].as_array().expect("parameters");
        assert!(parameters.iter().any(|p| p["name"] == "fieldValidation"));
    }

    #[test]
    fn version_two_of_all() {
        let (bytes, _) = Documents::default().openapi_v2(&Builtins, &[], false);
        let doc: Value = serde_json::from_slice(&bytes).expect("JSON");
        assert_eq!(doc["swagger"], "2.0");
        let map = &doc["definitions"]["io.k8s.api.core.v1.ConfigMap"];
        assert_eq!(
            map["properties"]["data"]["additionalProperties"],
            json!({"type": "string"})
        );
        let metadata = &map["properties"]["metadata"];
        assert_eq!(
            metadata["$ref"],
            "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
        );
        assert!(metadata.get("default").is_none() && metadata.get("allOf").is_none());
        let strategy =
            &doc["definitions"]["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["strategy"];
        assert_eq!(strategy["x-kubernetes-patch-strategy"], "retainKeys");
    }
}
