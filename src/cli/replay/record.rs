//! Records a trace: the Workloads of a cluster that finish, one a line, until an interrupt.

use std::collections::BTreeSet;
use std::path::Path;

use futures::StreamExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::Client;
use kube::runtime::watcher::{Config, Error as WatcherError, Event};
use kueue_lab_api::constants::{ADMITTED, EVICTED, FINISHED};
use kueue_lab_api::v1beta2::{API_VERSION, Workload};
use kueue_lab_clock::Clock;
use kueue_lab_controller_runtime::{Api, WatchError, watcher};
use serde_json::json;

use super::workload_lists::{LIST_INTERVAL, WorkloadLists};
use crate::cli::kubeconfig_args::request_error;
use crate::cli::lab_time::lab_or_real_time;
use crate::cli::output::NewFile;
use crate::cli::{CommandError, Shutdown};

/// The number of consecutive failed requests after which the cluster counts as unreachable. Before the
/// Workloads are listed, one is enough.
const MAX_FAILURES: u32 = 6;

/// The numbers of a recording.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recorded {
    /// The jobs in the trace.
    pub(super) jobs: usize,
    /// Workloads that ran and were not finished at the end.
    pub(super) running: usize,
}

/// Writes the finished Workloads of a cluster to a file, and each further one when it finishes, until SIGINT
/// or SIGTERM. An existing file is replaced when the finished ones are written. Without the right to watch
/// Workloads, they are listed repeatedly.
///
/// # Errors
/// The file cannot be written, the Workloads cannot be listed, or the cluster is gone.
pub(super) async fn record(client: &Client, path: &Path) -> Result<Recorded, CommandError> {
    let mut recorder = Recorder {
        path,
        file: NewFile::create(path)?,
        recorded: BTreeSet::new(),
        running: BTreeSet::new(),
        failures: 0,
    };
    let shutdown = Shutdown::start(false)?;
    tokio::select! {
        biased;
        () = shutdown.requested() => {}
        ended = recorder.record(client) => ended?,
    }
    match recorder.file.is_in_place() {
        true => Ok(Recorded {
            jobs: recorder.recorded.len(),
            running: recorder.running.len(),
        }),
        false => {
            let why = "interrupted before the Workloads were listed";
            Err(CommandError::failed(why).hinting("nothing is recorded"))
        }
    }
}

/// The failed request of a watch, if one failed.
fn failed_request(error: &WatcherError) -> Option<&kube::Error> {
    match error {
        WatcherError::InitialListFailed(cause)
        | WatcherError::WatchStartFailed(cause)
        | WatcherError::WatchFailed(cause) => Some(cause),
        WatcherError::WatchError(_) | WatcherError::NoResourceVersion => None,
    }
}

/// Whether Workloads can be listed, but not watched.
fn is_watch_forbidden(error: &WatcherError) -> bool {
    let code = match error {
        WatcherError::WatchStartFailed(kube::Error::Api(status))
        | WatcherError::WatchFailed(kube::Error::Api(status)) => status.code,
        WatcherError::WatchError(status) => status.code,
        _ => return false,
    };
    code == 403
}

struct Recorder<'a> {
    path: &'a Path,
    file: NewFile,
    /// The UIDs of the Workloads in the trace.
    recorded: BTreeSet<String>,
    /// Those of admitted ones that are not finished.
    running: BTreeSet<String>,
    /// Requests that failed one after the other.
    failures: u32,
}

