//! [`ExplanationServer`]: the explanations of the engine that decides, as an API of the embedded cluster.

use kube::ResourceExt;
use serde_json::Value;

use crate::kueue_manager::{CurrentController, EXPLANATION_SERVICE};
use kueue_lab_cluster::plugins::{AggregatedApi, AggregatedRequest, AggregatedResource, ApiError};
use kueue_lab_controller::Controller;
use kueue_lab_engine::engine::ClusterQueueExplanation;
use kueue_lab_engine::workload::WorkloadKey;
use kueue_lab_simulation::simulate::{ExplainedWorkload, PriorityClass, explain_workload};

/// The API group of explanations.
pub const EXPLANATION_GROUP: &str = "explanation.kueue-lab.dev";
/// Its version.
pub const EXPLANATION_VERSION: &str = "v1alpha1";
/// The subresource of Workloads and ClusterQueues that explains them.
const SUBRESOURCE: (&str, &str) = ("explanation", "Explanation");
const RESOURCES: &[AggregatedResource] = &[
    AggregatedResource {
        kind: "Workload",
        plural: "workloads",
        singular: "workload",
        namespaced: true,
        subresource: SUBRESOURCE,
    },
    AggregatedResource {
        kind: "ClusterQueue",
        plural: "clusterqueues",
        singular: "clusterqueue",
        namespaced: false,
        subresource: SUBRESOURCE,
    },
];

/// Explains a Workload by a copy of the engine of a controller, with the changes that admit it. `None` if the
/// controller does not have the Workload.
pub fn explain_live_workload(
    controller: &Controller,
    key: &WorkloadKey,
) -> Option<ExplainedWorkload> {
    let shared = controller.shared();
    let classes = shared.informers.workload_priority_classes.list();
    let classes = classes.into_iter().map(|class| PriorityClass {
        name: class.name_any(),
        value: class.value,
    });
    let classes: Vec<PriorityClass> = classes.collect();
    // The search for changes must not block the controller.
    let mut engine = shared.engine().clone();
    explain_workload(&mut engine, &classes, key, shared.now())
}

/// Explains a ClusterQueue by the engine of a controller. `None` if the controller does not have it.
pub fn explain_live_cluster_queue(
    controller: &Controller,
    name: &str,
) -> Option<ClusterQueueExplanation> {
    let shared = controller.shared();
    shared.engine().explain_cluster_queue(name, shared.now())
}

/// Serves the explanations of the current controller.
pub(super) struct ExplanationServer {
    controller: CurrentController,
}

impl ExplanationServer {
    pub(super) fn new(controller: &CurrentController) -> Self {
        Self {
            controller: controller.clone(),
        }
    }
}

impl std::fmt::Debug for ExplanationServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ExplanationServer")
    }
}

impl AggregatedApi for ExplanationServer {
    fn group(&self) -> &'static str {
        EXPLANATION_GROUP
    }

    fn versions(&self) -> &'static [&'static str] {
        &[EXPLANATION_VERSION]
    }

    fn service(&self) -> (&'static str, &'static str) {
        EXPLANATION_SERVICE
    }

    fn resources(&self) -> &'static [AggregatedResource] {
        RESOURCES
    }

    fn get_subresource(&self, request: &AggregatedRequest<'_>) -> Result<Value, ApiError> {
        let controller = self.controller.get();
        let explained = match request.resource {
            "workloads" => {
                let key = WorkloadKey::new(request.namespace, request.name);
                explain_live_workload(&controller, &key).map(serde_json::to_value)
            }
            _ => explain_live_cluster_queue(&controller, request.name).map(serde_json::to_value),
        };
        let not_found = || ApiError::not_found(EXPLANATION_GROUP, request.resource, request.name);
        let explained = explained.ok_or_else(not_found)?;
        explained.map_err(|e| ApiError::internal(e.to_string()))
    }
}
