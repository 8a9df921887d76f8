//! The one task that reads, applies and watches.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kube::Client;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::api_client::ApiClient;
use super::apply::{Applier, ApplyError, ApplyOutcome};
use super::file_notify::{FileWatcher, folders_of_preset};
use super::folder::{self, FolderError, PresetSource};
use super::{Finding, ParsedPreset, PresetInfo, PresetsState, SyncStatus, parse};
use kueue_lab_api::config::FeatureGates;
use kueue_lab_clock::Clock;
use kueue_lab_yaml::Position;

/// How long a file that is suddenly empty may stay so before that is believed.
const EMPTY_FILE_GRACE: Duration = Duration::from_millis(60);
/// When a change that failed half-way is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// Where presets come from and which one comes first.
#[derive(Clone, Debug)]
pub struct PresetsConfig {
    /// The presets folder.
    pub folder: PathBuf,
    /// The preset to start with.
    pub active: String,
    /// Whether changes of the files are followed.
    pub watch: bool,
    /// Feature gates of the controller, which decide what is valid.
    pub gates: FeatureGates,
}

/// Why no preset could be put in force.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The folder or the preset cannot be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The preset is wrong.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<Finding>),
    /// The API server does not answer.
    #[error("{0}")]
    Unreachable(String),
}

enum Command {
    Switch(String, oneshot::Sender<Result<(), Vec<Finding>>>),
    Reload(oneshot::Sender<()>),
}

/// Whether somebody else decides which preset is in force.
#[derive(Default)]
struct IdleFlag {
    on: AtomicBool,
    changed: Notify,
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
    /// Puts a preset in force and then follows its files.
    ///
    /// # Errors
    /// The preset cannot be read or applied; nothing is then in force.
    pub async fn start(
        client: Client,
        clock: Clock,
        config: PresetsConfig,
    ) -> Result<Self, StartError> {
        let unreachable =
            |e: super::api_client::RequestError| StartError::Unreachable(e.to_string());
        let applier = Applier::new(ApiClient { client })
            .await
            .map_err(unreachable)?;
        let initial = PresetsState {
            origin: config.folder.display().to_string(),
            ..PresetsState::default()
        };
        let (publish, state) = watch::channel(Arc::new(initial));
        let (commands, inbox) = mpsc::channel(16);
        let stop = CancellationToken::new();
        let rest = Arc::new(IdleFlag::default());
        let mut actor = Reloader {
            applier,
            idle: rest.clone(),
            clock,
            state: publish,
            last_read: None,
            retry_at: None,
            inventory_stale: false,
            config,
        };
        // Watching starts before reading, so that no change falls between the two.
        let mut watch = actor.config.watch.then(FileWatcher::new);
        actor.update_watched_folders(&mut watch);
        let source = folder::read(&actor.config.folder, &actor.config.active)?;
        let name = actor.config.active.clone();
        actor
            .apply_preset(&name, source)
            .await
            .map_err(StartError::Invalid)?;
        actor.update_watched_folders(&mut watch);
        tokio::spawn(actor.run(inbox, watch, stop.clone()));
        Ok(Self {
            commands,
            idle: rest,
            state,
            stop,
        })
    }

