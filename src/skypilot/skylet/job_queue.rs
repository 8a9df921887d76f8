//! The queue of jobs whose drivers have not started.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_lab_container::{Container, ExecStreams};
use tokio::task::AbortHandle;

use crate::job_table::JobStatus;
use crate::runtime::{Runtime, now};

/// A job that waits.
struct Pending {
    id: i64,
    command: String,
    /// Its driver has started, and waits for resources.
    submitted: bool,
}

/// The queue, and the drivers that run.
#[derive(Default)]
pub(crate) struct JobQueue {
    pending: Vec<Pending>,
    drivers: BTreeMap<i64, AbortHandle>,
}

impl Runtime {
    /// Adds a job to the queue; `command` runs its driver.
    pub(crate) fn queue_job(
        self: &Arc<Self>,
        container: &Arc<Container>,
        id: i64,
        command: String,
    ) {
        self.jobs
            .lock()
            .set_status(id, JobStatus::Pending, now(container));
        self.queue.lock().pending.push(Pending {
            id,
            command,
            submitted: false,
        });
        self.schedule_step(container);
    }

    /// Starts the driver of the next job, unless the one before it still waits for resources.
    pub(crate) fn schedule_step(self: &Arc<Self>, container: &Arc<Container>) {
        let mut queue = self.queue.lock();
        queue.pending.retain(|pending| {
            let status = self.jobs.lock().status(pending.id);
            status.is_some_and(JobStatus::is_waiting)
        });
        let Some(next) = queue.pending.first_mut().filter(|next| !next.submitted) else {
            return;
        };
        next.submitted = true;
        let (id, command) = (next.id, next.command.clone());
        if let Some(job) = self.jobs.lock().get_mut(id) {
            job.pid = container.next_pid();
        }
        let driver = run_driver(self.clone(), container.clone(), id, command);
        match container.spawn(driver) {
            Some(handle) => drop(queue.drivers.insert(id, handle)),
            None => {
                let mut jobs = self.jobs.lock();
                jobs.set_status(id, JobStatus::FailedDriver, now(container));
            }
        }
    }

    /// Cancels jobs that have not ended: those with these numbers, all of the user, or the newest one of the
    /// user that runs. Returns the numbers of the cancelled ones.
    pub(crate) fn cancel_jobs(
        self: &Arc<Self>,
        container: &Arc<Container>,
        ids: Option<Vec<i64>>,
        all: bool,
        user: Option<&str>,
    ) -> Vec<i64> {
        let mut cancelled = Vec::new();
        {
            let mut jobs = self.jobs.lock();
            let candidates = match ids {
                Some(ids) => ids,
                None if all => jobs.newest(user).map(|(id, _)| id).collect(),
                None => {
                    let is_running =
                        |job: &(i64, &crate::job_table::Job)| job.1.status == JobStatus::Running;
                    jobs.newest(user)
                        .filter(is_running)
                        .map(|(id, _)| id)
                        .take(1)
                        .collect()
                }
            };
            for id in candidates {
                let status = jobs.status(id);
                if !status.is_some_and(|s| !s.is_terminal() && s != JobStatus::Init) {
                    continue;
                }
                if let Some(driver) = self.queue.lock().drivers.remove(&id) {
                    driver.abort();
                }
                jobs.set_status(id, JobStatus::Cancelled, now(container));
                cancelled.push(id);
            }
        }
        self.schedule_step(container);
        cancelled
    }
}

/// Runs the driver of a job to its end. A driver that sets no final state has failed.
async fn run_driver(runtime: Arc<Runtime>, container: Arc<Container>, id: i64, command: String) {
    let words = ["/bin/bash", "-c", &command].map(str::to_owned);
    let streams = ExecStreams {
        stdin: None,
        stdout: None,
        stderr: None,
        terminal: None,
    };
    let _ = container.exec(&words, streams).await;
    let ended = now(&container);
    runtime.queue.lock().drivers.remove(&id);
    runtime
        .jobs
        .lock()
        .set_status(id, JobStatus::FailedDriver, ended);
    runtime.schedule_step(&container);
}
