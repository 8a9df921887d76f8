//! `kueue-lab plan`

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::import::import_for_plan;
use super::kubeconfig_args::KubeconfigArgs;
use super::output::print_stdout;
use super::source_text::with_sources;
use super::{CommandError, runtime};
use kueue_lab_plan::{
    ClusterPlan, PlanError, PlannedChange, change_scope, markdown, plan_preset, plan_text,
};
use kueue_lab_presets as presets;

const EXAMPLES: &str = "\
Examples:
  kueue-lab plan ./queues                     on the running lab
  kueue-lab plan ./queues --context prod      on a cluster, with read-only rights
  kueue-lab plan ./queues -o markdown         a summary for a pull request
  kueue-lab plan ./queues --detailed-exitcode     0 no changes, 2 changes, 1 an error";

/// Show the effects of applying a folder of queues to a cluster: objects that are added, changed and
/// removed, Workloads that are admitted, preempted or can never be admitted, queues that become inactive,
/// and quota before and after.
///
/// The effects are computed by the controller on a copy of the cluster, in virtual time. The cluster is only
/// read.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The folder with the files of one preset.
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Exit with 0 without changes, with 2 if there are changes, and with 1 after any error.
    #[arg(long)]
    detailed_exitcode: bool,
    #[command(flatten)]
    target: KubeconfigArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    /// In the manner of `terraform plan`.
    Text,
    /// The whole plan.
    Json,
    /// Tables for a pull request.
    Markdown,
}

/// Prints the plan; returns whether the exit code reports changes.
pub(super) fn run(args: Args) -> Result<bool, CommandError> {
    let outcome = plan_and_print(&args);
    match (outcome, args.detailed_exitcode) {
        (Ok(plan), true) => Ok(plan.has_changes()),
        (Ok(_), false) => Ok(false),
        // Exit code 2 means changes.
        (Err(error), true) => Err(CommandError::failed(error)),
        (Err(error), false) => Err(error),
    }
}

fn plan_and_print(args: &Args) -> Result<ClusterPlan, CommandError> {
    let preset = only_preset(&args.folder)?;
    let scope = change_scope(&args.folder, &preset);
    let bundle = runtime()?.block_on(async {
        let context = args.target.context()?;
        import_for_plan(&context, &scope).await
    })?;
    let change = PlannedChange {
        folder: &args.folder,
        preset: &preset,
    };
    let plan = plan_preset(&bundle, change).map_err(plan_error)?;
    let text = match args.output {
        Output::Text => plan_text(&plan),
        Output::Markdown => markdown(&plan),
        Output::Json => serde_json::to_string_pretty(&plan).map_err(CommandError::failed)? + "\n",
    };
    print_stdout(text.as_bytes())?;
    Ok(plan)
}

/// The error of a plan with its exit code.
pub(super) fn plan_error(error: PlanError) -> CommandError {
    if let PlanError::Invalid(findings) = &error {
        return CommandError::usage(with_sources(findings));
    }
    match error.is_usage() {
        true => CommandError::usage(error),
        false => CommandError::failed(error),
    }
}

/// The name of the preset of a folder with the files of one.
fn only_preset(folder: &Path) -> Result<String, CommandError> {
    let mut names = presets::list(folder).map_err(CommandError::usage)?;
    match (names.pop(), names.is_empty()) {
        (Some(name), true) => Ok(name),
        (None, _) => Err(CommandError::usage(format!(
            "{} has no YAML files; name a folder with queues",
            folder.display()
        ))),
        (Some(last), false) => Err(CommandError::usage(format!(
            "{} has several presets: {}, {last}; name the folder of one",
            folder.display(),
            names.join(", ")
        ))),
    }
}
