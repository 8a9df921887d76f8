//! Kueue's visibility server (`visibility.kueue.x-k8s.io`) on the embedded cluster.

use serde_json::Value;

use kueue_lab_cluster::plugins::{AggregatedApi, AggregatedRequest, AggregatedResource, ApiError};
use kueue_lab_controller::{ControllerContext, visibility};

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

/// The visibility server of a controller.
pub(super) struct VisibilityServer {
    shared: ControllerContext,
}

impl VisibilityServer {
    pub(super) fn new(shared: &ControllerContext) -> Self {
        Self {
            shared: shared.clone(),
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
        ("kueue-system", "kueue-visibility-server")
    }

    fn resources(&self) -> &'static [AggregatedResource] {
        RESOURCES
    }

    fn get_subresource(&self, request: &AggregatedRequest<'_>) -> Result<Value, ApiError> {
        let limit = request.integer("limit")?;
        let page = visibility::bounded_limit_offset(limit, request.integer("offset")?);
        let engine = self.shared.engine();
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
