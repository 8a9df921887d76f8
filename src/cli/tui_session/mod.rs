//! The terminal UI as the subcommands open it: which terminals it can be on, its flags, and who
//! answers when it wants something done.

mod engine_explainer;
mod lab_operations;
mod preset_list;
mod preset_samples;
mod scenario_progress;

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use kube::Client;

pub(super) use engine_explainer::EngineExplainer;
pub(super) use lab_operations::LabOperations;

use super::CliError;
use kueue_lab_admission::EngineConfig;
use kueue_lab_clock::Clock;
use kueue_lab_lab::{Cluster, FileSource, Lab, RemoteCluster};
use kueue_lab_tui::operations::Operations;
use kueue_lab_tui::{ClusterOperations, Colours, Exit, TuiConfig, TuiError};

/// Flags of the terminal UI.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(super) struct TuiArgs {
    /// Draw with plain ASCII characters only.
    #[arg(long)]
    ascii: bool,
    /// Take the mouse: click and scroll in the UI instead of selecting text.
    #[arg(long)]
    mouse: bool,
}

impl TuiArgs {
    /// What the UI is started with.
    pub(super) fn config(
        self,
        client: Client,
        clock: Clock,
        actions: Arc<dyn Operations>,
    ) -> TuiConfig {
        TuiConfig {
            ascii: self.ascii.then_some(true),
            mouse: self.mouse,
            colours: Colours::Auto,
            ..TuiConfig::new(client, clock, actions)
        }
    }

    /// Shows a cluster that somebody else's Kueue runs on, read-only, until the person leaves.
    pub(super) async fn observe(self, remote: &RemoteCluster) -> Result<(), CliError> {
        let (client, clock) = (remote.client(), Clock::real());
        let actions = Arc::new(ClusterOperations::new(client.clone()));
        let asked = EngineExplainer::new(client.clone(), clock.clone(), EngineConfig::default());
        let config = TuiConfig {
            cluster: remote.name().to_owned(),
            read_only: true,
            explainer: Some(Arc::new(asked)),
            ..self.config(client, clock, actions)
        };
        exit_result(kueue_lab_tui::run(config).await)
    }

    /// Shows a lab until the person leaves or a signal comes; tells a story meanwhile if one is
    /// named, and how `kubectl` reaches the lab if a kubeconfig was written.
    pub(super) async fn show(
        self,
        lab: &Lab,
        files: &FileSource,
        story: Option<kueue_lab_scenario::Scenario>,
        kubeconfig: Option<&Path>,
    ) -> Result<(), CliError> {
        let desk = LabOperations::new(lab, files.clone());
        if let Some(story) = story {
            desk.start_scenario(story).map_err(CliError::Failed)?;
        }
        let (client, clock) = (lab.client(), lab.clock().clone());
        let desk = Arc::new(desk);
        let settings = lab.controller().shared().settings.engine();
        let asked = EngineExplainer::new(client.clone(), clock.clone(), settings);
        let config = TuiConfig {
            cluster: match lab.cluster() {
                Cluster::Embedded(_) => "embedded".to_owned(),
                Cluster::Remote(remote) => remote.name().to_owned(),
            },
            stops_lab: true,
            kubectl_command: kubeconfig
                .map(|path| format!("kubectl --kubeconfig {}", path.display())),
            explainer: Some(Arc::new(asked)),
            ..self.config(client, clock, desk.clone())
        };
        let exit = kueue_lab_tui::run(config).await;
        desk.shutdown().await;
        exit_result(exit)
    }
}

/// What the end of the UI means for the command.
fn exit_result(exit: Result<Exit, TuiError>) -> Result<(), CliError> {
    match exit {
        Ok(_) => Ok(()),
        Err(error @ TuiError::Terminal(_)) => Err(CliError::usage(error)),
        Err(error) => Err(CliError::failed(error)),
    }
}

/// Whether there is a terminal to draw on and to read keys from.
pub(super) fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}
