//! OpenAPI v3 document of a group version.

use serde_json::{Map, Value, json};

use super::custom::CustomSchema;
use super::source::OpenApiSource;
use super::{builtin, custom, paths};
use kueue_lab_apimachinery::strategy::api_resource::ApiResource;

pub(crate) const REF: &str = "#/components/schemas/";

pub(crate) fn group_version(
    source: &dyn OpenApiSource,
    group: &str,
    version: &str,
    kinds: &[ApiResource],
) -> Value {
    let mut schemas = builtin::definitions(group, version);
    let custom: Vec<(&ApiResource, CustomSchema)> = kinds
        .iter()
        .filter_map(|kind| Some((kind, source.custom(kind)?)))
        .collect();
    if !custom.is_empty() {
        schemas.extend(builtin::definitions("meta.k8s.io", "v1"));
    }
    for (kind, schema) in custom {
        custom::add(&mut schemas, kind, &schema);
    }
    let paths = paths::build_paths(group, version, kinds);
    whole(paths, schemas)
}

pub(crate) fn whole(paths: Map<String, Value>, schemas: Map<String, Value>) -> Value {
    let bearer = json!({"type": "apiKey", "in": "header", "name": "authorization",
        "description": "Bearer Token authentication"});
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.36.2"},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"BearerToken": bearer}},
    })
}

/// Definition name of a kind.
pub(crate) fn definition_name(kind: &ApiResource, name: &str) -> String {
    let (group, version) = (&*kind.group, &*kind.version);
    match group {
        "" => format!("io.k8s.api.core.{version}.{name}"),
        "apiextensions.k8s.io" => {
            format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{version}.{name}")
        }
        "apiregistration.k8s.io" => {
            format!("io.k8s.kube-aggregator.pkg.apis.apiregistration.{version}.{name}")
        }
        _ if is_builtin(group) => {
            let short = group.split('.').next().unwrap_or_default();
            format!("io.k8s.api.{short}.{version}.{name}")
        }
        _ => {
            let reversed: Vec<&str> = group.split('.').rev().collect();
            format!("{}.{version}.{name}", reversed.join("."))
        }
    }
}

/// Whether a group is a built-in Kubernetes group.
pub(crate) fn is_builtin(group: &str) -> bool {
    builtin::has_definitions(group, "v1") || builtin::has_definitions(group, "v2")
}
