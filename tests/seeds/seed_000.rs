//! Seed 000: SkyPilot with Kueue, from the installation of a release to a task in the queue.

use kueue_lab_skypilot::Task;
use serde_json::Value;

use super::kubectl::{CONFIG_MAP, Kubectl};
use super::seed_lab::{SeedLab, on_a_lab};

const RELEASE: &str = include_str!("manifests/release.yaml");

const FLAVOR: &str = "
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: default-flavor}
";
const ADMISSION_CHECK: &str = "
apiVersion: kueue.x-k8s.io/v1beta1
kind: AdmissionCheck
metadata: {name: skypilot-kueue-prov}
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: skypilot-kueue-config}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ProvisioningRequestConfig
metadata: {name: skypilot-kueue-config}
spec:
  provisioningClassName: check-capacity.autoscaling.x-k8s.io
  managedResources: [nvidia.com/gpu, cpu, memory]
";
const QUEUES: &str = "
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: skypilot-cluster-queue}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory, nvidia.com/gpu]
    flavors:
    - name: default-flavor
      resources:
      - {name: cpu, nominalQuota: 1000000000}
      - {name: memory, nominalQuota: 1000000000Gi}
      - {name: nvidia.com/gpu, nominalQuota: 1000000000}
  admissionChecks: [skypilot-kueue-prov]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: skypilot-local-queue, namespace: skypilot}
spec: {clusterQueue: skypilot-cluster-queue}
";
const SKY_CONFIG: &str = "
kubernetes:
  namespace: skypilot
  pod_config:
    metadata:
      labels:
        kueue.x-k8s.io/queue-name: skypilot-local-queue
";
const TASK: &str = "
name: hello
resources: {cpus: 2}
run: sleep 20
";
/// A pod that no node has room for.
const LARGE_POD: &str = "
apiVersion: v1
kind: Pod
metadata:
  name: large
  namespace: skypilot
  labels: {kueue.x-k8s.io/queue-name: skypilot-local-queue}
spec:
  containers:
  - {name: c, image: busybox, resources: {requests: {cpu: 100}}}
";

const PODS: &str = "/api/v1/namespaces/skypilot/pods";
const WORKLOADS: &str = "/apis/kueue.x-k8s.io/v1beta2/namespaces/skypilot/workloads";

fn frameworks(config: &str) -> Vec<String> {
    let config: Value = serde_yaml::from_str(config).unwrap();
    let names = config["integrations"]["frameworks"]
        .as_array()
        .unwrap()
        .iter();
    names
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

/// `yq '.integrations.frameworks += ["pod"]'`
fn with_pod(config: &str) -> String {
    let mut config: Value = serde_yaml::from_str(config).unwrap();
    let frameworks = config["integrations"]["frameworks"].as_array_mut().unwrap();
    frameworks.push("pod".into());
    serde_yaml::to_string(&config).unwrap()
}

/// Patches the configuration to support plain pods; returns the warnings.
async fn support_plain_pods(seed: &SeedLab) -> Vec<String> {
    let kubectl = &seed.kubectl;
    let patched = with_pod(&kubectl.kueue_config().await);
    let applied = kubectl.apply(&Kubectl::config_map(&patched)).await.unwrap();
    kubectl.rollout_restart("2026-03-02T12:01:00Z").await;
    seed.rollout_status().await;
    applied
        .into_iter()
        .flat_map(|written| written.warnings)
        .collect()
}

async fn create_queues(seed: &SeedLab) {
    let kubectl = &seed.kubectl;
    for manifests in [FLAVOR, ADMISSION_CHECK] {
        kubectl.apply(manifests).await.unwrap();
    }
    let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: skypilot}}";
    kubectl.create(namespace).await.unwrap();
    kubectl.apply(QUEUES).await.unwrap();
    let queue = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/skypilot-cluster-queue";
    seed.until_condition(queue, "Active", "True").await;
}

