//! Client certificates: CertificateSigningRequests, and users authenticated by certificate.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kueue_lab_apiserver::{ApiServer, ServeOptions, ServingHandle};
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
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

/// A request (PEM) of a subject.
fn request_of(user: &str, organization: &str, names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name.push(DnType::CommonName, user);
    params
        .distinguished_name
        .push(DnType::OrganizationName, organization);
    let key = KeyPair::generate().unwrap();
    params.serialize_request(&key).unwrap().pem().unwrap()
}

fn signing_request(name: &str, signer: &str, usages: &Value, pem: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"request": STANDARD.encode(pem), "signerName": signer, "usages": usages},
    })
}

#[test]
fn only_permitted_requests_are_signed() {
    with_server(|_, client| async move {
        let (_, pem) = request("kubelet");
        let node = request_of("system:node:a", "system:nodes", &["a.example.com"]);
        let server_auth = json!(["digital signature", "server auth"]);
        let serving = "kubernetes.io/kubelet-serving";
        let status = approve(&client, "a", serving, server_auth.clone(), &node).await;
        assert!(status["certificate"].is_string());
        let failed = |status: &Value| {
            let failed = &status["conditions"][1];
            assert_eq!(
                (&failed["type"], &failed["reason"]),
                (&json!("Failed"), &json!("SignerValidationFailure"))
            );
            failed["message"].as_str().unwrap().to_owned()
        };
        let status = approve(&client, "b", CLIENT, server_auth.clone(), &pem).await;
        assert_eq!(
            failed(&status),
            "invalid usage for client certificate: server auth"
        );
        let client_auth = json!(["client auth"]);
        let nonsense = signing_request("c", CLIENT, &client_auth, "nonsense");
        let status = error_status(send(&client, "POST", REQUESTS, nonsense).await);
        assert_eq!(status.code, 422);
        let status = approve(&client, "d", "example.com/other", client_auth, &pem).await;
        assert_eq!(status["certificate"], Value::Null);
        assert_eq!(status["conditions"].as_array().unwrap().len(), 1);
        // The subject of a kubelet is a node, in no other group.
        let status = approve(&client, "e", serving, server_auth, &pem).await;
        let wrong = "subject organization is not system:nodes";
        assert_eq!(failed(&status), wrong);
        let kubelet = "kubernetes.io/kube-apiserver-client-kubelet";
        let usages = json!(["digital signature", "client auth"]);
        let masters = request_of("system:node:a", "system:masters", &[]);
        let status = approve(&client, "f", kubelet, usages.clone(), &masters).await;
        assert_eq!(failed(&status), wrong);
        // Users with the right to client certificates of nodes need no approval.
        let node = request_of("system:node:a", "system:nodes", &[]);
        let object = signing_request("g", kubelet, &usages, &node);
        send(&client, "POST", REQUESTS, object).await.unwrap();
        let path = format!("{REQUESTS}/g");
        let status = get(&client, &path).await.unwrap()["status"].clone();
        assert_eq!(status["conditions"][0]["reason"], "AutoApproved");
        assert!(status["certificate"].is_string());
    });
}

/// A user with rights to the requests and their subresources, but not to signers.
async fn requester(served: &Served, more: Value) -> Client {
    let resources = ["", "/approval", "/status"]
        .map(|subresource| format!("certificatesigningrequests{subresource}"));
    let mut rules =
        vec![json!({"apiGroups": ["certificates.k8s.io"], "resources": resources, "verbs": ["*"]})];
    rules.extend(more.as_array().unwrap().iter().cloned());
    let subject = json!({"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"});
    served.grant("requester", json!(rules), subject).await;
    let mut config = served.config(None).await;
    config.auth_info.impersonate = Some("ann".into());
    Client::try_from(config).unwrap()
}

/// A user with rights to the requests only, not to their subresources.
async fn bob(served: &Served) -> Client {
    let rules = json!([{
        "apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"],
        "verbs": ["*"],
    }]);
    let subject = json!({"kind": "User", "name": "bob", "apiGroup": "rbac.authorization.k8s.io"});
    served.grant("bob", rules, subject).await;
    let mut config = served.config(None).await;
    config.auth_info.impersonate = Some("bob".into());
    Client::try_from(config).unwrap()
}

