//! Starts on a data directory that did not succeed: what is said at the next one.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kueue_lab_lab::{DataDir, Lab, StartRecord};

use crate::cli::{CommandError, Shutdown, confirm};

/// The failed starts in a row from which on `--without-controllers` is offered.
const OFFERED_AFTER: u32 = 2;
/// How long a lab works after its start until that has succeeded.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// Counts a start on a data directory and reports those before that failed.
pub(super) fn record_start(data: &DataDir) -> Arc<StartRecord> {
    let record = data.record_start();
    if record.failed() >= OFFERED_AFTER {
        eprint!("{}", report(&record, data.path()));
    }
    Arc::new(record)
}

fn report(record: &StartRecord, dir: &Path) -> String {
    let dir = dir.display();
    let mut text = format!(
        "the last {} starts on {dir} failed: the process aborted, was killed or hung before it had worked for {} s; if an object of the cluster is the cause, delete it with: kueue-lab up --data-dir {dir} --without-controllers\n",
        record.failed(),
        STABLE_AFTER.as_secs(),
    );
    if !record.suspects().is_empty() {
        text += "objects that may be the cause:\n";
    }
    for suspect in record.suspects() {
        text += &format!("  {suspect}\n");
    }
    text
}

/// Asks on the terminal whether to start without controllers, if earlier starts have failed.
///
/// # Errors
/// The shutdown is requested before the answer, or the terminal cannot be read.
pub(super) async fn asks_for_no_controllers(
    record: &StartRecord,
    shutdown: &Shutdown,
) -> Result<bool, CommandError> {
    if record.failed() < OFFERED_AFTER || !confirm::is_interactive() {
        return Ok(false);
    }
    // The thread waits for the terminal.
    let ask = || confirm::confirm("start without controllers?");
    let answer = tokio::task::spawn_blocking(ask);
    shutdown
        .unless_requested(answer)
        .await?
        .map_err(CommandError::failed)?
}

/// Records that a start has succeeded when the lab has worked for some time.
pub(super) fn record_success(lab: &Lab, record: &Arc<StartRecord>) {
    let (client, record) = (lab.client(), record.clone());
    lab.context().tasks.spawn("start-record", async move {
        loop {
            tokio::time::sleep(STABLE_AFTER).await;
            // A request passes only if the threads of the lab respond.
            if client.apiserver_version().await.is_ok() {
                return record.succeeded();
            }
        }
    });
}
