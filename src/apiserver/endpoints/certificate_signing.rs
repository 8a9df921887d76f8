//! Signs approved CertificateSigningRequests, as kube-controller-manager's `signer.go`.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::stored_update::update_stored;
use crate::auth::certificates::SignedRequest;
use crate::server_state::ServerState;
use kueue_lab_apimachinery::object_meta;
use kueue_lab_json::ValueExt;

/// The longest validity, and the validity without `expirationSeconds`: a year.
const MAX_DURATION: Duration = Duration::from_secs(365 * 24 * 3600);

/// A signer: its name, the usages that it permits and those that it requires.
type Signer = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const SIGNERS: [Signer; 4] = [
    (
        "kubernetes.io/kube-apiserver-client",
        &["digital signature", "key encipherment", "client auth"],
        &["client auth"],
    ),
    (
        "kubernetes.io/kube-apiserver-client-kubelet",
        &["digital signature", "key encipherment", "client auth"],
        &["digital signature", "client auth"],
    ),
    (
        "kubernetes.io/kubelet-serving",
        &["digital signature", "key encipherment", "server auth"],
        &["digital signature", "server auth"],
    ),
    ("kubernetes.io/legacy-unknown", &[], &[]),
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
    &(_, permitted, required): &Signer,
) -> Result<String, String> {
    let usages: Vec<&str> = object
        .list("/spec/usages")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let is_permitted = permitted.is_empty() || usages.iter().all(|u| permitted.contains(u));
    if !is_permitted || !required.iter().all(|u| usages.contains(u)) {
        return Err(format!("invalid usages for the signer: {usages:?}"));
    }
    let request = STANDARD
        .decode(object.text("/spec/request"))
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or("spec.request is not a PEM block in base64")?;
    let duration = match u64::try_from(object.int("/spec/expirationSeconds")) {
        Ok(0) | Err(_) => MAX_DURATION,
        Ok(seconds) => Duration::from_secs(seconds).min(MAX_DURATION),
    };
    let authority = core.certificates.authority().map_err(|e| e.to_string())?;
    let signed = authority.sign_request(&SignedRequest {
        request: &request,
        usages: &usages,
        now: core.clock.now(),
        duration,
    });
    signed.map_err(|e| format!("unable to parse csr {:?}: {e}", object.name()))
}
