//! Validation of kubeconfig paths of MultiKueueClusters with `locationType: Path`: the files must
//! be below one directory.

use std::path::{Component, Path, PathBuf};

use crate::host_configuration::KubeConfigPaths;
use crate::settings::Settings;

/// The directory of kubeconfig files.
const KUBE_CONFIG_PATH_PREFIX: &str = "/etc/multikueue/kubeconfigs";

/// Why a kubeconfig file is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum KubeConfigPathError {
    /// The path is empty.
    #[error("kubeconfig path must not be empty")]
    Empty,
    /// The path leads above its first directory.
    #[error("kubeconfig path is not under the allowed prefix: path contains \"..\"")]
    ParentDirectory,
    /// The path is relative.
    #[error("kubeconfig path is not under the allowed prefix: path must be absolute")]
    Relative,
    /// The file is not below the directory of kubeconfigs.
    #[error("kubeconfig path is not under the allowed prefix: {path:?} is not under {prefix:?}")]
    Outside {
        /// The path.
        path: String,
        /// The directory.
        prefix: String,
    },
    /// The file cannot be found; the message of Go.
    #[error("cannot resolve kubeconfig path symlinks: {0}")]
    Resolve(String),
    /// The configuration does not allow to read files; the path.
    #[error(
        "kubeconfig path {0:?} is not read: on an embedded cluster files of this machine need the feature gate MultiKueueKubeConfigPathValidation in the file of --config or in kueue.yaml of the preset"
    )]
    NotPermitted(String),
}

/// The file at `path`, if the configuration allows to read it.
///
/// # Errors
/// It does not.
pub(super) fn permitted_file(
    settings: &Settings,
    path: &str,
) -> Result<PathBuf, KubeConfigPathError> {
    match settings.host.kube_config_paths(&settings.gates) {
        KubeConfigPaths::All => Ok(path.into()),
        KubeConfigPaths::Validated => validate_kube_config_path(path, KUBE_CONFIG_PATH_PREFIX),
        KubeConfigPaths::None => {
            // Nothing of the file system shows in the message.
            let prefix = Path::new(KUBE_CONFIG_PATH_PREFIX);
            let cleaned = cleaned(path)?;
            match cleaned.starts_with(prefix) {
                true => Err(KubeConfigPathError::NotPermitted(
                    cleaned.display().to_string(),
                )),
                false => Err(outside(&cleaned, prefix)),
            }
        }
    }
}

/// The absolute path without `.` and `..`.
fn cleaned(path: &str) -> Result<PathBuf, KubeConfigPathError> {
    if path.is_empty() {
        return Err(KubeConfigPathError::Empty);
    }
    let cleaned = clean(Path::new(path));
    if cleaned
        .components()
        .any(|part| part == Component::ParentDir)
    {
        return Err(KubeConfigPathError::ParentDirectory);
    }
    if !cleaned.is_absolute() {
        return Err(KubeConfigPathError::Relative);
    }
    Ok(cleaned)
}

fn outside(path: &Path, prefix: &Path) -> KubeConfigPathError {
    let (path, prefix) = (path.display().to_string(), prefix.display().to_string());
    KubeConfigPathError::Outside { path, prefix }
}

/// The file at `path`, with symbolic links resolved.
///
/// # Errors
/// It is not below `prefix`.
fn validate_kube_config_path(path: &str, prefix: &str) -> Result<PathBuf, KubeConfigPathError> {
    let cleaned = cleaned(path)?;
    let Ok(allowed) = Path::new(prefix).canonicalize() else {
        return Err(outside(&cleaned, Path::new(prefix)));
    };
    let resolved = cleaned
        .canonicalize()
        .map_err(|error| KubeConfigPathError::Resolve(lstat_error(&cleaned, &error)))?;
    match resolved.starts_with(&allowed) {
        true => Ok(resolved),
        false => Err(outside(&resolved, &allowed)),
    }
}

/// The error text of Go for a file that cannot be found.
fn lstat_error(path: &Path, error: &std::io::Error) -> String {
    let reason = match error.kind() {
        std::io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        _ => error.to_string(),
    };
    format!("lstat {}: {reason}", path.display())
}

/// Removes `.` and resolves `..` where it is possible, as Go's `filepath.Clean`.
fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => match cleaned.components().next_back() {
                Some(Component::Normal(_)) => {
                    cleaned.pop();
                }
                Some(Component::RootDir) => {}
                _ => cleaned.push(".."),
            },
            part => cleaned.push(part),
        }
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_below_the_directory_are_allowed() {
        let folder = std::env::temp_dir().join(format!("kubeconfigs-{}", std::process::id()));
        let allowed = folder.join("allowed");
        std::fs::create_dir_all(&allowed).unwrap();
        std::fs::write(folder.join("outside"), "").unwrap();
        std::fs::write(allowed.join("worker1"), "").unwrap();
        let prefix = allowed.display().to_string();
        let validate = |path: &str| validate_kube_config_path(path, &prefix);
        assert!(validate(&format!("{prefix}/./worker1")).is_ok());
        let rejected = validate(&format!("{prefix}/../outside")).unwrap_err();
        assert!(rejected.to_string().contains("is not under"), "{rejected}");
        let rejected = validate("worker1").unwrap_err();
        assert!(
            rejected.to_string().ends_with("path must be absolute"),
            "{rejected}"
        );
        let rejected = validate("../worker1").unwrap_err();
        assert!(
            rejected.to_string().ends_with("path contains \"..\""),
            "{rejected}"
        );
        assert!(validate(&format!("{prefix}/none")).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
