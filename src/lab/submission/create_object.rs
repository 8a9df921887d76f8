//! [`create_object`]: creates an object in a lab, and reports the position of a refused field in the file.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::Client;
use kube::Resource;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::discovery::{Scope, pinned_kind};
use kueue_lab_api::config::FRAMEWORKS;
use kueue_lab_engine::resources::Decimal;
use kueue_lab_yaml::{Node, Position, closest};
use serde_json::Value;

use super::submission::{SourceFile, SubmittedObject};

/// The error of the creation of an object.
pub(super) enum CreateError {
    /// The lab has no such kind.
    NoKind,
    /// The API server refused it.
    Refused(Box<kube::core::Status>),
    /// Another error.
    Other(String),
}

impl CreateError {
    /// The error with the name of the object.
    pub(super) fn text(&self, object: &Value) -> String {
        let of = |field: &str| object[field].as_str().unwrap_or_default();
        let reason = match self {
            CreateError::NoKind => {
                format!("the lab has no kind {} of {}", of("kind"), of("apiVersion"))
            }
            CreateError::Refused(status) => status.message.clone(),
            CreateError::Other(message) => message.clone(),
        };
        format!("{}: {reason}", named(object))
    }

    /// The error with the lines of the file that it is about.
    pub(super) async fn with_source(
        &self,
        client: &Client,
        object: &SubmittedObject,
        file: &SourceFile,
    ) -> String {
        let name = named(&object.value);
        let node = &object.node;
        let at =
            |path: &str, message: &str| file.at(node.locate(path), &format!("{name}: {message}"));
        match self {
            CreateError::NoKind => {
                let kinds = kinds_of(client, &object.value).await;
                let kind = object.value["kind"].as_str().unwrap_or_default();
                let api_version = object.value["apiVersion"].as_str().unwrap_or_default();
                let remedy = match closest(kind, kinds.iter().map(String::as_str)) {
                    Some(guess) if guess != kind => format!("; did you mean {guess}?"),
                    _ => String::new(),
                };
                let message = format!("the lab has no kind {kind} of {api_version}{remedy}");
                file.at(node.locate("kind"), &message)
            }
            CreateError::Refused(status) => {
                let causes = status.details.iter().flat_map(|details| &details.causes);
                let causes: Vec<String> = causes
                    .filter(|cause| !cause.field.is_empty())
                    .map(|cause| at(&cause.field, &format!("{}: {}", cause.field, cause.message)))
                    .collect();
                if !causes.is_empty() {
                    return causes.join("\n");
                }
                let unknown = unknown_fields(&status.message);
                if !unknown.is_empty() {
                    let mut texts = Vec::new();
                    for path in unknown {
                        let remedy = suggestion(client, &object.value, path).await;
                        let remedy =
                            remedy.map_or(String::new(), |r| format!("; did you mean {r}?"));
                        texts.push(at(path, &format!("unknown field {path}{remedy}")));
                    }
                    return texts.join("\n");
                }
                match invalid_quantity(node).filter(|_| status.message.contains("quantities")) {
                    Some(position) => file.at(position, &format!("{name}: {}", status.message)),
                    None => at("", &status.message),
                }
            }
            CreateError::Other(message) => at("", message),
        }
    }
}

fn named(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap_or_default();
    let name = object["metadata"]["name"].as_str();
    let name = name.or_else(|| object["metadata"]["generateName"].as_str());
    format!("{kind} {}", name.unwrap_or_default())
        .trim_end()
        .to_owned()
}

/// The paths of `unknown field "spec.paralelism"` in a message.
fn unknown_fields(message: &str) -> Vec<&str> {
    let parts = message.split("unknown field \"").skip(1);
    parts
        .filter_map(|part| Some(part.split_once('"')?.0))
        .collect()
}

/// The first request or limit that is no quantity.
fn invalid_quantity(node: &Node) -> Option<Position> {
    let amounts = node.entries().iter();
    let amounts = amounts.filter(|entry| matches!(&*entry.key, "requests" | "limits"));
    let mut amounts = amounts.flat_map(|entry| entry.value.entries());
    let is_invalid = |text: &str| Decimal::parse(text).is_err();
    let invalid = amounts.find(|amount| amount.value.as_str().is_some_and(is_invalid));
    invalid.map(|amount| amount.value.at).or_else(|| {
        let fields = node.entries().iter().map(|entry| &entry.value);
        fields.chain(node.items()).find_map(invalid_quantity)
    })
}

