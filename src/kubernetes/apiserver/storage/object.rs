//! One version of one object, encoded once.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use serde::Deserialize;
use serde_json::{Map, Value};
use smallvec::SmallVec;

use super::decoded_cache::DecodedCache;
use super::persistence::{RestoredObject, StoredContent};
use kueue_lab_apimachinery::watch::{DecodedForms, HasDecodedForms};

/// An object to be committed: encoded except for its resourceVersion, so that encoding happens
/// outside the commit lock.
pub struct PendingObject {
    content: Content,
    schema_generation: u64,
}

enum Content {
    Encoded {
        value: Value,
        text: EncodedWithoutVersion,
        labels: Labels,
    },
    Lazy {
        head: Value,
        make: Arc<MakeObject>,
    },
}

/// Builds an object on first access.
type MakeObject = dyn Fn() -> Value + Send + Sync;

/// The metadata of an object that is not built yet, and its builder.
struct Lazy {
    head: Arc<Value>,
    make: Arc<MakeObject>,
}

/// JSON in two parts; the resourceVersion is inserted between them.
struct EncodedWithoutVersion {
    /// Up to and including the opening brace of `metadata`, with kind and apiVersion first.
    front: Vec<u8>,
    /// The rest; starts with a comma or the closing brace of `metadata`.
    back: Vec<u8>,
    /// The length of the opening brace, kind and apiVersion.
    prelude: usize,
}

/// The value is not a JSON object with a `metadata` object.
#[derive(Debug, thiserror::Error)]
#[error("not an object with metadata")]
pub struct NotAnObject;

impl PendingObject {
    /// Encodes `value`; its resourceVersion is ignored.
    ///
    /// # Errors
    /// [`NotAnObject`] if it is not a JSON object with a `metadata` object.
    pub fn new(mut value: Value) -> Result<Self, NotAnObject> {
        let text = encode(&mut value)?;
        let labels = labels(&value);
        Ok(Self {
            content: Content::Encoded {
                value,
                text,
                labels,
            },
            schema_generation: 0,
        })
    }

    /// An object built on the first access beyond `head` (kind, apiVersion and metadata), for large
    /// preinstalled objects that are rarely read. It has no labels.
    pub fn lazy(head: Value, make: impl Fn() -> Value + Send + Sync + 'static) -> Self {
        let make = Arc::new(make);
        Self {
            content: Content::Lazy { head, make },
            schema_generation: 0,
        }
    }

    /// Sets the schema generation; see [`Object::schema_generation`].
    #[must_use]
    pub(crate) fn with_schema_generation(mut self, schema_generation: u64) -> Self {
        self.schema_generation = schema_generation;
        self
    }

    /// The encoded size in bytes; 0 for a lazy object.
    pub fn size(&self) -> usize {
        match &self.content {
            Content::Encoded { text, .. } => text.front.len() + text.back.len(),
            Content::Lazy { .. } => 0,
        }
    }

    /// Whether it has a deletionTimestamp.
    pub(super) fn is_terminating(&self) -> bool {
        let (Content::Encoded { value, .. } | Content::Lazy { head: value, .. }) = &self.content;
        !value["metadata"]["deletionTimestamp"].is_null()
    }

    pub(super) fn commit(self, key: &str, revision: u64, cache: &Arc<DecodedCache>) -> Object {
        let mut object = Object {
            key: key.into(),
            revision,
            schema_generation: self.schema_generation,
            labels: Labels::new(),
            text: OnceLock::new(),
            lazy: None,
            value: RwLock::new(None),
            encodings: Mutex::default(),
            decoded_cache: Arc::downgrade(cache),
            derived: Mutex::default(),
            decoded_forms: DecodedForms::default(),
        };
        match self.content {
            Content::Encoded {
                mut value,
                text,
                labels,
            } => {
                set_revision(&mut value, revision);
                object.labels = labels;
                object.text = text.with_resource_version(revision).into();
                object.value = RwLock::new(Some(Arc::new(value)));
            }
            Content::Lazy { mut head, make } => {
                set_revision(&mut head, revision);
                object.lazy = Some(Lazy {
                    head: Arc::new(head),
                    make,
                });
            }
        }
        object
    }
}

