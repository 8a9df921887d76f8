//! Why a workload stands where it stands, in one line that a person can act on.
//!
//! "Never" is kept apart from "not now": a workload that cannot be admitted whatever happens must
//! not look like one that only waits its turn.

use super::{Lack, WorkloadRow, WorkloadState, lacks_in};
use crate::model::derived::Derived;
use crate::model::{Data, Row};
use crate::text::human_duration;
use kueue_lab_api::constants::{
    ADMITTED, EVICTED, FINISHED, PODS_READY, QUOTA_RESERVED, evicted, quota_reserved,
};
use kueue_lab_api::v1beta2::CheckState;

/// What is to be expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// Not as long as workload and queue stay as they are.
    Never,
    /// Somebody has to let it go on.
    Held,
    /// Its time will come.
    NotNow,
    /// All is well.
    Fine,
    /// It went badly.
    Bad,
}

impl Outlook {
    /// The word in front of the reason; empty where the reason says it all.
    pub fn word(self) -> &'static str {
        match self {
            Outlook::Never => "never: ",
            Outlook::Held => "held: ",
            Outlook::NotNow => "waits: ",
            Outlook::Fine | Outlook::Bad => "",
        }
    }
}

/// A reason with its outlook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// What is to be expected.
    pub outlook: Outlook,
    /// The reason in a few words.
    pub text: String,
}

impl Why {
    fn new(outlook: Outlook, text: impl Into<String>) -> Self {
        Self {
            outlook,
            text: text.into(),
        }
    }

    /// Outlook and reason in one line.
    pub fn line(&self) -> String {
        format!("{}{}", self.outlook.word(), self.text)
    }
}

/// Why the workload stands where it stands.
pub fn why(wl: &WorkloadRow, data: &Data, derived: &Derived) -> Why {
    match wl.state() {
        WorkloadState::Pending => pending(wl, data, derived),
        WorkloadState::QuotaReserved => reserved(wl),
        WorkloadState::Admitted => admitted(wl, derived),
        WorkloadState::Evicted => left(wl, data),
        WorkloadState::Inactive => match wl.conds.when_true(EVICTED) {
            Some(c) => Why::new(Outlook::Held, format!("deactivated; {}", c.message)),
            None => Why::new(Outlook::Held, "spec.active is false"),
        },
        WorkloadState::Finished | WorkloadState::Failed => {
            let end = wl.conds.when_true(FINISHED);
            let (reason, message) =
                end.map_or(("", ""), |c| (c.reason.as_str(), c.message.as_str()));
            let outlook = if wl.state() == WorkloadState::Failed {
                Outlook::Bad
            } else {
                Outlook::Fine
            };
            Why::new(outlook, if message.is_empty() { reason } else { message })
        }
    }
}

/// Why a pending workload waits.
fn pending(wl: &WorkloadRow, data: &Data, derived: &Derived) -> Why {
    let Some(cond) = wl.conds.when_false(QUOTA_RESERVED) else {
        return unseen(wl, data, derived);
    };
    let lacks = lacks_in(&cond.message);
    let outlook = match cond.reason.as_str() {
        quota_reserved::EXCEEDS_MAX_QUOTA
        | quota_reserved::NO_MATCHING_FLAVOR
        | quota_reserved::MISCONFIGURED => Outlook::Never,
        quota_reserved::SUSPENDED | quota_reserved::ON_HOLD | quota_reserved::ADMISSION_GATED => {
            Outlook::Held
        }
        quota_reserved::PENDING | quota_reserved::INADMISSIBLE
            if cond.message.ends_with("doesn't exist") =>
        {
            Outlook::Never
        }
        quota_reserved::PENDING | quota_reserved::INADMISSIBLE
            if cond.message.ends_with("is inactive") =>
        {
            Outlook::Held
        }
        quota_reserved::PENDING if !lacks.is_empty() && lacks.iter().all(Lack::for_ever) => {
            Outlook::Never
        }
        _ => Outlook::NotNow,
    };
    if cond.reason == quota_reserved::WAITING_FOR_PREEMPTED_WORKLOADS
        || cond.message.contains("Pending the preemption of")
    {
        return Why::new(outlook, leaving(&cond.message));
    }
    if !lacks.is_empty() {
        return Why::new(outlook, few(&lacks, outlook));
    }
    if cond.reason == quota_reserved::PENDING_EVALUATION {
        return unseen(wl, data, derived);
    }
    Why::new(outlook, after_pod_set(&cond.message))
}

