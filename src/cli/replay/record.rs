//! Records a trace: the Workloads of a cluster that finish, one a line, until an interrupt.

use std::collections::BTreeSet;
use std::path::Path;

use futures::StreamExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::Client;
use kube::runtime::watcher::{Config, Event};
use kueue_lab_api::constants::{ADMITTED, EVICTED, FINISHED};
use kueue_lab_api::v1beta2::{API_VERSION, Workload};
use kueue_lab_runtime::{Api, WatchError, watcher};
use serde_json::json;

use crate::cli::CliError;
use crate::cli::kubeconfig_args::request_error;
use crate::cli::lab_time::lab_or_real_time;
use crate::cli::output::NewFile;
use crate::cli::signals::shutdown_signal;

/// Requests that fail one after the other, after which the cluster counts as gone. One is enough before the
/// Workloads were listed.
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
/// or SIGTERM. An existing file is replaced when the finished ones are written.
///
/// # Errors
/// The file cannot be written, the Workloads cannot be watched, or the cluster is gone.
pub(super) async fn record(client: &Client, path: &Path) -> Result<Recorded, CliError> {
    let mut recorder = Recorder {
        file: NewFile::create(path)?,
        recorded: BTreeSet::new(),
        running: BTreeSet::new(),
    };
    let events = watcher(Api::<Workload>::all(client.clone()), Config::default());
    let mut events = std::pin::pin!(events);
    let mut interrupt = std::pin::pin!(shutdown_signal());
    let mut failures = 0;
    loop {
        let event = tokio::select! {
            biased;
            interrupted = &mut interrupt => {
                interrupted.map_err(CliError::failed)?;
                if !recorder.file.is_in_place() {
                    let why = "interrupted before the Workloads were listed; nothing is recorded";
                    return Err(CliError::failed(why));
                }
                break;
            }
            event = events.next() => event,
        };
        match event {
            None => break,
            Some(Ok(event)) => {
                failures = 0;
                recorder.observe(client, event).await?;
            }
            Some(Err(WatchError::InvalidObject { key, error, .. })) => {
                eprintln!("note: Workload {key} is not recorded: {error}");
            }
            Some(Err(WatchError::Request(error))) => {
                failures += 1;
                let most = match recorder.file.is_in_place() {
                    true => MAX_FAILURES,
                    false => 1,
                };
                if let Some(why) = reason_to_end(&error, failures >= most) {
                    let jobs = recorder.recorded.len();
                    let file = path.display();
                    let more = match recorder.file.is_in_place() {
                        true => format!("; {jobs} jobs are recorded in {file}"),
                        false => "; nothing is recorded".to_owned(),
                    };
                    return Err(match why {
                        CliError::Usage(why) => CliError::Usage(why + &more),
                        CliError::Failed(why) => CliError::Failed(why + &more),
                        job @ CliError::Job { .. } => job,
                    });
                }
            }
        }
    }
    Ok(Recorded {
        jobs: recorder.recorded.len(),
        running: recorder.running.len(),
    })
}

/// Why a watch cannot go on: without permission, without Kueue, or when the cluster does not answer.
fn reason_to_end(error: &kube::runtime::watcher::Error, is_gone: bool) -> Option<CliError> {
    use kube::runtime::watcher::Error;
    let cause = match error {
        Error::InitialListFailed(cause)
        | Error::WatchStartFailed(cause)
        | Error::WatchFailed(cause) => cause,
        Error::WatchError(_) | Error::NoResourceVersion => {
            return is_gone.then(|| CliError::failed(error));
        }
    };
    let is_final = match cause {
        kube::Error::Api(status) => [401, 403, 404].contains(&status.code),
        _ => is_gone,
    };
    is_final.then(|| request_error(cause))
}

struct Recorder {
    file: NewFile,
    /// The UIDs of the Workloads in the trace.
    recorded: BTreeSet<String>,
    /// Those of admitted ones that are not finished.
    running: BTreeSet<String>,
}

impl Recorder {
    async fn observe(&mut self, client: &Client, event: Event<Workload>) -> Result<(), CliError> {
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
    fn apply(&mut self, wl: &Workload) -> Result<(), CliError> {
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
