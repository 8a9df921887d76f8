//! The commands whose output and duration can be derived.

/// Commands that are derived without a shell too.
const COMMANDS: [&str; 13] = [
    "sleep", "echo", "true", "false", "printf", "date", "hostname", "env", "printenv", "seq",
    "timeout", "ray", "sshd",
];

/// Whether the steps of a command can be derived: those of a script that it contains, and of a command whose effect
/// does not depend on the files of the image.
pub(crate) fn is_known(words: &[&str]) -> bool {
    let Some(program) = words.first() else {
        return false;
    };
    let has = |option: &dyn Fn(&str) -> bool| {
        let at = words.iter().position(|word| option(word));
        at.is_some_and(|at| words.len() > at + 1)
    };
    match program.rsplit('/').next().unwrap_or_default() {
        "sh" | "bash" | "ash" | "dash" | "zsh" => {
            has(&|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))
        }
        "python" | "python3" => has(&|word| word == "-c"),
        _ if is_executor_of_spark(words) => true,
        name => COMMANDS.contains(&name),
    }
}

/// The entrypoint of Spark's images; an executor runs until its driver ends.
pub(crate) fn is_executor_of_spark(words: &[&str]) -> bool {
    matches!(words, [program, "executor", ..] if program.rsplit('/').next() == Some("entrypoint.sh"))
}
