//! `up --no-webhooks`, for an API server that cannot reach the lab: what is unavailable and what still
//! works.

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kueue_lab_api::v1beta2::ClusterQueue;
use serde_json::{Value, json};

use crate::external_cluster::{ExternalCluster, create};
use crate::lab_lifecycle::{job, up_args, work_dir};
use crate::lab_process::wait_for;

/// The number of webhook configurations.
async fn webhook_configuration_count(client: &Client) -> usize {
    let params = ListParams::default();
    let validating: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let mutating: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    validating.list(&params).await.unwrap().items.len()
        + mutating.list(&params).await.unwrap().items.len()
}

/// The served versions of Workload, and their conversion strategy.
async fn served_versions(client: &Client) -> (Vec<String>, String) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = definitions.get("workloads.kueue.x-k8s.io").await.unwrap();
    let versions = definition.spec.versions.into_iter().filter(|v| v.served);
    let mut versions: Vec<_> = versions.map(|v| v.name).collect();
    versions.sort();
    let conversion = definition.spec.conversion.map(|c| c.strategy);
    (versions, conversion.unwrap_or_else(|| "None".into()))
}

/// Creates a Job that is not suspended; returns the created object.
async fn submit_job(client: &Client, name: &str) -> Job {
    let mut object = job(name, 8, 100_000);
    object["spec"]["suspend"] = false.into();
    let jobs: Api<Job> = Api::namespaced(client.clone(), "default");
    let object = serde_json::from_value(object).unwrap();
    jobs.create(&PostParams::default(), &object).await.unwrap()
}

async fn runs(client: &Client, name: &str) {
    let jobs: Api<Job> = Api::namespaced(client.clone(), "default");
    wait_for(&format!("{name} runs"), || async {
        let job = jobs.get(name).await.unwrap();
        let free = job.spec.unwrap().suspend == Some(false);
        (free && job.status?.ready == Some(1)).then_some(())
    })
    .await;
}

async fn counts(client: &Client) -> (i32, i32) {
    let queues: Api<ClusterQueue> = Api::all(client.clone());
    let status = queues.get("research").await.unwrap().status;
    (status.admitted_workloads, status.pending_workloads)
}

#[tokio::test(flavor = "multi_thread")]
async fn without_webhooks_jobs_are_suspended_by_the_controller() {
    let cluster = ExternalCluster::start().await;
    let client = cluster.client();
    let dir = work_dir();
    let file = cluster.kubeconfig().display().to_string();
    let mut args = up_args(&file);
    args.push("--no-webhooks");
    let lab = dir.start(&args).await;
    let expected = "no webhooks: jobs are suspended after their creation, pods are not gated and run outside of quota, objects of Kueue are not validated, and v1beta1 is not served";
    assert!(lab.log().contains(expected), "{}", lab.log());
    assert_eq!(webhook_configuration_count(&client).await, 0);
    let only = (vec!["v1beta2".to_owned()], "None".to_owned());
    assert_eq!(served_versions(&client).await, only);

    let made = submit_job(&client, "first").await;
    assert_eq!(
        made.spec.unwrap().suspend,
        Some(false),
        "no webhook suspended it"
    );
    // The Job that fits runs; the controller suspends the other, even if it has started.
    wait_for("the first is admitted", || async {
        (counts(&client).await == (1, 0)).then_some(())
    })
    .await;
    runs(&client, "first").await;
    submit_job(&client, "second").await;
    let jobs: Api<Job> = Api::namespaced(client.clone(), "default");
    wait_for("the second is suspended", || async {
        let job = jobs.get("second").await.unwrap();
        let active = job.status.and_then(|s| s.active).unwrap_or(0);
        let held = job.spec.unwrap().suspend == Some(true) && active == 0;
        (held && counts(&client).await == (1, 1)).then_some(())
    })
    .await;

    // Writes are not validated.
    create(
        &client,
        json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor",
            "metadata": {"name": "unchecked"}, "spec": {"nodeLabels": {"a": "not a label value"}},
        }),
    )
    .await;
    let mut pod = job("alone", 0, 100_000)["spec"]["template"].take();
    pod["spec"]["containers"][0]["resources"] = Value::Null;
    pod["metadata"] = json!({
        "name": "alone", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "lq"},
    });
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let pod = serde_json::from_value(pod).unwrap();
    let pod = pods.create(&PostParams::default(), &pod).await.unwrap();
    assert!(pod.spec.unwrap().scheduling_gates.is_none());

    let params = DeleteParams::background();
    jobs.delete("first", &params).await.unwrap();
    runs(&client, "second").await;
    assert_eq!(lab.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_of_a_killed_lab_do_not_block_a_restart() {
    let cluster = ExternalCluster::start().await;
    let client = cluster.client();
    let dir = work_dir();
    let file = cluster.kubeconfig().display().to_string();
    let lab = dir.start(&up_args(&file)).await;
    assert_eq!(webhook_configuration_count(&client).await, 2);
    let (versions, conversion) = served_versions(&client).await;
    assert_eq!((versions.len(), conversion.as_str()), (2, "Webhook"));
    create(&client, job("kept", 8, 100_000)).await;
    runs(&client, "kept").await;
    lab.kill();
    // Webhooks do not answer, so Kueue objects cannot be written.
    dir.write(
        "presets/p/more.yaml",
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: more}\n",
    );
    let mut args = up_args(&file);
    args.push("--no-webhooks");
    let lab = dir.start(&args).await;
    assert_eq!(webhook_configuration_count(&client).await, 0);
    assert_eq!(served_versions(&client).await.0, ["v1beta2"]);
    submit_job(&client, "late").await;
    wait_for("the late Job is pending and the kept one runs", || async {
        (counts(&client).await == (1, 1)).then_some(())
    })
    .await;
    assert_eq!(lab.stop().await, Some(0));
    // And with webhooks again.
    let lab = dir.start(&up_args(&file)).await;
    assert_eq!(webhook_configuration_count(&client).await, 2);
    assert_eq!(served_versions(&client).await.0.len(), 2);
    assert_eq!(lab.stop().await, Some(0));
    assert_eq!(webhook_configuration_count(&client).await, 0);
}
