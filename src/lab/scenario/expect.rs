//! Expectations: a managed job in a state, or objects with conditions and fields.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use indexmap::IndexMap;
use serde_json::Value;

use super::assertion::Assertion;
use super::raw::{RawCondition, RawExpectation, RawStatus};
use super::raw_assertions::read_assertion;
use super::selector::Selector;
use kueue_lab_skypilot::jobs::ManagedJobStatus;
use kueue_lab_yaml::{Position, Problem};

/// The kind of the Events that the timeline shows.
pub(super) const EVENT_KIND: (&str, &str) = ("events.k8s.io/v1", "Event");
/// The default of `within`, in lab time.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// One expectation.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// The expected state.
    pub expected: Expected,
    /// The timeout (`within`), in lab time.
    pub timeout: Duration,
    /// How long it must stay met, in lab time.
    pub holds: Duration,
    /// Whether `within` is given.
    pub has_timeout: bool,
    /// The position in the file.
    pub position: Position,
}

/// The expected state of a job or of objects.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// A managed job.
    Job {
        /// Its name in the scenario.
        name: String,
        /// Its state.
        status: Option<ManagedJobStatus>,
        /// The number of recoveries.
        recoveries: Option<u32>,
    },
    /// Objects.
    Object(Box<ExpectedObject>),
    /// A state in Kueue's terms.
    Assertion(Assertion),
    /// An expectation that is not met from this step to the end of the scenario.
    Never(Box<Expected>),
}

/// The expected state of objects.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedObject {
    /// The objects.
    pub object: Selector,
    /// Expected conditions by type.
    pub conditions: IndexMap<String, ExpectedCondition>,
    /// Expected fields by path; `null` for absent fields.
    pub fields: IndexMap<String, Value>,
    /// The exact number of objects; `None` for one or more.
    pub count: Option<usize>,
    /// Objects that must be older.
    pub newer_than: Option<Selector>,
}

/// An expected condition; `None` matches anything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpectedCondition {
    /// Status.
    pub status: Option<String>,
    /// Reason; `*` matches any text.
    pub reason: Option<String>,
    /// Message; `*` matches any text.
    pub message: Option<String>,
}

pub(super) const STATUSES: [ManagedJobStatus; 8] = [
    ManagedJobStatus::Pending,
    ManagedJobStatus::Starting,
    ManagedJobStatus::Running,
    ManagedJobStatus::Recovering,
    ManagedJobStatus::Cancelling,
    ManagedJobStatus::Succeeded,
    ManagedJobStatus::Failed,
    ManagedJobStatus::Cancelled,
];

impl Expectation {
    pub(super) fn read(
        mut raw: RawExpectation,
        at: Position,
        jobs: &BTreeSet<String>,
    ) -> Result<Self, Problem> {
        let has_object_fields = !raw.conditions.is_empty()
            || !raw.fields.is_empty()
            || raw.count.is_some()
            || raw.absent
            || raw.newer_than.is_some();
        let assertion = read_assertion(&mut raw, at)?;
        let never = raw.never.take();
        let others = [raw.job.is_some(), raw.object.is_some(), assertion.is_some()];
        let others = others.iter().filter(|is_set| **is_set).count();
        if others + usize::from(never.is_some()) != 1 {
            let message = "expect one of job, object, admitted, pending, finished, flavors, victims, \
                           evicted, waits, order, usage, borrowed, share, events and never";
            return Err(Problem::new(at, message));
        }
        let is_of_kueue = assertion.is_some() || never.is_some();
        if is_of_kueue && (has_object_fields || raw.status.is_some() || raw.recoveries.is_some()) {
            let message =
                "fields, conditions, count, status and recoveries belong to objects and jobs";
            return Err(Problem::new(at, message));
        }
        if never.is_some() && (raw.within.is_some() || raw.holds.is_some()) {
            let message = "never lasts to the end; it has neither within nor holds";
            return Err(Problem::new(at, message));
        }
        let expected = match (raw.job, raw.object) {
            (None, None) => match (assertion, never) {
                (Some(assertion), _) => Expected::Assertion(assertion),
                (None, Some(never)) => {
                    let is_timed = never.value.within.is_some() || never.value.holds.is_some();
                    let inner = Self::read(never.value, never.at, jobs)?;
                    if is_timed || matches!(inner.expected, Expected::Never(_)) {
                        let message = "never has one expectation without within, holds and never";
                        return Err(Problem::new(never.at, message));
                    }
                    Expected::Never(Box::new(inner.expected))
                }
                (None, None) => return Err(Problem::new(at, "nothing is expected")),
            },
            (Some(_), Some(_)) => {
                return Err(Problem::new(at, "expect either a job or an object"));
            }
            (Some(job), None) => {
                if has_object_fields {
                    let message = "an expectation of a job has status and recoveries only";
                    return Err(Problem::new(at, message));
                }
                if !jobs.contains(&job.value) {
                    let message = format!("no step before this one launches {:?}", job.value);
                    return Err(Problem::new(job.at, message));
                }
                let status = raw.status.map(|s| status(&s.value, s.at)).transpose()?;
                if status.is_none() && raw.recoveries.is_none() {
                    return Err(Problem::new(
                        at,
                        "an expectation of a job needs status or recoveries",
                    ));
                }
                Expected::Job {
                    name: job.value,
                    status,
                    recoveries: raw.recoveries.map(|r| r.value),
                }
            }
            (None, Some(object)) => {
                if raw.status.is_some() || raw.recoveries.is_some() {
                    let message = "status and recoveries are for jobs; use fields for objects";
                    return Err(Problem::new(at, message));
                }
                if raw.absent && raw.count.is_some() {
                    return Err(Problem::new(
                        at,
                        "absent means count: 0; use one of the two",
                    ));
                }
                let newer_than = raw.newer_than.map(|s| Selector::read(s.value, s.at));
                Expected::Object(Box::new(ExpectedObject {
                    object: Selector::read(object.value, object.at)?,
                    conditions: raw.conditions.into_iter().map(condition).collect(),
                    fields: raw.fields,
                    count: if raw.absent { Some(0) } else { raw.count },
                    newer_than: newer_than.transpose()?,
                }))
            }
        };
        Ok(Self {
            expected,
            has_timeout: raw.within.is_some(),
            timeout: raw.within.map_or(DEFAULT_TIMEOUT, |w| w.0),
            holds: raw.holds.map_or(Duration::ZERO, |h| h.0),
            position: at,
        })
    }

