//! [`RawObject`]: an object of a watch that is not decoded yet.

use std::borrow::Cow;
use std::sync::Arc;

use kube::Resource;
use kube::api::ObjectMeta;
use kube::core::DynamicResourceScope;
use kueue_lab_apimachinery::watch::SharedObject;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::ObjectKey;

/// An object that is not decoded yet.
#[derive(Clone, Debug)]
pub(super) enum RawObject {
    /// JSON of a server in any process, without `metadata.managedFields`.
    Text {
        /// The key of the object.
        key: ObjectKey,
        /// The text.
        text: Box<str>,
    },
    /// An object of a server in this process.
    Shared(SharedObject),
}

impl RawObject {
    /// The key of the object.
    pub(super) fn key(&self) -> ObjectKey {
        match self {
            Self::Text { key, .. } => key.clone(),
            Self::Shared(object) => {
                let (namespace, name) = object.key.rsplit_once('/').unwrap_or(("", &object.key));
                ObjectKey::new(namespace, name)
            }
        }
    }

    /// Decodes the object without its `metadata.managedFields`, which no controller reads.
    ///
    /// # Errors
    /// The text cannot be decoded.
    pub(super) fn decode<T>(
        &self,
        decode: fn(&str) -> serde_json::Result<T>,
    ) -> serde_json::Result<T> {
        match self {
            Self::Text { text, .. } => decode(text),
            Self::Shared(object) => decode_json(&object.json, decode),
        }
    }

    /// As [`decode`](Self::decode); an object of a server in this process is decoded once for all
    /// its clients.
    ///
    /// # Errors
    /// The text cannot be decoded.
    pub(super) fn decode_shared<T: Send + Sync + 'static>(
        &self,
        decode: fn(&str) -> serde_json::Result<T>,
    ) -> serde_json::Result<Arc<T>> {
        match self {
            Self::Text { text, .. } => decode(text).map(Arc::new),
            Self::Shared(object) => object.decoded(|json| decode_json(json, decode)),
        }
    }
}

fn decode_json<T>(json: &[u8], decode: fn(&str) -> serde_json::Result<T>) -> serde_json::Result<T> {
    let text = std::str::from_utf8(json).map_err(Error::custom)?;
    let PartialObject { metadata } = serde_json::from_str(text)?;
    decode(&without_managed_fields(text, &metadata))
}

/// The text of an object without the value of `metadata.managedFields`.
fn without_managed_fields<'t>(text: &'t str, metadata: &PartialMeta<'t>) -> Cow<'t, str> {
    let Some(fields) = metadata.managed_fields else {
        return Cow::Borrowed(text);
    };
    // The value is a part of the text.
    let start = fields.get().as_ptr().addr() - text.as_ptr().addr();
    let (before, after) = (&text[..start], &text[start + fields.get().len()..]);
    Cow::Owned([before, "null", after].concat())
}

/// The JSON text of an object, with the metadata that kube's watcher reads; requested as
/// PartialObjectMetadata or whole. The API server does not send the other fields of
/// PartialObjectMetadata, which are most of a CustomResourceDefinition.
#[derive(Clone, Debug)]
pub(super) struct RawText<const METADATA_ONLY: bool> {
    metadata: ObjectMeta,
    text: Box<str>,
}

impl<const METADATA_ONLY: bool> From<RawText<METADATA_ONLY>> for RawObject {
    fn from(raw: RawText<METADATA_ONLY>) -> Self {
        Self::Text {
            key: ObjectKey::of(&raw),
            text: raw.text,
        }
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

impl<'de, const METADATA_ONLY: bool> Deserialize<'de> for RawText<METADATA_ONLY> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text: Box<str> = Box::<RawValue>::deserialize(deserializer)?.into();
        let PartialObject { metadata } = serde_json::from_str(&text).map_err(Error::custom)?;
        let without_managed_fields = match without_managed_fields(&text, &metadata) {
            Cow::Borrowed(_) => None,
            Cow::Owned(shorter) => Some(shorter.into_boxed_str()),
        };
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
impl<const METADATA_ONLY: bool> Resource for RawText<METADATA_ONLY> {
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
