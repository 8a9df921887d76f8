//! Dynamic admission control: CEL policies, and webhooks over HTTPS.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use serde_json::{Value, json};

use super::server_fixture::*;
use super::tls_server::{self, TlsServer};

const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";
const MAPS: &str = "/api/v1/namespaces/test/configmaps";

fn config_map(name: &str, labels: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": labels}, "data": {"k": "v"},
    })
}

async fn create_policy(client: &Client, spec: Value, binding: Value) {
    let policy = json!({"metadata": {"name": "labels"}, "spec": spec});
    let path = format!("{ADMISSION}/validatingadmissionpolicies");
    send(client, "POST", &path, policy).await.unwrap();
    let binding = json!({"metadata": {"name": "everywhere"}, "spec": binding});
    let path = format!("{ADMISSION}/validatingadmissionpolicybindings");
    send(client, "POST", &path, binding).await.unwrap();
}

fn config_maps_only() -> Value {
    json!({"resourceRules": [{
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
        "resources": ["configmaps"],
    }]})
}

#[test]
fn a_policy_rejects_requests_that_fail_its_validations() {
    with_server(|_, client| async move {
        let spec = json!({
            "matchConstraints": config_maps_only(),
            "matchConditions": [{"name": "named", "expression": "object.metadata.name != 'free'"}],
            "variables": [{"name": "labels", "expression":
                "has(object.metadata.labels) ? object.metadata.labels : {}"}],
            "validations": [
                {"expression": "'kueue.x-k8s.io/queue-name' in variables.labels",
                 "message": "a queue is needed"},
                {"expression": "request.operation == 'CREATE' || object.data == oldObject.data",
                 "messageExpression": "'data of ' + object.metadata.name + ' stay'",
                 "reason": "Forbidden"},
            ],
        });
        let binding = json!({"policyName": "labels", "validationActions": ["Deny"]});
        create_policy(&client, spec, binding).await;
        let create = |map: Value| send(&client, "POST", MAPS, map);
        let rejected = error_status(create(config_map("a", json!({}))).await);
        assert_eq!((rejected.code, rejected.reason.as_str()), (422, "Invalid"));
        assert_eq!(
            rejected.message,
            "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'labels' with binding \
             'everywhere' denied request: a queue is needed"
        );
        create(config_map("free", json!({}))).await.unwrap();
        create(config_map("b", json!({"kueue.x-k8s.io/queue-name": "q"})))
            .await
            .unwrap();
        let path = format!("{MAPS}/b");
        let rejected = error_status(merge_patch(&client, &path, json!({"data": {"k": "w"}})).await);
        assert_eq!(
            (rejected.code, rejected.reason.as_str()),
            (403, "Forbidden")
        );
        assert!(rejected.message.ends_with("denied request: data of b stay"));
        merge_patch(
            &client,
            &path,
            json!({"metadata": {"annotations": {"a": "b"}}}),
        )
        .await
        .unwrap();
        // Other kinds do not match, and without a binding nothing does.
        send(
            &client,
            "POST",
            "/api/v1/namespaces/test/secrets",
            json!({"metadata": {"name": "s"}}),
        )
        .await
        .unwrap();
        let binding = format!("{ADMISSION}/validatingadmissionpolicybindings/everywhere");
        send(&client, "DELETE", &binding, Value::Null)
            .await
            .unwrap();
        create(config_map("a", json!({}))).await.unwrap();
    });
}

