//! The simulated run of a task's commands: their duration and exit code.
//!
//! `sleep 90`, `sleep 5m` or `sleep infinity` anywhere in `run` and `setup` counts; `exit 3` or a
//! plain `false` as a command ends the job with that code. A loop is not unrolled.

use std::time::Duration;

/// The duration of commands without `sleep`, in seconds.
const DEFAULT_SECONDS: u64 = 30;

/// The simulated run of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SimulatedRun {
    /// The duration; `None` if they do not end.
    pub duration: Option<Duration>,
    /// The exit code.
    pub exit_code: u8,
}

impl SimulatedRun {
    /// Derives the run from the scripts of a task.
    pub(crate) fn from_scripts(setup: Option<&str>, run: Option<&str>) -> Self {
        let mut seconds = 0.0;
        let mut slept = false;
        for script in [setup, run].into_iter().flatten() {
            for command in commands(script) {
                let mut words = command.split_whitespace();
                match (words.next(), words.next()) {
                    (Some("sleep"), Some("infinity" | "inf")) => {
                        return Self {
                            duration: None,
                            exit_code: 0,
                        };
                    }
                    (Some("sleep"), Some(time)) => {
                        for time in std::iter::once(time).chain(words).map_while(duration) {
                            seconds += time;
                            slept = true;
                        }
                    }
                    (Some("exit"), code) => {
                        let code = code.and_then(|c| c.parse().ok()).unwrap_or(0);
                        return Self::finite(seconds, slept, code);
                    }
                    (Some("false"), None) => return Self::finite(seconds, slept, 1),
                    _ => {}
                }
            }
        }
        Self::finite(seconds, slept, 0)
    }

    fn finite(seconds: f64, slept: bool, exit_code: u8) -> Self {
        let duration = match slept {
            true => Duration::try_from_secs_f64(seconds).ok(),
            false if exit_code != 0 => Some(Duration::ZERO),
            false => Some(Duration::from_secs(DEFAULT_SECONDS)),
        };
        Self {
            duration,
            exit_code,
        }
    }
}

/// The commands of a script: split at line ends, `;`, `&&`, `||`, `|` and `&`, without comments.
fn commands(script: &str) -> impl Iterator<Item = &str> {
    script
        .lines()
        .map(|line| match line.find(" #") {
            Some(i) => &line[..i],
            None => line,
        })
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(|line| line.split([';', '&', '|']))
        .map(str::trim)
        .filter(|command| !command.is_empty())
}

/// `90`, `0.5`, `5m`: a time as coreutils' `sleep` takes it, in seconds.
fn duration(text: &str) -> Option<f64> {
    let (number, unit) = match text.char_indices().last()? {
        (i, 's') => (&text[..i], 1.0),
        (i, 'm') => (&text[..i], 60.0),
        (i, 'h') => (&text[..i], 3600.0),
        (i, 'd') => (&text[..i], 86_400.0),
        _ => (text, 1.0),
    };
    let seconds: f64 = number.parse().ok()?;
    (seconds.is_finite() && (0.0..1e9).contains(&seconds)).then_some(seconds * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str) -> (Option<u64>, u8) {
        let run = SimulatedRun::from_scripts(None, Some(script));
        (run.duration.map(|t| t.as_secs()), run.exit_code)
    }

    #[test]
    fn sleeps_add_up_and_exit_ends_the_run() {
        assert_eq!(run("echo hello; sleep 600"), (Some(600), 0));
        assert_eq!(
            run("sleep 1m\nsleep 5 && echo done # sleep 9"),
            (Some(65), 0)
        );
        assert_eq!(run("sleep 10\nexit 3\nsleep 10"), (Some(10), 3));
        assert_eq!(run("false"), (Some(0), 1));
        assert_eq!(run("sleep infinity"), (None, 0));
        assert_eq!(run("nvidia-smi"), (Some(DEFAULT_SECONDS), 0));
        assert_eq!(run("# sleep 600\nsleep $LONG"), (Some(DEFAULT_SECONDS), 0));
        assert_eq!(
            SimulatedRun::from_scripts(Some("sleep 4"), Some("sleep 3"))
                .duration
                .unwrap()
                .as_secs(),
            7
        );
        assert_eq!(SimulatedRun::from_scripts(None, None).exit_code, 0);
    }
}
