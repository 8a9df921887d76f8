//! The series of `/metrics` that clients add, and the authorization to read it.

use kube::Client;
use serde_json::json;

use super::connection::answer;
use super::server_fixture::{error_status, serve};

async fn text(client: &Client, path: &str) -> Result<String, kube::Error> {
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    client.request_text(request).await
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_that_are_not_served_add_no_series() {
    let served = serve().await;
    let mut attacker = served.connect().await;
    let metrics = async || text(&served.admin, "/metrics").await.unwrap();
    // One request of each form adds the series of its status.
    let mut request = async |index: usize| {
        for path in [
            format!("/junk{index}"),
            format!("/api/v1/junk{index}"),
            format!("/apis/junk{index}/v1/things"),
            format!("/apis/batch/junk{index}/jobs"),
        ] {
            let (_, response) = attacker.request("GET", &path, None);
            assert_eq!(answer(response).await.0, 403, "{path}");
        }
    };
    request(0).await;
    let before = metrics().await.lines().count();
    for index in 1..50 {
        request(index).await;
    }
    let after = metrics().await;
    assert!(!after.contains("junk"), "{after}");
    assert!(after.contains("apiserver_request_total{verb=\"LIST\",group=\"\",version=\"\",resource=\"\",code=\"403\"} 150"), "{after}");
    // The first read of the metrics adds its own series.
    let own = 12;
    assert!(
        after.lines().count() <= before + own,
        "{before} lines before"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_and_single_health_checks_need_authorization() {
    let served = serve().await;
    let mut attacker = served.connect().await;
    for (path, code) in [
        ("/metrics", 403),
        ("/livez/ping", 403),
        ("/readyz/etcd", 403),
        ("/livez", 200),
        ("/readyz", 200),
        ("/healthz", 200),
        ("/version", 200),
    ] {
        let (_, response) = attacker.request("GET", path, None);
        assert_eq!(answer(response).await.0, code, "{path}");
    }
    let rules = json!([{"nonResourceURLs": ["/metrics", "/livez/*"], "verbs": ["get"]}]);
    let monitor = served.account("monitor", rules).await;
    assert!(
        text(&monitor, "/metrics")
            .await
            .unwrap()
            .contains("apiserver_request_total")
    );
    assert_eq!(text(&monitor, "/livez/ping").await.unwrap(), "ok");
    assert_eq!(error_status(text(&monitor, "/readyz/ping").await).code, 403);
}
