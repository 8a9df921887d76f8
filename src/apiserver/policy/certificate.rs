//! Certificate signing requests say who asks for them, whatever their author wrote.

use serde_json::{Value, json};

use super::Write;
use crate::kinds::value::{Fill, Look};

const FIELDS: [&str; 4] = ["username", "uid", "groups", "extra"];

/// Writes the requester into a new request, and keeps it in a changed one.
pub(super) fn requester(write: &Write<'_>, request: &mut Value) {
    if !request.is_object() {
        return;
    }
    if let Some(old) = write.request.old {
        let spec = request.child("spec");
        for field in FIELDS {
            spec.put(field, old.at("/spec").get(field).cloned());
        }
        return;
    }
    let user = write.user;
    let given = |is_there: bool, value: Value| is_there.then_some(value);
    let spec = request.child("spec");
    spec.put("username", given(!user.name.is_empty(), json!(user.name)));
    spec.put("uid", given(!user.uid.is_empty(), json!(user.uid)));
    spec.put("groups", given(!user.groups.is_empty(), json!(user.groups)));
    spec.put("extra", given(!user.extra.is_empty(), json!(user.extra)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::Operation;
    use crate::policy::fake::{Objects, request, with};

    #[test]
    fn nobody_asks_in_the_name_of_another() {
        let mut csr = json!({"spec": {"username": "root", "extra": {"a": ["b"]}, "usages": ["x"]}});
        let create = request(
            "certificates.k8s.io",
            "certificatesigningrequests",
            Operation::Create,
        );
        with(&Objects::default(), &create, |w| requester(w, &mut csr));
        let spec = json!({"username": "me", "groups": ["we"], "usages": ["x"]});
        assert_eq!(csr["spec"], spec);
        let old = json!({"spec": {"username": "first"}});
        let update = crate::hooks::AdmissionRequest {
            old: Some(&old),
            ..request(
                "certificates.k8s.io",
                "certificatesigningrequests",
                Operation::Update,
            )
        };
        with(&Objects::default(), &update, |w| requester(w, &mut csr));
        assert_eq!(csr["spec"], json!({"username": "first", "usages": ["x"]}));
    }
}
