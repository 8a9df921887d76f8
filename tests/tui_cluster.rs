//! The terminal UI on a live cluster, without a terminal: created objects are shown, and missing kinds
//! are reported.

#![allow(clippy::unwrap_used, reason = "a test that fails reports its position")]

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use kueue_lab_api::crds;
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_lab::managed_job_definition;
use kueue_lab_tui::backend::Backend;
use kueue_lab_tui::model::{ObjectKey, ObjectRef, SkyPilotCluster};
use kueue_lab_tui::screen_dump::{svg, text};
use kueue_lab_tui::{
    Colours, SampleJob, TuiConfig, cancel_managed_job, capture, delete_object, submit_job,
};
use ratatui::buffer::Buffer;
use serde::Deserialize;
use serde_json::{Value, json};

fn cluster() -> Client {
    let server = ApiServer::builder(Clock::real(), Entropy::seeded(1)).build();
    server.client()
}

async fn with_kueue() -> Client {
    let client = cluster();
    let yaml = crds::all_yaml(&crds::Conversion::None).unwrap();
    for document in serde_yaml::Deserializer::from_str(&yaml) {
        create(&client, Value::deserialize(document).unwrap()).await;
    }
    client
}

fn api(client: &Client, object: &Value) -> Api<DynamicObject> {
    let (version, kind) = (
        object["apiVersion"].as_str().unwrap(),
        object["kind"].as_str().unwrap(),
    );
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

async fn create(client: &Client, object: Value) {
    let made = serde_json::from_value(object.clone()).unwrap();
    let api = api(client, &object);
    api.create(&PostParams::default(), &made).await.unwrap();
    if let Some(status) = object
        .get("status")
        .filter(|_| object["kind"] == "Workload")
    {
        let patch = Patch::Merge(json!({ "status": status }));
        let name = object["metadata"]["name"].as_str().unwrap();
        api.patch_status(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
}

async fn screen(client: &Client, keys: &[&str]) -> Buffer {
    let backend = Backend::of_cluster(client.clone());
    let config = TuiConfig {
        cluster: "test".to_owned(),
        colours: Colours::Always,
        ascii: Some(false),
        ..TuiConfig::new(backend, Clock::real())
    };
    capture(config, 120, 30, keys, 120).await.unwrap()
}

async fn queues(client: &Client) {
    let kueue = "kueue.x-k8s.io/v1beta2";
    create(
        client,
        json!({"apiVersion": kueue, "kind": "ResourceFlavor", "metadata": {"name": "h100"}}),
    )
    .await;
    create(client, json!({
        "apiVersion": kueue, "kind": "ClusterQueue", "metadata": {"name": "research"},
        "spec": {"cohortName": "team", "namespaceSelector": {}, "resourceGroups": [{
            "coveredResources": ["nvidia.com/gpu"],
            "flavors": [{"name": "h100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "8"}]}]}]},
    })).await;
    create(client, json!({
        "apiVersion": kueue, "kind": "LocalQueue", "metadata": {"namespace": "default", "name": "lq"},
        "spec": {"clusterQueue": "research"},
    })).await;
}

#[tokio::test]
async fn a_cluster_without_kueue_is_distinguished_from_an_empty_one() {
    let picture = text(&screen(&cluster(), &[]).await);
    assert!(
        picture.contains("is Kueue (v1beta2) installed?"),
        "{picture}"
    );
    let picture = text(&screen(&with_kueue().await, &[]).await);
    assert!(picture.contains("No ClusterQueues."), "{picture}");
}

#[tokio::test]
async fn created_objects_are_shown_with_their_reason() {
    let client = with_kueue().await;
    queues(&client).await;
    create(&client, json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
        "metadata": {"namespace": "default", "name": "job-train"},
        "spec": {"queueName": "lq", "podSets": [{"name": "main", "count": 1, "template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"nvidia.com/gpu": "16"}}}]}}}]},
        "status": {"conditions": [{"type": "QuotaReserved", "status": "False", "reason": "ExceedsMaxQuota",
            "lastTransitionTime": "2026-03-02T12:00:00Z",
            "message": "couldn't assign flavors to pod set main: insufficient quota for nvidia.com/gpu in flavor h100, previously considered podsets requests (0) + current podset request (16) > maximum capacity (8)"}]},
    })).await;
    let picture = text(&screen(&client, &[]).await);
    assert!(picture.contains("cohort team"), "{picture}");
    assert!(picture.contains("0/8"), "{picture}");
    let buffer = screen(&client, &["2"]).await;
    let picture = text(&buffer);
    assert!(
        picture.contains("never: 16 gpu > maximum 8 in h100"),
        "{picture}"
    );
    let picture = svg(&buffer);
    assert!(picture.starts_with("<svg") && picture.contains("job-train"));
}

#[tokio::test]
async fn samples_are_submitted_and_deleted() {
    let client = with_kueue().await;
    queues(&client).await;
    let sample = SampleJob {
        queue: ObjectKey::new("default", "lq"),
        pods: 2,
        requests: vec![("nvidia.com/gpu".to_owned(), "1".to_owned())],
        priority_class: None,
        seconds: 5,
        copies: 1,
    };
    let message = submit_job(&client, &sample).await.unwrap();
    let name = message.split(' ').nth(2).unwrap().to_owned();
    let job = ObjectRef {
        api_version: "batch/v1".to_owned(),
        kind: "Job".to_owned(),
        key: ObjectKey::new("default", &name),
    };
    assert_eq!(
        delete_object(&client, &job).await.unwrap(),
        format!("deleted Job default/{name}")
    );
    let absurd = SampleJob {
        requests: vec![("cpu".to_owned(), "-1".to_owned())],
        ..sample
    };
    let error = submit_job(&client, &absurd).await.unwrap_err().to_string();
    assert!(
        error.contains("must be greater than or equal to 0"),
        "{error}"
    );
}

#[tokio::test]
async fn a_managed_job_is_cancelled_instead_of_its_pods_deleted() {
    let client = cluster();
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "default", "name": "job1-1-head"},
        "spec": {"containers": [{"name": "c", "image": "i"}]}});
    create(&client, pod.clone()).await;
    let cluster = SkyPilotCluster {
        name: "job1-1-5c1e".to_owned(),
        pods: vec![ObjectRef {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            key: ObjectKey::new("default", "job1-1-head"),
        }],
    };
    create(&client, managed_job_definition()).await;
    let job = |name: &str, id: u64| {
        json!({"apiVersion": "skypilot.kueue-lab.dev/v1alpha1", "kind": "ManagedJob",
            "metadata": {"name": format!("job-{name}")}, "spec": {"name": name},
            "status": {"job": {"id": id, "name": name, "cluster": format!("{name}-{id}-5c1e")}}})
    };
    for job in [job("job1", 1), job("job2", 2)] {
        create(&client, job.clone()).await;
        let patch = Patch::Merge(json!({"status": job["status"]}));
        let jobs = api(&client, &job);
        let name = job["metadata"]["name"].as_str().unwrap();
        let params = PatchParams::default();
        jobs.patch_status(name, &params, &patch).await.unwrap();
    }
    let message = cancel_managed_job(&client, &cluster).await.unwrap();
    assert_eq!(message, "cancelled managed job 1 (job1)");
    let jobs = api(&client, &job("job1", 1));
    let spec = |job: DynamicObject| job.data["spec"].clone();
    let first = spec(jobs.get("job-job1").await.unwrap());
    assert_eq!(first["cancelled"], true);
    let second = spec(jobs.get("job-job2").await.unwrap());
    assert_eq!(second["cancelled"], Value::Null);
    assert!(api(&client, &pod).get("job1-1-head").await.is_ok());

    let unknown = SkyPilotCluster {
        name: "other".to_owned(),
        ..cluster
    };
    let message = cancel_managed_job(&client, &unknown).await.unwrap();
    assert!(
        message.contains("deleted Pod default/job1-1-head"),
        "{message}"
    );
}

#[tokio::test]
async fn other_objects_are_shown_beside_an_unreadable_one() {
    let client = with_kueue().await;
    queues(&client).await;
    // A CRD without validation accepts what Kueue rejects.
    let crds: Api<DynamicObject> = Api::all_with(
        client.clone(),
        &ApiResource::from_gvk(&GroupVersionKind::gvk(
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
        )),
    );
    let name = "clusterqueues.kueue.x-k8s.io";
    let mut crd = serde_json::to_value(crds.get(name).await.unwrap()).unwrap();
    for version in crd["spec"]["versions"].as_array_mut().unwrap() {
        version["schema"] = json!({"openAPIV3Schema": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    }
    let crd = serde_json::from_value(crd).unwrap();
    crds.replace(name, &PostParams::default(), &crd)
        .await
        .unwrap();
    create(
        &client,
        json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue",
            "metadata": {"name": "odd"}, "spec": {"stopPolicy": "Perhaps"},
        }),
    )
    .await;
    let picture = text(&screen(&client, &[]).await);
    assert!(picture.contains("cohort team"), "{picture}");
    assert!(
        picture.contains("ClusterQueue odd cannot be read"),
        "{picture}"
    );
}
