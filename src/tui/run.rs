//! The event loop: drains what happened, has the wishes done, and shows a frame when something
//! changed, not more often than a person can see.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyEventKind, MouseButton, MouseEventKind};
use futures::StreamExt;
use jiff::tz::TimeZone;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tokio::sync::{mpsc, watch as watched};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use super::actions::ActionError;
use super::config::{Exit, TuiConfig, TuiError};
use super::fetch::fetch;
use super::glyphs::{ASCII, UNICODE, utf8_locale};
use super::keymap::Key;
use super::model::Kind;
use super::model::health::Health;
use super::msg::{Cmd, Msg};
use super::screen::Screen;
use super::state::{Env, State};
use super::theme::Theme;
use super::update::{settle, update};
use super::{view, watch};

/// Messages that may wait for the UI.
const CHANNEL: usize = 1024;
/// Messages taken in at once before anything else gets a turn.
const BATCH: usize = 512;
/// The least time between two frames while the cluster changes.
const FRAME: Duration = Duration::from_millis(33);
/// The least time between two frames while keys are pressed.
const QUICK_FRAME: Duration = Duration::from_millis(8);
/// The shortest time between looks at the clock.
const SHORTEST_TICK: Duration = Duration::from_millis(100);
/// The longest a finished UI waits for what it asked for last.
const FAREWELL: Duration = Duration::from_secs(2);

/// Runs the UI on the terminal of the process until the person leaves, a signal comes, or it is
/// stopped. The terminal is given back in any case.
///
/// # Errors
/// When there is no terminal, it goes away, or something panics.
pub async fn run(config: TuiConfig) -> Result<Exit, TuiError> {
    let screen = Screen::open(config.mouse).map_err(TuiError::Terminal)?;
    let size = crossterm::terminal::size().map_err(TuiError::Terminal)?;
    let mut engine = Engine::start(&config, size);
    let mut input = EventStream::new();
    let mut signals = Signals::new().map_err(TuiError::Terminal)?;
    let lab_second = config.clock.to_wall(Duration::from_secs(1));
    let mut tick = interval(lab_second.max(SHORTEST_TICK).min(Duration::from_secs(1)));
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut next_frame = Some(Instant::now());
    let mut last_frame = Instant::now();
    let mut batch = Vec::with_capacity(BATCH);
    let exit = loop {
        let frame_due = next_frame.unwrap_or_else(Instant::now);
        let pace = tokio::select! {
            biased;
            event = input.next() => match event {
                Some(Ok(event)) => {
                    if let Some(msg) = translate(&event) && engine.take(msg, &screen) {
                        break Exit::Quit;
                    }
                    QUICK_FRAME
                }
                Some(Err(_)) | None => return Err(TuiError::Gone),
            },
            () = signals.next() => break Exit::Signal,
            () = config.stop.cancelled() => break Exit::Stopped,
            () = sleep_until(frame_due), if next_frame.is_some() => {
                if Screen::panicked() {
                    return Err(TuiError::Panicked);
                }
                if screen.broken() {
                    return Err(TuiError::Gone);
                }
                engine.show(&screen);
                last_frame = Instant::now();
                next_frame = None;
                continue;
            }
            _ = tick.tick() => {
                engine.state.env.speed = config.clock.speed();
                engine.take(Msg::Tick(config.clock.now()), &screen);
                FRAME
            }
            count = engine.inbox.recv_many(&mut batch, BATCH) => {
                if count == 0 {
                    break Exit::Stopped;
                }
                if batch.drain(..).any(|msg| engine.take(msg, &screen)) {
                    break Exit::Quit;
                }
                FRAME
            }
        };
        let due = (last_frame + pace).max(Instant::now());
        next_frame = Some(next_frame.map_or(due, |at| at.min(due)));
    };
    engine.finish().await;
    drop(screen);
    Ok(exit)
}

