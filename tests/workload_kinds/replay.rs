//! [`Replay`]: runs the steps of a case and records the outcome of each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::case_lab::{CaseLab, Collection};
use super::crds;
use super::normalize::{normalize, sort_key};
use super::placeholders::Placeholders;

/// The API version of Kueue's objects.
pub(crate) const KUEUE: &str = "kueue.x-k8s.io/v1beta2";

/// A step is over after this time without a change.
const QUIET_PERIOD: SignedDuration = SignedDuration::from_millis(1_600);
/// Timeout for a step to settle.
const SETTLE_TIMEOUT: SignedDuration = SignedDuration::from_secs(40);
const POLL_INTERVAL: f64 = 0.35;

/// The components of the control plane, whose Events are not recorded.
const CONTROL_PLANE: [&str; 12] = [
    "default-scheduler",
    "kubelet",
    "job-controller",
    "replicaset-controller",
    "deployment-controller",
    "statefulset-controller",
    "cronjob-controller",
    "taint-eviction-controller",
    "controllermanager",
    "garbage-collector-controller",
    "endpoint-controller",
    "disruption-controller",
];

/// The flavor and queues of a case; `$` marks parameters.
const QUEUES: &str = "
- {apiVersion: v1, kind: Namespace, metadata: {name: $ns}}
- apiVersion: kueue.x-k8s.io/v1beta2
  kind: ResourceFlavor
  metadata: {name: $ns}
  spec:
    nodeLabels: {example.com/pool: batch}
    tolerations: [{key: example.com/spot, operator: Exists, effect: NoSchedule}]
- apiVersion: kueue.x-k8s.io/v1beta2
  kind: ClusterQueue
  metadata: {name: $ns}
  spec:
    namespaceSelector: {}
    queueingStrategy: BestEffortFIFO
    stopPolicy: $stop
    preemption: {withinClusterQueue: LowerPriority}
    resourceGroups:
    - coveredResources: [cpu, memory, nvidia.com/gpu]
      flavors:
      - name: $ns
        resources: [{name: cpu, nominalQuota: $cpu}, {name: memory, nominalQuota: $memory}, {name: nvidia.com/gpu, nominalQuota: $gpu}]
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: $lq, namespace: $ns}, spec: {clusterQueue: $ns}}
";

/// A running case.
pub(crate) struct Replay {
    pub lab: CaseLab,
    pub namespace: String,
    /// The API version of each kind.
    pub api_versions: BTreeMap<String, String>,
    /// The kinds of the recorded objects.
    pub tracked: Vec<String>,
    /// The last seen objects of each kind.
    pub live: BTreeMap<String, Vec<Value>>,
    pub placeholders: Placeholders,
    seen_events: BTreeSet<String>,
    /// The recorded objects of the step before.
    before: BTreeMap<String, Value>,
}

