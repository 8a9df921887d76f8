//! Paths of a group version and their operations.

use serde_json::{Map, Value, json};

use super::openapi_v3::{definition_name, is_builtin};
use super::operation::{Action, OperationTarget, operation, path_parameter};
use super::query_parameter::pretty;
use kueue_lab_apimachinery::strategy::api_resource::{ApiResource, Subresource};

/// Returns the paths of all kinds of a group version.
pub(super) fn build_paths(group: &str, version: &str, kinds: &[ApiResource]) -> Map<String, Value> {
    let root = match group {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    };
    let mut paths = Map::new();
    let builtin = is_builtin(group);
    if builtin {
        paths.insert(format!("{root}/"), resource_list(group, version));
    }
    for kind in kinds {
        add_kind(&mut paths, &root, kind, builtin);
    }
    paths
}

/// Group and version in camel case: `AppsV1`, `CoreV1`.
fn group_version_title(group: &str, version: &str) -> String {
    let group = if group.is_empty() { "core" } else { group };
    let short = group.strip_suffix(".k8s.io").unwrap_or(group);
    let mut word: String = short.split(['.', '-']).map(capitalised).collect();
    word.push_str(&capitalised(version));
    word
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

fn tag(group: &str, version: &str) -> String {
    let group = if group.is_empty() { "core" } else { group };
    let short = group.strip_suffix(".k8s.io").unwrap_or(group);
    format!("{}_{version}", short.replace(['.', '-'], ""))
}

fn resource_list(group: &str, version: &str) -> Value {
    let list = "io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList";
    let schema = json!({"schema": {"$ref": format!("{}{list}", super::openapi_v3::REF)}});
    json!({"get": {
        "description": "get available resources",
        "operationId": format!("get{}APIResources", group_version_title(group, version)),
        "tags": [tag(group, version)],
        "responses": {
            "200": {"description": "OK", "content": {"application/json": schema}},
            "401": {"description": "Unauthorized"},
        },
    }})
}

/// Builder of the paths of one kind.
struct KindPaths<'a> {
    kind: &'a ApiResource,
    api: String,
    tag: String,
    definition: String,
    list: String,
}

impl KindPaths<'_> {
    fn operations(
        &self,
        actions: &[Action],
        all_namespaces: bool,
        sub: Option<&Subresource>,
    ) -> Map<String, Value> {
        let kind = self.kind;
        let (mut gvk, mut definition) = (
            (&*kind.group, &*kind.version, &*kind.kind),
            self.definition.clone(),
        );
        let mut suffix = String::new();
        if let Some(sub) = sub {
            suffix = match sub.name {
                "ephemeralcontainers" => "Ephemeralcontainers".into(),
                name => capitalised(name),
            };
            if sub.kind != kind.kind {
                let group = if sub.version.is_empty() {
                    &kind.group
                } else {
                    &sub.group
                };
                let version = if sub.version.is_empty() {
                    &kind.version
                } else {
                    &sub.version
                };
                gvk = (group, version, &sub.kind);
                let other = ApiResource {
                    group: group.clone(),
                    version: version.clone(),
                    ..kind.clone()
                };
                definition = definition_name(&other, &sub.kind);
            }
        }
        let subject = OperationTarget {
            api: &self.api,
            tag: &self.tag,
            gvk,
            resource_kind: &kind.kind,
            definition: &definition,
            list: &self.list,
            suffix: &suffix,
            namespaced: kind.namespaced && !all_namespaces,
            all_namespaces,
            builtin: is_builtin(&kind.group),
        };
        let entry = |action: &Action| (action.method().to_string(), operation(*action, &subject));
        actions.iter().map(entry).collect()
    }
}

fn add_kind(paths: &mut Map<String, Value>, root: &str, kind: &ApiResource, builtin: bool) {
    let kind_paths = KindPaths {
        kind,
        api: group_version_title(&kind.group, &kind.version),
        tag: tag(&kind.group, &kind.version),
        definition: definition_name(kind, &kind.kind),
        list: definition_name(kind, &kind.list_kind),
    };
    let has = |verb: &str| kind.verbs.contains(&verb);
    let plural = &kind.plural;
    let collection = match kind.namespaced {
        true => format!("{root}/namespaces/{{namespace}}/{plural}"),
        false => format!("{root}/{plural}"),
    };
    let actions = |wanted: &[(&str, Action)]| -> Vec<Action> {
        wanted
            .iter()
            .filter(|(verb, _)| has(verb))
            .map(|(_, action)| *action)
            .collect()
    };
    let on_collection = actions(&[
        ("list", Action::List),
        ("create", Action::Create),
        ("deletecollection", Action::DeleteCollection),
    ]);
    let on_object = actions(&[
        ("get", Action::Get),
        ("update", Action::Update),
        ("patch", Action::Patch),
        ("delete", Action::Delete),
    ]);
    let mut insert = |path: String, operations: Map<String, Value>, named: bool, scoped: bool| {
        if operations.is_empty() {
            return;
        }
        let mut item = operations;
        let mut parameters = Vec::new();
        if named {
            parameters.push(path_parameter(
                "name",
                &format!("name of the {}", kind.kind),
            ));
        }
        if scoped {
            let text = "object name and auth scope, such as for teams and projects";
            parameters.push(path_parameter("namespace", text));
        }
        parameters.push(pretty());
        item.insert("parameters".into(), parameters.into());
        paths.insert(path, item.into());
    };
    insert(
        collection.clone(),
        kind_paths.operations(&on_collection, false, None),
        false,
        kind.namespaced,
    );
    if kind.namespaced && has("list") {
        let everywhere = kind_paths.operations(&[Action::List], true, None);
        insert(format!("{root}/{plural}"), everywhere, false, false);
    }
    let object = format!("{collection}/{{name}}");
    insert(
        object.clone(),
        kind_paths.operations(&on_object, false, None),
        true,
        kind.namespaced,
    );
    for sub in &kind.subresources {
        let actions = subresource_actions(sub);
        let operations = kind_paths.operations(&actions, false, Some(sub));
        insert(
            format!("{object}/{}", sub.name),
            operations,
            true,
            kind.namespaced,
        );
    }
    if builtin && has("watch") {
        let below = |path: &str| format!("{root}/watch{}", path.strip_prefix(root).unwrap_or(path));
        let list = kind_paths.operations(&[Action::WatchList], false, None);
        insert(below(&collection), list, false, kind.namespaced);
        let one = kind_paths.operations(&[Action::Watch], false, None);
        insert(below(&object), one, true, kind.namespaced);
        if kind.namespaced {
            let everywhere = kind_paths.operations(&[Action::WatchList], true, None);
            insert(format!("{root}/watch/{plural}"), everywhere, false, false);
        }
    }
}

fn subresource_actions(sub: &Subresource) -> Vec<Action> {
    if matches!(sub.name, "attach" | "exec" | "portforward" | "proxy") {
        return vec![Action::Connect];
    }
    let action = |verb: &&str| match *verb {
        "get" => Some(Action::Get),
        "update" => Some(Action::Update),
        "patch" => Some(Action::Patch),
        "create" => Some(Action::Create),
        _ => None,
    };
    sub.verbs.iter().filter_map(action).collect()
}
