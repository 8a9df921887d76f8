//! The terminal UI of the binary in a terminal (tmux). Skipped without tmux; fails with `CI=true`.

#![allow(clippy::unwrap_used, reason = "a test that fails reports its position")]

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

/// The shipped presets.
fn presets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("presets")
}

/// A lab in a terminal, after its first queues are shown.
fn lab(columns: u16, rows: u16, vars: &[(&str, &str)]) -> TmuxPane {
    let terminal = TmuxPane::open(columns, rows, &up(&presets(), ""), vars);
    terminal.wait_until("a ClusterQueue with a bar", |screen| {
        screen.contains("1 Queues") && screen.contains("0/9")
    });
    terminal
}