    /// Puts another preset in force: applies it, then takes away what only the old one had.
    ///
    /// # Errors
    /// What is wrong with it; the old one then stays in force.
    pub async fn switch(&self, name: &str) -> Result<(), Vec<Finding>> {
        let (reply, answer) = oneshot::channel();
        let stopped = || vec![Finding::error(name, Position::START, "the lab is stopping")];
        let command = Command::Switch(name.to_owned(), reply);
        self.commands.send(command).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// Looks at the files at once, whether or not they are watched.
    pub async fn reload(&self) {
        let (reply, answer) = oneshot::channel();
        if self.commands.send(Command::Reload(reply)).await.is_ok() {
            let _ = answer.await;
        }
    }

    /// Leaves the cluster to another lab, whatever the files say meanwhile; or puts what they say by
    /// then in force again.
    pub fn set_idle(&self, idle: bool) {
        if self.idle.on.swap(idle, Ordering::SeqCst) != idle {
            self.idle.changed.notify_one();
        }
    }

    /// How things stand.
    pub fn state(&self) -> Arc<PresetsState> {
        self.state.borrow().clone()
    }

    /// Changes whenever the state does.
    pub fn changes(&self) -> watch::Receiver<Arc<PresetsState>> {
        self.state.clone()
    }

    /// Stops following the files; what is in force stays in the cluster.
    pub async fn shutdown(&self) {
        self.stop.cancel();
        self.commands.closed().await;
    }
}

struct Reloader {
    applier: Applier,
    idle: Arc<IdleFlag>,
    clock: Clock,
    config: PresetsConfig,
    state: watch::Sender<Arc<PresetsState>>,
    /// The files as they were last looked at.
    last_read: Option<PresetSource>,
    /// When to try again what failed half-way.
    retry_at: Option<tokio::time::Instant>,
    /// Whether another lab may have applied something since.
    inventory_stale: bool,
}

impl Reloader {
    async fn run(
        mut self,
        mut inbox: mpsc::Receiver<Command>,
        mut watch: Option<FileWatcher>,
        stop: CancellationToken,
    ) {
        let rest = self.idle.clone();
        let mut rested = false;
        loop {
            let retry = self.retry_at;
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = rest.changed.notified() => {
                    let rests = self.is_idle();
                    if std::mem::replace(&mut rested, rests) && !rests {
                        self.retry_at = Some(tokio::time::Instant::now());
                        self.inventory_stale = true;
                    }
                }
                command = inbox.recv() => match command {
                    None => return,
                    Some(Command::Switch(name, reply)) => {
                        let _ = reply.send(self.switch(&name).await);
                    }
                    Some(Command::Reload(reply)) => {
                        self.reload(false).await;
                        let _ = reply.send(());
                    }
                },
                () = changed(&mut watch) => self.reload(false).await,
                () = due(retry) => {
                    self.retry_at = None;
                    self.reload(true).await;
                }
            }
            self.update_watched_folders(&mut watch);
        }
    }

    /// Watches where the files are now.
    fn update_watched_folders(&self, watch: &mut Option<FileWatcher>) {
        if let Some(watch) = watch {
            watch.watch_folders(folders_of_preset(&self.config.folder, &self.config.active));
        }
    }

    /// Reads the files again and, when they say something else, applies them.
    async fn reload(&mut self, force: bool) {
        if self.is_idle() {
            return;
        }
        if self.inventory_stale {
            // What is in force is what another lab left, and it says so in the cluster.
            match Applier::new(self.applier.remote()).await {
                Ok(applier) => self.applier = applier,
                Err(error) => {
                    tracing::debug!(%error, "will be tried again");
                    self.retry_at = Some(tokio::time::Instant::now() + RETRY_INTERVAL);
                    return;
                }
            }
            self.inventory_stale = false;
        }
        let name = self.config.active.clone();
        match self.read_preset(&name).await {
            Ok(source) if !force && self.last_read.as_ref() == Some(&source) => {
                self.publish(|_| {});
            }
            Ok(source) => {
                if let Err(findings) = self.apply_preset(&name, source).await {
                    self.keep_last_good(findings);
                }
            }
            Err(error) => {
                self.last_read = None;
                let file = self.config.folder.join(&name).display().to_string();
                self.keep_last_good(vec![Finding::error(
                    &file,
                    Position::START,
                    error.to_string(),
                )]);
            }
        }
    }

    /// Reads a preset; a file that has just become empty is given a moment to be written.
    async fn read_preset(&self, name: &str) -> Result<PresetSource, FolderError> {
        let source = folder::read(&self.config.folder, name)?;
        let blank_before = self
            .last_read
            .as_ref()
            .is_some_and(PresetSource::has_blank_file);
        if source.has_blank_file() && !blank_before {
            tokio::time::sleep(EMPTY_FILE_GRACE).await;
            return folder::read(&self.config.folder, name);
        }
        Ok(source)
    }

    fn is_idle(&self) -> bool {
        self.idle.on.load(Ordering::SeqCst)
    }

    async fn switch(&mut self, name: &str) -> Result<(), Vec<Finding>> {
        if self.is_idle() || self.inventory_stale {
            let file = self.config.folder.display().to_string();
            let why = "another lab leads on this cluster and decides which preset is in force";
            return Err(vec![Finding::error(&file, Position::START, why)]);
        }
        let source = folder::read(&self.config.folder, name).map_err(|error| {
            let file = self.config.folder.display().to_string();
            vec![Finding::error(&file, Position::START, error.to_string())]
        })?;
        self.apply_preset(name, source).await
    }

