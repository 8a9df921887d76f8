//! Service accounts as users, as `pkg/serviceaccount`.

use jiff::Timestamp;
use serde_json::Value;

use super::user::User;
use crate::registry::object_reader::ObjectReader;

/// A token is valid for so long after its bound object starts to terminate, in seconds.
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
        // The node of a pod's token is information only.
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
