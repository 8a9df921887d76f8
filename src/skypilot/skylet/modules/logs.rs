//! `sky.skylet.log_lib.tail_logs`: the log of a job, to its end.

use std::time::Duration;

use kueue_lab_python::{Arguments, Exception, Value};

use super::host::Modules;
use crate::job_table::JobStatus;
use crate::runtime::expand_user;

/// The first line that is shown; those before it are of the driver.
const START: &str = "Waiting for task resources on ";
/// The time between two reads of a log that is followed.
const GAP: Duration = Duration::from_millis(200);

/// `tail_logs(job_id, log_dir, managed_job_id, follow, tail, tail_offset)`
pub(super) async fn tail_logs(
    modules: &Modules,
    arguments: &Arguments,
) -> Result<Value, Exception> {
    let Some(id) = arguments.int(0, "job_id") else {
        modules
            .print("Skip streaming logs as no job has been submitted.\n")
            .await;
        return Ok(Value::None);
    };
    let job = match arguments.int(2, "managed_job_id") {
        Some(managed) => format!("Managed job {managed}"),
        None => format!("Job {id}"),
    };
    let Some(directory) = arguments.get(1, "log_dir").and_then(Value::as_str) else {
        modules
            .print(format!("{job} not found (see `sky queue`).\n"))
            .await;
        return Ok(Value::None);
    };
    let follow = arguments.get(3, "follow").is_none_or(Value::is_true);
    let count = |position, name| {
        let count = arguments.int(position, name).unwrap_or(0);
        usize::try_from(count).unwrap_or(0)
    };
    let (tail, skipped) = (count(4, "tail"), count(5, "tail_offset"));
    let path = format!("{}/run.log", expand_user(directory));
    let system = modules.container.system();
    let (mut position, mut started) = (0, false);
    loop {
        // The state is read first, so that the log of a job that has ended is complete.
        let status = modules.runtime.jobs.lock().status(id);
        let is_final = status.is_none_or(JobStatus::is_terminal);
        let log = modules.container.read_file(&path).unwrap_or_default();
        let new = log.get(position..).unwrap_or_default();
        let end = match is_final || !follow {
            true => new.len(),
            false => new
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1),
        };
        let text = String::from_utf8_lossy(&new[..end]);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let lines = match position == 0 && tail > 0 {
            true => {
                let last = lines.len().saturating_sub(skipped);
                // A tail that does not reach the first line is shown from its start.
                let shown = &lines[last.saturating_sub(tail)..last];
                started |= !shown.iter().any(|line| line.contains(START));
                shown
            }
            false => &lines[..],
        };
        let mut printed = String::new();
        for line in lines {
            started |= line.contains(START);
            if started {
                printed.push_str(line);
            }
        }
        position += end;
        if !printed.is_empty() {
            modules.print(printed).await;
        }
        if is_final {
            let status = status.map_or("None", JobStatus::name);
            let text = format!("Job finished (status: {status}).");
            modules
                .print(format!("\x1b[0m\x1b[32m✓ {text}\x1b[0m\x1b[0m\n"))
                .await;
            return Ok(Value::None);
        }
        if !follow || modules.output.is_closed() {
            return Ok(Value::None);
        }
        system.sleep(GAP).await;
    }
}
