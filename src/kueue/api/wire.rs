//! Serialization of the kinds: macros that give a struct its `apiVersion` and `kind` and an
//! enumeration its values, so that the JSON equals that of upstream's Go types.

use serde::{Deserialize, Deserializer};

/// Deserializes a value or `null`, which Kubernetes treats as absent.
pub(crate) fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Whether a string is empty; for fields with Go's `omitempty`.
pub(crate) fn empty_str(s: &&String) -> bool {
    s.is_empty()
}

/// Whether a number is zero; for fields with Go's `omitempty`.
pub(crate) fn zero(n: &i32) -> bool {
    *n == 0
}

/// A quantity that is always serialized: the zero value is `"0"`, never an empty string.
pub(crate) mod quantity {
    use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
    use serde::{Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(q: &Quantity, serializer: S) -> Result<S::Ok, S::Error> {
        if q.0.is_empty() {
            serializer.serialize_str("0")
        } else {
            q.serialize(serializer)
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Quantity, D::Error> {
        super::nullable(d)
    }
}

/// Defines an enumeration whose variants are fixed strings on the wire.
///
/// Gives it `as_str`, `Display`, `FromStr`, serde and the schema `enum`.
macro_rules! wire_enum {
    (
        $(#[$meta:meta])*
        $name:ident { $( $(#[$vmeta:meta])* $variant:ident = $wire:literal, )+ }
    ) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize,
        )]
        pub enum $name {
            $( $(#[$vmeta])* #[serde(rename = $wire)] $variant, )+
        }

        impl $name {
            /// Every value, in the order upstream declares them.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )+ ];

            /// The value as it is written in a manifest.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $wire, )+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::v1beta2::UnknownValue;

            fn from_str(s: &str) -> Result<Self, Self::Err> {
                Self::ALL
                    .iter()
                    .copied()
                    .find(|v| v.as_str() == s)
                    .ok_or_else(|| $crate::v1beta2::UnknownValue(s.to_owned()))
            }
        }

        #[cfg(test)]
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": [ $( $wire, )+ ] })
            }
        }
    };
}

/// Defines a Kubernetes kind: the struct with `metadata` and the given fields, its identity, and a
/// (de)serialisation that carries `apiVersion` and `kind`.
///
/// Deserialization accepts a missing `apiVersion` or `kind` (items of some lists have none) but
/// rejects a different one. An absent or null field gets its default; every field is serialized
/// unless `=> "path"` names a function that skips it.
macro_rules! kind {
    (
        $(#[$meta:meta])*
        $scope:ident $name:ident $group:literal $version:literal $plural:literal {
            $( $(#[doc = $fdoc:literal])* $(#[cfg_attr(test, schemars($($fschema:tt)*))])*
               $field:ident : $ty:ty $(=> $skip:literal)?, )*
        }
    ) => {
        #[derive(Clone, Debug, Default, PartialEq)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        $(#[$meta])*
        pub struct $name {
            /// Standard object metadata.
            pub metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
            $( $(#[doc = $fdoc])* $(#[cfg_attr(test, schemars($($fschema)*))])* pub $field: $ty, )*
        }

        kueue_lab_codec::impl_resource!($scope $name $group $version $plural);

        impl k8s_openapi::ListableResource for $name {
            const LIST_KIND: &'static str = concat!(stringify!($name), "List");
        }

        impl $name {
            /// An object of this kind with a name and nothing else.
            pub fn named(name: impl Into<String>) -> Self {
                let mut object = Self::default();
                object.metadata.name = Some(name.into());
                object
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                #[derive(serde::Serialize)]
                #[serde(rename_all = "camelCase")]
                struct Wire<'a> {
                    api_version: &'static str,
                    kind: &'static str,
                    metadata: &'a k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
                    $( $(#[serde(skip_serializing_if = $skip)])? $field: &'a $ty, )*
                }
                Wire {
                    api_version: <Self as k8s_openapi::Resource>::API_VERSION,
                    kind: <Self as k8s_openapi::Resource>::KIND,
                    metadata: &self.metadata,
                    $( $field: &self.$field, )*
                }
                .serialize(serializer)
            }
        }

        kueue_lab_codec::impl_codec!($name);

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(Default, serde::Deserialize)]
                #[serde(rename_all = "camelCase", default)]
                struct Wire {
                    api_version: Option<String>,
                    kind: Option<String>,
                    metadata: Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta>,
                    $( $field: Option<$ty>, )*
                }
                let wire = Wire::deserialize(deserializer)?;
                $crate::wire::check_identity::<Self, D::Error>(
                    wire.api_version.as_deref(),
                    wire.kind.as_deref(),
                )?;
                Ok(Self {
                    metadata: wire.metadata.unwrap_or_default(),
                    $( $field: wire.$field.unwrap_or_default(), )*
                })
            }
        }
    };
}

/// Rejects a document of another kind or version.
pub(crate) fn check_identity<K: k8s_openapi::Resource, E: serde::de::Error>(
    api_version: Option<&str>,
    kind: Option<&str>,
) -> Result<(), E> {
    use serde::de::Unexpected;
    if let Some(got) = api_version.filter(|got| *got != K::API_VERSION) {
        return Err(E::invalid_value(Unexpected::Str(got), &K::API_VERSION));
    }
    if let Some(got) = kind.filter(|got| *got != K::KIND) {
        return Err(E::invalid_value(Unexpected::Str(got), &K::KIND));
    }
    Ok(())
}
