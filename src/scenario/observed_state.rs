//! What is seen of the cluster and the jobs, and whether it is what was expected.

use std::collections::{BTreeMap, HashMap};

use futures::StreamExt;
use futures::stream::SelectAll;
use kube::Client;
use kube::api::DynamicObject;
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::watcher::{Config, Event};
use kueue_lab_runtime::Api;
use serde_json::Value;

use super::expect::{Expectation, Expected, ExpectedObject, Selector};
use super::glob::glob_matches;
use kueue_lab_runtime::watcher;
use kueue_lab_skypilot::jobs::{JobEvent, ManagedJob, ManagedJobStatus, ManagedJobs};

/// Objects shown when nothing fits.
const MAX_SHOWN: usize = 5;

/// A kind, as `(apiVersion, kind)`.
pub(super) type ApiVersionKind = (String, String);

type Changes =
    SelectAll<futures::stream::BoxStream<'static, (ApiVersionKind, Event<DynamicObject>)>>;

/// The objects of the kinds a story speaks of, kept up to date, and the jobs.
pub(super) struct ObservedState {
    objects: HashMap<ApiVersionKind, BTreeMap<(String, String), Value>>,
    /// Where an initial list is under way, what has come of it so far.
    initial_lists: HashMap<ApiVersionKind, BTreeMap<(String, String), Value>>,
    changes: Changes,
    jobs: ManagedJobs,
    /// Numbers of the jobs by their names in the story.
    pub(super) job_ids: BTreeMap<String, u64>,
}

