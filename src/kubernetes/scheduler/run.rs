//! The scheduling loop: takes decisions from the cache and carries them out concurrently.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};

use super::NAME;
use super::binding_cycle::UNSCHEDULABLE;
use super::cache::SchedulerState;
use super::event_handlers::add_all_event_handlers;
use super::schedule_one::SchedulingDecision;
use kueue_lab_controller_runtime::{Context, Informer};
use kueue_lab_controller_utils::event_recorder::EventRecorder;
use kueue_lab_controller_utils::resource_claims::ResourceClaimInformers;

/// How many decisions are written to the cluster concurrently.
const WRITES: usize = 32;
/// How many decisions are made before yielding to other tasks.
const TURN: usize = 64;

pub(super) struct Scheduler {
    pub(super) context: Context,
    pub(super) pods: Informer<Pod>,
    pub(super) recorder: EventRecorder,
    pub(super) state: Mutex<SchedulerState>,
    pub(super) wake: Notify,
    writes: Arc<Semaphore>,
}

/// Starts the scheduler; `devices` if the cluster serves dynamic resource allocation.
pub fn start(
    context: &Context,
    pods: &Informer<Pod>,
    nodes: &Informer<Node>,
    devices: Option<&ResourceClaimInformers>,
) {
    let scheduler = Arc::new(Scheduler {
        context: context.clone(),
        pods: pods.clone(),
        recorder: EventRecorder::new(context, NAME),
        state: Mutex::default(),
        wake: Notify::new(),
        writes: Arc::new(Semaphore::new(WRITES)),
    });
    add_all_event_handlers(&scheduler, pods, nodes, devices);
    let (pods, nodes, devices) = (pods.clone(), nodes.clone(), devices.cloned());
    context.tasks.spawn("scheduler", async move {
        nodes.wait_for_cache_sync().await;
        pods.wait_for_cache_sync().await;
        if let Some(devices) = devices {
            devices.wait_for_cache_sync().await;
        }
        scheduler.run().await;
    });
}

impl Scheduler {
    async fn run(self: Arc<Self>) {
        let mut cycles = 0;
        loop {
            self.context.clock.running().await;
            let decision = self.state.lock().next();
            match decision {
                Some(decision) => {
                    self.apply_decision(decision);
                    cycles += 1;
                    if cycles % TURN == 0 {
                        tokio::task::yield_now().await;
                    }
                }
                None => self.wake.notified().await,
            }
        }
    }

    fn apply_decision(self: &Arc<Self>, decision: SchedulingDecision) {
        match decision {
            SchedulingDecision::Bind { pod, node, claims } => {
                self.spawn(move |this| async move { this.bind(pod, node, claims).await });
            }
            SchedulingDecision::Unschedulable {
                pods,
                reason,
                message,
                deallocate,
            } => {
                if let Some(claim) = deallocate {
                    self.spawn(move |this| async move { this.deallocate_claim(claim).await });
                }
                for pod in pods {
                    let message = message.clone();
                    self.spawn(move |this| async move {
                        this.handle_scheduling_failure(&pod, reason, &message, None)
                            .await;
                    });
                }
            }
            SchedulingDecision::Preempt {
                pod,
                node,
                victims,
                message,
            } => self.spawn(move |this| async move {
                for victim in victims {
                    this.evict_victim(&victim, &pod, &node).await;
                }
                this.handle_scheduling_failure(&pod, UNSCHEDULABLE, &message, Some(&node))
                    .await;
            }),
        }
    }

    fn spawn<F>(self: &Arc<Self>, write: impl FnOnce(Arc<Self>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let writes = self.writes.clone();
        let write = write(self.clone());
        self.context.tasks.spawn("scheduler-write", async move {
            // Never closed.
            let Ok(_permit) = writes.acquire().await else {
                return;
            };
            write.await;
        });
    }
}
