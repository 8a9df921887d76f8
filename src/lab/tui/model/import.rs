//! Watch updates from plain objects, such as a dump of a cluster: for tests and benchmarks.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::events::v1 as events;
use kueue_lab_codec::Codec;
use serde_json::Value;

use super::derived::DerivedData;
use super::event::EventRow;
use super::managed_job::{ManagedJob, ManagedJobRow};
use super::node::NodeRow;
use super::pod::PodRow;
use super::queues::{
    ClusterQueueRow, CohortRow, LocalQueueRow, ResourceFlavorRow, WorkloadPriorityClassRow,
};
use super::workload::{WorkloadRow, status_reason};
use super::{ClusterData, Delta, Kind, ObjectKey, Row, WatchUpdate, watch_status::WatchStatus};
use kueue_lab_api::v1beta2 as kueue;

/// An object that does not match its kind.
#[derive(Debug, thiserror::Error)]
#[error("{kind} {name}: {source}")]
pub struct ImportError {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The error.
    pub source: serde_json::Error,
}

/// The reason of the state of each Workload among objects, as the list of Workloads has it, at a time.
///
/// # Errors
/// An object cannot be decoded as its kind.
pub fn workload_reasons(
    objects: impl IntoIterator<Item = Value>,
    now: Timestamp,
) -> Result<BTreeMap<ObjectKey, String>, ImportError> {
    let mut data = ClusterData {
        now,
        ..ClusterData::default()
    };
    for update in import_objects(objects)? {
        data.apply(update);
    }
    let mut derived = DerivedData::default();
    derived.refresh(&data);
    let rows = data.workloads.iter();
    let reasons = rows.map(|row| {
        let reason = status_reason(row, &data, &derived);
        (row.key().clone(), reason.line())
    });
    Ok(reasons.collect())
}

/// One replacement of each kind with the given objects. `List`s are unpacked, unknown kinds ignored.
///
/// # Errors
/// An object cannot be decoded as its kind.
pub fn import_objects(
    objects: impl IntoIterator<Item = Value>,
) -> Result<Vec<WatchUpdate>, ImportError> {
    let mut by_kind: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut open: Vec<Value> = objects.into_iter().collect();
    open.reverse();
    while let Some(mut object) = open.pop() {
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        if kind.ends_with("List") {
            if let Some(Value::Array(items)) = object.get_mut("items").map(Value::take) {
                open.extend(items.into_iter().rev());
            }
        } else {
            by_kind.entry(kind).or_default().push(object);
        }
    }
    let mut take = |kind: Kind| by_kind.remove(kind.name()).unwrap_or_default();
    let mut updates = vec![
        WatchUpdate::Flavor(rows(
            take(Kind::ResourceFlavor),
            |o: kueue::ResourceFlavor| ResourceFlavorRow::of(&o),
        )?),
        WatchUpdate::PriorityClass(rows(
            take(Kind::WorkloadPriorityClass),
            |o: kueue::WorkloadPriorityClass| WorkloadPriorityClassRow::of(&o),
        )?),
        WatchUpdate::Cohort(rows(take(Kind::Cohort), |o: kueue::Cohort| {
            CohortRow::of(&o)
        })?),
        WatchUpdate::ClusterQueue(rows(take(Kind::ClusterQueue), |o: kueue::ClusterQueue| {
            ClusterQueueRow::of(&o)
        })?),
        WatchUpdate::LocalQueue(rows(take(Kind::LocalQueue), |o: kueue::LocalQueue| {
            LocalQueueRow::of(&o)
        })?),
        WatchUpdate::Node(rows(take(Kind::Node), |o: core::Node| NodeRow::of(&o))?),
        WatchUpdate::Workload(rows(take(Kind::Workload), |o: kueue::Workload| {
            WorkloadRow::of(&o)
        })?),
        WatchUpdate::ManagedJob(rows(take(Kind::ManagedJob), |o: ManagedJob| {
            ManagedJobRow::of(&o)
        })?),
        WatchUpdate::Pod(rows(take(Kind::Pod), |o: core::Pod| PodRow::of(&o))?),
    ];
    let (new, old) = take(Kind::Event)
        .into_iter()
        .partition(|event| event["apiVersion"] == "events.k8s.io/v1");
    updates.push(WatchUpdate::Event(rows(old, |o: core::Event| {
        EventRow::of(&o)
    })?));
    if let Delta::Replaced(events) = rows(new, |o: events::Event| EventRow::from_events_v1(&o))? {
        let put = |row| WatchUpdate::Event(Delta::Updated(Box::new(row)));
        updates.extend(events.into_iter().map(put));
    }
    updates.extend(Kind::ALL.map(|kind| WatchUpdate::Status(kind, WatchStatus::Synced)));
    Ok(updates)
}

fn rows<K: Codec, R>(objects: Vec<Value>, row: impl Fn(K) -> R) -> Result<Delta<R>, ImportError> {
    let read = |object: Value| {
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        K::from_value(&object)
            .map(&row)
            .map_err(|source| ImportError { kind, name, source })
    };
    Ok(Delta::Replaced(
        objects.into_iter().map(read).collect::<Result<_, _>>()?,
    ))
}
