//! The observed objects and jobs, and the check of expectations against them.

use std::collections::{BTreeMap, HashMap, HashSet};

use futures::StreamExt;
use futures::stream::SelectAll;
use kube::Client;
use kube::api::DynamicObject;
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::watcher::{Config, Event};
use kueue_lab_api::v1beta2::API_VERSION;
use kueue_lab_clock::Clock;
use kueue_lab_controller_runtime::{Api, value_watcher};
use kueue_lab_engine::engine::ExhaustedLimit;
use kueue_lab_json::ValueExt;
use serde_json::Value;

use super::coverage::{Parts, record_limits, record_workload};
use super::expect::{EVENT_KIND, Expected, ExpectedObject};
use super::match_object::{mismatch, values_text};
use super::mismatch::Mismatch;
use super::selector::Selector;
use super::workload_history::WorkloadHistory;
use kueue_lab_skypilot::jobs::{JobEvent, ManagedJob, ManagedJobStatus, ManagedJobs};

/// The number of objects listed in a mismatch.
const MAX_SHOWN: usize = 5;

/// A kind, as `(apiVersion, kind)`.
pub(super) type ApiVersionKind = (String, String);

/// A change of a kind; `None` for an error of its watch.
type KindEvent = (ApiVersionKind, Option<Event<Value>>);

type Changes = SelectAll<futures::stream::BoxStream<'static, KindEvent>>;

/// Returns the quotas and limits of a lab that are used completely now.
pub(super) type ExhaustedLimits = Box<dyn Fn() -> Vec<ExhaustedLimit> + Send + Sync>;

/// The objects of the watched kinds, and the jobs.
pub(super) struct ObservedState {
    objects: HashMap<ApiVersionKind, BTreeMap<(String, String), Value>>,
    /// The objects of initial lists in progress.
    initial_lists: HashMap<ApiVersionKind, BTreeMap<(String, String), Value>>,
    /// The kinds that have been neither listed nor refused by the server.
    unlisted: HashSet<ApiVersionKind>,
    /// The last version of each Event by UID; the server deletes old Events.
    pub(super) events: BTreeMap<String, Value>,
    changes: Changes,
    jobs: ManagedJobs,
    clock: Clock,
    /// The parts of the queue configuration that are exercised.
    pub(super) exercised: Parts,
    /// The quotas and limits that are used completely, in a test.
    exhausted_limits: Option<ExhaustedLimits>,
    /// The admissions and preemptions of each Workload, if Workloads are watched.
    pub(super) history: WorkloadHistory,
    /// Job ids by name in the scenario.
    pub(super) job_ids: BTreeMap<String, u64>,
}