    /// Applies files as the preset `name`, which is then the active one. On an error all stays.
    async fn apply_preset(&mut self, name: &str, source: PresetSource) -> Result<(), Vec<Finding>> {
        let begun = Instant::now();
        let ParsedPreset {
            manifests,
            findings,
        } = parse::parse(&source.files, &self.config.gates);
        let active = name == self.config.active;
        if active {
            self.last_read = Some(source.clone());
        }
        let (errors, mut warnings): (Vec<_>, Vec<_>) =
            findings.into_iter().partition(Finding::is_error);
        if !errors.is_empty() {
            return Err(errors);
        }
        let count = manifests.len();
        let outcome = match self.applier.apply(name, manifests).await {
            Ok(outcome) => outcome,
            Err(failure) => {
                if active && !matches!(failure, ApplyError::Rejected(_)) {
                    self.retry_at = Some(tokio::time::Instant::now() + RETRY_INTERVAL);
                }
                let file = self.config.folder.join(name).display().to_string();
                return Err(failure.findings(&file));
            }
        };
        self.retry_at = None;
        self.last_read = Some(source);
        self.config.active = name.to_owned();
        warnings.extend(outcome.warnings.iter().cloned());
        let summary = summary(&outcome);
        let took = begun.elapsed().as_millis();
        tracing::info!("preset {name} in force: {count} objects ({summary}) in {took} ms");
        for warning in &warnings {
            tracing::warn!("{warning}");
        }
        let now = self.clock.now();
        let objects = self.applier.len();
        self.publish(|state| {
            state.active = name.to_owned();
            state.sync_status = SyncStatus::Synced;
            state.revision += 1;
            state.objects = objects;
            state.summary = summary;
            state.applied_at = Some(now);
            state.errors.clear();
            state.warnings = warnings;
        });
        Ok(())
    }

    /// Keeps the last good state and says why.
    fn keep_last_good(&self, findings: Vec<Finding>) {
        if self.state.borrow().errors != findings {
            for finding in &findings {
                tracing::error!("{finding}");
            }
            let name = &self.config.active;
            tracing::warn!("preset {name}: the last good state stays in force");
        }
        self.publish(|state| {
            state.sync_status = match state.revision {
                0 => SyncStatus::NotApplied,
                _ => SyncStatus::LastGood,
            };
            state.errors = findings;
        });
    }

    /// Changes the state and brings the list of presets up to date.
    fn publish(&self, change: impl FnOnce(&mut PresetsState)) {
        let mut state = PresetsState::clone(&self.state.borrow());
        let known: BTreeMap<_, _> = std::mem::take(&mut state.presets)
            .into_iter()
            .map(|p| (p.name.clone(), p))
            .collect();
        state.presets = self.list_presets(known);
        change(&mut state);
        self.state.send_if_modified(|old| {
            let different = **old != state;
            if different {
                *old = Arc::new(state);
            }
            different
        });
    }

    /// All presets of the folder. One that cannot be read keeps what was known of it.
    fn list_presets(&self, mut known: BTreeMap<String, PresetInfo>) -> Vec<PresetInfo> {
        let Ok(names) = folder::list(&self.config.folder) else {
            return known.into_values().collect();
        };
        let info = |name: String| match folder::read(&self.config.folder, &name) {
            Ok(source) => PresetInfo {
                name,
                description: source.description,
                samples: source.samples,
            },
            Err(_) => known.remove(&name).unwrap_or(PresetInfo {
                name,
                ..PresetInfo::default()
            }),
        };
        names.into_iter().map(info).collect()
    }
}

fn summary(outcome: &ApplyOutcome) -> String {
    let parts = [
        (outcome.applied, "applied"),
        (outcome.recreated, "of them made anew"),
        (outcome.pruned, "removed"),
        (outcome.unchanged, "unchanged"),
    ];
    let words: Vec<_> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    match words.is_empty() {
        true => "nothing to do".into(),
        false => words.join(", "),
    }
}

async fn changed(watch: &mut Option<FileWatcher>) {
    match watch {
        Some(watch) => watch.changed().await,
        None => std::future::pending().await,
    }
}

async fn due(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
