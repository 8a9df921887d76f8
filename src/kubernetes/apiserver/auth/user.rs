//! The authenticated user of a request.

use std::collections::BTreeMap;

/// The group authorized for everything.
pub(crate) const SYSTEM_MASTERS: &str = "system:masters";

const AUTHENTICATED: &str = "system:authenticated";

const UNAUTHENTICATED: &str = "system:unauthenticated";

/// The user who makes a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct User {
    /// User name.
    pub name: String,
    /// Stable identifier, often empty.
    pub uid: String,
    /// Groups, in the order given.
    pub groups: Vec<String>,
    /// Additional attributes from the authenticator.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// The administrator.
    pub(crate) fn admin() -> Self {
        Self {
            name: "kubernetes-admin".into(),
            groups: vec![SYSTEM_MASTERS.into(), AUTHENTICATED.into()],
            ..Self::default()
        }
    }

    /// A service account, without its uid and the attributes of its token.
    pub(crate) fn service_account(namespace: &str, name: &str) -> Self {
        Self {
            name: format!("system:serviceaccount:{namespace}:{name}"),
            groups: vec![
                "system:serviceaccounts".into(),
                format!("system:serviceaccounts:{namespace}"),
            ],
            ..Self::default()
        }
    }

    /// The anonymous user.
    pub(crate) fn anonymous() -> Self {
        Self {
            name: "system:anonymous".into(),
            groups: vec![UNAUTHENTICATED.into()],
            ..Self::default()
        }
    }

    /// Adds the groups implied by the user name, as impersonation does.
    pub(crate) fn add_implied_groups(&mut self) {
        if let Some(account) = self.name.strip_prefix("system:serviceaccount:")
            && self.groups.is_empty()
            && let Some((namespace, _)) = account.split_once(':')
        {
            self.groups.push("system:serviceaccounts".into());
            self.groups
                .push(format!("system:serviceaccounts:{namespace}"));
        }
        self.add_authenticated_group();
    }

    /// Adds the group of authenticated or of unauthenticated users.
    pub(crate) fn add_authenticated_group(&mut self) {
        let known = match self.name.as_str() {
            "system:anonymous" => UNAUTHENTICATED,
            _ => AUTHENTICATED,
        };
        let mut groups = self.groups.iter();
        if !groups.any(|g| g == AUTHENTICATED || g == UNAUTHENTICATED) {
            self.groups.push(known.into());
        }
    }

    /// Whether every request of this user is allowed.
    pub(crate) fn is_system_masters(&self) -> bool {
        self.groups.iter().any(|g| g == SYSTEM_MASTERS)
    }
}
