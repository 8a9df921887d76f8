//! `kueue-lab uninstall`

use super::kubeconfig_args::KubeconfigArgs;
use super::{CommandError, confirm, logging, runtime};
use kueue_lab_clock::Clock;
use kueue_lab_install::{Installer, NAMESPACE};
use kueue_lab_lab::clear_presets;

const EXAMPLES: &str = "\
Examples:
  kueue-lab uninstall --context kind-kueue-lab         asks for confirmation
  kueue-lab uninstall --context kind-kueue-lab --yes   for scripts";

/// Remove kueue-lab from a cluster. Queues and Workloads are deleted with their kinds; suspended jobs
/// and gated pods are released.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    target: KubeconfigArgs,
    /// The namespace it was installed in.
    #[arg(long, value_name = "NAME", default_value = NAMESPACE)]
    namespace: String,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
}

pub(super) fn run(args: Args) -> Result<(), CommandError> {
    logging::to_stderr();
    runtime()?.block_on(uninstall(args))
}

async fn uninstall(args: Args) -> Result<(), CommandError> {
    if args.yes && !args.target.is_named() {
        let why = "--yes removes everything without confirmation, so name the cluster: --context NAME or --kubeconfig FILE";
        return Err(CommandError::usage(why));
    }
    let (client, name) = args.target.connect().await?;
    if !args.yes && !confirm_uninstall(&name)? {
        return Err(CommandError::failed("nothing was changed"));
    }
    let installer = Installer::new(client.clone(), Clock::real(), args.namespace);
    let report = installer
        .uninstall()
        .await
        .map_err(|e| match e.is_usage() {
            true => CommandError::usage(e),
            false => CommandError::failed(e),
        })?;
    // Objects of presets that are not of Kueue's kinds still exist.
    let cleared = clear_presets(&client, true).await;
    let cleared = cleared.map_err(CommandError::failed)?;
    let mut text: String = report
        .lines()
        .iter()
        .map(|line| format!("{line}\n"))
        .collect();
    if cleared.objects > 0 {
        text.push_str(&format!(
            "removed: objects of presets: {}\n",
            cleared.objects
        ));
    }
    for left in &cleared.remaining {
        text.push_str(&format!("left: {left}\n"));
    }
    if text.is_empty() {
        text = format!("nothing of kueue-lab is installed on {name}\n");
    }
    super::output::print_stdout(text.as_bytes())
}

/// Asks for confirmation; fails without a terminal.
fn confirm_uninstall(name: &str) -> Result<bool, CommandError> {
    if !confirm::is_interactive() {
        let why = format!(
            "this removes Kueue's kinds and all queues from {name}; there is no terminal for the confirmation, so confirm with --yes"
        );
        return Err(CommandError::usage(why));
    }
    confirm::confirm(&format!(
        "Remove Kueue's kinds, all queues and Workloads from {name}?"
    ))
}