fn encode(value: &mut Value) -> Result<EncodedWithoutVersion, NotAnObject> {
    let object = value.as_object_mut().ok_or(NotAnObject)?;
    let meta = object
        .get_mut("metadata")
        .and_then(Value::as_object_mut)
        .ok_or(NotAnObject)?;
    meta.remove("resourceVersion");
    let (mut front, mut back) = (Vec::with_capacity(256), Vec::with_capacity(1024));
    front.push(b'{');
    for key in ["kind", "apiVersion"] {
        if let Some(v) = object.get(key) {
            member(&mut front, key, v);
            front.push(b',');
        }
    }
    let prelude = front.len();
    front.extend_from_slice(b"\"metadata\":{");
    members(
        &mut back,
        object.get("metadata").and_then(Value::as_object),
        |_| true,
    );
    back.push(b'}');
    members(&mut back, Some(object), |k| {
        !matches!(k, "kind" | "apiVersion" | "metadata")
    });
    back.push(b'}');
    Ok(EncodedWithoutVersion {
        front,
        back,
        prelude,
    })
}

impl EncodedWithoutVersion {
    fn with_resource_version(self, revision: u64) -> EncodedJson {
        let number = revision.to_string();
        let mut bytes = self.front;
        bytes.reserve_exact(self.back.len() + number.len() + 20);
        bytes.extend_from_slice(b"\"resourceVersion\":\"");
        bytes.extend_from_slice(number.as_bytes());
        bytes.push(b'"');
        bytes.extend_from_slice(&self.back);
        EncodedJson {
            bytes: bytes.into(),
            prelude: self.prelude,
        }
    }
}

fn set_revision(value: &mut Value, revision: u64) {
    if let Some(meta) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.insert("resourceVersion".into(), revision.to_string().into());
    }
}

/// Writes `,"key":value` for each member accepted by `wanted`.
fn members(out: &mut Vec<u8>, map: Option<&Map<String, Value>>, wanted: impl Fn(&str) -> bool) {
    for (key, value) in map.into_iter().flatten() {
        if wanted(key) {
            out.push(b',');
            member(out, key, value);
        }
    }
}

fn member(out: &mut Vec<u8>, key: &str, value: &Value) {
    // Writing JSON to memory cannot fail.
    let _ = serde_json::to_writer(&mut *out, key);
    out.push(b':');
    let _ = serde_json::to_writer(&mut *out, value);
}

fn labels(value: &Value) -> Labels {
    let map = value["metadata"]["labels"].as_object();
    map.into_iter()
        .flatten()
        .filter_map(|(k, v)| Some((k.as_str().into(), v.as_str()?.into())))
        .collect()
}

type Encodings = SmallVec<[(Box<str>, Bytes); 1]>;
type Labels = SmallVec<[(Box<str>, Box<str>); 2]>;

/// The JSON of an object.
struct EncodedJson {
    bytes: Bytes,
    prelude: usize,
}

/// One immutable, encoded version of a stored object.
pub struct Object {
    key: Arc<str>,
    revision: u64,
    schema_generation: u64,
    labels: Labels,
    text: OnceLock<EncodedJson>,
    lazy: Option<Lazy>,
    value: RwLock<Option<Arc<Value>>>,
    /// Encodings in other served versions, by encoding key; created lazily.
    encodings: Mutex<Encodings>,
    /// The cache with the decoded object.
    decoded_cache: Weak<DecodedCache>,
    /// Values of [`Object::derived`], one of each type.
    derived: Mutex<SmallVec<[Arc<dyn Any + Send + Sync>; 1]>>,
    /// The forms that clients in this process have decoded from the storage version.
    decoded_forms: DecodedForms,
}

/// The part of an object that is read when it is restored.
#[derive(Deserialize)]
struct RestoredHead {
    metadata: RestoredMetadata,
}

#[derive(Deserialize)]
struct RestoredMetadata {
    #[serde(default)]
    labels: BTreeMap<Box<str>, Box<str>>,
}

impl Object {
    /// An object from durable storage; `None` for a preinstalled object, and for one that is not
    /// JSON.
    pub(super) fn restore(restored: RestoredObject, cache: &Arc<DecodedCache>) -> Option<Self> {
        let StoredContent::Encoded { json, prelude } = restored.content else {
            return None;
        };
        let head: RestoredHead = serde_json::from_slice(&json).ok()?;
        let bytes = json.into();
        Some(Self {
            key: restored.key.into(),
            revision: restored.revision,
            // Custom resources are pruned and defaulted again when they are read.
            schema_generation: 0,
            labels: head.metadata.labels.into_iter().collect(),
            text: OnceLock::from(EncodedJson { bytes, prelude }),
            lazy: None,
            value: RwLock::new(None),
            encodings: Mutex::default(),
            decoded_cache: Arc::downgrade(cache),
            derived: Mutex::default(),
            decoded_forms: DecodedForms::default(),
        })
    }

    /// The content of the object in durable storage.
    pub fn stored_content(&self) -> StoredContent {
        if let Some(lazy) = &self.lazy {
            return StoredContent::Preinstalled((*lazy.head).clone());
        }
        let text = self.text();
        StoredContent::Encoded {
            json: text.bytes.to_vec(),
            prelude: text.prelude,
        }
    }

