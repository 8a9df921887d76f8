//! One context of a kubeconfig, with everything else removed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::kubeconfig_file::{read_default_kubeconfig, read_kubeconfig};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt;
use kube::config::{AuthInfo, Context, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedContext};
use kube::{Client, Config};
use kueue_lab_host::FILE_LIMIT;

use super::ClusterError;
use super::connectivity;
use super::credentials::{self, AuthenticatedClient, Interactivity, PluginCredentials};

/// A kubeconfig with exactly one context, which is the current one.
///
/// It cannot reach another cluster, even if its file changes later.
#[derive(Clone, Debug)]
pub struct KubeconfigContext {
    name: String,
    server: String,
    config: Kubeconfig,
    /// The file given on the command line, if any.
    file: Option<PathBuf>,
}

impl KubeconfigContext {
    /// Finds a context in `file`, or where `kubectl` looks: the files of `$KUBECONFIG`, then
    /// `~/.kube/config`.
    ///
    /// # Errors
    /// The file cannot be read, or has no such context; the message lists the existing ones.
    pub fn find(name: &str, file: Option<&Path>) -> Result<Self, ClusterError> {
        let (source, config) = read(file)?;
        let found = Self::minify(name, &source, config)?;
        Ok(Self {
            file: file.map(Path::to_owned),
            ..found
        })
    }

    /// Finds a context, by default the current one, in a kubeconfig that was read from `file` or
    /// from where `kubectl` looks. Messages call it `source`.
    ///
    /// # Errors
    /// There is no such context, or it is incomplete.
    pub fn from_kubeconfig(
        config: Kubeconfig,
        name: Option<&str>,
        source: &str,
        file: Option<&Path>,
    ) -> Result<Self, ClusterError> {
        let name = name.map(str::to_owned).or(config.current_context.clone());
        let name = name.ok_or_else(|| ClusterError::Source {
            file: source.to_owned(),
            reason: "it has no current context; choose one with --context".to_owned(),
        })?;
        let found = Self::minify(&name, source, config)?;
        Ok(Self {
            file: file.map(Path::to_owned),
            ..found
        })
    }

    /// Finds a context, by default the current one, as [`find`](Self::find).
    ///
    /// # Errors
    /// As [`find`](Self::find), or the file has no current context.
    pub fn load(name: Option<&str>, file: Option<&Path>) -> Result<Self, ClusterError> {
        let (source, config) = read(file)?;
        Self::from_kubeconfig(config, name, &source, file)
    }

    /// The same context with the current credentials of its file.
    fn reload(&self) -> Result<Self, ClusterError> {
        let found = Self::find(&self.name, self.file.as_deref())?;
        match found.server == self.server {
            true => Ok(found),
            false => Err(ClusterError::OtherServer {
                context: self.name.clone(),
                server: found.server,
            }),
        }
    }

    /// Reduces a kubeconfig to one context, as `kubectl config view --minify`.
    fn minify(name: &str, source: &str, config: Kubeconfig) -> Result<Self, ClusterError> {
        let missing = |what: String| ClusterError::Source {
            file: source.to_owned(),
            reason: what,
        };
        let Some(context) = config.contexts.iter().find(|c| c.name == name) else {
            return Err(ClusterError::NoContext {
                context: name.to_owned(),
                file: source.to_owned(),
                known: context_names(&config.contexts),
            });
        };
        let points = context.context.clone().unwrap_or_default();
        let clusters = config.clusters.iter();
        let mut clusters = clusters.filter(|c| c.name == points.cluster);
        let cluster = clusters.next().cloned().ok_or_else(|| {
            missing(format!(
                "context {name:?} refers to the cluster {:?}, which does not exist",
                points.cluster
            ))
        })?;
        let users = config.auth_infos.iter();
        let users: Vec<_> = users
            .filter(|u| points.user.as_deref() == Some(u.name.as_str()))
            .take(1)
            .cloned()
            .collect();
        if let (Some(user), true) = (&points.user, users.is_empty()) {
            let what =
                format!("context {name:?} refers to the user {user:?}, which does not exist");
            return Err(missing(what));
        }
        let server = cluster.cluster.as_ref().and_then(|c| c.server.clone());
        let server = server.ok_or_else(|| {
            missing(format!(
                "the cluster {:?} has no server address",
                cluster.name
            ))
        })?;
        Ok(Self {
            name: name.to_owned(),
            server,
            file: None,
            config: Kubeconfig {
                clusters: vec![cluster],
                auth_infos: users,
                contexts: vec![context.clone()],
                current_context: Some(name.to_owned()),
                kind: Some("Config".into()),
                api_version: Some("v1".into()),
                ..Kubeconfig::default()
            },
        })
    }

