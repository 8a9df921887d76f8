//! The cost of a request is linear in the size of the object: the lists of all built-in kinds grow, and the
//! processor time of their requests must not grow with the square of their length.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use serde_json::{Map, Value, json};

use crate::ApiServer;

/// The definitions of the built-in types.
const DEFINITIONS: &str = include_str!("openapi/definitions.txt");
/// Sizes of a list, each eight times the one before.
const SIZES: [usize; 3] = [64, 512, 4096];
/// The growth of the cost from the first to the second size that is measured again with the larger sizes,
/// and the growth there that fails. Linear work is 8, quadratic work is up to 64.
const SUSPICIOUS: u64 = 11;
const SUPERLINEAR: u64 = 20;
/// A cost below which its growth is noise, in nanoseconds.
const NOISE: u64 = 1_000_000;

/// The nanoseconds that this thread ran.
fn thread_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

struct Schemas(BTreeMap<&'static str, Value>);

/// A list field: the fields to it, and whether each is a list.
type Path = Vec<(String, bool)>;

impl Schemas {
    fn read() -> Self {
        let lines = DEFINITIONS
            .lines()
            .filter(|line| line.starts_with("io.k8s"));
        let parse = |line: &'static str| {
            let (name, schema) = line.split_once(' ').unwrap();
            (name, serde_json::from_str(schema).unwrap())
        };
        Self(lines.map(parse).collect())
    }

    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let reference = schema["$ref"].as_str();
        let reference = reference.or_else(|| schema["allOf"][0]["$ref"].as_str());
        let name = reference.and_then(|r| r.rsplit('/').next());
        name.and_then(|name| self.0.get(name)).unwrap_or(schema)
    }

    /// The list fields below a schema that `seen` does not have.
    fn lists(&self, schema: &Value, path: &Path, seen: &mut HashSet<String>, out: &mut Vec<Path>) {
        let schema = self.resolve(schema);
        let Some(fields) = schema["properties"].as_object() else {
            return;
        };
        if !seen.insert(schema.to_string()) {
            return;
        }
        for (name, field) in fields.iter().filter(|(name, _)| *name != "status") {
            let is_list = field["type"] == "array";
            let mut path = path.clone();
            path.push((name.clone(), is_list));
            if is_list {
                out.push(path.clone());
            }
            let below = if is_list { &field["items"] } else { field };
            self.lists(below, &path, seen, out);
        }
    }

    /// A value of a schema; `index` makes its texts and numbers unique.
    fn sample(&self, schema: &Value, index: usize, with_optional: bool, depth: usize) -> Value {
        let schema = self.resolve(schema);
        match (schema["type"].as_str(), schema["format"].as_str()) {
            (Some("string"), Some("date-time")) => json!("2026-01-01T00:00:00Z"),
            (Some("string"), Some("byte")) => json!("YQ=="),
            (Some("string"), _) => json!(format!("a{index}")),
            (Some("integer" | "number"), _) => json!(index + 1),
            (Some("boolean"), _) => json!(false),
            (Some("array"), _) => json!([self.sample(&schema["items"], index, false, depth + 1)]),
            (Some("object"), _) if depth < 6 => {
                let required = schema["required"].as_array();
                let is_required =
                    |name: &str| required.is_some_and(|all| all.contains(&json!(name)));
                let is_scalar = |field: &Value| {
                    let kind = self.resolve(field)["type"].as_str();
                    with_optional && !matches!(kind, None | Some("array" | "object"))
                };
                let fields = schema["properties"].as_object().into_iter().flatten();
                let fields = fields.filter(|(name, field)| is_required(name) || is_scalar(field));
                fields
                    .map(|(name, field)| {
                        (name.clone(), self.sample(field, index, false, depth + 1))
                    })
                    .collect::<Map<_, _>>()
                    .into()
            }
            (Some("object"), _) => json!({}),
            _ => json!(format!("{index}")),
        }
    }

    /// An object whose list at `path` has `size` items.
    fn object(&self, schema: &Value, path: &[(String, bool)], size: usize) -> Value {
        let schema = self.resolve(schema);
        let mut object = self.sample(schema, 0, false, 0);
        let [(name, is_list), rest @ ..] = path else {
            return object;
        };
        let field = &schema["properties"][name];
        object[name] = match (is_list, rest.is_empty()) {
            (true, true) => {
                let items = (0..size).map(|i| self.sample(&field["items"], i, true, 0));
                items.collect::<Vec<_>>().into()
            }
            (true, false) => json!([self.object(&field["items"], rest, size)]),
            (false, _) => self.object(field, rest, size),
        };
        object
    }
}

