//! Logging to stderr, or to a file while the terminal UI runs. `RUST_LOG` sets the level. The lines of
//! each cause have a rate limit.

use std::io::IsTerminal;
use std::sync::Mutex;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::time::uptime;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::Registry;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, registry};

use kueue_lab_lab::state_dir;

use super::log_rate_limit::RateLimit;

// kube-client logs every failed request; the lab's own components log the cause once.
const DEFAULT_FILTER: &str = "warn,kube_client=off,kueue_lab=info";

/// Starts logging with a layer. The filter is `RUST_LOG`, or `default` if it is unset or invalid.
fn start(layer: impl Layer<Registry> + Send + Sync, default: &str) {
    let set = std::env::var("RUST_LOG")
        .ok()
        .filter(|text| !text.is_empty());
    let filter: Option<Targets> = set.and_then(|text| text.parse().ok());
    let filter = filter.or_else(|| default.parse().ok()).unwrap_or_default();
    // Fails when a subscriber is set already, as in tests: that one stays.
    let _ = registry()
        .with(layer.with_filter(RateLimit::new(filter)))
        .try_init();
}

/// Starts logging of errors to stderr, for commands that run many labs.
pub(super) fn errors_to_stderr() {
    let layer = fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false)
        .compact();
    start(layer, "error");
}

/// Starts logging to stderr, with colours on a terminal unless `NO_COLOR` is set.
pub(super) fn to_stderr() {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let layer = fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(!no_color && std::io::stderr().is_terminal())
        .with_timer(uptime())
        .with_target(false)
        .compact();
    start(layer, DEFAULT_FILTER);
}

/// Starts logging to `kueue-lab.log` in the state directory. Does not log if the file cannot be
/// written: the terminal belongs to the UI.
pub(super) fn to_file() {
    let folder = state_dir();
    let file = std::fs::create_dir_all(&folder)
        .and_then(|()| kueue_lab_host::create(folder.join("kueue-lab.log")));
    let Ok(file) = file else { return };
    let layer = fmt::layer()
        .with_writer(Mutex::new(file))
        .with_ansi(false)
        .with_timer(uptime())
        .with_target(false)
        .compact();
    start(layer, DEFAULT_FILTER);
}
