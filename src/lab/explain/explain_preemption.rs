//! The preemptions of a Workload and by it, from conditions and Events, and the current decision of the engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Event;
use kube::{Client, ResourceExt};
use serde::Serialize;

use super::explain_error::ExplainError;
use super::explain_workload::workload_events;
use super::find_workload::find_workload;
use super::live_explanations::LiveExplanations;
use super::preemption_text;
use kueue_lab_api::constants as c;
use kueue_lab_api::preemption_policy::CANDIDATES_ANNOTATION;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::Engine;
use kueue_lab_engine::cycle::RecordedCandidates;
use kueue_lab_engine::engine::Explanation;
use kueue_lab_engine::workload::{WorkloadKey, predicates};
use kueue_lab_reason::PreemptionMessage;

/// The longest time between the condition and the Event of one preemption.
const SAME: SignedDuration = SignedDuration::from_secs(10);
/// The prefix of the message of a condition when the Workload has quota again.
const PREVIOUSLY: &str = "Previously: ";

/// A preemption.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preemption {
    /// When it was; none if the Workload has quota again and the Events have expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The preempted Workload.
    pub workload: WorkloadKey,
    /// Its job.
    pub job: String,
    /// Its UID.
    pub workload_uid: String,
    /// The preemptor; none if it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemptor: Option<WorkloadKey>,
    /// The job of the preemptor.
    pub preemptor_job: String,
    /// The UID of the preemptor.
    pub preemptor_uid: String,
    /// The current state of the preemptor: pending, admitted, finished, deleted.
    pub preemptor_state: &'static str,
    /// The reason, such as `InCohortReclamation`.
    pub reason: String,
    /// The reason as text.
    pub cause: String,
    /// The policy of the preemptor's ClusterQueue that allows it, as it is now.
    pub policy: String,
    /// The path of the preemptor's ClusterQueue.
    pub preemptor_path: String,
    /// The path of the ClusterQueue of the preempted Workload.
    pub preemptee_path: String,
    /// The priority of the preemptor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemptor_priority: Option<i64>,
    /// The priority of the preempted Workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemptee_priority: Option<i64>,
    /// The candidates among which it was chosen; none if another controller preempted it, or the Event has
    /// expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<RecordedCandidates>,
}

/// The preemptions of a Workload and by it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedPreemption {
    /// The Workload.
    pub workload: WorkloadKey,
    /// The preemptions of it, the latest first.
    pub preempted: Vec<Preemption>,
    /// The preemptions by it, the latest first.
    pub preempts: Vec<Preemption>,
    /// The engine's decision on it now; none if it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<Explanation>,
    /// The decision on the latest preemptor, if it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemptor_now: Option<Explanation>,
    /// The object; none if it is deleted.
    #[serde(skip)]
    pub object: Option<Arc<Workload>>,
}

impl ExplainedPreemption {
    /// The preemptions as several lines of text.
    pub fn text(&self) -> String {
        preemption_text::render(self)
    }

    /// Takes the current decisions of the engine of a running lab.
    ///
    /// # Errors
    /// A request failed.
    pub(super) async fn decide_by(
        &mut self,
        live: &LiveExplanations<'_>,
    ) -> Result<(), ExplainError> {
        for explanation in [&mut self.now, &mut self.preemptor_now] {
            let Some(loaded) = explanation else {
                continue;
            };
            if let Some(of_lab) = live.workload(&loaded.workload).await? {
                *explanation = Some(of_lab.explanation);
            }
        }
        Ok(())
    }
}

/// Explains the preemptions of a Workload, by its name, that of its job, or that of a deleted Workload with
/// Events.
///
/// # Errors
/// There is no such Workload.
pub(super) async fn explain_preemption(
    client: &Client,
    engine: &mut Engine,
    now: Timestamp,
    namespace: &str,
    name: &str,
) -> Result<ExplainedPreemption, ExplainError> {
    let events = workload_events(client, namespace).await;
    let all = preemptions(engine, &events);
    let workloads: Vec<_> = engine.workloads().cloned().collect();
    let key = match find_workload(client, &workloads, namespace, name).await {
        Ok(key) => key,
        Err(error) => {
            let deleted = WorkloadKey::new(namespace, name);
            if !all.iter().any(|p| p.workload == deleted) {
                return Err(error);
            }
            deleted
        }
    };
    let object = engine.workload(&key).cloned();
    let uid = object.as_ref().map(|wl| predicates::uid(wl).to_owned());
    let (mut preempted, mut preempts) = (Vec::new(), Vec::new());
    for preemption in all {
        if preemption.workload == key
            && uid
                .as_ref()
                .is_none_or(|uid| *uid == preemption.workload_uid)
        {
            preempted.push(preemption);
        } else if uid.as_ref() == Some(&preemption.preemptor_uid) {
            preempts.push(preemption);
        }
    }
    let preemptor = preempted
        .first()
        .and_then(|p: &Preemption| p.preemptor.clone().filter(|_| p.preemptor_state == PENDING));
    Ok(ExplainedPreemption {
        now: engine.explain(&key, now),
        preemptor_now: preemptor.and_then(|key| engine.explain(&key, now)),
        workload: key,
        preempted,
        preempts,
        object,
    })
}

