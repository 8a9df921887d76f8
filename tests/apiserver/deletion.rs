//! Deletion: finalizers, grace periods, propagation, preconditions, namespaces.

use kube::api::{DeleteParams, ListParams, Preconditions, PropagationPolicy};
use serde_json::{Value, json};

use super::server_fixture::*;

const MAPS: &str = "/api/v1/namespaces/test/configmaps";
const PODS: &str = "/api/v1/namespaces/test/pods";

#[test]
fn finalizers_delay_deletion() {
    with_server(|_, client| async move {
        let body = json!({"metadata": {"name": "a", "finalizers": ["x.io/hold"]}});
        send(&client, "POST", MAPS, body).await.unwrap();
        let path = format!("{MAPS}/a");
        let terminating = send(&client, "DELETE", &path, Value::Null).await.unwrap();
        assert_eq!(
            terminating["metadata"]["deletionTimestamp"],
            "2026-03-02T12:00:00Z"
        );
        assert_eq!(terminating["metadata"]["deletionGracePeriodSeconds"], 0);
        // The object can be modified, but the deletion cannot be undone.
        let patch = json!({"metadata": {"deletionTimestamp": null}, "data": {"k": "2"}});
        let still = merge_patch(&client, &path, patch).await.unwrap();
        assert!(still["metadata"]["deletionTimestamp"].is_string());
        let taken =
            error_status(send(&client, "POST", MAPS, json!({"metadata": {"name": "a"}})).await);
        assert_eq!(
            taken.message,
            "object is being deleted: configmaps \"a\" already exists"
        );
        let last = merge_patch(&client, &path, json!({"metadata": {"finalizers": null}}))
            .await
            .unwrap();
        assert_eq!(last["data"]["k"], "2");
        assert_eq!(error_status(get(&client, &path).await).code, 404);
    });
}

#[test]
fn propagation_policies_set_finalizers() {
    with_server(|_, client| async move {
        let api = config_maps(&client);
        for (policy, finalizer) in [
            (PropagationPolicy::Foreground, "foregroundDeletion"),
            (PropagationPolicy::Orphan, "orphan"),
        ] {
            let name = finalizer.to_lowercase();
            create_config_map(&api, &name, "1").await;
            let params = DeleteParams {
                propagation_policy: Some(policy),
                ..DeleteParams::default()
            };
            let terminating = api.delete(&name, &params).await.unwrap().left().unwrap();
            assert_eq!(
                terminating.metadata.finalizers,
                Some(vec![finalizer.to_string()])
            );
        }
        let wrong = json!({"propagationPolicy": "Sideways"});
        let rejected =
            error_status(send(&client, "DELETE", &format!("{MAPS}/orphan"), wrong).await);
        assert_eq!(rejected.code, 422);
        let both = json!({"propagationPolicy": "Orphan", "orphanDependents": true});
        assert_eq!(
            error_status(send(&client, "DELETE", &format!("{MAPS}/orphan"), both).await).code,
            422
        );
    });
}

#[test]
fn preconditions_protect_an_object_of_the_same_name() {
    with_server(|_, client| async move {
        let api = config_maps(&client);
        create_config_map(&api, "a", "1").await;
        let wrong = Preconditions {
            uid: Some("other".into()),
            resource_version: None,
        };
        let params = DeleteParams {
            preconditions: Some(wrong),
            ..DeleteParams::default()
        };
        let rejected = error_status(api.delete("a", &params).await.map(|_| ()));
        assert_eq!(rejected.code, 409);
        assert!(
            rejected
                .message
                .contains("the UID in the precondition (other) does not match")
        );
        assert!(api.get("a").await.is_ok());
    });
}

