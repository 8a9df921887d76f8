//! Create, get, update, patch and apply.

use std::time::Duration;

use kube::api::{Patch, PatchParams, PostParams};
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use serde_json::{Value, json};

use super::server_fixture::*;

#[test]
fn a_new_object_gets_server_set_metadata() {
    with_server(|_, client| async move {
        let api = config_maps(&client);
        let made = create_config_map(&api, "a", "1").await;
        assert_eq!(made.metadata.namespace.as_deref(), Some("test"));
        let uid = made.metadata.uid.as_deref().unwrap();
        assert_eq!(uid.len(), 36);
        let created = made.metadata.creation_timestamp.as_ref().unwrap();
        assert_eq!(created.0.to_string(), "2026-03-02T12:00:00Z");
        assert_eq!(api.get("a").await.unwrap(), made);
        let again = error_status(
            api.create(&PostParams::default(), &config_map("a", "2"))
                .await,
        );
        assert_eq!((again.code, again.reason.as_str()), (409, "AlreadyExists"));
        assert_eq!(again.message, "configmaps \"a\" already exists");
        let nowhere = error_status(api.get("nope").await);
        assert_eq!((nowhere.code, nowhere.reason.as_str()), (404, "NotFound"));
    });
}

#[test]
fn server_set_fields_of_requests_are_ignored() {
    with_server(|_, client| async move {
        let forged = json!({
            "metadata": {
                "name": "a", "uid": "forged", "generation": 7, "selfLink": "x",
                "creationTimestamp": "2001-01-01T00:00:00Z",
                "deletionTimestamp": "2001-01-01T00:00:00Z",
            },
        });
        let path = "/api/v1/namespaces/test/configmaps";
        let made = send(&client, "POST", path, forged).await.unwrap();
        assert_ne!(made["metadata"]["uid"], "forged");
        assert_eq!(
            made["metadata"]["creationTimestamp"],
            "2026-03-02T12:00:00Z"
        );
        for field in ["generation", "deletionTimestamp", "selfLink"] {
            assert!(made["metadata"].get(field).is_none(), "{field}");
        }
    });
}

#[test]
fn generated_names_are_unique_and_short() {
    with_server(|_, client| async move {
        let path = "/api/v1/namespaces/test/configmaps";
        let mut names = std::collections::BTreeSet::new();
        for _ in 0..50 {
            let body = json!({"metadata": {"generateName": "x-"}});
            let made = send(&client, "POST", path, body).await.unwrap();
            let name = made["metadata"]["name"].as_str().unwrap().to_string();
            assert!(name.starts_with("x-") && name.len() == 7, "{name}");
            assert!(names.insert(name));
        }
    });
}

#[test]
fn an_update_with_a_stale_resource_version_conflicts() {
    with_server(|_, client| async move {
        let api = config_maps(&client);
        let first = create_config_map(&api, "a", "1").await;
        let mut next = first.clone();
        next.data.as_mut().unwrap().insert("k".into(), "2".into());
        let second = api
            .replace("a", &PostParams::default(), &next)
            .await
            .unwrap();
        assert_ne!(
            first.metadata.resource_version,
            second.metadata.resource_version
        );
        let stale = error_status(api.replace("a", &PostParams::default(), &next).await);
        assert_eq!((stale.code, stale.reason.as_str()), (409, "Conflict"));
        assert_eq!(
            stale.message,
            "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again"
        );
        // Without a resourceVersion the update is unconditional.
        next.metadata.resource_version = None;
        api.replace("a", &PostParams::default(), &next)
            .await
            .unwrap();
    });
}

#[test]
fn a_write_without_changes_keeps_the_resource_version() {
    with_server(|_, client| async move {
        let api = config_maps(&client);
        let made = create_config_map(&api, "a", "1").await;
        let patch = Patch::Merge(json!({"data": {"k": "1"}}));
        let same = api
            .patch("a", &PatchParams::default(), &patch)
            .await
            .unwrap();
        assert_eq!(same, made);
    });
}

#[test]
fn a_dry_run_stores_nothing() {
    with_server(|_, client| async move {
        let api = config_maps(&client);
        let dry = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let shown = api.create(&dry, &config_map("a", "1")).await.unwrap();
        assert!(shown.metadata.uid.is_some() && shown.metadata.resource_version.is_none());
        assert!(api.get_opt("a").await.unwrap().is_none());
        create_config_map(&api, "a", "1").await;
        assert_eq!(
            error_status(api.create(&dry, &config_map("a", "1")).await).code,
            409
        );
        let patch = Patch::Merge(json!({"data": {"k": "2"}}));
        let params = PatchParams {
            dry_run: true,
            ..PatchParams::default()
        };
        let shown = api.patch("a", &params, &patch).await.unwrap();
        assert_eq!(shown.data.unwrap()["k"], "2");
        assert_eq!(api.get("a").await.unwrap().data.unwrap()["k"], "1");
    });
}

