//! [`UserClusters`]: the clusters of `sky launch` in the namespace of the user.

use kube::Client;
use kueue_lab_clock::Clock;
use kueue_lab_skypilot::clusters::{Cluster, ClusterError, ExecError, SkyClusters};
use kueue_lab_skypilot::{SkyConfig, SkyEnv};

use super::jobs::ManagedJobObjects;
use super::user_config::user_config;
use crate::cli::kubeconfig_args::{KubeconfigArgs, request_error};
use crate::cli::output::print_stdout;
use crate::cli::{CommandError, CommandErrorKind};

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
    pub(super) async fn connect(target: &KubeconfigArgs) -> Result<Self, CommandError> {
        let config = user_config()?;
        let context = target.context()?;
        let client = context.client().await.map_err(CommandError::usage)?;
        let mut env = SkyEnv::new(context.name());
        env.namespace = context.namespace().to_owned();
        if let Some(text) = config {
            let config = SkyConfig::parse(&text).map_err(CommandError::usage)?;
            env = env.with_config(config);
        }
        Ok(Self {
            clusters: SkyClusters::new(client.clone(), Clock::real(), env),
            client,
        })
    }

    /// The clusters without those of managed jobs.
    pub(super) async fn list(&self) -> Result<Vec<Cluster>, CommandError> {
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
    pub(super) async fn named(&self, names: &[String]) -> Result<Vec<Cluster>, CommandError> {
        let clusters = self.list().await?;
        let has = |name: &String| clusters.iter().any(|cluster| cluster.name == *name);
        if let Some(missing) = names.iter().find(|name| !has(name)) {
            return Err(CommandError::usage(format!(
                "there is no cluster {missing:?}; `kueue-lab sky status` lists the clusters"
            )));
        }
        let is_named = |cluster: &Cluster| names.contains(&cluster.name);
        Ok(clusters.into_iter().filter(is_named).collect())
    }

    /// The cluster with this name.
    ///
    /// # Errors
    /// The cluster does not exist.
    pub(super) async fn one(&self, name: &str) -> Result<Cluster, CommandError> {
        let mut clusters = self.named(&[name.to_owned()]).await?;
        Ok(clusters.swap_remove(0))
    }

    /// Prints the log of a job, by default of the newest one.
    ///
    /// # Errors
    /// The job has failed or does not exist.
    pub(super) async fn print_log(
        &self,
        cluster: &Cluster,
        job: Option<u64>,
        follow: bool,
    ) -> Result<(), CommandError> {
        let mut printed = Ok(());
        let print = |text: &[u8]| {
            if printed.is_ok() {
                printed = print_stdout(text);
            }
        };
        let code = self.clusters.logs(cluster, job, follow, print).await;
        printed?;
        let which = job.map_or("the newest job".to_owned(), |id| format!("job {id}"));
        let name = &cluster.name;
        // The command that prints the log ends with its Pod.
        if !matches!(code, Ok(SUCCEEDED))
            && let Ok(Some(reason)) = self.clusters.failure(cluster).await
        {
            let lost = format!("{which} is lost with the cluster {name:?} ({reason})");
            let hint = format!("`kueue-lab sky launch -c {name}` launches it again");
            return Err(CommandError::failed(lost).hinting(hint));
        }
        let code = code.map_err(cluster_error)?;
        match code {
            SUCCEEDED => Ok(()),
            NOT_FINISHED if !follow => Ok(()),
            NOT_FOUND => {
                let missing = format!("there is no such job on the cluster {name:?}");
                let hint = format!("`kueue-lab sky exec {name} COMMAND` submits one");
                Err(CommandError::usage(missing).hinting(hint))
            }
            CANCELLED => Err(job_error(
                CANCELLED,
                format!("{which} on the cluster {name:?} is cancelled"),
            )),
            NOT_FINISHED => Err(job_error(
                NOT_FINISHED,
                format!("{which} on the cluster {name:?} has not ended"),
            )),
            _ => Err(job_error(
                FAILED,
                format!("{which} on the cluster {name:?} has failed"),
            )),
        }
    }
}

/// SkyPilot's exit codes for the states of a job.
const SUCCEEDED: i32 = 0;
const FAILED: i32 = 100;
const NOT_FINISHED: i32 = 101;
const NOT_FOUND: i32 = 102;
const CANCELLED: i32 = 103;

/// The error of a job that did not succeed.
fn job_error(code: i32, message: String) -> CommandError {
    let code = u8::try_from(code).unwrap_or(1);
    CommandError::new(CommandErrorKind::Job(code), message)
}

/// The error of a command for a cluster.
pub(super) fn cluster_error(error: ClusterError) -> CommandError {
    match error {
        ClusterError::Api(error) => match *error {
            kube::Error::Api(status)
                if status.code == 404 && status.message.starts_with("namespaces ") =>
            {
                CommandError::usage(status.message)
                    .hinting("create it, or change kubernetes.namespace in ~/.sky/config.yaml")
            }
            error => request_error(&error),
        },
        ClusterError::Exec(ExecError::Api(error)) => request_error(&error),
        ClusterError::Provision(_) | ClusterError::Runtime(_) | ClusterError::Exec(_) => {
            CommandError::failed(error)
        }
        ClusterError::Plan(_) | ClusterError::Mismatch(_) | ClusterError::NotUp(_) => {
            CommandError::usage(error)
        }
    }
}
