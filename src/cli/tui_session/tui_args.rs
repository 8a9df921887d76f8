//! Flags of the terminal UI.

use std::sync::Arc;

use kube::Client;

use kueue_lab_clock::Clock;
use kueue_lab_tui::operations::Operations;
use kueue_lab_tui::{Colours, TuiConfig};

/// Flags of the terminal UI.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(in crate::cli) struct TuiArgs {
    /// Draw with plain ASCII characters only.
    #[arg(long)]
    ascii: bool,
    /// Capture the mouse: click and scroll in the UI instead of selecting text.
    #[arg(long)]
    mouse: bool,
}

impl TuiArgs {
    /// The configuration of the UI with these flags.
    pub(in crate::cli) fn config(
        self,
        client: Client,
        clock: Clock,
        operations: Arc<dyn Operations>,
    ) -> TuiConfig {
        TuiConfig {
            ascii: self.ascii.then_some(true),
            mouse: self.mouse,
            colours: Colours::Auto,
            ..TuiConfig::new(client, clock, operations)
        }
    }
}
