//! Registers an extension API server of the same process.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::api_server::ApiServer;
use crate::bootstrap::create_api_services;
use crate::plugins::{AggregatedApi, AggregatedResource};
use kueue_lab_apimachinery::strategy::api_resource::{ApiResource, Subresource};
use kueue_lab_apimachinery::strategy::rest_strategy::Strategy;
use kueue_lab_apimachinery::strategy::table_column::TableColumn;

/// The strategy of resources that another server stores.
struct AggregatedStrategy;

impl Strategy for AggregatedStrategy {
    fn table_columns(&self) -> Vec<TableColumn> {
        Vec::new()
    }

    fn table_cells(&self, _object: &Value, _now: Timestamp) -> Vec<Value> {
        Vec::new()
    }
}

impl ApiServer {
    /// Serves the resources of an extension API server, with an APIService for each version.
    pub fn add_aggregated_api(&self, api: &Arc<dyn AggregatedApi>) {
        let resources = api.versions().iter().flat_map(|version| {
            let resources = api.resources().iter();
            resources.map(|resource| api_resource(api.group(), version, resource))
        });
        self.core
            .registry
            .serve_aggregated(resources.collect(), api);
        create_api_services(&self.core, api.as_ref());
    }
}

fn api_resource(group: &str, version: &str, resource: &AggregatedResource) -> ApiResource {
    let (name, kind) = resource.subresource;
    ApiResource {
        group: group.into(),
        version: version.into(),
        kind: resource.kind.into(),
        list_kind: format!("{}List", resource.kind).into(),
        plural: resource.plural.into(),
        singular: resource.singular.into(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: resource.namespaced,
        verbs: Vec::new(),
        subresources: vec![Subresource {
            name,
            group: "".into(),
            version: "".into(),
            kind: kind.into(),
            verbs: &["get"],
        }],
        storage_group: group.into(),
        storage_version: version.into(),
        storage_version_hash: String::new(),
        schema: None,
        strategy: Arc::new(AggregatedStrategy),
    }
}
