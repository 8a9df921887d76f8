//! Keys of namespaced objects, cheap to clone and compare.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! key {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The key of an object by namespace and name.
            pub fn new(namespace: &str, name: &str) -> Self {
                Self([namespace, "/", name].concat().into())
            }

            /// Parses `namespace/name`.
            pub fn parse(text: &str) -> Self {
                Self(text.into())
            }

            /// `namespace/name`.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The namespace.
            pub fn namespace(&self) -> &str {
                self.0.split_once('/').map_or("", |(namespace, _)| namespace)
            }

            /// The name.
            pub fn name(&self) -> &str {
                self.0.split_once('/').map_or(&self.0, |(_, name)| name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Arc::deserialize(deserializer).map(Self)
            }
        }
    };
}

key! {
    /// The key of a Workload: `namespace/name`.
    WorkloadKey
}

key! {
    /// The key of a LocalQueue: `namespace/name`.
    LocalQueueKey
}
