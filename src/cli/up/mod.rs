//! `kueue-lab up`

mod lab_kubeconfig;

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::cluster_args::{ClusterArgs, ClusterChoice};
use super::tui_session::{self, TuiArgs};
use super::{CliError, config, logging, runtime, signals, speed};
use kueue_lab_clock::Clock;
use kueue_lab_entropy::Entropy;
use kueue_lab_lab::{
    DEFAULT_PRESET, FileSource, Lab, LabConfig, LabError, LabPaths, NodePools, PresetsFolder,
};
use lab_kubeconfig::LabKubeconfig;

const EXAMPLES: &str = "\
Examples:
  kueue-lab up                                 a lab with a terminal UI
  kueue-lab up --preset team-cohort            with another preset in force
  kueue-lab up --presets-dir ./queues          with a presets folder of your own
  kueue-lab up --nodes lab/nodes.yaml          with other nodes and GPUs
  kueue-lab up --config kueue.yaml             with Kueue configured as on a real cluster
  kueue-lab up --headless --port 6443 --kubeconfig-out lab.kubeconfig
  kueue-lab up --headless --speed 60           a minute of lab time every second
  kueue-lab up --cluster kind                  on a kind cluster, made if need be
  kueue-lab up --cluster context:dev           on the cluster of a kubeconfig context
  kueue-lab up --cluster context:prod --observe    only watch the Kueue that runs there";

/// Start a lab: a cluster with fake GPU nodes, Kueue's admission controller and queue presets that
/// follow every save.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Where to run: `embedded`, a Kubernetes API in this process; `kind` or `k3d`, a cluster of
    /// containers, made if need be; or `context:NAME`, any cluster of your kubeconfig.
    #[arg(long, value_name = "WHERE", default_value = "embedded", value_parser = ClusterChoice::parse)]
    cluster: ClusterChoice,
    #[command(flatten)]
    cluster_args: ClusterArgs,
    /// Run without the terminal UI: print `ready KUBECONFIG` and serve until interrupted. Without a
    /// terminal that is how it runs anyway.
    #[arg(long)]
    headless: bool,
    /// The preset to put in force first.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_PRESET)]
    preset: String,
    /// The folder with one sub-folder for each preset [default: ./presets in a checkout, otherwise
    /// ~/.local/state/kueue-lab/presets].
    #[arg(long, value_name = "DIR")]
    presets_dir: Option<PathBuf>,
    /// The pools of fake nodes [default: ./lab/nodes.yaml in a checkout, otherwise built in].
    #[arg(long, value_name = "FILE")]
    nodes: Option<PathBuf>,
    /// Kueue's configuration file (config.kueue.x-k8s.io), as its controller manager reads it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where to write the kubeconfig [default: ~/.local/state/kueue-lab/kubeconfig].
    #[arg(long, value_name = "FILE")]
    kubeconfig_out: Option<PathBuf>,
    /// The loopback port to serve the Kubernetes API on; 0 takes any that is free.
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// Lab seconds per second, from 0.01 to 10000.
    #[arg(long, value_name = "N", default_value = "1", value_parser = speed::parse)]
    speed: f64,
    #[command(flatten)]
    tui_args: TuiArgs,
}

pub(super) fn run(args: Args) -> Result<(), CliError> {
    let with_window = !args.headless && tui_session::has_terminal();
    match with_window {
        true => logging::to_file(),
        false => logging::to_stderr(),
    }
    args.cluster_args.check(&args.cluster, args.speed)?;
    if args.cluster_args.observe {
        return runtime()?.block_on(observe(args));
    }
    runtime()?.block_on(serve(args, with_window))
}

/// A window on a cluster where somebody else's Kueue decides. Nothing is started, nothing written.
async fn observe(args: Args) -> Result<(), CliError> {
    if !tui_session::has_terminal() {
        let message = "--observe needs a terminal on stdin and stdout; without one, `kueue-lab explain` says why a workload waits";
        return Err(CliError::Usage(message.into()));
    }
    let here = std::env::current_dir().map_err(CliError::failed)?;
    let files = LabPaths::find(args.presets_dir, &here)
        .map_err(CliError::Usage)?
        .lab;
    match args.cluster_args.reach(&args.cluster, &files).await? {
        Some(remote) => args.tui_args.observe(&remote).await,
        None => Ok(()),
    }
}