impl ObservedState {
    /// Watches kinds. A kind the cluster does not serve has no objects.
    pub(super) fn new(
        client: &Client,
        kinds: impl IntoIterator<Item = ApiVersionKind>,
        jobs: ManagedJobs,
    ) -> Self {
        let mut changes = Changes::new();
        let mut objects = HashMap::new();
        for kind in kinds {
            if objects.insert(kind.clone(), BTreeMap::new()).is_some() {
                continue;
            }
            let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource(&kind));
            // A kind that is not served may be before the story is over, so it is asked for again.
            let stream = watcher(api, Config::default()).filter_map(move |event| {
                let kind = kind.clone();
                async move { event.ok().map(|e| (kind, e)) }
            });
            changes.push(stream.boxed());
        }
        Self {
            objects,
            initial_lists: HashMap::new(),
            changes,
            jobs,
            job_ids: BTreeMap::new(),
        }
    }

    /// Waits for the next change of an object and takes it in. `None` once no kind is watched.
    pub(super) async fn next(&mut self) -> Option<ObjectChange> {
        let (kind, event) = self.changes.next().await?;
        let mut changed = None;
        match event {
            Event::Init => {
                self.initial_lists.insert(kind, BTreeMap::new());
            }
            Event::InitApply(object) => {
                let value = serde_json::to_value(&object).unwrap_or_default();
                self.initial_lists
                    .entry(kind)
                    .or_default()
                    .insert(key(&object), value);
            }
            Event::InitDone => {
                let list = self.initial_lists.remove(&kind).unwrap_or_default();
                self.objects.insert(kind, list);
            }
            Event::Apply(object) => {
                let value = serde_json::to_value(&object).unwrap_or_default();
                changed = Some(value.clone());
                self.objects
                    .entry(kind)
                    .or_default()
                    .insert(key(&object), value);
            }
            Event::Delete(object) => {
                self.objects.entry(kind).or_default().remove(&key(&object));
            }
        }
        Some(ObjectChange(changed))
    }

    /// Takes in what the story itself has written, so that what is expected next is not judged by
    /// what was before, until the watch has caught up.
    pub(super) fn record_write(&mut self, kind: &ApiVersionKind, written: &DynamicObject) {
        if let Some(objects) = self.objects.get_mut(kind) {
            let value = serde_json::to_value(written).unwrap_or_default();
            objects.insert(key(written), value);
        }
    }

    /// Whether something expected is so now; otherwise what is seen instead. For jobs, what happened
    /// since event number `since` counts as well, so that a passing state is not missed.
    pub(super) fn check(&self, expectation: &Expectation, since: usize) -> Result<(), String> {
        match &expectation.expected {
            Expected::Job {
                name,
                status,
                recoveries,
            } => self.check_job(name, *status, *recoveries, since),
            Expected::Object(fact) => self.check_object(fact),
        }
    }

    fn check_object(&self, fact: &ExpectedObject) -> Result<(), String> {
        let selected = self.select(&fact.object);
        let mut fitting: Vec<&Value> = selected
            .iter()
            .copied()
            .filter(|o| mismatch(o, fact).is_none())
            .collect();
        if let Some(other) = &fact.newer_than {
            let newest = self.select(other).into_iter().filter_map(created).max();
            fitting.retain(|o| created(o) > newest);
        }
        let met = fact
            .count
            .map_or(!fitting.is_empty(), |n| fitting.len() == n);
        match met {
            true => Ok(()),
            false => Err(self.describe_mismatch(fact, &selected, fitting.len())),
        }
    }

    fn check_job(
        &self,
        name: &str,
        status: Option<ManagedJobStatus>,
        recoveries: Option<u32>,
        since: usize,
    ) -> Result<(), String> {
        let Some(job) = self.job(name) else {
            return Err(format!("job {name} has not been launched"));
        };
        let passed = |wanted: ManagedJobStatus| {
            let events = self.job_events();
            let mut recent = events.iter().skip(since);
            recent.any(|e| e.job == job.id && e.status == wanted)
        };
        let status_met = status.is_none_or(|s| job.status == s || passed(s));
        if status_met && recoveries.is_none_or(|n| job.recoveries == n) {
            return Ok(());
        }
        let details = job.details.map(|d| format!(" ({d})")).unwrap_or_default();
        let count = recoveries.map(|_| format!(", {} recoveries", job.recoveries));
        Err(format!(
            "job {name} is {}{details}{}",
            job.status,
            count.unwrap_or_default()
        ))
    }

    /// A job by its name in the story.
    pub(super) fn job(&self, name: &str) -> Option<ManagedJob> {
        self.jobs.job(*self.job_ids.get(name)?)
    }

    /// Everything that happened to the jobs.
    pub(super) fn job_events(&self) -> Vec<JobEvent> {
        self.jobs.events()
    }

    /// The objects a selector means.
    pub(super) fn select(&self, selector: &Selector) -> Vec<&Value> {
        let kind = (selector.api_version.clone(), selector.kind.clone());
        let all = self
            .objects
            .get(&kind)
            .into_iter()
            .flat_map(BTreeMap::values);
        all.filter(|o| selector.selects(o)).collect()
    }

    fn describe_mismatch(
        &self,
        fact: &ExpectedObject,
        selected: &[&Value],
        fitting: usize,
    ) -> String {
        let object = &fact.object;
        if selected.is_empty() {
            let kind = (object.api_version.clone(), object.kind.clone());
            let others = self.objects.get(&kind).map_or(0, BTreeMap::len);
            return match others {
                0 => format!("there is no {} at all", object.kind),
                n => format!("none of the {n} objects of kind {} is meant", object.kind),
            };
        }
        let misfits: Vec<String> = selected
            .iter()
            .filter_map(|o| Some(format!("{}: {}", name_of(o), mismatch(o, fact)?)))
            .take(MAX_SHOWN)
            .collect();
        if misfits.is_empty() {
            let names: Vec<_> = selected
                .iter()
                .take(MAX_SHOWN)
                .map(|o| name_of(o))
                .collect();
            return format!("{fitting} as described: {}", names.join(", "));
        }
        misfits.join("; ")
    }
}

/// An object that was made or changed, for who tells the story.
pub(super) struct ObjectChange(pub(super) Option<Value>);

/// How a kind is reached.
pub(super) fn resource((api_version, kind): &ApiVersionKind) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

fn key(object: &DynamicObject) -> (String, String) {
    let metadata = &object.metadata;
    (
        metadata.namespace.clone().unwrap_or_default(),
        metadata.name.clone().unwrap_or_default(),
    )
}

fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// When an object was made; whole seconds, whose text sorts as they do.
fn created(object: &Value) -> Option<&str> {
    object["metadata"]["creationTimestamp"].as_str()
}

