//! `kueue-lab import`

use std::path::PathBuf;

use super::kubeconfig_args::KubeconfigArgs;
use super::output::{print_stdout, write_file};
use super::plan::plan_error;
use super::{CommandError, CommandErrorKind, runtime};
use kueue_lab_clock::Clock;
use kueue_lab_import::{
    Bundle, ChangeScope, ImportError, anonymize, import_cluster, import_for_change,
};
use kueue_lab_lab::KubeconfigContext;
use kueue_lab_plan::{check_import, check_text};

const EXAMPLES: &str = "\
Examples:
  kueue-lab import --context prod -o prod.yaml       the state of a cluster
  kueue-lab up --from prod.yaml                      an embedded lab in that state
  kueue-lab import --context prod --anonymize -o bug.yaml    for a bug report";

/// Write the queues, Workloads, jobs, nodes and the Kueue configuration of a cluster to a bundle, from which
/// `up --from` starts an embedded lab in the same state.
///
/// A check on stderr names the decisions of the lab that differ from those of the cluster, with the reasons.
///
/// Read-only rights suffice, and nothing is written to the cluster. Secrets are not requested.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The file to write, readable by its owner only [default: stdout].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace names by pseudonyms: of objects, namespaces, labels, images, commands and environment
    /// variables.
    #[arg(long)]
    anonymize: bool,
    /// Do not check that a lab from the bundle decides as the cluster did.
    #[arg(long)]
    no_check: bool,
    #[command(flatten)]
    target: KubeconfigArgs,
}

pub(super) fn run(args: Args) -> Result<(), CommandError> {
    let mut bundle = runtime()?.block_on(async {
        let context = args.target.context()?;
        import_context(&context).await
    })?;
    if args.anonymize {
        bundle = anonymize(bundle);
    }
    for note in &bundle.notes {
        eprintln!("note: {note}");
    }
    let yaml = bundle.to_yaml();
    match &args.output {
        None => print_stdout(yaml.as_bytes())?,
        Some(path) => write_file(path, &yaml)?,
    }
    if !args.no_check {
        let differences = check_import(&bundle).map_err(plan_error)?;
        eprint!("{}", check_text(&differences));
    }
    Ok(())
}

/// Imports the cluster of a context.
///
/// # Errors
/// A usage error for missing rights and for a cluster without a Kueue that the lab knows.
pub(super) async fn import_context(context: &KubeconfigContext) -> Result<Bundle, CommandError> {
    let client = context.client().await.map_err(CommandError::usage)?;
    let now = Clock::real().now();
    let imported = import_cluster(&client, context.name(), now).await;
    imported.map_err(|error| import_error(context, error))
}

/// Imports the cluster of a context, with the further objects that a plan needs.
///
/// # Errors
/// As [`import_context`].
pub(super) async fn import_for_plan(
    context: &KubeconfigContext,
    scope: &ChangeScope,
) -> Result<Bundle, CommandError> {
    let client = context.client().await.map_err(CommandError::usage)?;
    let now = Clock::real().now();
    let imported = import_for_change(&client, context.name(), now, scope).await;
    imported.map_err(|error| import_error(context, error))
}

fn import_error(context: &KubeconfigContext, error: ImportError) -> CommandError {
    let is_usage = error.is_usage();
    let kind = if is_usage {
        CommandErrorKind::Usage
    } else {
        CommandErrorKind::Failed
    };
    let message = format!("cannot import the cluster of context {}", context.name());
    CommandError::new(kind, error).with_message(message)
}
