//! `kubectl logs` of pods on virtual nodes: requests of an API server to the kubelet, sent by the test to
//! the address in the Node.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Config};
use serde_json::{Value, json};

use crate::external_cluster::ExternalCluster;
use crate::lab_lifecycle::{up_args, work_dir};
use crate::lab_process::wait_for;

/// The client certificate of an API server, with its key (PEM).
struct KubeletClient {
    certificate: String,
    key: String,
}

impl KubeletClient {
    /// A certificate for `user` that the cluster signs.
    async fn new(client: &Client, user: &str) -> Self {
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params
            .distinguished_name
            .push(rcgen::DnType::CommonName, user);
        let key = rcgen::KeyPair::generate().unwrap();
        let request = params.serialize_request(&key).unwrap().pem().unwrap();
        let requests: Api<CertificateSigningRequest> = Api::all(client.clone());
        let object = json!({
            "metadata": {"name": user},
            "spec": {
                "request": ByteString(request.into_bytes()),
                "signerName": "kubernetes.io/kube-apiserver-client",
                "usages": ["client auth"],
            },
        });
        let object = serde_json::from_value(object).unwrap();
        requests
            .create(&PostParams::default(), &object)
            .await
            .unwrap();
        let approved = json!({"status": {"conditions": [{
            "type": "Approved", "status": "True", "reason": "Test", "message": "approved",
        }]}});
        let approved = Patch::Merge(&approved);
        requests
            .patch_approval(user, &PatchParams::default(), &approved)
            .await
            .unwrap();
        let signed = requests.get(user).await.unwrap();
        let certificate = signed.status.unwrap().certificate.unwrap().0;
        Self {
            certificate: String::from_utf8(certificate).unwrap(),
            key: key.serialize_pem(),
        }
    }

    /// Gives `user` the permissions of a cluster role.
    async fn bind(client: &Client, user: &str, role: &str) {
        let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
        let binding = json!({
            "metadata": {"name": user},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        });
        let binding = serde_json::from_value(binding).unwrap();
        bindings
            .create(&PostParams::default(), &binding)
            .await
            .unwrap();
    }
}

/// A client of a node's kubelet. Like API servers, it does not verify the kubelet's certificate.
async fn kubelet(client: &Client, node: &str, identity: Option<&KubeletClient>) -> Client {
    let nodes: Api<Node> = Api::all(client.clone());
    let status = nodes.get(node).await.unwrap().status.unwrap();
    let address = status.addresses.unwrap().remove(0);
    assert_eq!(address.type_, "Hostname");
    let endpoint = status.daemon_endpoints.unwrap().kubelet_endpoint.unwrap();
    let server = format!("https://{}:{}", address.address, endpoint.port);
    let mut config = Config::new(server.parse().unwrap());
    config.accept_invalid_certs = true;
    config.root_cert = Some(Vec::new());
    if let Some(identity) = identity {
        let encode = |pem: &str| STANDARD.encode(pem);
        config.auth_info.client_certificate_data = Some(encode(&identity.certificate));
        config.auth_info.client_key_data = Some(encode(&identity.key).into());
    }
    Client::try_from(config).unwrap()
}

/// Sends a request; returns the status code and the body.
async fn kubelet_request(kubelet: &Client, method: &str, path: &str) -> (u16, String) {
    let request = http::Request::builder().method(method).uri(path);
    let request = request.body(kube::client::Body::empty()).unwrap();
    let answer = kubelet.send(request).await.unwrap();
    let code = answer.status().as_u16();
    let body = answer.into_body().collect_bytes().await.unwrap();
    (code, String::from_utf8(body.to_vec()).unwrap())
}

