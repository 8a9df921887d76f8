//! `kueue-lab up`

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::choose_preset::choose_preset;
use super::failed_starts;
use super::lab_kubeconfig::LabKubeconfig;
use super::limits_table::limits_table;
use super::plan_review::PlanReview;
use super::start_source::StartSource;
use super::workers_args::WorkersArgs;
use crate::cli::cluster_args::{ClusterArgs, ClusterChoice};
use crate::cli::config::ConfigPurpose;
use crate::cli::lab_recording::LabRecording;
use crate::cli::node_pools::node_pools;
use crate::cli::output::print_stdout;
use crate::cli::recording_file::{MomentArg, check_new};
use crate::cli::tui_session::{self, ShownLab, TuiArgs};
use crate::cli::{CommandError, Shutdown, config, lab_time, logging, runtime, speed};
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_host::HostAddresses;
use kueue_lab_lab::{
    Cluster, ClusterRole, DataDir, FileSource, Lab, LabClusterConfig, LabComponentsConfig,
    LabConfig, LabError, LabPaths, LabPresetsConfig, NodePools, ObjectFile, PresetsFolder,
    RequestLimits, StartRecord,
};
use kueue_lab_presets::{ApplyOptions, SaveReview};
use kueue_lab_tui_backend::{LabDemos, serve_demos};

const EXAMPLES: &str = "\
Examples:
  kueue-lab up                                 a lab with a terminal UI
  kueue-lab up --preset team-cohort            with another preset
  kueue-lab up --preset none                   without queues
  kueue-lab up --presets-dir ./queues          with a presets folder of your own
  kueue-lab up --nodes lab/nodes.yaml          with other nodes and GPUs
  kueue-lab up --config kueue.yaml             with Kueue's configuration file
  kueue-lab up --headless --port 6443 --kubeconfig-out lab.kubeconfig
  kueue-lab up --headless --speed 60           a minute of lab time every second
  kueue-lab up --data-dir ./lab-data           a lab that survives its process
  kueue-lab up --data-dir ./lab-data --without-controllers    only to delete or edit its objects
  kueue-lab up --from lab.yaml                 from the objects of `kueue-lab export`
  kueue-lab up --record lab.rec                for `kueue-lab play`
  kueue-lab up --from lab.rec --at 1m30s       from a moment of a recording
  kueue-lab up --from context:prod             from the state of a cluster, which is only read
  kueue-lab up --confirm                       a save that would evict Workloads waits for a key
  kueue-lab up --controller none               for a Kueue of your own
  kueue-lab up --preset multikueue             a MultiKueue manager with two worker clusters
  kueue-lab up --cluster kind                  on a kind cluster, created if needed
  kueue-lab up --cluster context:dev           on the cluster of a kubeconfig context
  kueue-lab up --cluster context:prod --observe    show the Kueue that runs there, read-only";

