//! `kueue-lab simulate`: the flags, and the output as text or JSON.

use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::Engine;
use kueue_lab_explain::{ClusterLists, JobWithoutWorkload, load_engine_from, settings};
use kueue_lab_simulation::simulate::{
    AdmittingChanges, Simulation, admitting_changes, live_versions, simulate, workload_of_other_job,
};
use kueue_lab_submission::{
    ConstructedWorkloads, Submission, construct_workloads, priority_classes, queue_objects,
    unknown_local_queue,
};
use serde::Serialize;

use super::text;
use crate::cli::kubeconfig_args::KubeconfigArgs;
use crate::cli::lab_time::lab_or_real_time;
use crate::cli::output::print_stdout;
use crate::cli::{CommandError, config, runtime};

const EXAMPLES: &str = "\
Examples:
  kueue-lab simulate -f train.yaml                   on the running lab
  kueue-lab simulate -f train.yaml --count 20
  kueue-lab simulate -f train.yaml --context prod -o json";

/// Print whether a file's jobs would be admitted now, with flavors and preemptions, or the workloads ahead of
/// them and the changes that would admit them.
///
/// Changes nothing. The file has objects of any kind that the lab knows, Workloads, or a SkyPilot task.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    /// The file; `-` is stdin.
    #[arg(short, long, value_name = "FILE")]
    filename: PathBuf,
    /// How many of them to submit.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    count: u16,
    /// Namespace of objects without one [default: that of the context].
    #[arg(short, long)]
    namespace: Option<String>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    #[command(flatten)]
    target: KubeconfigArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    /// Plain text.
    Text,
    /// All results.
    Json,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    #[serde(flatten)]
    simulation: &'a Simulation,
    #[serde(flatten)]
    changes: &'a AdmittingChanges,
    #[serde(rename = "notSimulated")]
    without_workload: &'a [JobWithoutWorkload],
}

pub(in crate::cli) fn run(args: Args) -> Result<(), CommandError> {
    let runtime = runtime()?;
    let context = args.target.context()?;
    let namespace = args.namespace.as_deref();
    let namespace = namespace.unwrap_or_else(|| context.namespace());
    let submission = Submission::read(&args.filename, args.count.into(), namespace)?;
    let (engine, pods_ready, kueue, queues, now) = runtime.block_on(async {
        let client = context.client().await.map_err(CommandError::usage)?;
        let kueue = config::configuration_or_note(&client).await?;
        let settings = settings(kueue.as_ref());
        let now = lab_or_real_time(&client).await;
        let mut lists = ClusterLists::new(&client);
        let uses_devices = submission.uses_devices();
        let engine = load_engine_from(&mut lists, settings.engine(), uses_devices, now).await?;
        let queues = queue_objects(&mut lists).await?;
        lists.check_rights()?;
        let pods_ready = settings.wait_for_pods_ready.is_some();
        Ok::<_, CommandError>((engine, pods_ready, kueue, queues, now))
    })?;
    let ConstructedWorkloads {
        workloads,
        mut without_workload,
        created_namespaces,
    } = construct_workloads(&submission, &queues, kueue)?;
    for name in created_namespaces {
        eprintln!("note: the cluster has no namespace {name}; it is created for the simulation");
    }
    let (mut workloads, conflicts) = without_name_conflicts(&engine, workloads);
    if let (true, Some(first)) = (workloads.is_empty(), conflicts.first()) {
        let JobWithoutWorkload { object, reason } = first;
        let why = format!("Kueue creates no Workload for {object}: {reason}");
        return Err(submission.file.error(&why).into());
    }
    without_workload.extend(conflicts);
    // One after another, so that their order in the queue is that of the file.
    for (wl, until_now) in workloads.iter_mut().rev().zip(0..) {
        let created = now - SignedDuration::from_micros(until_now);
        wl.metadata.creation_timestamp = Some(Time(created));
    }
    let workloads = workloads.into_iter().map(|mut wl| {
        // A new version keeps its position in the queue.
        let old = live_versions(&engine, &[Arc::new(wl.clone())]);
        let old = old.iter().filter_map(|key| engine.workload(key)).next();
        if let Some(old) = old {
            wl.metadata.creation_timestamp = old.metadata.creation_timestamp.clone();
        }
        Arc::new(wl)
    });
    let workloads: Vec<Arc<Workload>> = workloads.collect();
    let classes = priority_classes(&queues);
    let simulation = simulate(&engine, pods_ready, &workloads, now);
    let changes = admitting_changes(&engine, pods_ready, &workloads, &classes, &simulation, now);
    let printed = match args.output {
        Output::Text => {
            let hint = |wl: &Workload| unknown_local_queue(wl, &queues);
            let hints: Vec<Option<String>> = workloads.iter().map(|wl| hint(wl)).collect();
            text::render(&simulation, &hints, &changes, &without_workload)
        }
        Output::Json => {
            let report = Report {
                without_workload: &without_workload,
                simulation: &simulation,
                changes: &changes,
            };
            serde_json::to_string_pretty(&report).map_err(CommandError::failed)? + "\n"
        }
    };
    print_stdout(printed.as_bytes())
}

/// The Workloads that Kueue creates in a cluster, and the jobs for which it does not, since another job has the Workload
/// of that name.
fn without_name_conflicts(
    engine: &Engine,
    workloads: Vec<Workload>,
) -> (Vec<Workload>, Vec<JobWithoutWorkload>) {
    let mut conflicts = Vec::new();
    let mut created = Vec::new();
    for wl in workloads {
        let Some(other) = workload_of_other_job(engine, &wl) else {
            created.push(wl);
            continue;
        };
        let owner = |wl: &Workload| {
            let owner = wl.metadata.owner_references.iter().flatten().next();
            owner.map(|owner| format!("{} {}", owner.kind, owner.name))
        };
        let name = wl.metadata.name.clone().unwrap_or_default();
        let of = owner(other).map_or_else(String::new, |owner| format!(" of {owner}"));
        conflicts.push(JobWithoutWorkload {
            object: owner(&wl).unwrap_or_else(|| format!("Workload {name}")),
            reason: format!("the Workload{of} has the name {name} (WorkloadNameConflict)"),
        });
    }
    (created, conflicts)
}
