//! The job of `sky launch` and `sky exec`.

use kueue_lab_skypilot::Task;
use kueue_lab_skypilot::clusters::Cluster;

use super::user_clusters::{UserClusters, cluster_error};
use crate::cli::CommandError;
use crate::cli::output::print_stdout;

/// The flags for the job of a task on a cluster.
#[derive(Debug, clap::Args)]
pub(super) struct JobArgs {
    /// The name of the job [default: that of the task].
    #[arg(short, long, value_name = "NAME")]
    name: Option<String>,
    /// Return when the job is submitted, without its log.
    #[arg(short, long)]
    detach_run: bool,
}

impl JobArgs {
    /// The task with the name of the job.
    pub(super) fn task(&self, text: &str) -> Result<Task, CommandError> {
        let mut task = Task::parse(text).map_err(CommandError::usage)?;
        task.name = self.name.clone().or(task.name);
        Ok(task)
    }

    /// Submits a job and prints its log.
    pub(super) async fn run(
        &self,
        user: &UserClusters,
        cluster: &Cluster,
        task: &Task,
    ) -> Result<(), CommandError> {
        let submitted = user.clusters.submit(cluster, task).await;
        let id = submitted.map_err(cluster_error)?;
        print_stdout(format!("Job submitted, ID: {id}\n").as_bytes())?;
        if self.detach_run {
            return Ok(());
        }
        user.print_log(cluster, Some(id), true).await
    }
}