    /// The storage key: `namespace/name`, or `name` for cluster-scoped kinds.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The storage key, shared.
    pub(crate) fn key_shared(&self) -> Arc<str> {
        self.key.clone()
    }

    /// The revision of the commit, which is the resourceVersion.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The generation of the schema the object was pruned and defaulted with. If the schema has
    /// changed since, reads prune and default the object again.
    pub(crate) fn schema_generation(&self) -> u64 {
        self.schema_generation
    }

    /// The JSON encoding in the storage version.
    pub fn bytes(&self) -> &Bytes {
        &self.text().bytes
    }

    /// The encoding as an item of a typed list: without the leading brace, kind and apiVersion. The
    /// caller writes the opening brace.
    pub(crate) fn list_item_bytes(&self) -> Bytes {
        let text = self.text();
        text.bytes.slice(text.prelude..)
    }

    /// The encoded size in bytes; 0 for a lazy object that is not built yet.
    pub fn size(&self) -> usize {
        self.text.get().map_or(0, |t| t.bytes.len())
    }

    fn text(&self) -> &EncodedJson {
        self.text.get_or_init(|| {
            let lazy = self.lazy.as_ref();
            let mut value = lazy.map(|l| (l.make)()).unwrap_or_default();
            match encode(&mut value) {
                Ok(encoded) => encoded.with_resource_version(self.revision),
                Err(NotAnObject) => EncodedJson {
                    bytes: Bytes::from_static(b"{}"),
                    prelude: 1,
                },
            }
        })
    }

    /// Kind, apiVersion and metadata of a lazy object, without building it.
    pub(crate) fn partial_metadata(&self) -> Option<&Arc<Value>> {
        self.lazy.as_ref().map(|lazy| &lazy.head)
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        // Labels are sorted by key.
        let i = self.labels.binary_search_by(|(k, _)| (**k).cmp(key)).ok()?;
        Some(&self.labels[i].1)
    }

    /// The decoded object, decoded again if it was evicted from the cache.
    pub fn value(self: &Arc<Self>) -> Arc<Value> {
        if let Some(value) = &*self.value.read() {
            return value.clone();
        }
        // The store encoded these bytes itself, so decoding cannot fail.
        let value = Arc::new(serde_json::from_slice(self.bytes()).unwrap_or_default());
        *self.value.write() = Some(Arc::clone(&value));
        if let Some(cache) = self.decoded_cache.upgrade() {
            cache.insert(self);
        }
        value
    }

    /// The encoding under a key, created by `encode` once and cached.
    ///
    /// # Errors
    /// The error of `encode`.
    pub(crate) fn encoding_in_version<E>(
        &self,
        api_version: &str,
        encode: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        if let Some(bytes) = self.cached_encoding(api_version) {
            return Ok(bytes);
        }
        let bytes = encode()?;
        let mut versions = self.encodings.lock();
        match versions.iter().find(|(own, _)| **own == *api_version) {
            Some((_, bytes)) => Ok(bytes.clone()),
            None => {
                versions.push((api_version.into(), bytes.clone()));
                Ok(bytes)
            }
        }
    }

    /// The cached encoding under a key.
    pub(crate) fn cached_encoding(&self, key: &str) -> Option<Bytes> {
        let encodings = self.encodings.lock();
        let (_, bytes) = encodings.iter().find(|(own, _)| **own == *key)?;
        Some(bytes.clone())
    }

    /// A value that is computed from the object once and kept as long as this version, in place of
    /// the decoded object. A type is always derived by the same function.
    pub fn derived<T: Send + Sync + 'static>(
        self: &Arc<Self>,
        derive: impl FnOnce(&Value) -> T,
    ) -> Arc<T> {
        let find = |values: &[Arc<dyn Any + Send + Sync>]| {
            let mut values = values.iter();
            values.find_map(|value| value.clone().downcast().ok())
        };
        if let Some(known) = find(&self.derived.lock()) {
            return known;
        }
        let value = Arc::new(derive(&self.value()));
        let mut values = self.derived.lock();
        find(&values).unwrap_or_else(|| {
            values.push(value.clone());
            value
        })
    }

    /// Drops the decoded form and the encodings in other versions.
    pub(super) fn drop_decoded(&self) {
        *self.value.write() = None;
        self.encodings.lock().clear();
    }
}

impl HasDecodedForms for Object {
    fn decoded_forms(&self) -> &DecodedForms {
        &self.decoded_forms
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({}@{})", self.key, self.revision)
    }
}