#[test]
fn expressions_are_type_checked_against_the_matched_kinds() {
    with_server(|_, client| async move {
        let rules = json!({"resourceRules": [{
            "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"],
            "resources": ["deployments", "deployments/scale"],
        }]});
        let policy = json!({"metadata": {"name": "p"}, "spec": {
            "matchConstraints": rules,
            "variables": [{"name": "spec", "expression": "object.spec"}],
            "validations": [
                {"expression": "object.spec.replicas > 1"},
                {"expression": "object.replicas > 1", "messageExpression": "'x' + variables.spec.y"},
                {"expression": "object.spec.replicas > '1'"},
            ],
        }});
        let path = format!("{ADMISSION}/validatingadmissionpolicies");
        send(&client, "POST", &path, policy).await.unwrap();
        let path = format!("{path}/p");
        let status = get(&client, &path).await.unwrap()["status"].clone();
        assert_eq!(status["observedGeneration"], 1);
        let kind = "apps/v1, Kind=Deployment: compilation failed: ERROR: <input>";
        assert_eq!(
            status["typeChecking"]["expressionWarnings"],
            json!([
                {"fieldRef": "spec.validations[1].expression", "warning": format!(
                    "{kind}:1:7: undefined field 'replicas'\n | object.replicas > 1\n | ......^\n")},
                {"fieldRef": "spec.validations[1].messageExpression", "warning": format!(
                    "{kind}:1:21: undefined field 'y'\n | 'x' + variables.spec.y\n \
                     | ....................^\n")},
                {"fieldRef": "spec.validations[2].expression", "warning": format!(
                    "{kind}:1:22: found no matching overload for '_>_' applied to '(int, string)'\n \
                     | object.spec.replicas > '1'\n | .....................^\n")},
            ])
        );
        let fixed = json!({"spec": {"validations": [{"expression": "object.spec.replicas > 1"}]}});
        merge_patch(&client, &path, fixed).await.unwrap();
        let status = get(&client, &path).await.unwrap()["status"].clone();
        assert_eq!(status, json!({"observedGeneration": 2, "typeChecking": {}}));
        // Wildcards are not checked.
        let patch = json!([{"op": "replace", "path": "/spec/matchConstraints/resourceRules/0/apiGroups",
            "value": ["*"]}, {"op": "replace", "path": "/spec/validations/0/expression",
            "value": "object.nope > 1"}]);
        send_as(
            &client,
            "PATCH",
            &path,
            "application/json-patch+json",
            patch,
        )
        .await
        .unwrap();
        let status = get(&client, &path).await.unwrap()["status"].clone();
        assert_eq!(status, json!({"observedGeneration": 3, "typeChecking": {}}));
    });
}

#[test]
fn a_policy_error_follows_the_failure_policy() {
    with_server(|_, client| async move {
        let spec = json!({
            "matchConstraints": config_maps_only(),
            "validations": [{"expression": "object.data.missing == 'x'"}],
        });
        let binding = json!({"policyName": "labels", "validationActions": ["Deny"]});
        create_policy(&client, spec, binding).await;
        let rejected = error_status(send(&client, "POST", MAPS, config_map("a", json!({}))).await);
        assert!(
            rejected.message.ends_with(
                "expression 'object.data.missing == 'x'' resulted in error: no such key: missing"
            ),
            "{}",
            rejected.message
        );
        let path = format!("{ADMISSION}/validatingadmissionpolicies/labels");
        merge_patch(&client, &path, json!({"spec": {"failurePolicy": "Ignore"}}))
            .await
            .unwrap();
        send(&client, "POST", MAPS, config_map("a", json!({})))
            .await
            .unwrap();
    });
}

#[test]
fn an_expression_above_the_cost_limit_is_ended() {
    with_server(|_, client| async move {
        let nested =
            "object.data.all(a, object.data.all(b, object.data.all(c, a != '' || b != c)))";
        let spec = json!({
            "matchConstraints": config_maps_only(),
            "validations": [{"expression": nested}],
        });
        let binding = json!({"policyName": "labels", "validationActions": ["Deny"]});
        create_policy(&client, spec, binding).await;
        let with_entries = |count: usize| {
            let mut map = config_map("m", json!({}));
            map["data"] = (0..count).map(|i| (format!("k{i}"), json!("v"))).collect();
            map
        };
        let rejected = error_status(send(&client, "POST", MAPS, with_entries(400)).await);
        assert!(
            rejected.message.ends_with(&format!(
                "denied request: expression '{nested}' resulted in error: operation cancelled: \
                 actual cost limit exceeded"
            )),
            "{}",
            rejected.message
        );
        send(&client, "POST", MAPS, with_entries(10)).await.unwrap();
    });
}

#[test]
fn parameters_are_read_from_objects() {
    with_server(|_, client| async move {
        let limits = json!({"metadata": {"name": "limits"}, "data": {"longest": "3"}});
        send(&client, "POST", MAPS, limits).await.unwrap();
        let spec = json!({
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                "resources": ["secrets"],
            }]},
            "validations": [{
                "expression": "size(object.metadata.name) <= int(params.data.longest)",
            }],
        });
        let binding = json!({
            "policyName": "labels", "validationActions": ["Deny"],
            "paramRef": {"name": "limits", "parameterNotFoundAction": "Deny"},
        });
        create_policy(&client, spec, binding).await;
        let create = |name: &str| {
            let secret = json!({"metadata": {"name": name}});
            send(&client, "POST", "/api/v1/namespaces/test/secrets", secret)
        };
        create("abc").await.unwrap();
        let rejected = error_status(create("abcd").await);
        assert!(
            rejected.message.contains(
                "failed expression: size(object.metadata.name) <= int(params.data.longest)"
            )
        );
        let path = format!("{MAPS}/limits");
        send(&client, "DELETE", &path, Value::Null).await.unwrap();
        let rejected = error_status(create("xyz").await);
        assert!(rejected.message.ends_with(
            "failed to configure binding: no params found for policy binding with `Deny` \
             parameterNotFoundAction"
        ));
    });
}

