//! CertificateSigningRequests: sets the requester fields in `spec`; values of the client are
//! replaced.

use serde_json::{Value, json};

use super::PluginContext;
use kueue_lab_json::{ValueExt, ValueMutExt};

const FIELDS: [&str; 4] = ["username", "uid", "groups", "extra"];

/// Sets username, uid, groups and extra on create and preserves them on update.
pub(crate) fn set_requester(write: &PluginContext<'_>, request: &mut Value) {
    if !request.is_object() {
        return;
    }
    if let Some(old) = write.request.old_object {
        let spec = request.object_mut("spec");
        for field in FIELDS {
            spec.set_or_remove(field, old.at("/spec").get(field).cloned());
        }
        return;
    }
    let user = write.user;
    let given = |is_there: bool, value: Value| is_there.then_some(value);
    let spec = request.object_mut("spec");
    spec.set_or_remove("username", given(!user.name.is_empty(), json!(user.name)));
    spec.set_or_remove("uid", given(!user.uid.is_empty(), json!(user.uid)));
    spec.set_or_remove("groups", given(!user.groups.is_empty(), json!(user.groups)));
    spec.set_or_remove("extra", given(!user.extra.is_empty(), json!(user.extra)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::plugins::fake::{Objects, request, with};
    use crate::plugins::Operation;

    #[test]
    fn the_requester_is_the_user() {
        let mut csr = json!({"spec": {"username": "root", "extra": {"a": ["b"]}, "usages": ["x"]}});
        let create = request(
            "certificates.k8s.io",
            "certificatesigningrequests",
            Operation::Create,
        );
        with(&Objects::default(), &create, |w| set_requester(w, &mut csr));
        let spec = json!({"username": "me", "groups": ["we"], "usages": ["x"]});
        assert_eq!(csr["spec"], spec);
        let old = json!({"spec": {"username": "first"}});
        let update = crate::plugins::AdmissionRequest {
            old_object: Some(&old),
            ..request(
                "certificates.k8s.io",
                "certificatesigningrequests",
                Operation::Update,
            )
        };
        with(&Objects::default(), &update, |w| set_requester(w, &mut csr));
        assert_eq!(csr["spec"], json!({"username": "first", "usages": ["x"]}));
    }
}
