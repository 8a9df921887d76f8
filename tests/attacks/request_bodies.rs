//! Bodies that are large, slow or not allowed.

use std::time::Duration;

use kueue_lab_apiserver::RequestLimits;
use serde_json::json;

use super::connection::{answer, data};
use super::server_fixture::{error_status, send, serve, serve_with};

const CONFIG_MAPS: &str = "/api/v1/namespaces/test/configmaps";

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_refused_before_its_body_is_read() {
    let served = serve().await;
    let mut attacker = served.connect().await;
    let (anonymous, response) = attacker.request("POST", CONFIG_MAPS, None);
    let (status, refused) = answer(response).await;
    assert_eq!((status, &refused["reason"]), (403, &json!("Forbidden")));
    drop(anonymous);
    let (guess, response) = attacker.request("POST", CONFIG_MAPS, Some("guess"));
    assert_eq!(answer(response).await.0, 401);
    drop(guess);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_has_a_deadline_that_includes_its_body() {
    let limits = RequestLimits {
        request_timeout: Duration::from_millis(500),
        ..RequestLimits::default()
    };
    let served = serve_with(|builder| builder.request_limits(limits)).await;
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]);
    let token = served.account_token("slow", rules).await;
    let mut attacker = served.connect().await;
    let (_slow, response) = attacker.request("POST", CONFIG_MAPS, Some(&token));
    let (status, ended) = answer(response).await;
    assert_eq!((status, &ended["reason"]), (504, &json!("Timeout")));
    let message = ended["message"].as_str().unwrap();
    assert!(message.contains("(request-timeout, 500ms)"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bodies_of_a_user_have_a_limit_and_those_of_others_do_not_count() {
    let limits = RequestLimits {
        max_body_bytes_per_user: 3000,
        max_body_bytes: 5000,
        ..RequestLimits::default()
    };
    let served = serve_with(|builder| builder.request_limits(limits)).await;
    let rules =
        json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "get"]}]);
    let token = served.account_token("large", rules.clone()).await;
    let mut attacker = served.connect().await;
    let mut open_request = || {
        let (body, response) = attacker.request("POST", CONFIG_MAPS, Some(&token));
        body.unbounded_send(data(vec![b' '; 2000])).unwrap();
        (body, tokio::spawn(response))
    };
    let (mut first, mut open) = open_request();
    // The second body is above the limit as soon as the first one is read.
    let refused = loop {
        // The first body is refused if the second one is read before it.
        if open.is_finished() {
            (first, open) = open_request();
        }
        let (second, response) = open_request();
        drop(second);
        let (status, refused) = answer(async { response.await.unwrap() }).await;
        if status == 429 {
            break refused;
        }
    };
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("request-body-bytes, 3000"), "{message}");
    let other = served.account("other", rules).await;
    let map = json!({"metadata": {"name": "m"}, "data": {"k": "x".repeat(1000)}});
    send(&other, "POST", CONFIG_MAPS, map).await.unwrap();
    drop(first);
    assert_eq!(answer(async { open.await.unwrap() }).await.0, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_above_the_limit_of_a_request_are_refused() {
    let served = serve().await;
    let client = served.administrator().await;
    let map = json!({"metadata": {"name": "m"}, "data": {"k": "x".repeat(3 << 20)}});
    let refused = error_status(send(&client, "POST", CONFIG_MAPS, map).await);
    assert_eq!(refused.code, 413);
}