/// A webhook that labels every object, and rejects objects named `bad`.
async fn start_webhook(name: &str) -> TlsServer {
    tls_server::start(name, None, |request| {
        let review = serde_json::from_slice(&request.body).unwrap();
        tls_server::json_response(&reply(&review))
    })
    .await
}

/// The reviews that a webhook received.
fn reviews(webhook: &TlsServer) -> Vec<Value> {
    let received = webhook.received.lock().unwrap();
    let reviews = received.iter();
    reviews
        .map(|request| serde_json::from_slice(&request.body).unwrap())
        .collect()
}

fn reply(review: &Value) -> Value {
    let request = &review["request"];
    let mut response = json!({"uid": request["uid"], "allowed": true, "warnings": ["seen"]});
    if request["name"] == "bad" {
        response["allowed"] = false.into();
        response["status"] = json!({"code": 403, "reason": "Forbidden", "message": "it is bad"});
    } else if request["operation"] == "CREATE" {
        let patch = json!([{"op": "add", "path": "/metadata/labels/hooked", "value": "yes"}]);
        response["patchType"] = "JSONPatch".into();
        response["patch"] = STANDARD.encode(patch.to_string()).into();
    }
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

async fn register_webhook(client: &Client, config: Value, more: Value) {
    let mut webhook = json!({
        "name": "labels.example.dev", "clientConfig": config, "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": [{
            "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"],
            "resources": ["configmaps"],
        }],
    });
    for (field, value) in more.as_object().unwrap() {
        webhook[field] = value.clone();
    }
    let object = json!({"metadata": {"name": "hooks"}, "webhooks": [webhook]});
    let path = format!("{ADMISSION}/mutatingwebhookconfigurations");
    send(client, "POST", &path, object).await.unwrap();
}

async fn client_with_webhooks() -> Client {
    let client = ApiServer::builder(Clock::real(), Entropy::seeded(1))
        .build()
        .client();
    namespace(&client, "test").await;
    client
}

/// A client with a webhook that is registered without further fields.
async fn client_with_webhook() -> (Client, TlsServer) {
    let client = client_with_webhooks().await;
    let hook = start_webhook("localhost").await;
    let url = format!("https://localhost:{}", hook.port);
    let config = json!({"url": url, "caBundle": hook.bundle});
    register_webhook(&client, config, json!({})).await;
    (client, hook)
}

#[tokio::test]
async fn a_webhook_mutates_and_rejects() {
    let (client, hook) = client_with_webhook().await;
    let made = send(&client, "POST", MAPS, config_map("a", json!({"own": "1"}))).await;
    let labels = json!({"own": "1", "hooked": "yes"});
    assert_eq!(made.unwrap()["metadata"]["labels"], labels);
    let rejected = error_status(send(&client, "POST", MAPS, config_map("bad", json!({}))).await);
    assert_eq!(
        (rejected.code, rejected.reason.as_str()),
        (403, "Forbidden")
    );
    assert_eq!(
        rejected.message,
        "admission webhook \"labels.example.dev\" denied the request: it is bad"
    );
    let path = format!("{MAPS}/a");
    send(&client, "DELETE", &path, Value::Null).await.unwrap();
    let reviews = reviews(&hook);
    let operations: Vec<_> = reviews.iter().map(|r| &r["request"]["operation"]).collect();
    assert_eq!(operations, ["CREATE", "CREATE", "DELETE"]);
    let first = &reviews[0]["request"];
    assert_eq!(first["userInfo"]["username"], "kubernetes-admin");
    assert_eq!(first["resource"]["resource"], "configmaps");
    assert_eq!(first["object"]["data"]["k"], "v");
    assert!(reviews[2]["request"]["object"].is_null());
    assert_eq!(reviews[2]["request"]["oldObject"]["metadata"]["name"], "a");
}

