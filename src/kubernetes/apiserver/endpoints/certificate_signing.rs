//! Signs approved CertificateSigningRequests, as kube-controller-manager's `signer.go`.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::stored_update::update_stored;
use crate::auth::certificates::{CertificateRequest, SignedRequest};
use crate::server_state::ServerState;
use kueue_lab_apimachinery::object_meta;
use kueue_lab_json::ValueExt;

/// The longest validity, and the validity without `expirationSeconds`: a year.
const MAX_DURATION: Duration = Duration::from_secs(365 * 24 * 3600);

/// The shortest validity.
const MIN_DURATION: Duration = Duration::from_secs(10 * 60);

/// The reason for which a signer does not sign a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SignerError {
    /// A usage that clients do not have.
    #[error("invalid usage for client certificate: {0}")]
    InvalidUsage(String),
    /// The request is not for a client.
    #[error("missing required usage for client certificate: client auth")]
    NoClientAuth,
    /// Alternative names of this kind.
    #[error("{0} subjectAltNames are not allowed")]
    AlternativeName(&'static str),
    /// No alternative name.
    #[error("DNS or IP subjectAltName is required")]
    NoAlternativeName,
    /// The organization is not that of nodes.
    #[error("subject organization is not system:nodes")]
    Organization,
    /// The name is not that of a node.
    #[error("subject common name does not begin with system:node:")]
    CommonName,
    /// Other usages than these.
    #[error("usages did not match [{0}]")]
    Usages(String),
}

/// A signer: its name, and the reason for which it does not sign a request with these usages.
type Signer = (
    &'static str,
    fn(&CertificateRequest, &[&str]) -> Result<(), SignerError>,
);

const SIGNERS: [Signer; 4] = [
    (
        "kubernetes.io/kube-apiserver-client",
        validate_api_server_client,
    ),
    (
        "kubernetes.io/kube-apiserver-client-kubelet",
        validate_kubelet_client,
    ),
    ("kubernetes.io/kubelet-serving", validate_kubelet_serving),
    ("kubernetes.io/legacy-unknown", |_, _| Ok(())),
];

/// Signs a request that was written, if it is approved and has no certificate.
pub(super) fn sign(core: &ServerState, name: &str) {
    let resource = ("certificates.k8s.io", "v1", "certificatesigningrequests");
    update_stored(core, resource, name, |request| signed(core, request));
}

/// The request with its certificate, or with the condition that it cannot be signed; `None` if it
/// is not to be signed.
fn signed(core: &ServerState, object: &Value) -> Option<Value> {
    let has = |name: &str| object.condition(name).is_some();
    let open = object.text("/status/certificate").is_empty() && !has("Denied") && !has("Failed");
    if !open || !has("Approved") || object_meta::is_terminating(object) {
        return None;
    }
    let signer = object.text("/spec/signerName");
    let signer = SIGNERS.iter().find(|(name, ..)| *name == signer)?;
    let mut signed = object.clone();
    match certificate(core, object, signer) {
        Ok(pem) => signed["status"]["certificate"] = STANDARD.encode(pem).into(),
        Err(message) => {
            let now = object_meta::metav1_time(core.clock.now());
            let mut conditions = object.list("/status/conditions").to_vec();
            conditions.push(json!({
                "type": "Failed",
                "status": "True",
                "reason": "SignerValidationFailure",
                "message": message,
                "lastUpdateTime": now,
                "lastTransitionTime": now,
            }));
            signed["status"]["conditions"] = conditions.into();
        }
    }
    Some(signed)
}

/// The certificate in PEM.
fn certificate(
    core: &ServerState,
    object: &Value,
    (_, validate): &Signer,
) -> Result<String, String> {
    let usages = usages(object);
    let unreadable = |why: &str| format!("unable to parse csr {:?}: {why}", object.name());
    let text = object.text("/spec/request");
    let request = CertificateRequest::parse(text).map_err(unreadable)?;
    validate(&request, &usages).map_err(|error| error.to_string())?;
    let request = STANDARD
        .decode(text)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| unreadable("PEM block type must be CERTIFICATE REQUEST"))?;
    let duration = match u64::try_from(object.int("/spec/expirationSeconds")) {
        Ok(0) | Err(_) => MAX_DURATION,
        Ok(seconds) => Duration::from_secs(seconds).clamp(MIN_DURATION, MAX_DURATION),
    };
    let authority = core.certificates.authority().map_err(|e| e.to_string())?;
    let signed = authority.sign_request(&SignedRequest {
        request: &request,
        usages: &usages,
        now: core.clock.now(),
        duration,
    });
    signed.map_err(|e| unreadable(&e.to_string()))
}

/// The usages of a request.
pub(super) fn usages(object: &Value) -> Vec<&str> {
    let usages = object.list("/spec/usages").iter();
    usages.filter_map(Value::as_str).collect()
}

