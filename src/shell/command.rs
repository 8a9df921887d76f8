//! The simulated steps of a container command.

use super::interpreter::{self, Environment};
use super::lexer::Dialect;
use super::program::Step;
use super::python::python;

/// The steps of a command; `None` if they cannot be derived.
pub fn steps(words: &[&str], environment: &Environment) -> Option<Vec<Step>> {
    let program = words.first()?;
    let name = program.rsplit('/').next().unwrap_or_default();
    match name {
        "sh" | "bash" | "ash" | "dash" | "zsh" => {
            let (script, strict) = script(words)?;
            Some(interpreter::run(
                script,
                Dialect::of(name),
                environment,
                strict,
            ))
        }
        "python" | "python3" => {
            let at = words.iter().position(|w| *w == "-c")?;
            Some(python(words.get(at + 1)?))
        }
        // The entrypoint of Spark's images; an executor runs until its driver ends.
        "entrypoint.sh" if words.get(1) == Some(&"executor") => Some(vec![Step::Hang]),
        _ if interpreter::BUILTINS.contains(&name) => Some(interpreter::single(words, environment)),
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
