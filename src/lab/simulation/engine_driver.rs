//! [`EngineDriver`]: an engine whose decisions are applied at once, as the controller applies them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;

use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{AdmissionCheckState, CheckState, Workload};
use kueue_lab_engine::Engine;
use kueue_lab_engine::cycle::{Action, ActionKind, ActionOutcome, Decision};
use kueue_lab_engine::engine::{CycleResult, NextCycle, ObjectChange};
use kueue_lab_engine::resources::FlavorName;
use kueue_lab_engine::status::{
    StatusChange, condition, finish, release_evicted, set_condition, sync_admitted_condition,
};
use kueue_lab_engine::workload::{WorkloadKey, predicates};

/// The message of the PodsReady condition of a job controller.
const PODS_READY: &str = "All pods reached readiness and the workload is running";

/// A change by a decision of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverEvent {
    /// A workload was admitted.
    Admitted(WorkloadKey),
    /// A workload was evicted. It keeps its quota until [`EngineDriver::release`].
    Evicted {
        /// The workload.
        workload: WorkloadKey,
        /// The preemptor, if it was preempted.
        preemptor: Option<WorkloadKey>,
        /// The reason of the preemption, such as `InClusterQueue`; empty for other evictions.
        reason: String,
    },
}

/// Drives an engine: every status change that it decides is written to its Workload. Admission checks
/// are answered `Ready` at once, and the pods of admitted workloads are ready at once.
#[derive(Clone, Debug)]
pub struct EngineDriver {
    engine: Engine,
    /// Whether `waitForPodsReady` is enabled, so that Workloads have the PodsReady condition.
    pods_ready: bool,
    /// The last decision on each pending workload of the last [`EngineDriver::schedule`].
    decisions: Vec<Arc<Decision>>,
    /// Whether cycles are skipped in which no head can fit.
    skips_cycles: bool,
}

impl EngineDriver {
    /// Drives an engine that has its objects.
    pub fn new(engine: Engine, pods_ready: bool) -> Self {
        EngineDriver {
            engine,
            pods_ready,
            decisions: Vec::new(),
            skips_cycles: false,
        }
    }

    /// Skips cycles in which no head can fit from now on, with the same admissions and evictions. Objects other
    /// than Workloads must not change afterwards.
    pub(crate) fn enable_cycle_skipping(&mut self) {
        self.skips_cycles = self.engine.enable_cycle_skipping();
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The engine, for changes of its objects.
    pub fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// Finishes a workload.
    pub fn finish(&mut self, key: &WorkloadKey, now: Timestamp) {
        self.update(key, now, |wl| {
            finish(wl, c::finished::SUCCEEDED, "Job finished successfully", now);
        });
    }

    /// Releases the quota of an evicted workload, whose pods are gone, and requeues it.
    pub fn release(&mut self, key: &WorkloadKey, now: Timestamp) {
        let gates = self.engine.config().gates.clone();
        self.update(key, now, |wl| {
            let Some(evicted) = predicates::true_condition(wl, c::EVICTED) else {
                return;
            };
            let (reason, message) = (evicted.reason.clone(), evicted.message.clone());
            release_evicted(wl, &reason, &message, true, now, &gates);
        });
    }

    /// Adds or updates a workload. The devices of a pending one are counted, as the controller does it.
    pub fn upsert_workload(&mut self, wl: Arc<Workload>, now: Timestamp) {
        self.engine.apply(ObjectChange::upsert(wl.clone()), now);
        self.engine.queue_if_devices_are_counted(&wl, now);
    }

    fn update(&mut self, key: &WorkloadKey, now: Timestamp, change: impl FnOnce(&mut Workload)) {
        if let Some(before) = self.engine.workload(key) {
            let mut after = Workload::clone(before);
            change(&mut after);
            self.upsert_workload(Arc::new(after), now);
        }
    }

    /// Does the work of the engine that is due, and runs scheduling cycles until no cycle makes
    /// progress. Returns what changed, in order.
    pub fn schedule(&mut self, now: Timestamp) -> Vec<DriverEvent> {
        self.engine.advance(now);
        let mut events = Vec::new();
        // A StrictFIFO head that does not fit is a head of every cycle. A cycle without progress whose
        // decisions are known changes nothing.
        let mut known: HashMap<Vec<WorkloadKey>, Vec<Vec<Arc<Decision>>>> = HashMap::new();
        self.decisions.clear();
        while !self.only_no_fit_cycles(&known) && self.engine.has_heads() {
            let Some(cycle) = self.cycle(now, &mut events) else {
                break;
            };
            let CycleResult {
                progress,
                decisions,
                ..
            } = cycle;
            let heads = decisions.iter().map(|decision| decision.workload.clone());
            let of_heads = known.entry(heads.collect()).or_default();
            let is_new = !of_heads.iter().any(|known| decide_alike(known, &decisions));
            if is_new {
                of_heads.push(decisions.clone());
            }
            self.decisions.extend(decisions);
            if progress {
                known.clear();
            } else if !is_new {
                break;
            }
        }
        events
    }

    /// Skips the next cycles in which no head can fit. True if no other cycle follows; `known` has the
    /// cycles since the last progress, by their heads.
    fn only_no_fit_cycles<T>(&mut self, known: &HashMap<Vec<WorkloadKey>, T>) -> bool {
        if !self.skips_cycles {
            return false;
        }
        let NextCycle::None { blocked } = self.engine.skip_no_fit_cycles() else {
            return false;
        };
        if !blocked.is_empty() {
            // A cycle with these heads only, until it is known.
            let mut known = known.keys().map(|heads| heads.iter().cloned().collect());
            let is_new = !known.any(|heads: BTreeSet<WorkloadKey>| heads == blocked);
            self.engine.count_cycles(1 + usize::from(is_new));
        }
        true
    }

    /// The next time at which the engine has work to do.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.engine.next_deadline()
    }