/// Runs a task with the configuration of the document, and a pod that waits for capacity.
async fn run_workloads(seed: &SeedLab) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, SKY_CONFIG).unwrap();
    let jobs = seed.lab.jobs().clone().with_config_file(file);
    jobs.launch(Task::parse(TASK).unwrap(), None).await.unwrap();
    let name = seed.until("the task's pod runs", async || {
        let pods = seed.kubectl.list(PODS).await;
        let pod = pods
            .iter()
            .find(|pod| pod["status"]["phase"] == "Running")?;
        Some(pod["metadata"]["name"].as_str()?.to_owned())
    });
    let name = name.await;
    let workloads = seed.kubectl.list(WORKLOADS).await;
    let owned = |wl: &&Value| wl["metadata"]["ownerReferences"][0]["name"] == *name;
    let workload = workloads.iter().find(owned).unwrap();
    assert_eq!(workload["spec"]["queueName"], "skypilot-local-queue");
    assert_eq!(workload["status"]["admissionChecks"][0]["state"], "Ready");

    seed.kubectl.create(LARGE_POD).await.unwrap();
    seed.sleep(30).await;
    let large = seed.kubectl.get(&format!("{PODS}/large")).await.unwrap();
    assert_eq!(
        large["spec"]["schedulingGates"][0]["name"],
        "kueue.x-k8s.io/admission"
    );
    let requests = "/apis/autoscaling.x-k8s.io/v1/namespaces/skypilot/provisioningrequests";
    let requests = seed.kubectl.list(requests).await;
    assert!(requests.iter().any(|request| {
        request["metadata"]["name"]
            .as_str()
            .unwrap()
            .starts_with("pod-large-")
    }));
}

#[test]
fn the_document_works_after_the_manifests_of_a_release() {
    on_a_lab(async |seed| {
        let kubectl = &seed.kubectl;
        let written = kubectl.apply_server_side(RELEASE).await.unwrap();
        let warnings: Vec<String> = written.into_iter().flat_map(|w| w.warnings).collect();
        for text in [
            "CustomResourceDefinition \"workloads.kueue.x-k8s.io\" is served by kueue-lab itself",
            "image \"registry.example/kueue:v0\" is not run",
            "the webhooks of Service \"kueue-webhook-service\"",
        ] {
            let found = warnings.iter().any(|warning| warning.contains(text));
            assert!(found, "{text} in {warnings:?}");
        }
        seed.rollout_status().await;
        assert_eq!(frameworks(&kubectl.kueue_config().await), ["batch/job"]);
        assert_eq!(
            seed.lab
                .controller()
                .unwrap()
                .shared()
                .settings
                .configuration
                .frameworks(),
            ["batch/job"]
        );
        let crd =
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/workloads.kueue.x-k8s.io";
        let crd = kubectl.get(crd).await.unwrap();
        assert_eq!(
            crd["status"]["storedVersions"],
            serde_json::json!(["v1beta2"])
        );
        assert_eq!(crd["spec"]["versions"].as_array().unwrap().len(), 2);

        assert_eq!(support_plain_pods(&seed).await, Vec::<String>::new());
        assert_eq!(
            frameworks(&kubectl.kueue_config().await),
            ["batch/job", "pod"]
        );
        create_queues(&seed).await;
        run_workloads(&seed).await;

        // Applying the manifests again resets the configuration, at the next restart.
        kubectl.apply_server_side(RELEASE).await.unwrap();
        assert_eq!(frameworks(&kubectl.kueue_config().await), ["batch/job"]);
        seed.rollout_status().await;
    });
}

#[test]
fn the_document_works_on_a_new_lab() {
    on_a_lab(async |seed| {
        seed.rollout_status().await;
        // The lab's own configuration has pods already.
        let warnings = support_plain_pods(&seed).await;
        assert!(
            warnings[0].contains("\"pod\" is a duplicate"),
            "{warnings:?}"
        );
        let last = frameworks(&seed.kubectl.kueue_config().await).pop();
        assert_eq!(last.as_deref(), Some("pod"));
        assert!(seed.kubectl.get(CONFIG_MAP).await.is_some());
        create_queues(&seed).await;
        run_workloads(&seed).await;
    });
}
