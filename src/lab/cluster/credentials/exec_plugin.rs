//! Credential plugins (`users[].user.exec` of a kubeconfig): programs that return a token or a
//! client certificate.
//!
//! They are run here rather than by the client library, which runs a plugin several times per
//! client and lets it write to the terminal at any time, over the UI.

use std::process::Stdio;
use std::time::Duration;

use jiff::Timestamp;
use kube::config::{Cluster, ExecAuthCluster, ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use serde_json::json;

/// Timeout of a plugin that may prompt.
const INTERACTIVE_TIMEOUT: Duration = Duration::from_secs(300);
/// Timeout of a plugin that may not.
const NON_INTERACTIVE_TIMEOUT: Duration = Duration::from_secs(60);
/// How many characters of a plugin's stderr are shown.
const COMPLAINT: usize = 300;

/// Whether a plugin may use the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interactivity {
    /// It may, where there is a terminal: the UI has not started yet.
    Interactive,
    /// It may not.
    NonInteractive,
}

/// The credentials a plugin returned.
#[derive(Default)]
pub(crate) struct PluginCredentials {
    /// A bearer token.
    pub(crate) token: Option<String>,
    /// A client certificate and its key (PEM).
    pub(crate) certificate: Option<(String, String)>,
    /// When they expire, if the plugin reports it.
    pub(crate) expires: Option<Timestamp>,
}

/// The error of a plugin that returned no credentials.
#[derive(Debug, thiserror::Error)]
pub enum ExecPluginError {
    /// The kubeconfig names no program.
    #[error("its kubeconfig names no command for the credential plugin")]
    NoCommand,
    /// The program cannot be started.
    #[error("its credential plugin {plugin:?} cannot be run: {reason}; {remedy}")]
    Start {
        /// The program, as the kubeconfig names it.
        plugin: String,
        /// The operating system's error.
        reason: String,
        /// The kubeconfig's `installHint`, or another remedy.
        remedy: String,
    },
    /// It failed.
    #[error(
        "its credential plugin {plugin:?} failed ({status}): {error_line}; sign in again and retry"
    )]
    Failed {
        /// The program, as the kubeconfig names it.
        plugin: String,
        /// Its exit status.
        status: String,
        /// Its last line on stderr.
        error_line: String,
    },
    /// It timed out.
    #[error(
        "its credential plugin {plugin:?} timed out after {seconds} s; run it in a shell to see its error"
    )]
    TimedOut {
        /// The program, as the kubeconfig names it.
        plugin: String,
        /// The timeout.
        seconds: u64,
    },
    /// It requires a terminal and there is none.
    #[error(
        "its credential plugin {plugin:?} requires an interactive login and has no terminal; sign in from a terminal first"
    )]
    NotInteractive {
        /// The program, as the kubeconfig names it.
        plugin: String,
    },
    /// Its output has no credentials.
    #[error(
        "its credential plugin {plugin:?} returned no usable ExecCredential: {reason}; is it up to date?"
    )]
    InvalidCredential {
        /// The program, as the kubeconfig names it.
        plugin: String,
        /// The parse error.
        reason: String,
    },
}

