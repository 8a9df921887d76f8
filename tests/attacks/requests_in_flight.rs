//! More requests and watches than a user may have at the same time.

use http_body_util::BodyExt;
use kueue_lab_apiserver::RequestLimits;
use serde_json::json;

use super::connection::answer;
use super::server_fixture::{get, send, serve_with};

const CONFIG_MAPS: &str = "/api/v1/namespaces/test/configmaps";
/// More than the seats of one user and its queue.
const REQUESTS: usize = 80;

#[tokio::test(flavor = "multi_thread")]
async fn the_requests_of_a_user_do_not_take_the_seats_of_others() {
    let limits = RequestLimits {
        max_requests_inflight: 10,
        ..RequestLimits::default()
    };
    let served = serve_with(|builder| builder.request_limits(limits)).await;
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]);
    let token = served.account_token("flooding", rules.clone()).await;
    let mut attacker = served.connect().await;
    let mut open = Vec::new();
    let mut waiting = futures::stream::FuturesUnordered::new();
    for _ in 0..REQUESTS {
        let (body, response) = attacker.request("POST", CONFIG_MAPS, Some(&token));
        open.push(body);
        waiting.push(Box::pin(answer(response)));
    }
    // All bodies stay open: only requests that are rejected are answered.
    let (status, refused) = futures::StreamExt::next(&mut waiting).await.unwrap();
    assert_eq!(
        (status, &refused["reason"]),
        (429, &json!("TooManyRequests"))
    );
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("(max-requests-inflight)"), "{message}");
    // Another user of the same level, and the administrator.
    let other = served.account("other", rules).await;
    get(&other, CONFIG_MAPS).await.unwrap();
    let administrator = served.administrator().await;
    let map = json!({"metadata": {"name": "m"}});
    send(&administrator, "POST", CONFIG_MAPS, map)
        .await
        .unwrap();
    let metrics = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let metrics = served.admin.request_text(metrics).await.unwrap();
    let counter = "apiserver_flowcontrol_rejected_requests_total{priority_level=\"workload-low\",flow_schema=\"service-accounts\",reason=\"queue-full\"}";
    assert!(metrics.contains(counter), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_open_watches_of_a_user_have_a_limit() {
    let limits = RequestLimits {
        max_watches_per_user: 2,
        ..RequestLimits::default()
    };
    let served = serve_with(|builder| builder.request_limits(limits)).await;
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["watch"]}]);
    let token = served.account_token("watching", rules).await;
    let mut client = served.connect().await;
    let watch = format!("{CONFIG_MAPS}?watch=1");
    let mut open = Vec::new();
    for _ in 0..2 {
        let (_, response) = client.request("GET", &watch, Some(&token));
        let response = response.await.unwrap();
        assert_eq!(response.status(), 200);
        open.push(response);
    }
    let (_, response) = client.request("GET", &watch, Some(&token));
    let (status, refused) = answer(response).await;
    assert_eq!(status, 429);
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("2 open watches (watches-per-user)"),
        "{message}"
    );
    // A watch that ends makes room.
    drop(open.pop());
    loop {
        let (_, response) = client.request("GET", &watch, Some(&token));
        let response = response.await.unwrap();
        if response.status() == 200 {
            break;
        }
        response.into_body().collect().await.unwrap();
    }
}
