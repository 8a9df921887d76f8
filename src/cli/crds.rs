//! `kueue-lab crds`

use std::io::{ErrorKind, Write};

use super::CliError;
use kueue_lab_api::crds::{Conversion, all_yaml};

/// Print the CustomResourceDefinitions of all kinds as YAML.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn run(_: Args) -> Result<(), CliError> {
    let yaml = all_yaml(&Conversion::upstream()).map_err(CliError::failed)?;
    print_stdout(yaml.as_bytes())
}

/// Writes data to stdout. A reader that has read enough is no failure.
pub(super) fn print_stdout(data: &[u8]) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(data).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(CliError::failed(e)),
        _ => Ok(()),
    }
}
