//! Changes of the ConfigMap kueue-manager-config and restarts of the controller.

use serde_json::{Value, json};

use super::kubectl::{CONFIG_MAP, Kubectl};
use super::seed_lab::{SeedLab, on_a_lab};

const QUEUES: &str = "
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default-flavor}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cluster-queue}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: default-flavor
      resources: [{name: cpu, nominalQuota: 1}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: user-queue, namespace: default}
spec: {clusterQueue: cluster-queue}
";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const MANAGER_PODS: &str =
    "/api/v1/namespaces/kueue-system/pods?labelSelector=control-plane%3Dcontroller-manager";

fn job(name: &str, labels: &Value, seconds: u32) -> String {
    let container = json!({
        "name": "c",
        "image": "busybox",
        "command": ["sleep", seconds.to_string()],
        "resources": {"requests": {"cpu": 1}},
    });
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        "spec": {"template": template},
    })
    .to_string()
}

async fn is_suspended(seed: &SeedLab, name: &str) -> bool {
    let job = seed.kubectl.get(&format!("{JOBS}/{name}")).await.unwrap();
    job["spec"]["suspend"] == true
}

/// Replaces the configuration and restarts the controller.
async fn configure(seed: &SeedLab, fields: &str, at: &str) {
    let head = "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n";
    let map = Kubectl::config_map(&format!("{head}{fields}"));
    seed.kubectl.apply(&map).await.unwrap();
    seed.kubectl.rollout_restart(at).await;
}

#[test]
fn a_restart_applies_the_configuration_and_keeps_the_queues() {
    on_a_lab(async |seed| {
        seed.rollout_status().await;
        seed.kubectl.apply(QUEUES).await.unwrap();
        let queued = json!({"kueue.x-k8s.io/queue-name": "user-queue"});
        seed.kubectl
            .create(&job("first", &queued, 120))
            .await
            .unwrap();
        seed.until("first is admitted", async || {
            (!is_suspended(&seed, "first").await).then_some(())
        })
        .await;
        seed.kubectl
            .create(&job("second", &queued, 1))
            .await
            .unwrap();
        seed.kubectl
            .create(&job("without-queue", &json!({}), 1))
            .await
            .unwrap();
        assert!(!is_suspended(&seed, "without-queue").await);

        let fields = "manageJobsWithoutQueueName: true\n";
        configure(&seed, fields, "2026-03-02T12:00:30Z").await;
        seed.rollout_status().await;
        seed.kubectl
            .create(&job("managed", &json!({}), 1))
            .await
            .unwrap();
        assert!(is_suspended(&seed, "managed").await);
        assert!(!is_suspended(&seed, "first").await);
        assert!(is_suspended(&seed, "second").await);
        let pending =
            "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/cluster-queue/pendingworkloads";
        let pending = seed.kubectl.list(pending).await;
        assert_eq!(pending.len(), 1);
        seed.until_condition(&format!("{JOBS}/second"), "Complete", "True")
            .await;
    });
}

#[test]
fn an_invalid_configuration_is_not_rolled_out() {
    on_a_lab(async |seed| {
        seed.rollout_status().await;
        let before = seed.kubectl.list(MANAGER_PODS).await[0]["metadata"]["name"].clone();
        configure(&seed, "integrationz: {}\n", "2026-03-02T12:00:30Z").await;
        let failed = seed.until("the new pod backs off", async || {
            let pods = seed.kubectl.list(MANAGER_PODS).await;
            let waits = |pod: &&Value| {
                let state = &pod["status"]["containerStatuses"][0]["state"];
                state["waiting"]["reason"] == "CrashLoopBackOff"
            };
            let pod = pods.iter().find(waits)?;
            Some(pod["metadata"]["name"].as_str()?.to_owned())
        });
        let failed = failed.await;
        let log = seed.kubectl.logs("kueue-system", &failed).await;
        assert!(
            log.contains("controller_manager_config.yaml:3:1: integrationz: unknown field"),
            "{log}"
        );
        assert!(seed.kubectl.rollout_is_complete().await.is_none());
        let pods = seed.kubectl.list(MANAGER_PODS).await;
        assert!(pods.iter().any(|pod| pod["metadata"]["name"] == before));
        // The previous controller still works.
        seed.kubectl.apply(QUEUES).await.unwrap();
        let queue = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cluster-queue";
        seed.until_condition(queue, "Active", "True").await;

        let head = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";
        let data = json!({"controller_manager_config.yaml": head});
        seed.kubectl
            .patch(CONFIG_MAP, json!({"data": data}))
            .await
            .unwrap();
        seed.rollout_status().await;
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
    });
}
