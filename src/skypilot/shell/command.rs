//! The simulated steps of a container command.

use super::budget::ScriptLimits;
use super::interpreter::{self, Environment};
use super::python::python;
use super::syntax::Dialect;
use kueue_lab_container_program::Step;

/// How the steps of a command are derived.
pub(super) enum Interpreted<'a> {
    /// From a script.
    Script {
        script: &'a str,
        strict: bool,
        dialect: Dialect,
    },
    /// From its arguments, as in a script.
    Command,
    /// They are known.
    Steps(Vec<Step>),
}

/// The steps of a command; `None` if they cannot be derived.
pub fn steps(words: &[&str], environment: &Environment) -> Option<Vec<Step>> {
    steps_within(words, environment, ScriptLimits::default())
}

/// As [`steps`], with other limits than those of a single script.
pub fn steps_within(
    words: &[&str],
    environment: &Environment,
    limits: ScriptLimits,
) -> Option<Vec<Step>> {
    Some(match interpreted(words)? {
        Interpreted::Script {
            script,
            strict,
            dialect,
        } => interpreter::run(script, dialect, environment, strict, limits),
        Interpreted::Command => interpreter::single(words, environment, limits),
        Interpreted::Steps(mut steps) => {
            steps.truncate(limits.steps);
            steps
        }
    })
}

/// How the steps of a command are derived; `None` if they cannot be.
pub(super) fn interpreted<'a>(words: &[&'a str]) -> Option<Interpreted<'a>> {
    let program = words.first()?;
    let name = program.rsplit('/').next().unwrap_or_default();
    match name {
        "sh" | "bash" | "ash" | "dash" | "zsh" => {
            let (script, strict) = script(words)?;
            Some(Interpreted::Script {
                script,
                strict,
                dialect: Dialect::of(name),
            })
        }
        "python" | "python3" => {
            let at = words.iter().position(|w| *w == "-c")?;
            Some(Interpreted::Steps(python(words.get(at + 1)?)))
        }
        // The entrypoint of Spark's images; an executor runs until its driver ends.
        "entrypoint.sh" if words.get(1) == Some(&"executor") => {
            Some(Interpreted::Steps(vec![Step::Hang]))
        }
        _ if interpreter::BUILTINS.contains(&name) => Some(Interpreted::Command),
        _ => None,
    }
}

/// The script of `sh -c SCRIPT`, after options and an optional `--`; and whether `-e` is set.
pub(super) fn script<'a>(words: &[&'a str]) -> Option<(&'a str, bool)> {
    let short = |w: &&str| w.starts_with('-') && !w.starts_with("--");
    let flag = words.iter().position(|w| short(w) && w.ends_with('c'))?;
    let strict = words[..=flag].iter().any(|w| short(w) && w.contains('e'));
    let script = words[flag + 1..].iter().find(|w| **w != "--")?;
    Some((script, strict))
}