#[tokio::test]
async fn a_policy_is_reinvoked_after_the_change_of_a_webhook() {
    let (client, hook) = client_with_webhook().await;
    let expression = "Object{data: {'labels': string(size(object.metadata.labels))}}";
    let policy = json!({"metadata": {"name": "count"}, "spec": {
        "matchConstraints": config_maps_only(),
        "reinvocationPolicy": "IfNeeded",
        "mutations": [{"patchType": "ApplyConfiguration",
            "applyConfiguration": {"expression": expression}}],
    }});
    let path = format!("{ADMISSION}/mutatingadmissionpolicies");
    send(&client, "POST", &path, policy).await.unwrap();
    let binding = json!({"metadata": {"name": "count"}, "spec": {"policyName": "count"}});
    let path = format!("{ADMISSION}/mutatingadmissionpolicybindings");
    send(&client, "POST", &path, binding).await.unwrap();
    let made = send(&client, "POST", MAPS, config_map("a", json!({"own": "1"}))).await;
    assert_eq!(made.unwrap()["data"]["labels"], "2");
    // The webhook itself is of reinvocationPolicy Never.
    let reviews = reviews(&hook);
    assert_eq!(reviews.len(), 1);
    let request = &reviews[0]["request"];
    assert_eq!(request["options"]["kind"], "CreateOptions");
    assert_eq!(request["object"]["data"]["labels"], "1");
}

#[tokio::test]
async fn an_unreachable_webhook_follows_its_failure_policy() {
    let client = client_with_webhooks().await;
    // An unused port.
    let gone = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().port()
    };
    let config = json!({"url": format!("https://localhost:{gone}/x")});
    register_webhook(&client, config, json!({"timeoutSeconds": 5})).await;
    let rejected = error_status(send(&client, "POST", MAPS, config_map("a", json!({}))).await);
    assert_eq!(
        (rejected.code, rejected.reason.as_str()),
        (500, "InternalError")
    );
    let expected = format!(
        "Internal error occurred: failed calling webhook \"labels.example.dev\": failed to call \
         webhook: Post \"https://localhost:{gone}/x?timeout=5s\": "
    );
    assert!(
        rejected.message.starts_with(&expected),
        "{}",
        rejected.message
    );
    let path = format!("{ADMISSION}/mutatingwebhookconfigurations/hooks");
    let ignoring =
        json!([{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]);
    send_as(
        &client,
        "PATCH",
        &path,
        "application/json-patch+json",
        ignoring,
    )
    .await
    .unwrap();
    send(&client, "POST", MAPS, config_map("a", json!({})))
        .await
        .unwrap();
    let service = json!([
        {"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Fail"},
        {"op": "replace", "path": "/webhooks/0/clientConfig",
         "value": {"service": {"namespace": "test", "name": "hook"}}},
    ]);
    send_as(
        &client,
        "PATCH",
        &path,
        "application/json-patch+json",
        service,
    )
    .await
    .unwrap();
    let rejected = error_status(send(&client, "POST", MAPS, config_map("b", json!({}))).await);
    assert_eq!(
        rejected.message,
        "Internal error occurred: failed calling webhook \"labels.example.dev\": failed to call \
         webhook: Post \"https://hook.test.svc:443/?timeout=5s\": service \"hook\" not found"
    );
}

/// The message of a rejected write.
async fn rejection(client: &Client) -> String {
    let created = send(client, "POST", MAPS, config_map("x", json!({}))).await;
    let message = error_status(created).message;
    let prefix = "Internal error occurred: failed calling webhook \"labels.example.dev\": failed to call webhook: Post \"https://hook.test.svc:8443/mutate?timeout=10s\": ";
    message.strip_prefix(prefix).unwrap_or(&message).to_owned()
}