/// Why a workload that the scheduler said nothing of waits.
fn unseen(wl: &WorkloadRow, data: &Data, derived: &Derived) -> Why {
    if wl.queue.is_empty() {
        return Why::new(Outlook::Never, "names no LocalQueue");
    }
    let lq = data.local_queues.get(&wl.queue_key);
    let Some(lq) = lq else {
        return Why::new(
            Outlook::Never,
            format!("LocalQueue {} doesn't exist", wl.queue),
        );
    };
    if let Some(policy) = lq.stopped() {
        return Why::new(
            Outlook::Held,
            format!("LocalQueue {} is stopped ({policy})", wl.queue),
        );
    }
    let Some(cq) = data.cluster_queues.named(&lq.cluster_queue) else {
        return Why::new(
            Outlook::Never,
            format!("ClusterQueue {} doesn't exist", lq.cluster_queue),
        );
    };
    if let Some(policy) = cq.stopped() {
        return Why::new(
            Outlook::Held,
            format!("ClusterQueue {} is stopped ({policy})", lq.cluster_queue),
        );
    }
    match derived.position(wl.key()) {
        Some(place) if place.number > 1 && cq.strict() => Why::new(
            Outlook::NotNow,
            format!(
                "behind {} ({} ahead, StrictFIFO)",
                derived.head(&lq.cluster_queue).map_or("", |k| &k.name),
                place.number - 1
            ),
        ),
        Some(place) => match like(wl, data, derived, derived.line(&lq.cluster_queue)) {
            Some((other, why)) => {
                let text = format!("{} (as {})", why.text, other.key().name);
                Why::new(why.outlook, text)
            }
            None => Why::new(
                Outlook::NotNow,
                format!("nothing said yet, number {} in line", place.number),
            ),
        },
        None => Why::new(Outlook::NotNow, "nothing said yet"),
    }
}

/// How many workloads ahead are compared.
const AHEAD: usize = 64;

/// A workload ahead in the line that asks for the same and was told what is lacking. Kueue passes
/// over its like without a word (scheduling equivalence hashing).
fn like<'a>(
    wl: &WorkloadRow,
    data: &'a Data,
    derived: &Derived,
    line: &[super::Key],
) -> Option<(&'a WorkloadRow, Why)> {
    let ahead = line.iter().take_while(|key| *key != wl.key()).take(AHEAD);
    ahead
        .filter_map(|key| data.workloads.get(key))
        .filter(|other| other.priority == wl.priority && other.pod_sets == wl.pod_sets)
        .find(|other| {
            let said = other.conds.when_false(QUOTA_RESERVED);
            said.is_some_and(|cond| !lacks_in(&cond.message).is_empty())
        })
        .map(|other| (other, pending(other, data, derived)))
}

/// Why a workload with a reservation is not admitted.
fn reserved(wl: &WorkloadRow) -> Why {
    let open = wl.checks.iter().filter(|c| c.state != CheckState::Ready);
    let mut texts: Vec<String> = open
        .map(|c| match c.message.as_str() {
            "" => format!("check {} is {}", c.name, c.state),
            message => format!("check {} is {}: {message}", c.name, c.state),
        })
        .collect();
    let later = |a: &super::AdmissionRow| a.pod_sets.iter().any(|s| s.place_later);
    if texts.is_empty() && wl.admission.as_ref().is_some_and(later) {
        texts.push("to be placed when its nodes are there (second pass)".to_owned());
    }
    if texts.is_empty() {
        let cond = wl.conds.when_false(ADMITTED);
        texts.push(cond.map_or_else(|| "not admitted yet".to_owned(), |c| c.message.clone()));
    }
    Why::new(Outlook::NotNow, texts.join("; "))
}

/// How an admitted workload is doing.
fn admitted(wl: &WorkloadRow, derived: &Derived) -> Why {
    let pods = derived.pods_of(wl.key());
    let wanted = wl.pods_wanted();
    let flavors = flavors(wl);
    match wl.conds.get(PODS_READY) {
        Some(c) if c.status == "True" => Why::new(Outlook::Fine, format!("running on {flavors}")),
        Some(c) if c.reason == kueue_lab_api::constants::pods_ready::WAIT_FOR_RECOVERY => {
            Why::new(Outlook::Bad, c.message.clone())
        }
        _ if pods.unschedulable > 0 => Why::new(
            Outlook::Bad,
            format!(
                "{} of {wanted} pods find no node; {flavors}",
                pods.unschedulable
            ),
        ),
        _ => Why::new(
            Outlook::Fine,
            format!("starting {}/{wanted} on {flavors}", pods.ready),
        ),
    }
}

