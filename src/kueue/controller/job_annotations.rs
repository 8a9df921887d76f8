//! Labels and annotations of jobs, as upstream's `jobframework` reads them.

use std::str::FromStr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::object_meta::{annotation, label};
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::constants as c;

/// The maximum length of a label value.
pub(crate) const LABEL_VALUE_MAX: usize = 63;

/// The queue name; empty if it is not set.
pub(crate) fn queue_name(meta: &ObjectMeta) -> &str {
    label(meta, c::QUEUE_LABEL).unwrap_or_default()
}

/// The WorkloadPriorityClass; empty if it is not set.
pub(crate) fn workload_priority_class_name(meta: &ObjectMeta) -> &str {
    label(meta, c::PRIORITY_CLASS_LABEL).unwrap_or_default()
}

/// The maximum execution time in seconds, if the label is a positive integer.
pub(crate) fn maximum_execution_time_seconds(meta: &ObjectMeta) -> Option<i32> {
    let seconds = meta.labels.as_ref()?.get(c::MAX_EXEC_TIME_SECONDS_LABEL)?;
    seconds.parse().ok().filter(|seconds| *seconds > 0)
}

/// The name of the prebuilt Workload.
pub(crate) fn prebuilt_workload_name<'a>(
    meta: &'a ObjectMeta,
    gates: &FeatureGates,
) -> Option<&'a str> {
    let by_label = label(meta, c::PREBUILT_WORKLOAD_LABEL);
    let by_annotation = annotation(meta, c::PREBUILT_WORKLOAD_ANNOTATION);
    if gates.enabled(Feature::WorkloadIdentifierAnnotations) {
        by_annotation.or(by_label)
    } else {
        by_label.or(by_annotation.filter(|name| name.len() > LABEL_VALUE_MAX))
    }
}

/// Whether the job is elastic.
pub(crate) fn is_elastic(meta: &ObjectMeta, gates: &FeatureGates) -> bool {
    gates.enabled(Feature::ElasticJobsViaWorkloadSlices)
        && annotation(meta, c::ELASTIC_JOB_ANNOTATION) == Some(c::ELASTIC_JOB_VALUE)
}

/// The pod group name of a pod.
pub(crate) fn pod_group_name<'a>(meta: &'a ObjectMeta, gates: &FeatureGates) -> Option<&'a str> {
    let by_annotation = gates
        .enabled(Feature::WorkloadIdentifierAnnotations)
        .then(|| annotation(meta, c::POD_GROUP_NAME_ANNOTATION))
        .flatten();
    by_annotation.or_else(|| label(meta, c::POD_GROUP_NAME_LABEL))
}

/// A text that is not an integer, with the message of a function of Go's `strconv`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("strconv.{function}: parsing {text:?}: {problem}")]
pub(crate) struct ParseIntError {
    /// The function.
    function: &'static str,
    /// The text.
    text: String,
    /// Why it is not parsed.
    problem: &'static str,
}

/// Parses an integer as the function of Go's `strconv` with this name, with its messages.
///
/// # Errors
/// The text is not an integer, or out of range.
pub(crate) fn parse_int<N: FromStr>(
    function: &'static str,
    text: &str,
) -> Result<N, ParseIntError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let numeric = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let problem = match numeric {
        true => "value out of range",
        false => "invalid syntax",
    };
    let parsed = if numeric { text.parse().ok() } else { None };
    parsed.ok_or_else(|| ParseIntError {
        function,
        text: text.to_owned(),
        problem,
    })
}

/// Parses a boolean as Go's `strconv.ParseBool`.
pub(crate) fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(labels: &[(&str, &str)], annotations: &[(&str, &str)]) -> ObjectMeta {
        let map = |list: &[(&str, &str)]| {
            let pairs = list.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            Some(pairs.collect())
        };
        ObjectMeta {
            labels: map(labels),
            annotations: map(annotations),
            ..Default::default()
        }
    }

    #[test]
    fn invalid_execution_times_are_ignored() {
        let of = |text| {
            maximum_execution_time_seconds(&meta(&[(c::MAX_EXEC_TIME_SECONDS_LABEL, text)], &[]))
        };
        assert_eq!(of("10"), Some(10));
        for bad in ["0", "-1", "x", "99999999999"] {
            assert_eq!(of(bad), None);
        }
    }

    #[test]
    fn prebuilt_workload_annotation_takes_precedence() {
        let both = meta(
            &[(c::PREBUILT_WORKLOAD_LABEL, "l")],
            &[(c::PREBUILT_WORKLOAD_ANNOTATION, "a")],
        );
        let on = FeatureGates::default().with(Feature::WorkloadIdentifierAnnotations, true);
        assert_eq!(prebuilt_workload_name(&both, &on), Some("a"));
        let off = on.with(Feature::WorkloadIdentifierAnnotations, false);
        assert_eq!(prebuilt_workload_name(&both, &off), Some("l"));
        let long = "a".repeat(64);
        let long_only = meta(&[], &[(c::PREBUILT_WORKLOAD_ANNOTATION, &long)]);
        assert_eq!(
            prebuilt_workload_name(&long_only, &off),
            Some(long.as_str())
        );
    }
}
