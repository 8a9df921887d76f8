//! [`SkyClusters`]: `sky launch`, `sky status` and `sky down`.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, Service, ServiceSpec};
use kube::api::{ListParams, ObjectMeta, PostParams};
use kube::{Client, ResourceExt};
use kueue_lab_clock::Clock;
use kueue_lab_controller_runtime::Api;

use super::cluster::{CLUSTER_LABEL, Cluster};
use super::cluster_client::{self, ClusterClient, PodExt, ProvisionError};
use super::launch_progress::{LaunchProgress, LaunchState};
use super::remote_command::ExecError;
use crate::{ClusterPlan, LaunchError, SkyEnv, Task, plan};

/// Interval of the checks of Pods during a launch.
const LAUNCH_POLL: Duration = Duration::from_secs(1);

/// Why a command for a cluster failed.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The name is invalid, or the task does not fit the Kubernetes cluster.
    #[error(transparent)]
    Plan(#[from] LaunchError),
    /// The cluster exists with other nodes.
    #[error("{0}")]
    Mismatch(String),
    /// Not all nodes of the cluster run.
    #[error(
        "the cluster {0:?} is not UP; `sky status` shows its state, and `sky launch -c {0}` waits for it"
    )]
    NotUp(String),
    /// SkyPilot's runtime on the head failed; its output.
    #[error("SkyPilot's runtime on the head of the cluster failed: {0}")]
    Runtime(String),
    /// A command on the head was not run.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// The Pods did not start and were deleted.
    #[error("{0}")]
    Provision(String),
    /// A request failed.
    #[error(transparent)]
    Api(#[from] Box<kube::Error>),
}

impl From<kube::Error> for ClusterError {
    fn from(error: kube::Error) -> Self {
        Self::Api(Box::new(error))
    }
}

/// The clusters of a user in the namespace of the environment.
pub struct SkyClusters {
    pub(super) client: Client,
    pub(super) clock: Clock,
    pub(super) env: SkyEnv,
}

impl SkyClusters {
    /// The clusters of a user.
    pub fn new(client: Client, clock: Clock, env: SkyEnv) -> Self {
        Self { client, clock, env }
    }

    /// The time of the API server, which is that of the lab: the creation time of an object that is not
    /// stored.
    pub(super) async fn now(&self) -> Timestamp {
        let services: Api<Service> = Api::namespaced(self.client.clone(), &self.env.namespace);
        let params = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let headless = Service {
            metadata: ObjectMeta {
                generate_name: Some("time-".to_owned()),
                ..ObjectMeta::default()
            },
            spec: Some(ServiceSpec {
                cluster_ip: Some("None".to_owned()),
                ..ServiceSpec::default()
            }),
            ..Service::default()
        };
        let created = services.create(&params, &headless).await.ok();
        let created = created.and_then(|service| service.metadata.creation_timestamp);
        created.map_or_else(|| self.clock.now(), |time| time.0)
    }

    /// The kubeconfig context.
    pub fn context(&self) -> &str {
        &self.env.context
    }

    /// All clusters with Pods, by name; also those of managed jobs.
    ///
    /// # Errors
    /// A request failed.
    pub async fn list(&self) -> Result<Vec<Cluster>, ClusterError> {
        let params = ListParams::default().labels(&format!("parent=skypilot,{CLUSTER_LABEL}"));
        let (client, namespace) = (&self.client, &self.env.namespace);
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let services: Api<Service> = Api::namespaced(client.clone(), namespace);
        let services = services.list(&params).await?.items;
        let mut pods = pods.list(&params).await?.items;
        pods.retain(|pod| !pod.is_terminating());
        Ok(Cluster::group(pods, &services))
    }

    /// `sky launch -c NAME`: creates the Pods and waits until they run. A cluster that exists is used
    /// again. If the Pods do not start they are deleted. `progress` receives the state when it changes.
    ///
    /// # Errors
    /// The task does not fit, the cluster has another number of nodes, the Pods did not start in time, or a
    /// request failed.
    pub async fn launch(
        &self,
        name: &str,
        task: &Task,
        mut progress: impl FnMut(&str),
    ) -> Result<Cluster, ClusterError> {
        let nodes = cluster_client::nodes(&self.client).await?;
        let planned = plan(task, name, &self.env, &nodes)?;
        let remote = self.cluster_client(&planned.name);
        if let Some(cluster) = self.find(&planned.name).await?
            && cluster.num_nodes != planned.pods.len()
        {
            return Err(ClusterError::Mismatch(format!(
                "the number of nodes of the cluster {name:?} is {}, and num_nodes of the task is {}; delete it with `sky down {name}`, or choose another name with -c",
                cluster.num_nodes,
                planned.pods.len()
            )));
        }
        self.create(&remote, &planned).await?;
        let mut wait = LaunchProgress::new(self.now().await, &planned);
        let mut shown = "";
        loop {
            let pods = remote.list().await?;
            match wait.check(&pods, self.now().await) {
                Ok(LaunchState::Running) => break,
                Ok(LaunchState::Waiting(text)) if text != shown => {
                    shown = text;
                    progress(text);
                }
                Ok(LaunchState::Waiting(_)) => {}
                Err(error) => {
                    remote.tear_down().await?;
                    return Err(provision_error(error));
                }
            }
            self.clock.sleep(LAUNCH_POLL).await;
        }
        let launched = self.find(&planned.name).await?;
        launched.ok_or_else(|| ClusterError::Provision("the Pods were deleted".into()))
    }

    /// Creates the missing objects of a cluster; after an error its Pods are deleted.
    async fn create(
        &self,
        remote: &ClusterClient<'_>,
        planned: &ClusterPlan,
    ) -> Result<(), ClusterError> {
        let mut pods = remote.list().await?;
        pods.retain(|pod| !pod.is_terminating() && !pod.has_ended());
        let existing: Vec<String> = pods.iter().map(ResourceExt::name_any).collect();
        let mut missing = planned.clone();
        missing.pods.retain(|pod| {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            !existing.iter().any(|existing| existing == name)
        });
        let created = remote.create(&missing).await;
        if created.is_err() {
            // The first error is reported.
            let _ = remote.tear_down().await;
        }
        created.map_err(provision_error)
    }

    async fn find(&self, name_on_cloud: &str) -> Result<Option<Cluster>, ClusterError> {
        let mut clusters = self.list().await?.into_iter();
        Ok(clusters.find(|cluster| cluster.name_on_cloud == name_on_cloud))
    }

    /// `sky down`: force deletes the Services and Pods.
    ///
    /// # Errors
    /// A request failed.
    pub async fn down(&self, cluster: &Cluster) -> Result<(), ClusterError> {
        let remote = self.cluster_client(&cluster.name_on_cloud);
        Ok(remote.tear_down().await?)
    }

    /// The client for the objects of one cluster.
    pub(super) fn cluster_client<'a>(&'a self, name_on_cloud: &'a str) -> ClusterClient<'a> {
        ClusterClient {
            client: &self.client,
            namespace: &self.env.namespace,
            cluster: name_on_cloud,
        }
    }
}

fn provision_error(error: ProvisionError) -> ClusterError {
    match error {
        ProvisionError::Api(error) => error.into(),
        ProvisionError::PodsLost(text) => ClusterError::Provision(text),
    }
}
