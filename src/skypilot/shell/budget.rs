//! The budget of the interpretation of a script.

/// Limits of the interpretation of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptLimits {
    /// Maximum number of steps.
    pub steps: usize,
    /// Maximum number of interpreted commands.
    pub commands: usize,
    /// Maximum number of bytes that the expansions, variables, output and substitutions take
    /// together.
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

/// The memory of a word or a line beside its text, in bytes.
pub(super) const OVERHEAD: usize = 32;

/// The remaining limits of a script. A command substitution spends the budget of its script.
#[derive(Debug, Default)]
pub(super) struct Budget {
    limits: ScriptLimits,
    commands: usize,
    bytes: usize,
    /// The limit that was reached.
    exceeded: Option<&'static str>,
}

impl Budget {
    /// The budget of a new script.
    pub(super) fn new(limits: ScriptLimits) -> Self {
        Self {
            limits,
            commands: limits.commands,
            bytes: limits.bytes,
            exceeded: None,
        }
    }

    /// Counts a command. False if there were too many.
    pub(super) fn command(&mut self) -> bool {
        match self.commands.checked_sub(1) {
            Some(rest) => self.commands = rest,
            None => self.exceed("script-commands"),
        }
        !self.is_exceeded()
    }

    /// Spends bytes, before they are allocated. False if there are not enough left.
    pub(super) fn spend(&mut self, bytes: usize) -> bool {
        match self.bytes.checked_sub(bytes) {
            Some(rest) => self.bytes = rest,
            None => self.exceed("script-bytes"),
        }
        !self.is_exceeded()
    }

    /// Ends the script at a limit.
    pub(super) fn exceed(&mut self, limit: &'static str) {
        self.exceeded.get_or_insert(limit);
    }

    /// The maximum number of steps.
    pub(super) fn steps(&self) -> usize {
        self.limits.steps
    }

    /// Whether a limit was reached.
    pub(super) fn is_exceeded(&self) -> bool {
        self.exceeded.is_some()
    }

    /// The line that explains the end of the script.
    pub(super) fn explanation(&self) -> Option<String> {
        let limit = self.exceeded?;
        let value = match limit {
            "script-steps" => self.limits.steps,
            "script-commands" => self.limits.commands,
            _ => self.limits.bytes,
        };
        Some(format!(
            "kueue-lab: the simulation of this command ended at the limit {limit} ({value}); the \
             annotations kueue-lab.dev/run-for and kueue-lab.dev/exit-code say how it ends \
             instead (kueue-lab up --limits)"
        ))
    }
}
