//! The interface to what runs containers, as the CRI is the kubelet's.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kueue_lab_container_program::Step;
use kueue_lab_streaming::remote_command::{ContainerStreams, StartError};

use super::pod_workers::Kubelet;
use super::running_instance::RunningInstance;

/// What runs the containers of the lab's nodes.
#[async_trait]
pub trait ContainerRuntime: Debug + Send + Sync {
    /// The steps of the command line `words` of a container with this image, in a pod with `containers` containers;
    /// `None` if they are not known.
    fn steps(
        &self,
        words: &[&str],
        environment: &BTreeMap<String, String>,
        image: &str,
        containers: usize,
    ) -> Option<Vec<Step>>;

    /// The container of an instance, for commands.
    ///
    /// # Errors
    /// Commands cannot be executed in it.
    async fn container(
        &self,
        kubelet: &Kubelet,
        instance: &RunningInstance,
    ) -> Result<Arc<dyn Container>, StartError>;

    /// Follows a pod that was added, changed or deleted; on all nodes.
    fn pod_changed(&self, pod: &Pod, now: Timestamp);

    /// Drops the state of a pod that has ended.
    fn remove_pod(&self, uid: &str);
}

/// The error of a command that was not started, with the text of the container runtime.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ExecError(pub String);

/// A container in which commands are executed.
#[async_trait]
pub trait Container: Send + Sync {
    /// Executes a command, which is not run by a shell; with `tty` in a terminal. Returns its exit code.
    ///
    /// # Errors
    /// The command is not found or not executable.
    async fn exec(
        &self,
        command: &[String],
        tty: bool,
        streams: ContainerStreams,
    ) -> Result<i32, ExecError>;

    /// A new ID of an execution, for messages.
    fn exec_id(&self) -> String;
}