/// A client may be in every group that admission allows.
fn validate_api_server_client(_: &CertificateRequest, usages: &[&str]) -> Result<(), SignerError> {
    let optional = ["digital signature", "key encipherment"];
    let invalid = |u: &&&str| **u != "client auth" && !optional.contains(*u);
    if let Some(usage) = usages.iter().find(invalid) {
        return Err(SignerError::InvalidUsage((*usage).to_owned()));
    }
    if !usages.contains(&"client auth") {
        return Err(SignerError::NoClientAuth);
    }
    Ok(())
}

/// The client certificate of a kubelet: the user is a node.
pub(super) fn validate_kubelet_client(
    request: &CertificateRequest,
    usages: &[&str],
) -> Result<(), SignerError> {
    validate_node_organization(request)?;
    let names = [
        (request.has_dns_name, "DNS"),
        (request.has_email_address, "Email"),
        (request.has_ip_address, "IP"),
        (request.has_uri, "URI"),
    ];
    if let Some((_, kind)) = names.iter().find(|(is_requested, _)| *is_requested) {
        return Err(SignerError::AlternativeName(kind));
    }
    validate_node_name(request)?;
    validate_usages(usages, "client auth")
}

/// The serving certificate of a kubelet: for the names of a node.
fn validate_kubelet_serving(
    request: &CertificateRequest,
    usages: &[&str],
) -> Result<(), SignerError> {
    validate_node_organization(request)?;
    if !request.has_dns_name && !request.has_ip_address {
        return Err(SignerError::NoAlternativeName);
    }
    let names = [
        (request.has_email_address, "Email"),
        (request.has_uri, "URI"),
    ];
    if let Some((_, kind)) = names.iter().find(|(is_requested, _)| *is_requested) {
        return Err(SignerError::AlternativeName(kind));
    }
    validate_usages(usages, "server auth")?;
    validate_node_name(request)
}

fn validate_node_organization(request: &CertificateRequest) -> Result<(), SignerError> {
    match request.organizations.as_slice() {
        [only] if only == "system:nodes" => Ok(()),
        _ => Err(SignerError::Organization),
    }
}

fn validate_node_name(request: &CertificateRequest) -> Result<(), SignerError> {
    if request.common_name.starts_with("system:node:") {
        return Ok(());
    }
    Err(SignerError::CommonName)
}

/// A kubelet's usages: a signature, `purpose`, and for RSA keys encipherment.
fn validate_usages(usages: &[&str], purpose: &str) -> Result<(), SignerError> {
    let mut required = [purpose, "digital signature", "key encipherment"];
    let is_required = |usage: &&str| required.contains(usage);
    let has = |usage: &str| usages.contains(&usage);
    if usages.iter().all(is_required) && has(purpose) && has("digital signature") {
        return Ok(());
    }
    required.sort_unstable();
    Err(SignerError::Usages(required.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node_request() -> CertificateRequest {
        CertificateRequest {
            common_name: "system:node:a".into(),
            organizations: vec!["system:nodes".into()],
            ..CertificateRequest::default()
        }
    }

    #[test]
    fn a_client_needs_the_usage_client_auth_and_no_other_purpose() {
        let validate = |usages: &[&str]| validate_api_server_client(&node_request(), usages);
        assert_eq!(validate(&["client auth", "digital signature"]), Ok(()));
        assert_eq!(
            validate(&["client auth", "server auth"])
                .unwrap_err()
                .to_string(),
            "invalid usage for client certificate: server auth"
        );
        assert_eq!(
            validate(&["digital signature"]).unwrap_err().to_string(),
            "missing required usage for client certificate: client auth"
        );
    }

    #[test]
    fn a_kubelet_is_a_node_in_the_group_of_nodes_only() {
        let usages = ["digital signature", "client auth"];
        let validate = |request: &CertificateRequest| validate_kubelet_client(request, &usages);
        assert_eq!(validate(&node_request()), Ok(()));
        let mut masters = node_request();
        masters.organizations.push("system:masters".into());
        let wrong = "subject organization is not system:nodes";
        assert_eq!(validate(&masters).unwrap_err().to_string(), wrong);
        let user = CertificateRequest {
            common_name: "ann".into(),
            ..node_request()
        };
        let wrong = "subject common name does not begin with system:node:";
        assert_eq!(validate(&user).unwrap_err().to_string(), wrong);
        let named = CertificateRequest {
            has_ip_address: true,
            ..node_request()
        };
        let wrong = "IP subjectAltNames are not allowed";
        assert_eq!(validate(&named).unwrap_err().to_string(), wrong);
        assert_eq!(
            validate_kubelet_client(&node_request(), &["client auth"])
                .unwrap_err()
                .to_string(),
            "usages did not match [client auth digital signature key encipherment]"
        );

        let usages = ["digital signature", "key encipherment", "server auth"];
        assert_eq!(validate_kubelet_serving(&named, &usages), Ok(()));
        let wrong = "DNS or IP subjectAltName is required";
        let unnamed = validate_kubelet_serving(&node_request(), &usages);
        assert_eq!(unnamed.unwrap_err().to_string(), wrong);
    }
}