#[test]
fn concurrent_patches_are_all_applied() {
    with_server(|_, client| async move {
        let api = config_maps(&client);
        create_config_map(&api, "a", "1").await;
        let patches = (0..20).map(|i| {
            let api = api.clone();
            async move {
                let patch = Patch::Merge(json!({"data": {format!("k{i}"): "x"}}));
                api.patch("a", &PatchParams::default(), &patch)
                    .await
                    .unwrap();
            }
        });
        futures::future::join_all(patches).await;
        assert_eq!(api.get("a").await.unwrap().data.unwrap().len(), 21);
    });
}

#[test]
fn apply_merges_by_field_manager_and_reports_conflicts() {
    with_server(|_, client| async move {
        let api = config_maps(&client);
        let config = |data: Value| {
            Patch::Apply(json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data,
            }))
        };
        let one = PatchParams::apply("one");
        let two = PatchParams::apply("two");
        api.patch("a", &one, &config(json!({"x": "1", "y": "1"})))
            .await
            .unwrap();
        api.patch("a", &two, &config(json!({"z": "1"})))
            .await
            .unwrap();
        let conflict = error_status(api.patch("a", &two, &config(json!({"x": "2"}))).await);
        assert_eq!(conflict.code, 409);
        assert!(
            conflict.message.contains("conflict with \"one\": .data.x"),
            "{conflict:?}"
        );
        // Fields that their manager no longer applies are removed, and no others.
        let left = api
            .patch("a", &one, &config(json!({"x": "1"})))
            .await
            .unwrap();
        let left: Vec<String> = left.data.unwrap().into_keys().collect();
        assert_eq!(left, ["x", "z"]);
    });
}

#[test]
fn field_validation_ignores_warns_or_rejects() {
    with_server(|_, client| async move {
        let body = json!({"metadata": {"name": "a"}, "dat": {}});
        let path = "/api/v1/namespaces/test/configmaps?fieldValidation=";
        let strict =
            error_status(send(&client, "POST", &format!("{path}Strict"), body.clone()).await);
        assert_eq!(
            strict.message,
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown field \"dat\""
        );
        let made = send(&client, "POST", &format!("{path}Ignore"), body)
            .await
            .unwrap();
        assert!(made.get("dat").is_none());
    });
}

#[test]
fn malformed_bodies_are_rejected() {
    with_server(|_, client| async move {
        let path = "/api/v1/namespaces/test/configmaps";
        for body in [
            json!([]),
            json!("x"),
            json!({"kind": "Secret", "metadata": {"name": "a"}}),
        ] {
            assert_eq!(
                error_status(send(&client, "POST", path, body).await).code,
                400
            );
        }
        let text = send_as(&client, "POST", path, "text/html", json!({})).await;
        assert_eq!(error_status(text).code, 415);
        let huge = json!({"metadata": {"name": "a"}, "data": {"k": "x".repeat(4 << 20)}});
        assert_eq!(
            error_status(send(&client, "POST", path, huge).await).code,
            413
        );
        let other = json!({"metadata": {"name": "a", "namespace": "elsewhere"}});
        assert_eq!(
            error_status(send(&client, "POST", path, other).await).message,
            "the namespace of the provided object does not match the namespace sent on the request"
        );
    });
}

#[test]
fn equal_seeds_result_in_equal_objects() {
    let read = || {
        let runtime = kueue_lab_clock::virtual_runtime().unwrap();
        runtime.block_on(async {
            let client = server().client();
            namespace(&client, "test").await;
            for i in 0..5 {
                let body =
                    json!({"metadata": {"generateName": "x-"}, "data": {"i": i.to_string()}});
                send(&client, "POST", "/api/v1/namespaces/test/configmaps", body)
                    .await
                    .unwrap();
            }
            get(&client, "/api/v1/configmaps")
                .await
                .unwrap()
                .to_string()
        })
    };
    assert_eq!(read(), read());
}

#[tokio::test]
async fn the_server_runs_in_real_time() {
    let server = ApiServer::builder(Clock::real(), Entropy::from_os()).build();
    let list = get(&server.client(), "/api/v1/namespaces").await.unwrap();
    let names: Vec<&str> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["default", "kube-node-lease", "kube-public", "kube-system"]
    );
}

#[test]
fn requests_for_deprecated_kinds_are_answered_with_a_warning() {
    with_server(|_, client| async move {
        let warnings = async |method: &str, path: &str, body: Value| {
            let media_type = match method {
                "PATCH" => "application/merge-patch+json",
                _ => "application/json",
            };
            let request = http::Request::builder()
                .method(method)
                .uri(path)
                .header("content-type", media_type)
                .body(kube::client::Body::from(body.to_string().into_bytes()))
                .unwrap();
            let response = client.send(request).await.unwrap();
            let headers = response.headers().get_all("warning").iter();
            let texts = headers.map(|h| h.to_str().unwrap().to_string());
            (response.status().as_u16(), texts.collect::<Vec<_>>())
        };
        let all = "/api/v1/namespaces/test/endpoints";
        let one = "/api/v1/namespaces/test/endpoints/a";
        let object = json!({"metadata": {"name": "a"}});
        let text = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
        let expected = vec![format!("299 - \"{text}\"")];
        for (method, path, code) in [
            ("POST", all, 201),
            ("GET", all, 200),
            ("GET", one, 200),
            ("PUT", one, 200),
            ("PATCH", one, 200),
            ("DELETE", one, 200),
            ("GET", one, 404),
        ] {
            let answer = warnings(method, path, object.clone()).await;
            assert_eq!(answer, (code, expected.clone()), "{method} {path}");
        }
        let slices = "/apis/discovery.k8s.io/v1/namespaces/test/endpointslices";
        assert_eq!(warnings("GET", slices, Value::Null).await, (200, vec![]));
    });
}

