//! `--workers` of `kueue-lab up`.

use kueue_lab_lab::ClusterRole;
use kueue_lab_presets::MAX_WORKERS;

use crate::cli::CommandError;

/// The worker clusters of `up`.
#[derive(Debug, clap::Args)]
pub(super) struct WorkersArgs {
    /// Start this number of embedded worker clusters, `worker1` and so on, for MultiKueue. They have the
    /// nodes and the preset of the manager, and contexts in its kubeconfig. By default the number is that of
    /// clusters.yaml of the active preset.
    #[arg(long, value_name = "N", default_value_t = 0)]
    workers: usize,
}

impl WorkersArgs {
    /// Checks the number, and that the manager is an embedded cluster with its controller.
    ///
    /// # Errors
    /// The arguments do not fit together.
    pub(super) fn check(&self, embedded: bool) -> Result<(), CommandError> {
        let message = if self.workers > MAX_WORKERS {
            format!(
                "--workers {}: a manager has at most {MAX_WORKERS} workers",
                self.workers
            )
        } else if self.workers > 0 && !embedded {
            "--workers is for the embedded cluster with its controller; to use existing clusters as workers, name their kubeconfigs in clusters.yaml of a preset, or create a Secret and a MultiKueueCluster for each".to_owned()
        } else {
            return Ok(());
        };
        Err(CommandError::usage(message))
    }

    /// The role of the cluster.
    pub(super) fn role(&self) -> ClusterRole {
        match self.workers {
            0 => ClusterRole::Single,
            workers => ClusterRole::Manager { workers },
        }
    }
}
