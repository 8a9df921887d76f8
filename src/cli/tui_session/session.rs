//! Runs the terminal UI on a lab, or read-only on a cluster.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use super::{EngineExplainer, LabOperations, TuiArgs};
use crate::cli::CliError;
use kueue_lab_admission::EngineConfig;
use kueue_lab_clock::Clock;
use kueue_lab_lab::{Cluster, FileSource, Lab, RemoteCluster};
use kueue_lab_scenario::Scenario;
use kueue_lab_tui::{ClusterOperations, Exit, TuiConfig, TuiError};

impl TuiArgs {
    /// Shows a cluster with its own Kueue, read-only, until the user quits.
    pub(in crate::cli) async fn observe(self, remote: &RemoteCluster) -> Result<(), CliError> {
        let (client, clock) = (remote.client(), Clock::real());
        let operations = Arc::new(ClusterOperations::new(client.clone()));
        let explainer =
            EngineExplainer::new(client.clone(), clock.clone(), EngineConfig::default());
        let config = TuiConfig {
            cluster: remote.name().to_owned(),
            read_only: true,
            explainer: Some(Arc::new(explainer)),
            ..self.config(client, clock, operations)
        };
        exit_result(kueue_lab_tui::run(config).await)
    }

    /// Shows a lab until the user quits or a signal arrives, and runs `scenario` meanwhile.
    /// `kubeconfig` is the lab's file for `kubectl`, if one was written.
    pub(in crate::cli) async fn show(
        self,
        lab: &Lab,
        files: &FileSource,
        scenario: Option<Scenario>,
        kubeconfig: Option<&Path>,
    ) -> Result<(), CliError> {
        let operations = LabOperations::new(lab, files.clone());
        if let Some(scenario) = scenario {
            operations
                .start_scenario(scenario)
                .map_err(CliError::Failed)?;
        }
        let (client, clock) = (lab.client(), lab.clock().clone());
        let operations = Arc::new(operations);
        let settings = lab.controller().shared().settings.engine();
        let explainer = EngineExplainer::new(client.clone(), clock.clone(), settings);
        let config = TuiConfig {
            cluster: match lab.cluster() {
                Cluster::Embedded(_) => "embedded".to_owned(),
                Cluster::Remote(remote) => remote.name().to_owned(),
            },
            stops_lab: true,
            kubectl_command: kubeconfig
                .map(|path| format!("kubectl --kubeconfig {}", path.display())),
            explainer: Some(Arc::new(explainer)),
            ..self.config(client, clock, operations.clone())
        };
        let exit = kueue_lab_tui::run(config).await;
        operations.shutdown().await;
        exit_result(exit)
    }
}

/// Maps the end of the UI to the result of the command.
fn exit_result(exit: Result<Exit, TuiError>) -> Result<(), CliError> {
    match exit {
        Ok(_) => Ok(()),
        Err(error @ TuiError::Terminal(_)) => Err(CliError::usage(error)),
        Err(error) => Err(CliError::failed(error)),
    }
}

/// Whether stdin and stdout are terminals.
pub(in crate::cli) fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}
