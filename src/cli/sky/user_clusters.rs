//! [`UserClusters`]: the clusters of `sky launch` in the namespace of the user.

use kube::Client;
use kueue_lab_clock::Clock;
use kueue_lab_skypilot::clusters::{Cluster, ClusterError, SkyClusters};
use kueue_lab_skypilot::{SkyConfig, SkyEnv};

use super::jobs::ManagedJobObjects;
use super::user_config::user_config;
use crate::cli::CliError;
use crate::cli::kubeconfig_args::{KubeconfigArgs, request_error};

/// The clusters in the namespace of the user's configuration, or of the context.
pub(super) struct UserClusters {
    pub(super) client: Client,
    pub(super) clusters: SkyClusters,
}

impl UserClusters {
    /// Reads the user's configuration and connects to the cluster.
    ///
    /// # Errors
    /// The configuration or the kubeconfig is invalid.
    pub(super) async fn connect(target: &KubeconfigArgs) -> Result<Self, CliError> {
        let config = user_config()?;
        let context = target.context()?;
        let client = context.client().await.map_err(CliError::usage)?;
        let mut env = SkyEnv::new(context.name());
        env.namespace = context.namespace().to_owned();
        if let Some(text) = config {
            let config = SkyConfig::parse(&text).map_err(CliError::usage)?;
            env = env.with_config(config);
        }
        Ok(Self {
            clusters: SkyClusters::new(client.clone(), Clock::real(), env),
            client,
        })
    }

    /// The clusters without those of managed jobs.
    pub(super) async fn list(&self) -> Result<Vec<Cluster>, CliError> {
        let mut clusters = self.clusters.list().await.map_err(cluster_error)?;
        let context = self.clusters.context().to_owned();
        let managed = ManagedJobObjects::new(self.client.clone(), context);
        // Clusters other than the embedded one have no managed jobs.
        let managed = managed.list().await.unwrap_or_default();
        clusters.retain(|cluster| {
            let is_own = |worker: &Option<String>| worker.as_ref() == Some(&cluster.name_on_cloud);
            !managed.iter().any(|(_, job)| is_own(&job.cluster))
        });
        Ok(clusters)
    }

    /// The clusters with these names.
    ///
    /// # Errors
    /// A cluster does not exist.
    pub(super) async fn named(&self, names: &[String]) -> Result<Vec<Cluster>, CliError> {
        let clusters = self.list().await?;
        let has = |name: &String| clusters.iter().any(|cluster| cluster.name == *name);
        if let Some(missing) = names.iter().find(|name| !has(name)) {
            return Err(CliError::Usage(format!(
                "there is no cluster {missing:?}; `kueue-lab sky status` lists the clusters"
            )));
        }
        let is_named = |cluster: &Cluster| names.contains(&cluster.name);
        Ok(clusters.into_iter().filter(is_named).collect())
    }
}

/// The error of a command for a cluster.
pub(super) fn cluster_error(error: ClusterError) -> CliError {
    match error {
        ClusterError::Api(error) => request_error(&error),
        ClusterError::Provision(_) => CliError::failed(error),
        ClusterError::Plan(_) | ClusterError::Mismatch(_) => CliError::usage(error),
    }
}
