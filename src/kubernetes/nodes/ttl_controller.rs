//! The TTL controller: the annotation `node.alpha.kubernetes.io/ttl`, a hint to kubelets how long they
//! may cache Secrets and ConfigMaps, in seconds. It grows with the number of nodes.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use parking_lot::Mutex;
use serde_json::json;

use kueue_lab_controller_runtime::api_errors::is_not_found;
use kueue_lab_controller_runtime::{
    Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue,
};

/// The annotation of the TTL.
pub(super) const TTL_ANNOTATION: &str = "node.alpha.kubernetes.io/ttl";
/// How many nodes are reconciled concurrently.
const WORKERS: usize = 4;

/// A range of cluster sizes and its TTL. Ranges overlap, so that the TTL does not alternate.
struct TtlBoundary {
    min_nodes: usize,
    max_nodes: usize,
    seconds: u32,
}

const TTL_BOUNDARIES: [TtlBoundary; 5] = [
    boundary(0, 100, 0),
    boundary(90, 500, 15),
    boundary(450, 1000, 30),
    boundary(900, 2000, 60),
    boundary(1800, usize::MAX, 300),
];

const fn boundary(min_nodes: usize, max_nodes: usize, seconds: u32) -> TtlBoundary {
    TtlBoundary {
        min_nodes,
        max_nodes,
        seconds,
    }
}

/// The number of nodes and the boundary that applies.
#[derive(Default)]
struct DesiredTtl {
    nodes: usize,
    boundary: usize,
}

impl DesiredTtl {
    fn add_node(&mut self) {
        self.nodes += 1;
        if self.nodes > TTL_BOUNDARIES[self.boundary].max_nodes {
            self.boundary += 1;
        }
    }

    fn delete_node(&mut self) {
        self.nodes = self.nodes.saturating_sub(1);
        if self.nodes < TTL_BOUNDARIES[self.boundary].min_nodes {
            self.boundary -= 1;
        }
    }

    fn seconds(&self) -> u32 {
        TTL_BOUNDARIES[self.boundary].seconds
    }
}

/// Starts the controller.
pub fn start(context: &Context, nodes: &Informer<Node>) {
    let desired = Arc::new(Mutex::new(DesiredTtl::default()));
    let queue: WorkQueue<String> = WorkQueue::new(context);
    let (wake, counted) = (queue.clone(), desired.clone());
    nodes.add_event_handler(move |change| {
        match change {
            Change::Added(_) => counted.lock().add_node(),
            Change::Deleted(_) => return counted.lock().delete_node(),
            Change::Updated { .. } => {}
        }
        let node = change.object();
        if ttl(node) != Some(counted.lock().seconds()) {
            wake.add(node.name_any());
        }
    });
    let (api, nodes): (Api<Node>, _) = (Api::all(context.client.clone()), nodes.clone());
    queue.run(context, "ttl-controller", WORKERS, move |name| {
        let (api, nodes) = (api.clone(), nodes.clone());
        let seconds = desired.lock().seconds();
        async move {
            let node = nodes.get(&ObjectKey::cluster(&name));
            if node.is_none_or(|node| ttl(&node) == Some(seconds)) {
                return Ok(ReconcileResult::Done);
            }
            let patch = json!({"metadata": {"annotations": {TTL_ANNOTATION: seconds.to_string()}}});
            let patch = Patch::Strategic(&patch);
            match api.patch(&name, &PatchParams::default(), &patch).await {
                Ok(node) => nodes.observe_write(Arc::new(node)),
                Err(error) if is_not_found(&error) => {}
                Err(error) => return Err(error),
            }
            Ok(ReconcileResult::Done)
        }
    });
}

/// The annotated TTL of a node.
fn ttl(node: &Node) -> Option<u32> {
    node.annotations().get(TTL_ANNOTATION)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ttl_follows_the_number_of_nodes_with_hysteresis() {
        let mut desired = DesiredTtl::default();
        let mut at = |nodes: usize| {
            while desired.nodes < nodes {
                desired.add_node();
            }
            while desired.nodes > nodes {
                desired.delete_node();
            }
            desired.seconds()
        };
        assert_eq!((at(100), at(101), at(90), at(89)), (0, 15, 15, 0));
        assert_eq!((at(501), at(450), at(449)), (30, 30, 15));
        assert_eq!((at(1001), at(2001), at(1800), at(1799)), (60, 300, 300, 60));
        assert_eq!(at(0), 0);
    }
}
