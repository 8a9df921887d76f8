//! The limits of a derived script.

/// Limits of the derivation of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptLimits {
    /// Maximum number of steps.
    pub steps: usize,
    /// Maximum number of executed commands.
    pub commands: usize,
    /// Maximum number of bytes: of words, variables and captured output at any time, and of the output.
    pub bytes: usize,
}

impl Default for ScriptLimits {
    fn default() -> Self {
        Self {
            steps: 20_000,
            commands: 50_000,
            bytes: 32 << 20,
        }
    }
}

impl ScriptLimits {
    /// The number of scripts that have the limits of a single one each.
    const SCRIPTS: usize = 4;

    /// The limits of each of `scripts` that run together, such as those of a pod.
    #[must_use]
    pub fn shared_by(self, scripts: usize) -> Self {
        let share = |limit: usize| match scripts {
            ..=Self::SCRIPTS => limit,
            _ => limit * Self::SCRIPTS / scripts,
        };
        Self {
            steps: share(self.steps),
            commands: share(self.commands),
            bytes: share(self.bytes),
        }
    }
}