impl Recorder<'_> {
    /// Records until an error.
    async fn record(&mut self, client: &Client) -> Result<(), CommandError> {
        let events = watcher(Api::<Workload>::all(client.clone()), Config::default());
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    self.failures = 0;
                    self.observe(client, event).await?;
                }
                Err(WatchError::InvalidObject { key, error, .. }) => {
                    eprintln!("note: Workload {key} is not recorded: {error}");
                }
                Err(WatchError::Request(error)) if is_watch_forbidden(&error) => {
                    return self.record_lists(client).await;
                }
                Err(WatchError::Request(error)) => match failed_request(&error) {
                    Some(cause) => self.check_failure(cause)?,
                    None => self.check_failures(|| CommandError::failed(error))?,
                },
            }
        }
        Ok(())
    }

    /// Records from lists until an error.
    async fn record_lists(&mut self, client: &Client) -> Result<(), CommandError> {
        eprintln!(
            "note: without the right to watch Workloads, they are listed every {} s; those that finish and are deleted in between are not recorded",
            LIST_INTERVAL.as_secs()
        );
        let mut lists = WorkloadLists::default();
        loop {
            match lists.events(client).await {
                Ok(events) => {
                    self.failures = 0;
                    for event in events {
                        self.observe(client, event).await?;
                    }
                }
                Err(cause) => self.check_failure(&cause)?,
            }
            Clock::real().sleep(LIST_INTERVAL).await;
        }
    }

    /// Counts a failed request.
    ///
    /// # Errors
    /// The recording cannot continue: without permission, without Kueue, or when the cluster does not answer.
    fn check_failure(&mut self, cause: &kube::Error) -> Result<(), CommandError> {
        match cause {
            kube::Error::Api(status) if [401, 403, 404].contains(&status.code) => {
                Err(self.ended(request_error(cause)))
            }
            _ => self.check_failures(|| request_error(cause)),
        }
    }

    fn check_failures(&mut self, why: impl FnOnce() -> CommandError) -> Result<(), CommandError> {
        self.failures += 1;
        let most = match self.file.is_in_place() {
            true => MAX_FAILURES,
            false => 1,
        };
        match self.failures >= most {
            true => Err(self.ended(why())),
            false => Ok(()),
        }
    }

    /// The error of a recording that ends, with the recorded part.
    fn ended(&self, why: CommandError) -> CommandError {
        let (count, path) = (self.recorded.len(), self.path.display());
        why.hinting(match self.file.is_in_place() {
            true => format!("{count} jobs are recorded in {path}"),
            false => "nothing is recorded".to_owned(),
        })
    }

    async fn observe(
        &mut self,
        client: &Client,
        event: Event<Workload>,
    ) -> Result<(), CommandError> {
        match event {
            Event::Init => Ok(()),
            Event::InitDone => self.file.replace(),
            Event::Apply(wl) | Event::InitApply(wl) => self.apply(&wl),
            Event::Delete(mut wl) => {
                let ran = wl.is_condition_true(ADMITTED) && !wl.is_condition_true(EVICTED);
                if ran && !wl.is_condition_true(FINISHED) {
                    let deleted = wl.metadata.deletion_timestamp.clone();
                    let at = match deleted {
                        Some(at) => at,
                        None => Time(lab_or_real_time(client).await),
                    };
                    wl.status.conditions.push(deletion(at));
                }
                let written = self.apply(&wl);
                self.running.remove(uid(&wl));
                written
            }
        }
    }

    /// Writes a Workload that is finished and was admitted.
    fn apply(&mut self, wl: &Workload) -> Result<(), CommandError> {
        let admitted = wl.is_condition_true(ADMITTED);
        if !wl.is_condition_true(FINISHED) {
            match admitted {
                true => self.running.insert(uid(wl).to_owned()),
                false => self.running.remove(uid(wl)),
            };
            return Ok(());
        }
        self.running.remove(uid(wl));
        if !admitted || !self.recorded.insert(uid(wl).to_owned()) {
            return Ok(());
        }
        let conditions = wl.status.conditions.iter();
        let conditions = conditions.filter(|c| c.type_ == ADMITTED || c.type_ == FINISHED);
        let record = json!({
            "apiVersion": API_VERSION,
            "kind": "Workload",
            "metadata": {
                "namespace": wl.metadata.namespace,
                "name": wl.metadata.name,
                "creationTimestamp": wl.metadata.creation_timestamp,
            },
            "spec": wl.spec,
            "status": {
                "conditions": conditions.collect::<Vec<_>>(),
                "accumulatedPastExecutionTimeSeconds": wl.status.accumulated_past_execution_time_seconds,
            },
        });
        let line = record.to_string() + "\n";
        self.file.write(line.as_bytes())
    }
}

fn uid(wl: &Workload) -> &str {
    wl.metadata.uid.as_deref().unwrap_or_default()
}

/// The end of a Workload that was deleted while its job ran.
fn deletion(at: Time) -> Condition {
    Condition {
        type_: FINISHED.to_owned(),
        status: "True".to_owned(),
        reason: "Deleted".to_owned(),
        message: "The Workload was deleted while it was admitted".to_owned(),
        last_transition_time: at,
        observed_generation: None,
    }
}