/// Start a lab: a cluster with fake GPU nodes, Kueue's admission controller and a queue preset that
/// is applied again on every save.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    /// The cluster: `embedded`, a Kubernetes API in this process; `kind` or `k3d`, a cluster of
    /// containers, created if needed; or `context:NAME`, any cluster of your kubeconfig.
    #[arg(long, value_name = "WHERE", default_value = "embedded", value_parser = ClusterChoice::parse)]
    cluster: ClusterChoice,
    /// Short for --cluster context:NAME.
    #[arg(long, value_name = "NAME", conflicts_with = "cluster")]
    context: Option<String>,
    #[command(flatten)]
    cluster_args: ClusterArgs,
    /// Run without the terminal UI: print `ready KUBECONFIG` and serve until interrupted. The default
    /// without a terminal, or with TERM=dumb.
    #[arg(long)]
    headless: bool,
    /// The preset to apply at the start, or `none` to apply no preset [default: the only preset of the
    /// folder, otherwise skypilot-priority].
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// The folder with one sub-folder per preset, or with the files of one preset [default: ./presets in a
    /// checkout, otherwise ~/.local/state/kueue-lab/presets].
    #[arg(long, value_name = "DIR")]
    presets_dir: Option<PathBuf>,
    /// The pools of fake nodes, also in place of the nodes.yaml of a preset [default: ./lab/nodes.yaml in
    /// a checkout, otherwise built in].
    #[arg(long, value_name = "FILE")]
    nodes: Option<PathBuf>,
    /// Kueue's configuration file (config.kueue.x-k8s.io), as its controller manager reads it, also in
    /// place of the kueue.yaml of a preset.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Do not serve the kinds of job operators (RayJob, JobSet, PyTorchJob, …) on the embedded cluster
    /// and do not run their stand-ins, for an operator of your own.
    #[arg(long)]
    no_operators: bool,
    /// The admission controller of the embedded cluster: `kueue-lab`, or `none` for a Kueue of your
    /// own.
    #[arg(long, value_name = "WHICH", default_value = "kueue-lab")]
    controller: ControllerChoice,
    /// Hold a save of the active preset that would preempt or evict Workloads until the preset is applied
    /// with `a` in the Presets view, or with `kueue-lab preset`.
    #[arg(long)]
    confirm: bool,
    #[command(flatten)]
    workers: WorkersArgs,
    /// The file to write the kubeconfig to [default: ~/.local/state/kueue-lab/kubeconfig].
    #[arg(long, value_name = "FILE")]
    kubeconfig_out: Option<PathBuf>,
    /// The loopback port to serve the Kubernetes API on; 0 takes any free port.
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// Ports of this machine that objects of the embedded cluster may name at a loopback address:
    /// EndpointSlices of Services without selector, and kubeconfigs of MultiKueue's workers in Secrets.
    #[arg(long, value_name = "PORT", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..))]
    allow_host_ports: Vec<u16>,
    /// Seats of all priority levels of the embedded Kubernetes API together: how many requests are
    /// executed at the same time.
    #[arg(long, value_name = "N", default_value_t = RequestLimits::default().max_requests_inflight as u64,
        value_parser = clap::value_parser!(u64).range(1..=100_000))]
    max_requests_inflight: u64,
    /// The time for a request to the embedded Kubernetes API that is not long-running, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = RequestLimits::default().request_timeout.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    request_timeout: u64,
    /// The time at shutdown in which /readyz of the embedded Kubernetes API fails and requests are still
    /// served, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=3600))]
    shutdown_delay_duration: u64,
    /// Print the limits of the embedded cluster and of its containers, and exit.
    #[arg(long)]
    limits: bool,
    /// The directory that keeps the embedded cluster: a later `up` with it restores the cluster, also after
    /// a crash. By default the cluster is in memory only.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Serve the objects of --data-dir, and run nothing: no controllers, operators, scheduler, nodes and Kueue, no
    /// preset and no terminal UI. To delete or edit an object that makes the lab abort or hang.
    #[arg(long, requires = "data_dir", conflicts_with_all = ["preset", "nodes", "config", "from", "confirm", "workers"])]
    without_controllers: bool,
    /// The objects to start from: a file that `kueue-lab export` or `import` wrote, a recording, or context:NAME
    /// to import a cluster now, with read-only rights. They keep their status and uids: admitted Workloads
    /// stay admitted. Only for a new embedded cluster.
    #[arg(long, value_name = "FILE|context:NAME", value_parser = StartSource::parse)]
    from: Option<StartSource>,
    /// With --from and a recording: the moment to start from, as for `kueue-lab play` [default: its end].
    #[arg(long, value_name = "TIME", requires = "from", value_parser = MomentArg::parse)]
    at: Option<MomentArg>,
    /// Record the lab to a new file, for `kueue-lab play`.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Lab seconds per second, from 0.01 to 10000.
    #[arg(long, value_name = "N", default_value = "1", value_parser = speed::parse)]
    speed: f64,
    #[command(flatten)]
    tui_args: TuiArgs,
}

/// The admission controller of an embedded cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ControllerChoice {
    /// That of this process.
    KueueLab,
    /// None.
    None,
}

impl Args {
    /// The limits of requests to the embedded cluster.
    fn request_limits(&self) -> RequestLimits {
        RequestLimits {
            max_requests_inflight: usize::try_from(self.max_requests_inflight)
                .unwrap_or(usize::MAX),
            request_timeout: Duration::from_secs(self.request_timeout),
            ..RequestLimits::default()
        }
    }
}

