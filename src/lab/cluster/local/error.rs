//! Errors of creating or deleting a local cluster.

use super::cluster_tool::NAME;

/// The error of a local cluster.
#[derive(Debug, thiserror::Error)]
pub enum LocalClusterError {
    /// No container engine is installed.
    #[error(
        "there is no {names} on PATH to run the cluster's nodes; install one from https://docs.docker.com/get-docker/, or use --cluster embedded, which needs none"
    )]
    NoEngine {
        /// The engines searched for.
        names: &'static str,
    },
    /// The engine does not run.
    #[error("{engine} does not run: {reason}; {remedy}")]
    EngineDown {
        /// The engine.
        engine: &'static str,
        /// Its error.
        reason: String,
        /// A remedy.
        remedy: String,
    },
    /// The tool is not installed.
    #[error("there is no {tool} on PATH; {remedy}")]
    NoTool {
        /// The tool.
        tool: &'static str,
        /// How to install it.
        remedy: &'static str,
    },
    /// The tool is too old.
    #[error("{tool} {version} is too old, the lab needs {oldest} or newer; {remedy}")]
    OldTool {
        /// The tool.
        tool: &'static str,
        /// The installed version.
        version: String,
        /// The oldest supported version.
        oldest: String,
        /// How to install it.
        remedy: &'static str,
    },
    /// A port of the cluster's configuration is in use.
    #[error(
        "{tool} cannot create the cluster: {address} is already in use; stop the process that uses it, or choose another port in lab/{tool}.yaml"
    )]
    PortInUse {
        /// The tool.
        tool: &'static str,
        /// The address.
        address: String,
    },
    /// A cluster of the same name is being created by another process.
    #[error(
        "{tool} cannot create the cluster {NAME}: another process is creating one of this name; wait for it and retry"
    )]
    Busy {
        /// The tool.
        tool: &'static str,
    },
    /// A program timed out.
    #[error(
        "`{call}` did not finish within {seconds} s and was stopped; the partly created cluster is deleted"
    )]
    TimedOut {
        /// The command.
        call: String,
        /// The timeout.
        seconds: u64,
    },
    /// A program failed.
    #[error("`{call}` failed: {reason}")]
    Failed {
        /// The command.
        call: String,
        /// The error.
        reason: String,
    },
    /// The cluster record cannot be written.
    #[error("cannot write {path}: {reason}")]
    State {
        /// The file.
        path: String,
        /// The operating system's error.
        reason: String,
    },
    /// The user's kubeconfig cannot be changed.
    #[error("cannot add the cluster to the kubeconfig {path}: {reason}")]
    Kubeconfig {
        /// The file.
        path: String,
        /// The error.
        reason: String,
    },
}

impl LocalClusterError {
    /// Whether the user has to change something before a retry, rather than that a program failed.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::TimedOut { .. } | Self::Failed { .. })
    }
}
