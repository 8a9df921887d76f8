//! Plans a preset on copies of a cluster.

use std::path::Path;
use std::time::Duration;

use jiff::SignedDuration;
use kueue_lab_import::Bundle;
use kueue_lab_lab::{Lab, LabConfig, ObjectFile, VirtualLab};
use kueue_lab_presets::Finding;

use super::cluster_plan::ClusterPlan;
use super::cluster_state::ClusterState;
use super::effects::{Effect, EffectKind, effects};
use super::plan_error::PlanError;
use super::workload_state::WorkloadState;

/// The longest time of the copies, in lab time: longer than the grace period of Pods and the timeouts that
/// follow an eviction.
const LIMIT: SignedDuration = SignedDuration::from_mins(5);
/// The longest run of a copy in real time.
const DEADLINE: Duration = Duration::from_secs(600);
/// Evictions of a Workload by one change, from which on they are a repetition.
const REPETITIONS: i64 = 3;
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

/// What applying a preset would do to the imported cluster. Blocks until two copies have run.
///
/// # Errors
/// [`PlanError`].
pub fn plan_preset(bundle: &Bundle, change: PlannedChange<'_>) -> Result<ClusterPlan, PlanError> {
    let PlannedChange { folder, preset } = change;
    let apply = async |lab: &Lab| {
        let before = settled(lab).await?;
        let applied = lab.presets().switch(preset).await;
        applied.map_err(PlanError::Invalid)?;
        let changed = lab.clock().now();
        let idle = lab.wait_until_idle(changed + LIMIT).await;
        let after = ClusterState::of_lab(lab).await?;
        let state = lab.presets().state();
        let mut warnings: Vec<String> = state.warnings.iter().map(Finding::to_string).collect();
        warnings.extend(loop_warning(&before, &after).filter(|_| idle.is_none()));
        Ok::<_, PlanError>((
            before,
            after,
            lab.clock().now(),
            notes(&state.summary, warnings),
        ))
    };
    let (before, after, end, notes) = copy(bundle, folder, apply)??;
    // The same time passes without the change.
    let wait = async |lab: &Lab| {
        settled(lab).await?;
        lab.run_until(end).await;
        ClusterState::of_lab(lab).await
    };
    let without = copy(bundle, folder, wait)??;
    let notes = bundle.notes.iter().cloned().chain(notes).collect();
    Ok(ClusterPlan::new(
        &bundle.cluster,
        &before,
        &without,
        &after,
        notes,
    ))
}

/// Where a lab that starts from the imported objects decides otherwise than the cluster did.
///
/// # Errors
/// [`PlanError`]: a lab does not start from the objects.
pub fn check_import(bundle: &Bundle) -> Result<Vec<Effect>, PlanError> {
    let folder = std::env::temp_dir();
    let run = async |lab: &Lab| {
        let start = lab.clock().now();
        lab.wait_until_idle(start + CHECK).await;
        ClusterState::of_lab(lab).await
    };
    let lab = copy(bundle, &folder, run)??;
    let cluster = ClusterState::of_objects(&bundle.objects);
    let mut differences = effects(&cluster, &lab);
    // The cluster does not say what the position of a Workload is.
    differences.retain(|effect| effect.kind != EffectKind::Moved);
    Ok(differences)
}

/// Waits until the copy has started, and returns its state.
async fn settled(lab: &Lab) -> Result<ClusterState, kube::Error> {
    let start = lab.clock().now();
    lab.wait_until_idle(start + CHECK).await;
    ClusterState::of_lab(lab).await
}

/// A warning of Workloads that are evicted again and again.
fn loop_warning(before: &ClusterState, after: &ClusterState) -> Option<String> {
    let count = |state: &WorkloadState| state.evictions.values().sum::<i64>();
    let repeated = after.workloads.values().filter(|new| {
        let old = before.workloads.get(&new.key).map_or(0, count);
        count(new) - old >= REPETITIONS
    });
    let names: Vec<&str> = repeated.map(|workload| workload.key.as_str()).collect();
    let names = names.join(", ");
    (!names.is_empty()).then(|| {
        format!(
            "the queues do not settle within {} minutes: {names} are evicted again and again, as in a loop of preemptions",
            LIMIT.as_mins()
        )
    })
}

/// The line about settings, and warnings.
fn notes(summary: &str, warnings: Vec<String>) -> Vec<String> {
    // The first part counts objects.
    let settings = summary.split("; ").skip(1).map(str::to_owned);
    settings.chain(warnings).collect()
}

/// Runs a function with a copy of a cluster.
fn copy<T: Send>(
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
    let config = |clock, entropy| LabConfig {
        from: Some(objects),
        // The nodes are those of the cluster.
        nodes_of_presets: false,
        ..LabConfig::embedded(clock, entropy, folder)
    };
    Ok(lab.run(config, function)?)
}
