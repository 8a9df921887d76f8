//! The kubeconfig files of running labs.
//!
//! A lab writes its kubeconfig to the state directory, `kubeconfig` or `kubeconfig-PID`, and holds an
//! exclusive lock on the file of that name with the suffix `.lock` until it ends, also if it is killed.

use std::fs::{OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use kueue_lab_lab::state_dir;

/// The name of the kubeconfig of the first lab.
pub(super) const DEFAULT_NAME: &str = "kubeconfig";

/// The lock file of a kubeconfig.
pub(super) fn lock_path(kubeconfig: &Path) -> PathBuf {
    let mut path = kubeconfig.as_os_str().to_owned();
    path.push(".lock");
    PathBuf::from(path)
}

/// The kubeconfig of a running lab: of the first one, or else of the one that started last.
pub(super) fn running_lab_kubeconfig() -> Option<PathBuf> {
    find_kubeconfig(&state_dir())
}

fn find_kubeconfig(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let files = entries.filter_map(|entry| {
        let path = entry.path();
        let name = entry.file_name().into_string().ok()?;
        let id = name.strip_prefix(DEFAULT_NAME)?;
        let is_kubeconfig = id.is_empty()
            || id
                .strip_prefix('-')
                .is_some_and(|id| id.parse::<u32>().is_ok());
        let started = entry.metadata().and_then(|meta| meta.modified());
        let order = (id.is_empty(), started.unwrap_or(SystemTime::UNIX_EPOCH));
        (is_kubeconfig && is_locked(&path)).then_some((order, path))
    });
    let (_, path) = files.max()?;
    Some(path)
}

/// Whether a lab holds the lock of its kubeconfig. Without working locks every file is taken for that
/// of a running lab.
fn is_locked(kubeconfig: &Path) -> bool {
    let file = kueue_lab_host::open_with(OpenOptions::new().read(true), lock_path(kubeconfig));
    match file.map(|file| file.try_lock_shared()) {
        Ok(Ok(())) => false,
        Ok(Err(TryLockError::WouldBlock | TryLockError::Error(_))) | Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kubeconfig_of_a_lab_that_ended_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let lab = |name: &str| {
            let kubeconfig = folder.path().join(name);
            std::fs::write(&kubeconfig, "").unwrap();
            let lock = std::fs::File::create(lock_path(&kubeconfig)).unwrap();
            lock.try_lock().unwrap();
            (kubeconfig, lock)
        };
        std::fs::write(folder.path().join("kubeconfig-other"), "").unwrap();
        let (first, first_lock) = lab("kubeconfig");
        let (second, second_lock) = lab("kubeconfig-17");
        assert_eq!(find_kubeconfig(folder.path()), Some(first));
        // A child process that another test forks at this moment shares the open file: closing it does not unlock it.
        first_lock.unlock().unwrap();
        assert_eq!(find_kubeconfig(folder.path()), Some(second));
        second_lock.unlock().unwrap();
        assert_eq!(find_kubeconfig(folder.path()), None);
    }
}
