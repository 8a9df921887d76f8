//! Messages whose JSON form is not an object of their fields.

use prost_reflect::MessageDescriptor;

/// A message with a JSON form of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WellKnown {
    /// `meta.v1.Time`: RFC 3339 with seconds.
    Time,
    /// `meta.v1.MicroTime`: RFC 3339 with microseconds.
    MicroTime,
    /// `meta.v1.Duration`: a Go duration.
    Duration,
    /// `resource.Quantity`: a string.
    Quantity,
    /// `intstr.IntOrString`: a number or a string.
    IntOrString,
    /// Bytes of JSON: `runtime.RawExtension`, `meta.v1.FieldsV1`, `apiextensions.v1.JSON`.
    Json,
    /// `apiextensions.v1.JSONSchemaPropsOrBool`: a schema or a boolean.
    SchemaOrBool,
    /// `apiextensions.v1.JSONSchemaPropsOrArray`: a schema or schemas.
    SchemaOrArray,
    /// `apiextensions.v1.JSONSchemaPropsOrStringArray`: a schema or strings.
    SchemaOrStringArray,
}

/// The JSON form of a message, if it is not an object.
pub(super) fn well_known(message: &MessageDescriptor) -> Option<WellKnown> {
    let (package, name) = (message.package_name(), message.name());
    Some(match name {
        "Time" if is_meta(package) => WellKnown::Time,
        "MicroTime" if is_meta(package) => WellKnown::MicroTime,
        "Duration" if is_meta(package) => WellKnown::Duration,
        "FieldsV1" if is_meta(package) => WellKnown::Json,
        "Quantity" if package == "k8s.io.apimachinery.pkg.api.resource" => WellKnown::Quantity,
        "IntOrString" if package == "k8s.io.apimachinery.pkg.util.intstr" => WellKnown::IntOrString,
        "RawExtension" if package == "k8s.io.apimachinery.pkg.runtime" => WellKnown::Json,
        "JSON" if is_apiextensions(package) => WellKnown::Json,
        "JSONSchemaPropsOrBool" if is_apiextensions(package) => WellKnown::SchemaOrBool,
        "JSONSchemaPropsOrArray" if is_apiextensions(package) => WellKnown::SchemaOrArray,
        "JSONSchemaPropsOrStringArray" if is_apiextensions(package) => {
            WellKnown::SchemaOrStringArray
        }
        _ => return None,
    })
}

fn is_meta(package: &str) -> bool {
    package == "k8s.io.apimachinery.pkg.apis.meta.v1"
}

fn is_apiextensions(package: &str) -> bool {
    package == "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1"
}
