//! A cluster with queues that other clients created: they are named before the first write, a preset that would change
//! them is refused, and nothing of the lab deletes them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kueue_lab_api::crds::{Conversion, by_kind};
use kueue_lab_api::v1beta2::ClusterQueue;
use serde_json::{Value, json};

use crate::external_cluster::{ExternalCluster, create};
use crate::lab_lifecycle::{PRESET, down, up_args, work_dir};
use crate::lab_process::wait_for;

const KINDS: [&str; 3] = ["ClusterQueue", "LocalQueue", "ResourceFlavor"];
const BASE: &str = "kueue.x-k8s.io/v1beta2";

/// A cluster with the definitions of [`KINDS`], and with the flavor and the queue of the preset by kubectl.
async fn cluster_with_queues(quota: &str) -> ExternalCluster {
    let cluster = ExternalCluster::start().await;
    let client = cluster.client();
    for kind in KINDS {
        let definition = by_kind("kueue.x-k8s.io", kind).unwrap();
        create(&client, definition.object(&Conversion::None)).await;
    }
    let kinds: Api<CustomResourceDefinition> = Api::all(client.clone());
    wait_for("the kinds are served", || async {
        let served = kinds.list(&ListParams::default()).await.unwrap();
        let established = served.items.iter().filter(|definition| {
            let conditions = definition
                .status
                .as_ref()
                .and_then(|s| s.conditions.as_ref());
            let mut conditions = conditions.into_iter().flatten();
            conditions.any(|c| c.type_ == "Established" && c.status == "True")
        });
        (established.count() == KINDS.len()).then_some(())
    })
    .await;
    apply(
        &client,
        "resourceflavors",
        json!({
            "apiVersion": BASE, "kind": "ResourceFlavor", "metadata": {"name": "gpu"},
            "spec": {"nodeLabels": {"kueue-lab.dev/pool": "gpu"}},
        }),
    )
    .await;
    apply(&client, "clusterqueues", json!({
        "apiVersion": BASE, "kind": "ClusterQueue", "metadata": {"name": "research"},
        "spec": {"namespaceSelector": {}, "resourceGroups": [{
            "coveredResources": ["nvidia.com/gpu"],
            "flavors": [{"name": "gpu", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": quota}]}],
        }]},
    }))
    .await;
    cluster
}

/// Applies an object as kubectl does.
async fn apply(client: &Client, plural: &str, object: Value) {
    let kind = object["kind"].as_str().unwrap();
    let gvk = kube::api::GroupVersionKind::gvk("kueue.x-k8s.io", "v1beta2", kind);
    let resource = kube::api::ApiResource::from_gvk_with_plural(&gvk, plural);
    let api: Api<kube::api::DynamicObject> = Api::all_with(client.clone(), &resource);
    let name = object["metadata"]["name"].as_str().unwrap();
    let params = PatchParams::apply("kubectl");
    api.patch(name, &params, &Patch::Apply(&object))
        .await
        .unwrap();
}

/// The names of the definitions and of the ClusterQueues.
async fn written(client: &Client) -> (Vec<String>, Vec<String>) {
    let kinds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let kinds = kinds.list(&ListParams::default()).await.unwrap().items;
    let queues: Api<ClusterQueue> = Api::all(client.clone());
    let queues = queues.list(&ListParams::default()).await.unwrap().items;
    (
        kinds.into_iter().filter_map(|d| d.metadata.name).collect(),
        queues.into_iter().filter_map(|q| q.metadata.name).collect(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_others_are_named_before_the_first_write() {
    let cluster = cluster_with_queues("8").await;
    let before = written(&cluster.client()).await;
    let dir = work_dir();
    let file = cluster.kubeconfig().display().to_string();
    let args: Vec<&str> = up_args(&file)
        .into_iter()
        .filter(|a| *a != "--yes")
        .collect();
    let output = dir.run(&args).await;
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{printed}");
    let named = "the cluster has objects of Kueue that the lab did not create: ClusterQueue/research (kubectl), \
                 ResourceFlavor/gpu (kubectl)\nthe lab deletes none of them";
    let asked = printed
        .find("nothing was written to cluster other")
        .unwrap();
    assert!(printed.find(named).unwrap() < asked, "{printed}");
    assert_eq!(written(&cluster.client()).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preset_that_would_change_objects_of_others_is_refused() {
    let cluster = cluster_with_queues("6").await;
    let before = written(&cluster.client()).await;
    let dir = work_dir();
    let file = cluster.kubeconfig().display().to_string();
    let output = dir.run(&up_args(&file)).await;
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{printed}");
    let refused = "ClusterQueue/research: the cluster has this object of kubectl with another value of \
                   spec.resourceGroups[0].flavors[0].resources[0].nominalQuota\nnothing was written to the cluster; \
                   rename the objects in a copy of the preset, start with --preset none";
    assert!(printed.contains(refused), "{printed}");
    assert!(!printed.contains("ResourceFlavor/gpu: "), "{printed}");
    assert_eq!(written(&cluster.client()).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_others_stay_when_the_lab_is_removed() {
    // The quota of the file is 8, a number.
    let cluster = cluster_with_queues("8").await;
    let client = cluster.client();
    let dir = work_dir();
    let file = cluster.kubeconfig().display().to_string();
    let queues: Api<ClusterQueue> = Api::all(client.clone());
    let lab = dir.start(&up_args(&file)).await;
    assert!(lab.log().contains("ClusterQueue/research (kubectl)"));
    // The queue leaves the preset, which prunes its own objects.
    let (_, local_queue) = PRESET.rsplit_once("---\n").unwrap();
    dir.write(
        "presets/p/queues.yaml",
        &local_queue.replace("lq", "second"),
    );
    let found = |name: &'static str| {
        let local: Api<kueue_lab_api::v1beta2::LocalQueue> =
            Api::namespaced(client.clone(), "default");
        async move { local.get_opt(name).await.unwrap().is_some() }
    };
    wait_for("the preset is applied again", || async {
        (found("second").await && !found("lq").await).then_some(())
    })
    .await;
    assert!(queues.get_opt("research").await.unwrap().is_some());
    assert_eq!(lab.stop().await, Some(0));
    let (code, printed) = down(&dir, &file).await;
    assert_eq!(code, Some(0), "{printed}");
    assert!(
        printed.contains("removed 1 objects of presets"),
        "{printed}"
    );
    let removed = dir
        .run(&[
            "uninstall",
            "--yes",
            "--context",
            "other",
            "--kubeconfig",
            &file,
        ])
        .await;
    let printed = String::from_utf8(removed.stderr).unwrap();
    assert!(removed.status.success(), "{printed}");
    assert!(queues.get_opt("research").await.unwrap().is_some());
}