/// The first thing about an object that is not as described.
fn mismatch(object: &Value, fact: &ExpectedObject) -> Option<String> {
    let held = object["status"]["conditions"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    for (name, wanted) in &fact.conditions {
        let Some(found) = held.iter().find(|c| c["type"] == name.as_str()) else {
            if wanted.status.as_deref() == Some("absent") {
                continue;
            }
            return Some(format!("there is no condition {name}"));
        };
        let text = |field: &str| found[field].as_str().unwrap_or_default();
        let fits = |pattern: &Option<String>, field: &str| {
            pattern
                .as_ref()
                .is_none_or(|p| glob_matches(p, text(field)))
        };
        if !(fits(&wanted.status, "status")
            && fits(&wanted.reason, "reason")
            && fits(&wanted.message, "message"))
        {
            let (status, reason, message) = (text("status"), text("reason"), text("message"));
            return Some(format!("{name}={status}/{reason} {message:?}"));
        }
    }
    for (path, wanted) in &fact.fields {
        let found = field(object, path);
        let fits = match (found, wanted) {
            (None | Some(Value::Null), Value::Null) => true,
            (None, _) => false,
            (Some(Value::String(text)), Value::String(pattern)) => glob_matches(pattern, text),
            (Some(found), wanted) => found == wanted || scalar_text(found) == scalar_text(wanted),
        };
        if !fits {
            let shown = found.map_or("nothing".to_owned(), Value::to_string);
            return Some(format!("{path} is {shown}"));
        }
    }
    None
}

/// A scalar as text, so that `3` and `"3"` are the same to a person who writes a scenario.
fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(s) => Some(s.clone()),
        Value::Number(n) => Some(n.to_string()),
        Value::Bool(b) => Some(b.to_string()),
        _ => None,
    }
}

/// A field by its path: `status.admission.podSetAssignments[0].flavors.cpu`,
/// `metadata.labels[kueue.x-k8s.io/queue-name]`.
fn field<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    let mut value = object;
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (index, left) = inside.split_once(']')?;
            value = match value {
                Value::Array(items) => items.get(index.parse::<usize>().ok()?)?,
                _ => value.get(index)?,
            };
            rest = left.strip_prefix('.').unwrap_or(left);
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            value = value.get(&rest[..end])?;
            rest = rest[end..].strip_prefix('.').unwrap_or(&rest[end..]);
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::expect::ExpectedCondition;

    #[test]
    fn fields_are_found_by_path() {
        let object = json!({"metadata": {"labels": {"a.b/c": "x"}}, "spec": {"l": [{"n": 1}]}});
        assert_eq!(field(&object, "spec.l[0].n"), Some(&json!(1)));
        assert_eq!(field(&object, "metadata.labels[a.b/c]"), Some(&json!("x")));
        assert_eq!(field(&object, "spec.l[1].n"), None);
    }

    #[test]
    fn misfits_say_what_is_seen() {
        let object = json!({"status": {"n": 3, "conditions": [
            {"type": "Admitted", "status": "False", "reason": "NoReservation", "message": "no"}]}});
        let fact = |conditions: &[(&str, &str)], fields: &[(&str, Value)]| ExpectedObject {
            object: Selector {
                api_version: "v1".into(),
                kind: "Pod".into(),
                namespace: None,
                name: None,
                labels: BTreeMap::new(),
            },
            conditions: conditions
                .iter()
                .map(|(name, status)| {
                    let status = Some((*status).to_owned());
                    (
                        (*name).to_owned(),
                        ExpectedCondition {
                            status,
                            ..ExpectedCondition::default()
                        },
                    )
                })
                .collect(),
            fields: fields
                .iter()
                .map(|(p, v)| ((*p).to_owned(), v.clone()))
                .collect(),
            count: None,
            newer_than: None,
        };
        let said = |fact: &ExpectedObject| mismatch(&object, fact);
        assert_eq!(said(&fact(&[("Admitted", "False")], &[])), None);
        assert_eq!(
            said(&fact(&[("Admitted", "True")], &[])).as_deref(),
            Some("Admitted=False/NoReservation \"no\"")
        );
        assert_eq!(said(&fact(&[], &[("status.n", json!("3"))])), None);
        assert_eq!(
            said(&fact(&[], &[("status.n", json!(4))])).as_deref(),
            Some("status.n is 3")
        );
    }
}
