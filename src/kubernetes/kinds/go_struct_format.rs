//! Go struct form of internal API types, with Go field names and unset fields included, as some
//! error messages print it.

use serde_json::Value;

use super::unified_diff;
use kueue_lab_apimachinery::schema::{self, Schema, StructSchema, ValueType};
use kueue_lab_json::{ValueExt, html_escape};

/// Diff of two pod specs in their internal form.
pub(super) fn pod_spec_diff(old: &Value, new: &Value) -> String {
    let Some(schema) = pod_spec_schema() else {
        return String::new();
    };
    let text = |spec| render(&schema, spec, Some(0));
    unified_diff::unified(&text(old), &text(new))
}

/// Formats a pod spec in its internal form on one line.
pub(super) fn pod_spec(spec: &Value) -> String {
    pod_spec_schema()
        .map(|schema| render(&schema, spec, None))
        .unwrap_or_default()
}

/// Formats a pod template on one line: metadata as JSON, the spec in its internal form.
pub(super) fn pod_template(template: &Value) -> String {
    let mut fields: Vec<String> = template
        .entries("/metadata")
        .map(|(name, value)| format!("{}:{value}", Value::from(name.as_str())))
        .collect();
    fields.push(format!("\"Spec\":{}", pod_spec(template.at("/spec"))));
    format!("{{{}}}", fields.join(","))
}

/// Formats a taint in its internal form.
pub(super) fn taint(taint: &Value) -> String {
    let text = |field: &str| Value::from(taint.text(field));
    format!(
        "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":{}}}",
        text("/key"),
        text("/value"),
        text("/effect"),
        taint.at("/timeAdded"),
    )
}

fn pod_spec_schema() -> Option<std::sync::Arc<Schema>> {
    let pod = schema::builtin_schema("", "v1", "Pod")?;
    let ValueType::Struct(value_type) = &pod.value_type else {
        return None;
    };
    Some(value_type.field("spec")?.schema.share())
}

/// Fields of the internal pod spec in order. The host namespace fields are in its security context.
const POD_SPEC_FIELDS: [&str; 36] = [
    "volumes",
    "initContainers",
    "containers",
    "ephemeralContainers",
    "restartPolicy",
    "terminationGracePeriodSeconds",
    "activeDeadlineSeconds",
    "dnsPolicy",
    "nodeSelector",
    "serviceAccountName",
    "automountServiceAccountToken",
    "nodeName",
    "securityContext",
    "imagePullSecrets",
    "hostname",
    "subdomain",
    "setHostnameAsFQDN",
    "affinity",
    "schedulerName",
    "tolerations",
    "hostAliases",
    "priorityClassName",
    "priority",
    "preemptionPolicy",
    "dnsConfig",
    "readinessGates",
    "runtimeClassName",
    "overhead",
    "enableServiceLinks",
    "topologySpreadConstraints",
    "os",
    "schedulingGates",
    "resourceClaims",
    "resources",
    "hostnameOverride",
    "schedulingGroup",
];
const HOST_FIELDS: [&str; 5] = [
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "shareProcessNamespace",
    "hostUsers",
];

/// Renders the internal form; `indent` is the nesting depth of multi-line output, `None` for one
/// line.
fn render(schema: &Schema, value: &Value, indent: Option<usize>) -> String {
    match (&schema.value_type, value) {
        (ValueType::Struct(_), value) if prints_as_json(schema) => html_escape(&value.to_string()),
        (ValueType::Struct(value_type), _) => {
            let fields = match schema.name.as_ref() {
                "v1.PodSpec" => pod_spec_fields(value_type, value, deeper(indent)),
                _ => fields(value_type, value, deeper(indent)),
            };
            enclose('{', '}', fields, indent)
        }
        (ValueType::List(value_type), Value::Array(items)) => {
            let items = items
                .iter()
                .map(|v| render(&value_type.item, v, deeper(indent)))
                .collect();
            enclose('[', ']', items, indent)
        }
        (ValueType::Map(value_type), Value::Object(map)) => {
            let entry = |(key, value): (&String, &Value)| {
                entry(
                    key,
                    &render(&value_type.value, value, deeper(indent)),
                    indent,
                )
            };
            enclose('{', '}', map.iter().map(entry).collect(), indent)
        }
        (ValueType::List(_) | ValueType::Map(_), _) => "null".into(),
        (_, value) => html_escape(&value.to_string()),
    }
}

