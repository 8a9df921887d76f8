//! Kueue's visibility server (`visibility.kueue.x-k8s.io`) on the embedded cluster.

use serde_json::Value;

use crate::kueue_manager::{CurrentController, VISIBILITY_SERVICE};
use kueue_lab_api::config::Feature;
use kueue_lab_cluster::plugins::StatusReason;
use kueue_lab_cluster::plugins::{AggregatedApi, AggregatedRequest, AggregatedResource, ApiError};
use kueue_lab_controller::visibility;

const SUBRESOURCE: (&str, &str) = ("pendingworkloads", "PendingWorkloadsSummary");
const RESOURCES: &[AggregatedResource] = &[
    AggregatedResource {
        kind: "PendingWorkloadsSummary",
        plural: "clusterqueues",
        singular: "clusterqueue",
        namespaced: false,
        subresource: SUBRESOURCE,
    },
    AggregatedResource {
        kind: "PendingWorkloadsSummary",
        plural: "localqueues",
        singular: "localqueue",
        namespaced: true,
        subresource: SUBRESOURCE,
    },
];

/// The visibility server of the current controller.
pub(super) struct VisibilityServer {
    controller: CurrentController,
}

impl VisibilityServer {
    pub(super) fn new(controller: &CurrentController) -> Self {
        Self {
            controller: controller.clone(),
        }
    }
}

impl std::fmt::Debug for VisibilityServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("VisibilityServer")
    }
}

impl AggregatedApi for VisibilityServer {
    fn group(&self) -> &'static str {
        visibility::GROUP
    }

    fn versions(&self) -> &'static [&'static str] {
        visibility::VERSIONS
    }

    fn service(&self) -> (&'static str, &'static str) {
        VISIBILITY_SERVICE
    }

    fn resources(&self) -> &'static [AggregatedResource] {
        RESOURCES
    }

    fn get_subresource(&self, request: &AggregatedRequest<'_>) -> Result<Value, ApiError> {
        let limit = request.integer("limit")?;
        let page = visibility::bounded_limit_offset(limit, request.integer("offset")?);
        let controller = self.controller.get();
        let shared = controller.shared();
        if !shared.settings.enabled(Feature::VisibilityOnDemand) {
            return Err(unavailable());
        }
        let engine = shared.engine();
        let (singular, found) = match request.resource {
            "clusterqueues" => (
                "clusterqueue",
                visibility::pending_workloads_in_cluster_queue(&engine, request.name, page),
            ),
            _ => (
                "localqueue",
                visibility::pending_workloads_in_local_queue(
                    &engine,
                    request.namespace,
                    request.name,
                    page,
                ),
            ),
        };
        let found =
            found.ok_or_else(|| ApiError::not_found(visibility::GROUP, singular, request.name))?;
        drop(engine);
        serde_json::to_value(found).map_err(|e| ApiError::internal(e.to_string()))
    }
}

/// The response without the visibility server.
fn unavailable() -> ApiError {
    let message = "the visibility server is off: feature gate VisibilityOnDemand is false";
    ApiError::new(503, StatusReason::ServiceUnavailable, message)
}
