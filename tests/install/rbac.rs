//! The roles in lab/deploy permit all requests of the controller.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use kueue_lab_apiserver::ServeOptions;
use kueue_lab_clock::Clock;
use kueue_lab_install::NAMESPACE;
use kueue_lab_manager::Operator;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use tower::service_fn;

use crate::cluster_fixture::{TestCluster, wait_for};
use crate::explanations::{wait_until_served, with_explanations};
use crate::instances::operator_config;

/// A request to authorize.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ResourceAttributes {
    verb: String,
    group: String,
    resource: String,
    name: String,
    namespace: String,
}

/// The resource attributes of a request; empty if it needs no permission.
fn resource_attributes(request: &Request<Body>) -> Vec<ResourceAttributes> {
    let path = request.uri().path();
    let query = request.uri().query().unwrap_or_default();
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, rest) = match parts.as_slice() {
        ["api", _, rest @ ..] => ("", rest),
        ["apis", group, _, rest @ ..] => (*group, rest),
        _ => return Vec::new(),
    };
    let (namespace, rest) = match rest {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
        rest => ("", rest),
    };
    let (resource, name, sub) = match rest {
        [resource] => (*resource, "", ""),
        [resource, name] => (*resource, *name, ""),
        [resource, name, sub] => (*resource, *name, *sub),
        _ => return Vec::new(),
    };
    let content = request.headers().get("content-type");
    let applies = content.is_some_and(|c| c.as_bytes().starts_with(b"application/apply-patch"));
    let verbs: &[&str] = match (request.method(), name) {
        (&Method::GET, _) if query.contains("watch=") => &["watch"],
        (&Method::GET, "") => &["list"],
        (&Method::GET, _) => &["get"],
        (&Method::POST, _) => &["create"],
        (&Method::PUT, _) => &["update"],
        // Apply can create an object, except for subresources.
        (&Method::PATCH, _) if applies && sub.is_empty() => &["patch", "create"],
        (&Method::PATCH, _) => &["patch"],
        (&Method::DELETE, "") => &["deletecollection"],
        (&Method::DELETE, _) => &["delete"],
        _ => &[],
    };
    let resource = match sub {
        "" => resource.to_owned(),
        sub => format!("{resource}/{sub}"),
    };
    let one = |verb: &&str| ResourceAttributes {
        verb: (*verb).to_owned(),
        group: group.to_owned(),
        resource: resource.clone(),
        // A create request has no name.
        name: if *verb == "create" {
            String::new()
        } else {
            name.to_owned()
        },
        namespace: namespace.to_owned(),
    };
    verbs.iter().map(one).collect()
}

fn allows(rule: &Value, asked: &ResourceAttributes) -> bool {
    let has = |field: &str, wanted: &str| {
        let all = rule[field].as_array().into_iter().flatten();
        all.into_iter().any(|v| v == wanted)
    };
    let names = rule["resourceNames"].as_array().is_none_or(Vec::is_empty);
    has("apiGroups", &asked.group)
        && has("resources", &asked.resource)
        && has("verbs", &asked.verb)
        && (names || has("resourceNames", &asked.name))
}

/// The rules of the roles in lab/deploy: of the cluster, and of the namespace.
fn roles() -> (Vec<Value>, Vec<Value>) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/lab/deploy/kueue-lab.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    let objects = serde_yaml::Deserializer::from_str(&text);
    let objects: Vec<Value> = objects.map(|d| Value::deserialize(d).unwrap()).collect();
    let rules = |kind: &str| {
        let role = objects.iter().find(|o| o["kind"] == kind).unwrap();
        role["rules"].as_array().unwrap().clone()
    };
    (rules("ClusterRole"), rules("Role"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_controller_stays_within_its_roles() {
    let cluster = TestCluster::start().await;
    // Writes how the API server authenticates to extension API servers.
    let _serving = cluster.server.serve(ServeOptions::default()).await.unwrap();
    let seen: Arc<Mutex<BTreeSet<ResourceAttributes>>> = Arc::default();
    let (client, record) = (cluster.client.clone(), seen.clone());
    let service = service_fn(move |request: Request<Body>| {
        record.lock().extend(resource_attributes(&request));
        let client = client.clone();
        async move { client.send(request).await.map_err(tower::BoxError::from) }
    });
    // Inside a cluster the namespace exists before the controller.
    let namespace = serde_json::json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE},
    });
    cluster.create(namespace).await.unwrap();
    let client = Client::new(service, "default");
    let config = with_explanations(operator_config(client, "me", Clock::real()));
    let operator = Operator::start(config).await.unwrap();
    operator.wait_until_leader(|_| ()).await.unwrap();
    wait_until_served(&cluster).await;
    cluster.create_queues(8).await;
    cluster.job("j1", 8).await;
    wait_for("the first runs", || async {
        let job = cluster.jobs().get("j1").await.unwrap();
        (job.spec.unwrap().suspend == Some(false)).then_some(())
    })
    .await;
    cluster.job("j2", 8).await;
    let jobs = cluster.jobs();
    jobs.delete("j1", &kube::api::DeleteParams::background())
        .await
        .unwrap();
    wait_for("the second runs", || async {
        let job = cluster.jobs().get("j2").await.unwrap();
        (job.spec.unwrap().suspend == Some(false)).then_some(())
    })
    .await;
    operator.stop().await;
    let (of_cluster, of_namespace) = roles();
    // Bound in lab/deploy.
    let reader = "extension-apiserver-authentication-reader";
    let reader = cluster.get(
        "rbac.authorization.k8s.io/v1",
        "Role",
        "kube-system",
        reader,
    );
    let reader = reader.await.unwrap();
    let reader = reader["rules"].as_array().unwrap();
    let seen = seen.lock();
    let rejected: Vec<&ResourceAttributes> = seen
        .iter()
        .filter(|asked| {
            let own = asked.namespace == NAMESPACE && of_namespace.iter().any(|r| allows(r, asked));
            let read = asked.namespace == "kube-system" && reader.iter().any(|r| allows(r, asked));
            !own && !read && !of_cluster.iter().any(|rule| allows(rule, asked))
        })
        .collect();
    assert!(rejected.is_empty(), "{rejected:#?}");
    assert!(
        seen.len() > 40,
        "only {} kinds of requests were seen",
        seen.len()
    );
}