struct Kind {
    api_version: String,
    kind: String,
    collection: String,
    definition: &'static str,
}

async fn send(server: &ApiServer, method: &str, uri: &str, body: Option<(&str, Value)>) -> Value {
    let mut request = Request::builder().method(method).uri(uri);
    if let Some((content_type, _)) = &body {
        request = request.header("content-type", *content_type);
    }
    let body = body.map_or_else(Bytes::new, |(_, body)| body.to_string().into());
    let request = request.body(kube::client::Body::from(body)).unwrap();
    let response = server.client().send(request).await;
    let bytes = response.unwrap().into_body().collect().await.unwrap();
    serde_json::from_slice(&bytes.to_bytes()).unwrap_or_default()
}

/// The kinds that can be created, by discovery.
async fn kinds(server: &ApiServer, schemas: &Schemas) -> Vec<Kind> {
    let mut roots = vec!["/api/v1".to_owned()];
    for group in send(server, "GET", "/apis", None).await["groups"]
        .as_array()
        .unwrap()
    {
        let version = group["preferredVersion"]["groupVersion"].as_str().unwrap();
        roots.push(format!("/apis/{version}"));
    }
    let mut all = Vec::new();
    for root in roots {
        let list = send(server, "GET", &root, None).await;
        let api_version = list["groupVersion"].as_str().unwrap().to_owned();
        let (group, version) = api_version
            .split_once('/')
            .unwrap_or(("core", &api_version));
        let group = group.split('.').next().unwrap();
        for resource in list["resources"].as_array().unwrap() {
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
            let collection = match resource["namespaced"].as_bool() {
                Some(true) => format!("{root}/namespaces/default/{name}"),
                _ => format!("{root}/{name}"),
            };
            all.push(Kind {
                api_version: api_version.clone(),
                kind: kind.to_owned(),
                collection,
                definition,
            });
        }
    }
    // The fields of Pods are those of templates.
    all.sort_by_key(|kind| kind.kind != "Pod");
    all
}

/// The cost of a creation and of an apply, the lowest of a number of runs.
async fn cost(server: &ApiServer, kind: &Kind, object: &Value, runs: usize) -> u64 {
    let mut lowest = u64::MAX;
    for _ in 0..runs {
        let before = thread_time();
        let uri = format!("{}?dryRun=All", kind.collection);
        let body = Some(("application/json", object.clone()));
        send(server, "POST", &uri, body).await;
        let uri = format!("{}/x?dryRun=All&fieldManager=t", kind.collection);
        let body = Some(("application/apply-patch+yaml", object.clone()));
        send(server, "PATCH", &uri, body).await;
        lowest = lowest.min(thread_time() - before);
    }
    lowest
}

#[tokio::test]
async fn requests_are_linear_in_the_length_of_each_list() {
    let schemas = Schemas::read();
    let server = ApiServer::builder(Clock::real(), Entropy::seeded(1)).build();
    let (mut seen, mut superlinear, mut count) = (HashSet::new(), Vec::new(), 0);
    for kind in kinds(&server, &schemas).await {
        let schema = &schemas.0[kind.definition];
        let mut lists = Vec::new();
        schemas.lists(schema, &Path::new(), &mut seen, &mut lists);
        for path in lists {
            count += 1;
            let object = |size: usize| {
                let mut object = schemas.object(schema, &path, size);
                object["apiVersion"] = kind.api_version.as_str().into();
                object["kind"] = kind.kind.as_str().into();
                object["metadata"]["name"] = "x".into();
                object
            };
            let objects = SIZES.map(|size| {
                if size > SIZES[1] {
                    Value::Null
                } else {
                    object(size)
                }
            });
            let small = cost(&server, &kind, &objects[0], 1).await.max(NOISE);
            if cost(&server, &kind, &objects[1], 1).await <= SUSPICIOUS * small {
                continue;
            }
            let middle = cost(&server, &kind, &objects[1], 3).await.max(NOISE);
            let large = cost(&server, &kind, &object(SIZES[2]), 2).await;
            if large > SUPERLINEAR * middle {
                let fields: Vec<&str> = path.iter().map(|(name, _)| name.as_str()).collect();
                let growth = large / middle;
                superlinear.push(format!(
                    "{} {}: {growth} times, {} ms",
                    kind.kind,
                    fields.join("."),
                    large / 1_000_000
                ));
            }
        }
    }
    assert!(count > 200, "only {count} lists");
    assert!(superlinear.is_empty(), "{superlinear:#?}");
}