#[tokio::test]
async fn a_webhook_of_a_service_is_called_at_its_endpoint() {
    let client = client_with_webhooks().await;
    let hook = start_webhook("hook.test.svc").await;
    let service = json!({"namespace": "test", "name": "hook", "port": 8443, "path": "/mutate"});
    let config = json!({"service": service, "caBundle": hook.bundle});
    register_webhook(&client, config, json!({})).await;
    assert_eq!(rejection(&client).await, "service \"hook\" not found");
    // A Service without selector, whose EndpointSlice is that of a process on this machine.
    let service = json!({
        "metadata": {"name": "hook"},
        "spec": {"ports": [{"name": "https", "port": 8443, "targetPort": 9443}]},
    });
    let services = "/api/v1/namespaces/test/services";
    send(&client, "POST", services, service).await.unwrap();
    assert_eq!(
        rejection(&client).await,
        "no endpoints available for service \"hook\""
    );
    let slice = |name: &str, endpoint: Value, port: u16| {
        json!({
            "metadata": {"name": name, "labels": {"kubernetes.io/service-name": "hook"}},
            "addressType": "IPv4",
            "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
            "endpoints": [endpoint],
        })
    };
    let slices = "/apis/discovery.k8s.io/v1/namespaces/test/endpointslices";
    // Nothing listens at the address of a Pod.
    let pod = json!({"addresses": ["10.64.0.9"], "targetRef": {"kind": "Pod", "name": "p"}});
    let of_pod = slice("pod", pod, 9443);
    send(&client, "POST", slices, of_pod).await.unwrap();
    assert_eq!(
        rejection(&client).await,
        "dial tcp 10.64.0.9:9443: connect: connection refused"
    );
    let local = json!({"addresses": ["127.0.0.1"]});
    let local = slice("local", local, hook.port);
    send(&client, "POST", slices, local).await.unwrap();
    let made = send(&client, "POST", MAPS, config_map("a", json!({"own": "1"}))).await;
    assert_eq!(made.unwrap()["metadata"]["labels"]["hooked"], "yes");
    let request = hook.received.lock().unwrap().pop().unwrap();
    assert_eq!(request.path, "/mutate?timeout=10s");
}

#[tokio::test]
async fn the_certificate_of_a_service_is_verified() {
    let client = client_with_webhooks().await;
    let hook = start_webhook("other.test.svc").await;
    let service = json!({"namespace": "test", "name": "hook", "port": 8443, "path": "/mutate"});
    let config = json!({"service": service, "caBundle": hook.bundle});
    register_webhook(&client, config, json!({})).await;
    let service = json!({
        "metadata": {"name": "hook"},
        "spec": {"ports": [{"port": 8443}]},
    });
    let services = "/api/v1/namespaces/test/services";
    send(&client, "POST", services, service).await.unwrap();
    let slice = json!({
        "metadata": {"name": "hook", "labels": {"kubernetes.io/service-name": "hook"}},
        "addressType": "IPv4",
        "ports": [{"name": "", "port": hook.port}],
        "endpoints": [{"addresses": ["127.0.0.1"]}],
    });
    let slices = "/apis/discovery.k8s.io/v1/namespaces/test/endpointslices";
    send(&client, "POST", slices, slice).await.unwrap();
    assert_eq!(
        rejection(&client).await,
        "tls: failed to verify certificate: x509: certificate is valid for other.test.svc, not hook.test.svc"
    );
    let other = start_webhook("hook.test.svc").await;
    let path = format!("{ADMISSION}/mutatingwebhookconfigurations/hooks");
    let bundle = json!([{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle",
        "value": other.bundle}]);
    let media_type = "application/json-patch+json";
    send_as(&client, "PATCH", &path, media_type, bundle)
        .await
        .unwrap();
    assert_eq!(
        rejection(&client).await,
        "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    );
}

#[test]
fn invalid_configurations_are_rejected() {
    with_server(|_, client| async move {
        let post = async |resource: &str, object: Value| {
            let path = format!("{ADMISSION}/{resource}");
            let status = error_status(send(&client, "POST", &path, object).await);
            (status.code, status.message)
        };
        let spec = json!({
            "matchConstraints": config_maps_only(),
            "validations": [{"expression": "object.metadata.name == "}],
        });
        let policy = json!({"metadata": {"name": "p"}, "spec": spec});
        let (code, message) = post("validatingadmissionpolicies", policy).await;
        let expected = "ValidatingAdmissionPolicy.admissionregistration.k8s.io \"p\" is invalid: \
                        spec.validations[0].expression: Invalid value: \
                        \"object.metadata.name == \": compilation failed: ERROR: <input>:1:";
        assert_eq!(code, 422);
        assert!(message.starts_with(expected), "{message}");
        let hook = json!({
            "name": "hook.example.dev", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": "http://127.0.0.1"}, "sideEffects": "Some",
        });
        let hooks = json!({"metadata": {"name": "hooks"}, "webhooks": [hook]});
        let path = "webhooks[0]";
        assert_eq!(
            post("validatingwebhookconfigurations", hooks).await,
            (
                422,
                format!(
                    "ValidatingWebhookConfiguration.admissionregistration.k8s.io \"hooks\" is \
                     invalid: [{path}.sideEffects: Unsupported value: \"Some\": supported values: \
                     \"None\", \"NoneOnDryRun\", {path}.clientConfig.url: Invalid value: \"http\": \
                     'https' is the only allowed URL scheme; desired format: https://host[/path]]"
                )
            )
        );
    });
}