#[test]
fn bound_pods_get_their_grace_period() {
    with_server(|_, client| async move {
        send(&client, "POST", PODS, pod("p")).await.unwrap();
        let bind = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
        send(&client, "POST", &format!("{PODS}/p/binding"), bind)
            .await
            .unwrap();
        let path = format!("{PODS}/p");
        let going = send(&client, "DELETE", &path, Value::Null).await.unwrap();
        assert_eq!(going["metadata"]["deletionGracePeriodSeconds"], 30);
        assert_eq!(
            going["metadata"]["deletionTimestamp"],
            "2026-03-02T12:00:30Z"
        );
        // A longer grace period is ignored, a shorter one is applied.
        let longer = send(&client, "DELETE", &path, json!({"gracePeriodSeconds": 60}))
            .await
            .unwrap();
        assert_eq!(longer["metadata"]["deletionGracePeriodSeconds"], 30);
        let shorter = send(&client, "DELETE", &path, json!({"gracePeriodSeconds": 5}))
            .await
            .unwrap();
        assert_eq!(
            shorter["metadata"]["deletionTimestamp"],
            "2026-03-02T12:00:05Z"
        );
        // As a query parameter, as SkyPilot sends it.
        send(
            &client,
            "DELETE",
            &format!("{path}?gracePeriodSeconds=0"),
            Value::Null,
        )
        .await
        .unwrap();
        assert_eq!(error_status(get(&client, &path).await).code, 404);
    });
}

#[test]
fn a_pod_is_terminating_before_it_is_deleted() {
    with_server(|_, client| async move {
        let made = send(&client, "POST", PODS, pod("p")).await.unwrap();
        let version = made["metadata"]["resourceVersion"].as_str().unwrap();
        send(&client, "DELETE", &format!("{PODS}/p"), Value::Null)
            .await
            .unwrap();
        let watch = format!("{PODS}?watch=1&timeoutSeconds=1&resourceVersion={version}");
        let request = http::Request::get(watch).body(Vec::new()).unwrap();
        let text = client.request_text(request).await.unwrap();
        let events: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let kinds: Vec<_> = events.iter().map(|e| &e["type"]).collect();
        assert_eq!(kinds, ["MODIFIED", "DELETED"]);
        assert_eq!(
            events[0]["object"]["metadata"]["deletionGracePeriodSeconds"],
            0
        );
    });
}

#[test]
fn unscheduled_pods_are_deleted_at_once() {
    with_server(|_, client| async move {
        send(&client, "POST", PODS, pod("p")).await.unwrap();
        let gone = send(&client, "DELETE", &format!("{PODS}/p"), Value::Null)
            .await
            .unwrap();
        assert_eq!(gone["kind"], "Pod");
        assert_eq!(
            error_status(get(&client, &format!("{PODS}/p")).await).code,
            404
        );
    });
}

#[test]
fn delete_collection_applies_selectors() {
    with_server(|_, client| async move {
        let api = config_maps(&client);
        for name in ["a", "b", "c"] {
            create_config_map(&api, name, "1").await;
        }
        let params = ListParams::default().fields("metadata.name!=b");
        api.delete_collection(&DeleteParams::default(), &params)
            .await
            .unwrap();
        let left = api.list(&ListParams::default()).await.unwrap();
        assert_eq!(left.items.len(), 1);
    });
}

#[test]
fn a_namespace_is_deleted_after_it_is_finalized() {
    with_server(|_, client| async move {
        let path = "/api/v1/namespaces/test";
        let going = send(&client, "DELETE", path, Value::Null).await.unwrap();
        assert_eq!(going["status"]["phase"], "Terminating");
        let again = send(&client, "DELETE", path, Value::Null).await.unwrap();
        assert_eq!(
            again["metadata"]["resourceVersion"],
            going["metadata"]["resourceVersion"]
        );
        let body = json!({"metadata": {"name": "test"}, "spec": {"finalizers": []}});
        send(&client, "PUT", &format!("{path}/finalize"), body)
            .await
            .unwrap();
        assert_eq!(error_status(get(&client, path).await).code, 404);
    });
}
