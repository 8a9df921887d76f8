//! Writes to durable storage that fills up, fails and recovers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kube::Client;
use kube::api::{Api, DeleteParams, PostParams, WatchParams};
use kueue_lab_apiserver::storage::{Change, Persistence, PersistenceError, RestoredState};
use kueue_lab_apiserver::{ApiServer, Credentials};
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use serde_json::{Value, json};

use super::server_fixture::{config_map, error_status, get, send};

/// A disk with room for a number of objects.
#[derive(Clone, Debug)]
struct SmallDisk {
    free: Arc<AtomicUsize>,
}

impl Persistence for SmallDisk {
    fn commit(&mut self, changes: &[Change]) -> Result<(), PersistenceError> {
        let puts = changes.iter().filter(|c| matches!(c, Change::Put { .. }));
        let needed = puts.count();
        let free = self.free.load(Ordering::SeqCst);
        if needed > free {
            return Err(self.full());
        }
        let freed = changes.len() - needed;
        self.free.store(free - needed + freed, Ordering::SeqCst);
        Ok(())
    }

    fn recover(&mut self) -> Result<(), PersistenceError> {
        match self.free.load(Ordering::SeqCst) {
            0 => Err(self.full()),
            _ => Ok(()),
        }
    }
}

impl SmallDisk {
    fn full(&self) -> PersistenceError {
        PersistenceError::Full("the disk of /data is full; free space".into())
    }
}

/// A server whose bootstrap objects are stored, and its disk.
async fn server(free: usize) -> (Client, SmallDisk) {
    let disk = SmallDisk {
        free: Arc::new(AtomicUsize::new(usize::MAX)),
    };
    let builder = ApiServer::builder(Clock::real(), Entropy::seeded(1));
    let credentials = Credentials::generate().unwrap();
    let server = builder.build_durable(
        &credentials,
        RestoredState::default(),
        Box::new(disk.clone()),
    );
    let client = server.unwrap().client();
    // A write is durable after all before it.
    let map = config_map("first", "1");
    let maps: Api<_> = Api::namespaced(client.clone(), "default");
    maps.create(&PostParams::default(), &map).await.unwrap();
    disk.free.store(free, Ordering::SeqCst);
    (client, disk)
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_writes_and_loses_nothing() {
    let (client, disk) = server(1).await;
    send(&client, "POST", MAPS, map("a")).await.unwrap();
    let list = get(&client, MAPS).await.unwrap();
    let revision = list["metadata"]["resourceVersion"].as_str().unwrap();
    let maps: Api<k8s_openapi::api::core::v1::ConfigMap> =
        Api::namespaced(client.clone(), "default");
    let events = maps.watch(&WatchParams::default(), revision).await.unwrap();
    let replaced = json!({"metadata": {"name": "a"}, "data": {"x": "y"}});
    for (method, path, body) in [
        ("POST", MAPS.to_owned(), map("b")),
        ("PUT", format!("{MAPS}/a"), replaced),
    ] {
        let refused = error_status(send(&client, method, &path, body).await);
        assert_eq!(
            (refused.code, &*refused.reason),
            (507, "InsufficientStorage")
        );
        assert_eq!(refused.message, "the disk of /data is full; free space");
    }
    // Reads return what is stored.
    let now = get(&client, MAPS).await.unwrap();
    assert_eq!(now["items"], list["items"]);
    assert_eq!(
        error_status(get(&client, &format!("{MAPS}/b")).await).code,
        404
    );
    // A deletion is possible, and makes space.
    let deleted = maps.delete("a", &DeleteParams::default()).await;
    assert!(deleted.is_ok(), "{deleted:?}");
    assert_eq!(disk.free.load(Ordering::SeqCst), 1);
    let created = loop {
        match send(&client, "POST", MAPS, map("c")).await {
            Ok(created) => break created,
            Err(kube::Error::Api(status)) if status.code == 507 => {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(created["metadata"]["name"], "c");
    // The watch has seen the stored changes only.
    use futures::{StreamExt, pin_mut};
    pin_mut!(events);
    let mut seen = Vec::new();
    while seen.len() < 2 {
        let (kind, object) = match events.next().await.unwrap().unwrap() {
            kube::core::WatchEvent::Added(o) => ("ADDED", o),
            kube::core::WatchEvent::Deleted(o) => ("DELETED", o),
            other => panic!("{other:?}"),
        };
        seen.push((kind, object.metadata.name.unwrap()));
    }
    assert_eq!(
        seen,
        [("DELETED", "a".to_owned()), ("ADDED", "c".to_owned())]
    );
}

/// The kind of a CustomResourceDefinition that is refused is not served.
#[tokio::test(flavor = "multi_thread")]
async fn kinds_follow_reverted_definitions() {
    let (client, disk) = server(0).await;
    let definition = json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "singular": "widget"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let refused = send(&client, "POST", crds, definition.clone()).await;
    assert_eq!(error_status(refused).code, 507);
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    assert_eq!(error_status(get(&client, widgets).await).code, 404);
    disk.free.store(100, Ordering::SeqCst);
    loop {
        match send(&client, "POST", crds, definition.clone()).await {
            Ok(_) => break,
            Err(kube::Error::Api(status)) if status.code == 507 => {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
    get(&client, widgets).await.unwrap();
}
