//! [`RequestAuthorizer`]: the `authorizer` of admission expressions of one request.

use std::sync::Arc;

use crate::auth::rbac_authorizer::{AuthorizationAttributes, authorize};
use crate::auth::user::User;
use crate::server_state::ServerState;
pub(super) use kueue_lab_apiextensions::cel::authorizer::{
    AuthorizationCheck, Authorizer, CheckDecision,
};

/// Decides by RBAC about the user of a request and about service accounts.
pub(super) struct RequestAuthorizer {
    /// The server.
    pub(super) core: Arc<ServerState>,
    /// The user of the request.
    pub(super) user: User,
}

impl Authorizer for RequestAuthorizer {
    fn check(&self, request: &AuthorizationCheck) -> CheckDecision {
        let account = request.service_account.as_ref();
        let account = account.map(|(namespace, name)| User::service_account(namespace, name));
        let requested = AuthorizationAttributes {
            verb: request.verb.clone(),
            group: request.group.clone(),
            resource: request.resource.clone(),
            subresource: request.subresource.clone(),
            namespace: request.namespace.clone(),
            name: request.name.clone(),
            path: request.path.clone(),
        };
        let user = account.as_ref().unwrap_or(&self.user);
        let decision = authorize(&self.core.objects(), user, &requested);
        CheckDecision {
            is_allowed: decision.is_allowed,
            reason: decision.reason,
        }
    }
}