impl ObservedState {
    /// Watches kinds. A kind the cluster does not serve has no objects.
    pub(super) fn new(
        client: &Client,
        watch_config: &Config,
        kinds: impl IntoIterator<Item = ApiVersionKind>,
        jobs: ManagedJobs,
        clock: Clock,
        exhausted_limits: Option<ExhaustedLimits>,
    ) -> Self {
        let mut changes = Changes::new();
        let mut objects = HashMap::new();
        for kind in kinds {
            if objects.insert(kind.clone(), BTreeMap::new()).is_some() {
                continue;
            }
            let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource(&kind));
            // A kind can be installed while the scenario runs, so the watch is retried.
            let stream = value_watcher(api, watch_config.clone())
                .map(move |event| (kind.clone(), event.ok()));
            changes.push(stream.boxed());
        }
        Self {
            unlisted: objects.keys().cloned().collect(),
            objects,
            initial_lists: HashMap::new(),
            events: BTreeMap::new(),
            changes,
            jobs,
            clock,
            exercised: Parts::new(),
            exhausted_limits,
            history: WorkloadHistory::default(),
            job_ids: BTreeMap::new(),
        }
    }

    /// Waits for the next watch event and applies it. `None` if no kind is watched.
    pub(super) async fn next(&mut self) -> Option<ObjectChange> {
        let (kind, event) = self.changes.next().await?;
        // Usage changes with Workloads, and limits with ClusterQueues.
        if let Some(exhausted) = &self.exhausted_limits
            && (is_workload(&kind) || kind.1 == "ClusterQueue")
        {
            record_limits(&mut self.exercised, exhausted());
        }
        let mut changed = None;
        let Some(event) = event else {
            self.unlisted.remove(&kind);
            return Some(ObjectChange(None));
        };
        match event {
            Event::Init => {
                self.initial_lists.insert(kind, BTreeMap::new());
            }
            Event::InitApply(value) => {
                let list = self.initial_lists.entry(kind).or_default();
                list.insert(key(&value), value);
            }
            Event::InitDone => {
                self.unlisted.remove(&kind);
                let list = self.initial_lists.remove(&kind).unwrap_or_default();
                if is_workload(&kind) {
                    let mut workloads: Vec<_> = list.values().collect();
                    workloads.sort_by_key(|w| w["metadata"]["creationTimestamp"].as_str());
                    let now = self.clock.now();
                    for workload in workloads {
                        self.history.record(workload, now);
                        record_workload(&mut self.exercised, workload);
                    }
                }
                if is_event(&kind) {
                    list.values().for_each(|event| self.record_event(event));
                }
                self.objects.insert(kind, list);
            }
            Event::Apply(value) => {
                if is_event(&kind) {
                    self.record_event(&value);
                    changed = Some(value.clone());
                }
                if is_workload(&kind) {
                    self.history.record(&value, self.clock.now());
                    record_workload(&mut self.exercised, &value);
                }
                let of_kind = self.objects.entry(kind).or_default();
                of_kind.insert(key(&value), value);
            }
            Event::Delete(object) => {
                let (namespace, name) = key(&object);
                if is_workload(&kind) {
                    self.history.record_deletion(&namespace, &name);
                }
                self.objects.entry(kind).or_default().remove(&key(&object));
            }
        }
        Some(ObjectChange(changed))
    }

    /// Whether the objects of all kinds that the cluster serves are known.
    pub(super) fn has_initial_lists(&self) -> bool {
        self.unlisted.is_empty()
    }

    fn record_event(&mut self, event: &Value) {
        let uid = event["metadata"]["uid"].as_str().unwrap_or_default();
        self.events.insert(uid.to_owned(), event.clone());
    }

    /// Stores an object that the scenario wrote, so that the next expectation is not checked against
    /// the old version before the watch delivers the new one.
    pub(super) fn record_write(&mut self, kind: &ApiVersionKind, written: &DynamicObject) {
        if let Some(objects) = self.objects.get_mut(kind) {
            let value = serde_json::to_value(written).unwrap_or_default();
            objects.insert(key(&value), value);
        }
    }

    /// Checks an expectation.
    ///
    /// A state that a job passed through since event number `since` counts as met.
    ///
    /// # Errors
    /// The observed state.
    pub(super) fn check(&self, expected: &Expected, since: usize) -> Result<(), Mismatch> {
        match expected {
            Expected::Job {
                name,
                status,
                recoveries,
            } => {
                let checked = self.check_job(name, *status, *recoveries, since);
                checked.map_err(Mismatch::new)
            }
            Expected::Object(expected) => {
                let checked = self.check_object(expected, false);
                checked.map_err(Mismatch::new)
            }
            Expected::Assertion(assertion) => {
                self.check_assertion(assertion, false, self.clock.now())
            }
            Expected::Never(never) => {
                let met = match &**never {
                    Expected::Assertion(assertion) => {
                        self.check_assertion(assertion, true, self.clock.now())
                    }
                    Expected::Object(expected) => {
                        let checked = self.check_object(expected, true);
                        checked.map_err(Mismatch::new)
                    }
                    other => self.check(other, since),
                };
                match met {
                    Err(_) => Ok(()),
                    Ok(()) => Err(self.never_violation(never, self.clock.now())),
                }
            }
        }
    }

    /// The objects of a watched kind.
    pub(super) fn objects_of(
        &self,
        (api_version, kind): (&str, &str),
    ) -> impl Iterator<Item = &Value> {
        let kind = (api_version.to_owned(), kind.to_owned());
        let objects = self.objects.get(&kind).into_iter();
        objects.flat_map(BTreeMap::values)
    }

    /// Checks that all selected objects match and at least one exists, or that as many match as `count` says.
    /// With `any`, one object is enough where all are expected otherwise.
    fn check_object(&self, expected: &ExpectedObject, any: bool) -> Result<(), String> {
        let selected = self.select(&expected.object);
        let newest = expected.newer_than.as_ref().map(|other| {
            let others = self.select(other).into_iter();
            (other, others.filter_map(created).max())
        });
        let older = |object: &Value| {
            let (other, newest) = newest?;
            (created(object) <= newest).then(|| format!("is not newer than {other}"))
        };
        let mismatches: Vec<(&Value, String)> = selected
            .iter()
            .filter_map(|o| Some((*o, mismatch(o, expected).or_else(|| older(o))?)))
            .collect();
        let matching = selected.len() - mismatches.len();
        let met = match expected.count {
            Some(count) => matching == count,
            None if any => matching > 0,
            None => matching > 0 && mismatches.is_empty(),
        };
        match met {
            true => Ok(()),
            false => Err(self.describe_mismatch(expected, &selected, &mismatches)),
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

    /// A job by its name in the scenario.
    pub(super) fn job(&self, name: &str) -> Option<ManagedJob> {
        self.jobs.job(*self.job_ids.get(name)?)
    }

    /// The events of all jobs.
    pub(super) fn job_events(&self) -> Vec<JobEvent> {
        self.jobs.events()
    }

    /// The selected objects.
    pub(super) fn select(&self, selector: &Selector) -> Vec<&Value> {
        let kind = (selector.api_version.clone(), selector.kind.clone());
        let all = self
            .objects
            .get(&kind)
            .into_iter()
            .flat_map(BTreeMap::values);
        all.filter(|o| selector.selects(o)).collect()
    }

    /// The selected objects that match, with the values that are expected.
    pub(super) fn describe_matching(&self, expected: &ExpectedObject) -> String {
        let selected = self.select(&expected.object).into_iter();
        let matching = selected.filter(|object| mismatch(object, expected).is_none());
        let matching: Vec<_> = matching.collect();
        let shown = matching.iter().take(MAX_SHOWN);
        let mut lines: Vec<String> = shown
            .map(|object| match values_text(object, expected) {
                values if values.is_empty() => format!("{} exists", object.name()),
                values => format!("{} has {values}", object.name()),
            })
            .collect();
        match matching.len() {
            0 => return format!("there is no {}", expected.object),
            number if number > MAX_SHOWN => lines.push(format!("and {} more", number - MAX_SHOWN)),
            _ => {}
        }
        lines.join("; ")
    }

    fn describe_mismatch(
        &self,
        expected: &ExpectedObject,
        selected: &[&Value],
        mismatches: &[(&Value, String)],
    ) -> String {
        let object = &expected.object;
        if selected.is_empty() {
            let kind = (object.api_version.clone(), object.kind.clone());
            let others = self.objects.get(&kind).map_or(0, BTreeMap::len);
            return match others {
                0 => format!("there is no {}", object.kind),
                n => format!("none of the {n} objects of kind {} matches", object.kind),
            };
        }
        let matching = selected.len() - mismatches.len();
        if mismatches.is_empty() {
            let names = selected.iter().take(MAX_SHOWN).map(|o| o.name());
            let names: Vec<_> = names.collect();
            return format!("{matching} match: {}", names.join(", "));
        }
        let shown = mismatches.iter().take(MAX_SHOWN);
        let mut lines: Vec<String> = shown
            .map(|(object, mismatch)| format!("{}: {mismatch}", object.name()))
            .collect();
        if mismatches.len() > MAX_SHOWN {
            lines.push(format!("and {} more", mismatches.len() - MAX_SHOWN));
        }
        let observed = lines.join("; ");
        match matching {
            0 => observed,
            matching => format!("{matching} of {} match; {observed}", selected.len()),
        }
    }
}

/// Whether a kind is Kueue's Workload.
fn is_workload((api_version, kind): &ApiVersionKind) -> bool {
    kind == "Workload" && api_version == API_VERSION
}

fn is_event((api_version, kind): &ApiVersionKind) -> bool {
    (api_version.as_str(), kind.as_str()) == EVENT_KIND
}

/// The Event that a watch event created or updated, if any.
pub(super) struct ObjectChange(pub(super) Option<Value>);

/// The API resource of a kind.
pub(super) fn resource((api_version, kind): &ApiVersionKind) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

fn key(object: &Value) -> (String, String) {
    let namespace = object.text("/metadata/namespace");
    (namespace.to_owned(), object.name().to_owned())
}

/// The creation timestamp; RFC 3339 in whole seconds sorts as text.
fn created(object: &Value) -> Option<&str> {
    object["metadata"]["creationTimestamp"].as_str()
}
