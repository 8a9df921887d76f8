//! [`EventRecorder`]: records Events of `events.k8s.io/v1` as client-go's recorder does.
//!
//! Recording never blocks. Events with equal type, action, reason, reporting controller and object
//! version are one Event: the second occurrence starts a series, further ones increment its count,
//! which is written when the series ends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Resource;
use kube::api::{Patch, PatchParams, PostParams};
use kueue_lab_controller_runtime::{Api, object_reference};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use kueue_lab_controller_runtime::Context;
use kueue_lab_controller_runtime::api_errors::is_not_found;
use kueue_lab_engine::messages::{EventType, truncate_event};

/// A series ends after this long without an occurrence.
const FINISH_SERIES_AFTER: Duration = Duration::from_secs(6 * 60);
/// Capacity of the write queue; Events beyond it are dropped.
const MAX_QUEUED_EVENTS: usize = 10_000;
/// Concurrent writes.
const WRITERS: usize = 16;

/// The key by which Events are aggregated into a series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EventKey {
    controller: String,
    type_: &'static str,
    reason: String,
    action: String,
    uid: Option<String>,
    resource_version: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    kind: Option<String>,
}

/// A pending write: a new Event, or the series of a written one.
enum EventWrite {
    Create(Box<Event>),
    PatchSeries(Box<Event>),
}

#[derive(Default)]
struct EventCache {
    events: BTreeMap<EventKey, Event>,
    /// The number in the name of the last Event. It increases strictly and is odd: those of the components of the
    /// embedded cluster are even, and in virtual time both record in the same nanosecond.
    last_number: i128,
}

/// Records Events. Clones share cache and queue.
#[derive(Clone)]
pub struct EventRecorder {
    ctx: Context,
    instance: Arc<str>,
    cache: Arc<Mutex<EventCache>>,
    writes: mpsc::Sender<EventWrite>,
}

/// The fields of an Event besides the object.
#[derive(Clone, Debug)]
pub struct EventSpec<'a> {
    /// The reporting controller.
    pub controller: &'a str,
    /// Normal or Warning.
    pub type_: EventType,
    /// The reason, CamelCase.
    pub reason: &'a str,
    /// The action; mostly equal to the reason.
    pub action: &'a str,
    /// The message; truncated to the limit of `note`.
    pub message: String,
    /// Annotations of the Event.
    pub annotations: Option<BTreeMap<String, String>>,
}

impl<'a> EventSpec<'a> {
    /// An Event whose action equals its reason.
    pub fn new(
        controller: &'a str,
        type_: EventType,
        reason: &'a str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            controller,
            type_,
            reason,
            action: reason,
            message: message.into(),
            annotations: None,
        }
    }
}

impl EventRecorder {
    /// Starts the writers.
    pub(super) fn start(ctx: &Context, instance: &str) -> Self {
        let (writes, waiting) = mpsc::channel(MAX_QUEUED_EVENTS);
        let recorder = Self {
            ctx: ctx.clone(),
            instance: instance.into(),
            cache: Arc::default(),
            writes,
        };
        let client = ctx.client.clone();
        ctx.tasks.spawn("event-writer", async move {
            use futures::StreamExt;
            let stream = futures::stream::unfold(waiting, |mut waiting| async move {
                waiting.recv().await.map(|write| (write, waiting))
            });
            stream
                .for_each_concurrent(WRITERS, |write| record_to_sink(client.clone(), write))
                .await;
        });
        let ending = recorder.clone();
        ctx.tasks.spawn("event-series", async move {
            loop {
                ending.ctx.clock.sleep(FINISH_SERIES_AFTER).await;
                ending.finish_series(ending.ctx.clock.now());
            }
        });
        recorder
    }

    /// Records an Event about an object.
    pub fn record<K: Resource<DynamicType = ()>>(&self, regarding: &K, spec: EventSpec<'_>) {
        self.record_for(object_reference(regarding), spec);
    }

