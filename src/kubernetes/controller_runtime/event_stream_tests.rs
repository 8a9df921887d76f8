//! Watches of a server in this process, and of servers that behave in other ways.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use http::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::runtime::watcher::{Config, Error, Event};
use kube::{Client, ResourceExt};
use kueue_lab_apimachinery::watch::{EventStream, SharedObject, WatchEvent};
use kueue_lab_clock::virtual_runtime;
use parking_lot::Mutex;
use serde_json::json;

use super::tests::{config_map, context, server};
use super::{Api, Informer, ObjectKey, WatchError, value_watcher, watcher};

#[test]
fn informers_share_decoded_objects() {
    virtual_runtime().unwrap().block_on(async {
        let client = server();
        let context = context(client.clone()).with_streaming_lists(true);
        let api: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
        let params = PostParams::default();
        api.create(&params, &config_map("a", "red")).await.unwrap();
        let first = Informer::builder(api.clone()).start(&context);
        let second = Informer::builder(Api::<ConfigMap>::all(client)).start(&context);
        first.wait_for_cache_sync().await;
        second.wait_for_cache_sync().await;
        let key = ObjectKey::new("default", "a");
        let before = first.get(&key).unwrap();
        assert!(Arc::ptr_eq(&before, &second.get(&key).unwrap()));

        let patch = Patch::Merge(json!({"data": {"team": "blue"}}));
        api.patch("a", &PatchParams::default(), &patch)
            .await
            .unwrap();
        let is_blue = |map: &ConfigMap| map.data.as_ref().is_some_and(|d| d["team"] == "blue");
        while !is_blue(&first.get(&key).unwrap()) || !is_blue(&second.get(&key).unwrap()) {
            tokio::task::yield_now().await;
        }
        assert!(!is_blue(&before));
        let after = first.get(&key).unwrap();
        assert!(Arc::ptr_eq(&after, &second.get(&key).unwrap()));
    });
}

#[test]
fn an_object_that_leaves_the_selection_is_deleted() {
    virtual_runtime().unwrap().block_on(async {
        let client = server();
        let context = context(client.clone()).with_streaming_lists(true);
        let api: Api<ConfigMap> = Api::namespaced(client, "default");
        let mut map = config_map("a", "red");
        map.metadata.labels = Some(BTreeMap::from([("team".into(), "red".into())]));
        api.create(&PostParams::default(), &map).await.unwrap();
        let config = context.watch_config().labels("team=red");
        let mut events = Box::pin(watcher(api.clone(), config));
        assert!(matches!(events.next().await, Some(Ok(Event::Init))));
        assert!(matches!(events.next().await, Some(Ok(Event::InitApply(_)))));
        assert!(matches!(events.next().await, Some(Ok(Event::InitDone))));
        let patch = Patch::Merge(json!({"metadata": {"labels": {"team": "blue"}}}));
        let patched = api
            .patch("a", &PatchParams::default(), &patch)
            .await
            .unwrap();
        let Some(Ok(Event::Delete(last))) = events.next().await else {
            panic!("not deleted");
        };
        assert_eq!(last.labels()["team"], "red");
        assert_eq!(last.resource_version(), patched.resource_version());
    });
}

fn resource(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

#[test]
fn objects_have_the_schema_of_a_definition_that_changes() {
    virtual_runtime().unwrap().block_on(async {
        let client = server();
        let versions = |fields: &[&str]| {
            let fields = fields.iter().map(|field| (*field, json!({"type": "integer"})));
            let spec = json!({"type": "object", "properties": fields.collect::<BTreeMap<_, _>>()});
            json!([{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            }])
        };
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.x.dev"},
            "spec": {
                "group": "x.dev", "scope": "Cluster", "versions": versions(&["a"]),
                "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            },
        });
        let crd = resource("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let crds: Api<DynamicObject> = Api::all_with(client.clone(), &crd);
        let params = PostParams::default();
        let definition = serde_json::from_value(definition).unwrap();
        crds.create(&params, &definition).await.unwrap();
        let things: Api<DynamicObject> = Api::all_with(client, &resource("x.dev", "v1", "Thing"));
        let config = Config::default().streaming_lists();
        let mut events = Box::pin(value_watcher(things.clone(), config));
        assert!(matches!(events.next().await, Some(Ok(Event::Init))));
        assert!(matches!(events.next().await, Some(Ok(Event::InitDone))));

        let patch = Patch::Merge(json!({"spec": {"versions": versions(&["a", "b"])}}));
        let params = PatchParams::default();
        crds.patch("things.x.dev", &params, &patch).await.unwrap();
        let thing = json!({
            "apiVersion": "x.dev/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"b": 2},
        });
        let thing = serde_json::from_value(thing).unwrap();
        things.create(&PostParams::default(), &thing).await.unwrap();
        let Some(Ok(Event::Apply(seen))) = events.next().await else {
            panic!("not created");
        };
        assert_eq!(seen["spec"], json!({"b": 2}));
    });
}

fn object(name: &str, version: u64) -> SharedObject {
    let metadata = json!({
        "namespace": "default", "name": name, "uid": name, "resourceVersion": version.to_string(),
    });
    SharedObject {
        key: format!("default/{name}").into(),
        resource_version: version,
        json: json!({"metadata": metadata}).to_string().into(),
        stored: None,
    }
}

/// A client whose requests get these responses in order, and then none; and the queries of the
/// requests.
fn client(responses: Vec<Response<Body>>) -> (Client, Arc<Mutex<Vec<String>>>) {
    let queries: Arc<Mutex<Vec<String>>> = Arc::default();
    let asked = queries.clone();
    let responses = Mutex::new(responses.into_iter());
    let service = tower::service_fn(move |request: Request<Body>| {
        asked
            .lock()
            .push(request.uri().query().unwrap_or_default().to_owned());
        let response = responses.lock().next();
        async move {
            match response {
                Some(response) => Ok::<_, std::convert::Infallible>(response),
                None => std::future::pending().await,
            }
        }
    });
    (Client::new(service, "default"), queries)
}

fn events(events: Vec<WatchEvent>, ends: bool) -> Response<Body> {
    let events = stream::iter(events);
    let events: BoxStream<'static, WatchEvent> = match ends {
        true => events.boxed(),
        false => events.chain(stream::pending()).boxed(),
    };
    let mut response = Response::new(Body::empty());
    response.extensions_mut().insert(EventStream::new(events));
    response
}

