//! The state with its inputs and operations.

use std::future::Future;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use kube::Client;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tokio::sync::{mpsc, watch as watched};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::past::{ShownPast, decision_text};
use crate::backend::Backend;
use crate::config::TuiConfig;
use crate::glyphs::{ASCII, UNICODE, utf8_locale};
use crate::msg::{Cmd, Msg};
use crate::state::{Env, GoInTime, Severity, State};
use crate::terminal::Screen;
use crate::theme::Theme;
use crate::update::{refresh, update};
use crate::{screen, watch};

/// The capacity of the message channel.
const MESSAGE_BUFFER: usize = 1024;

/// The longest wait for running operations on shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// The exit of the event loop from the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoopExit {
    /// The UI ends.
    Quit,
    /// The process stops until the shell continues it.
    Suspend,
}

/// The state with its inputs and operations.
pub(super) struct App<'a> {
    config: &'a TuiConfig,
    pub(super) state: State,
    pub(super) messages: mpsc::Receiver<Msg>,
    message_sender: mpsc::Sender<Msg>,
    /// Tasks that forward changes of the backend until the UI ends.
    followers: JoinSet<()>,
    /// The messages of the watches of the shown cluster.
    pub(super) watch_messages: mpsc::Receiver<Msg>,
    watches: JoinSet<()>,
    /// The shown past; `None` for the present.
    past: Option<ShownPast>,
    /// Running operations.
    tasks: JoinSet<()>,
}

impl<'a> App<'a> {
    pub(super) fn start(config: &'a TuiConfig, (columns, rows): (u16, u16)) -> Self {
        let var = |name: &str| std::env::var(name).ok();
        let ascii = config.ascii.unwrap_or_else(|| !utf8_locale(var));
        let demos = config.backend.demos.as_deref();
        let mut state = State::new(Env {
            cluster: config.cluster.clone(),
            read_only: config.read_only,
            speed: config.clock.speed(),
            is_paused: config.clock.is_paused(),
            theme: Theme::new(config.colours.enabled(var)),
            glyphs: if ascii { &ASCII } else { &UNICODE },
            zone: TimeZone::system(),
            demos: demos.map(|demos| demos.list()).unwrap_or_default(),
            can_explain: config.backend.explainer.is_some() || config.past.is_some(),
            can_set_speed: config.backend.clock.is_some(),
            can_go_back: config.past.is_some(),
            stops_lab: config.stops_lab,
            kubectl_command: config.kubectl_command.clone(),
        });
        state.data.now = config.clock.now();
        for warning in &config.warnings {
            state.notify(Severity::Warning, warning);
        }
        state.ui.namespace.clone_from(&config.namespace);
        let (message_sender, messages) = mpsc::channel(MESSAGE_BUFFER);
        let mut followers = JoinSet::new();
        if let Some(presets) = &config.backend.presets {
            let changes = presets.changes();
            let list = Arc::clone(&changes.borrow());
            update(&mut state, Msg::Presets(list));
            followers.spawn(forward_changes(
                changes,
                Msg::Presets,
                message_sender.clone(),
            ));
        }
        if let Some(changes) = config.backend.deleted_nodes.clone() {
            state.deleted_nodes = Arc::clone(&changes.borrow());
            let msg = Msg::DeletedNodes;
            followers.spawn(forward_changes(changes, msg, message_sender.clone()));
        }
        if let Some(clock) = &config.backend.clock {
            let changes = clock.changes();
            state.clock = Some(Arc::clone(&changes.borrow()));
            let msg = Msg::ClockChanged;
            followers.spawn(forward_changes(changes, msg, message_sender.clone()));
        }
        if let Some(demos) = &config.backend.demos {
            let changes = demos.changes();
            state.scenario = Some(Arc::clone(&changes.borrow()));
            let msg = Msg::ScenarioProgress;
            followers.spawn(forward_changes(changes, msg, message_sender.clone()));
        }
        update(&mut state, Msg::Resize(columns, rows));
        let mut app = Self {
            config,
            state,
            messages,
            watch_messages: mpsc::channel(1).1,
            watches: JoinSet::new(),
            past: None,
            message_sender,
            followers,
            tasks: JoinSet::new(),
        };
        match (&config.past, config.recording_at) {
            (Some(past), Some(at)) => app.show_past(ShownPast::at(past, at, false)),
            _ => app.start_watches(config.backend.client.clone()),
        }
        app
    }

