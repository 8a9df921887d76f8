//! [`LabRecording`]: the recording of a lab of this process.

use std::path::PathBuf;

use kueue_lab_lab::{Cluster, Lab};
use kueue_lab_recording::{
    HistoryLimits, Recorder, RecorderConfig, RecordingError, RecordingSummary, SharedHistory,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::CommandError;
use super::recording_file::unusable;

/// The recording of a lab of this process: to a file, and in memory for a UI.
pub(super) struct LabRecording {
    history: Option<SharedHistory>,
    stop: CancellationToken,
    recorder: JoinHandle<Result<RecordingSummary, RecordingError>>,
}

impl LabRecording {
    /// Starts to record; `None` if there is neither a file nor a UI.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) async fn start(
        lab: &Lab,
        file: Option<PathBuf>,
        has_ui: bool,
    ) -> Result<Option<Self>, CommandError> {
        if file.is_none() && !has_ui {
            return Ok(None);
        }
        let (cluster, is_embedded) = match lab.cluster() {
            Cluster::Embedded(_) => ("embedded".to_owned(), true),
            Cluster::Remote(remote) => (remote.name().to_owned(), false),
        };
        let config = RecorderConfig {
            client: lab.client(),
            clock: lab.clock().clone(),
            cluster,
            streaming_lists: is_embedded,
            history: has_ui.then(HistoryLimits::default),
            file: file.clone(),
        };
        let recorder = Recorder::start(config).await;
        let recorder =
            recorder.map_err(|error| unusable("write", &file.unwrap_or_default(), error))?;
        let (history, stop) = (recorder.history(), CancellationToken::new());
        Ok(Some(Self {
            history,
            recorder: tokio::spawn(recorder.run(stop.clone())),
            stop,
        }))
    }

    /// The history in memory, if there is a UI.
    pub(super) fn history(&self) -> Option<SharedHistory> {
        self.history.clone()
    }

    /// Ends a recording, if there is one.
    pub(super) async fn finish(recording: Option<Self>) {
        let Some(Self { stop, recorder, .. }) = recording else {
            return;
        };
        stop.cancel();
        if let Ok(Err(error)) = recorder.await {
            tracing::error!("the recording is not complete: {error}");
        }
    }
}