    /// The selectors whose kinds must be watched.
    pub(super) fn selectors(&self) -> Vec<&Selector> {
        self.expected.selectors()
    }
}

impl Expected {
    fn selectors(&self) -> Vec<&Selector> {
        match self {
            Self::Job { .. } | Self::Assertion(_) => Vec::new(),
            Self::Object(expected) => std::iter::once(&expected.object)
                .chain(&expected.newer_than)
                .collect(),
            Self::Never(expected) => expected.selectors(),
        }
    }

    /// Whether it, or its `never` expectation, is in Kueue's terms.
    pub(super) fn has_assertion(&self) -> bool {
        match self {
            Self::Assertion(_) => true,
            Self::Never(expected) => expected.has_assertion(),
            Self::Job { .. } | Self::Object(_) => false,
        }
    }
}

fn status(text: &str, at: Position) -> Result<ManagedJobStatus, Problem> {
    let upper = text.to_ascii_uppercase();
    let found = STATUSES.into_iter().find(|s| s.as_str() == upper);
    found.ok_or_else(|| {
        let known: Vec<_> = STATUSES.iter().map(|s| s.as_str()).collect();
        let message = format!(
            "unknown status {text:?}; the statuses are {}",
            known.join(", ")
        );
        Problem::new(at, message)
    })
}

/// Reads a condition.
pub(super) fn condition((name, raw): (String, RawCondition)) -> (String, ExpectedCondition) {
    let flag = |b: bool| if b { "True" } else { "False" }.to_owned();
    let condition = match raw {
        RawCondition::Flag(b) => ExpectedCondition {
            status: Some(flag(b)),
            ..ExpectedCondition::default()
        },
        RawCondition::Status(text) => ExpectedCondition {
            status: Some(text),
            ..ExpectedCondition::default()
        },
        RawCondition::Parts(parts) => ExpectedCondition {
            status: parts.status.map(|s| match s {
                RawStatus::Flag(b) => flag(b),
                RawStatus::Text(text) => text,
            }),
            reason: parts.reason,
            message: parts.message,
        },
    };
    (name, condition)
}

impl fmt::Display for ExpectedCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status.as_deref().unwrap_or("*"))?;
        if let Some(reason) = &self.reason {
            write!(f, "/{reason}")?;
        }
        if let Some(message) = &self.message {
            write!(f, " {message:?}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Expected {
    /// In one line: `job job1 is RUNNING`, `Workload pod-* has Admitted=True`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job {
                name,
                status,
                recoveries,
            } => {
                write!(f, "job {name}")?;
                if let Some(status) = status {
                    write!(f, " is {status}")?;
                }
                if let Some(recoveries) = recoveries {
                    write!(f, " with {recoveries} recoveries")?;
                }
                Ok(())
            }
            Self::Object(expected) => write!(f, "{expected}"),
            Self::Assertion(assertion) => write!(f, "{assertion}"),
            Self::Never(expected) => write!(f, "never {expected}"),
        }
    }
}

impl fmt::Display for Expectation {
    /// The expectation in one line, with the time for which it must hold.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.expected)?;
        if !self.holds.is_zero() {
            write!(f, " for {}", super::duration::format_duration(self.holds))?;
        }
        Ok(())
    }
}

impl fmt::Display for ExpectedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            Some(0) => write!(f, "no {}", self.object)?,
            Some(n) => write!(f, "{n} of {}", self.object)?,
            None => write!(f, "{}", self.object)?,
        }
        let conditions = self
            .conditions
            .iter()
            .map(|(name, c)| format!("{name}={c}"));
        let fields = self
            .fields
            .iter()
            .map(|(path, value)| format!("{path}={value}"));
        let parts: Vec<String> = conditions.chain(fields).collect();
        if !parts.is_empty() {
            write!(f, " with {}", parts.join(", "))?;
        }
        if let Some(other) = &self.newer_than {
            write!(f, ", newer than {other}")?;
        }
        Ok(())
    }
}
