//! `kueue-lab replay`: the flags, and the output.

use std::path::{Path, PathBuf};
use std::thread;

use clap::ValueEnum;
use jiff::SignedDuration;
use kueue_lab_api::list_names;
use kueue_lab_lab::LabPaths;
use kueue_lab_simulation::replay::{
    QueueMapping, ReplayConfiguration, ReplayOptions, ReplayOutcome, replay,
};
use kueue_lab_simulation::report;
use kueue_lab_simulation::trace::{ColumnMapping, ReadOptions, Trace, TraceFormat, read_trace};
use kueue_lab_yaml::closest;

use super::preset_configuration::preset_configuration;
use super::record::record;
use crate::cli::kubeconfig_args::KubeconfigArgs;
use crate::cli::node_pools::node_pools;
use crate::cli::output::{NewFile, print_stdout};
use crate::cli::{CommandError, duration, runtime};

/// The largest trace, in bytes.
const MAX_TRACE: u64 = 2 << 30;

/// The most queues of a trace that an error lists.
const MAX_LISTED_QUEUES: usize = 20;

const EXAMPLES: &str = "\
Examples:
  kueue-lab replay --trace jobs.csv --preset team-cohort
  kueue-lab replay --trace jobs.csv --preset borrowing-limits --preset fair-sharing --picture waits.svg
  kueue-lab replay --trace cluster_log.csv --preset mine --queue 'vcA=team-a' --queue '*=team-b'
  kueue-lab replay --trace jobs.csv --column submit_time=arrival --column gpu=gpus --preset mine
  kueue-lab replay --record jobs.jsonl --context prod     until Ctrl-C";

/// Run a trace of jobs through the queues of presets in virtual time, and compare waits, utilisation,
/// preemptions, lost work and fairness.
///
/// Changes no cluster. A trace is CSV with the columns submit_time, duration, queue, priority, pods, cpu,
/// memory and gpu; a public trace (Philly, Helios, Alibaba GPU v2020 and v2023); or the output of
/// `kubectl get workloads -A -o json`. `--record` writes one of a running lab.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    /// The trace to replay.
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "record",
        requires = "preset"
    )]
    trace: Option<PathBuf>,
    /// A preset with the queues; repeat it to compare several.
    #[arg(long, value_name = "NAME")]
    preset: Vec<String>,
    /// The presets folder, as of `up`.
    #[arg(long, value_name = "DIR")]
    presets_dir: Option<PathBuf>,
    /// The format of the trace [default: detected].
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The name of a column in a CSV trace, such as submit_time=arrival.
    #[arg(long, value_name = "COLUMN=NAME")]
    column: Vec<String>,
    /// The LocalQueue of a queue of the trace, such as vcA=team-a; `*` is any other queue [default: the
    /// LocalQueue with its name, else all LocalQueues in turn].
    #[arg(long, value_name = "QUEUE=LOCALQUEUE")]
    queue: Vec<String>,
    /// The resource of the GPUs of a trace.
    #[arg(long, value_name = "RESOURCE", default_value = "nvidia.com/gpu")]
    gpu_resource: String,
    /// Skip jobs with missing values.
    #[arg(long)]
    skip_incomplete: bool,
    /// Sort the jobs of a CSV trace by submission.
    #[arg(long)]
    sort: bool,
    /// How long evicted pods hold their quota.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration::parse)]
    termination_grace_period: SignedDuration,
    /// The interval of checkpoints; without, a preempted job starts from the beginning.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    checkpoint_interval: Option<SignedDuration>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    output: Output,
    /// Write the comparison as an SVG picture as well.
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Write the jobs of a running lab or cluster as a trace as they finish, until an interrupt, instead of
    /// a replay.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["trace", "preset"])]
    record: Option<PathBuf>,
    #[command(flatten)]
    target: KubeconfigArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    /// A table.
    Table,
    /// All results.
    Json,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// CSV with the columns of kueue-lab, or with --column.
    Csv,
    /// Alibaba's cluster-trace-gpu-v2023: openb_pod_list_*.csv.
    Openb,
    /// Alibaba's cluster-trace-gpu-v2020: pai_task_table.csv.
    AlibabaV2020,
    /// Helios: cluster_log.csv.
    Helios,
    /// Philly: cluster_job_log.
    Philly,
    /// `kubectl get workloads -A -o json`.
    Workloads,
}

impl From<Format> for TraceFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Csv => TraceFormat::Csv,
            Format::Openb => TraceFormat::Openb,
            Format::AlibabaV2020 => TraceFormat::AlibabaV2020,
            Format::Helios => TraceFormat::Helios,
            Format::Philly => TraceFormat::Philly,
            Format::Workloads => TraceFormat::Workloads,
        }
    }
}

