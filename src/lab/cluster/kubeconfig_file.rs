//! Reads kubeconfig files: as kube's `Kubeconfig::read_from` and `read`, with the limits of files.

use std::io;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use kube::config::{Kubeconfig, KubeconfigError};

/// The limit of the size of a kubeconfig file, in bytes.
const LIMIT: u64 = 16 << 20;

/// The kubeconfig in a file. Relative paths in it are those of its folder.
///
/// # Errors
/// The file cannot be read, or is not a kubeconfig.
pub fn read_kubeconfig(path: &Path) -> Result<Kubeconfig, KubeconfigError> {
    let unreadable = |error| KubeconfigError::ReadConfig(error, path.to_owned());
    let content = kueue_lab_host::read_argument(path, LIMIT).map_err(unreadable)?;
    let text = decode(&content).map_err(unreadable)?;
    let mut config = Kubeconfig::from_yaml(&text)?;
    if let Some(folder) = path.parent() {
        resolve_paths(&mut config, folder);
    }
    Ok(config)
}

/// The kubeconfigs of `KUBECONFIG`, or that of the home directory.
///
/// # Errors
/// As [`read_kubeconfig`].
pub fn read_default_kubeconfig() -> Result<Kubeconfig, KubeconfigError> {
    let named = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let paths: Vec<PathBuf> = std::env::split_paths(&named)
        .filter(|path| !path.as_os_str().is_empty())
        .collect();
    if paths.is_empty() {
        let home = std::env::home_dir().ok_or(KubeconfigError::FindPath)?;
        return read_kubeconfig(&home.join(".kube").join("config"));
    }
    paths
        .iter()
        .try_fold(Kubeconfig::default(), |merged, path| {
            merged.merge(read_kubeconfig(path)?)
        })
}

/// UTF-8, or UTF-16 with a byte order mark.
fn decode(content: &[u8]) -> io::Result<String> {
    let invalid = |encoding: &str| {
        io::Error::new(io::ErrorKind::InvalidData, format!("it is not {encoding}"))
    };
    let units = |of: fn([u8; 2]) -> u16, bytes: &[u8]| {
        let units = bytes
            .chunks(2)
            .map(|pair| of([pair[0], *pair.get(1).unwrap_or(&0)]));
        String::from_utf16(&units.collect::<Vec<u16>>()).map_err(|_| invalid("UTF-16"))
    };
    match content {
        [0xff, 0xfe, rest @ ..] => units(u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => units(u16::from_be_bytes, rest),
        [0xef, 0xbb, 0xbf, rest @ ..] | rest => {
            String::from_utf8(rest.to_vec()).map_err(|_| invalid("UTF-8"))
        }
    }
}

fn resolve_paths(config: &mut Kubeconfig, folder: &Path) {
    let resolve = |path: &mut Option<String>| {
        if let Some(file) = path.as_deref().filter(|file| Path::new(file).is_relative())
            && let Some(resolved) = folder.join(file).to_str()
        {
            *path = Some(resolved.to_owned());
        }
    };
    let clusters = config.clusters.iter_mut();
    for cluster in clusters.filter_map(|named| named.cluster.as_mut()) {
        resolve(&mut cluster.certificate_authority);
    }
    let users = config.auth_infos.iter_mut();
    for user in users.filter_map(|named| named.auth_info.as_mut()) {
        resolve(&mut user.client_certificate);
        resolve(&mut user.client_key);
        resolve(&mut user.token_file);
        // The shell looks up a name without a folder.
        if let Some(exec) = &mut user.exec
            && exec
                .command
                .as_ref()
                .is_some_and(|c| c.contains(MAIN_SEPARATOR))
        {
            resolve(&mut exec.command);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_are_those_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        let text = "users: [{name: u, user: {client-certificate: a.crt, tokenFile: /t, exec: {command: ./x, apiVersion: v1}}}]
clusters: [{name: c, cluster: {server: 'https://a', certificate-authority: ca.crt}}]
";
        std::fs::write(&file, text).unwrap();
        let config = read_kubeconfig(&file).unwrap();
        let user = config.auth_infos[0].auth_info.as_ref().unwrap();
        let at = |name: &str| Some(folder.path().join(name).display().to_string());
        assert_eq!(user.client_certificate, at("a.crt"));
        assert_eq!(user.token_file.as_deref(), Some("/t"));
        assert_eq!(user.exec.as_ref().unwrap().command, at("./x"));
        let cluster = config.clusters[0].cluster.as_ref().unwrap();
        assert_eq!(cluster.certificate_authority, at("ca.crt"));
        let error = read_kubeconfig(Path::new("/dev/zero")).unwrap_err();
        assert!(matches!(error, KubeconfigError::ReadConfig(..)));
    }

    #[test]
    fn text_may_be_utf16() {
        let utf16 = [0xff, 0xfe, b'a', 0, b'b', 0];
        assert_eq!(decode(&utf16).unwrap(), "ab");
        assert_eq!(decode(b"\xef\xbb\xbfab").unwrap(), "ab");
        assert!(decode(&[0xff, 0xff]).is_err());
    }
}
