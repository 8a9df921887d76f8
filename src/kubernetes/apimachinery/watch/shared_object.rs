//! [`SharedObject`]: a version of an object that clients share.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::DecodedForms;

/// A version of an object, encoded as JSON. Clones share it.
#[derive(Clone)]
pub struct SharedObject {
    /// `namespace/name`, or `name` for cluster-scoped kinds.
    pub key: Arc<str>,
    /// The resource version.
    pub resource_version: u64,
    /// The object in the requested version and form.
    pub json: Bytes,
    /// The stored version with its decoded forms, if `json` is its encoding or that of its
    /// metadata.
    pub stored: Option<Arc<dyn HasDecodedForms>>,
}

/// A stored version of an object.
pub trait HasDecodedForms: Send + Sync {
    /// The forms that clients have decoded from its encodings.
    fn decoded_forms(&self) -> &DecodedForms;
}

impl SharedObject {
    /// The decoded object, shared with other clients that decode the same type.
    ///
    /// # Errors
    /// The error of `decode`.
    pub fn decoded<T: Send + Sync + 'static, E>(
        &self,
        decode: impl FnOnce(&[u8]) -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        match &self.stored {
            Some(stored) => {
                let forms = stored.decoded_forms();
                forms.get_or_decode(|| decode(&self.json))
            }
            None => decode(&self.json).map(Arc::new),
        }
    }
}

impl fmt::Debug for SharedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedObject({}@{})", self.key, self.resource_version)
    }
}
