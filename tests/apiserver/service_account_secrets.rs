//! Secrets with tokens of service accounts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use serde_json::{Value, json};

use super::server_fixture::*;

const SECRETS: &str = "/api/v1/namespaces/test/secrets";
const ACCOUNTS: &str = "/api/v1/namespaces/test/serviceaccounts";

fn secret(account: &str) -> Value {
    json!({
        "metadata": {
            "name": "token",
            "annotations": {"kubernetes.io/service-account.name": account},
        },
        "type": "kubernetes.io/service-account-token",
    })
}

/// The status of a TokenReview.
async fn review(client: &Client, token: &str) -> Value {
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let review = json!({"spec": {"token": token}});
    let answer = send(client, "POST", path, review).await.unwrap();
    answer["status"].clone()
}

#[test]
fn a_secret_gets_a_token_that_is_valid_while_it_exists() {
    with_server(|_, client| async move {
        send(&client, "POST", SECRETS, secret("default"))
            .await
            .unwrap();
        let path = format!("{SECRETS}/token");
        let stored = get(&client, &path).await.unwrap();
        let text = |key: &str| {
            let value = stored["data"][key].as_str().unwrap();
            String::from_utf8(STANDARD.decode(value).unwrap()).unwrap()
        };
        assert_eq!(text("namespace"), "test");
        assert!(text("ca.crt").starts_with("-----BEGIN CERTIFICATE-----"));
        let account = get(&client, &format!("{ACCOUNTS}/default")).await.unwrap();
        let uid = &account["metadata"]["uid"];
        let annotations = &stored["metadata"]["annotations"];
        assert_eq!(&annotations["kubernetes.io/service-account.uid"], uid);

        let status = review(&client, &text("token")).await;
        let user = json!({
            "username": "system:serviceaccount:test:default",
            "uid": uid,
            "groups": [
                "system:serviceaccounts",
                "system:serviceaccounts:test",
                "system:authenticated",
            ],
        });
        assert_eq!(
            (&status["authenticated"], &status["user"]),
            (&json!(true), &user)
        );
        // A removed token is issued again, and the old one is no longer valid.
        let removed = json!({"data": {"token": null}});
        let token = text("token");
        merge_patch(&client, &path, removed).await.unwrap();
        let filled = get(&client, &path).await.unwrap();
        assert!(filled["data"]["token"].is_string());
        send(&client, "DELETE", &path, Value::Null).await.unwrap();
        let status = review(&client, &token).await;
        assert!(status.get("authenticated").is_none_or(|a| a == false));
    });
}

#[test]
fn secrets_are_deleted_with_their_service_account() {
    with_server(|_, client| async move {
        let path = format!("{SECRETS}/token");
        send(&client, "POST", SECRETS, secret("missing"))
            .await
            .unwrap();
        assert_eq!(error_status(get(&client, &path).await).code, 404);
        send(&client, "POST", SECRETS, secret("default"))
            .await
            .unwrap();
        get(&client, &path).await.unwrap();
        let account = format!("{ACCOUNTS}/default");
        send(&client, "DELETE", &account, Value::Null)
            .await
            .unwrap();
        assert_eq!(error_status(get(&client, &path).await).code, 404);
    });
}
