//! The process is killed while clients write.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kube::Client;
use serde_json::{Value, json};

use crate::lab_process::{RunningLab, WorkDir};
use crate::requests::{client, get, send};

const PATH: &str = "/api/v1/namespaces/default/configmaps";
const CLIENTS: u64 = 4;
const NAMES: u64 = 5;

/// The number of kills.
fn kills() -> u64 {
    let count = std::env::var("KUEUE_LAB_KILLS").ok();
    count.map_or(8, |count| count.parse().unwrap())
}

/// The resourceVersion and value of an object; `None` if it does not exist.
type Known = Option<(u64, u64)>;

/// The writes of one client.
#[derive(Clone, Debug, Default)]
struct AcknowledgedWrites {
    acknowledged: BTreeMap<String, Known>,
    /// The write without a response: its object, and the value, or `None` for a deletion.
    without_response: Option<(String, Option<u64>)>,
}

async fn start(dir: &WorkDir) -> RunningLab {
    let args = ["up", "--headless", "--preset", "none", "--data-dir", "data"];
    dir.start(&[&args[..], &["--controller", "none"]].concat())
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_writes_survive_kill_9() {
    let dir = WorkDir::new();
    let mut clients = vec![AcknowledgedWrites::default(); CLIENTS as usize];
    let mut value = 0;
    for kill in 0..kills() {
        let lab = start(&dir).await;
        check(&client(&lab).await, &mut clients).await;
        let written = Arc::new(AtomicU64::new(0));
        let mut writing = Vec::new();
        for (number, writes) in clients.drain(..).enumerate() {
            let client = client(&lab).await;
            value += 1_000_000;
            writing.push(tokio::spawn(write_until_killed(
                client,
                number,
                writes,
                value,
                written.clone(),
            )));
        }
        // After another number of writes each time.
        let until = 10 + kill * 37 % 150;
        while written.load(Ordering::Relaxed) < until {
            tokio::task::yield_now().await;
        }
        lab.kill();
        for writing in writing {
            clients.push(writing.await.unwrap());
        }
        let without_response = clients
            .iter()
            .filter(|c| c.without_response.is_some())
            .count();
        assert_eq!(without_response, clients.len(), "each client was writing");
    }
    let lab = start(&dir).await;
    check(&client(&lab).await, &mut clients).await;
}

/// Creates, replaces and deletes objects until a write has no response.
async fn write_until_killed(
    client: Client,
    number: usize,
    mut known: AcknowledgedWrites,
    mut value: u64,
    written: Arc<AtomicU64>,
) -> AcknowledgedWrites {
    loop {
        value += 1;
        let name = format!("c{number}-{}", value % NAMES);
        let path = format!("{PATH}/{name}");
        let exists = known.acknowledged.get(&name).copied().flatten().is_some();
        let deletes = exists && value.is_multiple_of(7);
        let body = json!({"metadata": {"name": name}, "data": {
            "value": value.to_string(),
            "filler": "x".repeat((value % 5000) as usize),
        }});
        known.without_response = Some((name.clone(), (!deletes).then_some(value)));
        let response = match (exists, deletes) {
            (_, true) => send(&client, "DELETE", &path, &Value::Null).await,
            (true, false) => send(&client, "PUT", &path, &body).await,
            (false, false) => send(&client, "POST", PATH, &body).await,
        };
        match response {
            Ok(object) => {
                let stored = (!deletes).then(|| (revision(&object), value));
                known.acknowledged.insert(name, stored);
                known.without_response = None;
                written.fetch_add(1, Ordering::Relaxed);
            }
            Err(kube::Error::Api(status)) => panic!("{status:?}"),
            Err(_) => return known,
        }
    }
}

fn revision(object: &Value) -> u64 {
    let revision = object["metadata"]["resourceVersion"].as_str().unwrap();
    revision.parse().unwrap()
}

/// Compares the objects of a started lab with the writes of the clients.
async fn check(client: &Client, clients: &mut [AcknowledgedWrites]) {
    let list = get(client, PATH).await;
    let mut found = BTreeMap::new();
    for item in list["items"].as_array().unwrap() {
        let name = item["metadata"]["name"].as_str().unwrap();
        if let Some(value) = item["data"]["value"].as_str() {
            let filler = item["data"]["filler"].as_str().unwrap();
            let value: u64 = value.parse().unwrap();
            assert_eq!(filler.len() as u64, value % 5000, "{name} is complete");
            found.insert(name.to_owned(), (revision(item), value));
        }
    }
    for writes in clients.iter_mut() {
        if let Some((name, value)) = writes.without_response.take() {
            let before = writes.acknowledged.get(&name).copied().flatten();
            let now = found.get(&name).copied();
            let is_stored = now.map(|(_, value)| value) == value;
            assert!(
                now == before || is_stored,
                "{name}: {before:?}, {value:?}, {now:?}"
            );
            writes.acknowledged.insert(name, now);
        }
        for (name, expected) in &writes.acknowledged {
            assert_eq!(found.remove(name), *expected, "{name}");
        }
    }
    assert!(found.is_empty(), "{found:?}");
}