    /// The namespace of the context; `default` if it has none.
    pub fn namespace(&self) -> &str {
        let context = self.config.contexts.first();
        let context = context.and_then(|named| named.context.as_ref());
        let namespace = context.and_then(|context| context.namespace.as_deref());
        namespace.unwrap_or("default")
    }

    /// The name of the context.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address of its API server.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// A client of the context's cluster that refreshes its credentials. Runs the credential
    /// plugin, but sends no request to the cluster.
    ///
    /// # Errors
    /// Certificates or keys cannot be read, or the plugin returns no credentials.
    pub async fn client(&self) -> Result<Client, ClusterError> {
        let first = self.access(Interactivity::Interactive).await?;
        let context = self.clone();
        let again = move || {
            let context = context.clone();
            let read = async move {
                let context = context.reload()?;
                context.access(Interactivity::NonInteractive).await
            };
            read.boxed()
        };
        let whose = format!("the API server of {} ({})", self.name, self.server);
        Ok(connectivity::with_connectivity_log(
            whose,
            credentials::refreshing_client(first, again),
        ))
    }

    /// A client with the current credentials.
    async fn access(&self, manner: Interactivity) -> Result<AuthenticatedClient, ClusterError> {
        let mut config = self.config.clone();
        let user = config.auth_infos.first_mut();
        let mut expires = None;
        if let Some(user) = user.and_then(|user| user.auth_info.as_mut())
            && let Some(exec) = user.exec.clone().filter(|_| !has_static_credentials(user))
        {
            let cluster = config.clusters.first().and_then(|c| c.cluster.as_ref());
            let granted = credentials::run_exec_plugin(&exec, cluster, manner).await;
            let granted = granted.map_err(|error| ClusterError::Plugin {
                context: self.name.clone(),
                error,
            })?;
            expires = granted.expires;
            *user = with(granted, user);
        }
        self.include_files(&mut config)?;
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(config, &options).await;
        let mut config = config.map_err(|e| self.unusable(&e))?;
        config.connect_timeout = Some(super::remote::CONNECT_TIMEOUT);
        let client = kueue_lab_host::client(config).map_err(|e| self.unusable(&e))?;
        Ok(AuthenticatedClient { client, expires })
    }

    /// A kubeconfig for the same cluster with another user: context `user`, with a token and the
    /// default namespace `namespace`.
    ///
    /// # Errors
    /// A value that YAML cannot represent.
    pub fn with_token(
        &self,
        user: &str,
        token: String,
        namespace: &str,
    ) -> Result<String, ClusterError> {
        let cluster = self.config.clusters.first();
        let context = Context {
            cluster: cluster.map(|c| c.name.clone()).unwrap_or_default(),
            user: Some(user.to_owned()),
            namespace: Some(namespace.to_owned()),
            ..Context::default()
        };
        let other = Self {
            config: Kubeconfig {
                auth_infos: vec![NamedAuthInfo {
                    name: user.to_owned(),
                    auth_info: Some(AuthInfo {
                        token: Some(token.into()),
                        ..AuthInfo::default()
                    }),
                    other: BTreeMap::new(),
                }],
                contexts: vec![NamedContext {
                    name: user.to_owned(),
                    context: Some(context),
                    other: BTreeMap::new(),
                }],
                current_context: Some(user.to_owned()),
                ..self.config.clone()
            },
            ..self.clone()
        };
        other.to_yaml().map_err(|e| ClusterError::Source {
            file: format!("context {user}"),
            reason: e.to_string(),
        })
    }

