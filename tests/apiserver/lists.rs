//! Lists: selectors, pagination, resource versions, media types.

use std::time::Duration;

use http::Request;
use kube::api::ListParams;
use kueue_lab_apiserver::ApiServer;
use kueue_lab_apiserver::storage::StorageLimits;
use kueue_lab_clock::Entropy;
use kueue_lab_clock::{Clock, virtual_runtime};
use serde_json::{Value, json};

use super::server_fixture::*;

async fn names(client: &kube::Client, query: &str) -> Vec<String> {
    let list = get(client, &format!("/api/v1/namespaces/test/pods?{query}"))
        .await
        .unwrap();
    let items = list["items"].as_array().unwrap();
    items
        .iter()
        .map(|p| p["metadata"]["name"].as_str().unwrap().to_string())
        .collect()
}

#[test]
fn selectors_on_labels_and_fields() {
    with_server(|_, client| async move {
        for name in ["a", "b", "c"] {
            send(&client, "POST", "/api/v1/namespaces/test/pods", pod(name))
                .await
                .unwrap();
        }
        for (query, wanted) in [
            ("", &["a", "b", "c"][..]),
            ("labelSelector=app%20in%20(a,c)", &["a", "c"]),
            ("labelSelector=app%21%3Db", &["a", "c"]),
            ("fieldSelector=", &["a", "b", "c"]),
            ("fieldSelector=metadata.name%3Db", &["b"]),
            (
                "fieldSelector=status.phase%21%3DFailed,status.phase%21%3DTerminating",
                &["a", "b", "c"],
            ),
            ("fieldSelector=status.phase%21%3DPending", &[]),
            (
                "fieldSelector=spec.nodeName%3D&labelSelector=app%3Da",
                &["a"],
            ),
        ] {
            assert_eq!(names(&client, query).await, wanted, "{query}");
        }
        let path = "/api/v1/namespaces/test/pods?fieldSelector=spec.nope%3D1";
        let rejected = error_status(get(&client, path).await);
        assert_eq!(
            (rejected.code, rejected.message.as_str()),
            (400, "field label not supported: spec.nope")
        );
        let path = "/api/v1/namespaces/test/pods?labelSelector=a%20in%20b";
        assert_eq!(error_status(get(&client, path).await).code, 400);
    });
}

#[test]
fn pages_have_one_resource_version() {
    with_server(|_, client| async move {
        let api = config_maps(&client);
        for i in 0..5 {
            create_config_map(&api, &format!("m{i}"), "1").await;
        }
        let first = api.list(&ListParams::default().limit(2)).await.unwrap();
        assert_eq!(first.metadata.remaining_item_count, Some(3));
        let moment = first.metadata.resource_version.clone();
        api.delete("m3", &kube::api::DeleteParams::default())
            .await
            .unwrap();
        create_config_map(&api, "m31", "new").await;
        let mut seen: Vec<String> = first
            .items
            .iter()
            .map(|m| m.metadata.name.clone().unwrap())
            .collect();
        let mut token = first.metadata.continue_;
        let mut remaining = Vec::new();
        while let Some(next) = token.filter(|t| !t.is_empty()) {
            let page = api
                .list(&ListParams::default().limit(2).continue_token(&next))
                .await
                .unwrap();
            assert_eq!(page.metadata.resource_version, moment);
            seen.extend(page.items.iter().map(|m| m.metadata.name.clone().unwrap()));
            remaining.push(page.metadata.remaining_item_count);
            token = page.metadata.continue_;
        }
        assert_eq!(seen, ["m0", "m1", "m2", "m3", "m4"]);
        assert_eq!(remaining, [Some(1), None]);
    });
}

#[test]
fn an_expired_continue_token_offers_an_inconsistent_continuation() {
    virtual_runtime().unwrap().block_on(async {
        let limits = StorageLimits {
            max_events: 5,
            event_fresh_duration: Duration::ZERO,
            event_fresh_wall_duration: Duration::ZERO,
            ..StorageLimits::default()
        };
        let start = "2026-03-02T12:00:00Z".parse().unwrap();
        let builder = ApiServer::builder(Clock::starting_at(start), Entropy::seeded(1));
        let client = builder.limits(limits).build().client();
        namespace(&client, "test").await;
        let api = config_maps(&client);
        for i in 0..3 {
            create_config_map(&api, &format!("m{i}"), "1").await;
        }
        let page = api.list(&ListParams::default().limit(1)).await.unwrap();
        let token = page.metadata.continue_.unwrap();
        for i in 3..9 {
            create_config_map(&api, &format!("m{i}"), "1").await;
        }
        let expired = error_status(
            api.list(&ListParams::default().continue_token(&token))
                .await,
        );
        assert_eq!((expired.code, expired.reason.as_str()), (410, "Expired"));
        let token = expired.metadata.unwrap().continue_.unwrap();
        let rest = api
            .list(&ListParams::default().continue_token(&token))
            .await
            .unwrap();
        assert_eq!(rest.items.len(), 8);
        let bad = error_status(
            api.list(&ListParams::default().continue_token("nonsense!"))
                .await,
        );
        assert_eq!(bad.code, 400);
    });
}

