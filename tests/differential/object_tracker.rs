//! [`ObjectTracker`]: the last seen objects of a scenario, the time of the last change, and normalized
//! names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::Resource;
use kueue_lab_api::v1beta2::{ClusterQueue, Cohort, LocalQueue, Workload};
use kueue_lab_clock::Clock;
use kueue_lab_codec::Codec;
use kueue_lab_runtime::{Api, Change, Context, Informer};
use parking_lot::Mutex;
use regex::{Captures, Regex};
use serde_json::Value;

const GROUP: &str = "kueue.x-k8s.io/pod-group-name";
const JOB_UID: &str = "kueue.x-k8s.io/job-uid";

/// The last seen objects of a scenario. Clones share them.
#[derive(Clone)]
pub(crate) struct ObjectTracker(Arc<Mutex<TrackedObjects>>);

struct TrackedObjects {
    objects: BTreeMap<&'static str, BTreeMap<String, Value>>,
    last_changed: Timestamp,
    /// The names of pod groups.
    pod_groups: BTreeSet<String>,
    owner_by_uid: BTreeMap<String, String>,
    workloads: BTreeMap<String, String>,
    pods: BTreeMap<String, String>,
}

fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

fn name_of(object: &Value) -> String {
    text(object, "/metadata/name")
        .unwrap_or_default()
        .to_owned()
}

impl ObjectTracker {
    /// Starts to track objects.
    pub(crate) async fn start(context: &Context, groups: BTreeSet<String>) -> Self {
        let tracker = Self(Arc::new(Mutex::new(TrackedObjects {
            objects: BTreeMap::new(),
            last_changed: context.clock.now(),
            pod_groups: groups,
            owner_by_uid: BTreeMap::new(),
            workloads: BTreeMap::new(),
            pods: BTreeMap::new(),
        })));
        tracker.watch::<Pod>("pods", context).await;
        tracker.watch::<Job>("jobs", context).await;
        tracker.watch::<Workload>("workloads", context).await;
        tracker
            .watch::<ClusterQueue>("clusterqueues", context)
            .await;
        tracker.watch::<LocalQueue>("localqueues", context).await;
        tracker.watch::<Cohort>("cohorts", context).await;
        tracker
    }

    async fn watch<K>(&self, kind: &'static str, context: &Context)
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Codec + Send + Sync + 'static,
    {
        let informer = Informer::builder(Api::<K>::all(context.client.clone())).start(context);
        let (tracked, clock): (_, Clock) = (self.0.clone(), context.clock.clone());
        informer.add_event_handler(move |change| {
            let (object, gone) = match change {
                Change::Added(new) | Change::Updated { new, .. } => (new, false),
                Change::Deleted(old) => (old, true),
            };
            let object = object.to_value().unwrap();
            tracked.lock().record(kind, object, gone, clock.now());
        });
        informer.wait_for_cache_sync().await;
    }

    /// The time of the last change.
    pub(crate) fn last_changed(&self) -> Timestamp {
        self.0.lock().last_changed
    }

    /// The objects of a kind by name.
    pub(crate) fn objects(&self, kind: &str) -> BTreeMap<String, Value> {
        self.0.lock().objects.get(kind).cloned().unwrap_or_default()
    }

    /// An object.
    pub(crate) fn object(&self, kind: &str, name: &str) -> Option<Value> {
        self.0.lock().objects.get(kind)?.get(name).cloned()
    }

    /// The Workloads by owner; the newest of several.
    pub(crate) fn workloads(&self) -> BTreeMap<String, Value> {
        let tracked = self.0.lock();
        let mut out: BTreeMap<String, Value> = BTreeMap::new();
        for (name, wl) in tracked.objects.get("workloads").into_iter().flatten() {
            let key = tracked.workloads[name].clone();
            let created = |o: &Value| text(o, "/metadata/creationTimestamp").map(str::to_owned);
            if out
                .get(&key)
                .is_none_or(|known| created(known) <= created(wl))
            {
                out.insert(key, wl.clone());
            }
        }
        out
    }

    /// The owner of a pod.
    pub(crate) fn owner_of_pod(&self, name: &str) -> Option<String> {
        self.0.lock().pods.get(name).cloned()
    }

    /// The owner of a Workload.
    pub(crate) fn owner_of_workload(&self, name: &str) -> Option<String> {
        self.0.lock().workloads.get(name).cloned()
    }

    /// The pods of an owner that are not terminating, the oldest first.
    pub(crate) fn pods_of(&self, owner: &str) -> Vec<Value> {
        let tracked = self.0.lock();
        let pods = tracked.objects.get("pods").into_iter().flatten();
        let mut pods: Vec<Value> = pods
            .filter(|(name, pod)| {
                tracked.pods[*name] == owner && pod["metadata"]["deletionTimestamp"].is_null()
            })
            .map(|(_, pod)| pod.clone())
            .collect();
        let order = |p: &Value| {
            let created = text(p, "/metadata/creationTimestamp").map(str::to_owned);
            (created, name_of(p))
        };
        pods.sort_by_key(order);
        pods
    }

    /// A text without values that differ between runs.
    pub(crate) fn normalize(&self, message: &str) -> String {
        let tracked = self.0.lock();
        let mut message = UID
            .replace_all(message, |c: &Captures<'_>| {
                format!(
                    "<uid:{}>",
                    tracked.owner_by_uid.get(&c[0]).map_or("?", |k| k)
                )
            })
            .into_owned();
        for names in [&tracked.workloads, &tracked.pods] {
            let mut names: Vec<_> = names.iter().collect();
            names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
            for (name, key) in names {
                if message.contains(name.as_str()) && !key.ends_with(&format!("/{name}")) {
                    message = replace_whole_name(&message, name, &format!("<{key}>"));
                }
            }
        }
        let message = WAIT_TIME.replace_all(&message, "${1}Ns");
        TIME.replace_all(&message, "<time>").into_owned()
    }
}