    /// The kubeconfig as text with the contents of the files it refers to, as `kubectl config view --flatten`.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn flattened(&self) -> Result<String, ClusterError> {
        let mut flat = self.clone();
        self.include_files(&mut flat.config)?;
        let users = flat.config.auth_infos.iter_mut();
        for user in users.filter_map(|named| named.auth_info.as_mut()) {
            if let Some(bytes) = self.read_file(user.token_file.take())? {
                let token = String::from_utf8_lossy(&bytes).trim().to_owned();
                user.token = Some(token.into());
            }
        }
        flat.to_yaml().map_err(|e| self.unusable(&e))
    }

    /// Replaces the files of certificates and keys by their content, and checks that a token file can be read,
    /// which the client library opens again and again.
    fn include_files(&self, config: &mut Kubeconfig) -> Result<(), ClusterError> {
        let clusters = config.clusters.iter_mut();
        for cluster in clusters.filter_map(|named| named.cluster.as_mut()) {
            let authority = cluster.certificate_authority.take();
            if let Some(bytes) = self.read_file(authority)? {
                cluster.certificate_authority_data = Some(STANDARD.encode(bytes));
            }
        }
        let users = config.auth_infos.iter_mut();
        for user in users.filter_map(|named| named.auth_info.as_mut()) {
            self.read_file(user.token_file.clone())?;
            if let Some(bytes) = self.read_file(user.client_certificate.take())? {
                user.client_certificate_data = Some(STANDARD.encode(bytes));
            }
            if let Some(bytes) = self.read_file(user.client_key.take())? {
                user.client_key_data = Some(STANDARD.encode(bytes).into());
            }
        }
        Ok(())
    }

    fn read_file(&self, path: Option<String>) -> Result<Option<Vec<u8>>, ClusterError> {
        let Some(path) = path.filter(|path| !path.is_empty()) else {
            return Ok(None);
        };
        let bytes =
            kueue_lab_host::read(&path, FILE_LIMIT).map_err(|error| ClusterError::Source {
                file: path,
                reason: error.to_string(),
            })?;
        Ok(Some(bytes))
    }

    fn unusable(&self, error: &(dyn std::error::Error + 'static)) -> ClusterError {
        ClusterError::Source {
            file: format!("context {}", self.name),
            reason: error_chain(error),
        }
    }

    /// The kubeconfig as text.
    ///
    /// # Errors
    /// A value that YAML cannot represent.
    pub(super) fn to_yaml(&self) -> Result<String, serde_yaml::Error> {
        serde_yaml::to_string(&self.config)
    }
}

/// Whether a user has credentials that take precedence over a plugin.
fn has_static_credentials(user: &AuthInfo) -> bool {
    let password = user.username.is_some() && user.password.is_some();
    user.token.is_some() || user.token_file.is_some() || password
}

/// The user with the plugin's credentials in place of the plugin.
fn with(granted: PluginCredentials, user: &AuthInfo) -> AuthInfo {
    let mut user = AuthInfo {
        token: granted.token.map(Into::into),
        exec: None,
        ..user.clone()
    };
    if let Some((certificate, key)) = granted.certificate {
        user.client_certificate = None;
        user.client_certificate_data = Some(STANDARD.encode(certificate));
        user.client_key = None;
        user.client_key_data = Some(STANDARD.encode(key).into());
    }
    user
}

/// The kubeconfig and its display name.
fn read(file: Option<&Path>) -> Result<(String, Kubeconfig), ClusterError> {
    let named = std::env::var_os("KUBECONFIG").is_some_and(|v| !v.is_empty());
    let (source, config) = match (file, named) {
        (Some(file), _) => (file.display().to_string(), read_kubeconfig(file)),
        (None, true) => ("$KUBECONFIG".to_owned(), read_default_kubeconfig()),
        (None, false) => (
            default_kubeconfig().display().to_string(),
            read_default_kubeconfig(),
        ),
    };
    match config {
        Ok(config) => Ok((source, config)),
        Err(e) => Err(ClusterError::Source {
            reason: error_chain(&e),
            file: source,
        }),
    }
}

