//! Plans a preset on copies of a cluster.

use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use futures::future::{Either, select};
use jiff::{SignedDuration, Timestamp};
use kueue_lab_import::{Bundle, ComparableObjects, ObjectName, applied_objects};
use kueue_lab_lab::{ClusterRole, Lab, LabConfig, ObjectFile, VirtualLab};
use kueue_lab_preemption_loops::{DetectedLoop, LoopKind};
use kueue_lab_presets::{ApplyOptions, Finding};

use super::cluster_plan::ClusterPlan;
use super::cluster_state::ClusterState;
use super::owner_notes::owner_notes;
use super::plan_error::PlanError;
use super::preset_scope::change_scope;

/// The longest time of the copies, in lab time: longer than the grace period of Pods and the timeouts that
/// follow an eviction.
const LIMIT: SignedDuration = SignedDuration::from_mins(5);
/// The longest run of a copy in real time.
const DEADLINE: Duration = Duration::from_secs(600);
/// The interval of the search for loops, in lab time.
const LOOP_INTERVAL: Duration = Duration::from_secs(1);
/// The lab time in which the copy of an import has to decide as the cluster did.
const CHECK: SignedDuration = SignedDuration::from_secs(20);

/// A preset of a presets folder.
#[derive(Clone, Copy, Debug)]
pub struct PlannedChange<'a> {
    /// The presets folder, or the folder of the preset itself.
    pub folder: &'a Path,
    /// The name of the preset.
    pub preset: &'a str,
}

/// The plan of a preset on an imported cluster. Blocks until two copies have run.
///
/// # Errors
/// [`PlanError`].
pub fn plan_preset(bundle: &Bundle, change: PlannedChange<'_>) -> Result<ClusterPlan, PlanError> {
    let PlannedChange { folder, preset } = change;
    let scope = change_scope(folder, preset);
    let applied = applied_objects(&bundle.objects);
    let ComparableObjects { objects, others } =
        ComparableObjects::of(scope.objects.into_iter().chain(applied));
    let apply = async |lab: &Lab| {
        wait_until_started(lab).await;
        let before = ClusterState::with_objects(lab, &objects).await?;
        let loops_before = loops_of(lab);
        let applied = lab.presets().switch(preset).await;
        applied.map_err(PlanError::Invalid)?;
        let changed = lab.clock().now();
        let Settled { loops, is_idle } =
            wait_until_idle_or_loop(lab, changed + LIMIT, &loops_before).await;
        let after = ClusterState::with_objects(lab, &objects).await?;
        let state = lab.presets().state();
        let mut warnings: Vec<String> = state.warnings.iter().map(Finding::to_string).collect();
        let is_old = |found: &&DetectedLoop| is_known(&loops_before, found);
        for found in loops.iter().filter(|found| !is_old(found)) {
            warnings.push(format!(
                "the queues do not settle: {found}; the effects are those until then"
            ));
        }
        for found in loops.iter().filter(is_old) {
            warnings.push(format!(
                "the queues do not settle, also without the change: {found}"
            ));
        }
        if loops.is_empty() && !is_idle {
            warnings.push(format!(
                "the copy is not idle after {} minutes of lab time; the effects are those until then",
                LIMIT.as_mins()
            ));
        }
        Ok::<_, PlanError>((
            before,
            after,
            lab.clock().now(),
            notes(&state.summary, warnings),
            state.taken_over.clone(),
        ))
    };
    let (before, after, end, notes, taken_over) = copy(bundle, folder, apply)??;
    // The same time passes without the change.
    let wait = async |lab: &Lab| {
        wait_until_started(lab).await;
        lab.run_until(end).await;
        ClusterState::of_lab(lab).await
    };
    let without = copy(bundle, folder, wait)??;
    let not_compared = note_on_objects(&others);
    let notes = bundle.notes.iter().cloned().chain(notes);
    let notes = notes.chain(not_compared).collect();
    let mut plan = ClusterPlan::new(&bundle.cluster, &before, &without, &after, notes);
    let notes = owner_notes(&taken_over, &plan.objects);
    plan.notes.extend(notes);
    Ok(plan)
}

