//! [`watcher`]: `kube::runtime::watcher` with one copy of its state machine for all kinds.
//!
//! The state machine reads the key and the resource version of an object only; the object is decoded
//! when its event is delivered.

use std::borrow::Cow;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use kube::api::{DynamicObject, ObjectMeta};
use kube::core::DynamicResourceScope;
use kube::runtime::watcher::{self, Config, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Resource, api};
use kueue_lab_codec::Codec;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::ObjectKey;
use super::api::{Api, RawApi};
use super::watch_backoff::WatchBackoff;

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

/// Lists and watches the objects of `api`; retries with [`WatchBackoff`].
///
/// # Errors
/// See [`WatchError`].
pub fn watcher<K: Resource + Codec + 'static>(
    api: Api<K>,
    config: Config,
) -> impl Stream<Item = Result<Event<K>, WatchError>> + Send + 'static {
    let events = watch_raw(api, config);
    events.map(|event| decode_event(event?, K::decode))
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
    watch_raw(api, config).map(move |event| decode_event(event?, decode))
}

/// [`watcher`] without decoding.
pub(super) fn watch_raw<K: Resource>(api: Api<K>, config: Config) -> RawEvents {
    let RawApi { client, request } = api.into_raw();
    match K::metadata_api() {
        true => {
            let api = api::Api::<RawMetadata>::all_with(client, &request.url_path);
            let events = watch(api, config).backoff(WatchBackoff::default());
            events.map(|event| Ok(without_marker(event?))).boxed()
        }
        false => {
            let api = api::Api::<RawObject>::all_with(client, &request.url_path);
            watch(api, config).backoff(WatchBackoff::default()).boxed()
        }
    }
}

type RawEvents = BoxStream<'static, watcher::Result<Event<RawObject>>>;

/// Decodes the object of an event.
pub(super) fn decode_event<T>(
    event: Event<RawObject>,
    decode: fn(&str) -> serde_json::Result<T>,
) -> Result<Event<T>, WatchError> {
    let decode = |raw: RawObject, deleted: bool| {
        decode(&raw.text).map_err(|error| WatchError::InvalidObject {
            key: ObjectKey::of(&raw),
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

/// The JSON text of an object, with the metadata that the watcher reads.
pub(super) type RawObject = Raw<false>;

/// A [`RawObject`] that is requested as PartialObjectMetadata: the API server does not send the other
/// fields, which are most of a CustomResourceDefinition.
type RawMetadata = Raw<true>;

/// The JSON text of an object without its `metadata.managedFields`, which no controller reads;
/// requested as PartialObjectMetadata or whole.
#[derive(Clone, Debug)]
pub(super) struct Raw<const METADATA_ONLY: bool> {
    metadata: ObjectMeta,
    text: Box<str>,
}

fn without_marker(event: Event<RawMetadata>) -> Event<RawObject> {
    let object = |Raw { metadata, text }: RawMetadata| Raw { metadata, text };
    match event {
        Event::Apply(raw) => Event::Apply(object(raw)),
        Event::Delete(raw) => Event::Delete(object(raw)),
        Event::Init => Event::Init,
        Event::InitApply(raw) => Event::InitApply(object(raw)),
        Event::InitDone => Event::InitDone,
    }
}

#[derive(Deserialize)]
struct PartialObject<'a> {
    #[serde(borrow)]
    metadata: PartialMeta<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartialMeta<'a> {
    namespace: Option<String>,
    name: Option<String>,
    resource_version: Option<String>,
    #[serde(borrow)]
    managed_fields: Option<&'a RawValue>,
}

impl<'de, const METADATA_ONLY: bool> Deserialize<'de> for Raw<METADATA_ONLY> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text: Box<str> = Box::<RawValue>::deserialize(deserializer)?.into();
        let PartialObject { metadata } =
            serde_json::from_str(&text).map_err(serde::de::Error::custom)?;
        let without_managed_fields = metadata.managed_fields.map(|fields| {
            // The value is a part of the text.
            let start = fields.get().as_ptr().addr() - text.as_ptr().addr();
            let (before, after) = (&text[..start], &text[start + fields.get().len()..]);
            [before, "null", after].concat().into_boxed_str()
        });
        let metadata = ObjectMeta {
            namespace: metadata.namespace,
            name: metadata.name,
            resource_version: metadata.resource_version,
            ..ObjectMeta::default()
        };
        let text = without_managed_fields.unwrap_or(text);
        Ok(Self { metadata, text })
    }
}

/// The dynamic type is the URL path of the resource.
impl<const METADATA_ONLY: bool> Resource for Raw<METADATA_ONLY> {
    type DynamicType = String;
    type Scope = DynamicResourceScope;

    fn kind(_: &String) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn group(_: &String) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn version(_: &String) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn plural(_: &String) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn url_path(path: &String, _: Option<&str>) -> String {
        path.clone()
    }

    fn metadata_api() -> bool {
        METADATA_ONLY
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