/// Draws the UI once without a terminal, after the cluster told of all kinds and the given keys
/// were pressed: for pictures in documents.
///
/// # Errors
/// When the cluster does not answer within `seconds`.
pub async fn capture(
    config: TuiConfig,
    columns: u16,
    rows: u16,
    keys: &[&str],
    seconds: u64,
) -> Result<Buffer, TuiError> {
    let mut engine = Engine::start(&config, (columns, rows));
    engine.state.data.now = config.clock.now();
    let all_told = async {
        while Kind::ALL
            .iter()
            .any(|kind| *engine.state.data.health_of(*kind) == Health::Starting)
        {
            match engine.inbox.recv().await {
                Some(msg) => drop(update(&mut engine.state, msg)),
                None => break,
            }
        }
    };
    timeout(Duration::from_secs(seconds), all_told)
        .await
        .map_err(|_| TuiError::Timeout(seconds))?;
    while let Ok(msg) = engine.inbox.try_recv() {
        update(&mut engine.state, msg);
    }
    for key in keys {
        match Key::parse(key) {
            Some(key) => drop(update(&mut engine.state, Msg::Key(key))),
            None => {
                for c in key.chars() {
                    let key = Key::plain(crossterm::event::KeyCode::Char(c));
                    update(&mut engine.state, Msg::Key(key));
                }
            }
        }
    }
    Ok(super::dump::render(&engine.state, columns, rows))
}

/// The state with everything that feeds it and does what it wishes.
struct Engine<'a> {
    config: &'a TuiConfig,
    state: State,
    inbox: mpsc::Receiver<Msg>,
    outbox: mpsc::Sender<Msg>,
    /// Watches and followers; they go on until the UI ends.
    feeds: JoinSet<()>,
    _watches: JoinSet<()>,
    /// Wishes under way.
    works: JoinSet<()>,
}

impl<'a> Engine<'a> {
    fn start(config: &'a TuiConfig, (columns, rows): (u16, u16)) -> Self {
        let var = |name: &str| std::env::var(name).ok();
        let ascii = config.ascii.unwrap_or_else(|| !utf8_locale(var));
        let mut state = State::new(Env {
            cluster: config.cluster.clone(),
            read_only: config.read_only,
            speed: config.clock.speed(),
            theme: Theme::new(config.colours.wanted(var)),
            glyphs: if ascii { &ASCII } else { &UNICODE },
            zone: TimeZone::system(),
            demos: config.actions.demos(),
            can_explain: config.explain.is_some(),
            stops_lab: config.stops_lab,
        });
        state.data.now = config.clock.now();
        state.ui.namespace.clone_from(&config.namespace);
        let (outbox, inbox) = mpsc::channel(CHANNEL);
        let mut feeds = JoinSet::new();
        if let Some(presets) = config.actions.presets() {
            let board = Arc::clone(&presets.borrow());
            update(&mut state, Msg::Presets(board));
            feeds.spawn(follow(presets, Msg::Presets, outbox.clone()));
        }
        if let Some(story) = config.actions.story() {
            state.story = Some(Arc::clone(&story.borrow()));
            feeds.spawn(follow(story, Msg::Story, outbox.clone()));
        }
        update(&mut state, Msg::Resize(columns, rows));
        Self {
            config,
            state,
            inbox,
            _watches: watch::start(&config.client, config.namespace.as_deref(), &outbox),
            outbox,
            feeds,
            works: JoinSet::new(),
        }
    }

    /// Takes in a message and has its wishes done; says whether to leave.
    fn take(&mut self, msg: Msg, screen: &Screen) -> bool {
        for cmd in update(&mut self.state, msg) {
            match cmd {
                Cmd::Quit => return true,
                Cmd::Copy(text) => screen.copy(text),
                other => self.work(other),
            }
        }
        false
    }

