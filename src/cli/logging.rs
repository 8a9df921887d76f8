//! Logging to stderr, or to a file while the terminal UI runs. `RUST_LOG` sets the level.

use std::fs::File;
use std::io::IsTerminal;
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::time::uptime;

use kueue_lab_lab::state_dir;

fn filter() -> EnvFilter {
    // kube-client logs every failed request; the lab's own components log the cause once.
    let default = "warn,kube_client=off,kueue_lab=info";
    EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default))
}

/// Starts logging of errors to stderr, for commands that run many labs.
pub(super) fn errors_to_stderr() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("error"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false)
        .compact();
    // Fails when a subscriber is set already, as in tests: that one stays.
    let _ = subscriber.try_init();
}

/// Starts logging to stderr, with colours on a terminal unless `NO_COLOR` is set.
pub(super) fn to_stderr() {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter())
        .with_writer(std::io::stderr)
        .with_ansi(!no_color && std::io::stderr().is_terminal())
        .with_timer(uptime())
        .with_target(false)
        .compact();
    // Fails when a subscriber is set already, as in tests: that one stays.
    let _ = subscriber.try_init();
}

/// Starts logging to `kueue-lab.log` in the state directory. Does not log if the file cannot be
/// written: the terminal belongs to the UI.
pub(super) fn to_file() {
    let folder = state_dir();
    let file =
        std::fs::create_dir_all(&folder).and_then(|()| File::create(folder.join("kueue-lab.log")));
    let Ok(file) = file else { return };
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter())
        .with_writer(Mutex::new(file))
        .with_ansi(false)
        .with_timer(uptime())
        .with_target(false)
        .compact();
    let _ = subscriber.try_init();
}
