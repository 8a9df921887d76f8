//! Warnings about preemptions that can repeat for ever: jobs for which the engine repeats them.

use std::collections::BTreeSet;

use kueue_lab_api::config as api;
use kueue_lab_engine::EngineConfig;
use kueue_lab_engine::config::{FairSharing, PreemptionStrategy};
use kueue_lab_engine::feature_gates::Gates;
use kueue_lab_simulation::preemption_loops::{LoopExample, LoopKind, LoopSearch};
use kueue_lab_simulation::replay::ReplayConfiguration;

use super::Lint;
use super::preset_lints::LintContext;
use crate::Manifest;

/// ClusterQueues of `own` whose policies let jobs preempt each other without end. The priorities are those of the
/// preset's priority classes, and that of jobs without a class if there is one class or none; partial admission
/// counts if one of its samples uses it.
pub(super) fn preemption_loops(
    manifests: &[&Manifest],
    own: &[Manifest],
    context: &LintContext<'_>,
) -> Vec<Lint> {
    let queues = own.iter().filter(|m| m.key.kind == "ClusterQueue");
    let LintContext {
        configuration,
        partial_admission,
        ..
    } = *context;
    let search = LoopSearch {
        configuration: ReplayConfiguration {
            engine: engine(configuration),
            objects: manifests.iter().map(|m| m.object.clone()).collect(),
            ..ReplayConfiguration::default()
        },
        cluster_queues: queues.clone().map(|m| m.key.name.clone()).collect(),
        priorities: priorities(manifests),
        partial_admission,
    };
    let mut examples = search.examples();
    queues
        .filter_map(|queue| Some(warning(queue, &examples.remove(&queue.key.name)?)))
        .collect()
}

/// The priorities of jobs, ascending.
fn priorities(manifests: &[&Manifest]) -> Vec<i32> {
    let value = |class: &Manifest| i32::try_from(class.object["value"].as_i64()?).ok();
    let classes = manifests
        .iter()
        .filter(|m| m.key.kind == "WorkloadPriorityClass" || m.key.kind == "PriorityClass");
    let mut priorities: BTreeSet<i32> = classes.filter_map(|class| value(class)).collect();
    if priorities.len() < 2 {
        let is_default =
            |m: &&&Manifest| m.key.kind == "PriorityClass" && m.object["globalDefault"] == true;
        let default = manifests
            .iter()
            .find(is_default)
            .and_then(|class| value(class));
        priorities.insert(default.unwrap_or_default());
    }
    priorities.into_iter().collect()
}

/// The configuration of the engine, as far as it decides about preemption.
fn engine(configuration: &api::Configuration) -> EngineConfig {
    let gates = api::FeatureGates::from_map(&configuration.feature_gates);
    let mut engine = EngineConfig {
        gates: Gates::from(&gates.unwrap_or_default()),
        ..EngineConfig::default()
    };
    let strategy = |strategy| match strategy {
        api::PreemptionStrategy::LessThanOrEqualToFinalShare => {
            PreemptionStrategy::LessThanOrEqualToFinalShare
        }
        api::PreemptionStrategy::LessThanInitialShare => PreemptionStrategy::LessThanInitialShare,
    };
    engine.fair_sharing = configuration.fair_sharing.as_ref().map(|sharing| {
        let strategies = sharing.strategies().into_iter().map(strategy);
        FairSharing {
            strategies: strategies.collect(),
        }
    });
    engine
}

fn warning(queue: &Manifest, example: &LoopExample) -> Lint {
    let (name, field, why, remedy) = match example.kind {
        LoopKind::FairSharing => (
            "preemption-loop",
            "spec.preemption.withinClusterQueue",
            "whose share is lower: the shares were compared without the second, which is not preempted in the end",
            "set withinClusterQueue: Never, or borrowingLimit: 0",
        ),
        LoopKind::WithinClusterQueue => (
            "reclamation-loop",
            "spec.preemption.withinClusterQueue",
            "which is the head of a StrictFIFO queue: the fourth preempts the third, which is in its ClusterQueue, and has to borrow; the second has no lower priority and takes the quota before it",
            "set withinClusterQueue: Never, reclaimWithinCohort: LowerPriority, or borrowingLimit: 0",
        ),
        LoopKind::PartialAdmission => (
            "partial-admission-loop",
            "spec.preemption.reclaimWithinCohort",
            "which comes first: the second preempts with fewer pods, and is ordered with all of them",
            "set borrowingLimit: 0, or leave out minimum parallelism",
        ),
    };
    let message = format!(
        "jobs can preempt each other for ever: with {example}, {}, {why}",
        example.repetition()
    );
    Lint {
        name,
        finding: queue.warning(field, message).remedy(remedy),
    }
}
