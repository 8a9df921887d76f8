//! The texts of events that requeue an inadmissible workload.

use crate::{InadmissibleState, RequeueEvent, RequeueScope};

impl std::fmt::Display for RequeueScope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RequeueScope::ClusterQueue(name) => write!(f, "ClusterQueue {name}"),
            RequeueScope::Cohort(name) => write!(f, "cohort {name}"),
        }
    }
}

impl std::fmt::Display for RequeueEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RequeueEvent::QuotaReleased { scope } => {
                write!(f, "a Workload of {scope} releases quota")
            }
            RequeueEvent::QueueChanged {
                scope: RequeueScope::ClusterQueue(name),
            } => write!(f, "ClusterQueue {name} changes"),
            RequeueEvent::QueueChanged { scope } => {
                write!(f, "a ClusterQueue or Cohort of {scope} changes")
            }
            RequeueEvent::FlavorChanged { cluster_queue } => write!(
                f,
                "a flavor or admission check of ClusterQueue {cluster_queue} changes"
            ),
            RequeueEvent::NodesChanged => f.write_str("a Node or Topology changes"),
            RequeueEvent::NamespaceSelected { namespace } => {
                write!(f, "the ClusterQueue selects the namespace {namespace}")
            }
            RequeueEvent::BackoffEnds { at } => write!(f, "its requeue backoff ends at {at:.0}"),
            RequeueEvent::WorkloadChanged => f.write_str("the Workload changes"),
        }
    }
}

impl InadmissibleState {
    /// The events, as `a, b or c`.
    pub fn events_text(&self) -> String {
        let events: Vec<String> = self.requeued_by.iter().map(ToString::to_string).collect();
        match events.split_last() {
            None => "no event".to_owned(),
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
        }
    }

    /// `inadmissible since T`.
    pub fn since_text(&self) -> String {
        self.since.map_or_else(
            || "inadmissible".to_owned(),
            |since| format!("inadmissible since {since:.0}"),
        )
    }

    /// `at T` or `when …`: what requeues it.
    pub fn requeued_text(&self) -> String {
        match self.requeued_at {
            Some(at) => format!("at {at:.0}"),
            None => format!("when {}", self.events_text()),
        }
    }
}

impl std::fmt::Display for InadmissibleState {
    /// `inadmissible since T, requeued when …`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}, requeued {}",
            self.since_text(),
            self.requeued_text()
        )
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn the_events_are_named_with_their_scope() {
        let since: Timestamp = "2026-03-02T12:00:00Z".parse().unwrap();
        let scope = RequeueScope::Cohort("all".to_owned());
        let mut state = InadmissibleState {
            since: Some(since),
            requeued_at: None,
            requeued_by: vec![
                RequeueEvent::QuotaReleased {
                    scope: scope.clone(),
                },
                RequeueEvent::QueueChanged { scope },
                RequeueEvent::WorkloadChanged,
            ],
        };
        assert_eq!(
            state.to_string(),
            "inadmissible since 2026-03-02T12:00:00Z, requeued when a Workload of cohort all releases quota, \
             a ClusterQueue or Cohort of cohort all changes or the Workload changes"
        );
        let json = serde_json::to_string(&state).unwrap();
        assert_eq!(
            serde_json::from_str::<InadmissibleState>(&json).unwrap(),
            state
        );
        state.requeued_at = Some(since);
        assert!(
            state
                .to_string()
                .ends_with(", requeued at 2026-03-02T12:00:00Z")
        );
    }
}
