//! The commands whose output and duration can be derived.

/// Commands that are derived without a shell too.
const COMMANDS: [&str; 13] = [
    "sleep", "echo", "true", "false", "printf", "date", "hostname", "env", "printenv", "seq",
    "timeout", "ray", "sshd",
];

/// A step of the start-up script of SkyPilot's Pods.
const SKYPILOT_STEP: &str = "\"apt-ssh-setup\"";

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
        _ if runs_forever(words) => true,
        "sh" | "bash" | "ash" | "dash" | "zsh" => {
            has(&|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))
        }
        "python" | "python3" => has(&|word| word == "-c"),
        name => COMMANDS.contains(&name),
    }
}

/// Whether the command runs until its pod ends, without output: the entrypoint of Spark's images in an executor, whose driver
/// ends it, and the start-up script of SkyPilot's Pods, which installs a runtime that the container simulates.
pub(crate) fn runs_forever(words: &[&str]) -> bool {
    matches!(words, [program, "executor", ..] if program.rsplit('/').next() == Some("entrypoint.sh"))
        || words.iter().any(|word| word.contains(SKYPILOT_STEP))
}
