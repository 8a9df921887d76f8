//! Plans the objects that the launch of a task creates.

use serde_json::Value;

use super::config::QueueSettings;
use super::env::SkyEnv;
use super::gpu_labels::NodeInfo;
use super::naming::{cluster_name_on_cloud, is_valid};
use super::pod::PodBuilder;
use super::pod_resources::{PodResources, PodResourcesError};
use super::services_and_roles;
use super::task::{JobRecovery, Task, TaskResources};

/// The objects and settings of a cluster to launch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClusterPlan {
    /// Its name in Kubernetes.
    pub name: String,
    /// Names of the Pods, the head first.
    pub pod_names: Vec<String>,
    /// The Pods, in the same order.
    pub pods: Vec<Value>,
    /// Services of this cluster.
    pub services: Vec<Value>,
    /// Objects shared by all clusters, which are never deleted.
    pub shared_objects: Vec<Value>,
    /// Requests of each Pod.
    pub request: PodResources,
    /// Queue and timeouts.
    pub queue: QueueSettings,
    /// Recovery settings of a managed job.
    pub recovery: JobRecovery,
}

/// Why a task cannot be launched.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LaunchError {
    /// The name of the cluster or job is invalid.
    #[error(
        "{0:?} is not a name SkyPilot accepts: it begins with a letter, ends with a letter or \
         digit, and holds only those, dashes, underscores and dots"
    )]
    Name(String),
    /// No alternative of the task fits the cluster; the reason of the first.
    #[error(transparent)]
    PodResources(#[from] PodResourcesError),
}

/// Plans the launch of `task` as the cluster `display_name`.
///
/// # Errors
/// The name is invalid, or no node of the cluster is large enough.
pub(crate) fn plan(
    task: &Task,
    display_name: &str,
    env: &SkyEnv,
    nodes: &[NodeInfo],
) -> Result<ClusterPlan, LaunchError> {
    if !is_valid(display_name) {
        return Err(LaunchError::Name(display_name.to_owned()));
    }
    let (resources, request) = choose_resources(task, env, nodes)?;
    let name = cluster_name_on_cloud(display_name, &env.user_hash);
    let queue = env.config.queue_settings(&task.config, task.num_nodes);
    let builder = PodBuilder {
        env,
        task,
        task_resources: resources,
        request: &request,
        display_name,
        name: &name,
        local_queue: queue.local_queue.as_deref(),
    };
    let (pods, pod_names) = (builder.pods(), builder.pod_names());
    Ok(ClusterPlan {
        services: services_and_roles::services(env, &name, &pod_names),
        shared_objects: services_and_roles::service_account_and_roles(env),
        recovery: resources.recovery.clone(),
        pods,
        pod_names,
        request,
        queue,
        name,
    })
}

/// The first alternative that fits; on Kubernetes all are free, so the order decides.
fn choose_resources<'t>(
    task: &'t Task,
    env: &SkyEnv,
    nodes: &[NodeInfo],
) -> Result<(&'t TaskResources, PodResources), PodResourcesError> {
    let mut first_reason = None;
    for resources in &task.resources {
        let sized = match &resources.context {
            Some(other) if *other != env.context => {
                Err(PodResourcesError::OtherContext(other.clone()))
            }
            _ => PodResources::size(resources, nodes),
        };
        match sized {
            Ok(request) => return Ok((resources, request)),
            Err(reason) => {
                first_reason.get_or_insert(reason);
            }
        }
    }
    // A task has at least one alternative, so there is a reason.
    Err(first_reason.unwrap_or(PodResourcesError::NoGpus))
}
