//! The stage of the stories: a cluster with machines and the controller, and who writes down what
//! happens.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt};
use kueue_lab_api::crds::{CRDS, Conversion};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::{Clock, virtual_runtime};
use kueue_lab_controller::{Controller, ControllerConfig};
use kueue_lab_entropy::Entropy;
use kueue_lab_lab::JobWebhooksPlugin;
use kueue_lab_machines::nodes::NodePools;
use kueue_lab_machines::{Machines, MachinesConfig};
use kueue_lab_runtime::{Change, Context, Informer};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::timeline::{Normalizer, Timeline, read_timeline};

/// Where a story plays.
pub struct ReferenceRun {
    pub client: Client,
    pub clock: Clock,
    timeline: Arc<Mutex<Timeline>>,
    workloads: Informer<Workload>,
    start: jiff::Timestamp,
}

const POOLS: &str =
    "- {name: fake, count: 3, resources: {cpu: 32, memory: 64Gi, pods: 110, nvidia.com/gpu: 8}}\n";

/// Plays a story in virtual time and compares what is told with what upstream told.
pub fn replay(story: &str, acts: impl AsyncFnOnce(&ReferenceRun)) {
    let Some(upstream) = read_timeline(story) else {
        return;
    };
    let told = run_virtually(acts, async |stage| {
        std::mem::take(&mut *stage.timeline.lock())
    });
    let found = told.differences(&upstream);
    assert!(
        found.is_empty(),
        "{} differences in {story}:\n{}",
        found.len(),
        found.join("\n")
    );
}

/// Plays a story in virtual time; what `remember` makes of the stage at its end.
pub fn run_virtually<T>(
    acts: impl AsyncFnOnce(&ReferenceRun),
    remember: impl AsyncFnOnce(&ReferenceRun) -> T,
) -> T {
    virtual_runtime().unwrap().block_on(async {
        let clock = Clock::starting_at("2026-03-02T12:00:00Z".parse().unwrap());
        let entropy = Entropy::seeded(1);
        let server = ApiServer::builder(clock.clone(), entropy.clone()).build();
        let client = server.client();
        for crd in CRDS {
            create(&client, crd.object(&Conversion::None)).await;
        }
        let config = MachinesConfig::embedded();
        let machines =
            Machines::start(client.clone(), clock.clone(), entropy.clone(), config).await;
        machines.apply_pools(NodePools::parse(POOLS).unwrap()).await;
        let context = Context::new(client.clone(), clock.clone(), entropy);
        let controller = Controller::start(&context, ControllerConfig::default()).await;
        server.add_admission(Arc::new(JobWebhooksPlugin::new(controller.webhooks())));
        let stage = ReferenceRun::new(&context);
        clock.sleep(Duration::from_secs(1)).await;
        acts(&stage).await;
        let remembered = remember(&stage).await;
        context.tasks.shutdown().await;
        machines.shutdown().await;
        remembered
    })
}

