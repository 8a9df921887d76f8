//! Records Events, as control plane components and kubelets do: repeated Events are counted, and
//! recording does not block. Depends on no component that uses it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use kube::Resource;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kueue_lab_controller_runtime::{Api, object_reference};
use serde_json::json;
use tokio::sync::mpsc;

use kueue_lab_clock::{Clock, whole_seconds};
use kueue_lab_component_helpers::truncate::{NOTE_MAX, truncate_message};
use kueue_lab_controller_runtime::Context;
use kueue_lab_controller_runtime::api_errors::{is_already_exists, is_not_found};

use super::event_cache::{EventCache, EventKey};

/// How many Events are written concurrently. Those of one object are written in order, so that a
/// repeated Event finds the earlier one.
const WRITERS: usize = 8;
/// How many Events may be queued; more are dropped, as in client-go.
const MAX_QUEUED_EVENTS: usize = 4_096;
/// How many Events all writers together remember, as client-go's recorder.
const EVENT_CACHE_SIZE: usize = 4_096;

/// An Event to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// Whether its type is Warning rather than Normal.
    pub warning: bool,
    /// The reason in CamelCase, such as `SuccessfulCreate`.
    pub reason: String,
    /// The human-readable message.
    pub message: String,
    /// The action of an `events.k8s.io/v1` Event; `None` for a core/v1 one.
    pub action: Option<&'static str>,
}

impl NewEvent {
    /// An Event of type Normal.
    pub fn normal(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            warning: false,
            reason: reason.into(),
            message: message.into(),
            action: None,
        }
    }

    /// An Event of type Warning.
    pub fn warning(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            warning: true,
            ..Self::normal(reason, message)
        }
    }
}

struct QueuedEvent {
    object: ObjectReference,
    new_event: NewEvent,
    source: EventSource,
    at: Timestamp,
}

/// Records Events of one component. Clones share the queue and the writers.
#[derive(Clone)]
pub struct EventRecorder {
    clock: Clock,
    source: EventSource,
    /// Boxed, since a channel allocates the space of 32 items at once.
    writers: Arc<[mpsc::Sender<Box<QueuedEvent>>]>,
}

impl EventRecorder {
    /// A recorder whose Events are written by tasks of `context`. `component` is their source, such
    /// as `job-controller`.
    pub fn new(context: &Context, component: &str) -> Self {
        let writer = |_| {
            let (sender, receiver) = mpsc::channel(MAX_QUEUED_EVENTS);
            let writer = Writer {
                client: context.client.clone(),
                seen: EventCache::new(EVENT_CACHE_SIZE / WRITERS),
            };
            context
                .tasks
                .spawn("events", async move { writer.run(receiver).await });
            sender
        };
        Self {
            clock: context.clock.clone(),
            source: source(component, None),
            writers: (0..WRITERS).map(writer).collect(),
        }
    }

    /// A recorder of another component with the same writers, on a node if one is given.
    pub fn with_component(&self, component: &str, host: Option<&str>) -> Self {
        Self {
            source: source(component, host),
            ..self.clone()
        }
    }

    /// Records an Event about an object.
    pub fn event<K: Resource<DynamicType = ()>>(&self, object: &K, new_event: NewEvent) {
        self.event_for_reference(object_reference(object), new_event);
    }

    /// Records an Event about the object that `object` refers to.
    pub fn event_for_reference(&self, object: ObjectReference, new_event: NewEvent) {
        let mut hasher = DefaultHasher::new();
        (&object.uid, &object.name).hash(&mut hasher);
        let writer = hasher.finish() % self.writers.len() as u64;
        let pending = Box::new(QueuedEvent {
            object,
            new_event,
            source: self.source.clone(),
            at: self.clock.now(),
        });
        let writer = self.writers.get(writer as usize);
        if writer.is_none_or(|writer| writer.try_send(pending).is_err()) {
            tracing::debug!("an Event was dropped: the queue is full");
        }
    }
}