/// Waits until the copy has started, and returns its state.
pub(super) async fn settled(lab: &Lab) -> Result<ClusterState, kube::Error> {
    wait_until_started(lab).await;
    ClusterState::of_lab(lab).await
}

/// Waits until the copy has started.
async fn wait_until_started(lab: &Lab) {
    let start = lab.clock().now();
    lab.wait_until_idle(start + CHECK).await;
}

/// The note on objects that the copies do not have.
fn note_on_objects(names: &[ObjectName]) -> Option<String> {
    let names: Vec<String> = names
        .iter()
        .map(|name| format!("{}/{}", name.kind, name.name))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "not compared with those of the cluster, as Secrets are not read and the lab does not serve all kinds: {}",
            names.join(", ")
        )
    })
}

/// The loops of preemptions of a lab.
fn loops_of(lab: &Lab) -> Vec<DetectedLoop> {
    let controller = lab.controller();
    let mut loops = controller.map_or_else(Vec::new, |controller| {
        controller.shared().scheduling_loops()
    });
    loops.retain(|found| !matches!(found.kind, LoopKind::AlternatingMessages(_)));
    loops
}

fn is_known(known: &[DetectedLoop], found: &DetectedLoop) -> bool {
    known.iter().any(|known| known.uids == found.uids)
}

/// How a copy ended.
struct Settled {
    loops: Vec<DetectedLoop>,
    /// Whether the copy was idle.
    is_idle: bool,
}

/// Waits until the copy is idle, there is a loop that is not `known`, or the limit is reached. A loop changes
/// objects as fast as it can until the limit.
async fn wait_until_idle_or_loop(lab: &Lab, limit: Timestamp, known: &[DetectedLoop]) -> Settled {
    let mut idle = pin!(lab.wait_until_idle(limit));
    loop {
        let next = lab.clock().sleep(LOOP_INTERVAL);
        let next = pin!(next);
        if let Either::Left(_) = select(idle.as_mut(), next).await {
            let is_idle = lab.clock().now() < limit;
            return Settled {
                loops: match is_idle {
                    true => Vec::new(),
                    false => loops_of(lab),
                },
                is_idle,
            };
        }
        let loops = loops_of(lab);
        if loops.iter().any(|found| !is_known(known, found)) {
            return Settled {
                loops,
                is_idle: false,
            };
        }
    }
}

/// The line about settings, and warnings.
fn notes(summary: &str, warnings: Vec<String>) -> Vec<String> {
    // The first part counts objects.
    let settings = summary.split("; ").skip(1).map(str::to_owned);
    settings.chain(warnings).collect()
}

/// Runs a function with a copy of a cluster.
pub(super) fn copy<T: Send>(
    bundle: &Bundle,
    folder: &Path,
    function: impl AsyncFnOnce(&Lab) -> T + Send,
) -> Result<T, PlanError> {
    let objects = ObjectFile::of_import(&bundle.cluster, bundle.objects.clone(), bundle.time);
    let lab = VirtualLab {
        start: objects.start().unwrap_or(bundle.time),
        deadline: Some(DEADLINE),
        ..VirtualLab::default()
    };
    let config = |clock, entropy| {
        let mut config = LabConfig::embedded(clock, entropy, folder);
        config.cluster.from = Some(objects);
        // The nodes are those of the cluster.
        config.components.nodes_of_presets = false;
        // The objects are those of others: the plan is that of an apply by their owner.
        config.presets.apply = ApplyOptions {
            force_conflicts: true,
            create_namespaces: true,
        };
        // Neither copy has worker clusters: their kubeconfigs are not imported.
        config.cluster.role = ClusterRole::WithoutWorkers;
        config
    };
    Ok(lab.run(config, function)?)
}
