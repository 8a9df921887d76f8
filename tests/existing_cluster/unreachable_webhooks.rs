//! A cluster that does not reach this machine: `up` reports it and leaves no webhooks or Lease behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Node};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, ListParams, PostParams};
use kueue_lab_api::v1beta2::ClusterQueue;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apiserver::plugins::{AdmissionPlugin, AdmissionRequest, AdmissionWarnings};
use serde_json::Value;

use crate::external_cluster::ExternalCluster;
use crate::lab_lifecycle::{count, job, up_args, work_dir};
use crate::lab_process::{WorkDir, wait_for};

/// Between the API server and the webhooks: returns an API server's error for a timeout.
struct Firewall {
    open: Arc<AtomicBool>,
}

#[async_trait]
impl AdmissionPlugin for Firewall {
    fn handles(&self, group: &str, resource: &str, _: &str) -> bool {
        group == "kueue.x-k8s.io" && resource == "resourceflavors"
    }

    async fn mutate(
        &self,
        _: &AdmissionRequest<'_>,
        _: &mut Value,
    ) -> Result<AdmissionWarnings, ApiError> {
        match self.open.load(Ordering::SeqCst) {
            true => Ok(AdmissionWarnings::default()),
            false => Err(ApiError::internal(
                "Internal error occurred: failed calling webhook \"mresourceflavor.kb.io\": context deadline exceeded",
            )),
        }
    }
}

async fn registered(client: &Client) -> usize {
    count::<ValidatingWebhookConfiguration>(client).await
        + count::<MutatingWebhookConfiguration>(client).await
}

/// Runs a command that must succeed.
async fn run_ok(dir: &WorkDir, args: &[&str]) -> String {
    let output = dir.run(args).await;
    let printed = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(output.status.code(), Some(0), "{printed:?}");
    printed.concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn up_can_be_repeated_after_unreachable_webhooks() {
    let cluster = ExternalCluster::start().await;
    let client = cluster.client();
    let open = Arc::new(AtomicBool::new(false));
    let firewall = Firewall { open: open.clone() };
    cluster.server.add_admission(Arc::new(firewall));
    let dir = work_dir();
    let file = cluster.kubeconfig().display().to_string();
    let printed = dir.run_rejected(&up_args(&file)).await;
    let expected =
        "the API server cannot call the webhooks of this kueue-lab at https://127.0.0.1:";
    assert!(printed.starts_with(expected), "{printed}");
    assert!(printed.contains("--no-webhooks"), "{printed}");
    // No webhook configurations and no held Lease remain.
    assert_eq!(registered(&client).await, 0);
    assert_eq!(count::<Node>(&client).await, 2);
    assert_eq!(count::<ClusterQueue>(&client).await, 0);
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kueue-lab-system");
    for lease in leases.list(&ListParams::default()).await.unwrap() {
        let holder = lease.spec.and_then(|s| s.holder_identity);
        assert_eq!(holder.unwrap_or_default(), "");
    }
    // Without a lab Jobs are not suspended.
    let jobs = Api::<k8s_openapi::api::batch::v1::Job>::namespaced(client.clone(), "default");
    let mut own = job("own", 0, 1);
    own["spec"]["suspend"] = false.into();
    own["spec"]["template"]["spec"]["containers"][0]["resources"] = Value::Null;
    let own = serde_json::from_value(own).unwrap();
    let own = jobs.create(&PostParams::default(), &own).await.unwrap();
    assert_eq!(own.spec.unwrap().suspend, Some(false));

    // `down` and `uninstall` remove the rest.
    let context = ["--cluster", "context:other", "--kubeconfig", &file];
    let printed = run_ok(&dir, &[&["down", "--yes"], context.as_slice()].concat()).await;
    let expected = "removed 0 objects of presets, 0 virtual nodes and the fake resources of 0 real nodes from other";
    assert!(printed.contains(expected), "{printed}");
    let uninstall = [
        "uninstall",
        "--yes",
        "--context",
        "other",
        "--kubeconfig",
        &file,
    ];
    run_ok(&dir, &uninstall).await;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definitions = definitions.list(&ListParams::default()).await.unwrap();
    let kueue = |d: &&CustomResourceDefinition| d.spec.group.ends_with("kueue.x-k8s.io");
    assert_eq!(definitions.iter().filter(kueue).count(), 0);
    let namespaces: Api<Namespace> = Api::all(client.clone());
    wait_for("the namespace is gone", || async {
        let there = namespaces.get_opt("kueue-lab-system").await.unwrap();
        there.is_none().then_some(())
    })
    .await;

    // A second failure, then the webhooks become reachable.
    dir.run_rejected(&up_args(&file)).await;
    open.store(true, Ordering::SeqCst);
    let lab = dir.start(&up_args(&file)).await;
    assert_eq!(registered(&client).await, 2);
    let object = serde_json::from_value(job("queued", 8, 1)).unwrap();
    jobs.create(&PostParams::default(), &object).await.unwrap();
    wait_for("a job is admitted and runs", || async {
        let status = jobs.get("queued").await.unwrap().status?;
        (status.succeeded == Some(1)).then_some(())
    })
    .await;
    assert_eq!(lab.stop().await, Some(0));
}
