//! [`TestCluster`]: an API server with the controller, and functions to use it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::events::v1::Event;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_clock::{Clock, virtual_runtime};
use kueue_lab_controller::{Controller, ControllerConfig};
use kueue_lab_controller_runtime::Context;
use kueue_lab_lab::JobWebhooksPlugin;
use serde_json::Value;

use super::kueue_server::{KueueServer, create};

pub(crate) struct TestCluster {
    pub client: Client,
    pub clock: Clock,
}

/// Runs a test in virtual time on an API server with Kueue's CRDs, the controller and a namespace `ns`.
pub(crate) fn with_cluster<F: Future<Output = ()>>(test: impl FnOnce(TestCluster) -> F) {
    with_config(ControllerConfig::default(), test);
}

pub(crate) fn with_config<F: Future<Output = ()>>(
    config: ControllerConfig,
    test: impl FnOnce(TestCluster) -> F,
) {
    virtual_runtime().unwrap().block_on(async {
        let KueueServer {
            server,
            client,
            clock,
            entropy,
        } = KueueServer::start().await;
        apply(
            &client,
            "{apiVersion: v1, kind: Namespace, metadata: {name: ns}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: ns}}",
        )
        .await;
        let context = Context::new(client.clone(), clock.clone(), entropy);
        let controller = Controller::start(&context, config).await;
        server.add_admission(Arc::new(JobWebhooksPlugin::new(controller.webhooks())));
        let tasks = context.tasks.clone();
        test(TestCluster { client, clock }).await;
        tasks.shutdown().await;
    });
}

/// Creates the objects of a YAML stream.
pub(crate) async fn apply(client: &Client, yaml: &str) {
    for document in yaml.split("\n---\n") {
        let object: Value = serde_yaml::from_str(document).unwrap();
        create(client, object).await;
    }
}

impl TestCluster {
    pub(crate) async fn apply(&self, yaml: &str) {
        apply(&self.client, yaml).await;
    }

    pub(crate) async fn sleep(&self, seconds: u64) {
        self.clock.sleep(Duration::from_secs(seconds)).await;
    }

    pub(crate) async fn patch(&self, kind: &str, name: &str, patch: Value) {
        let namespaced = matches!(kind, "Workload" | "LocalQueue");
        let gvk = GroupVersionKind::gvk("kueue.x-k8s.io", "v1beta2", kind);
        let resource = ApiResource::from_gvk(&gvk);
        let api: Api<DynamicObject> = if namespaced {
            Api::namespaced_with(self.client.clone(), "ns", &resource)
        } else {
            Api::all_with(self.client.clone(), &resource)
        };
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    pub(crate) fn workloads(&self) -> Api<Workload> {
        Api::namespaced(self.client.clone(), "ns")
    }

    /// A cluster-scoped or namespaced object of Kueue as JSON.
    pub(crate) async fn get(&self, kind: &str, name: &str) -> Value {
        let gvk = GroupVersionKind::gvk("kueue.x-k8s.io", "v1beta2", kind);
        let resource = ApiResource::from_gvk(&gvk);
        let api: Api<DynamicObject> = if matches!(kind, "Workload" | "LocalQueue") {
            Api::namespaced_with(self.client.clone(), "ns", &resource)
        } else {
            Api::all_with(self.client.clone(), &resource)
        };
        serde_json::to_value(api.get(name).await.unwrap()).unwrap()
    }

    /// `status/reason: message` of a condition of a Workload.
    pub(crate) async fn condition(&self, workload: &str, type_: &str) -> Option<String> {
        let wl = self.workloads().get(workload).await.unwrap();
        let cond = wl.condition(type_)?;
        Some(format!("{}/{}: {}", cond.status, cond.reason, cond.message))
    }

    /// Waits until a condition of a Workload has this status and reason.
    pub(crate) async fn until(&self, workload: &str, type_: &str, wanted: &str) {
        let mut last = None;
        for _ in 0..2000 {
            last = self.condition(workload, type_).await;
            if last
                .as_deref()
                .is_some_and(|c| c.split(": ").next() == Some(wanted))
            {
                return;
            }
            self.clock.sleep(Duration::from_millis(50)).await;
        }
        panic!("{workload} does not have {type_}={wanted}: {last:?}");
    }

    /// `reporter type reason message` of the Events about an object, ordered by time.
    pub(crate) async fn events(&self, name: &str) -> Vec<String> {
        let api: Api<Event> = Api::namespaced(self.client.clone(), "ns");
        let mut events = api.list(&ListParams::default()).await.unwrap().items;
        events.retain(|e| e.regarding.as_ref().and_then(|r| r.name.as_deref()) == Some(name));
        events.sort_by_key(|e| e.metadata.name.clone());
        let text = |s: &Option<String>| s.clone().unwrap_or_default();
        events
            .iter()
            .map(|e| {
                let (by, note) = (text(&e.reporting_controller), text(&e.note));
                format!("{by} {} {}: {note}", text(&e.type_), text(&e.reason))
            })
            .collect()
    }
}

/// A ResourceFlavor, a ClusterQueue of 9 CPUs that preempts lower priorities, and a LocalQueue.
pub(crate) const QUEUES: &str = "apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default-flavor}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: default-flavor
      resources: [{name: cpu, nominalQuota: 9}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: ns}
spec: {clusterQueue: cq}";

/// A Workload of one pod.
pub(crate) fn workload(name: &str, cpu: u32, priority: i32) -> String {
    format!(
        "apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {{name: {name}, namespace: ns}}
spec:
  queueName: lq
  priority: {priority}
  podSets:
  - name: main
    count: 1
    template:
      spec:
        restartPolicy: Never
        containers: [{{name: c, image: i, resources: {{requests: {{cpu: {cpu}}}}}}}]"
    )
}
