//! Adds a cluster's context to the user's kubeconfig, as kind and k3d do, without changing the
//! current context.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_yaml::{Mapping, Value};

use super::LocalClusterError;

/// How long to wait for the lock of another program.
const LOCKED: Duration = Duration::from_secs(10);

/// The file that `kubectl` writes to: the first of `$KUBECONFIG`, or `~/.kube/config`.
pub(super) fn default_kubeconfig_path() -> Option<PathBuf> {
    let named = std::env::var_os("KUBECONFIG").filter(|v| !v.is_empty());
    match named {
        Some(list) => std::env::split_paths(&list).find(|p| !p.as_os_str().is_empty()),
        None => {
            let home = std::env::var_os("HOME").filter(|v| !v.is_empty())?;
            Some(PathBuf::from(home).join(".kube/config"))
        }
    }
}

/// Merges clusters, users and contexts of the kubeconfig `added` into the file. Entries of the same
/// name are replaced, all others stay.
pub(super) async fn merge_into_file(file: &Path, added: &str) -> Result<(), LocalClusterError> {
    let failed = |reason: String| LocalClusterError::Kubeconfig {
        path: file.display().to_string(),
        reason,
    };
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|e| failed(e.to_string()))?;
    let lock = Lock::take(file).await?;
    let text = match kueue_lab_host::read_to_string(file, kueue_lab_host::FILE_LIMIT) {
        Ok(text) => text,
        Err(e) if e.kind() == ErrorKind::NotFound => String::new(),
        Err(e) => return Err(failed(e.to_string())),
    };
    let merged = merge(&text, added).map_err(|e| failed(e.to_string()))?;
    if merged != text {
        let write = || {
            // Private (0600) and replaced atomically.
            let mut new = tempfile::NamedTempFile::new_in(folder)?;
            new.write_all(merged.as_bytes())?;
            new.persist(file).map_err(|e| e.error)
        };
        write().map_err(|e| failed(e.to_string()))?;
    }
    drop(lock);
    Ok(())
}

/// The text of a kubeconfig with the entries of another.
fn merge(text: &str, added: &str) -> Result<String, serde_yaml::Error> {
    let mut config = match serde_yaml::from_str(text)? {
        Value::Mapping(config) => config,
        _ => Mapping::new(),
    };
    let added: Mapping = serde_yaml::from_str(added)?;
    for (key, value) in [("apiVersion", "v1"), ("kind", "Config")] {
        if !config.contains_key(key) {
            config.insert(key.into(), value.into());
        }
    }
    let mut changed = false;
    for list in ["clusters", "users", "contexts"] {
        let news = added.get(list).and_then(Value::as_sequence);
        let mut entries = match config.get(list) {
            Some(Value::Sequence(entries)) => entries.clone(),
            _ => Vec::new(),
        };
        for new in news.into_iter().flatten() {
            match entries
                .iter_mut()
                .find(|e| e.get("name") == new.get("name"))
            {
                Some(old) if old == new => {}
                Some(old) => {
                    *old = new.clone();
                    changed = true;
                }
                None => {
                    entries.push(new.clone());
                    changed = true;
                }
            }
        }
        config.insert(list.into(), entries.into());
    }
    // Without changes, comments and layout are preserved.
    match changed {
        true => serde_yaml::to_string(&config),
        false => Ok(text.to_owned()),
    }
}

/// The lock file that Kubernetes' tools create beside a kubeconfig while they write it.
struct Lock(PathBuf);

impl Lock {
    async fn take(file: &Path) -> Result<Self, LocalClusterError> {
        let mut path = file.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        let begun = Instant::now();
        loop {
            let mut options = std::fs::OpenOptions::new();
            options.write(true).create_new(true);
            let made = kueue_lab_host::open_with(&options, &path);
            match made {
                Ok(_) => return Ok(Self(path)),
                Err(e) if e.kind() == ErrorKind::AlreadyExists && begun.elapsed() < LOCKED => {
                    // kubectl's locks are files too; there is no notification when one is released.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(e) => {
                    return Err(LocalClusterError::Kubeconfig {
                        path: file.display().to_string(),
                        reason: match e.kind() {
                            ErrorKind::AlreadyExists => format!(
                                "another program holds {}; remove that file if none runs",
                                path.display()
                            ),
                            _ => e.to_string(),
                        },
                    });
                }
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDED: &str = "
clusters: [{name: kind-kueue-lab, cluster: {server: new}}]
users: [{name: kind-kueue-lab, user: {}}]
contexts: [{name: kind-kueue-lab, context: {cluster: kind-kueue-lab, user: kind-kueue-lab}}]
current-context: kind-kueue-lab
";

    #[test]
    fn other_entries_and_the_current_context_are_kept() {
        let before = "
current-context: prod
preferences: {colors: true}
clusters:
- {name: prod, cluster: {server: a, proxy-url: p}}
- {name: kind-kueue-lab, cluster: {server: old}}
contexts: [{name: prod, context: {cluster: prod}}]
";
        let merged = merge(before, ADDED).unwrap();
        let merged: Value = serde_yaml::from_str(&merged).unwrap();
        assert_eq!(merged["current-context"], Value::from("prod"));
        assert_eq!(
            merged["clusters"][0]["cluster"]["proxy-url"],
            Value::from("p")
        );
        assert_eq!(
            merged["clusters"][1]["cluster"]["server"],
            Value::from("new")
        );
        assert_eq!(merged["contexts"][1]["name"], Value::from("kind-kueue-lab"));
        assert_eq!(merged["preferences"]["colors"], Value::from(true));
    }

    #[tokio::test]
    async fn merging_creates_the_file_and_is_idempotent() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".kube/config");
        merge_into_file(&file, ADDED).await.unwrap();
        let first = std::fs::read_to_string(&file).unwrap();
        assert!(!first.contains("current-context"), "{first}");
        merge_into_file(&file, ADDED).await.unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), first);
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(folder.path().join(".kube").read_dir().unwrap().count(), 1);
    }
}
