//! `exec`: a command in a container.

use std::sync::{Arc, LazyLock};

use futures::FutureExt;
use http::StatusCode;
use jiff::Timestamp;
use kueue_lab_blocking::HeavyWork;
use kueue_lab_streaming::remote_command::{
    CommandError, ContainerStreams, RemoteCommand, StartError, StreamOptions,
};
use tokio::sync::watch;

use super::container_runtime::Container;
use super::pod_workers::Kubelet;
use super::running_instance::RunningInstance;
use kueue_lab_controller_runtime::ObjectKey;

/// Commands that compute at the same time. They yield, but some of them take long until they do.
static COMMANDS: LazyLock<HeavyWork> = LazyLock::new(|| HeavyWork::new(2));

/// The exit code of a process that is killed with its container.
const KILLED: i32 = 137;
/// Changes when a container ends.
pub(super) type Ended = watch::Receiver<Option<Timestamp>>;

/// Completes when a container has ended.
pub(super) async fn ended(mut ended: Ended) {
    // The sender is dropped with the pod.
    let _ = ended.wait_for(Option::is_some).await;
}

fn not_found(container: &str) -> StartError {
    StartError {
        status: StatusCode::INTERNAL_SERVER_ERROR,
        message: format!("container not found ({container:?})"),
    }
}

impl Kubelet {
    /// A running container, and the channel that changes when it ends.
    ///
    /// # Errors
    /// The container does not run.
    pub(super) fn running(
        &self,
        key: &ObjectKey,
        uid: &str,
        container: &str,
    ) -> Result<(RunningInstance, Ended), StartError> {
        let shared = self.shared();
        let instance = shared.running_instance(key, uid, container);
        let ended = shared.logs.ended(uid, container);
        match (instance, ended) {
            (Some(instance), Some(ended)) if ended.borrow().is_none() => {
                Ok((instance, ended.clone()))
            }
            _ => Err(not_found(container)),
        }
    }

    /// A command that runs in a container of a pod.
    ///
    /// # Errors
    /// The container does not run.
    pub async fn exec(
        &self,
        key: &ObjectKey,
        uid: &str,
        container: &str,
        command: Vec<String>,
        options: StreamOptions,
    ) -> Result<RemoteCommand, StartError> {
        let (instance, ended) = self.running(key, uid, container)?;
        let container = self.container(&instance).await?;
        let namespace = key.namespace.clone();
        Ok(Box::new(move |streams| {
            run(namespace, container, command, options.tty, streams, ended).boxed()
        }))
    }
}

/// Runs a command until it exits or its container ends. The commands of namespaces take turns.
pub(super) async fn run(
    namespace: String,
    container: Arc<dyn Container>,
    command: Vec<String>,
    tty: bool,
    streams: ContainerStreams,
    ended_channel: Ended,
) -> Result<(), CommandError> {
    let code = tokio::select! {
        code = COMMANDS.run(&namespace, container.exec(&command, tty, streams)) => code,
        () = ended(ended_channel) => Ok(KILLED),
    };
    match code {
        Ok(0) => Ok(()),
        Ok(code) => Err(CommandError::ExitCode(code)),
        Err(error) => {
            let id = container.exec_id();
            Err(CommandError::Runtime(format!(
                "failed to exec in container: failed to start exec \"{id}\": {error}: unknown"
            )))
        }
    }
}
