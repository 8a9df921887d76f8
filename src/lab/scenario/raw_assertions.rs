//! Expectations in Kueue's terms as deserialized.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

use super::assertion::{Assertion, JobState};
use super::comparison::{Amount, Comparison, RawComparison, Time};
use super::located::Located;
use super::raw::RawExpectation;
use kueue_lab_yaml::{Position, Problem};

/// A job, a list of jobs, or a mapping of more fields.
#[derive(Debug)]
pub(super) struct JobsOr<T>(pub(super) T);

/// One name or a list of names.
#[derive(Debug, Default)]
pub(super) struct Names(pub(super) Vec<String>);

impl<'de, T: Deserialize<'de> + From<Vec<String>>> Deserialize<'de> for JobsOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Jobs<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + From<Vec<String>>> Visitor<'de> for Jobs<T> {
            type Value = JobsOr<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a job, a list of names, or a mapping with jobs")
            }
            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(JobsOr(vec![name.to_owned()].into()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = seq.next_element::<String>()? {
                    names.push(name);
                }
                Ok(JobsOr(names.into()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(JobsOr)
            }
        }
        deserializer.deserialize_any(Jobs(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct One;
        impl<'de> Visitor<'de> for One {
            type Value = Names;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a job, or a list of names")
            }
            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Names, E> {
                Ok(Names(vec![name.to_owned()]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = seq.next_element::<String>()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_any(One)
    }
}

impl<T: JsonSchema> JsonSchema for JobsOr<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("JobsOr{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (names, more) = (
            generator.subschema_for::<Names>(),
            generator.subschema_for::<T>(),
        );
        json_schema!({"anyOf": [names, more]})
    }
}

impl JsonSchema for Names {
    fn schema_name() -> Cow<'static, str> {
        "Names".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A name, [NAMESPACE/]NAME with *, or a list of names",
            "type": ["string", "array"],
            "items": {"type": "string"},
        })
    }
}

/// Jobs in a state.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawState {
    /// Patterns of jobs.
    jobs: Names,
    /// How many: a number or a comparison.
    count: Option<RawComparison<Amount>>,
    /// A pattern for the reason or the message of a condition, of pending jobs.
    reason: Option<String>,
}

impl From<Vec<String>> for RawState {
    fn from(jobs: Vec<String>) -> Self {
        Self {
            jobs: Names(jobs),
            count: None,
            reason: None,
        }
    }
}

/// The flavors of admitted jobs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFlavors {
    /// Patterns of jobs.
    jobs: Names,
    /// Patterns of flavors by resource.
    #[schemars(extend("minProperties" = 1))]
    flavors: BTreeMap<String, String>,
}

/// Preempted jobs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawVictims {
    /// Patterns of jobs.
    jobs: Names,
    /// How many: a number or a comparison.
    count: Option<RawComparison<Amount>>,
    /// A pattern of the preempting job.
    by: Option<String>,
    /// A pattern for the reason of the condition Preempted.
    reason: Option<String>,
}

impl From<Vec<String>> for RawVictims {
    fn from(jobs: Vec<String>) -> Self {
        Self {
            jobs: Names(jobs),
            count: None,
            by: None,
            reason: None,
        }
    }
}

/// Evicted jobs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEvicted {
    /// Patterns of jobs.
    jobs: Names,
    /// A pattern for the reason or its underlying cause.
    reason: Option<String>,
    /// How often, at least once by default.
    times: Option<RawComparison<Amount>>,
}

impl From<Vec<String>> for RawEvicted {
    fn from(jobs: Vec<String>) -> Self {
        Self {
            jobs: Names(jobs),
            reason: None,
            times: None,
        }
    }
}

/// How long jobs waited.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWaits {
    /// Patterns of jobs.
    jobs: Names,
    /// A time or a comparison.
    time: RawComparison<Time>,
}

/// What a ClusterQueue uses.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawUsage {
    /// A ClusterQueue.
    cluster_queue: String,
    /// A ResourceFlavor; without it the sum of all.
    flavor: Option<String>,
    /// Amounts or comparisons by resource.
    #[schemars(extend("minProperties" = 1))]
    resources: BTreeMap<String, RawComparison<Amount>>,
}

/// The share of a ClusterQueue or of a Cohort.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RawShare {
    /// A ClusterQueue, in place of a cohort.
    cluster_queue: Option<String>,
    /// A Cohort, in place of a clusterQueue.
    cohort: Option<String>,
    /// The share.
    share: RawComparison<Amount>,
}

/// Events.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEvents {
    /// A pattern for the reason.
    reason: String,
    /// The kind of the object.
    kind: Option<String>,
    /// The object or its job.
    object: Option<Names>,
    /// A pattern for the note.
    message: Option<String>,
    /// How many: a number or a comparison.
    count: Option<RawComparison<Amount>>,
}

