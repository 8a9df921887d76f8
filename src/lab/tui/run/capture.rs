//! The UI without a terminal, for documents and tests.

use std::time::Duration;

use ratatui::buffer::Buffer;
use tokio::time::timeout;

use super::app::App;
use crate::config::{TuiConfig, TuiError};
use crate::input::Key;
use crate::model::Kind;
use crate::model::watch_status::WatchStatus;
use crate::msg::Msg;
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
    app.state.data.now = config.clock.now();
    let all_listed = async {
        while Kind::ALL
            .iter()
            .any(|kind| *app.state.data.watch_status(*kind) == WatchStatus::Starting)
        {
            match app.messages.recv().await {
                Some(msg) => drop(update(&mut app.state, msg)),
                None => break,
            }
        }
    };
    timeout(Duration::from_secs(seconds), all_listed)
        .await
        .map_err(|_| TuiError::Timeout(seconds))?;
    while let Ok(msg) = app.messages.try_recv() {
        update(&mut app.state, msg);
    }
    for key in keys {
        match Key::parse(key) {
            Some(key) => drop(update(&mut app.state, Msg::Key(key))),
            None => {
                for c in key.chars() {
                    let key = Key::plain(crossterm::event::KeyCode::Char(c));
                    update(&mut app.state, Msg::Key(key));
                }
            }
        }
    }
    Ok(screen_dump::render(&app.state, columns, rows))
}
