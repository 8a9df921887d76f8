//! The explanations of the engine that decides: [`ControllerExplainer`] gives them, [`ExplanationServer`] serves them as an
//! API of the embedded cluster. On existing clusters the crate `manager` serves them.

use kube::ResourceExt;
use serde_json::Value;

use crate::kueue_manager::{CurrentController, EXPLANATION_SERVICE};
use kueue_lab_api::explanation::{GROUP, KIND, SUBRESOURCE, VERSION};
use kueue_lab_cluster::plugins::{AggregatedApi, AggregatedRequest, AggregatedResource, ApiError};
use kueue_lab_controller::Controller;
use kueue_lab_engine::engine::ClusterQueueExplanation;
use kueue_lab_engine::workload::WorkloadKey;
use kueue_lab_manager::Explainer;
use kueue_lab_simulation::simulate::{ExplainedWorkload, PriorityClass, explain_workload};

const RESOURCES: &[AggregatedResource] = &[
    AggregatedResource {
        kind: "Workload",
        plural: "workloads",
        singular: "workload",
        namespaced: true,
        subresource: (SUBRESOURCE, KIND),
    },
    AggregatedResource {
        kind: "ClusterQueue",
        plural: "clusterqueues",
        singular: "clusterqueue",
        namespaced: false,
        subresource: (SUBRESOURCE, KIND),
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
fn explain_live_cluster_queue(
    controller: &Controller,
    name: &str,
) -> Option<ClusterQueueExplanation> {
    let shared = controller.shared();
    shared.engine().explain_cluster_queue(name, shared.now())
}

/// Explains by the engine of a controller, with the changes that admit a Workload.
#[derive(Clone, Copy, Debug, Default)]
pub struct ControllerExplainer;

impl Explainer for ControllerExplainer {
    fn workload(
        &self,
        controller: &Controller,
        namespace: &str,
        name: &str,
    ) -> serde_json::Result<Option<Value>> {
        let explained = explain_live_workload(controller, &WorkloadKey::new(namespace, name));
        explained.map(serde_json::to_value).transpose()
    }

    fn cluster_queue(
        &self,
        controller: &Controller,
        name: &str,
    ) -> serde_json::Result<Option<Value>> {
        let explained = explain_live_cluster_queue(controller, name);
        explained.map(serde_json::to_value).transpose()
    }
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
        GROUP
    }

    fn versions(&self) -> &'static [&'static str] {
        &[VERSION]
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
                ControllerExplainer.workload(&controller, request.namespace, request.name)
            }
            _ => ControllerExplainer.cluster_queue(&controller, request.name),
        };
        let explained = explained.map_err(|e| ApiError::internal(e.to_string()))?;
        explained.ok_or_else(|| ApiError::not_found(GROUP, request.resource, request.name))
    }
}