    /// Watches the objects of a cluster, in place of those before.
    fn start_watches(&mut self, client: Client) {
        let (sender, messages) = mpsc::channel(MESSAGE_BUFFER);
        update(&mut self.state, Msg::Restarted);
        self.watch_messages = messages;
        self.watches = watch::start_watches(&client, self.config.namespace.as_deref(), &sender);
    }

    /// Shows a moment of the past.
    fn show_past(&mut self, past: ShownPast) {
        self.start_watches(past.client());
        self.past = Some(past);
        self.show_moment();
    }

    /// Updates the shown moment in the state.
    fn show_moment(&mut self) {
        let past = self.past.as_ref();
        let now = past.map_or_else(|| self.config.clock.now(), ShownPast::now);
        let past = past.map(ShownPast::state);
        update(&mut self.state, Msg::Moment(now, past));
    }

    /// Shows another moment.
    pub(super) fn go_in_time(&mut self, to: GoInTime) {
        let Some(past) = &self.config.past else {
            return;
        };
        if to == GoInTime::Leave {
            self.past = None;
            self.show_moment();
            self.start_watches(self.config.backend.client.clone());
            return;
        }
        if self.past.is_none() {
            let now = self.state.data.now;
            self.show_past(ShownPast::at(past, now, true));
        }
        let found = self.past.as_ref().and_then(|shown| shown.go(to));
        self.show_moment();
        if let Some(found) = found {
            let found = found.map(|landmark| decision_text(&landmark, &self.state.env.zone));
            update(&mut self.state, Msg::Found(found));
        }
    }

    /// The passing of time.
    pub(super) fn tick(&mut self) {
        match &self.past {
            Some(_) => self.show_moment(),
            None => drop(update(&mut self.state, Msg::Tick(self.config.clock.now()))),
        }
    }

    /// Watches the shown cluster again, so that all objects of the moment arrive.
    pub(super) fn watch_again(&mut self) {
        let past = self.past.as_ref();
        let client = past.map_or_else(|| self.config.backend.client.clone(), ShownPast::client);
        self.start_watches(client);
    }

    /// Whether the past is played.
    pub(super) fn is_playing(&self) -> bool {
        self.past.as_ref().is_some_and(ShownPast::is_playing)
    }

    /// What operations work on.
    fn backend(&self) -> Backend {
        match (&self.past, &self.config.past) {
            (Some(shown), Some(past)) => shown.backend(past),
            _ => self.config.backend.clone(),
        }
    }

    /// Handles a message and runs its commands; returns whether to quit or to suspend.
    pub(super) fn handle(&mut self, msg: Msg, screen: &Screen) -> ControlFlow<LoopExit> {
        for cmd in update(&mut self.state, msg) {
            match cmd {
                Cmd::Quit => return ControlFlow::Break(LoopExit::Quit),
                Cmd::Suspend => return ControlFlow::Break(LoopExit::Suspend),
                Cmd::Copy(text) => screen.copy(text),
                Cmd::GoInTime(to) => self.go_in_time(to),
                Cmd::Operation(operation) => {
                    let (backend, now) = (self.backend(), self.state.data.now);
                    self.spawn(operation.run(backend, now));
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn spawn(&mut self, work: impl Future<Output = Msg> + Send + 'static) {
        let message_sender = self.message_sender.clone();
        while self.tasks.try_join_next().is_some() {}
        self.tasks.spawn(async move {
            let msg = work.await;
            let _ = message_sender.send(msg).await;
        });
    }

    /// Draws the state.
    pub(super) fn draw(&mut self, screen: &Screen) {
        refresh(&mut self.state);
        let ui = &self.state.ui;
        let mut frame = Buffer::empty(Rect::new(0, 0, ui.width, ui.height));
        let cursor = screen::draw(&self.state, &mut frame);
        screen.show(frame, cursor);
    }

    /// Waits for running operations, up to a timeout.
    pub(super) async fn shutdown(&mut self) {
        self.messages.close();
        let done = async { while self.tasks.join_next().await.is_some() {} };
        let _ = timeout(SHUTDOWN_TIMEOUT, done).await;
        self.followers.abort_all();
    }
}

/// Sends each new value of a watch channel as a message.
async fn forward_changes<T: Clone + Send + Sync + 'static>(
    mut values: watched::Receiver<T>,
    msg: fn(T) -> Msg,
    out: mpsc::Sender<Msg>,
) {
    while values.changed().await.is_ok() {
        let value = values.borrow_and_update().clone();
        if out.send(msg(value)).await.is_err() {
            return;
        }
    }
}