pub(in crate::cli) fn run(mut args: Args) -> Result<(), CommandError> {
    if args.limits {
        return print_stdout(limits_table(&args.request_limits()).as_bytes());
    }
    if let Some(name) = args.context.take() {
        args.cluster = ClusterChoice::Context(name);
    }
    let with_tui = !args.headless && !args.without_controllers && tui_session::has_terminal();
    match with_tui {
        true => logging::to_file(),
        false => logging::to_stderr(),
    }
    if args.from.is_some() && !matches!(args.cluster, ClusterChoice::Embedded) {
        let message = "--from is for the embedded cluster; other clusters have their own objects";
        return Err(CommandError::usage(message));
    }
    let is_import = matches!(args.from, Some(StartSource::Context(_)));
    args.cluster_args
        .check(&args.cluster, args.speed, is_import)?;
    if args.controller == ControllerChoice::None && !matches!(args.cluster, ClusterChoice::Embedded)
    {
        let message = "--controller none is for the embedded cluster; on an existing cluster with its own Kueue, use --observe";
        return Err(CommandError::usage(message));
    }
    if args.data_dir.is_some() && !matches!(args.cluster, ClusterChoice::Embedded) {
        let message =
            "--data-dir is for the embedded cluster; other clusters keep their objects themselves";
        return Err(CommandError::usage(message));
    }
    let embedded = matches!(args.cluster, ClusterChoice::Embedded)
        && args.controller == ControllerChoice::KueueLab;
    args.workers.check(embedded)?;
    if args.cluster_args.observe {
        return runtime()?.block_on(observe(args));
    }
    runtime()?.block_on(serve(args, with_tui))
}

/// Opens the terminal UI read-only on a cluster with its own Kueue. Starts no controller.
async fn observe(args: Args) -> Result<(), CommandError> {
    if !tui_session::has_terminal() {
        let message = "--observe needs a terminal on stdin and stdout; without one, `kueue-lab explain` shows why a workload is pending";
        return Err(CommandError::usage(message));
    }
    let here = std::env::current_dir().map_err(CommandError::failed)?;
    let files = LabPaths::find(args.presets_dir, &here)
        .map_err(CommandError::usage)?
        .lab;
    match args.cluster_args.reach(&args.cluster, &files).await? {
        Some(reached) => args.tui_args.observe(&reached.remote).await,
        None => Ok(()),
    }
}

