//! Kinds of `multiKueue.externalFrameworks`, whose Workloads another controller creates.

use std::future::Future;

use kueue_lab_api::config::MultiKueueExternalFramework;
use serde_json::{Value, json};

use crate::fixture::{Fixture, On, configuration, with_config};
use crate::objects::{KindNames, check};

const THING: KindNames<'_> = KindNames {
    group: "example.com",
    version: "v1",
    kind: "Thing",
    plural: "things",
};

fn with_things<F: Future<Output = Fixture>>(test: impl FnOnce(Fixture) -> F) {
    let external = |config: &mut _| {
        let configuration = configuration(config);
        let multi_kueue = configuration.multi_kueue.as_mut().unwrap();
        multi_kueue
            .external_frameworks
            .push(MultiKueueExternalFramework {
                name: "Thing.v1.example.com".to_owned(),
            });
        let integrations = configuration.integrations.as_mut().unwrap();
        integrations
            .external_frameworks
            .push("Thing.v1.example.com".to_owned());
    };
    with_config(2, external, |f| async move {
        for on in [On::Manager, On::Worker(1), On::Worker(2)] {
            f.define(on, &THING).await;
        }
        // A worker is watched for the kinds that the manager serves when it is connected.
        for worker in [1, 2] {
            for connected in [false, true] {
                f.set_network(worker, connected).await;
                let name = format!("worker{worker}");
                let status = if connected { "True" } else { "False" };
                f.until(On::Manager, "MultiKueueCluster", &name, |c| {
                    c["status"]["conditions"][0]["status"] == status
                })
                .await;
            }
        }
        test(f).await
    });
}

/// Creates a Thing that an object of the manager owns, and its Workload.
async fn create(f: &Fixture, managed_by: &str) {
    let thing = json!({
        "apiVersion": "example.com/v1", "kind": "Thing",
        "metadata": {
            "name": "a", "namespace": "default",
            "labels": {"kueue.x-k8s.io/queue-name": "lq"},
            "finalizers": ["example.com/finalizer"],
        },
        "spec": {"managedBy": managed_by, "size": 3},
    });
    f.apply(On::Manager, &thing.to_string()).await;
    let created = f.find(On::Manager, "Thing", "a").await.unwrap();
    let owner = json!({
        "apiVersion": "example.com/v1", "kind": "Thing", "name": "a",
        "uid": created["metadata"]["uid"], "controller": true,
    });
    let container = json!({"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}});
    let workload = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
        "metadata": {"name": "thing-a", "namespace": "default", "ownerReferences": [owner]},
        "spec": {"queueName": "lq", "podSets": [{
            "name": "main", "count": 1,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        }]},
    });
    f.apply(On::Manager, &workload.to_string()).await;
}

#[test]
fn a_thing_is_created_in_the_worker_and_its_status_copied() {
    with_things(|f| async move {
        f.set_quota(On::Worker(1), 0).await;
        create(&f, "kueue.x-k8s.io/multikueue").await;
        f.until(On::Manager, "Workload", "thing-a", |wl| {
            wl["status"]["clusterName"] == "worker2"
        })
        .await;
        let remote = f.until(On::Worker(2), "Thing", "a", |_| true).await;
        assert_eq!(remote["spec"], json!({"size": 3}));
        assert_eq!(remote["metadata"]["finalizers"], Value::Null);
        let labels = &remote["metadata"]["labels"];
        assert_eq!(labels["kueue.x-k8s.io/multikueue-origin"], "multikueue");
        assert!(f.find(On::Worker(1), "Thing", "a").await.is_none());
        let status = json!({"phase": "Running", "replicas": 3});
        f.patch_status(On::Worker(2), "Thing", "a", status.clone())
            .await;
        f.until(On::Manager, "Thing", "a", |thing| thing["status"] == status)
            .await;
        // The job is deleted with the Workload of the manager.
        f.delete(On::Manager, "Workload", "thing-a").await;
        f.until_gone(On::Worker(2), "Thing", "a").await;
        f.until_gone(On::Worker(2), "Workload", "thing-a").await;
        f
    });
}

#[test]
fn a_thing_of_another_controller_is_rejected() {
    with_things(|f| async move {
        create(&f, "example.com/own").await;
        let rejected = f
            .until(On::Manager, "Workload", "thing-a", |wl| {
                check(wl).is_some_and(|c| c.starts_with("Rejected"))
            })
            .await;
        let message = check(&rejected).unwrap();
        let reason = "Rejected: The owner is not managed by Kueue: Expecting .spec.managedBy to be \"kueue.x-k8s.io/multikueue\" not \"example.com/own\"";
        assert!(message.starts_with(reason), "{message}");
        f
    });
}