/// The expectation in Kueue's terms in `raw`, if it has one.
///
/// # Errors
/// It has more than one, or an invalid one.
pub(super) fn read_assertion(
    raw: &mut RawExpectation,
    at: Position,
) -> Result<Option<Assertion>, Problem> {
    let mut assertions: Vec<(Position, Assertion)> = Vec::new();
    let states = [
        (raw.admitted.take(), JobState::Admitted),
        (raw.pending.take(), JobState::Pending),
        (raw.finished.take(), JobState::Finished),
    ];
    for (of_state, state) in states {
        let Some(Located { at, value }) = of_state else {
            continue;
        };
        check_count_position(raw, state.as_str(), at, &value.0.jobs)?;
        let JobsOr(RawState {
            jobs,
            count,
            reason,
        }) = value;
        if reason.is_some() && state != JobState::Pending {
            return Err(Problem::new(at, "only pending jobs have a reason"));
        }
        let assertion = Assertion::State {
            state,
            jobs: patterns(jobs, at)?,
            count: amount(count),
            reason,
        };
        assertions.push((at, assertion));
    }
    if let Some(Located { at, value }) = raw.flavors.take() {
        if value.flavors.is_empty() {
            let message = "flavors has at least one resource, such as cpu: spot";
            return Err(Problem::new(at, message));
        }
        let assertion = Assertion::Flavors {
            jobs: patterns(value.jobs, at)?,
            flavors: value.flavors,
        };
        assertions.push((at, assertion));
    }
    if let Some(Located { at, value }) = raw.victims.take() {
        check_count_position(raw, "victims", at, &value.0.jobs)?;
        let JobsOr(RawVictims {
            jobs,
            count,
            by,
            reason,
        }) = value;
        let assertion = Assertion::Victims {
            jobs: patterns(jobs, at)?,
            count: amount(count),
            by,
            reason,
        };
        assertions.push((at, assertion));
    }
    if let Some(Located { at, value }) = raw.evicted.take() {
        let JobsOr(RawEvicted {
            jobs,
            reason,
            times,
        }) = value;
        let assertion = Assertion::Evicted {
            jobs: patterns(jobs, at)?,
            reason,
            times: amount(times).unwrap_or_else(Comparison::at_least_one),
        };
        assertions.push((at, assertion));
    }
    if let Some(Located { at, value }) = raw.waits.take() {
        let assertion = Assertion::Waits {
            jobs: patterns(value.jobs, at)?,
            time: value.time.0,
        };
        assertions.push((at, assertion));
    }
    if let Some(Located { at, value }) = raw.order.take() {
        if value.len() < 2 {
            return Err(Problem::new(at, "an order has at least two jobs"));
        }
        assertions.push((at, Assertion::Order(value)));
    }
    for (usage, is_borrowed) in [(raw.usage.take(), false), (raw.borrowed.take(), true)] {
        let Some(Located { at, value }) = usage else {
            continue;
        };
        if value.resources.is_empty() {
            let message = "resources has at least one resource, such as cpu: \"<= 8\"";
            return Err(Problem::new(at, message));
        }
        let resources = value.resources.into_iter();
        let assertion = Assertion::Usage {
            cluster_queue: value.cluster_queue,
            flavor: value.flavor,
            resources: resources.map(|(name, amount)| (name, amount.0)).collect(),
            is_borrowed,
        };
        assertions.push((at, assertion));
    }
    if let Some(Located { at, value }) = raw.share.take() {
        let (kind, name) = match (value.cluster_queue, value.cohort) {
            (Some(name), None) => ("ClusterQueue", name),
            (None, Some(name)) => ("Cohort", name),
            _ => {
                let message = "a share is that of a clusterQueue or of a cohort";
                return Err(Problem::new(at, message));
            }
        };
        let share = value.share.0;
        assertions.push((at, Assertion::Share { kind, name, share }));
    }
    if let Some(Located { at, value }) = raw.events.take() {
        let assertion = Assertion::Events {
            reason: value.reason,
            kind: value.kind,
            object: value.object.map(|jobs| patterns(jobs, at)).transpose()?,
            message: value.message,
            count: amount(value.count).unwrap_or_else(Comparison::at_least_one),
        };
        assertions.push((at, assertion));
    }
    if assertions.len() > 1 {
        let message = "an entry of expect has one expectation; write one entry for each";
        return Err(Problem::new(at, message));
    }
    Ok(assertions.pop().map(|(_, assertion)| assertion))
}

/// Refuses a number of jobs beside the jobs.
fn check_count_position(
    raw: &RawExpectation,
    key: &str,
    at: Position,
    jobs: &Names,
) -> Result<(), Problem> {
    let Some(count) = raw.count else {
        return Ok(());
    };
    let jobs = match jobs.0.as_slice() {
        [job] => format!("{job:?}"),
        _ => "[…]".to_owned(),
    };
    let message =
        format!("count belongs to the jobs; write `{key}: {{jobs: {jobs}, count: {count}}}`");
    Err(Problem::new(at, message))
}

fn amount(raw: Option<RawComparison<Amount>>) -> Option<Comparison> {
    raw.map(|comparison| comparison.0)
}

/// The patterns of jobs; at least one.
pub(super) fn patterns(jobs: Names, at: Position) -> Result<Vec<String>, Problem> {
    match jobs.0.is_empty() {
        true => Err(Problem::new(
            at,
            "name at least one job; `*` matches any text",
        )),
        false => Ok(jobs.0),
    }
}
