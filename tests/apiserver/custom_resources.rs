//! CustomResourceDefinitions: served versions, names, deletion.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use kueue_lab_apiserver::PreinstalledKind;
use kueue_lab_apiserver::registry::{CrdNames, CrdSpec, CrdSpecVersion, SchemaSource};
use serde_json::{Value, json};

use super::server_fixture::*;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const THINGS: &str = "/apis/x.dev/v1/namespaces/test/things";

fn crd(plural: &str, kind: &str, short: &str) -> Value {
    let schema = json!({"openAPIV3Schema": {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        },
    }});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.x.dev")},
        "spec": {
            "group": "x.dev",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "shortNames": [short]},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": schema,
                 "subresources": {"status": {}}},
                {"name": "v1alpha1", "served": true, "storage": false, "deprecated": true,
                 "schema": schema},
            ],
        },
    })
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let all = object["status"]["conditions"].as_array().unwrap();
    all.iter()
        .find(|c| c["type"] == kind)
        .unwrap_or(&Value::Null)
}

fn thing(name: &str) -> Value {
    json!({"apiVersion": "x.dev/v1", "kind": "Thing", "metadata": {"name": name}, "spec": {"a": 1}})
}

/// Deletes the definition of things.x.dev.
async fn delete_things(client: &Client) {
    let path = format!("{CRDS}/things.x.dev");
    send(client, "DELETE", &path, Value::Null).await.unwrap();
}

#[test]
fn a_custom_resource_is_served_in_all_versions() {
    with_server(|_, client| async move {
        assert_eq!(error_status(get(&client, THINGS).await).code, 404);
        send(&client, "POST", CRDS, crd("things", "Thing", "th"))
            .await
            .unwrap();
        let made = send(&client, "POST", THINGS, thing("a")).await.unwrap();
        assert_eq!(
            (&made["metadata"]["generation"], &made["kind"]),
            (&json!(1), &json!("Thing"))
        );
        let other = get(&client, &format!("{}/a", THINGS.replace("v1", "v1alpha1")))
            .await
            .unwrap();
        assert_eq!(
            (&other["apiVersion"], &other["spec"]),
            (&json!("x.dev/v1alpha1"), &json!({"a": 1}))
        );
        let definition = get(&client, &format!("{CRDS}/things.x.dev")).await.unwrap();
        assert_eq!(condition(&definition, "Established")["status"], "True");
        assert_eq!(definition["status"]["storedVersions"], json!(["v1"]));
        let groups = get(&client, "/apis").await.unwrap();
        let groups = groups["groups"].as_array().unwrap();
        let own = groups.iter().find(|g| g["name"] == "x.dev").unwrap();
        assert_eq!(own["preferredVersion"]["version"], "v1");
    });
}

#[test]
fn spec_and_status_of_a_custom_object_are_separate() {
    with_server(|_, client| async move {
        send(&client, "POST", CRDS, crd("things", "Thing", "th"))
            .await
            .unwrap();
        send(&client, "POST", THINGS, thing("a")).await.unwrap();
        let both = json!({
            "metadata": {"labels": {"x": "y"}}, "spec": {"a": 2}, "status": {"ready": true},
        });
        let status = merge_patch(&client, &format!("{THINGS}/a/status"), both.clone())
            .await
            .unwrap();
        assert_eq!(
            (&status["spec"]["a"], &status["status"]["ready"]),
            (&json!(1), &json!(true))
        );
        assert!(status["metadata"].get("labels").is_none());
        assert_eq!(status["metadata"]["generation"], 1);
        let main = merge_patch(&client, &format!("{THINGS}/a"), both)
            .await
            .unwrap();
        assert_eq!(
            (&main["spec"]["a"], &main["metadata"]["generation"]),
            (&json!(2), &json!(2))
        );
    });
}

#[test]
fn a_name_conflict_keeps_the_first_definition() {
    with_server(|_, client| async move {
        send(&client, "POST", CRDS, crd("things", "Thing", "th"))
            .await
            .unwrap();
        send(&client, "POST", CRDS, crd("others", "Thing", "th"))
            .await
            .unwrap();
        let other = get(&client, &format!("{CRDS}/others.x.dev")).await.unwrap();
        let names = condition(&other, "NamesAccepted");
        assert_eq!(
            (&names["status"], &names["reason"]),
            (&json!("False"), &json!("ShortNamesConflict"))
        );
        assert_eq!(condition(&other, "Established")["status"], "False");
        assert_eq!(
            error_status(get(&client, "/apis/x.dev/v1/others").await).code,
            404
        );
        // The names are free after the first definition is deleted.
        delete_things(&client).await;
        assert!(get(&client, "/apis/x.dev/v1/others").await.is_ok());
    });
}