fn default_kubeconfig() -> PathBuf {
    PathBuf::from("~/.kube/config")
}

/// The names of contexts, as a list for error messages.
pub fn context_names<'a>(contexts: impl IntoIterator<Item = &'a NamedContext>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for context in contexts {
        if !names.contains(&context.name.as_str()) {
            names.push(&context.name);
        }
    }
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

/// The message for a failed request to a cluster, with the causes of an error of the connection.
pub fn request_error_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if status.code == 401 || status.code == 403 => {
            format!("the cluster denied the request: {}", status.message)
        }
        kube::Error::Api(status) => status.message.clone(),
        other => format!("the cluster cannot be reached: {}", error_chain(other)),
    }
}

/// An error with its causes, each once. A `Status` of the API server is its message.
pub fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let status = api_status(error);
        let more = status.map_or_else(|| error.to_string(), |status| status.message.clone());
        if text.is_empty() {
            text = more;
        } else if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        next = error.source().filter(|_| status.is_none());
    }
    text
}

/// The `Status` of a request that the API server rejected.
fn api_status<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e kube::core::Status> {
    let boxed = error
        .downcast_ref::<Box<kube::Error>>()
        .map(|boxed| &**boxed);
    match boxed.or_else(|| error.downcast_ref())? {
        kube::Error::Api(status) => Some(status),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "
apiVersion: v1
kind: Config
current-context: prod
clusters:
- {name: a, cluster: {server: 'https://a:6443'}}
- {name: b, cluster: {server: 'https://b:6443'}}
users:
- {name: me, user: {token: secret-of-me}}
- {name: other, user: {token: secret-of-other}}
contexts:
- {name: prod, context: {cluster: a, user: other}}
- {name: test, context: {cluster: b, user: me, namespace: team}}
- {name: torn, context: {cluster: gone, user: me}}
";

    fn find(name: &str) -> Result<KubeconfigContext, ClusterError> {
        KubeconfigContext::minify(name, "kc", Kubeconfig::from_yaml(FILE).unwrap())
    }

    #[test]
    fn other_contexts_are_removed() {
        let found = find("test").unwrap();
        assert_eq!(found.server(), "https://b:6443");
        let text = found.to_yaml().unwrap();
        assert!(text.contains("secret-of-me") && text.contains("namespace: team"));
        assert!(text.contains("current-context: test"));
        assert!(!text.contains("secret-of-other") && !text.contains("https://a"));
    }

    #[test]
    fn files_are_read_into_the_flattened_kubeconfig() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        std::fs::write(file("ca.crt"), "CA").unwrap();
        std::fs::write(file("token"), "secret\n").unwrap();
        let text = "{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],
          clusters: [{name: k, cluster: {server: 'https://a', certificate-authority: ca.crt}}],
          users: [{name: u, user: {tokenFile: token}}]}";
        std::fs::write(file("config"), text).unwrap();
        let context = KubeconfigContext::load(None, Some(&file("config"))).unwrap();
        let flat = context.flattened().unwrap();
        assert!(flat.contains("certificate-authority-data: Q0E="), "{flat}");
        assert!(
            flat.contains("token: secret") && !flat.contains("ca.crt"),
            "{flat}"
        );
        std::fs::remove_file(file("ca.crt")).unwrap();
        let error = context.flattened().unwrap_err().to_string();
        assert!(error.contains("ca.crt: No such file"), "{error}");
    }

    #[test]
    fn errors_name_the_missing_entry() {
        assert_eq!(
            find("tset").unwrap_err().to_string(),
            "there is no context \"tset\" in kc; there are: prod, test, torn"
        );
        assert_eq!(
            find("torn").unwrap_err().to_string(),
            "cannot use the kubeconfig kc: context \"torn\" refers to the cluster \"gone\", which does not exist"
        );
        let file = std::path::Path::new("/nowhere/kc");
        let error = KubeconfigContext::find("a", Some(file))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("cannot use the kubeconfig /nowhere/kc: "),
            "{error}"
        );
    }
}
