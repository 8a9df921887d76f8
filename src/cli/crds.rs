//! `kueue-lab crds`

use super::CommandError;
use super::output::print_stdout;
use kueue_lab_api::crds::{Conversion, all_yaml};

/// Print the CustomResourceDefinitions of all kinds as YAML.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn run(_: Args) -> Result<(), CommandError> {
    let yaml = all_yaml(&Conversion::upstream()).map_err(CommandError::failed)?;
    print_stdout(yaml.as_bytes())
}