pub(in crate::cli) fn run(args: Args) -> Result<(), CommandError> {
    if let Some(file) = &args.record {
        return write_record(&args.target, file);
    }
    let Some(path) = &args.trace else {
        return Err(CommandError::usage("name a trace with --trace"));
    };
    let options = ReplayOptions {
        queues: QueueMapping::parse(&args.queue).map_err(CommandError::usage)?,
        termination_grace_period: args.termination_grace_period,
        checkpoint_interval: args.checkpoint_interval,
    };
    let here = std::env::current_dir().map_err(CommandError::failed)?;
    let paths = LabPaths::find(args.presets_dir.clone(), &here).map_err(CommandError::usage)?;
    let (nodes, _) = node_pools(None, &paths)?;
    let configurations = args
        .preset
        .iter()
        .map(|name| preset_configuration(paths.presets.path(), name, &nodes));
    let configurations: Vec<ReplayConfiguration> = configurations.collect::<Result<_, _>>()?;
    if let Some(picture) = &args.picture {
        NewFile::check(picture)?;
    }
    let read = ReadOptions {
        format: args.format.map(TraceFormat::from),
        columns: ColumnMapping::parse(&args.column).map_err(CommandError::usage)?,
        gpu_resource: args.gpu_resource.clone(),
        skip_incomplete: args.skip_incomplete,
        past_runs: args.checkpoint_interval.is_some(),
        sort: args.sort,
    };
    let file = path.display().to_string();
    let trace = read_trace(&file, &read_file(path)?, &read).map_err(CommandError::usage)?;
    note_unused_columns(&file, &trace);
    check_queues(&options.queues, &trace)?;
    let outcomes: Result<Vec<ReplayOutcome>, CommandError> = thread::scope(|scope| {
        let (trace, options) = (&trace, &options);
        let threads: Vec<_> = configurations
            .iter()
            .map(|configuration| scope.spawn(move || replay(trace, configuration, options)))
            .collect();
        let results = threads.into_iter().zip(&configurations);
        let results = results.map(|(thread, configuration)| match thread.join() {
            Ok(result) => result.map_err(|error| {
                CommandError::usage(error).with_message(format!("preset {}", configuration.name))
            }),
            Err(panic) => std::panic::resume_unwind(panic),
        });
        results.collect()
    });
    let outcomes = outcomes?;
    if let Some(picture) = &args.picture {
        let svg = report::svg(&file, &outcomes);
        let svg = svg.map_err(|error| CommandError::failed(error.to_string()))?;
        let mut file_of_picture = NewFile::create(picture)?;
        file_of_picture.write(svg.as_bytes())?;
        file_of_picture.replace()?;
    }
    let printed = match args.output {
        Output::Table => report::table(&file, trace.skipped, &outcomes),
        Output::Json => {
            report::json(&file, trace.skipped, &outcomes).map_err(CommandError::failed)?
        }
    };
    print_stdout(printed.as_bytes())
}

/// Notes the columns of a CSV trace that are not used on stderr, with the column that was probably meant.
fn note_unused_columns(file: &str, trace: &Trace) {
    let mut others = Vec::new();
    for column in &trace.unused_columns {
        let absent = trace.absent_columns.iter().copied();
        // A column of the format has its meaning, also if it is not used because another one is.
        let meant = closest(column, absent).filter(|_| !ColumnMapping::is_column(column));
        match meant {
            Some(meant) => eprintln!(
                "note: {file}: the column {column} is not used; did you mean {meant}? --column {meant}={column}"
            ),
            None => others.push(column.as_str()),
        }
    }
    if !others.is_empty() {
        eprintln!(
            "note: {file}: columns that are not used: {}",
            others.join(", ")
        );
    }
}

/// Refuses a mapping of a queue that the trace does not have.
fn check_queues(mapping: &QueueMapping, trace: &Trace) -> Result<(), CommandError> {
    let Some(absent) = mapping.absent_from(trace) else {
        return Ok(());
    };
    let queues = trace.queues();
    let meant = closest(absent, queues.iter().copied());
    let meant = meant.map_or(String::new(), |meant| format!("did you mean {meant}? "));
    let names = queues.iter().copied();
    let names = names.map(|queue| if queue.is_empty() { "(none)" } else { queue });
    let names: Vec<&str> = names.collect();
    Err(CommandError::usage(format!(
        "--queue: no job of the trace is in the queue {absent:?}; {meant}the queues of the trace are {}",
        list_names(&names, MAX_LISTED_QUEUES)
    )))
}

/// Records the jobs of a cluster until an interrupt.
fn write_record(target: &KubeconfigArgs, file: &Path) -> Result<(), CommandError> {
    let recorded = runtime()?.block_on(async {
        let (client, name) = target.connect().await?;
        eprintln!(
            "recording the jobs of {name} to {} until an interrupt (Ctrl-C)",
            file.display()
        );
        record(&client, file).await
    })?;
    let running = match recorded.running {
        0 => String::new(),
        running => format!("; {running} that are still running are left out"),
    };
    eprintln!(
        "recorded {} jobs to {}{running}",
        recorded.jobs,
        file.display()
    );
    Ok(())
}

fn read_file(path: &Path) -> Result<String, CommandError> {
    kueue_lab_host::read_argument_to_string(path, MAX_TRACE).map_err(|error| {
        CommandError::usage(error).with_message(format!("cannot read the trace {}", path.display()))
    })
}
