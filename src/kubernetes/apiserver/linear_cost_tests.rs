//! The cost of a request is linear in the size of the object: the lists of all built-in kinds grow, and the
//! processor time of their requests must not grow with the square of their length.

mod growth;
mod list_fields;

use std::collections::HashSet;

use bytes::Bytes;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use serde_json::{Value, json};

use crate::ApiServer;
use crate::storage::PendingObject;
use crate::storage::key::storage_key;
use growth::{Request, send, superlinear};
use list_fields::{Path, Schemas};

/// The definitions of the built-in types.
const DEFINITIONS: &str = include_str!("openapi/definitions.txt");
const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

fn read_schemas() -> Schemas {
    let lines = DEFINITIONS
        .lines()
        .filter(|line| line.starts_with("io.k8s"));
    let parse = |line: &'static str| {
        let (name, schema) = line.split_once(' ').unwrap();
        (name, serde_json::from_str(schema).unwrap())
    };
    Schemas(lines.map(parse).collect())
}

struct Kind {
    api_version: String,
    kind: String,
    plural: String,
    /// Empty for kinds that are not in namespaces.
    namespace: &'static str,
    collection: String,
    has_status: bool,
    definition: &'static str,
}

async fn get(server: &ApiServer, uri: &str) -> Value {
    let request = Request {
        name: "",
        method: "GET",
        uri: uri.to_owned(),
        content_type: JSON,
        body: Bytes::new(),
    };
    send(&server.client(), &request).await.1
}

/// The kinds that can be created, by discovery.
async fn kinds(server: &ApiServer, schemas: &Schemas) -> Vec<Kind> {
    let mut roots = vec!["/api/v1".to_owned()];
    for group in get(server, "/apis").await["groups"].as_array().unwrap() {
        let version = group["preferredVersion"]["groupVersion"].as_str().unwrap();
        roots.push(format!("/apis/{version}"));
    }
    let mut all = Vec::new();
    for root in roots {
        let list = get(server, &root).await;
        let api_version = list["groupVersion"].as_str().unwrap().to_owned();
        let (group, version) = api_version
            .split_once('/')
            .unwrap_or(("core", &api_version));
        let group = group.split('.').next().unwrap();
        let resources = list["resources"].as_array().unwrap();
        for resource in resources {
            let (name, kind) = (resource["name"].as_str(), resource["kind"].as_str());
            let (Some(name), Some(kind)) = (name.filter(|n| !n.contains('/')), kind) else {
                continue;
            };
            let suffix = format!(".{group}.{version}.{kind}");
            let definition = schemas.0.keys().find(|own| own.ends_with(&suffix));
            let verbs = resource["verbs"].as_array().unwrap();
            let Some(definition) = definition.filter(|_| verbs.contains(&json!("patch"))) else {
                continue;
            };
            let (namespace, collection) = match resource["namespaced"].as_bool() {
                Some(true) => ("default", format!("{root}/namespaces/default/{name}")),
                _ => ("", format!("{root}/{name}")),
            };
            let status = format!("{name}/status");
            all.push(Kind {
                api_version: api_version.clone(),
                kind: kind.to_owned(),
                plural: name.to_owned(),
                namespace,
                collection,
                has_status: resources.iter().any(|other| other["name"] == *status),
                definition,
            });
        }
    }
    // The fields of Pods are those of templates.
    all.sort_by_key(|kind| kind.kind != "Pod");
    all
}

impl Kind {
    /// Stores an object without validation, in place of the one of its name.
    fn store(&self, server: &ApiServer, object: Value) {
        let (group, version) = self
            .api_version
            .split_once('/')
            .unwrap_or(("", &self.api_version));
        let core = &server.core;
        let resource = core.registry.find(group, version, &self.plural).unwrap();
        let storage = resource.storage.as_ref().unwrap();
        let key = storage_key(self.namespace, object["metadata"]["name"].as_str().unwrap());
        if let Some(present) = storage.get(&key) {
            let last = PendingObject::new(object.clone()).unwrap();
            core.store
                .remove(storage, &key, present.revision(), last)
                .unwrap();
        }
        let object = PendingObject::new(object).unwrap();
        core.store.create(storage, &key, object).unwrap();
    }

