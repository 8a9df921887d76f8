//! `--picture`: one screen of the terminal UI as a file.

use std::path::PathBuf;

use kueue_lab_tui::{Colours, TuiConfig, screen_dump};

use super::CommandError;

/// Seconds to wait for the cluster's objects before `--picture` fails.
const CAPTURE_TIMEOUT_SECONDS: u64 = 10;

/// The flags of a picture.
#[derive(Debug, clap::Args)]
pub(super) struct PictureArgs {
    /// Draw one screen to an SVG file (or as text to any other) instead of opening the UI.
    #[arg(long, value_name = "FILE")]
    pub(super) picture: Option<PathBuf>,
    /// With --picture: a key to press first, such as 2 or enter; or text to type.
    #[arg(long, value_name = "KEY", requires = "picture")]
    press: Vec<String>,
    /// With --picture: columns and rows.
    #[arg(long, value_name = "CxR", default_value = "120x36", value_parser = parse_size, requires = "picture")]
    size: (u16, u16),
}

/// Reads `120x36`.
fn parse_size(text: &str) -> Result<(u16, u16), String> {
    let side = |text: &str| text.parse().ok().filter(|n| (20..=500).contains(n));
    text.split_once('x')
        .and_then(|(columns, rows)| Some((side(columns)?, side(rows)?)))
        .ok_or_else(|| "a size is columns x rows, such as 120x36, each from 20 to 500".into())
}

impl PictureArgs {
    /// Draws the picture, if there is one to draw; `Err` is the configuration of a UI to open.
    ///
    /// # Errors
    /// The cluster does not answer, or the file cannot be written.
    pub(super) async fn draw(
        &self,
        config: TuiConfig,
    ) -> Result<Result<(), Box<TuiConfig>>, CommandError> {
        let Some(file) = &self.picture else {
            return Ok(Err(Box::new(config)));
        };
        let config = TuiConfig {
            colours: Colours::Always,
            ascii: config.ascii.or(Some(false)),
            ..config
        };
        let (columns, rows) = self.size;
        let keys: Vec<&str> = self.press.iter().map(String::as_str).collect();
        let drawn =
            kueue_lab_tui::capture(config, columns, rows, &keys, CAPTURE_TIMEOUT_SECONDS).await;
        let buffer = drawn.map_err(CommandError::failed)?;
        let is_svg = file.extension().is_some_and(|e| e == "svg");
        let text = match is_svg {
            true => screen_dump::svg(&buffer),
            false => screen_dump::text(&buffer),
        };
        let written = kueue_lab_host::write(file, text);
        written.map(Ok).map_err(|e| {
            CommandError::usage(e).with_message(format!("cannot write {}", file.display()))
        })
    }
}
