use serde_json::{Value, json};

use super::*;
use crate::schema;

fn decoded(kind: (&str, &str, &str), mut value: Value) -> (Value, Vec<String>) {
    let schema = schema::builtin_schema(kind.0, kind.1, kind.2).unwrap();
    let unknown = decode(&schema, &mut value, DecodeSource::Json).unwrap();
    (value, unknown)
}

fn rejected(kind: (&str, &str, &str), mut value: Value, source: DecodeSource) -> String {
    let schema = schema::builtin_schema(kind.0, kind.1, kind.2).unwrap();
    decode(&schema, &mut value, source).unwrap_err().to_string()
}

const POD: (&str, &str, &str) = ("", "v1", "Pod");
const DEPLOYMENT: (&str, &str, &str) = ("apps", "v1", "Deployment");

#[test]
fn objects_take_the_form_go_writes() {
    let (pod, unknown) = decoded(
        POD,
        json!({
            "metadata": {"name": "p", "labels": {}, "creationTimestamp": null},
            "spec": {"containers": [
                {"name": "c", "args": [], "resources": {"requests": {"cpu": 6.0, "memory": "1024Mi"}}}
            ], "nodeName": "", "priority": 0, "hostNetwork": false},
        }),
    );
    assert!(unknown.is_empty());
    assert_eq!(
        pod,
        json!({
            "metadata": {"name": "p"},
            "spec": {"containers": [
                {"name": "c", "resources": {"requests": {"cpu": "6", "memory": "1Gi"}}}
            ], "priority": 0},
            "status": {},
        })
    );
    let (role, _) = decoded(
        ("rbac.authorization.k8s.io", "v1", "ClusterRole"),
        json!({"rules": []}),
    );
    assert_eq!(role, json!({"metadata": {}, "rules": null}));
    let (deployment, _) = decoded(
        DEPLOYMENT,
        json!({"status": {"conditions": [{"type": "A", "status": "True"}]}}),
    );
    assert_eq!(
        deployment,
        json!({
            "metadata": {},
            "spec": {
                "selector": null, "strategy": {},
                "template": {"metadata": {}, "spec": {"containers": null}}
            },
            "status": {"conditions": [
                {"type": "A", "status": "True", "lastUpdateTime": null, "lastTransitionTime": null}
            ]},
        })
    );
}

#[test]
fn unknown_fields_are_named_and_dropped() {
    let (pod, unknown) = decoded(
        DEPLOYMENT,
        json!({"spec": {"replica": 1, "template": {"spec": {"containers": [
            {"name": "c", "imagePullPolice": "x"}]}}}}),
    );
    let want = [
        "spec.replica",
        "spec.template.spec.containers[0].imagePullPolice",
    ];
    assert_eq!(unknown, want);
    assert!(pod["spec"].get("replica").is_none());
}

#[test]
fn type_errors_are_those_of_go() {
    let json_text = |k, v| rejected(k, v, DecodeSource::Json);
    assert_eq!(
        json_text(DEPLOYMENT, json!({"spec": {"replicas": "two"}})),
        "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
    );
    assert_eq!(
        json_text(("", "v1", "ConfigMap"), json!({"data": {"a": 1}})),
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
    );
    assert_eq!(
        json_text(POD, json!({"spec": {"containers": [{"ports": {"a": 1}}]}})),
        "json: cannot unmarshal object into Go struct field Container.spec.containers.ports of type []v1.ContainerPort"
    );
    assert_eq!(
        json_text(
            POD,
            json!({"spec": {"containers": [{"ports": [{"protocol": 1}]}]}})
        ),
        "json: cannot unmarshal number into Go struct field ContainerPort.spec.containers.ports.protocol of type v1.Protocol"
    );
    assert_eq!(
        json_text(POD, json!({"spec": {"priority": 1.5}})),
        "json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.priority of type int32"
    );
    assert_eq!(
        json_text(POD, json!({"spec": "x"})),
        "json: cannot unmarshal string into Go struct field Pod.spec of type v1.PodSpec"
    );
    assert!(
        json_text(
            POD,
            json!({"spec": {"containers": [{"resources": {"limits": {"cpu": "1 Gi"}}}]}})
        )
        .starts_with("quantities must match the regular expression")
    );
    let merged = |k, v| rejected(k, v, DecodeSource::Unstructured);
    assert_eq!(
        merged(DEPLOYMENT, json!({"spec": {"replicas": "x"}})),
        "unrecognized type: int32"
    );
    assert_eq!(
        merged(DEPLOYMENT, json!({"spec": {"template": []}})),
        "cannot restore struct from: slice"
    );
}

#[test]
fn decoding_twice_changes_nothing() {
    for id in schema::builtin_types::names() {
        let schema = schema::find_named_type(&id).unwrap();
        let once = zero(&schema);
        let mut twice = once.clone();
        decode(&schema, &mut twice, DecodeSource::Json).unwrap();
        assert_eq!(once, twice, "{id}");
    }
}
