//! [`ReferenceRun`]: an API server with virtual nodes and the controller, and a recorder of conditions and
//! Events.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_clock::{Clock, virtual_runtime};
use kueue_lab_controller::{Controller, ControllerConfig};
use kueue_lab_controller_runtime::{Api, Change, Context, Informer};
use kueue_lab_lab::JobWebhooksPlugin;
use kueue_lab_machines::{Machines, MachinesConfig};
use kueue_lab_nodes::NodePools;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::kueue_server::{KueueServer, create};
use crate::timeline::{Normalizer, Timeline, read_timeline};

/// A reference run that is repeated.
pub(crate) struct ReferenceRun {
    pub client: Client,
    pub clock: Clock,
    timeline: Arc<Mutex<Timeline>>,
    workloads: Informer<Workload>,
    start: jiff::Timestamp,
}

const POOLS: &str =
    "- {name: fake, count: 3, resources: {cpu: 32, memory: 64Gi, pods: 110, nvidia.com/gpu: 8}}\n";

/// Repeats a reference run in virtual time and compares its timeline with the recorded one.
pub(crate) fn replay(name: &str, steps: impl AsyncFnOnce(&ReferenceRun)) {
    let upstream = read_timeline(name);
    let ours = run_virtually(steps, async |run| std::mem::take(&mut *run.timeline.lock()));
    let found = ours.differences(&upstream);
    assert!(
        found.is_empty(),
        "{} differences in {name}:\n{}",
        found.len(),
        found.join("\n")
    );
}

/// Runs `steps` in virtual time and returns the result of `observe` at the end.
pub(crate) fn run_virtually<T>(
    steps: impl AsyncFnOnce(&ReferenceRun),
    observe: impl AsyncFnOnce(&ReferenceRun) -> T,
) -> T {
    virtual_runtime().unwrap().block_on(async {
        let KueueServer {
            server,
            client,
            clock,
            entropy,
        } = KueueServer::start().await;
        let config = MachinesConfig::embedded();
        let runtime = std::sync::Arc::new(kueue_lab_container_runtime::SimulatedRuntime::default());
        let machines = Machines::start(
            client.clone(),
            clock.clone(),
            entropy.clone(),
            config,
            runtime,
        )
        .await;
        machines.apply_pools(NodePools::parse(POOLS).unwrap()).await;
        let context = Context::new(client.clone(), clock.clone(), entropy);
        let controller = Controller::start(&context, ControllerConfig::default()).await;
        server.add_admission(Arc::new(JobWebhooksPlugin::new(controller.webhooks())));
        let run = ReferenceRun::new(&context);
        clock.sleep(Duration::from_secs(1)).await;
        steps(&run).await;
        let observed = observe(&run).await;
        context.tasks.shutdown().await;
        machines.shutdown().await;
        observed
    })
}

fn record_conditions(timeline: &mut Timeline, normalizer: &Normalizer, wl: &Workload) {
    let name = normalizer.normalize(&wl.name_any());
    for c in &wl.status.conditions {
        let text = normalizer.normalize(&format!("{}/{}: {}", c.status, c.reason, c.message));
        timeline.add_condition(&name, &c.type_, text);
    }
}

impl ReferenceRun {
    fn new(context: &Context) -> Self {
        let timeline = Arc::new(Mutex::new(Timeline::default()));
        let workloads =
            Informer::builder(Api::<Workload>::all(context.client.clone())).start(context);
        let (recorded, normalizer) = (timeline.clone(), Normalizer::new());
        workloads.add_event_handler(move |change| {
            if let Change::Added(wl) | Change::Updated { new: wl, .. } = change {
                record_conditions(&mut recorded.lock(), &normalizer, wl);
            }
        });
        let events = Informer::builder(Api::<Event>::all(context.client.clone())).start(context);
        let (recorded, normalizer) = (timeline.clone(), Normalizer::new());
        events.add_event_handler(move |change| {
            let Change::Added(event) = change else { return };
            let text = |s: &Option<String>| s.clone().unwrap_or_default();
            let regarding = event.regarding.clone().unwrap_or_default();
            let by = text(&event.reporting_controller);
            let text_of_event = format!(
                "{} {} {} {by}: {}",
                text(&event.type_),
                text(&event.reason),
                text(&event.action),
                text(&event.note)
            );
            let on = format!("{}/{}", text(&regarding.kind), text(&regarding.name));
            recorded.lock().add_event(
                normalizer.normalize(&on),
                &by,
                normalizer.normalize(&text_of_event),
            );
        });
        Self {
            client: context.client.clone(),
            clock: context.clock.clone(),
            start: context.clock.now(),
            timeline,
            workloads,
        }
    }