async fn create(client: &Client, object: Value) {
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let types = object.types.clone().unwrap();
    let gvk = GroupVersionKind::try_from(&types).unwrap();
    let resource = ApiResource::from_gvk(&gvk);
    let api: Api<DynamicObject> = match object.namespace() {
        Some(namespace) => Api::namespaced_with(client.clone(), &namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    api.create(&PostParams::default(), &object).await.unwrap();
}

fn record_conditions(told: &mut Timeline, plain: &Normalizer, wl: &Workload) {
    let name = plain.normalize(&wl.name_any());
    for c in &wl.status.conditions {
        let text = plain.normalize(&format!("{}/{}: {}", c.status, c.reason, c.message));
        told.add_condition(&name, &c.type_, text);
    }
}

impl ReferenceRun {
    fn new(context: &Context) -> Self {
        let timeline = Arc::new(Mutex::new(Timeline::default()));
        let workloads = Informer::builder(kueue_lab_runtime::Api::<Workload>::all(
            context.client.clone(),
        ))
        .start(context);
        let (book, plain) = (timeline.clone(), Normalizer::new());
        workloads.add_event_handler(move |change| {
            if let Change::Added(wl) | Change::Updated { new: wl, .. } = change {
                record_conditions(&mut book.lock(), &plain, wl);
            }
        });
        let events =
            Informer::builder(kueue_lab_runtime::Api::<Event>::all(context.client.clone()))
                .start(context);
        let (book, plain) = (timeline.clone(), Normalizer::new());
        events.add_event_handler(move |change| {
            let Change::Added(event) = change else { return };
            let text = |s: &Option<String>| s.clone().unwrap_or_default();
            let regarding = event.regarding.clone().unwrap_or_default();
            let by = text(&event.reporting_controller);
            let said = format!(
                "{} {} {} {by}: {}",
                text(&event.type_),
                text(&event.reason),
                text(&event.action),
                text(&event.note)
            );
            let on = format!("{}/{}", text(&regarding.kind), text(&regarding.name));
            book.lock()
                .add_event(plain.normalize(&on), &by, plain.normalize(&said));
        });
        Self {
            client: context.client.clone(),
            clock: context.clock.clone(),
            start: context.clock.now(),
            timeline,
            workloads,
        }
    }

    /// Forgets what was told so far but for how things stand.
    pub fn reset_timeline(&self) {
        let mut told = self.timeline.lock();
        let events = std::mem::take(&mut told.events);
        *told = Timeline {
            events,
            ..Timeline::default()
        };
        for wl in self.workloads.list() {
            record_conditions(&mut told, &Normalizer::new(), &wl);
        }
    }

    /// Creates the objects of a YAML text.
    pub async fn apply(&self, yaml: &str) {
        for document in yaml.split("\n---\n") {
            create(&self.client, serde_yaml::from_str(document).unwrap()).await;
        }
    }

    /// A namespace with LocalQueues, each `name clusterQueue`.
    pub async fn namespace(&self, name: &str, queues: &[(&str, &str)]) {
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

    /// Waits until so many seconds have passed since the curtain rose.
    pub async fn at(&self, seconds: f64) {
        let at = self
            .start
            .checked_add(jiff::SignedDuration::from_secs_f64(seconds + 10.0))
            .unwrap();
        self.clock.sleep_until(at).await;
    }

    /// A Job: name, queue, priority class, pods, what each asks for, for how many seconds it runs.
    pub async fn job(
        &self,
        place: (&str, &str),
        queue: &str,
        class: &str,
        pods: u32,
        asks: Value,
        seconds: u32,
    ) {
        let (namespace, name) = place;
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
                        {"name": "c", "image": "busybox", "resources": asks}]},
                }},
            }),
        )
        .await;
    }

    /// A Pod that runs for so many seconds; in a group of so many, where there is one.
    pub async fn pod(
        &self,
        place: (&str, &str),
        class: &str,
        cpu: u32,
        seconds: u32,
        group: Option<(&str, u32)>,
    ) {
        let (namespace, name) = place;
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

    /// Every object of some kinds, each with the version it has.
    pub async fn objects(&self, kinds: &[(&str, &str, &str)]) -> Vec<Value> {
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
    pub async fn delete_job(&self, namespace: &str, name: &str) {
        let api: Api<Job> = Api::namespaced(self.client.clone(), namespace);
        api.delete(name, &DeleteParams::background()).await.unwrap();
    }

    /// Changes an object, or its status.
    pub async fn patch(&self, gvk: (&str, &str, &str), namespace: &str, name: &str, patch: Value) {
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

    /// The full name of the Workload of a Job.
    pub fn workload(&self, job: &str) -> String {
        let prefix = format!("job-{job}-");
        let all = self.workloads.list();
        let found = all.iter().find(|wl| wl.name_any().starts_with(&prefix));
        found
            .unwrap_or_else(|| panic!("{job} has no Workload"))
            .name_any()
    }
}