/// The state of a Workload that waits.
const PENDING: &str = "pending";

fn state(workload: Option<&Workload>) -> &'static str {
    match workload {
        None => "deleted",
        Some(wl) if predicates::is_finished(wl) => "finished",
        Some(wl) if predicates::is_admitted(wl) => "admitted",
        Some(wl) if predicates::has_quota_reservation(wl) => "quota reserved",
        Some(_) => PENDING,
    }
}

/// All preemptions in the conditions and Events of a cluster, the latest first.
fn preemptions(engine: &Engine, events: &[Event]) -> Vec<Preemption> {
    let by_uid: BTreeMap<&str, &Arc<Workload>> = engine
        .workloads()
        .map(|wl| (predicates::uid(wl), wl))
        .collect();
    let mut found: Vec<Preemption> = Vec::new();
    for event in events
        .iter()
        .filter(|e| e.reason.as_deref() == Some(c::event::PREEMPTED))
    {
        let message = event.message.as_deref().unwrap_or_default();
        let involved = &event.involved_object;
        let key = WorkloadKey::new(
            involved.namespace.as_deref().unwrap_or_default(),
            involved.name.as_deref().unwrap_or_default(),
        );
        let uid = involved.uid.as_deref().unwrap_or_default();
        let at = event.last_timestamp.as_ref().map(|time| time.0);
        let at = at.max(event.event_time.as_ref().map(|time| time.0));
        let annotations = event.metadata.annotations.as_ref();
        let candidates = annotations.and_then(|all| all.get(CANDIDATES_ANNOTATION));
        let candidates = candidates.and_then(|text| serde_json::from_str(text).ok());
        let of_event = preemption(engine, &by_uid, key, uid, at, message);
        found.extend(of_event.map(|found| Preemption {
            candidates,
            ..found
        }));
    }
    for wl in engine.workloads() {
        let conditions = wl.status.conditions.iter();
        for condition in conditions.filter(|condition| condition.type_ == c::PREEMPTED) {
            let message = condition.message.as_str();
            let (at, message) = match message.strip_prefix(PREVIOUSLY) {
                Some(message) => (None, message),
                None => (Some(condition.last_transition_time.0), message),
            };
            let (key, uid) = (predicates::key(wl), predicates::uid(wl));
            let of_condition = preemption(engine, &by_uid, key, uid, at, message);
            let is_new = |new: &Preemption| !found.iter().any(|known| is_same(known, new));
            found.extend(of_condition.filter(is_new));
        }
    }
    found.sort_by(|a, b| (b.at, &a.workload).cmp(&(a.at, &b.workload)));
    found
}

/// Whether an Event and a condition are of one preemption.
fn is_same(event: &Preemption, condition: &Preemption) -> bool {
    let near = match (event.at, condition.at) {
        (Some(a), Some(b)) => a.duration_since(b).abs() <= SAME,
        _ => true,
    };
    near && event.workload_uid == condition.workload_uid
        && event.preemptor_uid == condition.preemptor_uid
}

fn preemption(
    engine: &Engine,
    by_uid: &BTreeMap<&str, &Arc<Workload>>,
    workload: WorkloadKey,
    uid: &str,
    at: Option<Timestamp>,
    message: &str,
) -> Option<Preemption> {
    let parsed = PreemptionMessage::parse(message);
    let reason = parsed.reason();
    let queue = engine.cluster_queue(parsed.preemptor_queue());
    let policy = queue.map(|queue| {
        let policies = queue.spec.preemption.clone().unwrap_or_default();
        policies.policy_for(reason)
    });
    let preemptor_uid = parsed.preemptor?;
    let preemptor = by_uid.get(preemptor_uid.as_str()).copied();
    Some(Preemption {
        at,
        workload,
        job: by_uid.get(uid).map(|wl| job(wl)).unwrap_or_default(),
        workload_uid: uid.to_owned(),
        preemptor: preemptor.map(|wl| predicates::key(wl)),
        preemptor_job: preemptor.map(|wl| job(wl)).unwrap_or_default(),
        preemptor_uid,
        preemptor_state: state(preemptor.map(|wl| &**wl)),
        reason: reason.to_owned(),
        cause: parsed.cause_text,
        policy: policy.unwrap_or_default(),
        preemptor_path: parsed.preemptor_path,
        preemptee_path: parsed.victim_path,
        preemptor_priority: parsed.preemptor_priority.map(|p| p.effective),
        preemptee_priority: parsed.victim_priority.map(|p| p.effective),
        candidates: None,
    })
}

/// The job of a Workload, such as `Job train`; empty without one.
fn job(workload: &Workload) -> String {
    let owner = workload.owner_references().first();
    owner.map_or_else(String::new, |owner| {
        format!("{} {}", owner.kind, owner.name)
    })
}
