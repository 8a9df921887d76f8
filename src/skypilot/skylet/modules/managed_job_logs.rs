//! `sky.jobs.utils.stream_logs`: the log of a managed job, or of its controller, to its end.

use std::sync::Arc;
use std::time::Duration;

use kueue_lab_python::{Arguments, Exception, Value};

use super::host::Modules;
use crate::jobs_controller::{JobsController, ManagedJob};

/// The time between two reads of a log that is followed.
const GAP: Duration = Duration::from_millis(500);
/// The exit code if there is no such job.
const NOT_FOUND: i64 = 102;

/// `stream_logs(job_id, job_name, controller, follow, tail, tail_offset, task)`: a message and an exit code.
pub(super) async fn stream_logs(
    modules: &Modules,
    controller: &Arc<dyn JobsController>,
    arguments: &Arguments,
) -> Result<Value, Exception> {
    let result = |text: String, code| Value::Tuple([Value::str(text), Value::Int(code)].into());
    let name = arguments.by_name("job_name").and_then(Value::as_str);
    let jobs = controller.jobs();
    let is_meant = |job: &&ManagedJob| name.is_none_or(|name| job.job.name == name);
    let id = arguments.by_name("job_id").and_then(Value::as_int);
    let Some(id) = id.or_else(|| jobs.iter().find(is_meant).map(|job| job.id)) else {
        let text = match name {
            Some(name) => format!("No running managed job found with name '{name}'."),
            None => "No managed job found.".to_owned(),
        };
        return Ok(result(text, NOT_FOUND));
    };
    let is_set = |name| arguments.by_name(name).is_some_and(Value::is_true);
    let follow = arguments.by_name("follow").is_none_or(Value::is_true);
    let of_controller = is_set("controller");
    let tail = arguments.by_name("tail").and_then(Value::as_int);
    let mut tail = tail.and_then(|tail| usize::try_from(tail).ok());
    let find = || controller.jobs().into_iter().find(|job| job.id == id);
    let (mut attempt, mut position) = (0, 0);
    loop {
        // The state is read first, so that the log of a job that has ended is complete.
        let Some(job) = find() else {
            return Ok(result(format!("Job {id} not found."), NOT_FOUND));
        };
        let output = match of_controller {
            true => controller.controller_log(id),
            false => {
                let output = controller.output(id).unwrap_or_default();
                if output.attempt != attempt {
                    (attempt, position) = (output.attempt, 0);
                }
                output.text
            }
        };
        let new = output.get(position..).unwrap_or_default();
        let shown = match tail.take() {
            Some(lines) => last_lines(new, lines),
            None => new,
        };
        if !shown.is_empty() {
            modules.print(shown).await;
        }
        position = output.len();
        let code = job.exit_code();
        if !follow {
            return Ok(result(String::new(), if code == 101 { 0 } else { code }));
        }
        if job.is_terminal() {
            let what = match of_controller {
                true => "Job finished".to_owned(),
                false => format!("Managed job finished: {id}"),
            };
            let text = format!("{what} (status: {}).", job.status);
            return Ok(result(
                format!("\x1b[0m\x1b[32m✓ {text}\x1b[0m\x1b[0m"),
                code,
            ));
        }
        if modules.output.is_closed() {
            return Ok(result(String::new(), code));
        }
        modules.container.system().sleep(GAP).await;
    }
}

/// The last lines of a text.
fn last_lines(text: &str, count: usize) -> &str {
    let mut starts: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    starts.insert(0, 0);
    starts.retain(|start| *start < text.len());
    let first = starts.len().saturating_sub(count);
    starts
        .get(first)
        .and_then(|start| text.get(*start..))
        .unwrap_or_default()
}
