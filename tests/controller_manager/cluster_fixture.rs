//! An API server with the built-in controllers and no kubelets: the tests write pod status.

use std::future::Future;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::Entropy;
use kueue_lab_clock::{Clock, virtual_runtime};
use kueue_lab_controller_manager::{ControllerManagerConfig, workload_controllers};
use kueue_lab_controller_runtime::{Context, Informer};
use kueue_lab_controller_utils::pods;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A cluster under test.
#[derive(Clone)]
pub(crate) struct TestCluster {
    pub client: Client,
    pub clock: Clock,
    _server: std::sync::Arc<ApiServer>,
}

/// Runs a test in virtual time on a cluster with the namespace `test`.
pub(crate) fn with_cluster<F: Future<Output = ()>>(test: impl FnOnce(TestCluster) -> F) {
    virtual_runtime().unwrap().block_on(async {
        let clock = Clock::starting_at("2026-03-02T12:00:00Z".parse().unwrap());
        let entropy = Entropy::seeded(1);
        let server = ApiServer::builder(clock.clone(), entropy.clone()).build();
        let client = server.client();
        let context = Context::new(client.clone(), clock.clone(), entropy);
        let config = ControllerManagerConfig::ALL;
        let pods = workload_controllers::pod_informer(&context);
        let nodes = Informer::builder(kueue_lab_controller_runtime::Api::all(client.clone()))
            .start(&context);
        kueue_lab_controller_manager::start(&context, config, &pods, &nodes);
        let cluster = TestCluster {
            client,
            clock,
            _server: std::sync::Arc::new(server),
        };
        cluster
            .create("/api/v1/namespaces", json!({"metadata": {"name": "test"}}))
            .await;
        test(cluster.clone()).await;
        context.tasks.shutdown().await;
    });
}

impl TestCluster {
    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), "test")
    }

    /// Sends and receives JSON.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        body: Value,
    ) -> Result<Value, kube::Error> {
        let kind = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let body = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", kind)
            .body(body)
            .unwrap();
        self.client.request(request).await
    }

    pub(crate) async fn create(&self, path: &str, body: Value) -> Value {
        self.send("POST", path, body).await.unwrap()
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Value {
        self.send("PATCH", path, body).await.unwrap()
    }

    /// Creates an object in the namespace `test`.
    pub(crate) async fn create_object<K>(&self, object: Value) -> K
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + DeserializeOwned
            + serde::Serialize
            + Clone
            + std::fmt::Debug,
    {
        let object: K = serde_json::from_value(object).unwrap();
        self.api::<K>()
            .create(&PostParams::default(), &object)
            .await
            .unwrap()
    }

    /// Polls `look` until it returns a value, for at most an hour of lab time.
    pub(crate) async fn wait_for<T, F: Future<Output = Option<T>>>(
        &self,
        what: &str,
        mut look: impl FnMut() -> F,
    ) -> T {
        for _ in 0..36_000 {
            if let Some(answer) = look().await {
                return answer;
            }
            self.clock.sleep(Duration::from_millis(100)).await;
        }
        panic!("{what}: not within an hour");
    }

    /// Waits until an object satisfies a condition.
    pub(crate) async fn wait_until_object<K>(
        &self,
        name: &str,
        what: &str,
        is: impl Fn(&K) -> bool,
    ) -> K
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + DeserializeOwned
            + Clone
            + std::fmt::Debug,
    {
        let api = self.api::<K>();
        self.wait_for(what, || async {
            api.get(name).await.ok().filter(|o| is(o))
        })
        .await
    }

    /// Waits until `count` pods match `selector` that are neither finished nor terminating.
    pub(crate) async fn pods(&self, selector: &str, count: usize) -> Vec<Pod> {
        let what = format!("{count} pods {selector}");
        self.wait_for(&what, || async {
            let found = self.all_pods(selector).await;
            let active: Vec<Pod> = found.into_iter().filter(pods::is_active).collect();
            (active.len() == count).then_some(active)
        })
        .await
    }

    /// All pods that match `selector`.
    pub(crate) async fn all_pods(&self, selector: &str) -> Vec<Pod> {
        let params = ListParams::default().labels(selector);
        self.api::<Pod>().list(&params).await.unwrap().items
    }

    /// Writes the status of a pod, as its kubelet would.
    pub(crate) async fn set_pod_status(&self, pod: &Pod, phase: &str, ready: bool) {
        let at = self.clock.time();
        let status = if ready { "True" } else { "False" };
        let patch = json!({"status": {"phase": phase, "conditions": [
            {"type": "Ready", "status": status, "lastTransitionTime": at},
        ]}});
        let name = pod.metadata.name.as_deref().unwrap();
        self.api::<Pod>()
            .patch_status(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// `reason: message` of the Events about an object, in the order of their creation.
    pub(crate) async fn events(&self, name: &str) -> Vec<String> {
        let path =
            format!("/api/v1/namespaces/test/events?fieldSelector=involvedObject.name={name}");
        let list = self.send("GET", &path, Value::Null).await.unwrap();
        let mut events: Vec<_> = list["items"].as_array().unwrap().clone();
        events.sort_by_key(|e| {
            let version = e["metadata"]["resourceVersion"]
                .as_str()
                .unwrap_or_default();
            version.parse::<u64>().unwrap_or(0)
        });
        let line = |e: &Value| {
            format!(
                "{}: {}",
                e["reason"].as_str().unwrap(),
                e["message"].as_str().unwrap()
            )
        };
        events.iter().map(line).collect()
    }
}

/// A Pod of one container that requests CPU.
pub(crate) fn pod(name: &str, cpu: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"name": "web", "containerPort": 8080}],
            "resources": {"requests": {"cpu": cpu}}}]},
    })
}
