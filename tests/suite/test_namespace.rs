//! [`TestNamespace`]: a test case's namespace, its unique names, and their cleanup.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use kube::Client;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::watcher::Config;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::objects::{
    CLUSTER_QUEUE, GPU, JOB, KUEUE_API_VERSION, Kind, LOCAL_QUEUE, NAMESPACE, POD, WORKLOAD, api,
    is_owned_by, pod_spec,
};
use crate::quota_invariant_watch::QuotaInvariantWatch;
use crate::wait::{WatchedObjects, eventually, json, until};

/// A test case's part of the cluster.
pub(crate) struct TestNamespace {
    /// A client of the cluster.
    pub client: Client,
    /// The namespace; names of cluster-scoped objects start with it.
    pub namespace: String,
    /// Cluster-scoped objects to delete.
    cluster_scoped_objects: Mutex<Vec<(Kind, String)>>,
    /// The quota of each ClusterQueue.
    pub quotas: Mutex<BTreeMap<String, i64>>,
    quota_watch: QuotaInvariantWatch,
}

impl TestNamespace {
    /// Creates the namespace of a test case.
    pub(crate) async fn new(client: &Client, case: &str) -> Self {
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        // Objects of an earlier run must not match.
        let unique = nanos.as_nanos() % 0x1000_0000;
        let short: String = case.rsplit("::").next().unwrap().chars().take(24).collect();
        let short = short.trim_end_matches('_').replace('_', "-");
        let namespace = format!("suite-{short}-{unique:07x}");
        let ns = Self {
            client: client.clone(),
            quota_watch: QuotaInvariantWatch::start(client, &namespace),
            namespace,
            cluster_scoped_objects: Mutex::default(),
            quotas: Mutex::default(),
        };
        let object = json!({"metadata": {"name": ns.namespace, "labels": {"suite": "true"}}});
        ns.create(NAMESPACE, object).await;
        // Pods are rejected without the account, which is created asynchronously.
        let account = ("v1", "ServiceAccount");
        ns.wait(account, "default", "pods can be made", |o| o.map(drop))
            .await;
        ns
    }

    /// The name of a cluster-scoped object.
    pub(crate) fn cluster_scoped_name(&self, name: &str) -> String {
        format!("{}-{name}", self.namespace)
    }

    /// A kind's API, in the namespace if it is namespaced.
    pub(crate) fn api(&self, kind: Kind) -> kube::Api<DynamicObject> {
        let namespaced = !matches!(
            kind.1,
            "ClusterQueue"
                | "ResourceFlavor"
                | "Cohort"
                | "WorkloadPriorityClass"
                | "Namespace"
                | "Node"
        );
        api(
            &self.client,
            kind,
            namespaced.then_some(self.namespace.as_str()),
        )
    }

    /// Creates an object; returns the error if it is rejected.
    pub(crate) async fn try_create(&self, kind: Kind, mut object: Value) -> kube::Result<Value> {
        object["apiVersion"] = kind.0.into();
        object["kind"] = kind.1.into();
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let api = self.api(kind);
        let params = PostParams::default();
        let made = json(api.create(&params, &object).await?);
        if made["metadata"]["namespace"].is_null() {
            let name = crate::objects::name(&made).to_owned();
            self.cluster_scoped_objects.lock().push((kind, name));
        }
        Ok(made)
    }

    /// Creates an object.
    pub(crate) async fn create(&self, kind: Kind, object: Value) -> Value {
        let name = object["metadata"]["name"].clone();
        let made = self.try_create(kind, object).await;
        made.unwrap_or_else(|e| panic!("{} {name}: {e}", kind.1))
    }

    /// Registers a cluster-scoped object of this test case for deletion.
    pub(crate) fn register_for_cleanup(&self, kind: Kind, name: &str) {
        self.cluster_scoped_objects
            .lock()
            .push((kind, name.to_owned()));
    }

    /// An existing object.
    pub(crate) async fn get(&self, kind: Kind, name: &str) -> Value {
        json(self.api(kind).get(name).await.unwrap())
    }

    /// All objects of a kind in the namespace.
    pub(crate) async fn list(&self, kind: Kind) -> Vec<Value> {
        let list = self.api(kind).list(&ListParams::default()).await.unwrap();
        list.into_iter().map(json).collect()
    }

