//! The requests of one launch: create, list and tear down.

use futures::future::join_all;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt};
use kueue_lab_controller_runtime::Api;
use kueue_lab_controller_runtime::api_errors::ignore_not_found;
use serde_json::{Value, json};

use crate::{ClusterPlan, NodeInfo};

/// Why a launch failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProvisionError {
    /// A request failed.
    #[error("{0}")]
    Api(#[from] kube::Error),
    /// The Pods were lost or timed out.
    #[error("{0}")]
    PodsLost(String),
}

/// Lists the cluster's nodes.
pub(crate) async fn nodes(client: &Client) -> Result<Vec<NodeInfo>, kube::Error> {
    let list = Api::<Node>::all(client.clone())
        .list(&ListParams::default())
        .await?;
    Ok(list.items.iter().map(NodeInfo::from_node).collect())
}

/// The objects of one SkyPilot cluster.
pub(crate) struct ClusterClient<'a> {
    pub(crate) client: &'a Client,
    pub(crate) namespace: &'a str,
    pub(crate) cluster: &'a str,
}

impl ClusterClient<'_> {
    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), self.namespace)
    }

    fn list_params(&self) -> ListParams {
        ListParams::default().labels(&format!("skypilot-cluster-name={}", self.cluster))
    }

    /// Lists the Pods in any state, by name.
    pub(crate) async fn list(&self) -> Result<Vec<Pod>, kube::Error> {
        let mut pods = self.pods().list(&self.list_params()).await?.items;
        pods.sort_by_key(ResourceExt::name_any);
        Ok(pods)
    }

    /// Creates the missing shared objects and services, and then the Pods.
    pub(crate) async fn create(&self, plan: &ClusterPlan) -> Result<(), ProvisionError> {
        for object in plan.services.iter().chain(&plan.shared_objects) {
            match self.create_object(object).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                other => other?,
            }
        }
        self.delete_ended_pods().await?;
        let created = join_all(plan.pods.iter().map(|pod| self.create_pod(pod))).await;
        created.into_iter().collect::<Result<Vec<()>, _>>()?;
        Ok(())
    }

    /// Deletes the terminated Pods of an earlier attempt.
    async fn delete_ended_pods(&self) -> Result<(), kube::Error> {
        for pod in self.list().await? {
            if !pod.is_terminating() && pod.has_ended() {
                self.delete_pod(&pod.name_any()).await?;
            }
        }
        Ok(())
    }

    /// Creates a Pod. If a Pod of the same name is still being deleted, removes its finalizers, force
    /// deletes it and creates the Pod again, as SkyPilot does for Kueue's finalizer.
    async fn create_pod(&self, pod: &Value) -> Result<(), ProvisionError> {
        match self.create_object(pod).await {
            Err(kube::Error::Api(status))
                if status.code == 409 && status.message.contains("object is being deleted") =>
            {
                let name = pod["metadata"]["name"].as_str().unwrap_or_default();
                let bare: json_patch::Patch = serde_json::from_value(
                    json!([{"op": "replace", "path": "/metadata/finalizers", "value": []}]),
                )
                .map_err(kube::Error::SerdeError)?;
                let patch = Patch::Json::<()>(bare);
                // The old Pod may be deleted concurrently, or have no finalizer.
                let _ = self
                    .pods()
                    .patch(name, &PatchParams::default(), &patch)
                    .await;
                self.delete_pod(name).await?;
                Ok(self.create_object(pod).await?)
            }
            other => Ok(other?),
        }
    }

    async fn create_object(&self, object: &Value) -> Result<(), kube::Error> {
        let text = |path: &str| {
            object
                .pointer(path)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (group, version) = match text("/apiVersion").split_once('/') {
            Some((group, version)) => (group, version),
            None => ("", text("/apiVersion")),
        };
        let gvk = GroupVersionKind::gvk(group, version, text("/kind"));
        let resource = ApiResource::from_gvk(&gvk);
        let api: Api<DynamicObject> = match object.pointer("/metadata/namespace") {
            Some(_) => {
                let namespace = text("/metadata/namespace");
                Api::namespaced_with(self.client.clone(), namespace, &resource)
            }
            None => Api::all_with(self.client.clone(), &resource),
        };
        let object = serde_json::from_value(object.clone()).map_err(kube::Error::SerdeError)?;
        api.create(&PostParams::default(), &object).await?;
        Ok(())
    }

    async fn delete_pod(&self, pod: &str) -> Result<(), kube::Error> {
        ignore_not_found(
            self.pods()
                .delete(pod, &DeleteParams::default().grace_period(0))
                .await,
        )
        .map(drop)
    }

    /// Force deletes the cluster's services and Pods. Ignores terminating Pods, as SkyPilot does.
    pub(crate) async fn tear_down(&self) -> Result<(), kube::Error> {
        let services: Api<Service> = Api::namespaced(self.client.clone(), self.namespace);
        for service in services.list(&self.list_params()).await?.items {
            ignore_not_found(
                services
                    .delete(&service.name_any(), &DeleteParams::default())
                    .await,
            )?;
        }
        for pod in self.list().await? {
            if pod.metadata.deletion_timestamp.is_none() {
                self.delete_pod(&pod.name_any()).await?;
            }
        }
        Ok(())
    }
}

/// The Pod properties that SkyPilot checks.
pub(crate) trait PodExt {
    /// Whether it has a scheduling gate.
    fn is_gated(&self) -> bool;
    /// Whether the phase is final.
    fn has_ended(&self) -> bool;
    /// Whether it is bound to a node.
    fn is_bound(&self) -> bool;
    /// Whether it is terminating.
    fn is_terminating(&self) -> bool;
    /// Whether the phase is Running and every container runs.
    fn is_running(&self) -> bool;
    /// Whether a command can be run in the first container.
    fn can_exec(&self) -> bool;
    /// SkyPilot's text for the termination of a Pod.
    fn termination_reason(&self) -> String;
}

impl PodExt for Pod {
    fn is_gated(&self) -> bool {
        let gates = self.spec.as_ref().and_then(|s| s.scheduling_gates.as_ref());
        gates.is_some_and(|g| !g.is_empty())
    }

    fn has_ended(&self) -> bool {
        let phase = self.status.as_ref().and_then(|s| s.phase.as_deref());
        matches!(phase, Some("Failed" | "Succeeded"))
    }

    fn is_bound(&self) -> bool {
        self.spec.as_ref().is_some_and(|s| s.node_name.is_some())
    }

    fn is_terminating(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    fn is_running(&self) -> bool {
        self.can_exec() && !self.is_terminating()
    }

    fn can_exec(&self) -> bool {
        let Some(status) = &self.status else {
            return false;
        };
        let containers = status.container_statuses.as_deref().unwrap_or_default();
        status.phase.as_deref() == Some("Running")
            && !containers.is_empty()
            && containers
                .iter()
                .all(|c| c.state.as_ref().is_some_and(|s| s.running.is_some()))
    }

    fn termination_reason(&self) -> String {
        let conditions = self.status.as_ref().and_then(|s| s.conditions.as_deref());
        let mut text = String::from("Terminated unexpectedly");
        for condition in conditions.unwrap_or_default() {
            let lead = match condition.type_.as_str() {
                "TerminationTarget" => "Preempted by Kueue",
                "DisruptionTarget" => "Disrupted",
                _ => continue,
            };
            let reason = condition.reason.as_deref().unwrap_or("Unknown reason");
            text = format!("{lead}: {reason}");
            if let Some(message) = condition.message.as_deref().filter(|m| !m.is_empty()) {
                text.push_str(&format!(" ({message})"));
            }
        }
        text
    }
}