async fn serve(args: Args, with_window: bool) -> Result<(), CliError> {
    let begun = Instant::now();
    let here = std::env::current_dir().map_err(CliError::failed)?;
    let places = LabPaths::find(args.presets_dir, &here).map_err(CliError::Usage)?;
    log_preset_source(&places);
    let kueue = match &args.config {
        Some(path) => Some(config::read_config(path)?),
        None => None,
    };
    let (nodes, nodes_file) = node_pools(args.nodes.as_deref(), &places)?;
    // Asked for before anything runs, so that no signal is lost.
    let mut stop = tokio::spawn(signals::shutdown_signal());
    let remote = tokio::select! {
        remote = args.cluster_args.reach(&args.cluster, &places.lab) => remote?,
        _ = &mut stop => {
            let message = "interrupted before anything ran; `up` can be run again";
            return Err(CliError::Failed(message.into()));
        }
    };
    let config = LabConfig {
        remote,
        clock: Clock::scaled(args.speed),
        entropy: Entropy::from_os(),
        presets: places.presets.path().to_owned(),
        preset: args.preset,
        watch: true,
        port: Some(args.port),
        nodes,
        nodes_file,
        kueue,
    };
    let given_up = CancellationToken::new();
    let mut starting = pin!(Lab::start_cancellable(config, &given_up));
    let lab = tokio::select! {
        lab = &mut starting => lab,
        _ = &mut stop => {
            tracing::info!("stopping");
            given_up.cancel();
            // It takes with it what must not stay.
            starting.await
        }
    };
    let lab = lab.map_err(lab_error)?;
    let mut kubeconfig = LabKubeconfig::choose(args.kubeconfig_out);
    if let Err(error) = kubeconfig.write(&lab) {
        lab.stop().await;
        return Err(CliError::Usage(error));
    }
    tracing::info!("ready in {} ms", begun.elapsed().as_millis());
    let outcome = match with_window {
        true => {
            // From here on the UI hears signals.
            stop.abort();
            args.tui_args
                .show(&lab, &places.lab, None, Some(kubeconfig.path()))
                .await
        }
        false => {
            let ready = format!("ready {}\n", kubeconfig.path().display());
            let printed = super::crds::print_stdout(ready.as_bytes());
            match stop.await {
                Ok(Ok(())) => tracing::info!("stopping"),
                Ok(Err(error)) => tracing::error!("cannot wait for signals: {error}"),
                Err(error) => tracing::error!("cannot wait for signals: {error}"),
            }
            printed
        }
    };
    lab.stop().await;
    kubeconfig.remove();
    outcome
}

/// The pools of nodes and their file, if they have one: that asked for, or that of the checkout.
pub(super) fn node_pools(
    asked: Option<&Path>,
    places: &LabPaths,
) -> Result<(NodePools, Option<PathBuf>), CliError> {
    let of_checkout = match &places.lab {
        FileSource::Folder(folder) => Some(folder.join("nodes.yaml")).filter(|f| f.is_file()),
        FileSource::Shipped(_) => None,
    };
    match asked.map(Path::to_owned).or(of_checkout) {
        Some(file) => {
            let pools = NodePools::load(&file).map_err(CliError::usage)?;
            Ok((pools, Some(file)))
        }
        None => Ok((NodePools::built_in(), None)),
    }
}

/// Says where presets come from when that is not plain.
fn log_preset_source(places: &LabPaths) {
    match &places.presets {
        PresetsFolder::Flag(_) => {}
        PresetsFolder::Checkout(path) => tracing::info!("presets: {}", path.display()),
        PresetsFolder::Extracted(path) => {
            tracing::info!("presets: {} (edit them there)", path.display());
        }
    }
    for file in &places.outdated {
        tracing::warn!("presets: {file} was edited, so the binary's newer one is not written");
    }
}

pub(super) fn lab_error(error: LabError) -> CliError {
    match error.is_usage() {
        true => CliError::usage(error),
        false => CliError::failed(error),
    }
}