    /// Applies a merge patch to an object.
    pub(crate) async fn merge(&self, kind: Kind, name: &str, change: Value) {
        let (params, patch) = (PatchParams::default(), Patch::Merge(&change));
        let patched = self.api(kind).patch(name, &params, &patch).await;
        patched.unwrap_or_else(|e| panic!("{} {name}: {e}", kind.1));
    }

    /// Deletes an object and its dependents.
    pub(crate) async fn delete(&self, kind: Kind, name: &str) {
        let params = DeleteParams::background();
        let deleted = self.api(kind).delete(name, &params).await;
        deleted.unwrap_or_else(|e| panic!("{} {name}: {e}", kind.1));
    }

    /// Waits for a value from an object, which may not exist.
    pub(crate) async fn wait<T>(
        &self,
        kind: Kind,
        name: &str,
        what: &str,
        mut found: impl FnMut(Option<&Value>) -> Option<T>,
    ) -> T {
        let config = Config::default().fields(&format!("metadata.name={name}"));
        let found = |known: &WatchedObjects| found(known.values().next());
        let what = format!("{} {name}: {what}", kind.1);
        until(&what, self.api(kind), config, found).await
    }

    /// Waits for a value from all objects of a kind in the namespace.
    pub(crate) async fn wait_all<T>(
        &self,
        kind: Kind,
        what: &str,
        found: impl FnMut(&WatchedObjects) -> Option<T>,
    ) -> T {
        until(what, self.api(kind), Config::default(), found).await
    }

