//! One operation of a path: parameters, request body, responses.

use serde_json::{Map, Value, json};

use super::openapi_v3::REF;
use super::query_parameter::{self, QueryParameter};

/// Action of an operation (`x-kubernetes-action`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Get,
    List,
    Watch,
    WatchList,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
    Connect,
}

impl Action {
    /// The HTTP method in lower case, as in a path item.
    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Get | Self::List | Self::Watch | Self::WatchList | Self::Connect => "get",
            Self::Create => "post",
            Self::Update => "put",
            Self::Patch => "patch",
            Self::Delete | Self::DeleteCollection => "delete",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::WatchList => "watchlist",
            Self::Create => "post",
            Self::Update => "put",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Connect => "connect",
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Self::Get => "read",
            Self::List => "list",
            Self::Watch | Self::WatchList => "watch",
            Self::Create => "create",
            Self::Update => "replace",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "delete collection of",
            Self::Connect => "connect requests to",
        }
    }

    fn parameters(self) -> Vec<QueryParameter> {
        match self {
            Self::Get | Self::Connect => vec![],
            Self::List | Self::Watch | Self::WatchList => query_parameter::LIST.to_vec(),
            Self::Create => query_parameter::write("CreateOptions"),
            Self::Update => query_parameter::write("UpdateOptions"),
            Self::Patch => query_parameter::patch(),
            Self::Delete => query_parameter::DELETE.to_vec(),
            Self::DeleteCollection => query_parameter::delete_collection(),
        }
    }
}

/// Resource and types of an operation.
pub(super) struct OperationTarget<'a> {
    /// Group and version in camel case, such as `AppsV1`.
    pub(super) api: &'a str,
    /// Operation tag, such as `core_v1` or `apps_v1`.
    pub(super) tag: &'a str,
    /// Group, version and kind of the request and response objects.
    pub(super) gvk: (&'a str, &'a str, &'a str),
    /// Kind of the resource, for the operation ID.
    pub(super) resource_kind: &'a str,
    /// Definition name of the request and response objects.
    pub(super) definition: &'a str,
    /// Definition name of their list type.
    pub(super) list: &'a str,
    /// Subresource suffix of the operation ID, such as `Status` or `Scale`; empty for the resource
    /// itself.
    pub(super) suffix: &'a str,
    /// Whether the path has a namespace parameter.
    pub(super) namespaced: bool,
    /// Whether the path lists across all namespaces.
    pub(super) all_namespaces: bool,
    /// Whether the resource is built in; custom resources do not support strategic merge patch.
    pub(super) builtin: bool,
}

/// Returns the OpenAPI operation object.
pub(super) fn operation(action: Action, subject: &OperationTarget<'_>) -> Value {
    let (group, version, kind) = subject.gvk;
    let mut parameters: Vec<Value> = action
        .parameters()
        .into_iter()
        .map(QueryParameter::to_value)
        .collect();
    parameters.sort_by_key(|p| p["name"].to_string());
    let mut out = json!({
        "description": description(action, subject),
        "operationId": id(action, subject),
        "tags": [subject.tag],
        "responses": responses(action, subject),
        "x-kubernetes-action": action.name(),
        "x-kubernetes-group-version-kind": {"group": group, "kind": kind, "version": version},
    });
    if !parameters.is_empty() {
        out["parameters"] = parameters.into();
    }
    if let Some(body) = body(action, subject) {
        out["requestBody"] = body;
    }
    out
}

/// Returns a path parameter.
pub(super) fn path_parameter(name: &str, description: &str) -> Value {
    json!({
        "name": name,
        "in": "path",
        "required": true,
        "description": description,
        "schema": {"type": "string", "uniqueItems": true},
    })
}

fn description(action: Action, subject: &OperationTarget<'_>) -> String {
    let kind = subject.resource_kind;
    match action {
        Action::List => format!("list or watch objects of kind {kind}"),
        Action::Watch => format!(
            "watch changes to an object of kind {kind}. deprecated: use the 'watch' parameter with a list operation instead, filtered to a single item with the 'fieldSelector' parameter."
        ),
        Action::WatchList => format!(
            "watch individual changes to a list of {kind}. deprecated: use the 'watch' parameter with a list operation instead."
        ),
        Action::Create => format!("create {}", article(kind)),
        Action::Delete => format!("delete {}", article(kind)),
        Action::DeleteCollection => format!("delete collection of {kind}"),
        Action::Connect => format!(
            "connect GET requests to {} of {kind}",
            subject.suffix.to_lowercase()
        ),
        Action::Get | Action::Update | Action::Patch => {
            let what = match action {
                Action::Patch => "partially update",
                other => other.verb(),
            };
            match subject.suffix {
                "" => format!("{what} the specified {kind}"),
                suffix => format!("{what} {} of the specified {kind}", suffix.to_lowercase()),
            }
        }
    }
}

