//! Clusters of containers on this machine, made with kind or k3d and taken down again.
//!
//! A cluster is taken down only if the lab made it: the ids of its containers are remembered
//! ([`marker`]). An interrupted start is recognised by the same marker and begun anew.

mod cluster_record;
mod cluster_tool;
mod container_engine;
mod kubeconfig;
mod program;

use std::net::IpAddr;
use std::path::Path;

use cluster_record::ClusterRecord;
use cluster_tool::ToolDriver;
use container_engine::ContainerEngine;

pub use cluster_tool::{ClusterTool, NAME};

/// Told of each step.
pub type Progress<'a> = &'a (dyn Fn(&str) + Sync);

/// How a cluster's API server gets to this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostAccess {
    /// By the gateway of its container network.
    NetworkGateway(IpAddr),
    /// By the name `host.docker.internal`.
    DockerDesktop,
    /// By the name `host.k3d.internal`.
    K3d,
    /// It is not to get here at all.
    Unreachable,
}

/// A local cluster that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalCluster {
    /// What made it.
    pub tool: ClusterTool,
    /// Whether the lab had it made, now or earlier.
    pub created_by_lab: bool,
    /// How it gets to this machine.
    pub host_access: HostAccess,
}

/// What became of a cluster that was to be taken down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteOutcome {
    /// It is gone.
    Deleted,
    /// There was none.
    Absent,
    /// It is there, and the lab did not make it.
    NotCreatedByLab,
}

/// Why there is no local cluster.
#[derive(Debug, thiserror::Error)]
pub enum LocalClusterError {
    /// No container engine.
    #[error(
        "there is no {names} on PATH, which the cluster's nodes run in; get one from https://docs.docker.com/get-docker/, or use --cluster embedded, which needs nothing"
    )]
    NoEngine {
        /// What was looked for.
        names: &'static str,
    },
    /// The engine does not answer.
    #[error("{engine} does not run: {reason}; {remedy}")]
    EngineDown {
        /// Which.
        engine: &'static str,
        /// What it says.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// The tool is missing.
    #[error("there is no {tool} on PATH; {remedy}")]
    NoTool {
        /// Which.
        tool: &'static str,
        /// Where to get it.
        remedy: &'static str,
    },
    /// The tool is too old.
    #[error("{tool} {version} is too old, the lab needs {oldest} or newer; {remedy}")]
    OldTool {
        /// Which.
        tool: &'static str,
        /// What is there.
        version: String,
        /// What would do.
        oldest: String,
        /// Where to get it.
        remedy: &'static str,
    },
    /// A port that the cluster's description asks for is taken.
    #[error(
        "{tool} cannot make the cluster: {address} is in use already; stop what uses it, or choose another port in lab/{tool}.yaml"
    )]
    PortInUse {
        /// The tool.
        tool: &'static str,
        /// The address.
        address: String,
    },
    /// A cluster of the name came up meanwhile.
    #[error(
        "{tool} cannot make the cluster {NAME}: somebody else is making one of this name; wait for that and try again"
    )]
    Busy {
        /// The tool.
        tool: &'static str,
    },
    /// A program took too long.
    #[error(
        "`{call}` did not end within {seconds} s and was stopped; what it had made is taken away"
    )]
    TimedOut {
        /// The call.
        call: String,
        /// How long it had.
        seconds: u64,
    },
    /// A program failed.
    #[error("`{call}` failed: {reason}")]
    Failed {
        /// The call.
        call: String,
        /// What it said.
        reason: String,
    },
    /// What the lab remembers cannot be written.
    #[error("cannot write {path}: {reason}")]
    State {
        /// The file.
        path: String,
        /// What the operating system said.
        reason: String,
    },
    /// The user's kubeconfig cannot be changed.
    #[error("cannot add the cluster to the kubeconfig {path}: {reason}")]
    Kubeconfig {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
}

impl LocalClusterError {
    /// Whether something is to be done before the same request can succeed, rather than that
    /// something went wrong.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::TimedOut { .. } | Self::Failed { .. })
    }
}

/// Makes sure that the lab's cluster of a tool runs and that the user's kubeconfig has its context.
/// `description` is the text of its configuration, `state` a folder for what is to be remembered.
///
/// # Errors
/// [`LocalClusterError`]; a cluster that was begun is taken away again.
pub async fn up(
    tool: ClusterTool,
    description: &str,
    state: &Path,
    progress: Progress<'_>,
) -> Result<LocalCluster, LocalClusterError> {
    let engine = ContainerEngine::find(tool == ClusterTool::Kind).await?;
    let driver = ToolDriver::find(tool, engine.is_podman()).await?;
    let mut marker = ClusterRecord::read(state, tool);
    let mut exists = driver.exists().await?;
    if exists && marker.as_ref().is_some_and(ClusterRecord::is_incomplete) {
        progress("an earlier start was interrupted; the cluster is made anew");
        driver.delete().await?;
        exists = false;
    }
    if !exists {
        progress(&format!("making the cluster {NAME} with {}", tool.name()));
        create(&driver, &engine, tool, description, state, progress).await?;
        marker = ClusterRecord::read(state, tool);
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
        created_by_lab: marker.is_some_and(|m| m.matches(&containers)),
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
    std::fs::write(&config, description).map_err(failed)?;
    let (config, scratch) = (
        config.display().to_string(),
        scratch.path().display().to_string(),
    );
    let made = driver.create(&config, &scratch, progress).await;
    if let Err(error) = made {
        // Somebody else's cluster of the same name is not ours to take away.
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

/// Starts what is stopped of a cluster that is there, as after a restart of the machine.
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
    progress(&format!("starting the cluster {NAME}, which is stopped"));
    match tool {
        ClusterTool::Kind => engine.start(&stopped).await,
        ClusterTool::K3d => driver.start().await,
    }
}

/// Whether the lab remembers having made a cluster with the tool.
pub fn has_record(tool: ClusterTool, state: &Path) -> bool {
    ClusterRecord::read(state, tool).is_some()
}

/// Takes the lab's cluster of a tool down, if the lab made it.
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
    let marker = ClusterRecord::read(state, tool);
    if !marker.is_some_and(|m| m.is_incomplete() || m.matches(&containers)) {
        return Ok(DeleteOutcome::NotCreatedByLab);
    }
    driver.delete().await?;
    ClusterRecord::remove(state, tool);
    Ok(DeleteOutcome::Deleted)
}
