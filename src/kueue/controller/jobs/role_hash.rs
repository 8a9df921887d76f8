//! The role hash of a pod in its group: eight hexadecimal digits of a digest of the fields of its
//! spec that matter for admission. The pod set of a role has it as name.
//!
//! The digest is computed from the JSON that Go encodes: fields in the order of Kubernetes' Go
//! types, maps sorted by key, empty values omitted or `null` as in Go, and `<`, `>` and `&`
//! escaped.

use k8s_openapi::api::core::v1::{Container, PodSpec};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use kueue_lab_json::html_escape;
use kueue_lab_quantity::Quantity;

/// The Go encoding of a value.
enum GoType {
    /// Unchanged; maps sorted by key.
    Scalar,
    /// A quantity in canonical form.
    Quantity,
    /// A map, or `null`.
    Map(&'static GoType),
    /// A list, or `null` if it is empty.
    List(&'static GoType),
    /// A struct with fields in order.
    Struct(&'static [Field]),
}

/// A struct field: name, type, and whether it has `omitempty`.
type Field = (&'static str, &'static GoType, bool);

const ALWAYS: bool = false;
const OMIT_EMPTY: bool = true;

const QUANTITIES: GoType = GoType::Map(&GoType::Quantity);
const STRINGS: GoType = GoType::List(&GoType::Scalar);
const CONTAINER_PORT: GoType = GoType::Struct(&[
    ("name", &GoType::Scalar, OMIT_EMPTY),
    ("hostPort", &GoType::Scalar, OMIT_EMPTY),
    ("containerPort", &GoType::Scalar, ALWAYS),
    ("protocol", &GoType::Scalar, OMIT_EMPTY),
    ("hostIP", &GoType::Scalar, OMIT_EMPTY),
]);
const TOLERATION: GoType = GoType::Struct(&[
    ("key", &GoType::Scalar, OMIT_EMPTY),
    ("operator", &GoType::Scalar, OMIT_EMPTY),
    ("value", &GoType::Scalar, OMIT_EMPTY),
    ("effect", &GoType::Scalar, OMIT_EMPTY),
    ("tolerationSeconds", &GoType::Scalar, OMIT_EMPTY),
]);
const SELECTOR_REQUIREMENTS: GoType = GoType::List(&GoType::Struct(&[
    ("key", &GoType::Scalar, ALWAYS),
    ("operator", &GoType::Scalar, ALWAYS),
    ("values", &STRINGS, OMIT_EMPTY),
]));
const LABEL_SELECTOR: GoType = GoType::Struct(&[
    ("matchLabels", &GoType::Scalar, OMIT_EMPTY),
    ("matchExpressions", &SELECTOR_REQUIREMENTS, OMIT_EMPTY),
]);
const NODE_SELECTOR_TERM: GoType = GoType::Struct(&[
    ("matchExpressions", &SELECTOR_REQUIREMENTS, OMIT_EMPTY),
    ("matchFields", &SELECTOR_REQUIREMENTS, OMIT_EMPTY),
]);
const NODE_AFFINITY: GoType = GoType::Struct(&[
    (
        "requiredDuringSchedulingIgnoredDuringExecution",
        &GoType::Struct(&[(
            "nodeSelectorTerms",
            &GoType::List(&NODE_SELECTOR_TERM),
            ALWAYS,
        )]),
        OMIT_EMPTY,
    ),
    (
        "preferredDuringSchedulingIgnoredDuringExecution",
        &GoType::List(&GoType::Struct(&[
            ("weight", &GoType::Scalar, ALWAYS),
            ("preference", &NODE_SELECTOR_TERM, ALWAYS),
        ])),
        OMIT_EMPTY,
    ),
]);
const POD_AFFINITY_TERM: GoType = GoType::Struct(&[
    ("labelSelector", &LABEL_SELECTOR, OMIT_EMPTY),
    ("namespaces", &STRINGS, OMIT_EMPTY),
    ("topologyKey", &GoType::Scalar, ALWAYS),
    ("namespaceSelector", &LABEL_SELECTOR, OMIT_EMPTY),
    ("matchLabelKeys", &STRINGS, OMIT_EMPTY),
    ("mismatchLabelKeys", &STRINGS, OMIT_EMPTY),
]);
const POD_AFFINITY: GoType = GoType::Struct(&[
    (
        "requiredDuringSchedulingIgnoredDuringExecution",
        &GoType::List(&POD_AFFINITY_TERM),
        OMIT_EMPTY,
    ),
    (
        "preferredDuringSchedulingIgnoredDuringExecution",
        &GoType::List(&GoType::Struct(&[
            ("weight", &GoType::Scalar, ALWAYS),
            ("podAffinityTerm", &POD_AFFINITY_TERM, ALWAYS),
        ])),
        OMIT_EMPTY,
    ),
]);
const AFFINITY: GoType = GoType::Struct(&[
    ("nodeAffinity", &NODE_AFFINITY, OMIT_EMPTY),
    ("podAffinity", &POD_AFFINITY, OMIT_EMPTY),
    ("podAntiAffinity", &POD_AFFINITY, OMIT_EMPTY),
]);
const TOPOLOGY_SPREAD_CONSTRAINT: GoType = GoType::Struct(&[
    ("maxSkew", &GoType::Scalar, ALWAYS),
    ("topologyKey", &GoType::Scalar, ALWAYS),
    ("whenUnsatisfiable", &GoType::Scalar, ALWAYS),
    ("labelSelector", &LABEL_SELECTOR, OMIT_EMPTY),
    ("minDomains", &GoType::Scalar, OMIT_EMPTY),
    ("nodeAffinityPolicy", &GoType::Scalar, OMIT_EMPTY),
    ("nodeTaintsPolicy", &GoType::Scalar, OMIT_EMPTY),
    ("matchLabelKeys", &STRINGS, OMIT_EMPTY),
]);
const POD_RESOURCE_CLAIM: GoType = GoType::Struct(&[
    ("name", &GoType::Scalar, ALWAYS),
    ("resourceClaimName", &GoType::Scalar, OMIT_EMPTY),
    ("resourceClaimTemplateName", &GoType::Scalar, OMIT_EMPTY),
]);

/// The role hash of a pod spec.
pub(crate) fn role_hash(spec: &PodSpec) -> String {
    let digest = Sha256::digest(shape_json(spec).as_bytes());
    digest
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The fields of a spec that the role hash covers.
pub(crate) fn spec_shape(spec: &PodSpec) -> Value {
    let mut parsed: Value = serde_json::from_str(&shape_json(spec)).unwrap_or_default();
    parsed["spec"].take()
}

/// The same fields as Go encodes them.
fn shape_json(spec: &PodSpec) -> String {
    let mut out = String::from("{\"spec\":{");
    let mut first = true;
    let mut part = |name: &str, write: &dyn Fn(&mut String)| {
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        text(&mut out, name);
        out.push(':');
        write(&mut out);
    };
    part("affinity", &|out| put(out, &spec.affinity, &AFFINITY));
    part("containers", &|out| containers(out, &spec.containers));
    let init = spec.init_containers.as_deref().unwrap_or_default();
    part("initContainers", &|out| containers(out, init));
    part("nodeSelector", &|out| {
        put(out, &spec.node_selector, &GoType::Map(&GoType::Scalar))
    });
    part("overhead", &|out| put(out, &spec.overhead, &QUANTITIES));
    part("priority", &|out| put(out, &spec.priority, &GoType::Scalar));
    part("resourceClaims", &|out| {
        put(
            out,
            &spec.resource_claims,
            &GoType::List(&POD_RESOURCE_CLAIM),
        )
    });
    if let Some(resources) = &spec.resources {
        part("resources", &|out| {
            put(out, &resources.requests, &QUANTITIES)
        });
    }
    part("runtimeClassName", &|out| {
        put(out, &spec.runtime_class_name, &GoType::Scalar)
    });
    part("tolerations", &|out| {
        put(out, &spec.tolerations, &GoType::List(&TOLERATION))
    });
    let spread = &spec.topology_spread_constraints;
    part("topologySpreadConstraints", &|out| {
        put(out, spread, &GoType::List(&TOPOLOGY_SPREAD_CONSTRAINT))
    });
    out.push_str("}}");
    out
}

fn containers(out: &mut String, containers: &[Container]) {
    if containers.is_empty() {
        out.push_str("null");
        return;
    }
    out.push('[');
    for (i, container) in containers.iter().enumerate() {
        out.push_str(if i == 0 {
            "{\"ports\":"
        } else {
            ",{\"ports\":"
        });
        put(out, &container.ports, &GoType::List(&CONTAINER_PORT));
        out.push_str(",\"resources\":{\"requests\":");
        let requests = container
            .resources
            .as_ref()
            .and_then(|r| r.requests.as_ref());
        put(out, &requests, &QUANTITIES);
        out.push_str("}}");
    }
    out.push(']');
}

fn put<T: Serialize>(out: &mut String, value: &T, type_: &GoType) {
    write(out, &serde_json::to_value(value).unwrap_or_default(), type_);
}

fn write(out: &mut String, value: &Value, type_: &GoType) {
    match (type_, value) {
        (GoType::Quantity, Value::String(quantity)) => {
            let parsed = Quantity::parse(quantity).map(|q| q.to_string());
            text(out, parsed.as_deref().unwrap_or(quantity));
        }
        (GoType::Map(_), Value::Object(map)) if map.is_empty() => out.push_str("null"),
        (GoType::Map(of), Value::Object(map)) => {
            entries(out, map.iter().map(|(k, v)| (k.as_str(), v, *of)))
        }
        (GoType::Scalar, Value::Object(map)) => {
            entries(
                out,
                map.iter().map(|(k, v)| (k.as_str(), v, &GoType::Scalar)),
            );
        }
        (GoType::List(_), Value::Array(items)) if items.is_empty() => out.push_str("null"),
        (GoType::List(of), Value::Array(items)) => list(out, items, of),
        (GoType::Scalar, Value::Array(items)) => list(out, items, &GoType::Scalar),
        (GoType::Struct(fields), Value::Object(map)) => {
            let present = fields.iter().filter_map(|(name, type_, omit)| {
                let value = map.get(*name).unwrap_or(&Value::Null);
                let left_out = *omit && is_empty(value, name);
                (!left_out).then_some((*name, value, *type_))
            });
            // In the order of the struct fields, not of their names.
            out.push('{');
            members(out, present);
            out.push('}');
        }
        (_, Value::String(s)) => text(out, s),
        (_, other) => out.push_str(&other.to_string()),
    }
}

fn is_empty(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => true,
        Value::String(s) => s.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty() && name == "matchLabels",
        Value::Number(n) => name == "hostPort" && n.as_i64() == Some(0),
        Value::Bool(_) => false,
    }
}

fn list(out: &mut String, items: &[Value], of: &GoType) {
    out.push('[');
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        write(out, item, of);
    }
    out.push(']');
}

fn entries<'a>(
    out: &mut String,
    entries: impl Iterator<Item = (&'a str, &'a Value, &'static GoType)>,
) {
    let mut sorted: Vec<_> = entries.collect();
    sorted.sort_by_key(|(key, _, _)| *key);
    out.push('{');
    members(out, sorted.into_iter());
    out.push('}');
}

fn members<'a>(
    out: &mut String,
    members: impl Iterator<Item = (&'a str, &'a Value, &'static GoType)>,
) {
    for (i, (name, value, type_)) in members.enumerate() {
        if i > 0 {
            out.push(',');
        }
        text(out, name);
        out.push(':');
        write(out, value, type_);
    }
}

/// Encodes a string as Go does.
fn text(out: &mut String, value: &str) {
    let json = serde_json::to_string(value).unwrap_or_default();
    out.push_str(&html_escape(&json));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec(value: Value) -> PodSpec {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn spec_shape_is_encoded_as_in_go() {
        let spec = spec(json!({
            "containers": [{"name": "c", "resources": {"requests": {"memory": "1024Mi", "cpu": "1000m"}},
                "ports": [{"protocol": "TCP", "containerPort": 80, "name": "web"}]}],
            "tolerations": [{"tolerationSeconds": 300, "operator": "Exists", "key": "a&b", "effect": "NoExecute"}],
            "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
                [{"preference": {"matchExpressions": [{"key": "k", "operator": "Exists"}]}, "weight": 1}]}},
            "priority": 0,
        }));
        assert_eq!(
            shape_json(&spec),
            concat!(
                r#"{"spec":{"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":"#,
                r#"[{"weight":1,"preference":{"matchExpressions":[{"key":"k","operator":"Exists"}]}}]}},"#,
                r#""containers":[{"ports":[{"name":"web","containerPort":80,"protocol":"TCP"}],"#,
                r#""resources":{"requests":{"cpu":"1","memory":"1Gi"}}}],"initContainers":null,"#,
                r#""nodeSelector":null,"overhead":null,"priority":0,"resourceClaims":null,"#,
                r#""runtimeClassName":null,"tolerations":[{"key":"a\u0026b","operator":"Exists","#,
                r#""effect":"NoExecute","tolerationSeconds":300}],"topologySpreadConstraints":null}}"#,
            )
        );
    }

    #[test]
    fn role_hash_equals_upstream() {
        // From a run of upstream: a pod that requests six CPUs, with API server defaults.
        let spec = spec(json!({
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "6"}}}],
            "priority": 0,
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            ],
        }));
        assert_eq!(role_hash(&spec), "4cb13f91");
    }
}