/// The output of a plugin. Never logged.
#[derive(Deserialize)]
struct ExecCredential {
    #[serde(rename = "apiVersion")]
    api_version: Option<String>,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    expiration_timestamp: Option<String>,
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

/// Runs the plugin of a context's user for its cluster.
///
/// # Errors
/// [`ExecPluginError`], worded to follow the name of the context.
pub(crate) async fn run_exec_plugin(
    exec: &ExecConfig,
    cluster: Option<&Cluster>,
    manner: Interactivity,
) -> Result<PluginCredentials, ExecPluginError> {
    let plugin = exec.command.clone().filter(|command| !command.is_empty());
    let plugin = plugin.ok_or(ExecPluginError::NoCommand)?;
    let mode = exec.interactive_mode.as_ref();
    let with_person = manner == Interactivity::Interactive
        && mode != Some(&ExecInteractiveMode::Never)
        && std::io::IsTerminal::is_terminal(&std::io::stdin());
    if !with_person && mode == Some(&ExecInteractiveMode::Always) {
        return Err(ExecPluginError::NotInteractive { plugin });
    }
    let info = match exec.provide_cluster_info {
        true => cluster.map(ExecAuthCluster::try_from).transpose(),
        false => Ok(None),
    };
    let info = info.map_err(|e| ExecPluginError::InvalidCredential {
        plugin: plugin.clone(),
        reason: e.to_string(),
    })?;
    let mut spec = json!({"interactive": with_person});
    if let Some(info) = info {
        spec["cluster"] = json!(info);
    }
    let info = json!({"kind": "ExecCredential", "apiVersion": exec.api_version, "spec": spec});
    let mut command = kueue_lab_host::program(&plugin);
    command
        .args(exec.args.iter().flatten())
        .envs(exec.env.iter().flatten().filter_map(|pair| {
            let (name, value) = (pair.get("name")?, pair.get("value")?);
            // The operating system accepts no other names and values.
            let fits = !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0');
            fits.then_some((name, value))
        }))
        .env("KUBERNETES_EXEC_INFO", info.to_string())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    match with_person {
        true => command.stdin(Stdio::inherit()).stderr(Stdio::inherit()),
        false => command.stdin(Stdio::null()).stderr(Stdio::piped()),
    };
    let started = command.spawn().map_err(|e| ExecPluginError::Start {
        reason: match e.kind() {
            std::io::ErrorKind::NotFound => "no such program".to_owned(),
            _ => e.to_string(),
        },
        remedy: remedy(exec),
        plugin: plugin.clone(),
    })?;
    let limit = if with_person {
        INTERACTIVE_TIMEOUT
    } else {
        NON_INTERACTIVE_TIMEOUT
    };
    let ended = tokio::time::timeout(limit, started.wait_with_output()).await;
    let ended = ended.map_err(|_| ExecPluginError::TimedOut {
        plugin: plugin.clone(),
        seconds: limit.as_secs(),
    })?;
    let output = ended.map_err(|e| ExecPluginError::Start {
        plugin: plugin.clone(),
        reason: e.to_string(),
        remedy: remedy(exec),
    })?;
    if !output.status.success() {
        return Err(ExecPluginError::Failed {
            plugin,
            status: output.status.to_string(),
            error_line: last_stderr_line(&output.stderr),
        });
    }
    read(exec, &output.stdout)
        .map_err(|reason| ExecPluginError::InvalidCredential { plugin, reason })
}

/// How to install a missing program, in one line.
fn remedy(exec: &ExecConfig) -> String {
    let hint = exec.install_hint.as_deref().unwrap_or_default();
    let hint = one_line(hint.lines());
    match hint.is_empty() {
        true => "install it, or put it on PATH".to_owned(),
        false => hint,
    }
}

/// The last line on stderr.
fn last_stderr_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    match one_line(last) {
        line if line.is_empty() => "no error message".to_owned(),
        line => line,
    }
}

/// Lines joined into one, shortened and without control characters.
fn one_line<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let lines = lines.into_iter().map(str::trim);
    let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
    let plain = lines.join(" ");
    let plain = plain.chars().filter(|c| !c.is_control()).take(COMPLAINT);
    plain.collect::<String>().trim_end_matches('.').to_owned()
}

