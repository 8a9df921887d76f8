//! Expensive requests of one user, sent without end, and the lists of others meanwhile. Both are counted, not
//! timed: a list may wait for a few requests of the attacker, not for all that are in line.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http_body_util::BodyExt;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::connection::data;
use super::server_fixture::{Served, get, send, serve};

const CONFIG_MAPS: &str = "/api/v1/namespaces/test/configmaps";
/// Longer than any of these tests takes; a test that reaches it fails.
const PATIENCE: Duration = Duration::from_secs(120);
/// Connections of the attacker.
const CLIENTS: usize = 2;
/// Requests of each connection at the same time. All their bodies are below the limit of a user.
const PARALLEL: usize = 3;
/// Lists of each bystander.
const LISTS: usize = 3;
/// Requests of the attacker that may end during a list, on average: the one that computes when the list
/// begins, one for each turn of the list, and one that ends at the same time. Fewer than are in line.
const MAX_OVERTAKEN: usize = 4;

/// A user that sends the same request in a loop, until it is dropped.
struct Loop {
    completed: Arc<AtomicUsize>,
    progress: Arc<Notify>,
    _tasks: JoinSet<()>,
}

impl Loop {
    /// Starts the loop. Each request has to be answered, and not with 429 or an error of the server.
    async fn start(served: &Served, token: &str, path: &str, body: &Value) -> Self {
        let body = Bytes::from(body.to_string());
        let completed = Arc::<AtomicUsize>::default();
        let progress = Arc::<Notify>::default();
        let mut tasks = JoinSet::new();
        for _ in 0..CLIENTS {
            let mut client = served.connect().await;
            let (token, path, body) = (token.to_owned(), path.to_owned(), body.clone());
            let (completed, progress) = (completed.clone(), progress.clone());
            tasks.spawn(async move {
                let mut open = FuturesUnordered::new();
                loop {
                    while open.len() < PARALLEL {
                        let (sender, response) = client.request("POST", &path, Some(&token));
                        sender.unbounded_send(data(body.clone())).unwrap();
                        open.push(Box::pin(async move {
                            let response = response.await.unwrap();
                            let status = response.status().as_u16();
                            response.into_body().collect().await.unwrap();
                            status
                        }));
                    }
                    let status = open.next().await.unwrap();
                    if status != 429 && status < 500 {
                        completed.fetch_add(1, Ordering::SeqCst);
                        progress.notify_one();
                    }
                }
            });
        }
        let started = Self {
            completed,
            progress,
            _tasks: tasks,
        };
        started.goes_on(0).await;
        started
    }

    fn completed(&self) -> usize {
        self.completed.load(Ordering::SeqCst)
    }

    /// Waits until more than this many requests are completed.
    async fn goes_on(&self, completed: usize) {
        let more = async {
            while self.completed() <= completed {
                self.progress.notified().await;
            }
        };
        tokio::time::timeout(PATIENCE, more).await.unwrap();
    }

    /// The lists of a client are answered while the loop goes on.
    async fn is_overtaken_by(&self, client: &Client, path: &str) {
        let mut overtaken = 0;
        for _ in 0..LISTS {
            let before = self.completed();
            get(client, path).await.unwrap();
            overtaken += self.completed() - before;
        }
        assert!(
            overtaken <= LISTS * MAX_OVERTAKEN,
            "{LISTS} lists waited for {overtaken} requests"
        );
        self.goes_on(self.completed()).await;
    }
}

/// So many ConfigMaps that lists of them are expensive, too.
async fn serve_long_list() -> Served {
    let served = serve().await;
    for index in 0..80 {
        let map = json!({"metadata": {"name": format!("m{index}")}, "data": {"k": "v"}});
        send(&served.admin, "POST", CONFIG_MAPS, map).await.unwrap();
    }
    served
}

/// Another user and the administrator list while a user sends a request that is only checked.
async fn lists_overtake(resource: &str, body: Value) {
    let served = serve_long_list().await;
    let rules = json!([{"apiGroups": [""], "resources": [resource], "verbs": ["create"]}]);
    let token = served.account_token("low", rules).await;
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]);
    let other = served.account("other", rules).await;
    let administrator = served.administrator().await;
    let path = format!("/api/v1/namespaces/test/{resource}?dryRun=All");
    let attack = Loop::start(&served, &token, &path, &body).await;
    attack.is_overtaken_by(&other, CONFIG_MAPS).await;
    attack.is_overtaken_by(&administrator, CONFIG_MAPS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_overtake_requests_with_many_owner_references() {
    let owner = |index: usize| json!({"uid": index.to_string(), "name": "a", "kind": "b", "apiVersion": "v1"});
    let owners: Vec<Value> = (0..20_000).map(owner).collect();
    let map = json!({"metadata": {"name": "o", "ownerReferences": owners}});
    lists_overtake("configmaps", map).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_overtake_pods_with_many_environment_variables() {
    let variable = |index: usize| json!({"name": format!("V{index}"), "value": "v"});
    let env: Vec<Value> = (0..25_000).map(variable).collect();
    let container = json!({"name": "c", "image": "i", "env": env});
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [container]}});
    lists_overtake("pods", pod).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_overtake_services_with_many_ports() {
    let port = |index: usize| json!({"name": format!("p{index}"), "port": index + 1});
    let ports: Vec<Value> = (0..20_000).map(port).collect();
    let service = json!({"metadata": {"name": "s"}, "spec": {"ports": ports}});
    lists_overtake("services", service).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_that_are_not_read_do_not_stop_others() {
    let served = serve().await;
    for index in 0..20 {
        let data = json!({"k": "x".repeat(1_000_000)});
        let map = json!({"metadata": {"name": format!("m{index}")}, "data": data});
        send(&served.admin, "POST", CONFIG_MAPS, map).await.unwrap();
    }
    let rules =
        json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "list"]}]);
    let token = served.account_token("idle", rules.clone()).await;
    let other = served.account("other", rules).await;
    let administrator = served.administrator().await;
    let mut connections = Vec::new();
    let mut answers = FuturesUnordered::new();
    for _ in 0..4 {
        let mut connection = served.connect().await;
        for _ in 0..4 {
            // Without a body.
            let (_, response) = connection.request("GET", CONFIG_MAPS, Some(&token));
            answers.push(tokio::spawn(response));
        }
        connections.push(connection);
    }
    // The attack begins with the first response. None is read.
    let first = tokio::time::timeout(PATIENCE, answers.next())
        .await
        .unwrap();
    let mut unread = vec![first.unwrap().unwrap().unwrap()];
    for (index, client) in [other, administrator].iter().enumerate() {
        let page = format!("{CONFIG_MAPS}?limit=1");
        let list = get(client, &page).await.unwrap();
        assert_eq!(list["items"].as_array().unwrap().len(), 1);
        let map = json!({"metadata": {"name": format!("other{index}")}});
        send(client, "POST", CONFIG_MAPS, map).await.unwrap();
    }
    // The other lists of the attacker are refused, or wait to be read.
    while let Some(Some(answer)) = futures::FutureExt::now_or_never(answers.next()) {
        unread.push(answer.unwrap().unwrap());
    }
    for response in &unread {
        let status = response.status().as_u16();
        assert!(matches!(status, 200 | 429), "{status}");
    }
    drop(connections);
}
