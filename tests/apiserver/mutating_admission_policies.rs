//! MutatingAdmissionPolicies: apply configurations and JSON patches by CEL.

use kube::Client;
use serde_json::{Value, json};

use super::server_fixture::*;

const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";
const MAPS: &str = "/api/v1/namespaces/test/configmaps";
const PODS: &str = "/api/v1/namespaces/test/pods";

fn spec(resource: &str, mutations: Value) -> Value {
    json!({
        "matchConstraints": {"resourceRules": [{
            "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
            "resources": [resource],
        }]},
        "reinvocationPolicy": "Never",
        "mutations": mutations,
    })
}

fn apply(expression: &str) -> Value {
    json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}})
}

fn json_patch(expression: &str) -> Value {
    json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}})
}

async fn create_policy(client: &Client, name: &str, spec: Value) {
    let policy = json!({"metadata": {"name": name}, "spec": spec});
    let path = format!("{ADMISSION}/mutatingadmissionpolicies");
    send(client, "POST", &path, policy).await.unwrap();
    let binding = json!({"metadata": {"name": name}, "spec": {"policyName": name}});
    let path = format!("{ADMISSION}/mutatingadmissionpolicybindings");
    send(client, "POST", &path, binding).await.unwrap();
}

fn config_map(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"k": "v"}})
}

#[test]
fn an_apply_configuration_is_merged_into_the_object() {
    with_server(|_, client| async move {
        let sidecar = "Object{spec: Object.spec{initContainers: [\
             Object.spec.initContainers{name: 'mesh', image: variables.image, \
             restartPolicy: 'Always'}]}}";
        let mut spec = spec("pods", json!([apply(sidecar)]));
        spec["variables"] =
            json!([{"name": "image", "expression": "'mesh/' + object.metadata.name"}]);
        spec["matchConditions"] =
            json!([{"name": "named", "expression": "object.metadata.name != 'plain'"}]);
        create_policy(&client, "sidecar", spec).await;
        let with_init = |name: &str| {
            let mut pod = pod(name);
            pod["spec"]["initContainers"] = json!([{"name": "own", "image": "i"}]);
            pod
        };
        let made = send(&client, "POST", PODS, with_init("p")).await.unwrap();
        let names: Vec<_> = made["spec"]["initContainers"]
            .as_array()
            .unwrap()
            .iter()
            .collect();
        assert_eq!(names.len(), 2);
        assert_eq!(
            (&names[0]["name"], &names[1]["name"]),
            (&json!("own"), &json!("mesh"))
        );
        assert_eq!(names[1]["image"], "mesh/p");
        // Defaults are set after the mutation.
        assert_eq!(names[1]["terminationMessagePolicy"], "File");
        let plain = send(&client, "POST", PODS, with_init("plain"))
            .await
            .unwrap();
        assert_eq!(plain["spec"]["initContainers"].as_array().unwrap().len(), 1);
    });
}

#[test]
fn a_json_patch_is_applied_unless_its_test_fails() {
    with_server(|_, client| async move {
        let patch = "[JSONPatch{op: 'test', path: '/data/k', value: 'v'}, \
             JSONPatch{op: 'add', path: '/metadata/labels', value: {}}, \
             JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), \
             value: request.userInfo.username == 'x' ? 'x' : 'y'}]";
        create_policy(
            &client,
            "label",
            spec("configmaps", json!([json_patch(patch)])),
        )
        .await;
        let made = send(&client, "POST", MAPS, config_map("a")).await.unwrap();
        assert_eq!(made["metadata"]["labels"], json!({"a/b": "y"}));
        let other = json!({"metadata": {"name": "b"}, "data": {"k": "w"}});
        let made = send(&client, "POST", MAPS, other).await.unwrap();
        assert!(made["metadata"].get("labels").is_none());
    });
}

#[test]
fn a_policy_is_reinvoked_after_a_later_change() {
    with_server(|_, client| async move {
        let count =
            |field: &str| format!("Object{{data: {{'{field}': string(size(object.data))}}}}");
        let mut first = spec("configmaps", json!([apply(&count("first"))]));
        first["reinvocationPolicy"] = "IfNeeded".into();
        create_policy(&client, "a", first).await;
        create_policy(
            &client,
            "b",
            spec("configmaps", json!([apply(&count("second"))])),
        )
        .await;
        let made = send(&client, "POST", MAPS, config_map("m")).await.unwrap();
        // The first policy saw one entry, and three when it was invoked again.
        let expected = json!({"k": "v", "first": "3", "second": "2"});
        assert_eq!(made["data"], expected);
    });
}