#[test]
fn a_definition_terminates_after_instances_with_finalizers() {
    with_server(|_, client| async move {
        send(&client, "POST", CRDS, crd("things", "Thing", "th"))
            .await
            .unwrap();
        send(&client, "POST", THINGS, thing("free")).await.unwrap();
        let mut held = thing("held");
        held["metadata"]["finalizers"] = json!(["x.io/hold"]);
        send(&client, "POST", THINGS, held).await.unwrap();
        delete_things(&client).await;
        let waiting = get(&client, &format!("{CRDS}/things.x.dev")).await.unwrap();
        assert_eq!(
            condition(&waiting, "Terminating")["reason"],
            "InstanceDeletionInProgress"
        );
        let left = get(&client, THINGS).await.unwrap();
        assert_eq!(left["items"].as_array().unwrap().len(), 1);
        let late = error_status(send(&client, "POST", THINGS, thing("new")).await);
        assert_eq!(
            late.message,
            "things.x.dev \"new\" is forbidden: create not allowed while custom resource definition is terminating"
        );
        let free = json!({"metadata": {"finalizers": null}});
        // Discovery omits the kind, but finalizers can be removed.
        merge_patch(&client, &format!("{THINGS}/held"), free)
            .await
            .unwrap();
        assert_eq!(
            error_status(get(&client, &format!("{CRDS}/things.x.dev")).await).code,
            404
        );
        assert_eq!(error_status(get(&client, THINGS).await).code, 404);
    });
}

#[test]
fn watches_end_when_their_definition_is_deleted() {
    with_server(|_, client| async move {
        send(&client, "POST", CRDS, crd("things", "Thing", "th"))
            .await
            .unwrap();
        let path = "/apis/x.dev/v1/things?watch=1";
        let watching = {
            let client = client.clone();
            tokio::spawn(async move {
                client
                    .request_text(http::Request::get(path).body(Vec::new()).unwrap())
                    .await
            })
        };
        tokio::task::yield_now().await;
        send(&client, "POST", THINGS, thing("a")).await.unwrap();
        delete_things(&client).await;
        let text = watching.await.unwrap().unwrap();
        let kinds: Vec<Value> = text
            .lines()
            .map(|l| serde_json::from_str::<Value>(l).unwrap()["type"].clone())
            .collect();
        assert_eq!(kinds, ["ADDED", "DELETED"]);
    });
}

#[test]
fn an_installed_kind_is_created_on_first_read() {
    with_server(|server, client| async move {
        let made = Arc::new(AtomicUsize::new(0));
        let counter = made.clone();
        let whole = crd("things", "Thing", "th");
        let schema = whole["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
        let definition = CrdSpec {
            name: "things.x.dev".into(),
            group: "x.dev".into(),
            names: CrdNames {
                plural: "things".into(),
                singular: "thing".into(),
                kind: "Thing".into(),
                list_kind: "ThingList".into(),
                short_names: vec!["th".into()],
                categories: Vec::new(),
            },
            namespaced: true,
            versions: vec![CrdSpecVersion {
                name: "v1".into(),
                served: true,
                storage: true,
                deprecation_warning: None,
                status_subresource: true,
                scale_subresource: None,
                additional_printer_columns: Vec::new(),
                selectable_fields: Vec::new(),
                schema: SchemaSource::new(move || schema.clone()),
            }],
        };
        let object = move |_: &str| {
            counter.fetch_add(1, Ordering::Relaxed);
            whole.clone()
        };
        server.install_crds([PreinstalledKind {
            definition,
            object: Box::new(object),
            replaceable: false,
        }]);
        get(&client, "/apis").await.unwrap();
        send(&client, "POST", THINGS, thing("a")).await.unwrap();
        assert_eq!(made.load(Ordering::Relaxed), 0);
        let definition = get(&client, &format!("{CRDS}/things.x.dev")).await.unwrap();
        assert_eq!(condition(&definition, "Established")["status"], "True");
        assert_eq!(definition["spec"]["group"], "x.dev");
        assert_eq!(made.load(Ordering::Relaxed), 1);
    });
}

/// Preinstalls things.x.dev as a definition that others replace.
fn install_replaceable(server: &kueue_lab_apiserver::ApiServer) {
    let whole = crd("things", "Thing", "th");
    let schema = whole["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
    let schema = move |_| {
        let schema = schema.clone();
        SchemaSource::new(move || schema.clone())
    };
    let definition = CrdSpec::from_object(&whole, schema);
    server.install_crds([PreinstalledKind {
        definition,
        object: Box::new(move |_| whole.clone()),
        replaceable: true,
    }]);
}

#[test]
fn a_created_or_applied_definition_replaces_a_preinstalled_one() {
    for apply in [false, true] {
        with_server(|server, client| async move {
            install_replaceable(&server);
            send(&client, "POST", THINGS, thing("a")).await.unwrap();
            let path = format!("{CRDS}/things.x.dev");
            let before = get(&client, &path).await.unwrap();
            let mut own = crd("things", "Thing", "own");
            let version = &mut own["spec"]["versions"][0];
            version["additionalPrinterColumns"] =
                json!([{"name": "A", "type": "integer", "jsonPath": ".spec.a"}]);
            if apply {
                let parameters = PatchParams::apply("kubectl");
                let api: Api<CustomResourceDefinition> = Api::all(client.clone());
                let patch = Patch::Apply(&own);
                api.patch("things.x.dev", &parameters, &patch)
                    .await
                    .unwrap();
            } else {
                send(&client, "POST", CRDS, own.clone()).await.unwrap();
            }
            let after = get(&client, &path).await.unwrap();
            assert_ne!(before["metadata"]["uid"], after["metadata"]["uid"]);
            assert_eq!(after["spec"]["names"]["shortNames"], json!(["own"]));
            assert_eq!(condition(&after, "Established")["status"], "True");
            get(&client, &format!("{THINGS}/a")).await.unwrap();
            let again = send(&client, "POST", CRDS, own).await;
            assert_eq!(error_status(again).reason, "AlreadyExists");
        });
    }
}
