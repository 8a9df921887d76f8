//! Validation of kubeconfigs for MultiKueue: they must not refer to files or programs of the
//! manager.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::{AuthInfo, Kubeconfig};

/// The limit of the size of a certificate or key, in bytes.
const CERTIFICATE_LIMIT: u64 = 1 << 20;

/// The part of a kubeconfig that MultiKueue does not allow, with upstream's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KubeconfigError {
    /// A file with a token.
    #[error("tokenFile is not allowed")]
    TokenFile,
    /// A file with the certificate of this user.
    #[error(
        "client-certificate file paths are not allowed, use client-certificate-data for user {0}"
    )]
    ClientCertificate(String),
    /// A file with the key of this user.
    #[error("client-key file paths are not allowed, use client-key-data for user {0}")]
    ClientKey(String),
    /// The certificate of this cluster is not verified.
    #[error("insecure TLS verification is not allowed for cluster {0}")]
    InsecureTls(String),
    /// A file with the certificate authority of this cluster.
    #[error(
        "certificate-authority file paths are not allowed, use certificate-authority-data for cluster {0}"
    )]
    CertificateAuthority(String),
    /// This cluster has no server.
    #[error("server URL is required for cluster {0}")]
    NoServer(String),
    /// There is neither a current context nor one with an empty name.
    #[error("invalid configuration: no configuration has been provided")]
    NoConfiguration,
    /// The current context, with this name, does not exist.
    #[error("invalid configuration: context was not found for specified context: {0}")]
    ContextNotFound(String),
    /// The cluster of the current context does not exist or has no server.
    #[error("invalid configuration: no server found for cluster of the context")]
    NoServerOfContext,
    /// A file with a token, of the user of the current context.
    #[error("bearerTokenFile is not allowed")]
    BearerTokenFile,
    /// The host of the server is neither an IP address nor a DNS subdomain.
    #[error("untrusted server endpoint")]
    UntrustedServer,
    /// The user of the current context has a password.
    #[error("basic auth is not allowed")]
    BasicAuth,
    /// The user of the current context has an exec plugin.
    #[error("exec plugins are not allowed")]
    ExecPlugin,
    /// The user of the current context has an auth provider.
    #[error("auth providers are not allowed")]
    AuthProvider,
}

/// A file with the certificate or key of a client that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("open {path}: {source}")]
pub(super) struct ReadCertificateError {
    /// The file.
    path: String,
    /// Why.
    source: std::io::Error,
}

/// Checks a kubeconfig.
///
/// # Errors
/// The first part that is not allowed.
pub fn validate_kubeconfig(config: &Kubeconfig) -> Result<(), KubeconfigError> {
    let users = config
        .auth_infos
        .iter()
        .filter_map(|u| u.auth_info.as_ref());
    if users.clone().any(|user| is_set(&user.token_file)) {
        return Err(KubeconfigError::TokenFile);
    }
    for named in &config.auth_infos {
        let name = &named.name;
        let user = named.auth_info.as_ref();
        let is_file =
            |path: fn(&AuthInfo) -> &Option<String>| user.is_some_and(|u| is_set(path(u)));
        if is_file(|user| &user.client_certificate) {
            return Err(KubeconfigError::ClientCertificate(name.clone()));
        }
        if is_file(|user| &user.client_key) {
            return Err(KubeconfigError::ClientKey(name.clone()));
        }
    }
    for named in &config.clusters {
        let name = &named.name;
        let cluster = named.cluster.clone().unwrap_or_default();
        if cluster.insecure_skip_tls_verify == Some(true) {
            return Err(KubeconfigError::InsecureTls(name.clone()));
        }
        if is_set(&cluster.certificate_authority) {
            return Err(KubeconfigError::CertificateAuthority(name.clone()));
        }
        if !is_set(&cluster.server) {
            return Err(KubeconfigError::NoServer(name.clone()));
        }
    }
    let (server, user) = current(config)?;
    validate_rest_config(&server, &user)?;
    reject_exec_and_auth_providers(&user)
}

