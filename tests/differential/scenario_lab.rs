//! [`ScenarioLab`]: a lab in virtual time on which a scenario is replayed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use std::time::Duration;

use jiff::SignedDuration;
use kueue_lab_api::config;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_controller_runtime::Context;
use kueue_lab_lab::{Lab, LabConfig, NodePools};
use serde_json::Value;

use super::job_set;
use super::object_tracker::ObjectTracker;
use super::unsettled::unsettled;

/// A state is settled after this many seconds without a change, unless the scenario says otherwise.
const QUIET_PERIOD: f64 = 3.0;
/// Timeout in seconds for a step to settle, unless the scenario says otherwise.
const SETTLE_TIMEOUT: f64 = 60.0;
/// How much longer a state of the second set may look unfinished: a Job controller waits ten seconds after
/// a failed pod.
const UNSETTLED_TIMEOUT: SignedDuration = SignedDuration::from_secs(12);

const PRESET: &str = "apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: differential}
value: 1
";

/// The lab of a scenario.
pub(crate) struct ScenarioLab {
    lab: Lab,
    context: Context,
    pub clock: Clock,
    pub objects: ObjectTracker,
    pub namespace: String,
    /// The count of each Event, by UID.
    seen_event_counts: BTreeMap<String, i64>,
    /// Whether the scenario is one of the second set.
    pub second_set: bool,
    quiet_period: SignedDuration,
    settle_timeout: SignedDuration,
    /// How much longer a state may look unfinished.
    unsettled_timeout: SignedDuration,
    /// Names of the checks for unfinished states that do not apply.
    loose: BTreeSet<String>,
}

/// Large nodes with all labels that the scenarios use, as node pools.
pub(crate) static NODE_POOLS: LazyLock<String> = LazyLock::new(|| {
    let mut text = String::new();
    for tier in ["on-demand", "spot", "reserved"] {
        for accel in ["a100", "h100"] {
            text.push_str(&format!(
                "- {{name: difftest-{tier}-{accel}, count: 2, resources: {{cpu: 1000, memory: 4000Gi, pods: 500, nvidia.com/gpu: 256, ephemeral-storage: 100Gi}}, labels: {{difftest/tier: {tier}, difftest/accel: {accel}}}}}\n"
            ));
        }
    }
    text
});

fn path(api_version: &str, kind: &str, namespace: Option<&str>) -> String {
    let base = match api_version.contains('/') {
        true => format!("/apis/{api_version}"),
        false => format!("/api/{api_version}"),
    };
    let plural = match kind {
        "WorkloadPriorityClass" => "workloadpriorityclasses".to_owned(),
        "RuntimeClass" => "runtimeclasses".to_owned(),
        "Topology" => "topologies".to_owned(),
        kind => format!("{}s", kind.to_lowercase()),
    };
    match namespace {
        Some(namespace) => format!("{base}/namespaces/{namespace}/{plural}"),
        None => format!("{base}/{plural}"),
    }
}

impl ScenarioLab {
    /// Starts a lab for a scenario.
    pub(crate) async fn start(configuration: &str, scenario: &Value) -> Self {
        let presets = tempfile::tempdir().unwrap();
        std::fs::create_dir(presets.path().join("empty")).unwrap();
        std::fs::write(presets.path().join("empty/a.yaml"), PRESET).unwrap();
        let clock = Clock::starting_at("2026-08-23T12:00:00Z".parse().unwrap());
        let mut config = LabConfig::embedded(
            clock.clone(),
            Entropy::seeded(scenario["seed"].as_u64().unwrap_or_default()),
            presets.path(),
        );
        config.presets.active = Some("empty".into());
        config.components.nodes = NodePools::parse(&NODE_POOLS).unwrap();
        config.components.operators = false;
        config.components.kueue = Some(config::load(configuration).unwrap());
        let lab = Lab::start(config).await.unwrap();
        let context = Context::new(lab.client(), clock.clone(), Entropy::seeded(1));
        let job_sets = has_job_sets(scenario);
        if job_sets {
            let definition = serde_yaml::from_str(job_set::DEFINITION).unwrap();
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            let answer = request(&lab, "POST", path, "application/json", Some(&definition)).await;
            answer.unwrap();
            clock.sleep(Duration::from_secs(5)).await;
        }
        let tracker = ObjectTracker::start(&context, pod_groups(scenario), job_sets).await;
        let seconds = |field: &str, otherwise: f64| {
            let seconds = scenario[field].as_f64().unwrap_or(otherwise);
            SignedDuration::from_millis((seconds * 1000.0) as i64)
        };
        let second_set = !scenario["config"]["file"].is_null();
        let loose = scenario["loose"].as_array().into_iter().flatten();
        let lab = Self {
            lab,
            context,
            clock,
            objects: tracker,
            namespace: scenario["namespace"].as_str().unwrap().to_owned(),
            seen_event_counts: BTreeMap::new(),
            second_set,
            quiet_period: seconds("quiet", QUIET_PERIOD),
            settle_timeout: seconds("maxWait", SETTLE_TIMEOUT),
            unsettled_timeout: match second_set {
                true => UNSETTLED_TIMEOUT,
                false => SignedDuration::ZERO,
            },
            loose: loose.filter_map(Value::as_str).map(str::to_owned).collect(),
        };
        lab.sleep(1.7).await;
        lab
    }