/// The next event as text.
async fn next(
    events: &mut (impl futures::Stream<Item = Result<Event<ConfigMap>, WatchError>> + Unpin),
) -> String {
    match events.next().await.unwrap() {
        Ok(Event::Init) => "init".to_owned(),
        Ok(Event::InitApply(map)) => format!("init {}", map.name_any()),
        Ok(Event::InitDone) => "done".to_owned(),
        Ok(Event::Apply(map)) => format!("apply {}", map.name_any()),
        Ok(Event::Delete(map)) => format!("delete {}", map.name_any()),
        Err(WatchError::Request(Error::WatchStartFailed(_))) => "cannot start".to_owned(),
        Err(WatchError::Request(Error::WatchError(status))) => {
            format!("failed {}", status.code)
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_watch_that_ends_continues_and_one_that_is_too_old_lists_again() {
    virtual_runtime().unwrap().block_on(async {
        let end = |resource_version| WatchEvent::InitialEventsEnd { resource_version };
        let gone =
            json!({"status": "Failure", "code": 410, "reason": "Expired", "message": "too old"});
        let rejected =
            json!({"status": "Failure", "code": 403, "reason": "Forbidden", "message": "no"});
        let mut forbidden = Response::new(Body::from(rejected.to_string().into_bytes()));
        *forbidden.status_mut() = http::StatusCode::FORBIDDEN;
        let (client, queries) = client(vec![
            forbidden,
            events(vec![WatchEvent::Applied(object("a", 3)), end(5)], true),
            events(
                vec![
                    WatchEvent::Applied(object("b", 7)),
                    WatchEvent::Deleted(object("b", 8)),
                ],
                true,
            ),
            events(
                vec![WatchEvent::Error {
                    status: gone.to_string(),
                }],
                true,
            ),
            events(vec![end(9), WatchEvent::Applied(object("c", 10))], false),
        ]);
        let config = Config::default().streaming_lists();
        let api: Api<ConfigMap> = Api::all(client);
        let mut watch = Box::pin(watcher(api, config));
        let mut seen = Vec::new();
        for _ in 0..10 {
            seen.push(next(&mut watch).await);
        }
        assert_eq!(
            seen,
            [
                "cannot start",
                "init",
                "init a",
                "done",
                "apply b",
                "delete b",
                "failed 410",
                "init",
                "done",
                "apply c",
            ]
        );
        let queries = queries.lock();
        let versions: Vec<(bool, &str)> = queries
            .iter()
            .map(|query| {
                let version = query.rsplit_once("resourceVersion=").unwrap().1;
                (query.contains("sendInitialEvents=true"), version)
            })
            .collect();
        assert_eq!(
            versions,
            [
                (true, "0"),
                (true, "0"),
                (false, "5"),
                (false, "8"),
                (true, "0")
            ]
        );
    });
}

#[test]
fn a_server_in_another_process_sends_text() {
    virtual_runtime().unwrap().block_on(async {
        let added = r#"{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"3"}}}"#;
        let metadata = r#"{"resourceVersion":"3","annotations":{"k8s.io/initial-events-end":"true"}}"#;
        let end = format!(
            r#"{{"type":"BOOKMARK","object":{{"kind":"ConfigMap","apiVersion":"v1","metadata":{metadata}}}}}"#
        );
        let body = || Body::from(format!("{added}\n{end}\n").into_bytes());
        let (client, _) = client(vec![Response::new(body()), Response::new(body())]);
        let api: Api<ConfigMap> = Api::all(client);
        let mut watch = Box::pin(watcher(api, Config::default().streaming_lists()));
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.push(next(&mut watch).await);
        }
        assert_eq!(seen, ["init", "init a", "done"]);
    });
}
