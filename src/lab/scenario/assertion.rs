//! Expectations in Kueue's terms: which jobs are admitted or pending, flavors, victims, waiting times, order,
//! usage, shares and Events.

use std::collections::BTreeMap;
use std::fmt;

use super::comparison::Comparison;

/// An expectation in Kueue's terms.
#[derive(Clone, Debug, PartialEq)]
pub enum Assertion {
    /// Jobs in a state.
    State {
        /// The state.
        state: JobState,
        /// Patterns of the jobs.
        jobs: Vec<String>,
        /// How many of them; `None` for all, and at least one.
        count: Option<Comparison>,
        /// The reason that they are pending; `*` matches any text.
        reason: Option<String>,
    },
    /// The flavors of admitted jobs, by resource.
    Flavors {
        /// Patterns of the jobs.
        jobs: Vec<String>,
        /// Patterns of the flavors.
        flavors: BTreeMap<String, String>,
    },
    /// Jobs that were preempted since the start of the scenario.
    Victims {
        /// Patterns of the jobs.
        jobs: Vec<String>,
        /// How many of them; `None` for all, and at least one.
        count: Option<Comparison>,
        /// Pattern of the preempting job.
        by: Option<String>,
        /// Pattern of the reason of the condition `Preempted`.
        reason: Option<String>,
    },
    /// Jobs that were evicted, for any reason.
    Evicted {
        /// Patterns of the jobs.
        jobs: Vec<String>,
        /// Pattern of the reason, or of its underlying cause.
        reason: Option<String>,
        /// How often each of them; at least once by default.
        times: Comparison,
    },
    /// The time from the creation of jobs to their first admission, so far for pending ones.
    Waits {
        /// Patterns of the jobs.
        jobs: Vec<String>,
        /// The time.
        time: Comparison,
    },
    /// The order of admission: patterns of jobs.
    Order(Vec<String>),
    /// Usage, or borrowed usage, of a ClusterQueue by resource.
    Usage {
        /// The ClusterQueue.
        cluster_queue: String,
        /// The flavor; `None` for the sum of all.
        flavor: Option<String>,
        /// The amounts.
        resources: BTreeMap<String, Comparison>,
        /// Whether only borrowed usage counts.
        is_borrowed: bool,
    },
    /// The weighted share of a ClusterQueue or Cohort.
    Share {
        /// `ClusterQueue` or `Cohort`.
        kind: &'static str,
        /// Its name.
        name: String,
        /// The share.
        share: Comparison,
    },
    /// Events, since the start of the scenario.
    Events {
        /// Pattern of the reason.
        reason: String,
        /// The kind of the object; `None` for any.
        kind: Option<String>,
        /// Patterns of the object, or of its job; `None` for any.
        object: Option<Vec<String>>,
        /// Pattern of the note.
        message: Option<String>,
        /// How many; at least one by default.
        count: Comparison,
    },
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Admitted, and not finished.
    Admitted,
    /// Neither admitted nor finished.
    Pending,
    /// Finished.
    Finished,
}

impl JobState {
    /// The word for it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Pending => "pending",
            Self::Finished => "finished",
        }
    }
}

fn list(patterns: &[String]) -> String {
    patterns.join(", ")
}

fn of_count(count: Option<&Comparison>) -> String {
    count.map_or(String::new(), |count| format!("{count} of "))
}

impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State {
                state,
                jobs,
                count,
                reason,
            } => {
                let (count, state) = (of_count(count.as_ref()), state.as_str());
                write!(f, "{count}{} {state}", list(jobs))?;
                reason
                    .iter()
                    .try_for_each(|reason| write!(f, " ({reason})"))
            }
            Self::Flavors { jobs, flavors } => {
                let flavors = flavors
                    .iter()
                    .map(|(r, flavor)| format!("{r} from {flavor}"));
                let flavors: Vec<_> = flavors.collect();
                write!(f, "{} admitted with {}", list(jobs), flavors.join(", "))
            }
            Self::Victims {
                jobs,
                count,
                by,
                reason,
            } => {
                write!(f, "{}{} preempted", of_count(count.as_ref()), list(jobs))?;
                by.iter().try_for_each(|by| write!(f, " by {by}"))?;
                reason
                    .iter()
                    .try_for_each(|reason| write!(f, " ({reason})"))
            }
            Self::Evicted {
                jobs,
                reason,
                times,
            } => {
                write!(f, "{} evicted {times} times", list(jobs))?;
                reason
                    .iter()
                    .try_for_each(|reason| write!(f, " ({reason})"))
            }
            Self::Waits { jobs, time } => write!(f, "{} waiting for {time}", list(jobs)),
            Self::Order(jobs) => write!(f, "admission in the order {}", list(jobs)),
            Self::Usage {
                cluster_queue,
                flavor,
                resources,
                is_borrowed,
            } => {
                let what = if *is_borrowed { "borrowed" } else { "usage" };
                write!(f, "{what} of ClusterQueue {cluster_queue}")?;
                flavor
                    .iter()
                    .try_for_each(|flavor| write!(f, " in {flavor}"))?;
                let amounts = resources.iter().map(|(r, amount)| format!("{r} {amount}"));
                write!(f, ": {}", amounts.collect::<Vec<_>>().join(", "))
            }
            Self::Share { kind, name, share } => write!(f, "share of {kind} {name} {share}"),
            Self::Events {
                reason,
                kind,
                object,
                message,
                count,
            } => {
                write!(f, "{count} Events {reason}")?;
                kind.iter().try_for_each(|kind| write!(f, " of {kind}"))?;
                object
                    .iter()
                    .try_for_each(|jobs| write!(f, " {}", list(jobs)))?;
                message
                    .iter()
                    .try_for_each(|message| write!(f, " {message:?}"))
            }
        }
    }
}