    /// Stops the lab.
    pub(crate) async fn stop(self) {
        self.context.tasks.shutdown().await;
        self.lab.stop().await;
    }

    pub(crate) async fn sleep(&self, seconds: f64) {
        self.clock.sleep(Duration::from_secs_f64(seconds)).await;
    }

    async fn request(
        &self,
        method: &str,
        path: &str,
        content: &str,
        body: Option<&Value>,
    ) -> Result<Value, Value> {
        request(&self.lab, method, path, content, body).await
    }

    /// Creates an object.
    pub(crate) async fn create(&self, object: &Value) -> Result<Value, Value> {
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let namespace = object["metadata"]["namespace"].as_str();
        let path = path(&api_version, &kind, namespace);
        let answer = self
            .request("POST", &path, "application/json", Some(object))
            .await;
        self.sleep(0.01).await;
        let status = &object["status"];
        if answer.is_ok() && !status.is_null() && matches!(&*kind, "Node" | "AdmissionCheck") {
            let name = text(&object["metadata"]["name"]);
            let what = (&*api_version, &*kind, &*name);
            let mut patch = serde_json::json!({"status": status});
            self.set_times(&kind, &mut patch["status"]);
            self.patch(what, namespace, &patch).await?;
            if kind == "Node" {
                let taints = &object["spec"]["taints"];
                let patch = serde_json::json!({"spec": {"taints": taints}});
                self.patch(what, namespace, &patch).await?;
            }
        }
        answer
    }

    /// Sets the times of the conditions in a status that have none.
    pub(crate) fn set_times(&self, kind: &str, status: &mut Value) {
        let now = serde_json::json!(self.clock.time());
        let conditions = status["conditions"].as_array_mut();
        for condition in conditions.into_iter().flatten() {
            let mut fields = vec!["lastTransitionTime"];
            if kind == "Node" {
                fields.push("lastHeartbeatTime");
            }
            for field in fields {
                if condition[field].is_null() {
                    condition[field] = now.clone();
                }
            }
        }
    }

    /// Reads an object.
    pub(crate) async fn get(
        &self,
        (api_version, kind, name): (&str, &str, &str),
        namespace: Option<&str>,
    ) -> Result<Value, Value> {
        let path = format!("{}/{name}", path(api_version, kind, namespace));
        self.request("GET", &path, "application/json", None).await
    }

    /// Replaces the status of an object.
    pub(crate) async fn replace_status(
        &self,
        (api_version, kind, name): (&str, &str, &str),
        namespace: Option<&str>,
        object: &Value,
    ) -> Result<Value, Value> {
        let path = format!("{}/{name}/status", path(api_version, kind, namespace));
        let answer = self.request("PUT", &path, "application/json", Some(object));
        let answer = answer.await;
        self.sleep(0.005).await;
        answer
    }

    /// Applies a merge patch to an object, or to its status.
    pub(crate) async fn patch(
        &self,
        (api_version, kind, name): (&str, &str, &str),
        namespace: Option<&str>,
        patch: &Value,
    ) -> Result<Value, Value> {
        let status = if patch["status"].is_null() {
            ""
        } else {
            "/status"
        };
        let path = format!("{}/{name}{status}", path(api_version, kind, namespace));
        let content = "application/merge-patch+json";
        let answer = self.request("PATCH", &path, content, Some(patch)).await;
        self.sleep(0.005).await;
        answer
    }

