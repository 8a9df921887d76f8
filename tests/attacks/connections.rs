//! Connections that are held or opened without a request of a user, and clients that open many at once.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;
use kube::Client;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::connection::{Attacker, answer};
use super::server_fixture::{get, serve};

/// More than the server serves without a user at the same time.
const IDLE: usize = 600;
/// More than may wait for their first byte at the same time.
const FLOOD: usize = 6000;
/// Connections that one part of the flood holds.
const HELD: usize = 500;
/// Clients with a connection each that send a request at once.
const CLIENTS: usize = 500;

#[tokio::test(flavor = "multi_thread")]
async fn connections_without_a_user_do_not_keep_others_out() {
    kueue_lab_http::raise_descriptor_limit();
    let served = serve().await;
    let client: Client = served.administrator().await;
    get(&client, "/version").await.unwrap();
    let mut idle = JoinSet::new();
    let address = served.handle.addr();
    for _ in 0..IDLE {
        idle.spawn(async move { Attacker::connect(address).await.closes().await });
    }
    // One of them makes room for another, which is none of a user.
    assert!(idle.join_next().await.unwrap().unwrap());
    get(&client, "/api/v1/namespaces/test").await.unwrap();
    let new_client = served.administrator().await;
    get(&new_client, "/api/v1/namespaces/test").await.unwrap();
}

/// Opens connections and sends nothing, until `total` connections are opened.
async fn flood(address: SocketAddr, opened: Arc<AtomicUsize>, total: usize) {
    let mut held = std::collections::VecDeque::new();
    while opened.fetch_add(1, Ordering::Relaxed) < total {
        if let Ok(stream) = TcpStream::connect(address).await {
            held.push_back(stream);
        }
        if held.len() > HELD {
            held.pop_front();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_connections_without_a_byte_fails_no_request_of_users() {
    kueue_lab_http::raise_descriptor_limit();
    let served = serve().await;
    let rules =
        serde_json::json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]);
    let token = served.account_token("user", rules).await;
    let opened = Arc::new(AtomicUsize::new(0));
    let mut attack = JoinSet::new();
    for _ in 0..2 {
        attack.spawn(flood(served.handle.addr(), opened.clone(), FLOOD));
    }
    let path = "/api/v1/namespaces/test/configmaps";
    let mut requests = 0;
    while opened.load(Ordering::Relaxed) < FLOOD {
        // Each request has a connection of its own.
        let administrator = served.administrator().await;
        let user = Client::try_from(served.config(Some(&token)).await).unwrap();
        let (first, second) = tokio::join!(get(&administrator, path), get(&user, path));
        first.unwrap();
        second.unwrap();
        requests += 2;
    }
    assert!(requests > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_connect_at_the_same_time_are_all_served() {
    kueue_lab_http::raise_descriptor_limit();
    let served = serve().await;
    let rules =
        serde_json::json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]);
    let token: Arc<str> = served.account_token("user", rules).await.into();
    let address = served.handle.addr();
    let clients = (0..CLIENTS).map(|_| {
        let token = token.clone();
        tokio::spawn(async move {
            let mut connection = Attacker::connect(address).await;
            let path = "/api/v1/namespaces/test/configmaps/none";
            let (body, response) = connection.request("GET", path, Some(&token));
            drop(body);
            answer(response).await.0
        })
    });
    let mut statuses: Vec<u16> = Vec::new();
    for status in join_all(clients.collect::<Vec<_>>()).await {
        statuses.push(status.unwrap());
    }
    // Requests above the seats of the user get 429; no connection is reset.
    assert!(statuses.iter().all(|status| [404, 429].contains(status)));
}
