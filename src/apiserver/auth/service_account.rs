//! Service accounts as users.

use super::user::User;
use crate::registry::object_reader::ObjectReader;

/// Whether `user` is a service account that was deleted or recreated with another UID.
pub(crate) fn is_deleted_service_account(reader: &dyn ObjectReader, user: &User) -> bool {
    let account = user.name.strip_prefix("system:serviceaccount:");
    let Some((namespace, name)) = account.and_then(|a| a.split_once(':')) else {
        return false;
    };
    reader
        .get("", "serviceaccounts", namespace, name)
        .is_none_or(|account| account["metadata"]["uid"] != user.uid.as_str())
}
