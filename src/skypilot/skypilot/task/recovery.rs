//! `job_recovery`: the recovery of a managed job from a lost cluster or a failure.

use serde::Deserialize;

use kueue_lab_yaml::{Position, Problem, closest};

/// Where a lost job is relaunched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecoveryStrategy {
    /// `EAGER_NEXT_REGION`: tear down first, then relaunch. On Kubernetes a region is a context.
    #[default]
    EagerNextRegion,
    /// `FAILOVER`: try in place first, then tear down and relaunch.
    Failover,
}

/// The recovery settings of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobRecovery {
    /// Where a lost job is relaunched.
    pub strategy: RecoveryStrategy,
    /// The maximum number of restarts after a failure of the job; preemptions do not count.
    pub max_restarts_on_errors: u32,
    /// Exit codes after which the job is always restarted.
    pub recover_on_exit_codes: Vec<u8>,
}

/// The field as deserialized.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(
    untagged,
    expecting = "job_recovery is a strategy's name or a mapping of strategy, max_restarts_on_errors and recover_on_exit_codes"
)]
pub(super) enum RawRecovery {
    Name(String),
    Settings(RawRecoverySettings),
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRecoverySettings {
    #[serde(default)]
    strategy: Option<String>,
    #[serde(default)]
    max_restarts_on_errors: u32,
    #[serde(default)]
    recover_on_exit_codes: Option<ExitCodes>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged, expecting = "expected an exit code or a list of them")]
enum ExitCodes {
    One(u8),
    Many(Vec<u8>),
}

const STRATEGIES: [&str; 2] = ["EAGER_NEXT_REGION", "FAILOVER"];

impl RawRecovery {
    pub(super) fn into_job_recovery(self, at: Position) -> Result<JobRecovery, Problem> {
        let settings = match self {
            Self::Settings(settings) => settings,
            Self::Name(name) => RawRecoverySettings {
                strategy: Some(name),
                max_restarts_on_errors: 0,
                recover_on_exit_codes: None,
            },
        };
        let strategy = match settings.strategy.as_deref().map(str::to_ascii_uppercase) {
            None => RecoveryStrategy::default(),
            Some(name) if name == STRATEGIES[0] => RecoveryStrategy::EagerNextRegion,
            Some(name) if name == STRATEGIES[1] => RecoveryStrategy::Failover,
            Some(name) => {
                let guess = closest(&name, STRATEGIES).unwrap_or(STRATEGIES[0]);
                let message = format!("unknown recovery strategy {name:?}; did you mean {guess}?");
                return Err(Problem::new(at, message));
            }
        };
        Ok(JobRecovery {
            strategy,
            max_restarts_on_errors: settings.max_restarts_on_errors,
            recover_on_exit_codes: match settings.recover_on_exit_codes {
                None => Vec::new(),
                Some(ExitCodes::One(code)) => vec![code],
                Some(ExitCodes::Many(codes)) => codes,
            },
        })
    }
}
