//! Cleanup of labs that were killed, interrupted or replaced as leader.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Client;
use kube::api::{Api, ListParams};
use kueue_lab_api::v1beta2::{ClusterQueue, LocalQueue, ResourceFlavor};

use crate::external_cluster::{ExternalCluster, create};
use crate::lab_lifecycle::{NODES, PRESET, count, down, job, up_args, work_dir};
use crate::lab_process::wait_for;

const TEAM: &str = "
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
";
const FLAVOR: &str = "
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: late}
";

async fn flavor(client: &Client, name: &str) -> bool {
    let flavors: Api<ResourceFlavor> = Api::all(client.clone());
    flavors.get_opt(name).await.unwrap().is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn down_removes_preset_objects_and_nothing_else() {
    let cluster = ExternalCluster::start().await;
    let client = cluster.client();
    let dir = work_dir();
    dir.write("presets/p/team.yaml", TEAM);
    let file = cluster.kubeconfig().display().to_string();
    let lab = dir.start(&up_args(&file)).await;
    create(&client, serde_json::json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "mine"},
    }))
    .await;
    // A Job holds quota, so the ClusterQueue keeps its finalizer.
    create(&client, job("running", 4, 100_000)).await;
    let queues: Api<ClusterQueue> = Api::all(client.clone());
    wait_for("the job is admitted", || async {
        let status = queues.get("research").await.unwrap().status;
        (status.admitted_workloads == 1).then_some(())
    })
    .await;
    let (code, printed) = down(&dir, &file).await;
    assert_eq!(code, Some(2), "{printed}");
    assert!(
        printed.contains("is still running on other; stop it first"),
        "{printed}"
    );
    queues.get("research").await.unwrap();
    lab.kill();
    let (code, printed) = down(&dir, &file).await;
    assert_eq!(code, Some(0), "{printed}");
    let expected = "removed 4 objects of presets, 2 virtual nodes and the fake resources of 0 real nodes from other";
    assert!(printed.contains(expected), "{printed}");
    assert_eq!(count::<ClusterQueue>(&client).await, 0);
    assert_eq!(count::<LocalQueue>(&client).await, 0);
    assert!(!flavor(&client, "gpu").await && flavor(&client, "mine").await);
    let namespaces: Api<Namespace> = Api::all(client.clone());
    wait_for("the namespaces are gone", || async {
        let left = namespaces.list(&ListParams::default()).await.unwrap();
        let names = left.items.into_iter().filter_map(|n| n.metadata.name);
        let left = names.filter(|n| n == "team" || n == "kueue-system").count();
        (left == 0).then_some(())
    })
    .await;
    // `up` creates all objects again.
    let lab = dir.start(&up_args(&file)).await;
    queues.get("research").await.unwrap();
    assert_eq!(lab.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_non_leader_can_be_interrupted() {
    let cluster = ExternalCluster::start().await;
    let dir = work_dir();
    let file = cluster.kubeconfig().display().to_string();
    let first = dir.start(&up_args(&file)).await;
    let second = dir.spawn(dir.command(&up_args(&file)));
    wait_for("the second waits", || async {
        second.log().contains("waiting: ").then_some(())
    })
    .await;
    let (code, log) = second.interrupted().await;
    assert_eq!(code, Some(1), "{log}");
    assert!(
        log.contains("error: interrupted before the lab was ready"),
        "{log}"
    );
    // The first lab's objects still exist.
    let client = cluster.client();
    create(&client, job("after", 4, 100_000)).await;
    let queues: Api<ClusterQueue> = Api::all(client);
    wait_for("the first admits", || async {
        let status = queues.get("research").await.unwrap().status;
        (status.admitted_workloads == 1).then_some(())
    })
    .await;
    assert_eq!(first.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_non_leader_does_not_apply_presets() {
    let cluster = ExternalCluster::start().await;
    let client = cluster.client();
    let (one, other) = (work_dir(), work_dir());
    other.write(
        "presets/p/queues.yaml",
        &PRESET.replace("nominalQuota: 8", "nominalQuota: 6"),
    );
    let far = cluster.kubeconfig().display().to_string();
    let near = cluster.direct_kubeconfig().display().to_string();
    let cut_off = one.start(&up_args(&far)).await;
    cluster.proxy.drop_connections();
    let leads = other.start(&up_args(&near)).await;
    cluster.proxy.resume();
    cut_off.wait_until_not_leader().await;
    let quota = || async {
        let queues: Api<ClusterQueue> = Api::all(client.clone());
        let queue = queues.get("research").await.unwrap();
        let quotas = &queue.spec.resource_groups[0].flavors[0].resources[0];
        serde_json::to_value(&quotas.nominal_quota).unwrap()
    };
    one.write("presets/p/late.yaml", FLAVOR);
    one.write("nodes.yaml", &NODES.replace("count: 2", "count: 3"));
    wait_for("the first has read its folder", || async {
        cut_off.log().contains("3 nodes applied").then_some(())
    })
    .await;
    assert_eq!(quota().await, "6");
    assert!(!flavor(&client, "late").await);
    assert_eq!(leads.stop().await, Some(0));
    // It leads again and applies its current files.
    wait_for("the first applies its preset", || async {
        (flavor(&client, "late").await && quota().await == "8").then_some(())
    })
    .await;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "kueue-system");
    maps.get("kueue-lab-presets").await.unwrap();
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kueue-lab-system");
    assert_eq!(
        leases
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .len(),
        1
    );
    assert_eq!(cut_off.stop().await, Some(0));
}
