//! The event loop: drains what happened, has the wishes done, and shows a frame when something
//! changed, not more often than a person can see.

mod capture;
mod engine;
mod frames;
mod signals;

pub use capture::capture;

use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyEventKind, MouseButton, MouseEventKind};
use futures::StreamExt;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::config::{Exit, TuiConfig, TuiError};
use super::keymap::Key;
use super::msg::Msg;
use super::screen::Screen;
use engine::Engine;
use frames::Frames;
use signals::Signals;

/// Messages taken in at once before anything else gets a turn.
const BATCH: usize = 512;
/// The least time between two frames while the cluster changes.
const FRAME: Duration = Duration::from_millis(33);
/// The least time between two frames while keys are pressed.
const QUICK_FRAME: Duration = Duration::from_millis(8);
/// The shortest time between looks at the clock.
const SHORTEST_TICK: Duration = Duration::from_millis(100);

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
    let mut frames = Frames::default();
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
                let begun = Instant::now();
                engine.show(&screen);
                last_frame = Instant::now();
                frames.add(last_frame - begun);
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
    tracing::info!("{frames}");
    Ok(exit)
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
