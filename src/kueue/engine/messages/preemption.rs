//! Messages of a preemption: conditions and Event of the preempted workload, Event of the
//! preemptor.

use super::event::{Event, EventType};
use crate::feature_gates::Gates;
use crate::preemption::PreemptionReason;
use crate::workload::ordering::{base_priority, effective_priority};
use crate::workload::predicates;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;

/// The data of a preemption's messages. Empty paths are unknown.
#[derive(Clone, Copy, Debug)]
pub struct PreemptionMessages<'a> {
    /// The preemptor.
    pub preemptor: &'a Workload,
    /// The path of its ClusterQueue from the root cohort.
    pub preemptor_path: &'a str,
    /// The preempted workload.
    pub victim: &'a Workload,
    /// Its ClusterQueue.
    pub victim_queue: &'a str,
    /// The path of its ClusterQueue from the root cohort.
    pub victim_path: &'a str,
    /// The preemption reason.
    pub reason: Option<PreemptionReason>,
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "UNKNOWN" } else { text }
}

fn job_uid(wl: &Workload) -> &str {
    predicates::label(wl, c::JOB_UID_LABEL).unwrap_or_default()
}

fn priorities(wl: &Workload, gates: &Gates) -> String {
    let (effective, base) = (effective_priority(wl, gates), base_priority(wl));
    let boost = effective - i64::from(base);
    format!("{effective} (base: {base}, boost: {boost})")
}

impl PreemptionMessages<'_> {
    /// The message of the preempted workload's conditions.
    pub fn message(&self) -> String {
        format!(
            "Preempted to accommodate a workload (UID: {}, JobUID: {}) due to {}; preemptor path: {}; preemptee path: {}",
            or_unknown(predicates::uid(self.preemptor)),
            or_unknown(job_uid(self.preemptor)),
            self.reason
                .map_or("UNKNOWN", PreemptionReason::human_readable),
            or_unknown(self.preemptor_path),
            or_unknown(self.victim_path),
        )
    }

    fn priorities(&self, gates: &Gates) -> String {
        format!(
            "preemptor effective priority: {}; preemptee effective priority: {}",
            priorities(self.preemptor, gates),
            priorities(self.victim, gates),
        )
    }

    /// The Event on the preempted workload.
    pub(crate) fn victim_event(&self, gates: &Gates) -> Event {
        let message = format!("{}; {}", self.message(), self.priorities(gates));
        let uid = predicates::uid(self.victim);
        let key = predicates::key(self.victim);
        Event::new(key, uid, EventType::Normal, c::event::PREEMPTED, message)
    }

    /// The Event on the preemptor.
    pub(crate) fn preemptor_event(&self, gates: &Gates) -> Event {
        let message = format!(
            "Preempted workload {} (UID: {}) in ClusterQueue {}; {}",
            object_ref(self.victim),
            predicates::uid(self.victim),
            self.victim_queue,
            self.priorities(gates),
        );
        let uid = predicates::uid(self.preemptor);
        let key = predicates::key(self.preemptor);
        Event::new(
            key,
            uid,
            EventType::Normal,
            c::event::PREEMPTED_WORKLOAD,
            message,
        )
    }
}

/// `namespace/name`, or the name without a namespace.
fn object_ref(wl: &Workload) -> String {
    let (namespace, name) = (predicates::namespace(wl), predicates::name(wl));
    if namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}/{name}")
    }
}

/// The message of a variant's conditions that is evicted for a more favorable one.
pub fn migration(more_favorable: &Workload) -> String {
    format!(
        "Evicted to accommodate a workload (UID: {}) due to migration to more favorable resource flavor",
        predicates::uid(more_favorable)
    )
}
