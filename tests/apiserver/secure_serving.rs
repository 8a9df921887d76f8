//! The server on the network: TLS, tokens, authorization, shutdown, kubectl.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use http_body_util::BodyExt;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kueue_lab_apiserver::{ApiServer, ServeError, ServeOptions, ServingHandle};
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use serde_json::json;

use super::server_fixture::*;

async fn serve() -> (ApiServer, ServingHandle) {
    let server = ApiServer::builder(Clock::real(), Entropy::seeded(1)).build();
    let serving = server.serve(ServeOptions::default()).await.unwrap();
    (server, serving)
}

async fn config(serving: &ServingHandle) -> Config {
    let kubeconfig = Kubeconfig::from_yaml(serving.kubeconfig()).unwrap();
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kubeconfig_authenticates() {
    let (server, serving) = serve().await;
    let client = Client::try_from(config(&serving).await).unwrap();
    namespace(&client, "test").await;
    let inside = get(&server.client(), "/api/v1/namespaces/test")
        .await
        .unwrap();
    assert_eq!(
        inside,
        get(&client, "/api/v1/namespaces/test").await.unwrap()
    );
    serving.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_credentials_are_rejected() {
    let (_server, serving) = serve().await;
    let mut config = config(&serving).await;
    config.auth_info.token = Some("guess".to_string().into());
    let guessing = Client::try_from(config.clone()).unwrap();
    assert_eq!(
        error_status(get(&guessing, "/api/v1/namespaces").await).code,
        401
    );
    config.auth_info.token = None;
    let anonymous = Client::try_from(config.clone()).unwrap();
    let rejected = error_status(get(&anonymous, "/api/v1/namespaces").await);
    assert_eq!(rejected.code, 403);
    assert!(
        rejected
            .message
            .contains("User \"system:anonymous\" cannot list"),
        "{rejected:?}"
    );
    assert!(get(&anonymous, "/version").await.is_ok());
    let page = http::Request::get("/version").header("origin", "https://evil.example");
    let page = anonymous.request_text(page.body(Vec::new()).unwrap()).await;
    assert_eq!(error_status(page).code, 403);
    let rebound = http::Request::get("/version").header("host", "evil.example");
    assert!(
        anonymous
            .request_text(rebound.body(Vec::new()).unwrap())
            .await
            .is_err()
    );
    config.root_cert = None;
    let other_client = Client::try_from(config).unwrap();
    assert!(
        get(&other_client, "/version").await.is_err(),
        "the certificate is not from a public authority"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_account_is_authorized_by_its_roles() {
    let (server, serving) = serve().await;
    let admin = server.client();
    namespace(&admin, "test").await;
    let path = "/api/v1/namespaces/test/serviceaccounts/default/token";
    let token = send(&admin, "POST", path, json!({})).await.unwrap();
    let mut config = config(&serving).await;
    config.auth_info.token = Some(
        token["status"]["token"]
            .as_str()
            .unwrap()
            .to_string()
            .into(),
    );
    let account = Client::try_from(config.clone()).unwrap();
    let pods = "/api/v1/namespaces/test/pods";
    assert_eq!(error_status(get(&account, pods).await).code, 403);
    let binding = json!({
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "test"}],
    });
    let bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/test/rolebindings";
    send(&admin, "POST", bindings, binding).await.unwrap();
    assert!(get(&account, pods).await.is_ok());
    assert_eq!(
        error_status(send(&account, "POST", pods, pod("p")).await).code,
        403
    );
    assert_eq!(error_status(get(&account, "/api/v1/pods").await).code, 403);

    // The administrator may impersonate; others may not.
    config.auth_info.impersonate = Some("bob".into());
    let impostor = Client::try_from(config.clone()).unwrap();
    assert_eq!(error_status(get(&impostor, pods).await).code, 403);
    config.auth_info.token = None;
    let kubeconfig = Kubeconfig::from_yaml(serving.kubeconfig()).unwrap();
    config.auth_info.token = kubeconfig.auth_infos[0].auth_info.clone().unwrap().token;
    let acting = Client::try_from(config).unwrap();
    let review = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let who = send(&acting, "POST", review, json!({})).await.unwrap();
    assert_eq!(who["status"]["userInfo"]["username"], "bob");
    assert_eq!(
        who["status"]["userInfo"]["groups"],
        json!(["system:authenticated"])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_name_their_flow_schema_and_priority_level() {
    let (_server, serving) = serve().await;
    let mut config = config(&serving).await;
    let admin = Client::try_from(config.clone()).unwrap();
    config.auth_info.token = None;
    let anonymous = Client::try_from(config).unwrap();
    let flow_control = "/apis/flowcontrol.apiserver.k8s.io/v1";
    let uid = async |resource: &str, name: &str| {
        let object = get(&admin, &format!("{flow_control}/{resource}/{name}"))
            .await
            .unwrap();
        object["metadata"]["uid"].as_str().unwrap().to_owned()
    };
    for (client, path, schema, level) in [
        (&admin, "/api/v1/namespaces", "exempt", "exempt"),
        (&anonymous, "/readyz", "probes", "exempt"),
        (
            &anonymous,
            "/api/v1/namespaces",
            "global-default",
            "global-default",
        ),
    ] {
        let request = http::Request::get(path).body(Vec::new().into()).unwrap();
        let response = client.send(request).await.unwrap();
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        let expected = uid("flowschemas", schema).await;
        assert_eq!(header("x-kubernetes-pf-flowschema-uid"), expected, "{path}");
        let expected = uid("prioritylevelconfigurations", level).await;
        assert_eq!(
            header("x-kubernetes-pf-prioritylevel-uid"),
            expected,
            "{path}"
        );
    }
    serving.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_responses_are_compressed() {
    let (_server, serving) = serve().await;
    let client = Client::try_from(config(&serving).await).unwrap();
    namespace(&client, "test").await;
    let path = "/api/v1/namespaces/test/configmaps";
    let response = async |accept: &str| {
        let request = http::Request::get(path).header("accept-encoding", accept);
        let response = client
            .send(request.body(Vec::new().into()).unwrap())
            .await
            .unwrap();
        let encoding = response.headers().get("content-encoding").cloned();
        (
            encoding,
            response.into_body().collect().await.unwrap().to_bytes(),
        )
    };
    assert_eq!(response("gzip").await.0, None);
    let map = json!({"metadata": {"name": "m"}, "data": {"k": "x".repeat(500_000)}});
    send(&client, "POST", path, map).await.unwrap();
    let (encoding, plain) = response("identity").await;
    assert_eq!(encoding, None);
    let (encoding, compressed) = response("deflate, gzip").await;
    assert_eq!(encoding.unwrap(), "gzip");
    assert!(compressed.starts_with(&[0x1f, 0x8b]) && compressed.len() < plain.len() / 10);
    serving.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_ends_watches_and_refuses_connections() {
    let (_server, serving) = serve().await;
    let client = Client::try_from(config(&serving).await).unwrap();
    let watching = {
        let client = client.clone();
        let request = http::Request::get("/api/v1/configmaps?watch=1")
            .body(Vec::new())
            .unwrap();
        tokio::spawn(async move { client.request_text(request).await })
    };
    // A response proves that the watch is open before the shutdown.
    get(&client, "/version").await.unwrap();
    tokio::time::timeout(Duration::from_secs(60), serving.shutdown())
        .await
        .unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(60), watching).await;
    assert!(ended.is_ok(), "the watch has ended");
    assert!(get(&client, "/version").await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn readyz_fails_during_the_shutdown_delay() {
    let server = ApiServer::builder(Clock::real(), Entropy::seeded(1)).build();
    let options = ServeOptions {
        shutdown_delay: Duration::from_secs(600),
        ..ServeOptions::default()
    };
    let serving = server.serve(options).await.unwrap();
    let client = Client::try_from(config(&serving).await).unwrap();
    let probe = async |path: &str| {
        let request = http::Request::get(path).body(kube::client::Body::empty());
        let response = client.send(request.unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    };
    let ok = |text: &str| (200, text.to_owned());
    let checks = "[+]ping ok\n[+]log ok\n[+]etcd-readiness ok\n";
    let passed = format!("{checks}[+]shutdown ok\nreadyz check passed\n");
    assert_eq!(probe("/readyz?verbose").await, ok(&passed));
    assert_eq!(probe("/readyz/shutdown").await, ok("ok"));
    let shutdown = tokio::spawn(serving.shutdown());
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    while probe("/readyz").await.0 == 200 {
        assert!(tokio::time::Instant::now() < deadline, "readyz succeeds");
        tokio::task::yield_now().await;
    }
    let failed = format!("{checks}[-]shutdown failed: reason withheld\nreadyz check failed\n");
    assert_eq!(probe("/readyz").await, (500, failed));
    let reason = "internal server error: process is shutting down\n".to_owned();
    assert_eq!(probe("/readyz/shutdown").await, (500, reason));
    assert_eq!(probe("/readyz/ping").await, ok("ok"));
    assert_eq!(probe("/livez").await, ok("ok"));
    assert!(get(&client, "/api/v1/namespaces/default").await.is_ok());
    shutdown.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kubeconfig_is_private_and_a_port_in_use_is_reported() {
    let (server, serving) = serve().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/kubeconfig");
    serving.write_kubeconfig(&path).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let port = serving.addr().port();
    let again = server
        .serve(ServeOptions {
            port,
            ..ServeOptions::default()
        })
        .await;
    let Err(error @ ServeError::Listen { .. }) = again else {
        panic!("the port is in use")
    };
    assert!(
        error.to_string().contains(&format!("127.0.0.1:{port}")),
        "{error}"
    );
}

fn kubectl(path: &std::path::Path, arguments: &[&str]) -> Option<(bool, String)> {
    let output = Command::new("kubectl")
        .env("KUBECONFIG", path)
        .args(arguments)
        .output()
        .ok()?;
    let text = [output.stdout, output.stderr].concat();
    Some((
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    ))
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_works() {
    let (_server, serving) = serve().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    serving.write_kubeconfig(&path).unwrap();
    if !kueue_lab_testing::has_tool("kubectl", &["version", "--client"]) {
        return;
    }
    let steps: [(&[&str], &str); 6] = [
        (
            &["create", "configmap", "a", "--from-literal=x=1"],
            "configmap/a created",
        ),
        (&["label", "configmap", "a", "l=m"], "configmap/a labeled"),
        (&["get", "configmaps", "-l", "l=m"], "NAME   DATA   AGE"),
        (
            &["patch", "configmap", "a", "-p", "{\"data\":{\"x\":\"2\"}}"],
            "configmap/a patched",
        ),
        (&["get", "configmap", "a", "-o", "jsonpath={.data.x}"], "2"),
        (&["delete", "configmap", "a"], "configmap \"a\" deleted"),
    ];
    for (arguments, wanted) in steps {
        let arguments: Vec<&str> = arguments.to_vec();
        let (path, words) = (path.clone(), arguments.join(" "));
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let outcome = tokio::task::spawn_blocking(move || {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            kubectl(&path, &arguments)
        });
        let (good, text) = outcome.await.unwrap().unwrap();
        assert!(good && text.contains(wanted), "kubectl {words}: {text}");
    }
}
