//! [`watcher`]: `kube::runtime::watcher` with one copy of its state machine for all kinds.
//!
//! The state machine reads the key and the resource version of an object only; the object is
//! decoded when its event is delivered.

use std::sync::Arc;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt, TryStreamExt};
use kube::api::DynamicObject;
use kube::runtime::watcher::{self, Config, Event, InitialListStrategy};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Resource, api};
use kueue_lab_codec::Codec;
use serde_json::Value;

use super::ObjectKey;
use super::api::{Api, RawApi};
use super::event_stream_watch::EventStreamWatch;
use super::raw_object::{RawObject, RawText};
use super::watch_backoff::WatchBackoff;
use super::watch_pace::paced;

/// An error event of [`watcher`]; the watch continues after it.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The list or watch request failed and is retried.
    #[error(transparent)]
    Request(#[from] watcher::Error),
    /// An object cannot be decoded.
    #[error("{key}: {error}")]
    InvalidObject {
        /// The key of the object.
        key: ObjectKey,
        /// Whether the event is the deletion of the object.
        deleted: bool,
        /// The decoding error.
        error: serde_json::Error,
    },
}

/// Lists and watches the objects of `api`, without their `metadata.managedFields`; retries with
/// [`WatchBackoff`].
///
/// # Errors
/// See [`WatchError`].
pub fn watcher<K: Resource + Codec + 'static>(
    api: Api<K>,
    config: Config,
) -> impl Stream<Item = Result<Event<K>, WatchError>> + Send + 'static {
    let events = watch_raw(api, config);
    events.map(|event| decode_event(event?, |raw| raw.decode(K::decode)))
}

/// [`watcher`] of objects that are shared with informers and other watchers of their type.
///
/// # Errors
/// See [`WatchError`].
pub fn shared_watcher<K: Resource + Codec + Send + Sync + 'static>(
    api: Api<K>,
    config: Config,
) -> impl Stream<Item = Result<Event<Arc<K>>, WatchError>> + Send + 'static {
    let events = watch_raw(api, config);
    events.map(|event| decode_event(event?, |raw| raw.decode_shared(K::decode)))
}

/// [`watcher`] of objects as JSON values, without `metadata.managedFields`.
///
/// # Errors
/// See [`WatchError`].
pub fn value_watcher(
    api: Api<DynamicObject>,
    config: Config,
) -> impl Stream<Item = Result<Event<Value>, WatchError>> + Send + 'static {
    let decode = |text: &str| {
        let mut value: Value = serde_json::from_str(text)?;
        if let Some(metadata) = value["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        Ok(value)
    };
    watch_raw(api, config).map(move |event| decode_event(event?, |raw| raw.decode(decode)))
}

/// The events of a watch before their objects are decoded.
pub(super) type RawEvents = BoxStream<'static, watcher::Result<Event<RawObject>>>;

/// [`watcher`] without decoding. A server in this process sends its objects without encoding if the
/// configuration has streaming lists.
pub(super) fn watch_raw<K: Resource>(api: Api<K>, config: Config) -> RawEvents {
    let events = match config.initial_list_strategy {
        InitialListStrategy::StreamingList => {
            EventStreamWatch::new(api.into_raw(), config, K::metadata_api()).into_events()
        }
        InitialListStrategy::ListWatch => watch_text(api.into_raw(), config, K::metadata_api()),
    };
    events.backoff(WatchBackoff::default()).boxed()
}

/// The watch of a server in any process, by the state machine of kube.
pub(super) fn watch_text(api: RawApi, config: Config, metadata_only: bool) -> RawEvents {
    let RawApi { client, request } = api;
    let client = paced(client);
    match metadata_only {
        true => {
            let api = api::Api::<RawText<true>>::all_with(client, &request.url_path);
            watch(api, config).map_ok(raw_event).boxed()
        }
        false => {
            let api = api::Api::<RawText<false>>::all_with(client, &request.url_path);
            watch(api, config).map_ok(raw_event).boxed()
        }
    }
}

fn raw_event(event: Event<impl Into<RawObject>>) -> Event<RawObject> {
    match event {
        Event::Apply(raw) => Event::Apply(raw.into()),
        Event::Delete(raw) => Event::Delete(raw.into()),
        Event::Init => Event::Init,
        Event::InitApply(raw) => Event::InitApply(raw.into()),
        Event::InitDone => Event::InitDone,
    }
}

/// Decodes the object of an event.
pub(super) fn decode_event<T>(
    event: Event<RawObject>,
    decode: impl Fn(&RawObject) -> serde_json::Result<T>,
) -> Result<Event<T>, WatchError> {
    let decode = |raw: RawObject, deleted: bool| {
        decode(&raw).map_err(|error| WatchError::InvalidObject {
            key: raw.key(),
            deleted,
            error,
        })
    };
    Ok(match event {
        Event::Apply(raw) => Event::Apply(decode(raw, false)?),
        Event::Delete(raw) => Event::Delete(decode(raw, true)?),
        Event::Init => Event::Init,
        Event::InitApply(raw) => Event::InitApply(decode(raw, false)?),
        Event::InitDone => Event::InitDone,
    })
}
