//! Services.

mod checks;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::check::Errors;
use super::meta::names;
use super::rules::{Fields, Rules};
use super::value::{Fill, Look};
use checks::{addresses_stay, validate};

/// The rules of services. Addresses are given out by `policy`.
pub const RULES: Rules = Rules {
    name: names::label_1035_name,
    fields: Fields::Some(&[
        ("spec.clusterIP", "/spec/clusterIP", ""),
        ("spec.type", "/spec/type", ""),
    ]),
    default,
    prepare_create: |service| {
        service["status"] = json!({"loadBalancer": {}});
        one_address(service);
    },
    prepare_update: |new, old| {
        keep_addresses(new, old);
        one_address(new);
    },
    create: validate,
    update: |new, old| {
        let mut errors = Errors::default();
        addresses_stay(&mut errors, new, old);
        errors.extend(validate(new));
        errors.0
    },
    creates_on_update: true,
    ..Rules::PLAIN
};

fn default(service: &mut Value) {
    let Some(spec) = service.child_if("spec") else {
        return;
    };
    spec.or_set("type", "ClusterIP");
    spec.or_set("sessionAffinity", "None");
    match spec.text("/sessionAffinity") {
        "None" => {
            spec.take_key("sessionAffinityConfig");
        }
        "ClientIP" => {
            let config = spec.child("sessionAffinityConfig");
            config.child("clientIP").or_set("timeoutSeconds", 10800);
        }
        _ => {}
    }
    for port in spec.items_mut("ports") {
        port.or_set("protocol", "TCP");
        let number = port.at("/port").clone();
        let unset = matches!(port.at("/targetPort"), Value::Null)
            || port.at("/targetPort") == 0
            || port.at("/targetPort") == "";
        if unset {
            port.put("targetPort", Some(number));
        }
    }
    let kind = spec.text("/type").to_string();
    let outside = matches!(kind.as_str(), "NodePort" | "LoadBalancer")
        || kind == "ClusterIP" && !spec.list("/externalIPs").is_empty();
    if outside {
        spec.or_set("externalTrafficPolicy", "Cluster");
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer" | "ClusterIP") {
        spec.or_set("internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        spec.or_set("allocateLoadBalancerNodePorts", true);
    }
}

/// Completes what a service says of its addresses and ports from what it said before.
pub(crate) fn settle(service: &mut Value, old: Option<&Value>) {
    if let Some(old) = old {
        keep_addresses(service, old);
    }
    one_address(service);
}

/// The one address is the first of the addresses.
fn one_address(service: &mut Value) {
    let Some(spec) = service.child_if("spec") else {
        return;
    };
    let one = spec.text("/clusterIP").to_string();
    let first = spec.text("/clusterIPs/0").to_string();
    if !one.is_empty() && first.is_empty() {
        spec.put("clusterIPs", Some(vec![one].into()));
    } else if one.is_empty() && !first.is_empty() {
        spec.put("clusterIP", Some(first.into()));
    }
}

/// An update that does not speak of addresses and ports the server gave out keeps them.
fn keep_addresses(new: &mut Value, old: &Value) {
    let (kind, before) = (new.text("/spec/type").to_string(), old.text("/spec/type"));
    if kind == "ExternalName" || before == "ExternalName" {
        return;
    }
    let spec = new.child("spec");
    let was = old.at("/spec");
    if spec.text("/clusterIP").is_empty() && spec.list("/clusterIPs").is_empty() {
        for field in ["clusterIP", "clusterIPs"] {
            spec.put(field, was.get(field).cloned());
        }
    }
    for field in ["ipFamilies", "ipFamilyPolicy"] {
        if spec.get(field).is_none_or(Value::is_null) {
            spec.put(field, was.get(field).cloned());
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
    for port in spec.items_mut("ports") {
        let same = |p: &&Value| {
            p.at("/port") == port.at("/port") && p.at("/protocol") == port.at("/protocol")
        };
        let before = was
            .list("/ports")
            .iter()
            .find(same)
            .map(|p| p.int("/nodePort"));
        if let Some(number) = before.filter(|n| *n != 0 && !used.contains(n))
            && port.int("/nodePort") == 0
        {
            port.put("nodePort", Some(number.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(spec: Value) -> Value {
        let mut s = json!({"metadata": {"name": "s"}, "spec": spec});
        default(&mut s);
        one_address(&mut s);
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
    fn an_update_keeps_what_the_server_gave() {
        let mut old =
            service(json!({"type": "NodePort", "ports": [{"port": 80}], "clusterIP": "10.0.0.1"}));
        old["spec"]["ports"][0]["nodePort"] = 30080.into();
        let mut new = service(
            json!({"type": "NodePort", "ports": [{"port": 80}, {"port": 81, "name": "b"}]}),
        );
        keep_addresses(&mut new, &old);
        assert_eq!(
            (
                new.text("/spec/clusterIP"),
                new.int("/spec/ports/0/nodePort")
            ),
            ("10.0.0.1", 30080)
        );
        new["spec"]["clusterIPs"] = json!(["10.0.0.2"]);
        let mut errors = Errors::default();
        addresses_stay(&mut errors, &new, &old);
        assert_eq!(
            errors.0[0].to_string(),
            r#"spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set"#
        );
    }
}