#[test]
fn parameters_are_read_and_errors_follow_the_failure_policy() {
    with_server(|_, client| async move {
        let apply_param = apply("Object{data: {'region': params.data.region}}");
        let mut spec = spec("configmaps", json!([apply_param]));
        spec["paramKind"] = json!({"apiVersion": "v1", "kind": "Secret"});
        let policy = json!({"metadata": {"name": "p"}, "spec": spec});
        let path = format!("{ADMISSION}/mutatingadmissionpolicies");
        send(&client, "POST", &path, policy).await.unwrap();
        let binding = json!({"metadata": {"name": "b"}, "spec": {
            "policyName": "p",
            "paramRef": {"name": "params", "parameterNotFoundAction": "Deny"},
        }});
        let bindings = format!("{ADMISSION}/mutatingadmissionpolicybindings");
        send(&client, "POST", &bindings, binding).await.unwrap();
        let denied = error_status(send(&client, "POST", MAPS, config_map("a")).await);
        assert_eq!((denied.code, denied.reason.as_str()), (403, "Forbidden"));
        assert_eq!(
            denied.message,
            "policy 'p' with binding 'b' denied request: failed to configure binding: no params \
             found for policy binding with `Deny` parameterNotFoundAction"
        );
        let params = json!({"metadata": {"name": "params"}, "stringData": {"other": "x"}});
        let secrets = "/api/v1/namespaces/test/secrets";
        send(&client, "POST", secrets, params).await.unwrap();
        let denied = error_status(send(&client, "POST", MAPS, config_map("a")).await);
        assert_eq!((denied.code, denied.reason.as_str()), (403, "Invalid"));
        assert_eq!(
            denied.message,
            "policy 'p' with binding 'b' denied request: expression 'Object{data: {'region': \
             params.data.region}}' resulted in error: no such key: region"
        );
        let ignoring = json!({"spec": {"failurePolicy": "Ignore"}});
        merge_patch(&client, &format!("{path}/p"), ignoring)
            .await
            .unwrap();
        let made = send(&client, "POST", MAPS, config_map("a")).await.unwrap();
        assert_eq!(made["data"], json!({"k": "v"}));
    });
}

#[test]
fn atomic_fields_and_mismatched_types_are_refused() {
    with_server(|_, client| async move {
        let args = "Object{spec: Object.spec{containers: [\
             Object.spec.containers{name: 'c', args: ['x']}]}}";
        create_policy(&client, "args", spec("pods", json!([apply(args)]))).await;
        let denied = error_status(send(&client, "POST", PODS, pod("p")).await);
        assert_eq!(
            denied.message,
            "policy 'args' with binding 'args' denied request: error applying patch: invalid \
             ApplyConfiguration: may not mutate atomic arrays, maps or structs: \
             .spec.containers[0].args"
        );
        let wrong = apply("Object{data: Object.wrong{a: 'b'}}");
        create_policy(&client, "wrong", spec("configmaps", json!([wrong]))).await;
        let denied = error_status(send(&client, "POST", MAPS, config_map("a")).await);
        assert_eq!(
            denied.message,
            "policy 'wrong' with binding 'wrong' denied request: type mismatch: unexpected type \
             name \"Object.wrong\", expected \"Object.data\", which matches field name path from \
             root Object type"
        );
    });
}

#[test]
fn invalid_policies_are_refused() {
    with_server(|_, client| async move {
        let post = async |spec: Value| {
            let path = format!("{ADMISSION}/mutatingadmissionpolicies");
            let policy = json!({"metadata": {"name": "p"}, "spec": spec});
            let message = error_status(send(&client, "POST", &path, policy).await).message;
            let prefix = "MutatingAdmissionPolicy.admissionregistration.k8s.io \"p\" is invalid: ";
            message
                .strip_prefix(prefix)
                .map(str::to_owned)
                .ok_or(message)
        };
        let mutation = |m: Value| spec("configmaps", json!([m]));
        let at = "spec.mutations";
        let mut deleting = mutation(apply("Object{}"));
        deleting["matchConstraints"]["resourceRules"][0]["operations"] = json!(["DELETE"]);
        let mut never = mutation(apply("Object{}"));
        never["reinvocationPolicy"] = Value::Null;
        for (spec, error) in [
            (spec("configmaps", json!([])), format!("{at}: Required value: mutations must contain at least one item")),
            (mutation(json!({"patchType": "Merge"})), format!("{at}[0].patchType: Unsupported value: \"Merge\": supported values: \"ApplyConfiguration\", \"JSONPatch\"")),
            (mutation(json!({"patchType": "JSONPatch"})), format!("{at}[0].jsonPatch: Required value: must be specified when patchType is JSONPatch")),
            (mutation(apply("'text'")), format!("{at}[0].applyConfiguration.expression: Invalid value: \"'text'\": must evaluate to Object but got string")),
            (mutation(json_patch("[1]")), format!("{at}[0].jsonPatch.expression: Invalid value: \"[1]\": must evaluate to list(JSONPatch) but got list(int)")),
            (deleting, "spec.matchConstraints.resourceRules.operations: Unsupported value: \"DELETE\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"UPDATE\"".into()),
            (never, "spec.reinvocationPolicy: Required value".into()),
        ] {
            assert_eq!(post(spec).await, Ok(error));
        }
        let undeclared = post(mutation(apply("Other{}"))).await.unwrap();
        assert!(
            undeclared.contains("undeclared reference to 'Other' (in container '')"),
            "{undeclared}"
        );
    });
}
