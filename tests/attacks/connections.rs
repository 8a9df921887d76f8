//! Connections that are held without a request of a user.

use kube::Client;

use super::connection::Attacker;
use super::server_fixture::{get, serve};

/// More than the server accepts at the same time.
const CONNECTIONS: usize = 1100;

#[tokio::test(flavor = "multi_thread")]
async fn connections_without_a_user_do_not_keep_others_out() {
    let served = serve().await;
    let client: Client = served.administrator().await;
    get(&client, "/version").await.unwrap();
    let mut held: Vec<Attacker> = Vec::new();
    for _ in 0..CONNECTIONS {
        held.push(served.connect().await);
    }
    // The connection of a user stays, and a new one is accepted.
    get(&client, "/api/v1/namespaces/test").await.unwrap();
    let new_client = served.administrator().await;
    get(&new_client, "/api/v1/namespaces/test").await.unwrap();
    assert!(held.remove(0).closes().await, "the oldest makes room");
}
