//! The containers that run.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container as ContainerSpec, Pod};

use super::pod_workers::Shared;
use super::simulated_container::{ContainerPhase, ephemeral_containers};
use kueue_lab_controller_runtime::ObjectKey;

/// A container of a pod that runs.
pub struct RunningInstance {
    /// The pod.
    pub pod: Arc<Pod>,
    /// The spec of the container.
    pub spec: ContainerSpec,
    /// When this instance started.
    pub started: Timestamp,
}

/// The spec of a container.
pub(super) fn container_spec(pod: &Pod, name: &str) -> Option<ContainerSpec> {
    let spec = pod.spec.as_ref()?;
    let inits = spec.init_containers.iter().flatten();
    let mut known = spec.containers.iter().chain(inits);
    let found = known.find(|container| container.name == name).cloned();
    found.or_else(|| {
        let mut ephemeral = ephemeral_containers(pod).into_iter();
        ephemeral.find(|container| container.name == name)
    })
}

/// The last part of an image's name, without tag and digest.
pub fn image_name(image: &str) -> &str {
    let name = image.split('@').next().unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or_default();
    name.split(':').next().unwrap_or_default()
}

impl Shared {
    /// A container that runs; `None` if it does not.
    pub(super) fn running_instance(
        &self,
        key: &ObjectKey,
        uid: &str,
        name: &str,
    ) -> Option<RunningInstance> {
        let pod = self.pods.get(key)?;
        if pod.metadata.uid.as_deref() != Some(uid) {
            return None;
        }
        let started = {
            let simulated = self.simulated_pods.lock();
            let simulated = simulated.get(key).filter(|pod| pod.uid == uid)?;
            let mut containers = simulated.containers.iter();
            match containers.find(|c| c.name == name)?.phase {
                ContainerPhase::Running { since, .. } => since,
                _ => return None,
            }
        };
        let spec = container_spec(&pod, name)?;
        Some(RunningInstance { pod, spec, started })
    }
}
