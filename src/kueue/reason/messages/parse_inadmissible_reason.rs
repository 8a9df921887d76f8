//! Parses the messages of conditions to [`InadmissibleReason`].

use super::cursor::Cursor;
use super::parse_flavor_reason::{NEXT_POD_SET, flavor_reasons};
use crate::resources::FlavorName;
use crate::{
    AssignmentError, InadmissibleCause, InadmissibleReason, PendingEvictions, PodSetReasons,
};

impl InadmissibleReason {
    /// Parses the message of a QuotaReserved condition. A sentence that is not known is
    /// [`InadmissibleCause::Other`].
    pub fn parse(message: &str) -> Self {
        let (cause, evictions) = split_evictions(message);
        InadmissibleReason {
            cause: (!cause.is_empty()).then(|| InadmissibleCause::parse(cause)),
            evictions,
        }
    }
}

/// Splits off the sentence about evictions.
fn split_evictions(message: &str) -> (&str, Option<PendingEvictions>) {
    let marks = [
        ". Pending the preemption of ",
        ". Preempting ",
        ". Pending the migration of ",
    ];
    for (kind, mark) in marks.into_iter().enumerate() {
        let Some((cause, rest)) = message.rsplit_once(mark) else {
            continue;
        };
        let mut at = Cursor::new(rest);
        let count = at.number();
        let evictions = match (kind, count, at.rest) {
            (0, Some(count), " workload(s)") => PendingEvictions::Preemption(count),
            (1, Some(count), " workload(s) failed, will retry.") => {
                PendingEvictions::PreemptionFailed(count)
            }
            (2, Some(1), " workload(s)") => PendingEvictions::Migration,
            _ => continue,
        };
        return (cause, Some(evictions));
    }
    (message, None)
}

impl InadmissibleCause {
    fn parse(message: &str) -> Self {
        InadmissibleCause::of_sentence(message)
            .or_else(|| not_assigned(message))
            .or_else(|| with_data(message))
            .unwrap_or_else(|| InadmissibleCause::Other {
                message: message.to_owned(),
            })
    }
}

fn not_assigned(message: &str) -> Option<InadmissibleCause> {
    let mut at = Cursor::new(message);
    at.take(NEXT_POD_SET.trim_start_matches("; "))?;
    let mut pod_sets = Vec::new();
    loop {
        let name = at.until(": ")?.to_owned();
        let reasons = flavor_reasons(&mut at);
        pod_sets.push(PodSetReasons { name, reasons });
        if at.take(NEXT_POD_SET).is_none() {
            break;
        }
    }
    at.is_at_end()
        .then_some(InadmissibleCause::NotAssigned { pod_sets })
}

fn with_data(message: &str) -> Option<InadmissibleCause> {
    use InadmissibleCause as C;
    let after = |prefix: &str| message.strip_prefix(prefix).map(str::to_owned);
    if let Some(rest) = message.strip_prefix("failed to assign flavors to pod set ") {
        let (pod_set, error) = rest.split_once(": ")?;
        return Some(C::AssignmentFailed {
            pod_set: pod_set.to_owned(),
            error: assignment_error(error),
        });
    }
    if let Some(rest) = message.strip_prefix("LocalQueue ") {
        let (name, state) = rest.split_once(' ')?;
        let name = name.to_owned();
        return match state {
            "doesn't exist" => Some(C::LocalQueueNotFound { name }),
            "is inactive" => Some(C::LocalQueueInactive { name }),
            _ => None,
        };
    }
    if let Some(rest) = message.strip_prefix("ClusterQueue ") {
        let (name, state) = rest.split_once(' ')?;
        let name = name.to_owned();
        return match state {
            "doesn't exist" => Some(C::ClusterQueueNotFound { name }),
            "not found" => Some(C::ClusterQueueNotInCache { name }),
            "is inactive" => Some(C::ClusterQueueInactive { name }),
            _ => None,
        };
    }
    if let Some(rest) = message.strip_prefix("workload namespace \"") {
        let (name, _) = rest.split_once("\" does not exist: namespaces ")?;
        let name = name.to_owned();
        return Some(C::NamespaceNotFound { name });
    }
    if let Some(error) = after("invalid namespace selector: ") {
        return Some(C::InvalidNamespaceSelector { error });
    }
    if let Some(errors) = after("resources validation failed: ") {
        return Some(C::InvalidResources { errors });
    }
    if let Some(errors) = after("resources didn't satisfy LimitRange constraints: ") {
        return Some(C::LimitRange { errors });
    }
    if let Some(by) = after("Admission is gated by: ") {
        return Some(C::AdmissionGated { by });
    }
    let workload = message.strip_prefix("Failed to admit workload: workload ")?;
    let workload = workload.strip_suffix(" could not be added to the cache")?;
    Some(C::NotCached {
        workload: workload.to_owned(),
    })
}

fn assignment_error(text: &str) -> AssignmentError {
    let without_data = [
        AssignmentError::ElasticRequired,
        AssignmentError::ElasticPreferred,
        AssignmentError::NoTasCacheInformation,
        AssignmentError::NoTasFlavorAssigned,
    ];
    let mut without_data = without_data.into_iter();
    if let Some(error) = without_data.find(|error| error.to_string() == text) {
        return error;
    }
    match text.strip_prefix("more than one TAS flavor assigned: ") {
        Some(flavors) => AssignmentError::MultipleTasFlavors {
            flavors: flavors.split(", ").map(FlavorName::from).collect(),
        },
        None => AssignmentError::InvalidAffinity {
            error: text.to_owned(),
        },
    }
}