    /// Deletes an object in the namespace of the scenario; a Job with background propagation.
    pub(crate) async fn delete(&self, api_version: &str, kind: &str, name: &str) {
        let what = (api_version, kind, name);
        let namespace = Some(self.namespace.as_str());
        // The object may be gone.
        let _ = self.delete_object(what, namespace, kind == "Job").await;
    }

    /// Deletes an object.
    pub(crate) async fn delete_object(
        &self,
        (api_version, kind, name): (&str, &str, &str),
        namespace: Option<&str>,
        background: bool,
    ) -> Result<Value, Value> {
        let path = format!("{}/{name}", path(api_version, kind, namespace));
        let options = serde_json::json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"});
        let options = background.then_some(&options);
        let answer = self
            .request("DELETE", &path, "application/json", options)
            .await;
        self.sleep(0.005).await;
        answer
    }

    /// Waits until nothing changes; false after the timeout.
    pub(crate) async fn wait_until_quiet(&self) -> bool {
        let start = self.clock.now();
        let end = start + self.settle_timeout;
        let loose: BTreeSet<&str> = self.loose.iter().map(String::as_str).collect();
        let mut settled_by = None;
        loop {
            let now = self.clock.now();
            if now > end {
                return false;
            }
            let still = now.duration_since(self.objects.last_changed().max(start));
            let left = self.quiet_period.saturating_sub(still).as_secs_f64();
            if left > 0.0 {
                self.sleep(left.clamp(0.05, 0.5)).await;
                continue;
            }
            let settled_by = *settled_by.get_or_insert(now + self.unsettled_timeout);
            if now >= settled_by || unsettled(&self.objects, &loose).is_none() {
                return true;
            }
            self.sleep(0.3).await;
        }
    }

    /// The Events since the last call, each with the increase of its count.
    pub(crate) async fn events(&mut self) -> Vec<(Value, i64)> {
        let path = format!("/api/v1/namespaces/{}/events", self.namespace);
        let list = self.request("GET", &path, "application/json", None).await;
        let list = list.unwrap();
        let mut events: Vec<Value> = list["items"].as_array().unwrap().clone();
        let version = |e: &Value| {
            let version = e["metadata"]["resourceVersion"].as_str();
            version.and_then(|v| v.parse::<u64>().ok())
        };
        let at = |e: &Value| {
            let at = [&e["eventTime"], &e["firstTimestamp"]];
            let at = at.into_iter().find_map(Value::as_str);
            at.unwrap_or_default().to_owned()
        };
        events.sort_by_key(|e| (at(e), version(e)));
        let mut new = Vec::new();
        for event in events {
            let uid = event["metadata"]["uid"].as_str().unwrap().to_owned();
            let number = |v: &Value| v.as_i64().unwrap_or_default();
            let count = number(&event["series"]["count"])
                .max(number(&event["count"]))
                .max(1);
            let before = self
                .seen_event_counts
                .insert(uid, count)
                .unwrap_or_default();
            if count > before {
                new.push((event, count - before));
            }
        }
        new
    }
}

/// Sends a request; returns the response or the Status of the error.
async fn request(
    lab: &Lab,
    method: &str,
    path: &str,
    content: &str,
    body: Option<&Value>,
) -> Result<Value, Value> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content)
        .body(body.into_bytes())
        .unwrap();
    match lab.client().request::<Value>(request).await {
        Ok(value) => Ok(value),
        Err(kube::Error::Api(status)) => Err(serde_json::json!({
            "status": status.code, "reason": status.reason, "message": status.message,
        })),
        Err(error) => panic!("{method} {path}: {error}"),
    }
}

fn created_objects(scenario: &Value) -> impl Iterator<Item = &Value> {
    let steps = scenario["steps"].as_array().into_iter().flatten();
    let creations = steps.flat_map(|step| {
        let also = step["also"].as_array().into_iter().flatten();
        std::iter::once(step).chain(also)
    });
    creations.flat_map(|c| c["objects"].as_array().into_iter().flatten())
}

fn has_job_sets(scenario: &Value) -> bool {
    created_objects(scenario).any(|o| o["kind"] == "JobSet")
}

/// The pod groups of a scenario.
fn pod_groups(scenario: &Value) -> BTreeSet<String> {
    created_objects(scenario)
        .filter_map(|o| o["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"].as_str())
        .map(str::to_owned)
        .collect()
}
