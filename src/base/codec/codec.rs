//! [`Codec`]: a kind's encoder and decoder.

use serde_json::{Result, Value};

/// A type of the API that can be encoded and decoded as JSON. Implemented with
/// [`impl_codec!`](crate::impl_codec) in the crate of the type, and in this crate for the types of
/// Kubernetes.
pub trait Codec: Sized {
    /// Decodes an object.
    ///
    /// # Errors
    /// The text is not JSON, or a field of the kind has another type.
    fn decode(text: &str) -> Result<Self>;

    /// Encodes an object.
    ///
    /// # Errors
    /// A map has keys that are not strings; no kind has one.
    fn encode(&self) -> Result<String>;

    /// Decodes an object from a JSON value.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    fn from_value(value: &Value) -> Result<Self> {
        Self::decode(&serde_json::to_string(value)?)
    }

    /// Encodes an object as a JSON value.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    fn to_value(&self) -> Result<Value> {
        serde_json::from_str(&self.encode()?)
    }
}

/// Implements [`Codec`] for types that implement serde's traits.
#[macro_export]
macro_rules! impl_codec {
    ($($kind:ty),+ $(,)?) => {$(
        impl $crate::Codec for $kind {
            fn decode(text: &str) -> $crate::serde_json::Result<Self> {
                $crate::serde_json::from_str(text)
            }

            fn encode(&self) -> $crate::serde_json::Result<String> {
                $crate::serde_json::to_string(self)
            }
        }
    )+};
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    use kube_core::metadata::PartialObjectMeta;
    use serde_json::json;

    use super::Codec;

    #[test]
    fn an_encoded_object_decodes_to_itself() {
        let object = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "labels": {"team": "a"}},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
        });
        let pod = Pod::from_value(&object).unwrap();
        assert_eq!(Pod::decode(&pod.encode().unwrap()).unwrap(), pod);
        assert_eq!(pod.to_value().unwrap(), object);
    }

    #[test]
    fn a_field_of_another_type_is_an_error() {
        let error = ConfigMap::decode(r#"{"data": {"count": 1}}"#).unwrap_err();
        assert!(error.to_string().contains("expected a string"), "{error}");
    }

    #[test]
    fn the_metadata_of_a_kind_decodes_from_the_whole_object() {
        let text = r#"{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}, "spec": 1}"#;
        let pod = PartialObjectMeta::<Pod>::decode(text).unwrap();
        assert_eq!(pod.metadata.name.as_deref(), Some("p"));
        let again = PartialObjectMeta::<Pod>::decode(&pod.encode().unwrap()).unwrap();
        assert_eq!(again.metadata, pod.metadata);
    }
}
