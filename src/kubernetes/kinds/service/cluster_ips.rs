//! Cluster IPs and node ports of a service.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use kueue_lab_json::{ValueExt, ValueMutExt};

/// Fills in the allocated cluster IPs and node ports of a Service from its old version
/// (`patchAllocatedValues`).
pub fn patch_allocated_values(service: &mut Value, old: Option<&Value>) {
    if let Some(old) = old {
        keep_allocated_values(service, old);
    }
    normalize_cluster_ips(service);
}

/// Synchronizes `clusterIP` with the first entry of `clusterIPs` (`normalizeClusterIPs`).
pub(crate) fn normalize_cluster_ips(service: &mut Value) {
    let Some(spec) = service.get_object_mut("spec") else {
        return;
    };
    let one = spec.text("/clusterIP").to_string();
    let first = spec.text("/clusterIPs/0").to_string();
    if !one.is_empty() && first.is_empty() {
        spec.set_or_remove("clusterIPs", Some(vec![one].into()));
    } else if one.is_empty() && !first.is_empty() {
        spec.set_or_remove("clusterIP", Some(first.into()));
    }
}

/// Keeps the allocated cluster IPs and node ports that an update does not set.
pub(crate) fn keep_allocated_values(new: &mut Value, old: &Value) {
    let (kind, before) = (new.text("/spec/type").to_string(), old.text("/spec/type"));
    if kind == "ExternalName" || before == "ExternalName" {
        return;
    }
    let spec = new.object_mut("spec");
    let was = old.at("/spec");
    if spec.text("/clusterIP").is_empty() && spec.list("/clusterIPs").is_empty() {
        for field in ["clusterIP", "clusterIPs"] {
            spec.set_or_remove(field, was.get(field).cloned());
        }
    }
    for field in ["ipFamilies", "ipFamilyPolicy"] {
        if spec.get(field).is_none_or(Value::is_null) {
            spec.set_or_remove(field, was.get(field).cloned());
        }
    }
    if !matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        return;
    }
    let used: BTreeSet<i64> = spec
        .list("/ports")
        .iter()
        .map(|p| p.int("/nodePort"))
        .collect();
    // The last one of the reversed list is the first one.
    let before: HashMap<(&Value, &Value), i64> = was
        .list("/ports")
        .iter()
        .rev()
        .map(|p| ((p.at("/port"), p.at("/protocol")), p.int("/nodePort")))
        .collect();
    for port in spec.items_mut("ports") {
        let before = before
            .get(&(port.at("/port"), port.at("/protocol")))
            .copied();
        if let Some(number) = before.filter(|n| *n != 0 && !used.contains(n))
            && port.int("/nodePort") == 0
        {
            port.set_or_remove("nodePort", Some(number.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::service::strategy::default;
    use crate::service::validation::{validate, validate_cluster_ips_update};
    use kueue_lab_apimachinery::error_list::ErrorList;

    fn service(spec: Value) -> Value {
        let mut s = json!({"metadata": {"name": "s"}, "spec": spec});
        default(&mut s);
        normalize_cluster_ips(&mut s);
        s
    }

    fn texts(spec: Value) -> Vec<String> {
        validate(&service(spec))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn defaults() {
        let s = service(json!({"ports": [{"port": 80}], "clusterIP": "None"}));
        assert_eq!(
            *s.at("/spec/ports/0"),
            json!({"port": 80, "protocol": "TCP", "targetPort": 80})
        );
        assert_eq!(*s.at("/spec/clusterIPs"), json!(["None"]));
        assert_eq!(
            (s.text("/spec/type"), s.text("/spec/internalTrafficPolicy")),
            ("ClusterIP", "Cluster")
        );
        assert!(!s.has("/spec/externalTrafficPolicy"));
    }

    #[test]
    fn checks() {
        assert!(texts(json!({"clusterIP": "None"})).is_empty());
        assert_eq!(texts(json!({})), ["spec.ports: Required value"]);
        assert_eq!(
            texts(json!({"ports": [{"port": 0}, {"port": 80, "name": "A"}]}))[0],
            "spec.ports[0].name: Required value"
        );
        assert_eq!(
            texts(json!({"type": "ExternalName", "ports": [{"port": 1}]})),
            ["spec.externalName: Required value"]
        );
        assert_eq!(
            texts(json!({"type": "Odd", "ports": [{"port": 1}]})),
            [
                r#"spec.type: Unsupported value: "Odd": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort""#
            ]
        );
        let twice = json!({"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]});
        assert_eq!(
            texts(twice),
            [
                r#"spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":1,"TargetPort":0,"NodePort":0}"#
            ]
        );
    }

    #[test]
    fn an_update_keeps_system_fields() {
        let mut old =
            service(json!({"type": "NodePort", "ports": [{"port": 80}], "clusterIP": "10.0.0.1"}));
        old["spec"]["ports"][0]["nodePort"] = 30080.into();
        let mut new = service(
            json!({"type": "NodePort", "ports": [{"port": 80}, {"port": 81, "name": "b"}]}),
        );
        keep_allocated_values(&mut new, &old);
        assert_eq!(
            (
                new.text("/spec/clusterIP"),
                new.int("/spec/ports/0/nodePort")
            ),
            ("10.0.0.1", 30080)
        );
        new["spec"]["clusterIPs"] = json!(["10.0.0.2"]);
        let mut errors = ErrorList::default();
        validate_cluster_ips_update(&mut errors, &new, &old);
        assert_eq!(
            errors.0[0].to_string(),
            r#"spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set"#
        );
    }
}
