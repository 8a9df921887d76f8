//! The resources of the nodes, which jobs take one after the other.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Resources of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bundle {
    pub(crate) cpus: f64,
    pub(crate) gpus: f64,
}

impl Bundle {
    fn fits(self, free: Self) -> bool {
        self.cpus <= free.cpus && self.gpus <= free.gpus
    }
}

/// The resources in use on each node.
#[derive(Default)]
pub(crate) struct Placements {
    used: Mutex<Vec<Bundle>>,
    freed: Notify,
}

/// Resources that a job holds until it is dropped: one bundle on each node from the first on.
pub(crate) struct PlacementGroup {
    placements: Arc<Placements>,
    bundles: Vec<Bundle>,
}

impl Placements {
    /// Waits until each bundle fits on its own node. `nodes` are the resources of the nodes.
    pub(crate) async fn place(
        self: &Arc<Self>,
        bundles: Vec<Bundle>,
        nodes: &[Bundle],
    ) -> PlacementGroup {
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if self.try_place(&bundles, nodes) {
                return PlacementGroup {
                    placements: self.clone(),
                    bundles,
                };
            }
            freed.await;
        }
    }

    fn try_place(&self, bundles: &[Bundle], nodes: &[Bundle]) -> bool {
        let mut used = self.used.lock();
        let length = used.len().max(nodes.len());
        used.resize(length, Bundle::default());
        let fits = bundles.iter().enumerate().all(|(at, bundle)| {
            let (Some(node), Some(used)) = (nodes.get(at), used.get(at)) else {
                return false;
            };
            bundle.fits(Bundle {
                cpus: node.cpus - used.cpus,
                gpus: node.gpus - used.gpus,
            })
        });
        if fits {
            for (used, bundle) in used.iter_mut().zip(bundles) {
                used.cpus += bundle.cpus;
                used.gpus += bundle.gpus;
            }
        }
        fits
    }
}

impl Drop for PlacementGroup {
    fn drop(&mut self) {
        let mut used = self.placements.used.lock();
        for (used, bundle) in used.iter_mut().zip(&self.bundles) {
            used.cpus -= bundle.cpus;
            used.gpus -= bundle.gpus;
        }
        drop(used);
        self.placements.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_job_waits_for_the_gpus_of_another() {
        let placements = Arc::new(Placements::default());
        let nodes = [Bundle {
            cpus: 4.0,
            gpus: 8.0,
        }];
        let half = Bundle {
            cpus: 0.5,
            gpus: 4.0,
        };
        let first = placements.place(vec![half], &nodes).await;
        let second = placements.place(vec![half], &nodes).await;
        let third = placements.place(vec![half], &nodes);
        tokio::pin!(third);
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        third.await;
        // More bundles than nodes never fit.
        assert!(
            placements
                .place(vec![half; 2], &nodes)
                .now_or_never()
                .is_none()
        );
        drop(second);
    }
}
