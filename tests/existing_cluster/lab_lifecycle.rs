//! A lab on an existing cluster: queues, virtual nodes, admission, presets.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Pod};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use kube::{Client, Resource};
use kueue_lab_api::v1beta2::ClusterQueue;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::external_cluster::{ExternalCluster, create};
use crate::lab_process::{RunningLab, WorkDir, wait_for};

/// One queue for 8 GPUs on nodes of pool `gpu`.
pub(crate) const PRESET: &str = "\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: gpu}
spec:
  nodeLabels: {kueue-lab.dev/pool: gpu}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: research}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: gpu
      resources: [{name: nvidia.com/gpu, nominalQuota: 8}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: default}
spec: {clusterQueue: research}
";

/// Two nodes of 8 GPUs each.
pub(crate) const NODES: &str = "\
- name: gpu
  count: 2
  resources: {cpu: 16, memory: 64Gi, nvidia.com/gpu: 8}
";

/// A working directory with that preset and those nodes.
pub(crate) fn work_dir() -> WorkDir {
    let dir = WorkDir::new();
    dir.write("presets/p/queues.yaml", PRESET);
    dir.write("nodes.yaml", NODES);
    dir
}

/// A command for the cluster, without confirmation.
pub(crate) fn with_context<'a>(command: &'a str, kubeconfig: &'a str) -> Vec<&'a str> {
    let place = ["--cluster", "context:other", "--kubeconfig", kubeconfig];
    [&[command, "--yes"][..], &place].concat()
}

/// The arguments of `up`.
pub(crate) fn up_args(kubeconfig: &str) -> Vec<&str> {
    let mut args = with_context("up", kubeconfig);
    args.extend(["--headless", "--nodes", "nodes.yaml"]);
    args.extend(["--presets-dir", "presets", "--preset", "p"]);
    args
}

/// Runs `down`; returns the exit code and the output.
pub(crate) async fn down(dir: &WorkDir, kubeconfig: &str) -> (Option<i32>, String) {
    let output = dir.run(&with_context("down", kubeconfig)).await;
    let printed = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code(), printed.concat())
}

/// The number of objects of a kind in the cluster.
pub(crate) async fn count<K>(client: &Client) -> usize
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
{
    let api: Api<K> = Api::all(client.clone());
    api.list(&ListParams::default()).await.unwrap().items.len()
}

impl RunningLab {
    /// Waits until the lab has lost the leadership and waits for the new leader.
    pub(crate) async fn wait_until_not_leader(&self) {
        wait_for("another lab is the leader", || async {
            let log = self.log();
            let after = log.split("lost leadership").nth(1)?;
            after.contains("is the leader; waiting").then_some(())
        })
        .await;
    }
}

