//! `attach`: the output of the main process, or its shell.

use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use jiff::Timestamp;
use kube::api::LogParams;
use kueue_lab_streaming::remote_command::{
    CommandError, ContainerStreams, RemoteCommand, StartError, StreamOptions,
};

use super::container_program::interactive_shell;
use super::exec::{ended, run};
use super::logs::LogQuery;
use super::pod_workers::Kubelet;
use kueue_lab_controller_runtime::ObjectKey;

impl Kubelet {
    /// The main process of a container: its output from now on. A shell with `stdin` reads the
    /// commands of the client, and its end is that of the container.
    ///
    /// # Errors
    /// The container does not run.
    pub async fn attach(
        &self,
        key: &ObjectKey,
        uid: &str,
        container: &str,
        options: StreamOptions,
    ) -> Result<RemoteCommand, StartError> {
        let (instance, ended_channel) = self.running(key, uid, container)?;
        let shell = interactive_shell(&instance.spec);
        if let Some(command) = shell.filter(|_| options.stdin) {
            let (kubelet, key) = (self.clone(), key.clone());
            let (uid, name) = (uid.to_owned(), container.to_owned());
            let container = self.container(&instance).await?;
            return Ok(Box::new(move |streams| {
                async move {
                    let has_ended = ended_channel.clone();
                    let namespace = key.namespace.clone();
                    let running = run(
                        namespace,
                        container,
                        command,
                        options.tty,
                        streams,
                        ended_channel,
                    );
                    let outcome = running.await;
                    let code = match &outcome {
                        Ok(()) => 0,
                        Err(CommandError::ExitCode(code)) => *code,
                        Err(CommandError::Runtime(_)) => 128,
                    };
                    if has_ended.borrow().is_none() {
                        let shared = kubelet.shared();
                        let now = shared.context.clock.now();
                        shared.terminate_container(&key, &uid, &name, now, code);
                    }
                    // The exit code is that of the container.
                    Ok(())
                }
                .boxed()
            }));
        }
        let query = LogQuery {
            uid: uid.to_owned(),
            container: container.to_owned(),
            options: LogParams {
                follow: true,
                tail_lines: Some(0),
                ..LogParams::default()
            },
        };
        let log = self.shared().logs.read(&query).ok();
        Ok(Box::new(move |streams: ContainerStreams| {
            async move {
                let ContainerStreams {
                    stdout, mut stdin, ..
                } = streams;
                let output = async {
                    let Some(mut log) = log else { return };
                    while let Some(line) = log.next().await {
                        let line = if options.tty {
                            carriage_returns(&line)
                        } else {
                            line
                        };
                        if let Some(stdout) = &stdout
                            && stdout.send(line).await.is_err()
                        {
                            return;
                        }
                    }
                };
                // The input is not read by the program.
                let input = async {
                    while let Some(stdin) = &mut stdin {
                        if stdin.recv().await.is_none() {
                            break;
                        }
                    }
                    std::future::pending::<()>().await;
                };
                tokio::select! {
                    () = output => {}
                    () = input => {}
                    () = ended(ended_channel) => {}
                }
                Ok(())
            }
            .boxed()
        }))
    }
}

fn carriage_returns(line: &Bytes) -> Bytes {
    let text = String::from_utf8_lossy(line).replace('\n', "\r\n");
    Bytes::from(text)
}

impl super::pod_workers::Shared {
    /// Ends a container at `at` with an exit code, as if its program had exited.
    pub(super) fn terminate_container(
        &self,
        key: &ObjectKey,
        uid: &str,
        container: &str,
        at: Timestamp,
        code: i32,
    ) {
        {
            let mut pods = self.simulated_pods.lock();
            let Some(pod) = pods.get_mut(key).filter(|pod| pod.uid == uid) else {
                return;
            };
            let mut containers = pod.containers.iter_mut();
            let Some(container) = containers.find(|c| c.name == container) else {
                return;
            };
            container.terminate_by(at, code);
        }
        self.queue.add(key.clone());
    }
}
