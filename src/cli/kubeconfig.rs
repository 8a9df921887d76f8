//! `kueue-lab kubeconfig`

use clap::ValueEnum;

use super::kubeconfig_args::KubeconfigArgs;
use super::output::print_stdout;
use super::{CommandError, runtime};
use kueue_lab_install::BatchRole;

const EXAMPLES: &str = "\
Examples:
  kueue-lab kubeconfig --as batch-user > user.kubeconfig
  kueue-lab kubeconfig --as batch-user -n team-a > team-a.kubeconfig
  kubectl --kubeconfig user.kubeconfig auth can-i create jobs";

/// Print a kubeconfig of a batch administrator or batch user, as Kueue's documentation defines them,
/// valid for a day.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The role: `batch-admin` manages queues in the whole cluster, `batch-user` submits jobs in one
    /// namespace.
    #[arg(long = "as", value_enum, value_name = "ROLE")]
    role: Role,
    /// The namespace of the ServiceAccount, in which a batch user has its rights.
    #[arg(short, long, default_value = "default")]
    namespace: String,
    #[command(flatten)]
    target: KubeconfigArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Role {
    /// Manages queues.
    BatchAdmin,
    /// Submits jobs.
    BatchUser,
}

pub(super) fn run(args: Args) -> Result<(), CommandError> {
    let role = match args.role {
        Role::BatchAdmin => BatchRole::Admin,
        Role::BatchUser => BatchRole::User,
    };
    runtime()?.block_on(async {
        let context = args.target.context()?;
        let client = context.client().await.map_err(CommandError::usage)?;
        let token = role
            .token(&client, &args.namespace)
            .await
            .map_err(CommandError::failed)?;
        let text = context
            .with_token(role.name(), token, &args.namespace)
            .map_err(CommandError::failed)?;
        print_stdout(text.as_bytes())
    })
}