    /// Clears the recorded conditions except the current ones.
    pub(crate) fn reset_timeline(&self) {
        let mut timeline = self.timeline.lock();
        let events = std::mem::take(&mut timeline.events);
        *timeline = Timeline {
            events,
            ..Timeline::default()
        };
        for wl in self.workloads.list() {
            record_conditions(&mut timeline, &Normalizer::new(), &wl);
        }
    }

    /// Creates the objects of a YAML stream.
    pub(crate) async fn apply(&self, yaml: &str) {
        for document in yaml.split("\n---\n") {
            create(&self.client, serde_yaml::from_str(document).unwrap()).await;
        }
    }

    /// Creates a namespace with LocalQueues (name, ClusterQueue).
    pub(crate) async fn namespace(&self, name: &str, queues: &[(&str, &str)]) {
        self.apply(&format!(
            "{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}"
        ))
        .await;
        for (queue, cluster_queue) in queues {
            self.apply(&format!(
                "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {{name: {queue}, namespace: {name}}}, spec: {{clusterQueue: {cluster_queue}}}}}"
            ))
            .await;
        }
        self.clock.sleep(Duration::from_secs(1)).await;
    }

    /// Sleeps until this many seconds of the run have passed.
    pub(crate) async fn at(&self, seconds: f64) {
        let at = self
            .start
            .checked_add(jiff::SignedDuration::from_secs_f64(seconds + 10.0))
            .unwrap();
        self.clock.sleep_until(at).await;
    }

    /// Creates a Job. `key` is its namespace and name; `seconds` is how long its pods run.
    pub(crate) async fn job(
        &self,
        key: (&str, &str),
        queue: &str,
        class: &str,
        pods: u32,
        resources: Value,
        seconds: u32,
    ) {
        let (namespace, name) = key;
        let mut labels = json!({"kueue.x-k8s.io/queue-name": queue});
        if !class.is_empty() {
            labels["kueue.x-k8s.io/priority-class"] = json!(class);
        }
        create(
            &self.client,
            json!({
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": {"name": name, "namespace": namespace, "labels": labels},
                "spec": {"parallelism": pods, "completions": pods, "template": {
                    "metadata": {"annotations": {"example.com/duration": seconds.to_string()}},
                    "spec": {"restartPolicy": "Never", "containers": [
                        {"name": "c", "image": "busybox", "resources": resources}]},
                }},
            }),
        )
        .await;
    }

    /// Creates a Pod that runs for `seconds`, optionally in a pod group (name, total count).
    pub(crate) async fn pod(
        &self,
        key: (&str, &str),
        class: &str,
        cpu: u32,
        seconds: u32,
        group: Option<(&str, u32)>,
    ) {
        let (namespace, name) = key;
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": name, "namespace": namespace,
                "labels": {"kueue.x-k8s.io/queue-name": "lq", "kueue.x-k8s.io/priority-class": class},
                "annotations": {"example.com/duration": seconds.to_string()},
            },
            "spec": {"restartPolicy": "Never", "containers": [
                {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": cpu.to_string()}}}]},
        });
        if let Some((group, count)) = group {
            pod["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"] = json!(group);
            pod["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-total-count"] =
                json!(count.to_string());
        }
        create(&self.client, pod).await;
    }

    /// All objects of some kinds (group, version, kind).
    pub(crate) async fn objects(&self, kinds: &[(&str, &str, &str)]) -> Vec<Value> {
        let mut all = Vec::new();
        for (group, version, kind) in kinds {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
            let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
            let listed = api.list(&ListParams::default()).await.unwrap();
            all.extend(listed.into_iter().map(|object| json!(object)));
        }
        all
    }

    /// Deletes a Job.
    pub(crate) async fn delete_job(&self, namespace: &str, name: &str) {
        let api: Api<Job> = Api::namespaced(self.client.clone(), namespace);
        api.delete(name, &DeleteParams::background()).await.unwrap();
    }

    /// Patches an object, or its status if the patch has one.
    pub(crate) async fn patch(
        &self,
        gvk: (&str, &str, &str),
        namespace: &str,
        name: &str,
        patch: Value,
    ) {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(gvk.0, gvk.1, gvk.2));
        let api: Api<DynamicObject> = match namespace {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        };
        let params = PatchParams::default();
        let status = patch.get("status").is_some();
        let patch = Patch::Merge(&patch);
        match status {
            true => api.patch_status(name, &params, &patch).await.unwrap(),
            false => api.patch(name, &params, &patch).await.unwrap(),
        };
    }

    /// The name of the Workload of a Job.
    pub(crate) fn workload(&self, job: &str) -> String {
        let prefix = format!("job-{job}-");
        let all = self.workloads.list();
        let found = all.iter().find(|wl| wl.name_any().starts_with(&prefix));
        found
            .unwrap_or_else(|| panic!("{job} has no Workload"))
            .name_any()
    }
}
