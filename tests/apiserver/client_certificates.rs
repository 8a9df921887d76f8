//! Client certificates: CertificateSigningRequests, and users authenticated by certificate.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kueue_lab_apiserver::{ApiServer, ServeOptions, ServingHandle};
use kueue_lab_clock::Clock;
use kueue_lab_entropy::Entropy;
use rcgen::{CertificateParams, DnType, KeyPair};
use serde_json::{Value, json};

use super::server_fixture::*;

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const CLIENT: &str = "kubernetes.io/kube-apiserver-client";

/// A key and a request (PEM) for a user in two groups.
fn request(user: &str) -> (KeyPair, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, user);
    // Two attributes of the type organization.
    let organizations = [
        (DnType::OrganizationName, "dev"),
        (DnType::CustomDnType(vec![2, 5, 4, 10]), "ops"),
    ];
    for (name, group) in organizations {
        params.distinguished_name.push(name, group);
    }
    let key = KeyPair::generate().unwrap();
    let pem = params.serialize_request(&key).unwrap().pem().unwrap();
    (key, pem)
}

/// Creates and approves a request; returns its status.
async fn approve(client: &Client, name: &str, signer: &str, usages: Value, pem: &str) -> Value {
    let object = json!({
        "metadata": {"name": name},
        "spec": {"request": STANDARD.encode(pem), "signerName": signer, "usages": usages},
    });
    let mut object = send(client, "POST", REQUESTS, object).await.unwrap();
    assert_eq!(object["status"], json!({}));
    object["status"]["conditions"] = json!([{
        "type": "Approved", "status": "True", "reason": "KubectlApprove", "message": "approved",
    }]);
    let path = format!("{REQUESTS}/{name}");
    let approval = format!("{path}/approval");
    send(client, "PUT", &approval, object).await.unwrap();
    get(client, &path).await.unwrap()["status"].clone()
}

async fn config(serving: &ServingHandle) -> Config {
    let kubeconfig = Kubeconfig::from_yaml(serving.kubeconfig()).unwrap();
    let options = KubeConfigOptions::default();
    Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .unwrap()
}

/// A client with a certificate and without a token.
async fn client_with(serving: &ServingHandle, certificate: &str, key: &KeyPair) -> Client {
    let mut config = config(serving).await;
    config.auth_info.token = None;
    config.auth_info.client_certificate_data = Some(STANDARD.encode(certificate));
    config.auth_info.client_key_data = Some(STANDARD.encode(key.serialize_pem()).into());
    Client::try_from(config).unwrap()
}

async fn user_info(client: &Client) -> Result<Value, kube::Error> {
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let review = send(client, "POST", path, json!({})).await?;
    Ok(review["status"]["userInfo"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_certificate_authenticates_its_user_and_groups() {
    let server = ApiServer::builder(Clock::real(), Entropy::seeded(1)).build();
    let serving = server.serve(ServeOptions::default()).await.unwrap();
    let admin = server.client();
    let (key, pem) = request("ann");
    let usages = json!(["client auth", "digital signature"]);
    let status = approve(&admin, "ann", CLIENT, usages, &pem).await;
    let certificate = STANDARD.decode(status["certificate"].as_str().unwrap());
    let certificate = String::from_utf8(certificate.unwrap()).unwrap();
    let ann = client_with(&serving, &certificate, &key).await;
    let user = user_info(&ann).await.unwrap();
    assert_eq!(user["username"], "ann");
    let groups = json!(["dev", "ops", "system:authenticated"]);
    assert_eq!(user["groups"], groups);
    let denied = error_status(get(&ann, "/api/v1/namespaces").await);
    assert_eq!(denied.code, 403);
    assert!(
        denied.message.contains("User \"ann\""),
        "{}",
        denied.message
    );

    // A certificate of another authority authenticates no user, unlike a token beside it.
    let other = ApiServer::builder(Clock::real(), Entropy::seeded(2)).build();
    let usages = json!(["client auth"]);
    let foreign = approve(&other.client(), "ann", CLIENT, usages, &pem).await;
    let foreign = STANDARD.decode(foreign["certificate"].as_str().unwrap());
    let foreign = String::from_utf8(foreign.unwrap()).unwrap();
    let other_client = client_with(&serving, &foreign, &key).await;
    let user = user_info(&other_client).await;
    assert_eq!(error_status(user).code, 401);
    let mut with_token = config(&serving).await;
    with_token.auth_info.client_certificate_data = Some(STANDARD.encode(&foreign));
    with_token.auth_info.client_key_data = Some(STANDARD.encode(key.serialize_pem()).into());
    let with_token = Client::try_from(with_token).unwrap();
    let user = user_info(&with_token).await.unwrap();
    assert_eq!(user["username"], "kubernetes-admin");
    serving.shutdown().await;
}

#[test]
fn only_permitted_requests_are_signed() {
    with_server(|_, client| async move {
        let (_, pem) = request("kubelet");
        let server_auth = json!(["digital signature", "server auth"]);
        let serving = "kubernetes.io/kubelet-serving";
        let status = approve(&client, "a", serving, server_auth.clone(), &pem).await;
        assert!(status["certificate"].is_string());
        let status = approve(&client, "b", CLIENT, server_auth, &pem).await;
        let failed = &status["conditions"][1];
        assert_eq!(
            (&failed["type"], &failed["reason"]),
            (&json!("Failed"), &json!("SignerValidationFailure"))
        );
        let client_auth = json!(["client auth"]);
        let status = approve(&client, "c", CLIENT, client_auth.clone(), "nonsense").await;
        assert_eq!(status["conditions"][1]["type"], "Failed");
        let status = approve(&client, "d", "example.com/other", client_auth, &pem).await;
        assert_eq!(status["certificate"], Value::Null);
        assert_eq!(status["conditions"].as_array().unwrap().len(), 1);
    });
}
