//! A simulated container as the kubelet executes commands in it.

use std::sync::Arc;

use async_trait::async_trait;
use kueue_lab_container::{Container, ExecStreams, TerminalSize};
use kueue_lab_kubelet::ExecError;
use kueue_lab_streaming::remote_command::ContainerStreams;
use tokio::sync::watch;

/// The size of a terminal until the client sends one.
const SIZE: TerminalSize = TerminalSize {
    columns: 80,
    lines: 24,
};

/// A simulated container.
pub(super) struct ExecContainer(pub(super) Arc<Container>);

#[async_trait]
impl kueue_lab_kubelet::Container for ExecContainer {
    async fn exec(
        &self,
        command: &[String],
        tty: bool,
        streams: ContainerStreams,
    ) -> Result<i32, ExecError> {
        let ContainerStreams {
            stdin,
            stdout,
            stderr,
            mut resize,
        } = streams;
        let (size, terminal) = watch::channel(SIZE);
        let streams = ExecStreams {
            stdin,
            stdout,
            stderr,
            terminal: tty.then_some(terminal),
        };
        let resizing = async {
            while let Some(new) = resize.recv().await {
                size.send_replace(TerminalSize {
                    columns: new.width,
                    lines: new.height,
                });
            }
            std::future::pending().await
        };
        tokio::select! {
            code = self.0.exec(command, streams) => code.map_err(|error| ExecError(error.to_string())),
            code = resizing => code,
        }
    }

    fn exec_id(&self) -> String {
        self.0.exec_id()
    }
}
