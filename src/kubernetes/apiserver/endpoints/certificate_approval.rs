//! Approves the client certificates of kubelets, as kube-controller-manager's `sarapprove.go`.

use serde_json::{Value, json};

use super::certificate_signing::{usages, validate_kubelet_client};
use super::stored_update::update_stored;
use crate::auth::certificates::CertificateRequest;
use crate::auth::rbac_authorizer::{AuthorizationAttributes, authorize};
use crate::auth::user::User;
use crate::server_state::ServerState;
use kueue_lab_apimachinery::object_meta;
use kueue_lab_json::ValueExt;

const GROUP: &str = "certificates.k8s.io";
const RESOURCE: &str = "certificatesigningrequests";
const SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";

/// Approves a request that was written, if its user may have client certificates of nodes.
pub(super) fn approve(core: &ServerState, name: &str) {
    update_stored(core, (GROUP, "v1", RESOURCE), name, |request| {
        approved(core, request)
    });
}

/// The request with its approval; `None` if it is not to be approved.
fn approved(core: &ServerState, object: &Value) -> Option<Value> {
    let is_decided = ["Approved", "Denied"]
        .iter()
        .any(|name| object.condition(name).is_some());
    if is_decided
        || object.text("/spec/signerName") != SIGNER
        || !object.text("/status/certificate").is_empty()
        || object_meta::is_terminating(object)
    {
        return None;
    }
    let request = CertificateRequest::parse(object.text("/spec/request")).ok()?;
    validate_kubelet_client(&request, &usages(object)).ok()?;
    let groups = object.list("/spec/groups").iter().filter_map(Value::as_str);
    let user = User {
        name: object.text("/spec/username").to_owned(),
        groups: groups.map(ToOwned::to_owned).collect(),
        ..User::default()
    };
    let may_create = |subresource: &str| {
        let attributes = AuthorizationAttributes {
            verb: "create".to_owned(),
            group: GROUP.to_owned(),
            resource: RESOURCE.to_owned(),
            subresource: subresource.to_owned(),
            ..AuthorizationAttributes::default()
        };
        authorize(&core.objects(), &user, &attributes).is_allowed
    };
    let whose = if request.common_name == user.name && may_create("selfnodeclient") {
        "self kubelet"
    } else if may_create("nodeclient") {
        "kubelet"
    } else {
        return None;
    };
    let now = object_meta::metav1_time(core.clock.now());
    let mut conditions = object.list("/status/conditions").to_vec();
    conditions.push(json!({
        "type": "Approved",
        "status": "True",
        "reason": "AutoApproved",
        "message": format!("Auto approving {whose} client certificate after SubjectAccessReview."),
        "lastUpdateTime": now,
        "lastTransitionTime": now,
    }));
    let mut approved = object.clone();
    approved["status"]["conditions"] = conditions.into();
    Some(approved)
}
