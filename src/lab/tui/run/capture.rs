//! The UI without a terminal, for documents and tests.

use std::time::Duration;

use crossterm::event::KeyCode;
use ratatui::buffer::Buffer;
use tokio::time::timeout;

use super::app::App;
use crate::config::{TuiConfig, TuiError};
use crate::input::Key;
use crate::model::Kind;
use crate::model::watch_status::WatchStatus;
use crate::msg::{Cmd, Msg};
use crate::screen_dump;
use crate::update::update;

/// Draws the UI once without a terminal, after all kinds are listed and the keys are pressed.
///
/// # Errors
/// The kinds are not listed within `seconds`.
pub async fn capture(
    config: TuiConfig,
    columns: u16,
    rows: u16,
    keys: &[&str],
    seconds: u64,
) -> Result<Buffer, TuiError> {
    let mut app = App::start(&config, (columns, rows));
    app.tick();
    list(&mut app, seconds).await?;
    let typed = keys.iter().flat_map(|text| match Key::parse(text) {
        Some(key) => vec![key],
        None => text.chars().map(|c| Key::plain(KeyCode::Char(c))).collect(),
    });
    for key in typed {
        for cmd in update(&mut app.state, Msg::Key(key)) {
            if let Cmd::GoInTime(to) = cmd {
                app.go_in_time(to);
                app.watch_again();
                list(&mut app, seconds).await?;
            }
        }
    }
    Ok(screen_dump::render(&app.state, columns, rows))
}

/// Waits until all kinds are listed.
async fn list(app: &mut App<'_>, seconds: u64) -> Result<(), TuiError> {
    let all_listed = async {
        while Kind::ALL
            .iter()
            .any(|kind| *app.state.data.watch_status(*kind) == WatchStatus::Starting)
        {
            match app.watch_messages.recv().await {
                Some(msg) => drop(update(&mut app.state, msg)),
                None => break,
            }
        }
    };
    timeout(Duration::from_secs(seconds), all_listed)
        .await
        .map_err(|_| TuiError::Timeout(seconds))?;
    while let Ok(msg) = app.watch_messages.try_recv() {
        update(&mut app.state, msg);
    }
    while let Ok(msg) = app.messages.try_recv() {
        update(&mut app.state, msg);
    }
    Ok(())
}
