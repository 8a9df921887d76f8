//! Messages of a preemption: conditions and Event of the preempted workload, Event of the
//! preemptor.

use super::event::{Event, EventType};
use crate::feature_gates::Gates;
use crate::workload::ordering::{base_priority, effective_priority};
use crate::workload::predicates;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_reason::{MessagePriority, PreemptionMessage, PreemptionReason};

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

fn priority(wl: &Workload, gates: &Gates) -> MessagePriority {
    MessagePriority {
        effective: effective_priority(wl, gates),
        base: base_priority(wl),
    }
}

impl PreemptionMessages<'_> {
    /// The message of the preempted workload's conditions.
    pub fn message(&self) -> String {
        self.value().message()
    }

    fn value(&self) -> PreemptionMessage {
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let reason = self.reason.map(PreemptionReason::human_readable);
        PreemptionMessage {
            preemptor: known(predicates::uid(self.preemptor)),
            preemptor_job: predicates::label(self.preemptor, c::JOB_UID_LABEL).and_then(known),
            cause_text: reason.unwrap_or_default().to_owned(),
            preemptor_path: self.preemptor_path.to_owned(),
            victim_path: self.victim_path.to_owned(),
            preemptor_priority: None,
            victim_priority: None,
        }
    }

    /// The Event on the preempted workload.
    pub(crate) fn victim_event(&self, gates: &Gates) -> Event {
        let value = PreemptionMessage {
            preemptor_priority: Some(priority(self.preemptor, gates)),
            victim_priority: Some(priority(self.victim, gates)),
            ..self.value()
        };
        let message = value.message();
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
            PreemptionMessage::priorities_text(
                priority(self.preemptor, gates),
                priority(self.victim, gates),
            ),
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