/// Who or what evicted it.
fn left(wl: &WorkloadRow, data: &Data) -> Why {
    let Some(cond) = wl.conds.when_true(EVICTED) else {
        return Why::new(Outlook::Bad, "evicted");
    };
    let who = match cond.reason.as_str() {
        evicted::PREEMPTED => {
            let by = data
                .feed
                .latest_of(&wl.meta.uid)
                .and_then(|e| e.preemptor.as_ref());
            by.map_or_else(
                || "preempted".to_owned(),
                |p| format!("preempted by {}", p.shown()),
            )
        }
        _ => cond.message.clone(),
    };
    let stage = if wl.holds_quota() {
        "; its pods are leaving".to_owned()
    } else {
        match wl.requeue_at {
            Some(at) if at > data.now => {
                let left = at.duration_since(data.now).as_secs();
                format!("; queued again in {}", human_duration(left))
            }
            _ => String::new(),
        }
    };
    Why::new(Outlook::Bad, format!("{who}{stage}"))
}

/// The flavors a workload got, each once.
pub fn flavors(wl: &WorkloadRow) -> String {
    let mut names: Vec<&str> = wl
        .admission
        .iter()
        .flat_map(|a| &a.pod_sets)
        .flat_map(|s| s.flavors.values().map(String::as_str))
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        "no flavor".to_owned()
    } else {
        names.join(", ")
    }
}

/// How many workloads have to leave first.
fn leaving(message: &str) -> String {
    let count = message
        .split_once("Pending the preemption of ")
        .and_then(|(_, rest)| rest.split_once(' '))
        .map_or("the", |(count, _)| count);
    let noun = if count == "1" {
        "workload"
    } else {
        "workloads"
    };
    format!("{count} preempted {noun} to leave")
}

/// The lacks that decide, in a few words: a workload for which some flavor may have room later
/// waits for that flavor, whatever the others lack.
fn few(lacks: &[Lack], outlook: Outlook) -> String {
    let decisive: Vec<&Lack> = lacks
        .iter()
        .filter(|l| outlook == Outlook::Never || !l.for_ever())
        .collect();
    let decisive = if decisive.is_empty() {
        lacks.iter().collect()
    } else {
        decisive
    };
    let mut texts: Vec<String> = decisive.iter().take(2).map(|l| l.text()).collect();
    if decisive.len() > 2 {
        texts.push(format!("and {} more", decisive.len() - 2));
    }
    texts.join(", ")
}

/// The message without the words every message of its kind begins with.
fn after_pod_set(message: &str) -> &str {
    message
        .strip_prefix("couldn't assign flavors to pod set ")
        .and_then(|rest| rest.split_once(": "))
        .map_or(message, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::Key;
    use crate::model::import::import;

    fn workload(name: &str, second: u32, cpu: &str, told: Option<&str>) -> Value {
        let told = told.map(|message| {
            json!({"type": "QuotaReserved", "status": "False", "reason": "WaitingForQuota",
                "message": message, "lastTransitionTime": "2026-03-02T12:00:30Z"})
        });
        json!({
            "kind": "Workload",
            "metadata": {"namespace": "ns", "name": name, "uid": name,
                "creationTimestamp": format!("2026-03-02T12:00:{second:02}Z")},
            "spec": {"queueName": "lq", "podSets": [{"name": "main", "count": 1, "template": {"spec":
                {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}}]},
            "status": {"conditions": told.as_slice()},
        })
    }

    #[test]
    fn what_was_said_of_its_like_holds_for_one_that_was_passed_over() {
        let message = "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 3 more needed";
        let objects = [
            json!({"kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": {}}),
            json!({"kind": "LocalQueue", "metadata": {"namespace": "ns", "name": "lq"},
                "spec": {"clusterQueue": "cq"}}),
            workload("first", 1, "6", Some(message)),
            workload("like", 2, "6", None),
            workload("other", 3, "2", None),
        ];
        let mut data = Data::default();
        for news in import(objects).unwrap() {
            data.learn(news);
        }
        let mut derived = Derived::default();
        derived.refresh(&data);
        let line = |name: &str| {
            let wl = data.workloads.get(&Key::new("ns", name)).unwrap();
            why(wl, &data, &derived).line()
        };
        assert_eq!(line("first"), "waits: 3 more cpu in f");
        assert_eq!(line("like"), "waits: 3 more cpu in f (as first)");
        assert_eq!(line("other"), "waits: nothing said yet, number 3 in line");
    }
}