async fn serve(args: Args, mut with_tui: bool) -> Result<(), CommandError> {
    let started = Instant::now();
    args.record.as_deref().map(check_new).transpose()?;
    let here = std::env::current_dir().map_err(CommandError::failed)?;
    let request_limits = args.request_limits();
    let paths = LabPaths::find(args.presets_dir, &here).map_err(CommandError::usage)?;
    log_preset_source(&paths);
    let user = match args.cluster {
        ClusterChoice::Embedded => ConfigPurpose::EmbeddedLab,
        _ => ConfigPurpose::RemoteLab,
    };
    let config_file = match &args.config {
        Some(path) => Some(config::read_config(path, user)?),
        None => None,
    };
    let (kueue, warnings) = match config_file {
        Some(file) => (Some(file.loaded), file.warnings),
        None => (None, Vec::new()),
    };
    let from = match &args.from {
        Some(source) => {
            let kubeconfig = args.cluster_args.kubeconfig();
            Some(source.objects(kubeconfig, args.at.as_ref()).await?)
        }
        None => None,
    };
    // The queues and nodes of an imported cluster are its own.
    let start = from.as_ref().and_then(ObjectFile::start);
    let is_imported = start.is_some() || args.data_dir.as_deref().is_some_and(DataDir::is_imported);
    let preset = match (&args.preset, is_imported) {
        (None, true) => None,
        _ => choose_preset(args.preset, paths.presets.path())?,
    };
    let (nodes, nodes_file) = match (&args.nodes, is_imported) {
        (None, true) => (NodePools::default(), None),
        (nodes, _) => node_pools(nodes.as_deref(), &paths)?,
    };
    // Before anything starts, so that no signal is lost.
    let shutdown = Shutdown::start(with_tui)?;
    shutdown.delay(Duration::from_secs(args.shutdown_delay_duration));
    let reached = tokio::select! {
        reached = args.cluster_args.reach(&args.cluster, &paths.lab) => reached?,
        () = shutdown.requested() => {
            let message = "interrupted before anything was started; `up` can be run again";
            return Err(CommandError::failed(message));
        }
    };
    let (remote, existing_objects) = match reached {
        Some(reached) => (Some(reached.remote), reached.existing),
        None => (None, None),
    };
    let data = match &args.data_dir {
        Some(path) => Some(open_data_dir(path, from.as_ref())?),
        None => None,
    };
    let (mut record, mut controllers) = (None, !args.without_controllers);
    if let Some(data) = data.as_ref().filter(|_| controllers) {
        let recorded = failed_starts::record_start(data);
        if with_tui && failed_starts::asks_for_no_controllers(&recorded, &shutdown).await? {
            recorded.withdraw();
            (controllers, with_tui) = (false, false);
        } else {
            record = Some(recorded);
        }
    }
    let last_time = match &data {
        Some(data) if !data.is_new() => data.last_time(),
        _ => from.as_ref().and_then(ObjectFile::last_time),
    };
    let clock = match (&remote, start) {
        (None, Some(start)) => Clock::adjustable_from(start, args.speed),
        (None, None) if with_tui && last_time.is_none() => lab_time::clock_of_ui(args.speed),
        (None, None) => Clock::adjustable_after(args.speed, last_time),
        (Some(_), _) => Clock::real(),
    };
    // Only the UI shows plans.
    let shows_plans = controllers && (with_tui || args.confirm);
    let review = shows_plans.then(|| PlanReview {
        clock: clock.clone(),
        confirm: args.confirm,
    });
    let review = review.map(|review| Arc::new(review) as Arc<dyn SaveReview>);
    let config = LabConfig {
        clock,
        entropy: Entropy::from_os(),
        cluster: LabClusterConfig {
            remote,
            existing_objects,
            data,
            from,
            is_imported,
            snapshot: None,
            port: Some(args.port),
            request_limits,
            host_addresses: HostAddresses::with_ports(args.allow_host_ports),
            shutdown_delay: Duration::from_secs(args.shutdown_delay_duration),
            external_clients: true,
            role: match controllers {
                true => args.workers.role(),
                false => ClusterRole::Single,
            },
        },
        presets: LabPresetsConfig {
            folder: paths.presets.path().to_owned(),
            active: preset.filter(|_| controllers),
            must_be_valid: !with_tui,
            apply: ApplyOptions::default(),
            watch: controllers,
            review,
        },
        components: LabComponentsConfig {
            nodes,
            nodes_file: nodes_file.filter(|_| controllers),
            nodes_of_presets: args.nodes.is_none(),
            kueue,
            operators: !args.no_operators,
            controller: args.controller == ControllerChoice::KueueLab,
            controllers,
        },
    };
    let lab = match start_lab(config, &shutdown).await? {
        Ok(lab) => lab,
        Err(error) => {
            // It has ended regularly.
            record.iter().for_each(|record| record.withdraw());
            return Err(start_error(error, args.data_dir.as_deref()));
        }
    };
    shutdown.before_exit(lab.storage_closer());
    tracing::info!("ready in {} ms", started.elapsed().as_millis());
    let ui = with_tui.then_some((args.tui_args, warnings));
    let recording = LabRecording::start(&lab, args.record, with_tui).await;
    let recording = match recording {
        Ok(recording) => recording,
        Err(error) => {
            stop(lab, record, &shutdown).await;
            return Err(error);
        }
    };
    let kubeconfig = LabKubeconfig::choose(args.kubeconfig_out);
    serve_lab(
        lab, kubeconfig, ui, &paths.lab, record, recording, &shutdown,
    )
    .await
}

/// Starts the lab, until the shutdown is requested.
async fn start_lab(
    config: LabConfig,
    shutdown: &Shutdown,
) -> Result<Result<Lab, LabError>, CommandError> {
    let cancellation = CancellationToken::new();
    let mut starting = start_on_worker(config, &cancellation);
    let lab = tokio::select! {
        lab = &mut starting => lab,
        () = shutdown.requested() => {
            tracing::info!("stopping");
            cancellation.cancel();
            // Cleans up before it returns.
            match shutdown.bounded(starting).await {
                Some(lab) => lab,
                None => return Ok(Err(LabError::Interrupted)),
            }
        }
    };
    lab.map_err(CommandError::failed)
}

/// The error of a start. Without controllers a start needs no space.
fn start_error(error: LabError, data_dir: Option<&Path>) -> CommandError {
    match data_dir.filter(|_| error.is_disk_full()) {
        Some(dir) => CommandError::failed(error).hinting(format!(
            "to delete objects, start with: kueue-lab up --data-dir {} --without-controllers",
            dir.display()
        )),
        None => error.into(),
    }
}