/// Whether a type has JSON tags in the internal API too (the apimachinery types).
fn prints_as_json(schema: &Schema) -> bool {
    matches!(
        schema.name.as_ref(),
        "v1.LabelSelector" | "v1.ObjectMeta" | "v1.OwnerReference"
    )
}

fn deeper(indent: Option<usize>) -> Option<usize> {
    indent.map(|depth| depth + 1)
}

fn enclose(open: char, close: char, parts: Vec<String>, indent: Option<usize>) -> String {
    match indent {
        _ if parts.is_empty() => format!("{open}{close}"),
        None => format!("{open}{}{close}", parts.join(",")),
        Some(depth) => {
            let (inner, outer) = (" ".repeat(depth + 1), " ".repeat(depth));
            let body = parts.join(&format!(",\n{inner}"));
            format!("{open}\n{inner}{body}\n{outer}{close}")
        }
    }
}

fn entry(name: &str, value: &str, indent: Option<usize>) -> String {
    let space = if indent.is_some() { " " } else { "" };
    format!(
        "{}:{space}{value}",
        html_escape(&Value::from(name).to_string())
    )
}

fn fields(value_type: &StructSchema, value: &Value, indent: Option<usize>) -> Vec<String> {
    let mut ordered: Vec<_> = value_type.fields.iter().collect();
    ordered.sort_by_key(|f| f.order);
    let names = ordered.iter().map(|f| f.name.as_ref());
    names
        .filter_map(|name| field(value_type, name, value, indent))
        .collect()
}

fn field(
    value_type: &StructSchema,
    name: &str,
    value: &Value,
    indent: Option<usize>,
) -> Option<String> {
    let field = value_type.field(name)?;
    let text = match value.get(name) {
        Some(value) if !value.is_null() => render(&field.schema, value, indent),
        _ if field.pointer => "null".into(),
        _ => zero_value(&field.schema, indent),
    };
    Some(entry(&go_field_name(name), &text, indent))
}

/// Go zero value of an unset field.
fn zero_value(schema: &Schema, indent: Option<usize>) -> String {
    match &schema.value_type {
        ValueType::Struct(_) => render(schema, &Value::Null, indent),
        ValueType::String { .. } => "\"\"".into(),
        ValueType::Quantity => "\"0\"".into(),
        ValueType::Bool => "false".into(),
        ValueType::Int(_) | ValueType::Float | ValueType::IntOrString => "0".into(),
        _ => "null".into(),
    }
}

fn pod_spec_fields(value_type: &StructSchema, spec: &Value, indent: Option<usize>) -> Vec<String> {
    let one = |name: &&str| match *name {
        "securityContext" => security_context(value_type, spec, indent),
        name => field(value_type, name, spec, indent),
    };
    POD_SPEC_FIELDS.iter().filter_map(one).collect()
}

fn security_context(
    value_type: &StructSchema,
    spec: &Value,
    indent: Option<usize>,
) -> Option<String> {
    let context = value_type.field("securityContext")?.schema.share();
    let ValueType::Struct(own) = &context.value_type else {
        return None;
    };
    let inner = deeper(indent);
    let host = HOST_FIELDS
        .iter()
        .filter_map(|name| field(value_type, name, spec, inner));
    let mut parts: Vec<String> = host.collect();
    const ORDER: [&str; 13] = [
        "seLinuxOptions",
        "windowsOptions",
        "runAsUser",
        "runAsGroup",
        "runAsNonRoot",
        "supplementalGroups",
        "supplementalGroupsPolicy",
        "fsGroup",
        "fsGroupChangePolicy",
        "sysctls",
        "seccompProfile",
        "appArmorProfile",
        "seLinuxChangePolicy",
    ];
    let value = spec.at("/securityContext");
    parts.extend(
        ORDER
            .iter()
            .filter_map(|name| field(own, name, value, inner)),
    );
    Some(entry(
        "SecurityContext",
        &enclose('{', '}', parts, indent),
        indent,
    ))
}

