//! Progress for people, on stderr. `RUST_LOG` says more or less.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::time::uptime;

/// Starts logging to stderr; colours only for a terminal that wants them.
pub(super) fn to_stderr() {
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn,kueue_lab=info"));
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(!no_color && std::io::stderr().is_terminal())
        .with_timer(uptime())
        .with_target(false)
        .compact();
    // A second call, as in tests, keeps the first.
    let _ = subscriber.try_init();
}