/// Replaces the files of client certificates by their content, for a kubeconfig that is itself a file of the
/// manager.
///
/// # Errors
/// A file cannot be read.
pub(super) fn include_client_certificates(
    config: &mut Kubeconfig,
) -> Result<(), ReadCertificateError> {
    let read = |path: String| {
        let content = kueue_lab_host::read(&path, CERTIFICATE_LIMIT);
        let content = content.map_err(|source| ReadCertificateError { path, source })?;
        Ok::<_, ReadCertificateError>(STANDARD.encode(content))
    };
    let users = config.auth_infos.iter_mut();
    for user in users.filter_map(|named| named.auth_info.as_mut()) {
        if let Some(path) = user
            .client_certificate
            .take()
            .filter(|path| !path.is_empty())
            && user.client_certificate_data.is_none()
        {
            user.client_certificate_data = Some(read(path)?);
        }
        if let Some(path) = user.client_key.take().filter(|path| !path.is_empty())
            && user.client_key_data.is_none()
        {
            user.client_key_data = Some(read(path)?.into());
        }
    }
    Ok(())
}

/// Removes the files and programs of the manager, which the client library would open and run; not the
/// plugins of `has_plugin`.
pub(super) fn remove_host_references(config: &mut Kubeconfig, has_plugin: bool) {
    let clusters = config.clusters.iter_mut();
    for cluster in clusters.filter_map(|named| named.cluster.as_mut()) {
        cluster.certificate_authority = None;
    }
    let users = config.auth_infos.iter_mut();
    for user in users.filter_map(|named| named.auth_info.as_mut()) {
        user.client_certificate = None;
        user.client_key = None;
        user.token_file = None;
        user.auth_provider = None;
        if !has_plugin {
            user.exec = None;
        }
    }
}

/// Checks the kubeconfig of a ClusterProfile, whose exec plugin is that of the configuration.
///
/// # Errors
/// The first part that is not allowed.
pub(super) fn validate_profile(config: &Kubeconfig) -> Result<(), KubeconfigError> {
    let (server, user) = current(config)?;
    validate_rest_config(&server, &user)
}

fn reject_exec_and_auth_providers(user: &AuthInfo) -> Result<(), KubeconfigError> {
    if user.exec.is_some() {
        Err(KubeconfigError::ExecPlugin)
    } else if user.auth_provider.is_some() {
        Err(KubeconfigError::AuthProvider)
    } else {
        Ok(())
    }
}

fn is_set(text: &Option<String>) -> bool {
    text.as_ref().is_some_and(|text| !text.is_empty())
}

/// The server and the user of the current context.
fn current(config: &Kubeconfig) -> Result<(String, AuthInfo), KubeconfigError> {
    let name = config.current_context.as_deref().unwrap_or_default();
    let context = config.contexts.iter().find(|c| c.name == name);
    let context = context.and_then(|c| c.context.as_ref());
    let context = context.ok_or_else(|| match name {
        "" => KubeconfigError::NoConfiguration,
        name => KubeconfigError::ContextNotFound(name.to_owned()),
    })?;
    let cluster = config.clusters.iter().find(|c| c.name == context.cluster);
    let server = cluster
        .and_then(|cluster| cluster.cluster.as_ref())
        .and_then(|cluster| cluster.server.clone());
    let server = server.ok_or(KubeconfigError::NoServerOfContext)?;
    let user = context.user.as_deref().unwrap_or_default();
    let user = config.auth_infos.iter().find(|u| u.name == user);
    let user = user.and_then(|user| user.auth_info.clone());
    Ok((server, user.unwrap_or_default()))
}

fn validate_rest_config(server: &str, user: &AuthInfo) -> Result<(), KubeconfigError> {
    if is_set(&user.token_file) {
        Err(KubeconfigError::BearerTokenFile)
    } else if !is_valid_host(&server.to_lowercase()) {
        Err(KubeconfigError::UntrustedServer)
    } else if is_set(&user.username) || user.password.is_some() {
        Err(KubeconfigError::BasicAuth)
    } else {
        Ok(())
    }
}