#[test]
fn a_replacement_with_another_uid_conflicts() {
    with_server(|_, client| async move {
        let all = "/api/v1/namespaces/test/services";
        let service = json!({
            "metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}], "selector": {"a": "b"}},
        });
        let stored = send(&client, "POST", all, service).await.unwrap();
        let uid = stored["metadata"]["uid"].as_str().unwrap();
        let path = format!("{all}/a");
        let mut other = stored.clone();
        other["metadata"]["uid"] = json!("other");
        let message = |name: &str, precondition: &str, stored: &str| {
            format!(
                "Operation cannot be fulfilled on services {name:?}: StorageError: invalid object, \
                 Code: 4, Key: /registry/services/specs/test/{name}, ResourceVersion: 0, \
                 AdditionalErrorMsg: Precondition failed: UID in precondition: {precondition}, \
                 UID in object meta: {stored}"
            )
        };
        let put = |path: String, body: Value| {
            let client = client.clone();
            async move {
                let status = error_status(send(&client, "PUT", &path, body).await);
                (status.code, status.reason, status.message)
            }
        };
        let conflict = |message: String| (409, "Conflict".to_string(), message);
        assert_eq!(
            put(path.clone(), other.clone()).await,
            conflict(message("a", "other", uid))
        );
        assert_eq!(
            put(format!("{path}/status"), other).await,
            conflict(message("a", "other", uid))
        );
        // Without an object the UID in the object meta is empty.
        let mut absent = stored.clone();
        absent["metadata"]["name"] = json!("b");
        assert_eq!(
            put(format!("{all}/b"), absent).await,
            conflict(message("b", uid, ""))
        );
        send(&client, "PUT", &path, stored).await.unwrap();
    });
}

#[test]
fn an_object_above_the_limit_of_etcd_is_refused() {
    with_server(|_, client| async move {
        let map = |size: usize| json!({"metadata": {"name": "m"}, "data": {"k": "x".repeat(size)}});
        let path = "/api/v1/namespaces/test/configmaps";
        // The limit of ConfigMaps is smaller than that of etcd; annotations count to the latter.
        let refused = error_status(send(&client, "POST", path, map(1 << 20 | 1)).await);
        assert_eq!(refused.code, 422);
        let definition = json!({
            "metadata": {"name": "notes.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"plural": "notes", "kind": "Note"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                    "openAPIV3Schema": {"type": "object", "properties": {"text": {"type": "string"}}},
                }}],
            },
        });
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        send(&client, "POST", definitions, definition)
            .await
            .unwrap();
        let path = "/apis/example.com/v1/namespaces/test/notes";
        let note = |size: usize| {
            json!({"apiVersion": "example.com/v1", "kind": "Note", "metadata": {"name": "n"},
                "text": "x".repeat(size)})
        };
        let refused = error_status(send(&client, "POST", path, note(1_600_000)).await);
        assert_eq!(refused.code, 500);
        assert_eq!(refused.message, "etcdserver: request is too large");
        send(&client, "POST", path, note(1_500_000)).await.unwrap();
        let larger = json!({"text": "x".repeat(1_600_000)});
        let refused = error_status(merge_patch(&client, &format!("{path}/n"), larger).await);
        assert_eq!(refused.message, "etcdserver: request is too large");
    });
}

#[test]
fn events_expire_an_hour_after_their_last_write() {
    with_server(|_, client| async move {
        let path = "/api/v1/namespaces/test/events";
        let event = |name: &str| {
            json!({"metadata": {"name": name}, "reason": "R", "message": "m", "type": "Normal",
                "involvedObject": {"kind": "Pod", "namespace": "test", "name": "p"}})
        };
        let names = || {
            let client = client.clone();
            async move {
                let list = get(&client, path).await.unwrap();
                let items = list["items"].as_array().unwrap().clone();
                let name = |e: &Value| e["metadata"]["name"].as_str().unwrap().to_owned();
                items.iter().map(name).collect::<Vec<_>>()
            }
        };
        for name in ["a", "b"] {
            send(&client, "POST", path, event(name)).await.unwrap();
        }
        tokio::time::sleep(Duration::from_secs(40 * 60)).await;
        let counted = json!({"count": 2});
        merge_patch(&client, &format!("{path}/b"), counted)
            .await
            .unwrap();
        assert_eq!(names().await, ["a", "b"]);
        tokio::time::sleep(Duration::from_secs(30 * 60)).await;
        assert_eq!(names().await, ["b"]);
        tokio::time::sleep(Duration::from_secs(30 * 60)).await;
        let gone = error_status(get(&client, &format!("{path}/b")).await);
        assert_eq!(gone.code, 404);
    });
}
