//! Pathname expansion.

use crate::filesystem::FileSystem;
use kueue_lab_shell::pattern;

/// Maximum number of paths of a pattern.
const PATHS: usize = 10_000;

/// The paths that match a pattern, sorted; empty if there are none.
pub(super) fn expand(files: &FileSystem, directory: &str, text: &str) -> Vec<String> {
    let mut paths = vec![if text.starts_with('/') { "/" } else { "" }.to_owned()];
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
    for (index, part) in parts.iter().enumerate() {
        let is_last = index + 1 == parts.len();
        let mut next = Vec::new();
        for path in &paths {
            let join = |name: &str| format!("{path}{name}{}", if is_last { "" } else { "/" });
            if !pattern::is_pattern(part) {
                let joined = join(&pattern::unquote(part));
                if files.lstat(directory, &joined).is_ok() {
                    next.push(joined);
                }
                continue;
            }
            let base = if path.is_empty() { "." } else { path };
            for (name, entry) in files.list(directory, base).unwrap_or_default() {
                let is_hidden = name.starts_with('.') && !part.starts_with('.');
                let fits =
                    is_last || entry.is_directory() || files.is_directory(directory, &join(&name));
                if !is_hidden && fits && pattern::matches(part, &name) && next.len() < PATHS {
                    next.push(join(&name));
                }
            }
        }
        paths = next;
    }
    paths
}