/// Serves a lab until the shutdown is requested, or the UI is quit, and stops it.
async fn serve_lab(
    mut lab: Lab,
    mut kubeconfig: LabKubeconfig,
    ui: Option<(TuiArgs, Vec<String>)>,
    files: &FileSource,
    record: Option<Arc<StartRecord>>,
    recording: Option<LabRecording>,
    shutdown: &Shutdown,
) -> Result<(), CommandError> {
    if let Err(error) = kubeconfig.write(&lab) {
        stop(lab, record, shutdown).await;
        return Err(error);
    }
    let path = kubeconfig.path().to_owned();
    let printed = match &ui {
        Some(_) => Ok(()),
        None => print_stdout(format!("ready {}\n", path.display()).as_bytes()),
    };
    lab.start_controllers();
    if let Some(record) = &record {
        failed_starts::record_success(&lab, record);
    }
    let run = async {
        match ui {
            Some((tui_args, warnings)) => {
                let shown = ShownLab {
                    lab: &lab,
                    files,
                    history: recording.as_ref().and_then(LabRecording::history),
                };
                tui_args
                    .show(shown, None, Some(&path), warnings, shutdown)
                    .await
            }
            None => {
                serve_headless(&lab, files, shutdown).await;
                printed
            }
        }
    };
    let outcome = tokio::select! {
        outcome = run => outcome,
        never = kubeconfig.follow(&lab) => match never {},
    };
    shutdown.request();
    shutdown.bounded(LabRecording::finish(recording)).await;
    stop(lab, record, shutdown).await;
    kubeconfig.remove();
    outcome
}

/// Serves a lab without UI until the shutdown is requested.
async fn serve_headless(lab: &Lab, files: &FileSource, shutdown: &Shutdown) {
    if !lab.has_controllers() {
        eprintln!(
            "no controllers run: delete or edit objects with kubectl (Pods with --force), then stop this process and start the lab without --without-controllers"
        );
        return shutdown.requested().await;
    }
    let demos = Arc::new(LabDemos::new(lab, files.clone()));
    if matches!(lab.cluster(), Cluster::Embedded(_)) {
        serve_demos(lab.context(), &demos);
    }
    shutdown.requested().await;
    tracing::info!("stopping");
    shutdown.bounded(demos.shutdown()).await;
}

/// Stops a lab within the grace period of the shutdown.
async fn stop(lab: Lab, record: Option<Arc<StartRecord>>, shutdown: &Shutdown) {
    shutdown.request();
    if !lab.stop_until(shutdown.grace_period_over()).await {
        tracing::warn!("not all parts have stopped in time; acknowledged writes are kept");
    } else if let Some(record) = record {
        record.succeeded();
    }
}

/// Starts a lab on a worker thread of the runtime, where the tasks that answer its requests run: the main thread
/// would wait for another thread at each request.
fn start_on_worker(
    config: LabConfig,
    cancellation: &CancellationToken,
) -> JoinHandle<Result<Lab, LabError>> {
    let cancellation = cancellation.clone();
    tokio::spawn(async move { Lab::start_without_controllers(config, &cancellation).await })
}

/// Opens the data directory. Objects of `--from` are loaded only into a new one.
fn open_data_dir(path: &Path, from: Option<&ObjectFile>) -> Result<DataDir, CommandError> {
    let mut data = DataDir::open(path).map_err(CommandError::usage)?;
    let Some(from) = from else { return Ok(data) };
    if !data.is_new() {
        return Err(CommandError::usage(format!(
            "--from starts a new cluster, and the data directory {} has one; choose a new directory, or leave out --from",
            path.display()
        )));
    }
    if from.is_import() {
        data.set_imported().map_err(CommandError::usage)?;
    }
    Ok(data)
}

/// Logs the presets folder unless a flag names it.
fn log_preset_source(paths: &LabPaths) {
    match &paths.presets {
        PresetsFolder::Flag(_) => {}
        PresetsFolder::Checkout(path) => tracing::info!("presets: {}", path.display()),
        PresetsFolder::Extracted(path) => {
            tracing::info!("presets: {} (edit them there)", path.display());
        }
    }
    for file in &paths.outdated {
        tracing::warn!(
            "presets: {file} was edited, so it is not replaced by the newer version of the binary"
        );
    }
}
