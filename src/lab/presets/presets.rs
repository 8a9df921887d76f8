//! [`Presets`]: the presets of a running lab, and the commands that change them.

use std::path::PathBuf;
use std::sync::Arc;

use kube::Client;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::api_client::{ApiClient, RequestError};
use super::apply::{Applier, ApplyOptions};
use super::folder::FolderError;
use super::lab_settings::{BaseConfiguration, LabSettings};
use super::preset_settings::PresetSettings;
use super::presets_snapshot::PresetsSnapshot;
use super::reloader::{Command, IdleFlag, Reloader};
use super::save_review::SaveReview;
use super::state_publisher::StatePublisher;
use super::{Finding, Manifest, PresetsState};
use kueue_lab_clock::Clock;
use kueue_lab_yaml::Position;

/// The configuration of [`Presets`].
#[derive(Clone)]
pub struct PresetsConfig {
    /// The presets folder.
    pub folder: PathBuf,
    /// The active preset at the start; `None` applies nothing until a switch.
    pub active: Option<String>,
    /// Whether an invalid active preset is an error at the start. Otherwise the state has its errors, and
    /// it is applied when it is corrected.
    pub active_must_be_valid: bool,
    /// Whether to watch the files.
    pub watch: bool,
    /// Whether the state has all presets of the folder after the first one is applied, and not only the
    /// active one.
    pub lists_all: bool,
    /// The configuration of the controller for presets without `kueue.yaml`.
    pub base: BaseConfiguration,
    /// Applies the settings of presets; without it they are ignored.
    pub lab: Option<Arc<dyn LabSettings>>,
    /// The settings that are applied already.
    pub applied_settings: PresetSettings,
    /// Plans each save of the active preset.
    pub review: Option<Arc<dyn SaveReview>>,
    /// Changes the objects of a preset before they are applied.
    pub adapt: Option<fn(&mut Vec<Manifest>)>,
    /// How presets are applied.
    pub apply: ApplyOptions,
    /// The applied state, in place of applying the active preset.
    pub snapshot: Option<PresetsSnapshot>,
}

/// The error of applying a preset at the start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The folder or the preset cannot be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The preset is invalid.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<Finding>),
    /// The API server cannot be reached.
    #[error("{0}")]
    Unreachable(String),
}

/// The presets of a running lab.
pub struct Presets {
    commands: mpsc::Sender<Command>,
    idle: Arc<IdleFlag>,
    state: watch::Receiver<Arc<PresetsState>>,
    stop: CancellationToken,
}

impl Drop for Presets {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Presets {
    /// Applies the active preset, if any, and then watches its files.
    ///
    /// # Errors
    /// The preset cannot be read, or is invalid and must not be; then nothing is applied.
    pub async fn start(
        client: Client,
        clock: Clock,
        mut config: PresetsConfig,
    ) -> Result<Self, StartError> {
        let unreachable = |e: RequestError| StartError::Unreachable(e.to_string());
        let (remote, snapshot) = (ApiClient { client }, config.snapshot.take());
        let applier = match &snapshot {
            Some(snapshot) => Applier::from_snapshot(remote, snapshot, config.apply),
            None => {
                let applier = Applier::new(remote, config.apply).await;
                applier.map_err(unreachable)?
            }
        };
        let (publisher, state) = StatePublisher::new(&config.folder);
        let (commands, received_commands) = mpsc::channel(16);
        let stop = CancellationToken::new();
        let idle = Arc::new(IdleFlag::default());
        let mut reloader = Reloader::new(applier, idle.clone(), clock, publisher, config);
        // Watch before reading, so that no change in between is lost.
        let mut watch = reloader.watch_files();
        match snapshot {
            Some(snapshot) => reloader.set_applied(snapshot),
            None => reloader.apply_first().await?,
        }
        reloader.update_watched_folders(&mut watch);
        tokio::spawn(reloader.run(received_commands, watch, stop.clone()));
        Ok(Self {
            commands,
            idle,
            state,
            stop,
        })
    }

    /// Activates another preset: applies it, then prunes the objects that only the old one has.
    ///
    /// # Errors
    /// The findings; the old preset stays active.
    pub async fn switch(&self, name: &str) -> Result<(), Vec<Finding>> {
        let (reply, received) = oneshot::channel();
        let stopped = || vec![Finding::error(name, Position::START, "the lab is stopping")];
        let command = Command::Switch(name.to_owned(), reply);
        self.commands.send(command).await.map_err(|_| stopped())?;
        received.await.map_err(|_| stopped())?
    }

    /// Applies all objects of the active preset again, in place of changes that other clients made.
    ///
    /// # Errors
    /// The findings; the last good state stays applied.
    pub async fn restore(&self) -> Result<(), Vec<Finding>> {
        let (reply, received) = oneshot::channel();
        let stopped = || vec![Finding::error("", Position::START, "the lab is stopping")];
        let sent = self.commands.send(Command::Restore(reply)).await;
        sent.map_err(|_| stopped())?;
        received.await.map_err(|_| stopped())?
    }

    /// Reloads the files now, whether or not they are watched.
    pub async fn reload(&self) {
        let (reply, received) = oneshot::channel();
        if self.commands.send(Command::Reload(reply)).await.is_ok() {
            let _ = received.await;
        }
    }

    /// The applied state; `None` unless the active preset is applied as it is in its files.
    pub async fn snapshot(&self) -> Option<PresetsSnapshot> {
        let (reply, received) = oneshot::channel();
        self.commands.send(Command::Snapshot(reply)).await.ok()?;
        received.await.ok()?
    }

    /// Stops applying files while another lab leads, or applies the current files again.
    pub fn set_idle(&self, idle: bool) {
        self.idle.set(idle);
    }

    /// The current state.
    pub fn state(&self) -> Arc<PresetsState> {
        self.state.borrow().clone()
    }

    /// A receiver of state changes.
    pub fn changes(&self) -> watch::Receiver<Arc<PresetsState>> {
        self.state.clone()
    }

    /// Stops watching the files; applied objects stay in the cluster.
    pub async fn shutdown(&self) {
        self.stop.cancel();
        self.commands.closed().await;
    }
}
