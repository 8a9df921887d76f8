//! `--from`: what a new lab starts from.

use std::path::{Path, PathBuf};

use crate::cli::CommandError;
use crate::cli::import::import_context;
use crate::cli::recording_file::{MomentArg, bundle_at, read_recording};
use kueue_lab_import::Bundle;
use kueue_lab_lab::{KubeconfigContext, LabError, ObjectFile};
use kueue_lab_plan::{check_import, check_text};

/// The source of the initial state of a new lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StartSource {
    /// A file of `kueue-lab export` or `import`, or a recording.
    File(PathBuf),
    /// The cluster of a kubeconfig context.
    Context(String),
}

/// A `context:` without a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("context: needs the name of a context")]
pub(super) struct NoContextName;

impl StartSource {
    /// Reads the value of `--from`.
    ///
    /// # Errors
    /// The name of the context is missing.
    pub(super) fn parse(text: &str) -> Result<Self, NoContextName> {
        match text.strip_prefix("context:") {
            None => Ok(Self::File(text.into())),
            Some("") => Err(NoContextName),
            Some(name) => Ok(Self::Context(name.to_owned())),
        }
    }

    /// Reads the file, or imports the cluster. `at` is the moment of a recording; without it that of its end.
    ///
    /// # Errors
    /// The file or the cluster cannot be read, or `at` is given without a recording.
    pub(super) async fn objects(
        &self,
        kubeconfig: Option<&Path>,
        at: Option<&MomentArg>,
    ) -> Result<ObjectFile, CommandError> {
        match self {
            Self::File(path) if kueue_lab_recording::is_recording(path) => {
                let recording = read_recording(path)?;
                let bundle = bundle_at(&recording, at)?;
                for note in recording.note.iter().chain(&bundle.notes) {
                    tracing::warn!("{}: {note}", path.display());
                }
                let (name, time) = (path.display().to_string(), bundle.time);
                Ok(ObjectFile::of_import(&name, bundle.objects, time))
            }
            _ if at.is_some() => Err(CommandError::usage(
                "--at is a moment of a recording, and --from names none",
            )),
            Self::File(path) => ObjectFile::read(path).map_err(CommandError::usage),
            Self::Context(name) => {
                let context = KubeconfigContext::find(name, kubeconfig).map_err(LabError::from)?;
                let bundle = import_context(&context).await?;
                for note in &bundle.notes {
                    tracing::warn!("import: {note}");
                }
                check_in_background(bundle.clone());
                let objects = bundle.objects;
                Ok(ObjectFile::of_import(name, objects, bundle.time))
            }
        }
    }
}

/// Logs where a lab that starts from a bundle decides otherwise than the cluster did.
fn check_in_background(bundle: Bundle) {
    tokio::task::spawn_blocking(move || match check_import(&bundle) {
        Ok(differences) => {
            for line in check_text(&differences).lines() {
                tracing::info!("{line}");
            }
        }
        Err(error) => tracing::warn!("check: {error}"),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_no_file() {
        assert_eq!(
            StartSource::parse("context:prod"),
            Ok(StartSource::Context("prod".into()))
        );
        assert_eq!(
            StartSource::parse("lab.yaml"),
            Ok(StartSource::File("lab.yaml".into()))
        );
        assert!(StartSource::parse("context:").is_err());
    }
}