#[test]
fn a_list_can_request_a_resource_version() {
    with_server(|_, client| async move {
        let api = config_maps(&client);
        let made = create_config_map(&api, "a", "1").await;
        let then = made.metadata.resource_version.unwrap();
        create_config_map(&api, "b", "1").await;
        let path = "/api/v1/namespaces/test/configmaps?resourceVersion=";
        let exact = format!("{path}{then}&resourceVersionMatch=Exact");
        let list = get(&client, &exact).await.unwrap();
        assert_eq!(list["items"].as_array().unwrap().len(), 1);
        assert_eq!(list["metadata"]["resourceVersion"], then.as_str());
        let newer = format!("{path}{then}&resourceVersionMatch=NotOlderThan");
        let list = get(&client, &newer).await.unwrap();
        assert_eq!(list["items"].as_array().unwrap().len(), 2);
        let future = error_status(get(&client, &format!("{path}999999")).await);
        assert_eq!((future.code, future.reason.as_str()), (504, "Timeout"));
        assert!(
            future
                .message
                .starts_with("Too large resource version: 999999")
        );
        let wrong = error_status(get(&client, &format!("{path}&resourceVersionMatch=Exact")).await);
        assert_eq!(wrong.code, 422);
        let garbage = error_status(get(&client, &format!("{path}many")).await);
        assert_eq!(garbage.code, 400);
    });
}

async fn list_as(client: &kube::Client, path: &str, accept: &str) -> Result<String, kube::Error> {
    let request = Request::get(path)
        .header("accept", accept)
        .body(Vec::new())
        .unwrap();
    client.request_text(request).await
}

#[test]
fn tables_partial_metadata_and_yaml() {
    with_server(|_, client| async move {
        let api = config_maps(&client);
        create_config_map(&api, "a", "1").await;
        let path = "/api/v1/namespaces/test/configmaps";
        let table = list_as(
            &client,
            path,
            "application/json;as=Table;v=v1;g=meta.k8s.io",
        )
        .await;
        let table: Value = serde_json::from_str(&table.unwrap()).unwrap();
        assert_eq!(table["kind"], "Table");
        let columns = table["columnDefinitions"].as_array().unwrap();
        let columns: Vec<&str> = columns
            .iter()
            .map(|c| c["name"].as_str().unwrap())
            .collect();
        assert_eq!(columns, ["Name", "Data", "Age"]);
        assert_eq!(table["rows"][0]["cells"], json!(["a", 1, "0s"]));
        assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
        let bare = format!("{path}?includeObject=None");
        let table = list_as(
            &client,
            &bare,
            "application/json;as=Table;v=v1;g=meta.k8s.io",
        )
        .await;
        let table: Value = serde_json::from_str(&table.unwrap()).unwrap();
        assert!(table["rows"][0]["object"].is_null());

        let view = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
        let list = list_as(&client, path, view).await.unwrap();
        let list: Value = serde_json::from_str(&list).unwrap();
        assert_eq!(list["kind"], "PartialObjectMetadataList");
        assert!(list["items"][0].get("data").is_none());

        let yaml = list_as(&client, path, "application/yaml").await.unwrap();
        assert!(yaml.contains("\nkind: ConfigMapList\n"), "{yaml}");
        let none = list_as(&client, path, "text/html").await;
        assert_eq!(error_status(none).code, 406);
    });
}

#[test]
fn events_of_both_groups_are_the_same_objects() {
    with_server(|_, client| async move {
        let event = json!({
            "metadata": {"name": "e"},
            "involvedObject": {"kind": "Pod", "name": "p", "namespace": "test"},
            "reason": "r", "message": "m", "type": "Normal",
        });
        send(&client, "POST", "/api/v1/namespaces/test/events", event)
            .await
            .unwrap();
        let path = "/apis/events.k8s.io/v1/namespaces/test/events";
        let list = get(&client, path).await.unwrap();
        let event = &list["items"][0];
        assert_eq!(
            (&event["note"], &event["regarding"]["name"]),
            (&json!("m"), &json!("p"))
        );
        let series = json!({"count": 2, "lastObservedTime": "2026-03-02T12:00:00.000000Z"});
        let patch = json!({"series": series});
        merge_patch(&client, &format!("{path}/e"), patch)
            .await
            .unwrap();
        let core = get(&client, "/api/v1/namespaces/test/events/e")
            .await
            .unwrap();
        assert_eq!(
            (&core["series"], &core["apiVersion"]),
            (&series, &json!("v1"))
        );
    });
}
