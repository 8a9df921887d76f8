//! [`ObjectTracker`]: the last seen objects of a scenario, the time of the last change, and normalized
//! names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::Resource;
use kueue_lab_api::provisioning_request::ProvisioningRequest;
use kueue_lab_api::v1beta2::{ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Workload};
use kueue_lab_clock::Clock;
use kueue_lab_codec::Codec;
use kueue_lab_controller_runtime::{Api, Change, Context, Informer};
use parking_lot::Mutex;
use regex::{Captures, Regex};
use serde_json::Value;

use super::job_set::JobSet;

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
    /// The number of pods seen of each Deployment.
    pods_of_deployments: BTreeMap<String, usize>,
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
    pub(crate) async fn start(context: &Context, groups: BTreeSet<String>, job_sets: bool) -> Self {
        let tracker = Self(Arc::new(Mutex::new(TrackedObjects {
            objects: BTreeMap::new(),
            last_changed: context.clock.now(),
            pod_groups: groups,
            owner_by_uid: BTreeMap::new(),
            workloads: BTreeMap::new(),
            pods: BTreeMap::new(),
            pods_of_deployments: BTreeMap::new(),
        })));
        tracker.watch::<Pod>("pods", context).await;
        tracker.watch::<Job>("jobs", context).await;
        tracker.watch::<Workload>("workloads", context).await;
        tracker
            .watch::<ClusterQueue>("clusterqueues", context)
            .await;
        tracker.watch::<LocalQueue>("localqueues", context).await;
        tracker.watch::<Cohort>("cohorts", context).await;
        tracker.watch::<ResourceFlavor>("flavors", context).await;
        tracker.watch::<StatefulSet>("statefulsets", context).await;
        tracker.watch::<Deployment>("deployments", context).await;
        tracker
            .watch::<ProvisioningRequest>("provisioningrequests", context)
            .await;
        if job_sets {
            tracker.watch::<JobSet>("jobsets", context).await;
        }
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
            // The recordings are without Kueue's own installation.
            if object.meta().namespace.as_deref() == Some("kueue-system") {
                return;
            }
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

    /// The Workloads by owner. Of several Workloads of a Job, older ones have keys with the number of their
    /// age; of several of another owner, only the newest is returned.
    pub(crate) fn workloads(&self) -> BTreeMap<String, Value> {
        let tracked = self.0.lock();
        let mut by_owner: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for (name, wl) in tracked.objects.get("workloads").into_iter().flatten() {
            let owner = tracked.owner_of_workload(name);
            by_owner
                .entry(owner.unwrap_or_default())
                .or_default()
                .push(wl);
        }
        let mut out = BTreeMap::new();
        for (owner, mut all) in by_owner {
            all.sort_by_key(|wl| (creation_time(wl), version_unless_finished(wl), name_of(wl)));
            let newest = all.pop().unwrap();
            if owner.starts_with("Job/") {
                let older = all.into_iter().enumerate();
                out.extend(older.map(|(age, wl)| (format!("{owner}~{age}"), wl.clone())));
            }
            out.insert(owner.to_owned(), newest.clone());
        }
        out
    }

    /// The owner of a pod.
    pub(crate) fn owner_of_pod(&self, name: &str) -> Option<String> {
        self.0.lock().pods.get(name).cloned()
    }

    /// The owner of a Workload.
    pub(crate) fn owner_of_workload(&self, name: &str) -> Option<String> {
        self.0.lock().owner_of_workload(name).map(str::to_owned)
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
        pods.sort_by_key(|pod| (creation_time(pod), name_of(pod)));
        pods
    }

    /// A text without values that differ between runs.
    pub(crate) fn normalize(&self, message: &str) -> String {
        let tracked = self.0.lock();
        let mut message = UID
            .replace_all(message, |c: &Captures<'_>| {
                let owner = tracked.owner_by_uid.get(&c[0]);
                let owner = owner.map(|owner| tracked.through_pod(owner));
                format!("<uid:{}>", owner.unwrap_or("?"))
            })
            .into_owned();
        let workloads = tracked.workloads.keys().filter_map(|name| {
            let owner = tracked.owner_of_workload(name)?;
            Some((name.as_str(), owner))
        });
        let pods = tracked.pods.iter();
        let pods = pods.map(|(name, owner)| (name.as_str(), owner.as_str()));
        for mut names in [workloads.collect::<Vec<_>>(), pods.collect()] {
            names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
            for (name, key) in names {
                if message.contains(name) && !key.ends_with(&format!("/{name}")) {
                    message = replace_whole_name(&message, name, &format!("<{key}>"));
                }
            }
        }
        let message = WAIT_TIME.replace_all(&message, "${1}Ns");
        let message = TIME.replace_all(&message, "<time>");
        let message = WORKLOAD_NAME.replace_all(&message, |c: &Captures<'_>| {
            let kind = match &c[1] {
                "job" => "Job",
                "pod" => "Pod",
                "statefulset" => "StatefulSet",
                _ => "JobSet",
            };
            format!("<{kind}/{}>-", &c[2])
        });
        without_numbers(&message)
    }
}

