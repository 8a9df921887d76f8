//! The event loop.

use std::time::Duration;

use crossterm::event::{Event, KeyEventKind, MouseButton, MouseEventKind};
use futures::StreamExt;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::app::{App, LoopExit};
use super::frame_times::FrameTimes;
use super::job_control;
use super::signals::{SignalRequest, Signals};
use super::terminal_input::terminal_events;
use crate::config::{Exit, TuiConfig, TuiError};
use crate::input::Key;
use crate::msg::Msg;
use crate::state::Severity;
use crate::terminal::Screen;

/// The most messages handled in one turn of the loop.
const MAX_BATCH: usize = 512;
/// The minimum frame interval after watch events.
const FRAME_INTERVAL: Duration = Duration::from_millis(33);
/// The minimum frame interval after input.
const INPUT_FRAME_INTERVAL: Duration = Duration::from_millis(8);
/// The minimum interval of clock ticks.
const MIN_TICK_INTERVAL: Duration = Duration::from_millis(100);

/// Runs the UI on the terminal of the process until it is quit, signalled or cancelled. The terminal
/// is restored in any case.
///
/// # Errors
/// There is no terminal, it is closed, or a thread panics.
pub async fn run(config: TuiConfig) -> Result<Exit, TuiError> {
    let mut screen = Screen::open(config.mouse).map_err(TuiError::Terminal)?;
    let size = crossterm::terminal::size().map_err(TuiError::Terminal)?;
    let mut app = App::start(&config, size);
    let mut input = terminal_events();
    let mut signals = Signals::new().map_err(TuiError::Terminal)?;
    let lab_second = config.clock.to_wall(Duration::from_secs(1));
    let mut tick = interval(
        lab_second
            .max(MIN_TICK_INTERVAL)
            .min(Duration::from_secs(1)),
    );
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut play_tick = interval(FRAME_INTERVAL);
    play_tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut next_frame = Some(Instant::now());
    let mut last_frame = Instant::now();
    let mut batch = Vec::with_capacity(MAX_BATCH);
    let mut watch_batch = Vec::with_capacity(MAX_BATCH);
    let mut frames = FrameTimes::default();
    let exit = loop {
        let mut exit = None;
        let frame_due = next_frame.unwrap_or_else(Instant::now);
        let pace = tokio::select! {
            biased;
            event = input.next() => match event {
                Some(Ok(event)) => {
                    if let Some(msg) = translate(&event) {
                        exit = app.handle(msg, &screen).break_value();
                    }
                    INPUT_FRAME_INTERVAL
                }
                Some(Err(_)) | None => return Err(TuiError::TerminalLost),
            },
            request = signals.next() => match request {
                SignalRequest::Terminate => break Exit::Signal,
                SignalRequest::Suspend => {
                    exit = Some(LoopExit::Suspend);
                    FRAME_INTERVAL
                }
            },
            () = config.stop.cancelled() => break Exit::Cancelled,
            () = sleep_until(frame_due), if next_frame.is_some() => {
                if Screen::panicked() {
                    return Err(TuiError::Panicked);
                }
                if screen.is_disconnected() {
                    return Err(TuiError::TerminalLost);
                }
                let start = Instant::now();
                app.draw(&screen);
                last_frame = Instant::now();
                frames.add(last_frame - start);
                next_frame = None;
                continue;
            }
            _ = tick.tick() => {
                app.tick();
                app.state.report_clock_ahead(config.clock.ahead_of_wall_clock());
                FRAME_INTERVAL
            }
            _ = play_tick.tick(), if app.is_playing() => {
                app.tick();
                FRAME_INTERVAL
            }
            count = app.watch_messages.recv_many(&mut watch_batch, MAX_BATCH) => {
                if count == 0 {
                    break Exit::Cancelled;
                }
                exit = watch_batch.drain(..).find_map(|msg| app.handle(msg, &screen).break_value());
                FRAME_INTERVAL
            }
            count = app.messages.recv_many(&mut batch, MAX_BATCH) => {
                if count == 0 {
                    break Exit::Cancelled;
                }
                exit = batch.drain(..).find_map(|msg| app.handle(msg, &screen).break_value());
                FRAME_INTERVAL
            }
        };
        match exit {
            Some(LoopExit::Quit) => break Exit::Quit,
            Some(LoopExit::Suspend) => {
                // Leaves the terminal to the shell, and takes it again when the process continues.
                drop(screen);
                let stopped = job_control::stop_process_group();
                screen = Screen::open(config.mouse).map_err(TuiError::Terminal)?;
                if !stopped {
                    app.state
                        .notify(Severity::Warning, "no shell could continue this process");
                }
                if let Ok((columns, rows)) = crossterm::terminal::size() {
                    let _ = app.handle(Msg::Resize(columns, rows), &screen);
                }
            }
            None => {}
        }
        let due = (last_frame + pace).max(Instant::now());
        next_frame = Some(next_frame.map_or(due, |at| at.min(due)));
    };
    // First, as operations may not end.
    drop(screen);
    app.shutdown().await;
    tracing::info!("{frames}");
    Ok(exit)
}

/// The message of a terminal event.
fn translate(event: &Event) -> Option<Msg> {
    Some(match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => Msg::Key(Key::from(*key)),
        Event::Paste(text) => Msg::Paste(text.clone()),
        Event::Resize(columns, rows) => Msg::Resize(*columns, *rows),
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::ScrollDown => Msg::Scroll(1),
            MouseEventKind::ScrollUp => Msg::Scroll(-1),
            MouseEventKind::Down(MouseButton::Left) => Msg::Click(mouse.column, mouse.row),
            _ => return None,
        },
        _ => return None,
    })
}