/// Replaces a name that is not a prefix of a longer one.
fn replace_whole_name(message: &str, name: &str, by: &str) -> String {
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let mut out = String::new();
    let mut rest = message;
    while let Some(at) = rest.find(name) {
        let after = &rest[at + name.len()..];
        out.push_str(&rest[..at]);
        out.push_str(if after.starts_with(word) { name } else { by });
        rest = after;
    }
    out + rest
}

static UID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").unwrap()
});
static WAIT_TIME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(wait time since [a-z ]+ was )[0-9.]+m?s").unwrap());
static TIME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z").unwrap());

impl TrackedObjects {
    fn record(&mut self, kind: &'static str, object: Value, gone: bool, now: Timestamp) {
        let name = name_of(&object);
        if std::env::var_os("KUEUE_LAB_TRACE").is_some() {
            let gone = if gone { "GONE " } else { "" };
            println!(
                "{now} {gone}{kind} {name} {} {}",
                object["spec"], object["status"]
            );
        }
        match kind {
            "workloads" => self.record_workload_owner(&name, &object),
            "pods" => self.record_pod_owner(&name, &object),
            "jobs" => self.record_uid(&object, &format!("Job/{name}")),
            _ => {}
        }
        let known = self.objects.entry(kind).or_default();
        if gone {
            known.remove(&name);
        } else {
            known.insert(name, object);
        }
        self.last_changed = now;
    }

    fn record_uid(&mut self, object: &Value, key: &str) {
        if let Some(uid) = text(object, "/metadata/uid") {
            self.owner_by_uid.insert(uid.to_owned(), key.to_owned());
        }
    }

    fn record_pod_owner(&mut self, name: &str, pod: &Value) {
        let owners = pod["metadata"]["ownerReferences"].as_array();
        let job = owners.into_iter().flatten().find(|o| o["kind"] == "Job");
        let job = job.and_then(|o| o["name"].as_str());
        let group = pod["metadata"]["labels"][GROUP].as_str();
        let key = match (job, group) {
            (Some(job), _) => format!("Job/{job}"),
            (None, Some(group)) => format!("PodGroup/{group}"),
            (None, None) => format!("Pod/{name}"),
        };
        self.record_uid(pod, &key);
        self.pods.insert(name.to_owned(), key);
    }

    fn record_workload_owner(&mut self, name: &str, wl: &Value) {
        if self.workloads.contains_key(name)
            && text(wl, "/metadata/uid").is_some_and(|uid| self.owner_by_uid.contains_key(uid))
        {
            return;
        }
        let owners = wl["metadata"]["ownerReferences"].as_array();
        let of = |owner: &Value| {
            let owner_name = owner["name"].as_str()?;
            match owner["kind"].as_str()? {
                "Job" => Some(format!("Job/{owner_name}")),
                "Pod" => Some(match self.pods.get(owner_name) {
                    Some(key) => key.clone(),
                    None => format!("Pod/{owner_name}"),
                }),
                _ => None,
            }
        };
        let key = match self.pod_groups.contains(name) {
            true => format!("PodGroup/{name}"),
            false => owners
                .into_iter()
                .flatten()
                .find_map(of)
                .unwrap_or_else(|| format!("Workload/{name}")),
        };
        self.record_uid(wl, &key);
        if let Some(uid) = wl["metadata"]["labels"][JOB_UID].as_str() {
            self.owner_by_uid
                .entry(uid.to_owned())
                .or_insert(key.clone());
        }
        self.workloads.insert(name.to_owned(), key);
    }
}
