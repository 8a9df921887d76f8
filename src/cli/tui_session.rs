//! Runs the UI on a lab or on another cluster.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use kube::Client;

use super::engine_explainer::{EngineExplainer, EngineSource};
use super::past_explainer::past_explainer;
use super::{CommandError, Shutdown};
use kueue_lab_clock::Clock;
use kueue_lab_lab::{Cluster, FileSource, Lab, RemoteCluster};
use kueue_lab_recording::SharedHistory;
use kueue_lab_scenario::Scenario;
use kueue_lab_tui::backend::{Backend, DemoPace, Explainer, PastBackend};
use kueue_lab_tui::{Colours, Exit, TuiConfig, TuiError};
use kueue_lab_tui_backend::{LabDemos, lab_backend, serve_demos};

/// Flags of the terminal UI.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(super) struct TuiArgs {
    /// Draw with plain ASCII characters only.
    #[arg(long)]
    ascii: bool,
    /// Capture the mouse: click and scroll in the UI instead of selecting text.
    #[arg(long)]
    mouse: bool,
}

/// A scenario that the UI starts.
pub(super) struct ShownScenario {
    pub(super) scenario: Scenario,
    pub(super) pace: DemoPace,
}

/// A lab of this process that the UI shows.
pub(super) struct ShownLab<'a> {
    pub(super) lab: &'a Lab,
    pub(super) files: &'a FileSource,
    /// Its course, if it is recorded.
    pub(super) history: Option<SharedHistory>,
}

impl TuiArgs {
    /// The configuration of the UI.
    pub(super) fn config(self, backend: Backend, clock: Clock) -> TuiConfig {
        TuiConfig {
            ascii: self.ascii.then_some(true),
            mouse: self.mouse,
            colours: Colours::Auto,
            ..TuiConfig::new(backend, clock)
        }
    }

    /// Runs a read-only UI of a cluster with its own Kueue until it is quit or a signal arrives.
    pub(super) async fn observe(self, remote: &RemoteCluster) -> Result<(), CommandError> {
        let clock = Clock::real();
        let backend = backend(remote.client(), &clock, EngineSource::Cluster);
        let config = TuiConfig {
            cluster: remote.name().to_owned(),
            read_only: true,
            ..self.config(backend, clock)
        };
        exit_result(run_until_shutdown(config, &Shutdown::start(true)?).await)
    }

    /// Runs the UI of a lab until it is quit or a signal arrives. Starts `scenario` before, and shows
    /// the `kubectl` command line for `kubeconfig` and the warnings of the start.
    pub(super) async fn show(
        self,
        ShownLab {
            lab,
            files,
            history,
        }: ShownLab<'_>,
        scenario: Option<ShownScenario>,
        kubeconfig: Option<&Path>,
        warnings: Vec<String>,
        shutdown: &Shutdown,
    ) -> Result<(), CommandError> {
        let demos = Arc::new(LabDemos::new(lab, files.clone()));
        if matches!(lab.cluster(), Cluster::Embedded(_)) {
            serve_demos(lab.context(), &demos);
        }
        if let Some(scenario) = scenario {
            demos
                .start_scenario(scenario.scenario, scenario.pace)
                .map_err(CommandError::failed)?;
        }
        let clock = lab.clock().clone();
        let engine = match lab.current_controller() {
            Some(controller) => EngineSource::Controller(Arc::new(controller)),
            None => EngineSource::Cluster,
        };
        let backend = Backend {
            explainer: Some(explainer(lab.client(), &clock, engine)),
            ..lab_backend(lab, &demos)
        };
        let config = TuiConfig {
            cluster: match lab.cluster() {
                Cluster::Embedded(_) => "embedded".to_owned(),
                Cluster::Remote(remote) => remote.name().to_owned(),
            },
            past: history.map(|history| PastBackend {
                history,
                explainer: past_explainer,
            }),
            stops_lab: true,
            warnings,
            kubectl_command: kubeconfig
                .map(|path| format!("kubectl --kubeconfig {}", path.display())),
            ..self.config(backend, clock)
        };
        let exit = run_until_shutdown(config, shutdown).await;
        shutdown.bounded(demos.shutdown()).await;
        exit_result(exit)
    }
}

/// Runs the UI until it is quit or the shutdown is requested, which it requests itself when it ends. The terminal
/// is restored in any case.
pub(super) async fn run_until_shutdown(
    config: TuiConfig,
    shutdown: &Shutdown,
) -> Result<Exit, TuiError> {
    shutdown.before_exit(kueue_lab_tui::restore_terminal);
    let config = TuiConfig {
        stop: shutdown.token(),
        ..config
    };
    let exit = shutdown.bounded(kueue_lab_tui::run(config)).await;
    shutdown.request();
    exit.unwrap_or(Ok(Exit::Cancelled))
}

/// The result of the command for an exit of the UI.
fn exit_result(exit: Result<Exit, TuiError>) -> Result<(), CommandError> {
    match exit {
        Ok(_) => Ok(()),
        Err(error @ TuiError::Terminal(_)) => Err(CommandError::usage(error)),
        Err(error) => Err(CommandError::failed(error)),
    }
}

/// Whether stdin and stdout are terminals that can position the cursor.
pub(super) fn has_terminal() -> bool {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !dumb && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// A cluster without a lab, with explanations by an engine whose configuration is from `engine`.
pub(super) fn backend(client: Client, clock: &Clock, engine: EngineSource) -> Backend {
    Backend {
        explainer: Some(explainer(client.clone(), clock, engine)),
        ..Backend::of_cluster(client)
    }
}

fn explainer(client: Client, clock: &Clock, engine: EngineSource) -> Arc<dyn Explainer> {
    Arc::new(EngineExplainer::new(client, clock.clone(), engine))
}
