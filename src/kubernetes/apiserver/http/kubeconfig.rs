//! The kubeconfig of a server.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

/// A kubeconfig with one cluster, one user and one current context of the same name.
pub(super) fn kubeconfig(name: &str, url: &str, authority_pem: &str, token: &str) -> String {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": name,
            "cluster": {
                "server": url,
                "certificate-authority-data": STANDARD.encode(authority_pem),
            },
        }],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{
            "name": name,
            "context": {"cluster": name, "user": name, "namespace": "default"},
        }],
        "current-context": name,
        "preferences": {},
    });
    serde_yaml::to_string(&config).unwrap_or_default()
}

/// Writes a file with mode 0600, atomically.
pub(super) fn write_private_file(path: &Path, text: &str) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // The temporary file has mode 0600 from its creation.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}