fn article(kind: &str) -> String {
    let vowel = kind.starts_with(['A', 'E', 'I', 'O', 'U']);
    format!("{} {kind}", if vowel { "an" } else { "a" })
}

fn id(action: Action, subject: &OperationTarget<'_>) -> String {
    let scope = if subject.namespaced { "Namespaced" } else { "" };
    let verb = match action {
        Action::Get => "read",
        Action::List => "list",
        Action::Watch | Action::WatchList => "watch",
        Action::Create => "create",
        Action::Update => "replace",
        Action::Patch => "patch",
        Action::Delete => "delete",
        Action::DeleteCollection => "deleteCollection",
        Action::Connect => "connectGet",
    };
    let verb = if action == Action::DeleteCollection {
        format!("delete{}Collection{scope}", subject.api)
    } else {
        format!("{verb}{}{scope}", subject.api)
    };
    let list = if action == Action::WatchList {
        "List"
    } else {
        ""
    };
    let all = if subject.all_namespaces {
        "ForAllNamespaces"
    } else {
        ""
    };
    format!(
        "{verb}{}{}{list}{all}",
        subject.resource_kind, subject.suffix
    )
}

const MEDIA: [&str; 3] = [
    "application/json",
    "application/vnd.kubernetes.protobuf",
    "application/yaml",
];
const STREAMS: [&str; 2] = [
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];

fn content(media: &[&str], definition: &str) -> Map<String, Value> {
    let schema = json!({"schema": {"$ref": format!("{REF}{definition}")}});
    media
        .iter()
        .map(|m| ((*m).to_string(), schema.clone()))
        .collect()
}

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

fn responses(action: Action, subject: &OperationTarget<'_>) -> Value {
    let own = subject.definition;
    let (definition, streamed) = match action {
        Action::List => (subject.list.to_string(), true),
        Action::Watch | Action::WatchList => (format!("{META}.WatchEvent"), true),
        Action::Delete | Action::DeleteCollection => (format!("{META}.Status"), false),
        _ => (own.to_string(), false),
    };
    let mut response_content = content(&MEDIA, &definition);
    if streamed {
        response_content.extend(content(&STREAMS, &definition));
    }
    if action == Action::Connect {
        let text = json!({"schema": {"type": "string"}});
        response_content = Map::from_iter([("*/*".to_string(), text)]);
    }
    let mut out = Map::new();
    let mut add = |code: &str, description: &str| {
        out.insert(
            code.into(),
            json!({"description": description, "content": response_content.clone()}),
        );
    };
    add("200", "OK");
    if matches!(action, Action::Create | Action::Update | Action::Patch) {
        add("201", "Created");
    }
    if matches!(action, Action::Create | Action::Delete) {
        add("202", "Accepted");
    }
    out.insert("401".into(), json!({"description": "Unauthorized"}));
    out.into()
}

fn body(action: Action, subject: &OperationTarget<'_>) -> Option<Value> {
    const BUILTIN_PATCHES: &[&str] = &[
        "application/apply-patch+cbor",
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
    ];
    const CUSTOM_PATCHES: &[&str] = &[
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
    ];
    let patches = match subject.builtin {
        true => BUILTIN_PATCHES,
        false => CUSTOM_PATCHES,
    };
    let (media, definition): (&[&str], String) = match action {
        Action::Create | Action::Update => (&["*/*"], subject.definition.into()),
        Action::Patch => (patches, format!("{META}.Patch")),
        Action::Delete | Action::DeleteCollection => (&["*/*"], format!("{META}.DeleteOptions")),
        _ => return None,
    };
    let needed = matches!(action, Action::Create | Action::Update | Action::Patch);
    let mut body = json!({"content": content(media, &definition)});
    if needed {
        body["required"] = true.into();
    }
    Some(body)
}