    /// The decisions of the last [`EngineDriver::schedule`], in order.
    pub fn decisions(&self) -> &[Arc<Decision>] {
        &self.decisions
    }

    /// Runs one cycle.
    fn cycle(&mut self, now: Timestamp, events: &mut Vec<DriverEvent>) -> Option<CycleResult> {
        let mut decided = self.engine.begin_cycle(now)?;
        let mut outcomes = BTreeMap::new();
        let mut done = 0;
        let mut admissions: Vec<Action> = Vec::new();
        loop {
            for action in decided.actions.iter().skip(done) {
                if action.kind == ActionKind::Admit {
                    admissions.push(action.clone());
                } else {
                    outcomes.insert(action.id, self.apply(action, now, events));
                }
            }
            if !decided.waits_for_pods_ready {
                break;
            }
            done = decided.actions.len();
            self.admit(std::mem::take(&mut admissions), now, events);
            if !self.engine.pods_ready_for_all_admitted_workloads() {
                break;
            }
            decided = self.engine.resume_cycle(decided, now);
        }
        let cycle = self.engine.finish_cycle(decided, &outcomes, now);
        self.admit(admissions, now, events);
        for action in &cycle.actions {
            if !self.is_reason_only(action) {
                self.apply(action, now, events);
            }
        }
        Some(cycle)
    }

    /// Whether an action writes only why a pending workload was not admitted, which no decision depends on.
    /// The reasons are not written if they may be outdated by skipped cycles.
    fn is_reason_only(&self, action: &Action) -> bool {
        let Some(StatusChange::Unreserve {
            preemption_gated, ..
        }) = &action.change
        else {
            return false;
        };
        let gates = &self.engine.config().gates;
        self.skips_cycles
            && !preemption_gated
            // Otherwise an update of the Workload drops the last tried flavors.
            && gates.flavor_fungibility_preserve_scan_progress
            && self
                .engine
                .workload(&action.workload)
                .is_some_and(|wl| wl.status.admission.is_none())
    }

    /// Writes admissions and reports their outcome to the engine.
    fn admit(&mut self, admissions: Vec<Action>, now: Timestamp, events: &mut Vec<DriverEvent>) {
        for action in admissions {
            let outcome = self.apply(&action, now, events);
            self.engine.finish_admission(&action.workload, outcome, now);
            if let Some(then) = &action.then {
                self.apply(then, now, events);
            }
        }
    }

    /// Applies an action to the latest version of its Workload.
    fn apply(
        &mut self,
        action: &Action,
        now: Timestamp,
        events: &mut Vec<DriverEvent>,
    ) -> ActionOutcome {
        let key = &action.workload;
        let known = self.engine.workload(key).cloned();
        let Some(before) = known.filter(|wl| predicates::uid(wl) == action.uid) else {
            return ActionOutcome::NotFound;
        };
        let Some(change) = &action.change else {
            return ActionOutcome::Done;
        };
        let gates = &self.engine.config().gates;
        let mut after = Workload::clone(&before);
        let mut changed = change.apply(&mut after, now, gates);
        if let StatusChange::Reserve {
            required_checks, ..
        } = change
        {
            set_checks_ready(&mut after, required_checks);
            sync_admitted_condition(&mut after, now, gates);
            changed = true;
        }
        let admitted = predicates::is_admitted(&after);
        if admitted && self.pods_ready {
            let ready = condition(
                &after,
                c::PODS_READY,
                true,
                c::pods_ready::STARTED,
                PODS_READY,
                now,
            );
            set_condition(&mut after.status.conditions, ready);
        }
        if admitted && !predicates::is_admitted(&before) {
            events.push(DriverEvent::Admitted(key.clone()));
        }
        if let StatusChange::Evict { preempted, .. } = change
            && !predicates::is_evicted(&before)
        {
            events.push(DriverEvent::Evicted {
                workload: key.clone(),
                preemptor: action.preemptor.as_ref().map(|p| p.workload.clone()),
                reason: preempted.clone().unwrap_or_default(),
            });
        }
        if changed {
            self.upsert_workload(Arc::new(after), now);
        }
        ActionOutcome::Done
    }
}

/// Answers all admission checks with Ready.
fn set_checks_ready(wl: &mut Workload, required: &BTreeSet<String>) {
    let checks = &mut wl.status.admission_checks;
    for name in required {
        if !checks.iter().any(|check| check.name == *name) {
            checks.push(AdmissionCheckState {
                name: name.clone(),
                ..Default::default()
            });
        }
    }
    for check in checks {
        check.state = CheckState::Ready;
    }
}

/// Whether two cycles decided alike on the same workloads, apart from their time.
fn decide_alike(a: &[Arc<Decision>], b: &[Arc<Decision>]) -> bool {
    let alike = |(a, b): (&Arc<Decision>, &Arc<Decision>)| {
        a.workload == b.workload
            && a.status == b.status
            && a.inadmissible == b.inadmissible
            && tried_flavors(a).eq(tried_flavors(b))
    };
    a.len() == b.len() && a.iter().zip(b).all(alike)
}

fn tried_flavors(decision: &Decision) -> impl Iterator<Item = &FlavorName> {
    let pod_sets = decision.pod_sets.iter();
    pod_sets.flat_map(|ps| ps.attempts.iter().map(|attempt| &attempt.flavor))
}
