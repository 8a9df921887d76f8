//! Writes Events about objects, as the components of a cluster do: the same words about the same
//! object again are counted on the first Event. Must not know who reports.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Resource, ResourceExt};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_stream_of::receiver;

use crate::runtime::Context;

/// How many Events may wait to be written before further ones are dropped.
const BACKLOG: usize = 20_000;
/// How many Events are written at a time.
const WRITERS: usize = 8;
/// How many Events are remembered for counting repetitions.
const MEMORY: usize = 4_096;

/// Whether an Event tells of something usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tone {
    /// As things should go.
    Normal,
    /// Somebody may want to look.
    Warning,
}

impl Tone {
    fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// What happened to an object.
#[derive(Clone, Debug)]
pub struct Note {
    /// The object.
    pub about: ObjectReference,
    /// Usual or not.
    pub tone: Tone,
    /// One word.
    pub reason: &'static str,
    /// A sentence.
    pub message: String,
    /// What the reporter did; only reporters of the newer Events API say so.
    pub action: Option<&'static str>,
    /// The node the reporter is on.
    pub host: Option<String>,
}

/// Writes Events for one component. Clones share everything.
#[derive(Clone)]
pub struct Recorder {
    sender: mpsc::Sender<(Timestamp, Note)>,
    clock: crate::clock::Clock,
}

/// The reference by which an Event names `object`.
pub fn reference<K: Resource<DynamicType = ()>>(object: &K) -> ObjectReference {
    ObjectReference {
        api_version: Some(K::api_version(&()).into_owned()),
        kind: Some(K::kind(&()).into_owned()),
        namespace: object.namespace(),
        name: object.meta().name.clone(),
        uid: object.uid(),
        resource_version: object.resource_version(),
        field_path: None,
    }
}

impl Recorder {
    /// Starts to write Events in the name of `component`.
    pub fn start(context: &Context, component: &'static str) -> Self {
        let (sender, notes) = mpsc::channel(BACKLOG);
        let writer = Arc::new(Writer {
            client: context.client.clone(),
            component,
            known: Mutex::default(),
        });
        context.tasks.spawn("events", async move {
            receiver(notes)
                .for_each_concurrent(WRITERS, |(at, note)| {
                    let writer = writer.clone();
                    async move { writer.write(at, note).await }
                })
                .await;
        });
        Self {
            sender,
            clock: context.clock.clone(),
        }
    }

    /// Reports; when too much waits to be written already, nothing.
    pub fn note(&self, note: Note) {
        let _ = self.sender.try_send((self.clock.now(), note));
    }
}

mod tokio_stream_of {
    //! A channel's receiving end as a stream.

    use futures::Stream;
    use tokio::sync::mpsc::Receiver;

    pub(super) fn receiver<T>(receiver: Receiver<T>) -> impl Stream<Item = T> {
        futures::stream::unfold(receiver, |mut receiver| async move {
            let next = receiver.recv().await?;
            Some((next, receiver))
        })
    }
}

/// What makes two Events one.
type Sameness = (Option<String>, Option<String>, &'static str, String);

struct Writer {
    client: kube::Client,
    component: &'static str,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    events: HashMap<Sameness, (String, i32)>,
    order: VecDeque<Sameness>,
    last_name: i128,
}

impl Known {
    /// The name and count of an Event to change, or the name of a new one.
    fn place(&mut self, at: Timestamp, note: &Note) -> Result<(String, i32), String> {
        let same: Sameness = (
            note.about.uid.clone(),
            note.about.field_path.clone(),
            note.reason,
            note.message.clone(),
        );
        if let Some((name, count)) = self.events.get_mut(&same) {
            *count += 1;
            return Ok((name.clone(), *count));
        }
        // Names carry the moment; two in one moment must still differ.
        self.last_name = at.as_nanosecond().max(self.last_name + 1);
        let object = note.about.name.as_deref().unwrap_or("unknown");
        let name = format!("{object}.{:x}", self.last_name);
        self.events.insert(same.clone(), (name.clone(), 1));
        self.order.push_back(same);
        if self.order.len() > MEMORY
            && let Some(oldest) = self.order.pop_front()
        {
            self.events.remove(&oldest);
        }
        Err(name)
    }
}

impl Writer {
    async fn write(&self, at: Timestamp, note: Note) {
        let namespace = note.about.namespace.clone();
        let events: Api<Event> = match namespace.as_deref() {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::namespaced(self.client.clone(), "default"),
        };
        let place = self.known.lock().place(at, &note);
        let written = match place {
            Ok((name, count)) => {
                let seen = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
                    crate::clock::whole_seconds(at),
                );
                let patch = if note.action.is_some() {
                    json!({"series": {"count": count, "lastObservedTime": MicroTime(at)}})
                } else {
                    json!({"count": count, "lastTimestamp": seen})
                };
                let patched = events
                    .patch(&name, &PatchParams::default(), &Patch::Merge(&patch))
                    .await;
                match patched {
                    Err(kube::Error::Api(status)) if status.code == 404 => {
                        let event = self.event(at, &note, name);
                        events.create(&PostParams::default(), &event).await
                    }
                    other => other,
                }
            }
            Err(name) => {
                let event = self.event(at, &note, name);
                events.create(&PostParams::default(), &event).await
            }
        };
        if let Err(error) = written {
            tracing::debug!(component = self.component, reason = note.reason, %error, "an event was lost");
        }
    }

    fn event(&self, at: Timestamp, note: &Note, name: String) -> Event {
        let newer = note.action.is_some();
        let seen =
            k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(crate::clock::whole_seconds(at));
        Event {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(note.about.namespace.clone().unwrap_or("default".into())),
                ..ObjectMeta::default()
            },
            involved_object: note.about.clone(),
            type_: Some(note.tone.as_str().into()),
            reason: Some(note.reason.into()),
            message: Some(note.message.clone()),
            action: note.action.map(str::to_string),
            event_time: newer.then_some(MicroTime(at)),
            count: (!newer).then_some(1),
            first_timestamp: (!newer).then(|| seen.clone()),
            last_timestamp: (!newer).then_some(seen),
            source: (!newer).then(|| EventSource {
                component: Some(self.component.into()),
                host: note.host.clone(),
            }),
            reporting_component: Some(self.component.into()),
            reporting_instance: Some(if newer {
                format!("{}-kueue-lab", self.component)
            } else {
                note.host.clone().unwrap_or_default()
            }),
            ..Event::default()
        }
    }
}
