//! Extension API servers: discovery, authorization, requests, APIServices.

use std::sync::Arc;

use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apiserver::plugins::{AggregatedApi, AggregatedRequest, AggregatedResource};
use serde_json::{Value, json};

use super::server_fixture::*;

const BASE: &str = "/apis/metrics.example.com/v1";

#[derive(Debug)]
struct Metrics;

impl AggregatedApi for Metrics {
    fn group(&self) -> &'static str {
        "metrics.example.com"
    }

    fn versions(&self) -> &'static [&'static str] {
        &["v1", "v1beta1"]
    }

    fn service(&self) -> (&'static str, &'static str) {
        ("test", "metrics")
    }

    fn resources(&self) -> &'static [AggregatedResource] {
        &[
            AggregatedResource {
                kind: "Usage",
                plural: "nodes",
                singular: "node",
                namespaced: false,
                subresource: ("usage", "Usage"),
            },
            AggregatedResource {
                kind: "Usage",
                plural: "pods",
                singular: "pod",
                namespaced: true,
                subresource: ("usage", "Usage"),
            },
        ]
    }

    fn get_subresource(&self, request: &AggregatedRequest<'_>) -> Result<Value, ApiError> {
        if request.name == "missing" {
            let (group, resource) = (self.group(), request.resource);
            return Err(ApiError::not_found(group, resource, request.name));
        }
        let limit = request.integer("limit")?;
        Ok(json!({"of": [request.resource, request.namespace, request.name], "limit": limit}))
    }
}

#[test]
fn subresources_are_served_in_each_version() {
    with_server(|server, client| async move {
        server.add_aggregated_api(&(Arc::new(Metrics) as Arc<dyn AggregatedApi>));
        let get = async |path: String| get(&client, &path).await;
        let found = get(format!("{BASE}/nodes/n1/usage?limit=3")).await.unwrap();
        assert_eq!(
            found,
            json!({"kind": "Usage", "apiVersion": "metrics.example.com/v1", "of": ["nodes", "", "n1"], "limit": 3})
        );
        let old = "/apis/metrics.example.com/v1beta1/namespaces/test/pods/p/usage";
        let found = get(old.to_owned()).await.unwrap();
        assert_eq!(found["apiVersion"], "metrics.example.com/v1beta1");
        assert_eq!(found["of"], json!(["pods", "test", "p"]));
        let missing = error_status(get(format!("{BASE}/nodes/missing/usage")).await);
        assert_eq!(
            missing.message,
            "nodes.metrics.example.com \"missing\" not found"
        );
        for (limit, problem) in [
            ("a", "invalid syntax"),
            ("99999999999999999999", "value out of range"),
        ] {
            let refused = get(format!("{BASE}/nodes/n1/usage?limit={limit}")).await;
            let text = format!("strconv.ParseInt: parsing \"{limit}\": {problem}");
            assert_eq!(error_status(refused).message, text);
        }
        // The resource itself has no verbs, and the subresource only `get`.
        assert_eq!(error_status(get(format!("{BASE}/nodes")).await).code, 404);
        let path = format!("{BASE}/nodes/n1/usage");
        let refused = error_status(send(&client, "PUT", &path, json!({})).await);
        assert_eq!(refused.code, 405);
    });
}

#[test]
fn discovery_lists_the_group_last_and_its_api_services() {
    with_server(|server, client| async move {
        server.add_aggregated_api(&(Arc::new(Metrics) as Arc<dyn AggregatedApi>));
        let get = async |path: &str| get(&client, path).await;
        let groups = get("/apis").await.unwrap();
        let last = groups["groups"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["name"], "metrics.example.com");
        assert_eq!(last["preferredVersion"]["version"], "v1");
        let list = get(BASE).await.unwrap();
        let verbs = |name: &str| {
            let all = list["resources"].as_array().unwrap();
            let found = all.iter().find(|r| r["name"] == name).unwrap();
            found["verbs"].clone()
        };
        assert_eq!(
            (verbs("nodes"), verbs("pods/usage")),
            (json!([]), json!(["get"]))
        );
        let path = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.example.com";
        let service = get(path).await.unwrap();
        assert_eq!(service["spec"]["service"]["name"], "metrics");
        assert_eq!(service["status"]["conditions"][0]["reason"], "Passed");
    });
}
