//! Creates, starts and deletes the lab's local cluster.

use std::path::Path;

use super::cluster_record::ClusterRecord;
use super::cluster_tool::ToolDriver;
use super::cluster_tool::{ClusterTool, NAME};
use super::container_engine::ContainerEngine;
use super::error::LocalClusterError;
use super::host_access::HostAccess;
use super::kubeconfig;

/// Callback for each step.
pub type Progress<'a> = &'a (dyn Fn(&str) + Sync);

/// A running local cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalCluster {
    /// The tool it was created with.
    pub tool: ClusterTool,
    /// Whether the lab created it, now or earlier.
    pub created_by_lab: bool,
    /// How it reaches this machine.
    pub host_access: HostAccess,
}

/// The outcome of deleting a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteOutcome {
    /// It was deleted.
    Deleted,
    /// It did not exist.
    Absent,
    /// It exists, but the lab did not create it.
    NotCreatedByLab,
}

/// Creates or starts the lab's cluster of a tool and adds its context to the user's kubeconfig.
/// `description` is the tool's configuration, `state` the folder for the cluster record.
///
/// # Errors
/// [`LocalClusterError`]; a partly created cluster is deleted.
pub async fn up(
    tool: ClusterTool,
    description: &str,
    state: &Path,
    progress: Progress<'_>,
) -> Result<LocalCluster, LocalClusterError> {
    let engine = ContainerEngine::find(tool == ClusterTool::Kind).await?;
    let driver = ToolDriver::find(tool, engine.is_podman()).await?;
    let mut record = ClusterRecord::read(state, tool);
    let mut exists = driver.exists().await?;
    if exists && record.as_ref().is_some_and(ClusterRecord::is_incomplete) {
        progress("an earlier start was interrupted; the cluster is recreated");
        driver.delete().await?;
        exists = false;
    }
    if !exists {
        progress(&format!("creating the cluster {NAME} with {}", tool.name()));
        create(&driver, &engine, tool, description, state, progress).await?;
        record = ClusterRecord::read(state, tool);
    } else {
        start_stopped(&driver, &engine, tool, progress).await?;
    }
    let containers = engine.containers(&tool.label()).await?;
    let kubeconfig = driver.kubeconfig().await?;
    if let Some(file) = kubeconfig::default_kubeconfig_path() {
        kubeconfig::merge_into_file(&file, &kubeconfig).await?;
    }
    Ok(LocalCluster {
        tool,
        created_by_lab: record.is_some_and(|m| m.matches(&containers)),
        host_access: match tool {
            ClusterTool::Kind => engine.host_access("kind").await?,
            ClusterTool::K3d => HostAccess::K3d,
        },
    })
}

async fn create(
    driver: &ToolDriver,
    engine: &ContainerEngine,
    tool: ClusterTool,
    description: &str,
    state: &Path,
    progress: Progress<'_>,
) -> Result<(), LocalClusterError> {
    ClusterRecord::creating().write(state, tool)?;
    let config = state.join(format!("{}.yaml", tool.name()));
    let scratch = tempfile::NamedTempFile::new_in(state);
    let failed = |e: std::io::Error| LocalClusterError::State {
        path: config.display().to_string(),
        reason: e.to_string(),
    };
    let scratch = scratch.map_err(failed)?;
    kueue_lab_host::write(&config, description).map_err(failed)?;
    let (config, scratch) = (
        config.display().to_string(),
        scratch.path().display().to_string(),
    );
    let created = driver.create(&config, &scratch, progress).await;
    if let Err(error) = created {
        // A cluster of the same name from another process must not be deleted.
        let busy = matches!(error, LocalClusterError::Busy { .. });
        if busy || driver.delete().await.is_ok() {
            ClusterRecord::remove(state, tool);
        }
        return Err(error);
    }
    let containers = engine.containers(&tool.label()).await?;
    let containers = containers.into_iter().map(|(id, _)| id).collect();
    ClusterRecord { containers }.write(state, tool)
}

/// Starts the stopped containers of an existing cluster, as after a reboot.
async fn start_stopped(
    driver: &ToolDriver,
    engine: &ContainerEngine,
    tool: ClusterTool,
    progress: Progress<'_>,
) -> Result<(), LocalClusterError> {
    let containers = engine.containers(&tool.label()).await?;
    let stopped: Vec<&str> = containers
        .iter()
        .filter(|(_, runs)| !runs)
        .map(|(id, _)| id.as_str())
        .collect();
    if stopped.is_empty() {
        return Ok(());
    }
    progress(&format!("starting the stopped cluster {NAME}"));
    match tool {
        ClusterTool::Kind => engine.start(&stopped).await,
        ClusterTool::K3d => driver.start().await,
    }
}

/// Whether there is a record of a cluster created with the tool.
pub fn has_record(tool: ClusterTool, state: &Path) -> bool {
    ClusterRecord::read(state, tool).is_some()
}

/// Deletes the lab's cluster of a tool, if the lab created it.
///
/// # Errors
/// [`LocalClusterError`].
pub async fn down(tool: ClusterTool, state: &Path) -> Result<DeleteOutcome, LocalClusterError> {
    let engine = ContainerEngine::find(tool == ClusterTool::Kind).await?;
    let driver = ToolDriver::find(tool, engine.is_podman()).await?;
    if !driver.exists().await? {
        ClusterRecord::remove(state, tool);
        return Ok(DeleteOutcome::Absent);
    }
    let containers = engine.containers(&tool.label()).await?;
    let record = ClusterRecord::read(state, tool);
    if !record.is_some_and(|m| m.is_incomplete() || m.matches(&containers)) {
        return Ok(DeleteOutcome::NotCreatedByLab);
    }
    driver.delete().await?;
    ClusterRecord::remove(state, tool);
    Ok(DeleteOutcome::Deleted)
}
