//! Watches: complete and without duplicates, bookmarks, streaming lists.

use std::time::Duration;

use futures::{AsyncBufReadExt, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, WatchEvent, WatchParams};
use kube::runtime::watcher::{self, Event};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::server_fixture::*;

/// The events of a raw watch.
async fn raw_watch(client: &Client, query: &str) -> impl futures::Stream<Item = Value> + Unpin {
    let path = format!("/api/v1/namespaces/test/configmaps?watch=1&{query}");
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    let lines = client.request_stream(request).await.unwrap().lines();
    Box::pin(lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()))
}

fn type_and_name(event: &Value) -> (String, String) {
    let name = event["object"]["metadata"]["name"]
        .as_str()
        .unwrap_or_default();
    (
        event["type"].as_str().unwrap().to_string(),
        name.to_string(),
    )
}

fn type_and_name_lines(events: &[Value]) -> Vec<String> {
    events
        .iter()
        .map(type_and_name)
        .map(|(kind, name)| format!("{kind} {name}").trim().into())
        .collect()
}

#[test]
fn a_watch_from_a_list_has_all_later_events() {
    with_server(|_, client| async move {
        let api = config_maps(&client);
        create_config_map(&api, "old", "1").await;
        let list = api.list(&ListParams::default()).await.unwrap();
        let version = list.metadata.resource_version.unwrap();
        create_config_map(&api, "a", "1").await;
        merge_patch(
            &client,
            "/api/v1/namespaces/test/configmaps/a",
            json!({"data": {"k": "2"}}),
        )
        .await
        .unwrap();
        api.delete("a", &DeleteParams::default()).await.unwrap();
        let mut stream = api
            .watch(&WatchParams::default(), &version)
            .await
            .unwrap()
            .boxed();
        let mut seen = Vec::new();
        while seen.len() < 3 {
            seen.push(match stream.try_next().await.unwrap().unwrap() {
                WatchEvent::Added(o) => format!("added {}", o.data.unwrap()["k"]),
                WatchEvent::Modified(o) => format!("modified {}", o.data.unwrap()["k"]),
                WatchEvent::Deleted(o) => {
                    let gone: u64 = o.metadata.resource_version.unwrap().parse().unwrap();
                    assert!(
                        gone > version.parse().unwrap(),
                        "a deletion has its own version"
                    );
                    "deleted".into()
                }
                other => panic!("{other:?}"),
            });
        }
        assert_eq!(seen, ["added 1", "modified 2", "deleted"]);
    });
}

#[test]
fn a_streaming_list_is_followed_by_events() {
    with_server(|_, client| async move {
        let api = config_maps(&client);
        for i in 0..3 {
            create_config_map(&api, &format!("m{i}"), "1").await;
        }
        for config in [
            watcher::Config::default(),
            watcher::Config::default().streaming_lists(),
        ] {
            let mut stream = watcher::watcher(api.clone(), config).boxed();
            let mut initial = Vec::new();
            loop {
                match stream.try_next().await.unwrap().unwrap() {
                    Event::Init => {}
                    Event::InitApply(o) => initial.push(o.name_any()),
                    Event::InitDone => break,
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(initial, ["m0", "m1", "m2"]);
            create_config_map(&api, "x", "1").await;
            assert!(
                matches!(stream.try_next().await, Ok(Some(Event::Apply(o))) if o.name_any() == "x")
            );
            api.delete("x", &DeleteParams::default()).await.unwrap();
            assert!(
                matches!(stream.try_next().await, Ok(Some(Event::Delete(o))) if o.name_any() == "x")
            );
        }
    });
}

#[test]
fn an_object_that_stops_matching_is_deleted_in_its_last_matching_state() {
    with_server(|_, client| async move {
        let api = config_maps(&client);
        let mut stream = raw_watch(&client, "labelSelector=on%3Dyes").await;
        create_config_map(&api, "a", "1").await;
        let path = "/api/v1/namespaces/test/configmaps/a";
        for on in [
            json!("yes"),
            json!("yes"),
            json!("no"),
            json!("yes"),
            json!(null),
        ] {
            let patch = json!({"metadata": {"labels": {"on": on}, "annotations": {"on": on}}});
            merge_patch(&client, path, patch).await.unwrap();
        }
        merge_patch(
            &client,
            path,
            json!({"metadata": {"labels": {"on": "yes"}}}),
        )
        .await
        .unwrap();
        api.delete("a", &DeleteParams::default()).await.unwrap();
        let events: Vec<Value> = stream.by_ref().take(6).collect().await;
        let kinds: Vec<String> = events.iter().map(|e| type_and_name(e).0).collect();
        assert_eq!(
            kinds,
            ["ADDED", "DELETED", "ADDED", "DELETED", "ADDED", "DELETED"]
        );
        assert_eq!(
            events[1]["object"]["metadata"]["labels"]["on"], "yes",
            "as last seen"
        );
        let version = |i: usize| {
            let text = events[i]["object"]["metadata"]["resourceVersion"]
                .as_str()
                .unwrap();
            text.parse::<u64>().unwrap()
        };
        assert!((0..5).all(|i| version(i) < version(i + 1)));
    });
}

#[test]
fn bookmarks_are_sent_initially_each_minute_and_at_the_end() {
    with_server(|_, client| async move {
        let api = config_maps(&client);
        create_config_map(&api, "a", "1").await;
        let query = "allowWatchBookmarks=true&timeoutSeconds=130";
        let events: Vec<Value> = raw_watch(&client, query).await.collect().await;
        assert_eq!(
            type_and_name_lines(&events),
            ["ADDED a", "BOOKMARK", "BOOKMARK", "BOOKMARK", "BOOKMARK"]
        );
        let end = &events[1]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"];
        assert_eq!(end, "true");
        assert_eq!(events[2]["object"]["kind"], "ConfigMap");
        // Writes to other kinds advance the bookmark too.
        let mut quiet = raw_watch(&client, "allowWatchBookmarks=true&timeoutSeconds=70").await;
        namespace(&client, "elsewhere").await;
        let now = get(&client, "/api/v1/namespaces").await.unwrap();
        let events: Vec<Value> = quiet.by_ref().collect().await;
        let last = &events.last().unwrap()["object"]["metadata"]["resourceVersion"];
        assert_eq!(*last, now["metadata"]["resourceVersion"]);
    });
}

#[test]
fn a_watch_from_an_expired_version_gets_410() {
    with_server(|_, client| async move {
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.x.dev"},
            "spec": {
                "group": "x.dev", "scope": "Namespaced",
                "names": {"plural": "things", "kind": "Thing"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                    "openAPIV3Schema": {"type": "object"},
                }}],
            },
        });
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        send(&client, "POST", path, crd).await.unwrap();
        let path = "/apis/x.dev/v1/things?watch=1&resourceVersion=1";
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let text = client.request_text(request).await.unwrap();
        let event: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&event["type"], &event["object"]["code"]),
            (&json!("ERROR"), &json!(410))
        );
        let message = event["object"]["message"].as_str().unwrap();
        assert!(
            message.starts_with("too old resource version: 1 ("),
            "{message}"
        );
    });
}

