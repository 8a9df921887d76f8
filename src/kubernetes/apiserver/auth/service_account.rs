//! Service accounts as users, as `pkg/serviceaccount`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::service_account_token::LEGACY_ISSUER;
use super::user::User;
use crate::registry::object_reader::ObjectReader;

/// The time for which a token stays valid after its bound object starts to terminate, in seconds.
const DELETION_GRACE_PERIOD: i64 = 60;

/// The kinds of bound objects and their resources.
const BOUND_KINDS: [(&str, &str); 3] = [("pod", "pods"), ("secret", "secrets"), ("node", "nodes")];

/// The user of the claims of a token. `None` if the service account or the object that the token is
/// bound to was deleted or recreated.
pub(crate) fn user_of_claims(reader: &dyn ObjectReader, claims: &Value, now: i64) -> Option<User> {
    let private = &claims["kubernetes.io"];
    let namespace = private["namespace"].as_str()?;
    let account = &private["serviceaccount"];
    let name = account["name"].as_str()?;
    if !exists(reader, "serviceaccounts", namespace, account, now) {
        return None;
    }
    let mut user = User {
        name: format!("system:serviceaccount:{namespace}:{name}"),
        uid: text(account, "uid"),
        ..User::default()
    };
    user.add_implied_groups();
    let mut add = |key: &str, value: String| {
        let key = format!("authentication.kubernetes.io/{key}");
        user.extra.insert(key, vec![value]);
    };
    if let Some(id) = claims["jti"].as_str() {
        add("credential-id", format!("JTI={id}"));
    }
    let bound_to_pod = private["pod"].is_object();
    for (kind, resource) in BOUND_KINDS {
        let bound = &private[kind];
        if !bound.is_object() {
            continue;
        }
        let namespace = if kind == "node" { "" } else { namespace };
        // The node of a pod's token is informational.
        let is_bound = kind != "node" || !bound_to_pod;
        if is_bound && !exists(reader, resource, namespace, bound, now) {
            return None;
        }
        if kind != "secret" {
            add(&format!("{kind}-name"), text(bound, "name"));
            add(&format!("{kind}-uid"), text(bound, "uid"));
        }
    }
    Some(user)
}

/// The prefix of the claims of tokens in Secrets.
const LEGACY_CLAIM: &str = "kubernetes.io/serviceaccount";

/// The claims of the token in a Secret.
pub(crate) fn legacy_claims(namespace: &str, name: &str, uid: &str, secret: &str) -> Value {
    json!({
        "iss": LEGACY_ISSUER,
        "sub": format!("system:serviceaccount:{namespace}:{name}"),
        (format!("{LEGACY_CLAIM}/namespace")): namespace,
        (format!("{LEGACY_CLAIM}/secret.name")): secret,
        (format!("{LEGACY_CLAIM}/service-account.name")): name,
        (format!("{LEGACY_CLAIM}/service-account.uid")): uid,
    })
}

/// The user of the claims of a token in a Secret. `None` if the Secret does not hold the token, or
/// the service account was deleted or recreated.
pub(crate) fn user_of_legacy_claims(
    reader: &dyn ObjectReader,
    claims: &Value,
    token: &str,
    now: i64,
) -> Option<User> {
    let claim = |name: &str| claims[format!("{LEGACY_CLAIM}/{name}")].as_str();
    let (namespace, name) = (claim("namespace")?, claim("service-account.name")?);
    let uid = claim("service-account.uid")?;
    let secret = reader.get("", "secrets", namespace, claim("secret.name")?)?;
    let held = STANDARD.decode(secret["data"]["token"].as_str()?).ok()?;
    let account = json!({"name": name, "uid": uid});
    let valid = secret["metadata"]["deletionTimestamp"].is_null()
        && held == token.as_bytes()
        && exists(reader, "serviceaccounts", namespace, &account, now);
    if !valid {
        return None;
    }
    let mut user = User {
        name: format!("system:serviceaccount:{namespace}:{name}"),
        uid: uid.to_owned(),
        ..User::default()
    };
    user.add_implied_groups();
    Some(user)
}

/// Whether the object of a claim is stored with its UID and not long terminating.
fn exists(
    reader: &dyn ObjectReader,
    resource: &str,
    namespace: &str,
    claim: &Value,
    now: i64,
) -> bool {
    let name = claim["name"].as_str().unwrap_or_default();
    let Some(object) = reader.get("", resource, namespace, name) else {
        return false;
    };
    let metadata = &object["metadata"];
    let deletion = metadata["deletionTimestamp"].as_str();
    let deletion = deletion.and_then(|time| time.parse::<Timestamp>().ok());
    metadata["uid"] == claim["uid"]
        && deletion.is_none_or(|time| now < time.as_second().saturating_add(DELETION_GRACE_PERIOD))
}

fn text(object: &Value, field: &str) -> String {
    object[field].as_str().unwrap_or_default().to_owned()
}