    /// Records an Event about a referenced object.
    pub(crate) fn record_for(&self, regarding: ObjectReference, spec: EventSpec<'_>) {
        let now = self.ctx.clock.now();
        let key = EventKey {
            controller: spec.controller.to_owned(),
            type_: spec.type_.as_str(),
            reason: spec.reason.to_owned(),
            action: spec.action.to_owned(),
            uid: regarding.uid.clone(),
            resource_version: regarding.resource_version.clone(),
            namespace: regarding.namespace.clone(),
            name: regarding.name.clone(),
            kind: regarding.kind.clone(),
        };
        let mut known = self.cache.lock();
        let write = match known.events.get_mut(&key) {
            Some(event) => {
                let first = event.series.is_none();
                let series = event.series.get_or_insert(EventSeries {
                    count: 1,
                    last_observed_time: MicroTime(now),
                });
                series.count = series.count.saturating_add(1);
                series.last_observed_time = MicroTime(now);
                first.then(|| EventWrite::PatchSeries(Box::new(event.clone())))
            }
            None => {
                known.last_number =
                    (now.as_nanosecond() | 1).max(known.last_number.saturating_add(2));
                let event = self.new_event(regarding, spec, known.last_number, now);
                known.events.insert(key, event.clone());
                Some(EventWrite::Create(Box::new(event)))
            }
        };
        drop(known);
        if let Some(write) = write
            && self.writes.try_send(write).is_err()
        {
            tracing::warn!("the Event queue is full; dropped an Event");
        }
    }

    fn new_event(
        &self,
        regarding: ObjectReference,
        spec: EventSpec<'_>,
        number: i128,
        now: Timestamp,
    ) -> Event {
        let name = regarding.name.as_deref().unwrap_or_default();
        let namespace = regarding.namespace.clone().filter(|ns| !ns.is_empty());
        Event {
            metadata: ObjectMeta {
                name: Some(format!("{name}.{number:x}")),
                namespace: Some(namespace.unwrap_or_else(|| "default".to_owned())),
                annotations: spec.annotations,
                ..Default::default()
            },
            event_time: Some(MicroTime(now)),
            reporting_controller: Some(spec.controller.to_owned()),
            reporting_instance: Some(format!("{}-{}", spec.controller, self.instance)),
            action: Some(spec.action.to_owned()),
            reason: Some(spec.reason.to_owned()),
            regarding: Some(regarding),
            note: Some(truncate_event(spec.message)),
            type_: Some(spec.type_.as_str().to_owned()),
            ..Default::default()
        }
    }

    /// Removes expired Events from the cache, and writes the count of series that ended.
    fn finish_series(&self, now: Timestamp) {
        let max_age = SignedDuration::try_from(FINISH_SERIES_AFTER).unwrap_or(SignedDuration::MAX);
        let over = |last: Timestamp| now.duration_since(last) > max_age;
        let mut known = self.cache.lock();
        known.events.retain(|_, event| {
            let last = match &event.series {
                Some(series) => series.last_observed_time.0,
                None => event.event_time.as_ref().map_or(Timestamp::MIN, |t| t.0),
            };
            if !over(last) {
                return true;
            }
            if event.series.is_some() {
                // Dropped if the queue is full.
                let _ = self
                    .writes
                    .try_send(EventWrite::PatchSeries(Box::new(event.clone())));
            }
            false
        });
    }
}

/// Writes an Event. A rejected write is not retried.
async fn record_to_sink(client: kube::Client, write: EventWrite) {
    let namespace = |event: &Event| event.metadata.namespace.clone().unwrap_or_default();
    let written = match write {
        EventWrite::Create(event) => {
            let api = Api::<Event>::namespaced(client, &namespace(&event));
            api.create(&PostParams::default(), &event).await
        }
        EventWrite::PatchSeries(event) => {
            let api = Api::<Event>::namespaced(client, &namespace(&event));
            let name = event.metadata.name.clone().unwrap_or_default();
            let patch = serde_json::json!({ "series": event.series });
            let patched = api
                .patch(&name, &PatchParams::default(), &Patch::Strategic(&patch))
                .await;
            match patched {
                Err(error) if is_not_found(&error) => {
                    api.create(&PostParams::default(), &event).await
                }
                other => other,
            }
        }
    };
    if let Err(error) = written {
        tracing::debug!(%error, "cannot write an Event");
    }
}