#[test]
fn conflicting_options_are_rejected() {
    with_server(|_, client| async move {
        for query in [
            "sendInitialEvents=true",
            "resourceVersionMatch=NotOlderThan",
            "sendInitialEvents=true&resourceVersionMatch=Exact",
        ] {
            let path = format!("/api/v1/configmaps?watch=1&{query}");
            let rejected = error_status(get(&client, &path).await);
            assert_eq!(rejected.code, 422, "{query}");
        }
    });
}

#[test]
fn a_table_watch_sends_its_columns_once() {
    with_server(|_, client| async move {
        let api = config_maps(&client);
        for name in ["a", "b"] {
            create_config_map(&api, name, "1").await;
        }
        let request =
            http::Request::get("/api/v1/namespaces/test/configmaps?watch=1&timeoutSeconds=1")
                .header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
                .body(Vec::new())
                .unwrap();
        let text = client.request_text(request).await.unwrap();
        let events: Vec<Value> = text
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
        assert_eq!(events.len(), 2);
        assert!(events[0]["object"]["columnDefinitions"].is_array());
        assert!(events[1]["object"]["columnDefinitions"].is_null());
        assert_eq!(events[1]["object"]["rows"][0]["cells"][0], "b");
    });
}

#[test]
fn a_hundred_watches_have_equal_events() {
    with_server(|_, client| async move {
        let api = config_maps(&client);
        let followers = (0..100).map(|_| {
            let api = api.clone();
            tokio::spawn(async move {
                let mut stream = api
                    .watch(&WatchParams::default(), "0")
                    .await
                    .unwrap()
                    .boxed();
                let mut seen = Vec::new();
                while seen.len() < 50 {
                    if let WatchEvent::Added(o) = stream.try_next().await.unwrap().unwrap() {
                        let o: ConfigMap = o;
                        seen.push(o.name_any());
                    }
                }
                seen
            })
        });
        let followers: Vec<_> = followers.collect();
        tokio::time::sleep(Duration::from_millis(1)).await;
        for i in 0..50 {
            create_config_map(&api, &format!("m{i}"), "1").await;
        }
        let wanted: Vec<String> = (0..50).map(|i| format!("m{i}")).collect();
        for follower in followers {
            assert_eq!(follower.await.unwrap(), wanted);
        }
    });
}

#[test]
fn a_streaming_list_at_a_future_version_is_refused() {
    with_server(|_, client| async move {
        let path = "/api/v1/namespaces/test/configmaps?watch=1&sendInitialEvents=true\
                    &resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true\
                    &resourceVersion=999999";
        let refused = error_status(get(&client, path).await);
        assert_eq!((refused.code, refused.reason.as_str()), (504, "Timeout"));
        assert!(
            refused
                .message
                .starts_with("Too large resource version: 999999"),
            "{}",
            refused.message
        );
    });
}