/// A queued Job of one pod with GPUs that runs for some seconds.
pub(crate) fn job(name: &str, gpus: u32, seconds: u32) -> Value {
    let amounts = json!({"nvidia.com/gpu": gpus.to_string()});
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {
            "namespace": "default", "name": name,
            "labels": {"kueue.x-k8s.io/queue-name": "lq"},
        },
        "spec": {"suspend": true, "template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{
                "name": "c", "image": "busybox", "command": ["sleep", seconds.to_string()],
                "resources": {"requests": amounts, "limits": amounts},
            }],
        }}},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_run_one_after_another_on_virtual_nodes() {
    let cluster = ExternalCluster::start().await;
    let client = cluster.client();
    let dir = work_dir();
    let file = cluster.kubeconfig().display().to_string();
    let lab = dir.start(&up_args(&file)).await;
    let jobs: Api<Job> = Api::namespaced(client.clone(), "default");
    create(&client, job("first", 8, 2)).await;
    wait_for("the first is admitted", || async {
        let spec = jobs.get("first").await.unwrap().spec.unwrap();
        (spec.suspend == Some(false)).then_some(())
    })
    .await;
    create(&client, job("second", 8, 1)).await;
    for name in ["first", "second"] {
        wait_for(&format!("{name} is complete"), || async {
            let status = jobs.get(name).await.unwrap().status?;
            (status.succeeded == Some(1)).then_some(())
        })
        .await;
    }
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let mut spans = Vec::new();
    for pod in pods.list(&ListParams::default()).await.unwrap() {
        let node = pod.spec.unwrap().node_name.unwrap();
        assert!(node.starts_with("gpu-"), "{node}");
        let status = pod.status.unwrap().container_statuses.unwrap().remove(0);
        let ended = status.state.unwrap().terminated.unwrap();
        spans.push((ended.started_at.unwrap().0, ended.finished_at.unwrap().0));
    }
    spans.sort();
    assert!(spans[0].1 <= spans[1].0, "both ran at once: {spans:?}");
    assert_eq!(lab.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn preset_changes_are_applied_and_survive_a_restart() {
    let cluster = ExternalCluster::start().await;
    let client = cluster.client();
    let dir = work_dir();
    let file = cluster.kubeconfig().display().to_string();
    let lab = dir.start(&up_args(&file)).await;
    let queues: Api<ClusterQueue> = Api::all(client.clone());
    let quota = |queue: &ClusterQueue| {
        let group = &queue.spec.resource_groups[0];
        serde_json::to_value(&group.flavors[0].resources[0].nominal_quota).unwrap()
    };
    assert_eq!(quota(&queues.get("research").await.unwrap()), "8");
    dir.write(
        "presets/p/queues.yaml",
        &PRESET.replace("nominalQuota: 8", "nominalQuota: 16"),
    );
    wait_for("the quota follows the file", || async {
        let queue = queues.get("research").await.unwrap();
        (quota(&queue) == "16").then_some(())
    })
    .await;
    // Objects of the user, which the lab leaves alone.
    create(&client, json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "mine"},
    }))
    .await;
    // The killed lab's webhooks and Lease remain for a while.
    lab.kill();
    let renamed = PRESET.replace("name: research", "name: science");
    dir.write(
        "presets/p/queues.yaml",
        &renamed.replace("clusterQueue: research", "clusterQueue: science"),
    );
    dir.write("nodes.yaml", &NODES.replace("count: 2", "count: 1"));
    let lab = dir.start(&up_args(&file)).await;
    wait_for("the removed ClusterQueue is pruned", || async {
        queues
            .get_opt("research")
            .await
            .unwrap()
            .is_none()
            .then_some(())
    })
    .await;
    queues.get("science").await.unwrap();
    let flavors: Api<kueue_lab_api::v1beta2::ResourceFlavor> = Api::all(client.clone());
    flavors.get("mine").await.unwrap();
    let nodes: Api<Node> = Api::all(client);
    let names: Vec<_> = nodes.list(&ListParams::default()).await.unwrap().items;
    let names: Vec<_> = names
        .into_iter()
        .map(|n| n.metadata.name.unwrap())
        .collect();
    assert_eq!(names, ["gpu-0", "worker-0", "worker-1"]);
    assert_eq!(lab.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_with_other_objects_is_kept() {
    let cluster = ExternalCluster::start().await;
    let client = cluster.client();
    let dir = work_dir();
    let namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n";
    dir.write("presets/p/team.yaml", namespace);
    let file = cluster.kubeconfig().display().to_string();
    let lab = dir.start(&up_args(&file)).await;
    create(
        &client,
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "team", "name": "mine"}}),
    )
    .await;
    std::fs::remove_file(dir.path().join("presets/p/team.yaml")).unwrap();
    wait_for("the lab logs the reason", || async {
        let printed = lab.log().contains("it still holds 1 Secrets");
        printed.then_some(())
    })
    .await;
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client);
    let team = namespaces.get("team").await.unwrap();
    assert_eq!(team.metadata.deletion_timestamp, None);
    assert_eq!(lab.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminating_namespace_is_recreated() {
    let cluster = ExternalCluster::start().await;
    let client = cluster.client();
    create(
        &client,
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kueue-lab-system"}}),
    )
    .await;
    create(
        &client,
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "namespace": "kueue-lab-system", "name": "last",
                "finalizers": ["example.com/held"],
            },
        }),
    )
    .await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces
        .delete("kueue-lab-system", &DeleteParams::default())
        .await
        .unwrap();
    let held = Api::<ConfigMap>::namespaced(client.clone(), "kueue-lab-system");
    wait_for("the namespace is terminating", || async {
        let last = held.get("last").await.unwrap();
        last.metadata.deletion_timestamp.map(drop)
    })
    .await;
    let dir = work_dir();
    let file = cluster.kubeconfig().display().to_string();
    let starting = dir.spawn(dir.command(&up_args(&file)));
    wait_for("the lab waits for it", || async {
        starting
            .log()
            .contains("kueue-lab-system is terminating")
            .then_some(())
    })
    .await;
    let none = json!({"metadata": {"finalizers": null}});
    held.patch("last", &PatchParams::default(), &Patch::Merge(none))
        .await
        .unwrap();
    let lab = starting.ready().await;
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kueue-lab-system");
    assert!(
        !leases
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );

    // A running lab recreates the namespace after its deletion.
    let before = namespaces
        .get("kueue-lab-system")
        .await
        .unwrap()
        .metadata
        .uid;
    namespaces
        .delete("kueue-lab-system", &DeleteParams::default())
        .await
        .unwrap();
    create(&client, job("first", 8, 1)).await;
    let jobs: Api<Job> = Api::namespaced(client.clone(), "default");
    wait_for("the namespace is recreated and jobs run", || async {
        let there = namespaces.get_opt("kueue-lab-system").await.unwrap()?;
        let status = jobs.get("first").await.unwrap().status?;
        (there.metadata.uid != before && status.succeeded == Some(1)).then_some(())
    })
    .await;
    assert_eq!(lab.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_api_server_is_logged_once() {
    let cluster = ExternalCluster::start().await;
    let dir = work_dir();
    let file = cluster.kubeconfig().display().to_string();
    let lab = dir.start(&up_args(&file)).await;
    let before = lab.log().lines().count();
    cluster.proxy.stop_listening().await;
    wait_for("the failure is logged", || async {
        let log = lab.log();
        let expected = "WARN the API server of other (https://127.0.0.1:";
        (log.contains(expected) && log.contains(") does not answer: ")).then_some(())
    })
    .await;
    cluster.proxy.listen_again().await;
    wait_for("the recovery is logged", || async {
        lab.log().contains(") answers again, after ").then_some(())
    })
    .await;
    // Single requests can succeed earlier, and the Lease can expire; but there is not one line per
    // request.
    let lines = lab.log().lines().count() - before;
    assert!(lines < 12, "{}", lab.log());
    assert_eq!(lab.stop().await, Some(0));
}
