//! What the UI is started with, and how it ends.

use tokio_util::sync::CancellationToken;

use super::backend::Backend;
use kueue_lab_clock::Clock;

/// Whether to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colours {
    /// Unless `NO_COLOR` is set or the terminal is dumb.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Colours {
    /// Whether there are colours, in an environment.
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

/// What the UI is started with.
pub struct TuiConfig {
    /// The cluster and the capabilities of its lab.
    pub backend: Backend,
    /// The lab clock; `Clock::real()` for a cluster without a lab.
    pub clock: Clock,
    /// Name of the cluster: `embedded`, or the name of a kubeconfig context.
    pub cluster: String,
    /// The only namespace to watch, for people who may not see all.
    pub namespace: Option<String>,
    /// Whether nothing may be changed.
    pub read_only: bool,
    /// Whether leaving the UI stops the lab, so that it asks first.
    pub stops_lab: bool,
    /// How others reach the cluster, such as a command line for `kubectl`.
    pub kubectl_command: Option<String>,
    /// Whether to use colours.
    pub colours: Colours,
    /// Whether to draw in ASCII; `None` to look at the locale.
    pub ascii: Option<bool>,
    /// Whether to take the mouse away from the terminal.
    pub mouse: bool,
    /// Ends the UI from outside when it is cancelled.
    pub stop: CancellationToken,
}

impl TuiConfig {
    /// A window on a cluster, with everything else at its default.
    pub fn new(backend: Backend, clock: Clock) -> Self {
        Self {
            backend,
            clock,
            cluster: String::new(),
            namespace: None,
            read_only: false,
            stops_lab: false,
            kubectl_command: None,
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
    /// The person left.
    Quit,
    /// A signal (SIGINT, SIGTERM, SIGHUP) asked for it.
    Signal,
    /// It was ended from outside.
    Cancelled,
}

/// Why the UI cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// There is no terminal to draw on. `--headless` needs none.
    #[error("cannot use the terminal: {0}; --headless needs none")]
    Terminal(#[source] std::io::Error),
    /// The terminal went away.
    #[error("the terminal went away")]
    TerminalLost,
    /// Something in the process panicked; the report was printed.
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