    /// Waits until an object satisfies a condition.
    pub(crate) async fn wait_until(
        &self,
        kind: Kind,
        name: &str,
        what: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> Value {
        self.wait(kind, name, what, |o| o.filter(|o| is_so(o)).cloned())
            .await
    }

    /// Waits until an object is deleted.
    pub(crate) async fn wait_until_deleted(&self, kind: Kind, name: &str) {
        let is_gone = |o: Option<&Value>| o.is_none().then_some(());
        self.wait(kind, name, "it is gone", is_gone).await;
    }

    /// Creates a ClusterQueue for some GPUs of the suite's nodes, and a LocalQueue `name` for it. `more`
    /// is merged into the spec. Returns the name of the ClusterQueue.
    pub(crate) async fn create_queues(&self, name: &str, gpus: u32, more: Value) -> String {
        let global = self.cluster_scoped_name(name);
        let mut spec = json!({
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": [GPU], "flavors": [{
                "name": "suite",
                "resources": [{"name": GPU, "nominalQuota": gpus.to_string()}],
            }]}],
        });
        for (field, value) in more.as_object().into_iter().flatten() {
            spec[field] = value.clone();
        }
        self.quotas.lock().insert(global.clone(), gpus.into());
        let quota: i64 = self.quotas.lock().values().sum();
        self.quota_watch.set_limit(quota);
        let object = json!({"metadata": {"name": global}, "spec": spec});
        self.create(CLUSTER_QUEUE, object).await;
        self.local_queue(name, &global).await;
        global
    }

    /// Creates a LocalQueue.
    pub(crate) async fn local_queue(&self, name: &str, cluster_queue: &str) {
        let spec = json!({"clusterQueue": cluster_queue});
        let object = json!({"metadata": {"name": name}, "spec": spec});
        self.create(LOCAL_QUEUE, object).await;
    }

    /// Creates a WorkloadPriorityClass; returns the labels that select it.
    pub(crate) async fn priority(&self, name: &str, value: i32) -> Value {
        let name = self.cluster_scoped_name(name);
        let object = json!({"metadata": {"name": name}, "value": value});
        self.create(crate::objects::WORKLOAD_PRIORITY_CLASS, object)
            .await;
        json!({"kueue.x-k8s.io/priority-class": name})
    }

    /// Creates a Job of one pod in a LocalQueue.
    pub(crate) async fn job(&self, name: &str, queue: &str, gpus: u32, seconds: u32) -> Value {
        self.job_with(name, queue, gpus, seconds, json!({})).await
    }

    /// Creates a Job of one pod with further labels in a LocalQueue.
    pub(crate) async fn job_with(
        &self,
        name: &str,
        queue: &str,
        gpus: u32,
        seconds: u32,
        mut labels: Value,
    ) -> Value {
        labels["kueue.x-k8s.io/queue-name"] = queue.into();
        let object = json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {"template": {"spec": pod_spec(gpus, seconds)}},
        });
        self.create(JOB, object).await
    }

    /// Waits until a Job is unsuspended and its pod runs.
    pub(crate) async fn wait_until_running(&self, name: &str) -> Value {
        let active = |job: &Value| job["spec"]["suspend"] == false && job["status"]["ready"] == 1;
        self.wait_until(JOB, name, "it runs", active).await
    }

    /// Waits until a Job is suspended and has no pods.
    pub(crate) async fn wait_until_suspended(&self, name: &str) {
        let is_suspended = |job: &Value| {
            job["spec"]["suspend"] == true && job["status"]["active"].as_i64().unwrap_or(0) == 0
        };
        self.wait_until(JOB, name, "it is suspended", is_suspended)
            .await;
    }

    /// Waits until a Job's or pod's Workload satisfies a condition; returns it.
    pub(crate) async fn wait_for_workload(
        &self,
        owner: &Value,
        what: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> Value {
        let title = format!("the Workload of {}: {what}", crate::objects::name(owner));
        self.wait_all(WORKLOAD, &title, |known| {
            let of = |wl: &&Value| is_owned_by(wl, owner);
            known.values().filter(of).find(|wl| is_so(wl)).cloned()
        })
        .await
    }

    /// Waits until the state has settled. Checks that no Job is lost or admitted twice, that the usage in
    /// ClusterQueues is that of their Workloads, and that quota was never exceeded.
    pub(crate) async fn assert_consistent(&self) {
        let quotas = self.quotas.lock().clone();
        eventually("the state is consistent", || async {
            let jobs = self.list(JOB).await;
            let workloads = self.list(WORKLOAD).await;
            crate::quota_invariant_watch::check_jobs(&jobs, &workloads)?;
            for name in quotas.keys() {
                let queue = self.get(CLUSTER_QUEUE, name).await;
                crate::quota_invariant_watch::check_queue(&queue, &workloads)?;
            }
            Ok(())
        })
        .await;
        self.quota_watch.assert_no_violations();
    }

    /// All objects, one per line, for failure output.
    pub(crate) async fn dump(&self) -> String {
        let mut lines = Vec::new();
        for kind in [LOCAL_QUEUE, WORKLOAD, JOB, POD] {
            let Ok(all) = self.api(kind).list(&ListParams::default()).await else {
                lines.push(format!("{}: not served", kind.1));
                continue;
            };
            for object in all.into_iter().map(json) {
                let conditions = object["status"]["conditions"].as_array();
                let conditions: Vec<_> = conditions
                    .into_iter()
                    .flatten()
                    .map(|c| {
                        format!(
                            "{}={}/{} {}",
                            c["type"], c["status"], c["reason"], c["message"]
                        )
                    })
                    .collect();
                lines.push(format!(
                    "{} {} {} suspend={} phase={} {}",
                    kind.1,
                    crate::objects::name(&object),
                    object["metadata"]["creationTimestamp"],
                    object["spec"]["suspend"],
                    object["status"]["phase"],
                    conditions.join("; "),
                ));
            }
        }
        lines.join("\n")
    }

    /// Deletes all objects. Requires a running lab.
    pub(crate) async fn clean_up(&self) {
        let made: Vec<_> = self.cluster_scoped_objects.lock().drain(..).collect();
        let params = DeleteParams::background();
        // Jobs and Pods first: the controller removes the finalizers.
        for kind in [JOB, POD] {
            let all = self.api(kind);
            // The namespace may be deleted, or the kind not served.
            let _ = all.delete_collection(&params, &ListParams::default()).await;
        }
        for (kind, name) in &made {
            let _ = self.api(*kind).delete(name, &params).await;
        }
        for (kind, name) in made {
            // A kind that is not served has no objects.
            let is_served = self.api(kind).list(&ListParams::default().limit(1)).await;
            if is_served.is_ok() {
                self.wait_until_deleted(kind, &name).await;
            }
        }
    }
}

/// A kind of `kueue.x-k8s.io`.
pub(crate) const fn kueue_kind(kind: &'static str) -> Kind {
    (KUEUE_API_VERSION, kind)
}