/// Parses the output of a plugin: JSON, or YAML as some print it.
fn read(exec: &ExecConfig, printed: &[u8]) -> Result<PluginCredentials, String> {
    // Output that cannot be parsed may be a secret; it is never repeated.
    let credential: ExecCredential =
        serde_yaml::from_slice(printed).map_err(|_| "it is neither JSON nor YAML".to_owned())?;
    let wanted = exec.api_version.as_deref();
    if let (Some(wanted), Some(got)) = (wanted, credential.api_version.as_deref())
        && wanted != got
    {
        return Err(format!(
            "its apiVersion is {got:?}, the kubeconfig requires {wanted:?}"
        ));
    }
    let status = credential.status.ok_or("it has no status")?;
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let expires = given(status.expiration_timestamp);
    let expires = expires.map(|text| {
        let time = text.parse::<Timestamp>();
        time.map_err(|_| format!("expirationTimestamp {text:?} is not a time"))
    });
    let certificate = match (
        given(status.client_certificate_data),
        given(status.client_key_data),
    ) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => return Err("clientCertificateData and clientKeyData must be set together".to_owned()),
    };
    let granted = PluginCredentials {
        token: given(status.token),
        certificate,
        expires: expires.transpose()?,
    };
    match granted.token.is_some() || granted.certificate.is_some() {
        true => Ok(granted),
        false => Err("it has neither a token nor a certificate".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exec(command: &str, script: &str) -> ExecConfig {
        let exec = json!({
            "apiVersion": "client.authentication.k8s.io/v1", "command": command,
            "args": ["-c", script], "env": [{"name": "WHO", "value": "me"}],
            "interactiveMode": "IfAvailable", "provideClusterInfo": true,
        });
        serde_json::from_value(exec).unwrap()
    }

    fn cluster() -> Cluster {
        serde_json::from_value(json!({"server": "https://c:6443"})).unwrap()
    }

    async fn run(script: &str) -> Result<PluginCredentials, ExecPluginError> {
        run_exec_plugin(
            &exec("sh", script),
            Some(&cluster()),
            Interactivity::NonInteractive,
        )
        .await
    }

    async fn error_of(script: &str) -> String {
        run(script).await.err().unwrap().to_string()
    }

    #[tokio::test]
    async fn exec_info_is_passed_and_the_credential_is_parsed() {
        let script = r#"
            case "$KUBERNETES_EXEC_INFO" in
            *'"interactive":false'*) ;; *) exit 7 ;; esac
            case "$KUBERNETES_EXEC_INFO" in
            *'"server":"https://c:6443"'*) ;; *) exit 8 ;; esac
            printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"t-%s","expirationTimestamp":"2026-03-02T12:00:00Z"}}' "$WHO"
        "#;
        let granted = run(script).await.unwrap();
        assert_eq!(granted.token.as_deref(), Some("t-me"));
        assert_eq!(granted.expires, "2026-03-02T12:00:00Z".parse().ok());
        let yaml = "printf 'status:\\n  clientCertificateData: c\\n  clientKeyData: k\\n'";
        let granted = run(yaml).await.unwrap();
        assert_eq!(granted.certificate, Some(("c".into(), "k".into())));
    }

    #[tokio::test]
    async fn errors_are_one_line_with_the_plugin_name() {
        assert_eq!(
            error_of("echo one >&2; printf '\\033[31mNo session.\\n\\n' >&2; exit 3").await,
            "its credential plugin \"sh\" failed (exit status: 3): [31mNo session; sign in again and retry"
        );
        assert_eq!(
            error_of("exit 1").await,
            "its credential plugin \"sh\" failed (exit status: 1): no error message; sign in again and retry"
        );
        let unusable = |reason: &str| {
            format!(
                "its credential plugin \"sh\" returned no usable ExecCredential: {reason}; is it up to date?"
            )
        };
        for (script, reason) in [
            ("echo 'secret: ['", "it is neither JSON nor YAML"),
            ("echo '{}'", "it has no status"),
            (
                "echo '{\"status\":{\"token\":\"\"}}'",
                "it has neither a token nor a certificate",
            ),
            (
                "echo '{\"status\":{\"token\":\"t\",\"expirationTimestamp\":\"soon\"}}'",
                "expirationTimestamp \"soon\" is not a time",
            ),
            (
                "echo '{\"status\":{\"clientKeyData\":\"k\"}}'",
                "clientCertificateData and clientKeyData must be set together",
            ),
            (
                "echo '{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"status\":{\"token\":\"t\"}}'",
                "its apiVersion is \"client.authentication.k8s.io/v1beta1\", the kubeconfig requires \"client.authentication.k8s.io/v1\"",
            ),
        ] {
            assert_eq!(error_of(script).await, unusable(reason), "{script}");
        }
    }

    #[tokio::test]
    async fn a_missing_plugin_shows_its_install_hint() {
        let mut missing = exec("no-such-plugin", "");
        let ask = async |exec: &ExecConfig| {
            let asked = run_exec_plugin(exec, None, Interactivity::NonInteractive).await;
            asked.err().unwrap().to_string()
        };
        assert_eq!(
            ask(&missing).await,
            "its credential plugin \"no-such-plugin\" cannot be run: no such program; install it, or put it on PATH"
        );
        missing.install_hint = Some("Get it:\n\n  https://example.dev/get\n".into());
        assert_eq!(
            ask(&missing).await,
            "its credential plugin \"no-such-plugin\" cannot be run: no such program; Get it: https://example.dev/get"
        );
        missing.interactive_mode = Some(ExecInteractiveMode::Always);
        assert!(
            ask(&missing)
                .await
                .contains("requires an interactive login")
        );
    }
}
