//! `kube::runtime::watcher` for any kind in one copy: it follows objects as text, and only their
//! reader decodes them.

use std::borrow::Cow;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use kube::api::ObjectMeta;
use kube::core::DynamicResourceScope;
use kube::runtime::watcher::{self, Config, Error, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Resource, api};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::api::{Api, RawApi, decode};
use super::watch_backoff::WatchBackoff;

/// The objects of `api` and their changes, as [`kube::runtime::watcher`] has them, retried with
/// the backoff of [`WatchBackoff`].
///
/// # Errors
/// What interrupted the watch; it goes on after each. An object that is no `K` is an error of its
/// own and is left out.
pub fn watcher<K: DeserializeOwned + 'static>(
    api: Api<K>,
    config: Config,
) -> impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static {
    raw(api.into_raw(), config).map(|event| typed(event?))
}

fn raw(api: RawApi, config: Config) -> BoxStream<'static, watcher::Result<Event<RawObject>>> {
    let api = api::Api::all_with(api.client, &api.request.url_path);
    watch(api, config).backoff(WatchBackoff::default()).boxed()
}

fn typed<K: DeserializeOwned>(event: Event<RawObject>) -> watcher::Result<Event<K>> {
    let object = |raw: RawObject| decode(raw.text.get()).map_err(Error::WatchFailed);
    Ok(match event {
        Event::Apply(raw) => Event::Apply(object(raw)?),
        Event::Delete(raw) => Event::Delete(object(raw)?),
        Event::Init => Event::Init,
        Event::InitApply(raw) => Event::InitApply(object(raw)?),
        Event::InitDone => Event::InitDone,
    })
}

/// An object of which only the resource version is decoded, which is all a watch asks for.
#[derive(Clone, Debug)]
struct RawObject {
    metadata: ObjectMeta,
    text: Box<RawValue>,
}

#[derive(Deserialize)]
struct Head {
    metadata: Version,
}

#[derive(Deserialize)]
struct Version {
    #[serde(rename = "resourceVersion")]
    resource_version: Option<String>,
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let head: Head = serde_json::from_str(text.get()).map_err(serde::de::Error::custom)?;
        let metadata = ObjectMeta {
            resource_version: head.metadata.resource_version,
            ..ObjectMeta::default()
        };
        Ok(Self { metadata, text })
    }
}

/// The "kind" of raw objects is the path at which they are served.
impl Resource for RawObject {
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

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
