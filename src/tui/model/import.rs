//! News from plain objects, as a dump of a cluster has them: for tests and for pictures of a
//! cluster that is not there.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::events::v1 as events;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::event::EventRow;
use super::node::NodeRow;
use super::pod::PodRow;
use super::queues::{ClusterQueueRow, CohortRow, FlavorRow, LocalQueueRow, PriorityClassRow};
use super::workload::WorkloadRow;
use super::{Change, Kind, News, health::Health};
use kueue_lab_api::v1beta2 as kueue;

/// An object that is not what its kind says.
#[derive(Debug, thiserror::Error)]
#[error("{kind} {name}: {source}")]
pub struct ImportError {
    /// The kind it claims.
    pub kind: String,
    /// The name it claims.
    pub name: String,
    /// What is wrong with it.
    pub source: serde_json::Error,
}

/// One reset of each kind with the given objects; `List`s are opened, other kinds passed over.
///
/// # Errors
/// When an object cannot be read as its kind.
pub fn import(objects: impl IntoIterator<Item = Value>) -> Result<Vec<News>, ImportError> {
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
    let mut news = vec![
        News::Flavor(rows(
            take(Kind::ResourceFlavor),
            |o: kueue::ResourceFlavor| FlavorRow::of(&o),
        )?),
        News::PriorityClass(rows(
            take(Kind::WorkloadPriorityClass),
            |o: kueue::WorkloadPriorityClass| PriorityClassRow::of(&o),
        )?),
        News::Cohort(rows(take(Kind::Cohort), |o: kueue::Cohort| {
            CohortRow::of(&o)
        })?),
        News::ClusterQueue(rows(take(Kind::ClusterQueue), |o: kueue::ClusterQueue| {
            ClusterQueueRow::of(&o)
        })?),
        News::LocalQueue(rows(take(Kind::LocalQueue), |o: kueue::LocalQueue| {
            LocalQueueRow::of(&o)
        })?),
        News::Node(rows(take(Kind::Node), |o: core::Node| NodeRow::of(&o))?),
        News::Workload(rows(take(Kind::Workload), |o: kueue::Workload| {
            WorkloadRow::of(&o)
        })?),
        News::Pod(rows(take(Kind::Pod), |o: core::Pod| PodRow::of(&o))?),
    ];
    let (new, old) = take(Kind::Event)
        .into_iter()
        .partition(|event| event["apiVersion"] == "events.k8s.io/v1");
    news.push(News::Event(rows(old, |o: core::Event| EventRow::of(&o))?));
    if let Change::Reset(events) = rows(new, |o: events::Event| EventRow::of_new(&o))? {
        let put = |row| News::Event(Change::Put(Box::new(row)));
        news.extend(events.into_iter().map(put));
    }
    news.extend(Kind::ALL.map(|kind| News::Health(kind, Health::Live)));
    Ok(news)
}

fn rows<K: DeserializeOwned, R>(
    objects: Vec<Value>,
    row: impl Fn(K) -> R,
) -> Result<Change<R>, ImportError> {
    let read = |object: Value| {
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        serde_json::from_value(object)
            .map(&row)
            .map_err(|source| ImportError { kind, name, source })
    };
    Ok(Change::Reset(
        objects.into_iter().map(read).collect::<Result<_, _>>()?,
    ))
}
