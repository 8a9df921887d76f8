//! In-process admission plugins: mutation, rejection, warnings.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apiserver::plugins::{
    AdmissionPlugin, AdmissionRequest, AdmissionWarnings, Operation,
};
use serde_json::{Value, json};

use super::server_fixture::*;

const MAPS: &str = "/api/v1/namespaces/test/configmaps";

/// Labels every ConfigMap, rejects those with `bad_value` in their data, and records the requests.
#[derive(Default)]
struct Plugin {
    seen: Mutex<Vec<String>>,
}

#[async_trait]
impl AdmissionPlugin for Plugin {
    fn handles(&self, group: &str, resource: &str, _subresource: &str) -> bool {
        group.is_empty() && resource == "configmaps"
    }

    async fn mutate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
    ) -> Result<AdmissionWarnings, ApiError> {
        let note = format!(
            "{:?} {} old={}",
            request.operation,
            request.name,
            request.old_object.is_some()
        );
        self.seen.lock().unwrap().push(note);
        object["metadata"]["labels"]["seen"] = "yes".into();
        Ok(AdmissionWarnings {
            warnings: vec!["look out".into()],
        })
    }

    async fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &Value,
    ) -> Result<AdmissionWarnings, ApiError> {
        if request.operation == Operation::Delete {
            assert!(object.is_null() && request.old_object.is_some());
            if request.name == "kept" {
                return Err(ApiError::forbidden(
                    "",
                    "configmaps",
                    request.name,
                    "kept for ever",
                ));
            }
        } else if object["data"]["k"] == "bad" {
            return Err(ApiError::forbidden(
                "",
                "configmaps",
                request.name,
                "bad data",
            ));
        }
        Ok(AdmissionWarnings::default())
    }
}

#[test]
fn plugins_mutate_and_reject() {
    with_server(|server, client| async move {
        let plugin = Arc::new(Plugin::default());
        server.add_admission(plugin.clone());
        let body = json!({"metadata": {"name": "a"}, "data": {"k": "good"}});
        let made = send(&client, "POST", MAPS, body).await.unwrap();
        assert_eq!(made["metadata"]["labels"]["seen"], "yes");
        let bad = json!({"data": {"k": "bad"}});
        let rejected = error_status(merge_patch(&client, &format!("{MAPS}/a"), bad).await);
        assert_eq!(
            (rejected.code, rejected.message.as_str()),
            (403, "configmaps \"a\" is forbidden: bad data")
        );
        assert_eq!(
            get(&client, &format!("{MAPS}/a")).await.unwrap()["data"]["k"],
            "good"
        );
        assert_eq!(
            *plugin.seen.lock().unwrap(),
            ["Create a old=false", "Update a old=true"]
        );

        send(&client, "POST", MAPS, json!({"metadata": {"name": "kept"}}))
            .await
            .unwrap();
        let kept =
            error_status(send(&client, "DELETE", &format!("{MAPS}/kept"), Value::Null).await);
        assert_eq!(kept.code, 403);
        send(&client, "DELETE", &format!("{MAPS}/a"), Value::Null)
            .await
            .unwrap();
        // Other kinds are not reviewed.
        send(&client, "POST", "/api/v1/namespaces/test/pods", pod("p"))
            .await
            .unwrap();
        assert_eq!(plugin.seen.lock().unwrap().len(), 3);
    });
}

/// Holds each Service in validation until a second one is there.
struct TwoServices(tokio::sync::Barrier);

#[async_trait]
impl AdmissionPlugin for TwoServices {
    fn handles(&self, group: &str, resource: &str, _subresource: &str) -> bool {
        group.is_empty() && resource == "services"
    }

    async fn validate(
        &self,
        _request: &AdmissionRequest<'_>,
        _object: &Value,
    ) -> Result<AdmissionWarnings, ApiError> {
        self.0.wait().await;
        Ok(AdmissionWarnings::default())
    }
}

#[test]
fn concurrent_services_do_not_get_the_same_node_port() {
    with_server(|server, client| async move {
        let barrier = tokio::sync::Barrier::new(2);
        server.add_admission(Arc::new(TwoServices(barrier)));
        let create = async |name: &str| {
            let service = json!({"metadata": {"name": name}, "spec": {
                "type": "NodePort", "ports": [{"port": 80, "nodePort": 30500}],
            }});
            let path = "/api/v1/namespaces/test/services";
            send(&client, "POST", path, service).await
        };
        let (a, b) = futures::join!(create("a"), create("b"));
        let refused: Vec<String> = [a, b]
            .into_iter()
            .filter_map(|result| result.err())
            .map(|error| error.to_string())
            .collect();
        let [error] = &refused[..] else {
            panic!("{refused:?}");
        };
        let expected =
            "spec.ports[0].nodePort: Invalid value: 30500: provided port is already allocated";
        assert!(error.contains(expected), "{error}");
    });
}

#[test]
fn warnings_are_sent_to_the_client() {
    with_server(|server, client| async move {
        server.add_admission(Arc::new(Plugin::default()));
        let body = json!({"metadata": {"name": "a"}}).to_string().into_bytes();
        let request = http::Request::post(MAPS)
            .header("content-type", "application/json")
            .body(kube::client::Body::from(body))
            .unwrap();
        let response = client.send(request).await.unwrap();
        let warnings: Vec<_> = response.headers().get_all("warning").iter().collect();
        assert_eq!(warnings, ["299 - \"look out\""]);
    });
}