fn source(component: &str, host: Option<&str>) -> EventSource {
    EventSource {
        component: Some(component.to_string()),
        host: host.map(str::to_string),
    }
}

struct Writer {
    client: kube::Client,
    seen: EventCache,
}

impl Writer {
    async fn run(mut self, mut receiver: mpsc::Receiver<Box<QueuedEvent>>) {
        while let Some(pending) = receiver.recv().await {
            if let Err(error) = self.write(*pending).await {
                tracing::debug!(%error, "an Event was not written");
            }
        }
    }

    async fn write(&mut self, pending: QueuedEvent) -> Result<(), kube::Error> {
        let QueuedEvent {
            object,
            new_event,
            source,
            at,
        } = pending;
        let namespace = object.namespace.clone().filter(|n| !n.is_empty());
        let namespace = namespace.unwrap_or_else(|| "default".to_string());
        let events: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        let same = EventKey {
            uid: object.uid.clone().unwrap_or_default(),
            object: object.name.clone().unwrap_or_default(),
            field_path: object.field_path.clone(),
            component: source.component.clone().unwrap_or_default(),
            reason: new_event.reason.clone(),
            message: new_event.message.clone(),
        };
        if let Some((name, count)) = self.seen.observe(&same, at) {
            let patch = match new_event.action {
                Some(_) => json!({"series": {"count": count, "lastObservedTime": MicroTime(at)}}),
                None => json!({"count": count, "lastTimestamp": Time(whole_seconds(at))}),
            };
            let patched = events
                .patch(&name, &PatchParams::default(), &Patch::Merge(patch))
                .await;
            match patched {
                Ok(_) => return Ok(()),
                // It has expired since: create a new one.
                Err(error) if is_not_found(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let name = format!("{}.{:x}", same.object, unique(at, self.seen.number()));
        let mut event = event(name, namespace, object, new_event, source, at);
        // In virtual time another component may have recorded an Event of the object in the same nanosecond.
        while let Err(error) = events.create(&PostParams::default(), &event).await {
            if !is_already_exists(&error) {
                return Err(error);
            }
            let number = unique(at, self.seen.next_number());
            event.metadata.name = Some(format!("{}.{number:x}", same.object));
        }
        let name = event.metadata.name.unwrap_or_default();
        self.seen.remember(same, name, at);
        Ok(())
    }
}

/// An even number that is unique for a writer and grows with time. Numbers of Kueue's controller are odd.
fn unique(at: Timestamp, number: u64) -> i128 {
    (at.as_nanosecond() & !1) + 2 * i128::from(number % 1_000_000_000)
}

/// The Event object: of the events.k8s.io form if it has an action, otherwise of the core/v1 form.
fn event(
    name: String,
    namespace: String,
    object: ObjectReference,
    new_event: NewEvent,
    source: EventSource,
    at: Timestamp,
) -> Event {
    let component = source.component.clone().unwrap_or_default();
    let host = source.host.clone().unwrap_or_default();
    let event = Event {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(namespace),
            ..ObjectMeta::default()
        },
        involved_object: object,
        type_: Some(
            if new_event.warning {
                "Warning"
            } else {
                "Normal"
            }
            .to_string(),
        ),
        reason: Some(new_event.reason),
        message: Some(new_event.message),
        action: new_event.action.map(str::to_string),
        reporting_component: Some(component.clone()),
        ..Event::default()
    };
    if new_event.action.is_some() {
        return Event {
            message: event.message.map(|note| truncate_message(note, NOTE_MAX)),
            event_time: Some(MicroTime(at)),
            reporting_instance: Some(format!("{component}-kueue-lab")),
            ..event
        };
    }
    let seen = Time(whole_seconds(at));
    Event {
        count: Some(1),
        first_timestamp: Some(seen.clone()),
        last_timestamp: Some(seen),
        source: Some(source),
        reporting_instance: Some(host),
        ..event
    }
}
