//! [`NotReadyTaintWarning`]: the warning that no controller removes the not-ready taint of the lab's
//! nodes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;

use super::node_lifecycle::NOT_READY;

/// How long a node may be Ready and have the taint.
const GRACE_PERIOD: SignedDuration = SignedDuration::from_secs(30);

/// The warning about a cluster without a node lifecycle controller. The API server adds the taint to
/// each new node, and only that controller removes it.
#[derive(Default)]
pub(super) struct NotReadyTaintWarning {
    is_logged: AtomicBool,
}

impl NotReadyTaintWarning {
    /// Logs the warning if a node has been Ready for the grace period and still has the taint. It is
    /// logged once for the cluster. Returns when the node has to be checked again.
    pub(super) fn check(&self, node: &Node, now: Timestamp) -> Option<Duration> {
        if self.is_logged.load(Ordering::Relaxed) {
            return None;
        }
        let remaining = GRACE_PERIOD - now.duration_since(ready_with_taint_since(node)?);
        if remaining.is_positive() {
            return remaining.try_into().ok();
        }
        if !self.is_logged.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                node = node.name_any(),
                "a node is Ready and keeps the taint {NOT_READY}: the cluster has no node lifecycle \
                 controller, and Pods stay pending; run kube-controller-manager with \
                 node-lifecycle-controller"
            );
        }
        None
    }
}

/// Since when a node with the taint is Ready; `None` if it is not Ready or has no such taint.
fn ready_with_taint_since(node: &Node) -> Option<Timestamp> {
    let mut taints = node.spec.as_ref()?.taints.iter().flatten();
    if !taints.any(|taint| taint.key == NOT_READY) {
        return None;
    }
    let mut conditions = node.status.as_ref()?.conditions.iter().flatten();
    let ready = conditions.find(|c| c.type_ == "Ready" && c.status == "True")?;
    ready.last_transition_time.as_ref().map(|time| time.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(ready: &str, taint: &str) -> Node {
        let since = "2026-03-02T12:00:00Z";
        let condition = json!({"type": "Ready", "status": ready, "lastTransitionTime": since});
        let taint = json!({"key": taint, "effect": "NoSchedule"});
        let node = json!({
            "metadata": {"name": "n"},
            "spec": {"taints": [taint]},
            "status": {"conditions": [condition]},
        });
        serde_json::from_value(node).unwrap()
    }

    fn after(seconds: i64) -> Timestamp {
        let since: Timestamp = "2026-03-02T12:00:00Z".parse().unwrap();
        since + SignedDuration::from_secs(seconds)
    }

    #[test]
    fn a_ready_node_that_keeps_the_taint_is_reported_once() {
        let warning = NotReadyTaintWarning::default();
        let check = |node: &Node, seconds: i64| {
            let next = warning.check(node, after(seconds));
            (next, warning.is_logged.load(Ordering::Relaxed))
        };
        let tainted = node("True", NOT_READY);
        assert_eq!(check(&node("True", "other"), 60), (None, false));
        assert_eq!(check(&node("False", NOT_READY), 60), (None, false));
        let next = Some(Duration::from_secs(10));
        assert_eq!(check(&tainted, 20), (next, false));
        assert_eq!(check(&tainted, 30), (None, true));
        assert_eq!(check(&tainted, 20), (None, true), "not again");
    }
}
