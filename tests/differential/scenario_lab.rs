//! [`ScenarioLab`]: a lab in virtual time on which a scenario is replayed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::SignedDuration;
use kueue_lab_api::config;
use kueue_lab_clock::Clock;
use kueue_lab_entropy::Entropy;
use kueue_lab_lab::{Lab, LabConfig, NodePools};
use kueue_lab_runtime::Context;
use serde_json::Value;

use super::object_tracker::ObjectTracker;

/// A state is settled after this time without a change.
const QUIET_PERIOD: SignedDuration = SignedDuration::from_secs(3);
/// Timeout for a step to settle.
const SETTLE_TIMEOUT: SignedDuration = SignedDuration::from_secs(60);

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
}

/// Upstream's configuration in the recording.
fn configuration(folder: &std::path::Path, fair_sharing: bool) -> config::LoadedConfiguration {
    let mut text = std::fs::read_to_string(folder.join("kueue-config.yaml")).unwrap();
    if fair_sharing {
        text.push_str("\nfairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}\n");
    }
    config::load(&text).unwrap()
}

/// Large nodes with all labels that the scenarios use.
fn nodes() -> NodePools {
    let mut text = String::new();
    for tier in ["on-demand", "spot", "reserved"] {
        for accel in ["a100", "h100"] {
            text.push_str(&format!(
                "- {{name: difftest-{tier}-{accel}, count: 2, resources: {{cpu: 1000, memory: 4000Gi, pods: 500, nvidia.com/gpu: 256, ephemeral-storage: 100Gi}}, labels: {{difftest/tier: {tier}, difftest/accel: {accel}}}}}\n"
            ));
        }
    }
    NodePools::parse(&text).unwrap()
}

fn path(api_version: &str, kind: &str, namespace: Option<&str>) -> String {
    let base = match api_version.contains('/') {
        true => format!("/apis/{api_version}"),
        false => format!("/api/{api_version}"),
    };
    let plural = match kind {
        "WorkloadPriorityClass" => "workloadpriorityclasses".to_owned(),
        kind => format!("{}s", kind.to_lowercase()),
    };
    match namespace {
        Some(namespace) => format!("{base}/namespaces/{namespace}/{plural}"),
        None => format!("{base}/{plural}"),
    }
}

impl ScenarioLab {
    /// Starts a lab for a scenario.
    pub(crate) async fn start(folder: &std::path::Path, scenario: &Value) -> Self {
        let presets = tempfile::tempdir().unwrap();
        std::fs::create_dir(presets.path().join("empty")).unwrap();
        std::fs::write(presets.path().join("empty/a.yaml"), PRESET).unwrap();
        let clock = Clock::starting_at("2026-08-23T12:00:00Z".parse().unwrap());
        let lab = Lab::start(LabConfig {
            remote: None,
            clock: clock.clone(),
            entropy: Entropy::seeded(scenario["seed"].as_u64().unwrap_or_default()),
            presets: presets.path().to_owned(),
            preset: "empty".into(),
            watch: false,
            port: None,
            nodes: nodes(),
            nodes_file: None,
            operators: false,
            kueue: Some(configuration(
                folder,
                scenario["config"]["fairSharing"] == true,
            )),
        })
        .await
        .unwrap();
        let context = Context::new(lab.client(), clock.clone(), Entropy::seeded(1));
        let tracker = ObjectTracker::start(&context, pod_groups(scenario)).await;
        let lab = Self {
            lab,
            context,
            clock,
            objects: tracker,
            namespace: scenario["namespace"].as_str().unwrap().to_owned(),
            seen_event_counts: BTreeMap::new(),
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

    /// Sends a request; returns the response or the Status of the error.
    async fn request(
        &self,
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
        match self.lab.client().request::<Value>(request).await {
            Ok(value) => Ok(value),
            Err(kube::Error::Api(status)) => Err(serde_json::json!({
                "status": status.code, "reason": status.reason, "message": status.message,
            })),
            Err(error) => panic!("{method} {path}: {error}"),
        }
    }

    /// Creates an object.
    pub(crate) async fn create(&self, object: &Value) -> Result<Value, Value> {
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let namespace = object["metadata"]["namespace"].as_str();
        let path = path(
            &text(&object["apiVersion"]),
            &text(&object["kind"]),
            namespace,
        );
        let answer = self
            .request("POST", &path, "application/json", Some(object))
            .await;
        self.sleep(0.01).await;
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

    /// Deletes an object in the namespace of the scenario, with background propagation.
    pub(crate) async fn delete(&self, api_version: &str, kind: &str, name: &str) {
        let path = format!("{}/{name}", path(api_version, kind, Some(&self.namespace)));
        let options = serde_json::json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"});
        let options = (kind == "Job").then_some(&options);
        let _ = self
            .request("DELETE", &path, "application/json", options)
            .await;
        self.sleep(0.005).await;
    }

    /// Waits until nothing changes; false after [`SETTLE_TIMEOUT`].
    pub(crate) async fn wait_until_quiet(&self) -> bool {
        let start = self.clock.now();
        let end = start + SETTLE_TIMEOUT;
        loop {
            let now = self.clock.now();
            if now > end {
                return false;
            }
            let still = now.duration_since(self.objects.last_changed().max(start));
            if still >= QUIET_PERIOD {
                return true;
            }
            let left = QUIET_PERIOD.saturating_sub(still).as_secs_f64();
            self.sleep(left.clamp(0.05, 0.5)).await;
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

/// The pod groups of a scenario.
fn pod_groups(scenario: &Value) -> BTreeSet<String> {
    let steps = scenario["steps"].as_array().into_iter().flatten();
    let creations = steps.flat_map(|step| {
        let also = step["also"].as_array().into_iter().flatten();
        std::iter::once(step).chain(also)
    });
    let objects = creations.flat_map(|c| c["objects"].as_array().into_iter().flatten());
    objects
        .filter_map(|o| o["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"].as_str())
        .map(str::to_owned)
        .collect()
}