    fn request(
        &self,
        (name, method, content_type): (&'static str, &'static str, &'static str),
        path: &str,
        body: &Value,
    ) -> Request {
        Request {
            name,
            method,
            uri: format!("{}{path}?dryRun=All&fieldManager=t", self.collection),
            content_type,
            body: body.to_string().into(),
        }
    }

    /// An object with a name, kind and API version.
    fn named(&self, object: &Value, name: &str) -> Value {
        let mut object = object.clone();
        object["apiVersion"] = self.api_version.as_str().into();
        object["kind"] = self.kind.as_str().into();
        object["metadata"]["name"] = name.into();
        object
    }

    /// The requests that create an object.
    fn creations(&self, object: &Value) -> Vec<Request> {
        let object = self.named(object, "new");
        vec![
            self.request(("create", "POST", JSON), "", &object),
            self.request(("apply of a new object", "PATCH", APPLY), "/new", &object),
        ]
    }

    /// The requests that change a stored object with the same lists. It has the managed fields of an apply.
    async fn changes(&self, server: &ApiServer, object: &Value, in_status: bool) -> Vec<Request> {
        let mut object = self.named(object, "x");
        let mut stored = object.clone();
        let apply = self.request(("", "PATCH", APPLY), "/new", &self.named(&object, "new"));
        let (status, applied) = send(&server.client(), &apply).await;
        if status.is_success() && !in_status {
            stored = applied;
            stored["metadata"]["name"] = "x".into();
        }
        stored["metadata"]["uid"] = "u".into();
        stored["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
        if !self.namespace.is_empty() {
            stored["metadata"]["namespace"] = self.namespace.into();
        }
        self.store(server, stored);
        object["metadata"]["annotations"] = json!({"changed": "true"});
        let path = if in_status { "/x/status" } else { "/x" };
        vec![
            self.request(("update", "PUT", JSON), path, &object),
            self.request(("patch", "PATCH", STRATEGIC), path, &object),
            self.request(("apply", "PATCH", APPLY), path, &object),
        ]
    }
}

/// The lists of all kinds for which requests grow faster than the list, and the numbers of lists in specs and statuses.
async fn superlinear_requests(
    prepare: impl AsyncFn(&ApiServer, &Kind, Value, bool) -> Vec<Request>,
) -> (Vec<String>, [usize; 2]) {
    let schemas = read_schemas();
    let server = ApiServer::builder(Clock::real(), Entropy::seeded(1)).build();
    let client = server.client();
    let (mut seen, mut found, mut count) = (HashSet::new(), Vec::new(), [0, 0]);
    for kind in kinds(&server, &schemas).await {
        let schema = &schemas.0[kind.definition];
        let mut lists = Vec::new();
        schemas.lists(schema, &Path::new(), &mut seen, &mut lists);
        for path in lists {
            let in_status = path[0].0 == "status";
            if in_status && !kind.has_status {
                continue;
            }
            count[usize::from(in_status)] += 1;
            let prepare = async |size: usize| {
                let mut object = schemas.sample(schema, 0, false, 0);
                schemas.grow(schema, &mut object, &path, size);
                prepare(&server, &kind, object, in_status).await
            };
            for request in superlinear(&client, prepare).await {
                let fields: Vec<&str> = path.iter().map(|(name, _)| name.as_str()).collect();
                found.push(format!("{} {} {request}", kind.kind, fields.join(".")));
            }
        }
    }
    (found, count)
}

#[tokio::test]
async fn creations_are_linear_in_the_length_of_each_list() {
    let prepare = async |_: &ApiServer, kind: &Kind, object: Value, in_status: bool| {
        // A creation drops the status.
        match in_status {
            true => Vec::new(),
            false => kind.creations(&object),
        }
    };
    let (found, [lists, _]) = superlinear_requests(prepare).await;
    assert!(lists > 200, "only {lists} lists");
    assert!(found.is_empty(), "{found:#?}");
}

/// Changes of one content type or more, by two tests that run at the same time.
async fn changes_are_linear(is_tested: fn(&Request) -> bool) {
    let prepare = async |server: &ApiServer, kind: &Kind, object: Value, in_status: bool| {
        let mut requests = kind.changes(server, &object, in_status).await;
        requests.retain(is_tested);
        requests
    };
    let (found, [lists, of_status]) = superlinear_requests(prepare).await;
    assert!(
        lists > 200 && of_status > 20,
        "only {lists} and {of_status} lists"
    );
    assert!(found.is_empty(), "{found:#?}");
}

#[tokio::test]
async fn updates_and_patches_are_linear_in_the_length_of_each_list() {
    changes_are_linear(|request| request.content_type != APPLY).await;
}

#[tokio::test]
async fn applies_are_linear_in_the_length_of_each_list() {
    changes_are_linear(|request| request.content_type == APPLY).await;
}