/// Go field name of a JSON field.
fn go_field_name(json: &str) -> String {
    const OTHER: [(&str, &str); 34] = [
        ("awsElasticBlockStore", "AWSElasticBlockStore"),
        ("cephfs", "CephFS"),
        ("csi", "CSI"),
        ("diskURI", "DataDiskURI"),
        ("dnsConfig", "DNSConfig"),
        ("dnsPolicy", "DNSPolicy"),
        ("fc", "FC"),
        ("fsGroup", "FSGroup"),
        ("fsGroupChangePolicy", "FSGroupChangePolicy"),
        ("fsType", "FSType"),
        ("gcePersistentDisk", "GCEPersistentDisk"),
        ("gmsaCredentialSpec", "GMSACredentialSpec"),
        ("gmsaCredentialSpecName", "GMSACredentialSpecName"),
        ("grpc", "GRPC"),
        ("httpGet", "HTTPGet"),
        ("httpHeaders", "HTTPHeaders"),
        ("ip", "IP"),
        ("iqn", "IQN"),
        ("iscsi", "ISCSI"),
        ("iscsiInterface", "ISCSIInterface"),
        ("nfs", "NFS"),
        ("os", "OS"),
        ("pdName", "PDName"),
        ("rbd", "RBD"),
        ("scaleIO", "ScaleIO"),
        ("seLinuxChangePolicy", "SELinuxChangePolicy"),
        ("seLinuxOptions", "SELinuxOptions"),
        ("setHostnameAsFQDN", "SetHostnameAsFQDN"),
        ("storageos", "StorageOS"),
        ("targetWWNs", "TargetWWNs"),
        ("tcpSocket", "TCPSocket"),
        ("tty", "TTY"),
        ("uid", "UID"),
        ("wwids", "WWIDs"),
    ];
    if let Some((_, name)) = OTHER.iter().find(|(from, _)| *from == json) {
        return (*name).into();
    }
    let mut letters = json.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_spec_formatted_as_in_go() {
        let spec = json!({"containers": [{"name": "c", "image": "x"}], "hostNetwork": true, "restartPolicy": "Never"});
        let text = pod_spec(&spec);
        assert!(text.starts_with(r#"{"Volumes":null,"InitContainers":null,"Containers":[{"Name":"c","Image":"x","Command":null"#), "{text}");
        assert!(
            text.contains(r#""SecurityContext":{"HostNetwork":true,"HostPID":false"#),
            "{text}"
        );
        assert!(
            text.contains(r#""Resources":{"Limits":null,"Requests":null,"Claims":null}"#),
            "{text}"
        );
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert!(value.get("NodeName").is_some() && value.get("ServiceAccount").is_none());
    }

    #[test]
    fn differences_name_the_changed_line() {
        let old = json!({"containers": [{"name": "c", "image": "x"}]});
        let mut new = old.clone();
        new["nodeName"] = "n".into();
        let diff = pod_spec_diff(&old, &new);
        assert!(
            diff.contains("\n- \"NodeName\": \"\",\n+ \"NodeName\": \"n\",\n"),
            "{diff}"
        );
    }

    #[test]
    fn a_taint() {
        let t = json!({"key": "a", "value": "x", "effect": "NoSchedule"});
        assert_eq!(
            taint(&t),
            r#"{"Key":"a","Value":"x","Effect":"NoSchedule","TimeAdded":null}"#
        );
    }
}