    /// Has a wish done in the background; the result comes as a message.
    fn work(&mut self, cmd: Cmd) {
        let actions = Arc::clone(&self.config.actions);
        match cmd {
            Cmd::Submit(sample) => self.act(async move { actions.submit(&sample).await }),
            Cmd::SubmitNamed(preset, name) => {
                self.act(async move { actions.submit_named(&preset, &name).await });
            }
            Cmd::SwitchPreset(name) => {
                self.act(async move { actions.switch_preset(&name).await });
            }
            Cmd::RunDemo(name) => self.act(async move { actions.run_demo(&name).await }),
            Cmd::SetSpeed(speed) => self.act(async move { actions.set_speed(speed).await }),
            Cmd::Delete(objects) => self.act(async move {
                let mut last = String::new();
                for object in &objects {
                    last = actions.delete(object).await?;
                }
                Ok(match objects.len() {
                    1 => last,
                    n => format!("deleted {n} objects"),
                })
            }),
            Cmd::Fetch(object) => {
                let (client, now) = (self.config.client.clone(), self.state.data.now);
                self.send(async move {
                    let result = fetch(client, object.clone(), now).await;
                    Msg::Fetched(object, result)
                });
            }
            Cmd::Explain(key) => {
                let Some(explain) = self.config.explain.clone() else {
                    return;
                };
                self.send(async move {
                    let result = explain.explain(&key).await;
                    Msg::Explained(key, result)
                });
            }
            Cmd::Quit | Cmd::Copy(_) => {}
        }
    }

    fn act(&mut self, action: impl Future<Output = Result<String, ActionError>> + Send + 'static) {
        self.send(async move { Msg::Done(action.await) });
    }

    fn send(&mut self, work: impl Future<Output = Msg> + Send + 'static) {
        let outbox = self.outbox.clone();
        while self.works.try_join_next().is_some() {}
        self.works.spawn(async move {
            let msg = work.await;
            let _ = outbox.send(msg).await;
        });
    }

    /// Shows the state as it is.
    fn show(&mut self, screen: &Screen) {
        settle(&mut self.state);
        let ui = &self.state.ui;
        let mut frame = Buffer::empty(Rect::new(0, 0, ui.width, ui.height));
        let cursor = view::draw(&self.state, &mut frame);
        screen.show(frame, cursor);
    }

    /// Waits a little for wishes under way, so that what was asked for last is done.
    async fn finish(&mut self) {
        self.inbox.close();
        let done = async { while self.works.join_next().await.is_some() {} };
        let _ = timeout(FAREWELL, done).await;
        self.feeds.abort_all();
    }
}

/// Sends every new value of something watched.
async fn follow<T: Clone + Send + Sync + 'static>(
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

/// What an event of the terminal means.
fn translate(event: &Event) -> Option<Msg> {
    Some(match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => Msg::Key(Key::from(*key)),
        Event::Paste(text) => Msg::Paste(text.clone()),
        Event::Resize(columns, rows) => Msg::Resize(*columns, *rows),
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::ScrollDown => Msg::Wheel(1),
            MouseEventKind::ScrollUp => Msg::Wheel(-1),
            MouseEventKind::Down(MouseButton::Left) => Msg::Click(mouse.column, mouse.row),
            _ => return None,
        },
        _ => return None,
    })
}

/// The signals that ask a program to end.
struct Signals {
    #[cfg(unix)]
    streams: [tokio::signal::unix::Signal; 3],
}

impl Signals {
    #[cfg(unix)]
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            streams: [
                signal(SignalKind::interrupt())?,
                signal(SignalKind::terminate())?,
                signal(SignalKind::hangup())?,
            ],
        })
    }

    #[cfg(not(unix))]
    fn new() -> std::io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for the next of them.
    #[cfg(unix)]
    async fn next(&mut self) {
        let [a, b, c] = &mut self.streams;
        tokio::select! {
            _ = a.recv() => {}
            _ = b.recv() => {}
            _ = c.recv() => {}
        }
    }

    /// Waits for the next of them.
    #[cfg(not(unix))]
    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
