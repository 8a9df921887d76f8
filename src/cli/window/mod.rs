//! The terminal UI as the subcommands open it: which terminals it can be on, its flags, and who
//! answers when it wants something done.

mod actions;
mod asked;
mod board;
mod samples;
mod story;

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use kube::Client;

pub(super) use actions::Desk;
pub(super) use asked::Asked;

use super::Failure;
use kueue_lab_admission::EngineConfig;
use kueue_lab_clock::Clock;
use kueue_lab_lab::{Cluster, Files, Lab, Remote};
use kueue_lab_tui::actions::Actions;
use kueue_lab_tui::{ClusterActions, Colours, Exit, TuiConfig, TuiError};

/// Flags of the terminal UI.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(super) struct Window {
    /// Draw with plain ASCII characters only.
    #[arg(long)]
    ascii: bool,
    /// Take the mouse: click and scroll in the UI instead of selecting text.
    #[arg(long)]
    mouse: bool,
}

impl Window {
    /// What the UI is started with.
    pub(super) fn config(
        self,
        client: Client,
        clock: Clock,
        actions: Arc<dyn Actions>,
    ) -> TuiConfig {
        TuiConfig {
            ascii: self.ascii.then_some(true),
            mouse: self.mouse,
            colours: Colours::Auto,
            ..TuiConfig::new(client, clock, actions)
        }
    }

    /// Shows a cluster that somebody else's Kueue runs on, read-only, until the person leaves.
    pub(super) async fn observe(self, remote: &Remote) -> Result<(), Failure> {
        let (client, clock) = (remote.client(), Clock::real());
        let actions = Arc::new(ClusterActions::new(client.clone()));
        let asked = Asked::new(client.clone(), clock.clone(), EngineConfig::default());
        let config = TuiConfig {
            cluster: remote.name().to_owned(),
            read_only: true,
            explain: Some(Arc::new(asked)),
            ..self.config(client, clock, actions)
        };
        told(kueue_lab_tui::run(config).await)
    }

    /// Shows a lab until the person leaves or a signal comes; tells a story meanwhile if one is
    /// named, and how `kubectl` reaches the lab if a kubeconfig was written.
    pub(super) async fn show(
        self,
        lab: &Lab,
        files: &Files,
        story: Option<kueue_lab_scenario::Scenario>,
        kubeconfig: Option<&Path>,
    ) -> Result<(), Failure> {
        let desk = Desk::new(lab, files.clone());
        if let Some(story) = story {
            desk.tell(story).map_err(Failure::Failed)?;
        }
        let (client, clock) = (lab.client(), lab.clock().clone());
        let desk = Arc::new(desk);
        let settings = lab.controller().shared().settings.engine();
        let asked = Asked::new(client.clone(), clock.clone(), settings);
        let config = TuiConfig {
            cluster: match lab.cluster() {
                Cluster::Embedded(_) => "embedded".to_owned(),
                Cluster::Remote(remote) => remote.name().to_owned(),
            },
            stops_lab: true,
            access: kubeconfig.map(|path| format!("kubectl --kubeconfig {}", path.display())),
            explain: Some(Arc::new(asked)),
            ..self.config(client, clock, desk.clone())
        };
        let exit = kueue_lab_tui::run(config).await;
        desk.close().await;
        told(exit)
    }
}

/// What the end of the UI means for the command.
fn told(exit: Result<Exit, TuiError>) -> Result<(), Failure> {
    match exit {
        Ok(_) => Ok(()),
        Err(error @ TuiError::Terminal(_)) => Err(Failure::usage(error)),
        Err(error) => Err(Failure::failed(error)),
    }
}

/// Whether there is a terminal to draw on and to read keys from.
pub(super) fn is_possible() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}