/// A text in which owners have no numbers: the names of a Deployment's pods are random.
pub(crate) fn without_numbers(text: &str) -> String {
    NUMBERED_OWNER.replace_all(text, "${1}>").into_owned()
}

fn creation_time(object: &Value) -> String {
    text(object, "/metadata/creationTimestamp")
        .unwrap_or_default()
        .to_owned()
}

/// The resource version of a Workload, or 0 if it is finished.
fn version_unless_finished(wl: &Value) -> u64 {
    let conditions = wl["status"]["conditions"].as_array().into_iter().flatten();
    let finished = |c: &Value| c["type"] == "Finished" && c["status"] == "True";
    if conditions.into_iter().any(finished) {
        return 0;
    }
    let version = text(wl, "/metadata/resourceVersion");
    version.and_then(|v| v.parse().ok()).unwrap_or_default()
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
/// A Workload name within the name of a ProvisioningRequest.
static WORKLOAD_NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(job|pod|statefulset|jobset)-([tw]\d{4}\w?-[a-z]+\d+)-[0-9a-f]{5}-").unwrap()
});
static NUMBERED_OWNER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(<(?:Deployment|Job)/[^>#~]*)[#~]\d+>").unwrap());
static TIME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z").unwrap());

/// The part of an object whose changes count for the quiet period: usage samples of admission fair sharing do
/// not, nor do the numbers of nodes in the messages of pending pods.
fn relevant(kind: &str, object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
        metadata.remove("resourceVersion");
    }
    if kind == "localqueues"
        && let Some(status) = object["status"].as_object_mut()
    {
        status.remove("fairSharing");
    }
    if kind == "pods" {
        let conditions = object["status"]["conditions"].as_array_mut();
        for condition in conditions.into_iter().flatten() {
            condition["message"] = Value::Null;
            condition["lastProbeTime"] = Value::Null;
        }
    }
    object
}

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
            "statefulsets" => self.record_uid(&object, &format!("StatefulSet/{name}")),
            "deployments" => self.record_uid(&object, &format!("Deployment/{name}")),
            "jobsets" => self.record_uid(&object, &format!("JobSet/{name}")),
            _ => {}
        }
        let known = self.objects.entry(kind).or_default();
        let quiet = match gone {
            true => known.remove(&name).is_none(),
            false => {
                let shown = relevant(kind, &object);
                let before = known.insert(name, object);
                before.is_some_and(|before| relevant(kind, &before) == shown)
            }
        };
        if !quiet {
            self.last_changed = now;
        }
    }

    /// The owner of a Workload. A Workload can be seen before the pod that owns it.
    fn owner_of_workload(&self, name: &str) -> Option<&str> {
        Some(self.through_pod(self.workloads.get(name)?))
    }

    /// An owner, or the owner of the pod that it is.
    fn through_pod<'a>(&'a self, owner: &'a str) -> &'a str {
        let pod = owner.strip_prefix("Pod/");
        pod.and_then(|pod| self.pods.get(pod))
            .map_or(owner, String::as_str)
    }

    fn record_uid(&mut self, object: &Value, key: &str) {
        if let Some(uid) = text(object, "/metadata/uid") {
            self.owner_by_uid.insert(uid.to_owned(), key.to_owned());
        }
    }

    fn record_pod_owner(&mut self, name: &str, pod: &Value) {
        let owners = pod["metadata"]["ownerReferences"].as_array();
        let owner = |kind: &str| {
            let mut owners = owners.into_iter().flatten();
            let owner = owners.find(|o| o["kind"] == kind)?;
            owner["name"].as_str()
        };
        let group = pod["metadata"]["labels"][GROUP].as_str();
        let key = if let Some(set) = owner("StatefulSet") {
            format!("StatefulSet/{set}")
        } else if let Some(set) = owner("ReplicaSet") {
            match self.pods.get(name) {
                Some(key) => key.clone(),
                None => self.next_pod_of_deployment(set),
            }
        } else if let Some(job) = owner("Job") {
            format!("Job/{job}")
        } else if let Some(group) = group {
            format!("PodGroup/{group}")
        } else {
            format!("Pod/{name}")
        };
        self.record_uid(pod, &key);
        self.pods.insert(name.to_owned(), key);
    }

    /// The key of a new pod of a ReplicaSet, whose name ends with a hash.
    fn next_pod_of_deployment(&mut self, replica_set: &str) -> String {
        let deployment = replica_set.rsplit_once('-').map_or(replica_set, |(d, _)| d);
        let key = format!("Deployment/{deployment}");
        let seen = self.pods_of_deployments.entry(key.clone()).or_default();
        *seen += 1;
        format!("{key}#{}", *seen - 1)
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
                kind @ ("Job" | "JobSet" | "StatefulSet") => Some(format!("{kind}/{owner_name}")),
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