/// The kinds of the API version of an object, and those with integrations.
async fn kinds_of(client: &Client, object: &Value) -> Vec<String> {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let path = match api_version.contains('/') {
        true => format!("/apis/{api_version}"),
        false => format!("/api/{api_version}"),
    };
    let mut kinds: Vec<String> = FRAMEWORKS.iter().map(|f| f.kind.to_owned()).collect();
    if let Ok(request) = http::Request::get(path).body(Vec::new())
        && let Ok(listed) = client.request::<APIResourceList>(request).await
    {
        kinds.extend(listed.resources.into_iter().map(|resource| resource.kind));
    }
    kinds
}

/// The field that an unknown one is most likely meant to be.
async fn suggestion(client: &Client, object: &Value, path: &str) -> Option<String> {
    let api_version = object["apiVersion"].as_str()?;
    let path_of_version = match api_version.contains('/') {
        true => format!("/openapi/v3/apis/{api_version}"),
        false => format!("/openapi/v3/api/{api_version}"),
    };
    let request = http::Request::get(path_of_version).body(Vec::new()).ok()?;
    let document = client.request::<Value>(request).await.ok()?;
    let schemas = document.pointer("/components/schemas")?.as_object()?;
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let is_kind = |schema: &&Value| {
        let kinds = schema["x-kubernetes-group-version-kind"].as_array();
        kinds.into_iter().flatten().any(|kind| {
            kind["group"] == group && kind["version"] == version && kind["kind"] == object["kind"]
        })
    };
    let mut schema = schemas.values().find(is_kind)?;
    let (parent, field) = path.rsplit_once('.').unwrap_or(("", path));
    for segment in parent.split('.').filter(|segment| !segment.is_empty()) {
        let name = segment.split('[').next()?;
        schema = resolved(schemas, &schema["properties"][name])?;
        if segment.contains('[') {
            schema = resolved(schemas, &schema["items"])?;
        }
    }
    let known = schema["properties"].as_object()?.keys();
    closest(field, known.map(String::as_str)).map(str::to_owned)
}

/// A schema, or the one that it refers to.
fn resolved<'s>(
    schemas: &'s serde_json::Map<String, Value>,
    schema: &'s Value,
) -> Option<&'s Value> {
    let reference = schema
        .get("$ref")
        .or_else(|| schema.pointer("/allOf/0/$ref"));
    match reference.and_then(Value::as_str) {
        Some(reference) => schemas.get(reference.rsplit_once('/')?.1),
        None => Some(schema),
    }
}

/// How the API server treats unknown fields.
#[derive(Clone, Copy, Debug)]
pub(super) enum Validation {
    /// It leaves them out.
    Warn,
    /// It refuses the object, as with kubectl.
    Strict,
}

/// Creates an object, and returns it with what webhooks and defaults set.
///
/// # Errors
/// [`CreateError`].
pub(super) async fn create_object(
    client: &Client,
    object: &Value,
    validation: Validation,
) -> Result<Value, CreateError> {
    let of = |field: &str| object[field].as_str().unwrap_or_default();
    let (group, version) = of("apiVersion")
        .split_once('/')
        .unwrap_or(("", of("apiVersion")));
    let gvk = GroupVersionKind::gvk(group, version, of("kind"));
    let found = pinned_kind(client, &gvk).await;
    let (resource, capabilities): (ApiResource, _) = found.map_err(|_| CreateError::NoKind)?;
    let namespace = object["metadata"]["namespace"]
        .as_str()
        .unwrap_or("default");
    let mut object = object.clone();
    let namespace = match capabilities.scope {
        Scope::Namespaced => Some(namespace.to_owned()),
        Scope::Cluster => {
            object["metadata"]["namespace"].take();
            None
        }
    };
    let path = DynamicObject::url_path(&resource, namespace.as_deref());
    let validation = match validation {
        Validation::Warn => "Warn",
        Validation::Strict => "Strict",
    };
    let request = http::Request::post(format!("{path}?fieldValidation={validation}"))
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(object.to_string().into_bytes());
    let request = request.map_err(|error| CreateError::Other(error.to_string()))?;
    match client.request::<Value>(request).await {
        Ok(created) => Ok(created),
        Err(kube::Error::Api(status)) => Err(CreateError::Refused(status)),
        Err(error) => Err(CreateError::Other(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kueue_lab_yaml::{Limits, parse_one};

    #[test]
    fn unknown_fields_are_taken_from_the_message() {
        let message =
            r#"strict decoding error: unknown field "spec.paralelism", unknown field "x""#;
        assert_eq!(unknown_fields(message), ["spec.paralelism", "x"]);
        assert!(unknown_fields("other").is_empty());
    }

    #[test]
    fn an_invalid_quantity_is_located() {
        let text = "spec:\n  containers:\n  - resources:\n      requests: {cpu: 1, memory: 1x}\n";
        let node = parse_one(text, Limits::default()).unwrap();
        let at = invalid_quantity(&node).unwrap();
        assert_eq!((at.line, at.column), (4, 34));
    }
}
