//! Configuration of the UI, and how it ends.

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::backend::{Backend, PastBackend};
use kueue_lab_clock::Clock;

/// Whether to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colours {
    /// Use colours unless `NO_COLOR` is set or `TERM` is `dumb`.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Colours {
    /// Whether colours are used in an environment.
    pub fn enabled(self, var: impl Fn(&str) -> Option<String>) -> bool {
        match self {
            Colours::Always => true,
            Colours::Never => false,
            Colours::Auto => {
                let forbidden = var("NO_COLOR").is_some_and(|v| !v.is_empty());
                let dumb = var("TERM").is_some_and(|t| t == "dumb");
                !forbidden && !dumb
            }
        }
    }
}

/// The configuration of the UI.
pub struct TuiConfig {
    /// The cluster and the capabilities of its lab.
    pub backend: Backend,
    /// The past, if there is one to go back to.
    pub past: Option<PastBackend>,
    /// The moment of the past that is shown first, of a recording; there is no present to return to.
    pub recording_at: Option<Timestamp>,
    /// The lab clock; `Clock::real()` for a cluster without a lab.
    pub clock: Clock,
    /// Name of the cluster: `embedded`, or the name of a kubeconfig context.
    pub cluster: String,
    /// The only namespace to watch; `None` for all.
    pub namespace: Option<String>,
    /// Whether the window is read-only.
    pub read_only: bool,
    /// Whether quitting stops the lab and so needs confirmation.
    pub stops_lab: bool,
    /// The `kubectl` command line for the cluster.
    pub kubectl_command: Option<String>,
    /// Warnings of the start, shown as notifications.
    pub warnings: Vec<String>,
    /// Whether to use colours.
    pub colours: Colours,
    /// Whether to draw in ASCII; `None` to decide by the locale.
    pub ascii: Option<bool>,
    /// Whether to capture the mouse.
    pub mouse: bool,
    /// Ends the UI when cancelled.
    pub stop: CancellationToken,
}

impl TuiConfig {
    /// A configuration with defaults.
    pub fn new(backend: Backend, clock: Clock) -> Self {
        Self {
            backend,
            past: None,
            recording_at: None,
            clock,
            cluster: String::new(),
            namespace: None,
            read_only: false,
            stops_lab: false,
            kubectl_command: None,
            warnings: Vec::new(),
            colours: Colours::default(),
            ascii: None,
            mouse: false,
            stop: CancellationToken::new(),
        }
    }
}

/// How the UI ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It was quit.
    Quit,
    /// A signal arrived (SIGINT, SIGTERM, SIGHUP).
    Signal,
    /// It was cancelled.
    Cancelled,
}

/// Why the UI failed.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// There is no terminal. `--headless` needs none.
    #[error("cannot use the terminal: {0}; --headless needs none")]
    Terminal(#[source] std::io::Error),
    /// The terminal was closed.
    #[error("the terminal was closed")]
    TerminalLost,
    /// A thread panicked; the report was printed.
    #[error("the UI stopped because of a panic, reported above")]
    Panicked,
    /// The cluster did not answer in time.
    #[error("the cluster did not answer within {0} seconds")]
    Timeout(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_is_honoured() {
        let env = |name: &'static str, value: &'static str| {
            move |n: &str| (n == name).then(|| value.to_owned())
        };
        assert!(!Colours::Auto.enabled(env("NO_COLOR", "1")));
        assert!(Colours::Auto.enabled(env("NO_COLOR", "")));
        assert!(!Colours::Auto.enabled(env("TERM", "dumb")));
        assert!(Colours::Always.enabled(env("NO_COLOR", "1")));
        assert!(!Colours::Never.enabled(env("TERM", "xterm")));
    }
}