/// Whether the host of a URL is an IP address or a DNS subdomain.
fn is_valid_host(server: &str) -> bool {
    let Some((_, rest)) = server.split_once("://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let bracketed = authority.strip_prefix('[').and_then(|r| r.split_once(']'));
    let host = match bracketed {
        Some((address, _)) => address,
        None => authority
            .rsplit_once(':')
            .map_or(authority, |(host, _)| host),
    };
    host.parse::<std::net::IpAddr>().is_ok() || is_dns1123_subdomain(host)
}

fn is_dns1123_subdomain(host: &str) -> bool {
    let alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let label = |label: &str| {
        let bytes = label.as_bytes();
        let ends = [bytes.first(), bytes.last()];
        ends.into_iter()
            .all(|b| b.is_some_and(|b| alphanumeric(*b)))
            && bytes.iter().all(|b| alphanumeric(*b) || *b == b'-')
    };
    !host.is_empty() && host.len() <= 253 && host.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn rejection_message(cluster: Value, user: Value) -> Option<String> {
        let config = json!({
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "clusters": [{"name": "k", "cluster": cluster}],
            "users": [{"name": "u", "user": user}],
        });
        let config: Kubeconfig = serde_json::from_value(config).unwrap();
        validate_kubeconfig(&config)
            .err()
            .map(|error| error.to_string())
    }

    #[test]
    fn kubeconfigs_with_files_and_programs_of_the_manager_are_rejected() {
        let https = json!({"server": "https://127.0.0.1:6443"});
        let rejected = |cluster: Value, user: Value| rejection_message(cluster, user).unwrap();
        let token_file = json!({"tokenFile": "/token"});
        assert_eq!(
            rejected(https.clone(), token_file),
            "tokenFile is not allowed"
        );
        let insecure = json!({"server": "https://a", "insecure-skip-tls-verify": true});
        assert_eq!(
            rejected(insecure, json!({})),
            "insecure TLS verification is not allowed for cluster k"
        );
        let file = json!({"server": "https://a", "certificate-authority": "/ca"});
        assert_eq!(
            rejected(file, json!({})),
            "certificate-authority file paths are not allowed, use certificate-authority-data for cluster k"
        );
        for (field, message) in [
            (
                "client-certificate",
                "client-certificate file paths are not allowed, use client-certificate-data for user u",
            ),
            (
                "client-key",
                "client-key file paths are not allowed, use client-key-data for user u",
            ),
        ] {
            assert_eq!(
                rejected(https.clone(), json!({field: "/dev/zero"})),
                message
            );
        }
        assert_eq!(
            rejected(json!({}), json!({})),
            "server URL is required for cluster k"
        );
        let basic = json!({"username": "u", "password": "p"});
        assert_eq!(rejected(https.clone(), basic), "basic auth is not allowed");
        let exec = json!({"exec": {"command": "x", "apiVersion": "v1"}});
        assert_eq!(
            rejected(https.clone(), exec),
            "exec plugins are not allowed"
        );
        let host = json!({"server": "https://a_b:1"});
        assert_eq!(rejected(host, json!({})), "untrusted server endpoint");
        assert_eq!(rejection_message(https, json!({"token": "t"})), None);
        let name = json!({"server": "https://API.example.com/x"});
        assert_eq!(rejection_message(name, json!({})), None);
        assert_eq!(
            rejection_message(json!({"server": "https://[::1]:6443"}), json!({})),
            None
        );
    }

    #[test]
    fn no_file_or_program_reaches_the_client_library() {
        let user = json!({
            "client-certificate": "/a", "client-key": "/b", "tokenFile": "/c", "token": "t",
            "exec": {"command": "x", "apiVersion": "v1"}, "auth-provider": {"name": "n", "config": {}},
        });
        let config = json!({
            "clusters": [{"name": "k", "cluster": {"server": "https://a", "certificate-authority": "/d"}}],
            "users": [{"name": "u", "user": user}],
        });
        let config: Kubeconfig = serde_json::from_value(config).unwrap();
        let left = |has_plugin| {
            let mut config = config.clone();
            remove_host_references(&mut config, has_plugin);
            serde_json::to_value(&config).unwrap()
        };
        assert_eq!(left(false)["users"][0]["user"], json!({"token": "t"}));
        let cluster = json!({"server": "https://a"});
        assert_eq!(left(false)["clusters"][0]["cluster"], cluster);
        assert_eq!(left(true)["users"][0]["user"]["exec"]["command"], "x");
    }
}