fn condition(type_: &str) -> Value {
    json!([{"type": type_, "status": "True", "reason": "Test", "message": ""}])
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_approved_and_signed_by_users_with_the_verbs_on_the_signer() {
    let served = serve().await;
    let signers = json!([
        {"apiGroups": ["certificates.k8s.io"], "resources": ["signers"],
         "resourceNames": ["example.com/*"], "verbs": ["approve"]},
        {"apiGroups": ["certificates.k8s.io"], "resources": ["signers"],
         "resourceNames": ["example.org/signed"], "verbs": ["sign"]},
    ]);
    let ann = requester(&served, signers).await;
    let usages = json!(["client auth"]);
    let (_, pem) = request("ann");
    let certificate = {
        // Any certificate: that of another request.
        let status = approve(&served.admin, "other", CLIENT, usages.clone(), &pem).await;
        status["certificate"].clone()
    };
    let update = async |name: &str, subresource: &str, status: Value| {
        let path = format!("{REQUESTS}/{name}");
        let mut object = get(&ann, &path).await.unwrap();
        for (field, value) in status.as_object().unwrap() {
            object["status"][field] = value.clone();
        }
        send(&ann, "PUT", &format!("{path}/{subresource}"), object).await
    };
    for (name, signer) in [
        ("client", CLIENT),
        ("approved", "example.com/foo"),
        ("signed", "example.org/signed"),
    ] {
        let object = signing_request(name, signer, &usages, &pem);
        send(&ann, "POST", REQUESTS, object).await.unwrap();
    }
    let refused = error_status(
        update(
            "client",
            "approval",
            json!({"conditions": condition("Approved")}),
        )
        .await,
    );
    assert_eq!(refused.code, 403);
    assert_eq!(
        refused.message,
        "certificatesigningrequests.certificates.k8s.io \"client\" is forbidden: user not permitted to approve requests with signerName \"kubernetes.io/kube-apiserver-client\""
    );
    let denied = update(
        "client",
        "approval",
        json!({"conditions": condition("Denied")}),
    );
    assert_eq!(error_status(denied.await).code, 403);
    // A pattern for the domain of the signer.
    let approved = json!({"conditions": condition("Approved")});
    let object = update("approved", "approval", approved).await.unwrap();
    assert_eq!(object["status"]["conditions"][0]["type"], "Approved");
    for status in [
        json!({"certificate": certificate}),
        json!({"conditions": condition("Failed")}),
    ] {
        let refused = error_status(update("client", "status", status).await);
        assert_eq!(refused.code, 403, "{refused:?}");
        assert_eq!(
            refused.message,
            "certificatesigningrequests.certificates.k8s.io \"client\" is forbidden: user not permitted to sign requests with signerName \"kubernetes.io/kube-apiserver-client\""
        );
    }
    let status = json!({"certificate": certificate});
    let refused = error_status(update("approved", "status", status.clone()).await);
    assert_eq!(refused.code, 403, "{refused:?}");
    let signed = update("signed", "status", status).await.unwrap();
    assert_eq!(signed["status"]["certificate"], certificate);
    // The status does not approve, and an approval does not sign.
    let status = json!({"conditions": condition("Approved")});
    let unchanged = update("signed", "status", status).await.unwrap();
    assert_eq!(unchanged["status"].get("conditions"), None);
    served.handle.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_client_certificate_is_for_the_group_of_masters() {
    let served = serve().await;
    let all = json!([
        {"apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "verbs": ["*"]},
    ]);
    let ann = requester(&served, all).await;
    let usages = json!(["client auth"]);
    let pem = request_of("evil", "system:masters", &[]);
    for client in [&ann, &served.admin] {
        let object = signing_request("evil", CLIENT, &usages, &pem);
        let refused = error_status(send(client, "POST", REQUESTS, object).await);
        assert_eq!(refused.code, 403);
        assert_eq!(
            refused.message,
            "certificatesigningrequests.certificates.k8s.io \"evil\" is forbidden: use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"
        );
    }
    // The rights to requests do not approve the client certificate of a node.
    let kubelet = "kubernetes.io/kube-apiserver-client-kubelet";
    let node = request_of("system:node:a", "system:nodes", &[]);
    let usages_of_node = json!(["digital signature", "client auth"]);
    let bob = bob(&served).await;
    let object = signing_request("node", kubelet, &usages_of_node, &node);
    send(&bob, "POST", REQUESTS, object).await.unwrap();
    let stored = get(&bob, &format!("{REQUESTS}/node")).await.unwrap();
    assert_eq!(stored["status"], json!({}));
    // The request of an object does not change afterwards, not by a subresource either.
    let (_, harmless) = request("ann");
    let object = signing_request("a", CLIENT, &usages, &harmless);
    let created = send(&ann, "POST", REQUESTS, object).await.unwrap();
    let path = format!("{REQUESTS}/a");
    for subresource in ["", "/status", "/approval"] {
        let mut object = get(&ann, &path).await.unwrap();
        object["spec"]["request"] = STANDARD.encode(&pem).into();
        object["spec"]["signerName"] = "example.com/foo".into();
        object["status"]["conditions"] = condition("Approved");
        let updated = send(&ann, "PUT", &format!("{path}{subresource}"), object).await;
        let updated = updated.unwrap();
        assert_eq!(updated["spec"], created["spec"], "{subresource:?}");
    }
    served.handle.shutdown().await;
}
