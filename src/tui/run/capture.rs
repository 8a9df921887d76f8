//! The UI without a terminal, for pictures in documents and for tests.

use std::time::Duration;

use ratatui::buffer::Buffer;
use tokio::time::timeout;

use super::app::App;
use crate::config::{TuiConfig, TuiError};
use crate::keymap::Key;
use crate::model::Kind;
use crate::model::watch_status::WatchStatus;
use crate::msg::Msg;
use crate::screen_dump;
use crate::update::update;

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
    let mut engine = App::start(&config, (columns, rows));
    engine.state.data.now = config.clock.now();
    let all_told = async {
        while Kind::ALL
            .iter()
            .any(|kind| *engine.state.data.watch_status(*kind) == WatchStatus::Starting)
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
    Ok(screen_dump::render(&engine.state, columns, rows))
}