/// Replays a case; returns the outcome in the format of the recordings.
///
/// # Errors
/// The case cannot be set up, or a step refers to a kind that does not exist.
pub(crate) async fn replay(recordings: &Path, name: &str, case: &Value) -> Result<Value, String> {
    let lab = CaseLab::start(recordings, &crds::groups_of_case(case)).await?;
    let mut replay = Replay::new(lab, name, case);
    let steps = replay.run(case).await;
    replay.lab.stop().await;
    Ok(json!({"case": name, "steps": steps?}))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

impl Replay {
    fn new(lab: CaseLab, name: &str, case: &Value) -> Self {
        let known = [
            ("Namespace", "v1"),
            ("Pod", "v1"),
            ("Node", "v1"),
            ("Workload", KUEUE),
            ("ClusterQueue", KUEUE),
            ("LocalQueue", KUEUE),
            ("ResourceFlavor", KUEUE),
            ("WorkloadPriorityClass", KUEUE),
            ("PriorityClass", "scheduling.k8s.io/v1"),
            ("Topology", KUEUE),
            ("ReplicaSet", "apps/v1"),
        ];
        let known = known.map(|(kind, version)| (kind.to_owned(), version.to_owned()));
        let tracked = list(&case["track"]).iter().map(text);
        let tracked = ["Workload", "Pod"].into_iter().chain(tracked);
        Self {
            lab,
            namespace: format!("wk-{}", name.replace('/', "-")),
            api_versions: known.into(),
            tracked: tracked.map(str::to_owned).collect(),
            live: BTreeMap::new(),
            placeholders: Placeholders::default(),
            seen_events: BTreeSet::new(),
            before: BTreeMap::new(),
        }
    }

    async fn run(&mut self, case: &Value) -> Result<Vec<Value>, String> {
        self.set_up(case).await?;
        let mut steps = Vec::new();
        for step in list(&case["steps"]) {
            let mut results = Vec::new();
            for operation in list(&step["do"]) {
                let mut result = self.run_operation(operation).await?;
                if !operation["note"].is_null() {
                    result["note"] = operation["note"].clone();
                }
                results.push(result);
            }
            let objects = match step["quick"] == true {
                true => Map::new(),
                false => self.changed_objects().await?,
            };
            let events = self.new_events().await;
            let id = &step["id"];
            steps.push(json!({"id": id, "ops": results, "objects": objects, "events": events}));
        }
        Ok(steps)
    }

    /// Creates the namespace, the queues and the other objects of the case.
    async fn set_up(&mut self, case: &Value) -> Result<(), String> {
        let parameter = |name: &str, default: &str| {
            let value = &case["queue"][name];
            let value = match value {
                Value::Null => default.to_owned(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            match name {
                "lq" => value,
                _ => format!("{value:?}"),
            }
        };
        let mut queues = QUEUES.replace("$ns", &self.namespace);
        for (name, default) in [
            ("cpu", "8"),
            ("memory", "64Gi"),
            ("gpu", "8"),
            ("stop", "None"),
            ("lq", "user-queue"),
        ] {
            queues = queues.replace(&format!("${name}"), &parameter(name, default));
        }
        let mut objects: Vec<Value> = serde_yaml::from_str(&queues).unwrap();
        objects.extend(list(&case["setup"]).iter().cloned());
        for object in &objects {
            let object = self.substitute(object).await?;
            self.know_kind(&object);
            let created = self.lab.create(&object, &self.namespace).await;
            created.map_err(|error| format!("setup {error}"))?;
        }
        self.lab.sleep(0.5).await;
        Ok(())
    }

    /// Remembers the API version of an object's kind.
    pub(crate) fn know_kind(&mut self, object: &Value) {
        let version = text(&object["apiVersion"]).to_owned();
        let kind = text(&object["kind"]).to_owned();
        self.api_versions.entry(kind).or_insert(version);
    }

    /// A kind of this case.
    ///
    /// # Errors
    /// The case did not name it before.
    pub(crate) fn collection<'a>(&'a self, kind: &'a str) -> Result<Collection<'a>, String> {
        let api_version = self.api_versions.get(kind);
        let api_version = api_version.ok_or_else(|| format!("the kind {kind} is not known"))?;
        Ok(Collection {
            api_version,
            kind,
            namespace: &self.namespace,
        })
    }

    /// The objects of a kind in the namespace.
    pub(crate) async fn list_objects(&self, kind: &str) -> Result<Vec<Value>, String> {
        let collection = self.collection(kind)?;
        let path = self.lab.path(collection, "", "").await?;
        let response = self
            .lab
            .request("GET", &path, "application/json", None)
            .await;
        let mut items = list(&response.body["items"]).to_vec();
        for item in &mut items {
            item["apiVersion"] = collection.api_version.into();
            item["kind"] = kind.into();
        }
        Ok(items)
    }

    async fn raw_events(&self) -> Vec<Value> {
        let path = format!(
            "/apis/events.k8s.io/v1/namespaces/{}/events",
            self.namespace
        );
        let response = self
            .lab
            .request("GET", &path, "application/json", None)
            .await;
        list(&response.body["items"]).to_vec()
    }

    /// The tracked objects, once nothing changes.
    async fn settle(&self) -> Result<Vec<Value>, String> {
        let start: Timestamp = self.lab.clock.now();
        let (mut last, mut since) = (None, start);
        loop {
            let mut objects = Vec::new();
            for kind in &self.tracked {
                objects.extend(self.list_objects(kind).await?);
            }
            let version = |object: &Value| {
                let meta = &object["metadata"];
                [&object["kind"], &meta["name"], &meta["resourceVersion"]]
                    .map(|v| text(v).to_owned())
            };
            let mut versions: Vec<_> = objects.iter().map(version).collect();
            versions.sort();
            let events = self.raw_events().await;
            let mut events: Vec<_> = events
                .iter()
                .map(|e| text(&e["metadata"]["name"]).to_owned())
                .collect();
            events.sort();
            let state = Some((versions, events));
            let now = self.lab.clock.now();
            if state != last {
                (last, since) = (state, now);
            } else if now.duration_since(since) >= QUIET_PERIOD
                || now.duration_since(start) > SETTLE_TIMEOUT
            {
                return Ok(objects);
            }
            self.lab.sleep(POLL_INTERVAL).await;
        }
    }

    /// The sections that changed in the last step, of each object.
    async fn changed_objects(&mut self) -> Result<Map<String, Value>, String> {
        let objects = self.settle().await?;
        let (workloads, others): (Vec<_>, Vec<_>) = objects
            .iter()
            .partition(|object| object["kind"] == "Workload");
        for object in others.into_iter().chain(workloads) {
            self.placeholders.learn(object);
        }
        let mut by_key: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for object in &objects {
            let object = normalize(object, &self.placeholders);
            let key = format!(
                "{}/{}",
                text(&object["kind"]),
                text(&object["metadata"]["name"])
            );
            by_key.entry(key).or_default().push(object);
        }
        let one_or_sorted = |(key, mut objects): (String, Vec<Value>)| {
            objects.sort_by_cached_key(sort_key);
            let single = objects.len() == 1;
            let value = match single {
                true => objects.remove(0),
                false => objects.into(),
            };
            (key, value)
        };
        let now: BTreeMap<String, Value> = by_key.into_iter().map(one_or_sorted).collect();
        let mut changes = Map::new();
        for (key, object) in &now {
            match self.before.get(key) {
                Some(before) if before == object => {}
                Some(before) => {
                    changes.insert(key.clone(), changed_sections(before, object));
                }
                None => {
                    changes.insert(key.clone(), object.clone());
                }
            }
        }
        let gone = self.before.keys().filter(|key| !now.contains_key(*key));
        changes.extend(gone.map(|key| (key.clone(), Value::Null)));
        self.before = now;
        self.live.clear();
        for object in objects {
            let kind = text(&object["kind"]).to_owned();
            self.live.entry(kind).or_default().push(object);
        }
        Ok(changes)
    }

    /// The Events of Kueue since the last call, by object.
    async fn new_events(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        for event in self.raw_events().await {
            let by = [
                &event["reportingController"],
                &event["deprecatedSource"]["component"],
            ];
            let name = text(&event["metadata"]["name"]).to_owned();
            let foreign = by.iter().any(|by| CONTROL_PLANE.contains(&text(by)));
            if foreign || !self.seen_events.insert(name) {
                continue;
            }
            let on = format!(
                "{}/{}",
                text(&event["regarding"]["kind"]),
                text(&event["regarding"]["name"])
            );
            let on = self.placeholders.replace(&on);
            let recorded = json!({
                "on": on, "type": event["type"], "reason": event["reason"], "action": text(&event["action"]),
                "note": self.placeholders.replace(text(&event["note"])),
            });
            events.push((on, text(&event["eventTime"]).to_owned(), recorded));
        }
        events.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        events.into_iter().map(|(_, _, event)| event).collect()
    }
}

/// The top-level sections that differ, `null` for a removed one; lists of objects as a whole.
fn changed_sections(before: &Value, now: &Value) -> Value {
    let (Value::Object(before), Value::Object(object)) = (before, now) else {
        return now.clone();
    };
    let sections: BTreeSet<&String> = before.keys().chain(object.keys()).collect();
    let changed = sections
        .into_iter()
        .filter(|section| before.get(*section) != object.get(*section));
    let value = |section: &String| object.get(section).cloned().unwrap_or_default();
    let changed = changed.map(|section| (section.clone(), value(section)));
    changed.collect::<Map<String, Value>>().into()
}
