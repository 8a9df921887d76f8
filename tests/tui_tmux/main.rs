//! The terminal UI of the real binary in a real terminal (tmux). Skips where there is no tmux.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where"
)]

mod running_lab;
mod terminal_behavior;
mod tmux_pane;

use std::path::{Path, PathBuf};

use tmux_pane::TmuxPane;

/// The command that starts a lab, with a presets folder.
fn up(presets: &Path, more: &str) -> String {
    format!(
        "{} up --presets-dir {} --kubeconfig-out kubeconfig {more}",
        env!("CARGO_BIN_EXE_kueue-lab"),
        presets.display()
    )
}

/// The presets that come with the binary.
fn presets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("presets")
}

/// A lab in a terminal, as far as its first queues.
fn lab(columns: u16, rows: u16, vars: &[(&str, &str)]) -> TmuxPane {
    let terminal = TmuxPane::open(columns, rows, &up(&presets(), ""), vars);
    terminal.wait_until("a ClusterQueue with a bar", |screen| {
        screen.contains("1 Queues") && screen.contains("0/9")
    });
    terminal
}
