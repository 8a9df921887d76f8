//! Progress for people: on stderr, or in a file while the terminal UI has the screen. `RUST_LOG`
//! says more or less.

use std::fs::File;
use std::io::IsTerminal;
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::time::uptime;

use kueue_lab_lab::state_dir;

fn filter() -> EnvFilter {
    // The client library says of each request that it failed; the lab says once what is the matter.
    let default = "warn,kube_client=off,kueue_lab=info";
    EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default))
}

/// Starts logging to stderr; colours only for a terminal that wants them.
pub(super) fn to_stderr() {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter())
        .with_writer(std::io::stderr)
        .with_ansi(!no_color && std::io::stderr().is_terminal())
        .with_timer(uptime())
        .with_target(false)
        .compact();
    // A second call, as in tests, keeps the first.
    let _ = subscriber.try_init();
}

/// Starts logging to `kueue-lab.log` where the lab keeps its state; nowhere when that cannot be
/// written, since the screen belongs to the UI.
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