/// Runs a shell script on a node and waits until its container runs.
async fn run(client: &Client, name: &str, node: &str, script: &str) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let pod = json!({
        "metadata": {"name": name},
        "spec": {
            "nodeName": node, "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "busybox", "command": ["sh", "-c", script]}],
        },
    });
    let pod = serde_json::from_value(pod).unwrap();
    pods.create(&PostParams::default(), &pod).await.unwrap();
    wait_for(&format!("{name} runs"), || async {
        let status = pods.get(name).await.unwrap().status?;
        let state = status.container_statuses?.remove(0).state?;
        (state.running.is_some() || state.terminated.is_some()).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_of_virtual_nodes_are_served_at_the_node_address() {
    let cluster = ExternalCluster::start().await;
    let client = cluster.client();
    let dir = work_dir();
    let file = cluster.kubeconfig().display().to_string();
    let lab = dir.start(&up_args(&file)).await;
    run(
        &client,
        "talks",
        "gpu-0",
        "echo one; echo two; sleep 100000",
    )
    .await;
    let api_server = KubeletClient::new(&client, "kube-apiserver-kubelet-client").await;
    KubeletClient::bind(
        &client,
        "kube-apiserver-kubelet-client",
        "system:kubelet-api-admin",
    )
    .await;
    let node = kubelet(&client, "gpu-0", Some(&api_server)).await;
    let get = |path: &'static str| kubelet_request(&node, "GET", path);
    let talks = "/containerLogs/default/talks/c";
    wait_for("the log is complete", || async {
        (get(talks).await == (200, "one\ntwo\n".into())).then_some(())
    })
    .await;
    let last = get("/containerLogs/default/talks/c?tailLines=1&timestamps=true").await;
    assert!(last.1.ends_with("Z two\n"), "{last:?}");
    let since = "/containerLogs/default/talks/c?sinceTime=2020-01-01T00%3A00%3A00Z";
    assert_eq!(get(since).await.1, "one\ntwo\n");
    let before = get("/containerLogs/default/talks/c?previous=true").await;
    let expected = "previous terminated container \"c\" in pod \"talks\" not found";
    assert_eq!(before, (400, expected.into()));

    // A client without a certificate, or without the permission, gets no logs.
    let anonymous = kubelet(&client, "gpu-0", None).await;
    let request = http::Request::get(talks).body(kube::client::Body::empty());
    assert!(anonymous.send(request.unwrap()).await.is_err());
    let ann = KubeletClient::new(&client, "ann").await;
    let ann = kubelet(&client, "gpu-0", Some(&ann)).await;
    let forbidden = "Forbidden (user=ann, verb=get, resource=nodes, subresource(s)=[proxy])";
    let refused = kubelet_request(&ann, "GET", talks).await;
    assert_eq!(refused, (403, forbidden.into()));

    // `follow=true` continues to the end of the container.
    run(&client, "ends", "gpu-1", "echo begin; sleep 2; echo end").await;
    let all = get("/containerLogs/default/ends/c?follow=true").await;
    assert_eq!(all, (200, "begin\nend\n".into()));

    // No logs of pods on other nodes, and no other endpoints.
    run(
        &client,
        "elsewhere",
        "worker-0",
        "echo not ours; sleep 100000",
    )
    .await;
    for path in [
        "/containerLogs/default/elsewhere/c",
        "/containerLogs/default/unknown/c",
        "/containerLogs/kube-system/talks/c",
        "/containerLogs/default/talks/d",
        "/pods",
        "/metrics",
    ] {
        assert_eq!(get(path).await.0, 404, "{path}");
    }
    for path in [
        "exec/default/talks/c?command=ls",
        "portForward/default/talks",
    ] {
        let (code, printed) = kubelet_request(&node, "POST", &format!("/{path}")).await;
        let printed: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!((code, &printed["kind"]), (501, &json!("Status")), "{path}");
        let message = printed["message"].as_str().unwrap();
        let expected = "containers do not run on this node, so there is nothing to connect to";
        assert!(message.ends_with(expected), "{message}");
    }

    // The next lab has another address in the Node, and keeps earlier logs.
    lab.kill();
    let lab = dir.start(&up_args(&file)).await;
    let node = kubelet(&client, "gpu-0", Some(&api_server)).await;
    wait_for("the logs are served", || async {
        let (code, text) = kubelet_request(&node, "GET", talks).await;
        (code == 200 && text.starts_with("one\n")).then_some(())
    })
    .await;
    let all = kubelet_request(&node, "GET", "/containerLogs/default/ends/c").await;
    assert_eq!(all, (200, "begin\nend\n".into()));
    assert_eq!(lab.stop().await, Some(0));

    // A lab that the API server does not reach has no address in the Node.
    let mut args = up_args(&file);
    args.push("--no-webhooks");
    let lab = dir.start(&args).await;
    let nodes: Api<Node> = Api::all(client.clone());
    let status = nodes.get("gpu-0").await.unwrap().status.unwrap();
    assert_eq!(status.addresses.unwrap().remove(0).address, "gpu-0");
    assert_eq!(lab.stop().await, Some(0));
}
