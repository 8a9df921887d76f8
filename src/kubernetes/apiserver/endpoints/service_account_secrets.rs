//! Secrets with tokens of service accounts (`kubernetes.io/service-account-token`), as
//! kube-controller-manager's `tokens_controller.go`.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::auth::service_account::legacy_claims;
use crate::registry::object_reader::ObjectReader;
use crate::server_state::ServerState;
use crate::storage::{CommitError, Object, PendingObject, ResourceStorage};
use kueue_lab_apimachinery::object_meta;
use kueue_lab_json::{ValueExt, ValueMutExt};

/// The type of these Secrets.
const TYPE: &str = "kubernetes.io/service-account-token";
/// The annotation with the name of the service account.
const NAME: &str = "kubernetes.io/service-account.name";
/// The annotation with its UID.
const UID: &str = "kubernetes.io/service-account.uid";

/// Fills in the token of a Secret that was written; deletes it if its service account is missing.
pub(super) fn sync_secret(core: &ServerState, key: &str) {
    let Some(served) = core.registry.find("", "v1", "secrets") else {
        return;
    };
    let Some(storage) = &served.storage else {
        return;
    };
    loop {
        let Some(present) = storage.get(key) else {
            return;
        };
        let secret = present.value();
        if secret.text("/type") != TYPE || object_meta::is_terminating(&secret) {
            return;
        }
        let stored = match service_account_of(core, &secret) {
            Some(account) => match with_token(core, &secret, &account) {
                Some(filled) => store(core, storage, &present, filled),
                None => return,
            },
            None => remove(core, storage, &present),
        };
        match stored {
            Err(CommitError::ResourceVersionConflict(_)) => {}
            _ => return,
        }
    }
}

/// Deletes the Secrets of a service account that was deleted.
pub(super) fn sync_service_account(core: &ServerState, key: &str) {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    let objects = core.objects();
    if objects
        .get("", "serviceaccounts", namespace, name)
        .is_some()
    {
        return;
    }
    let secrets = objects.list("", "secrets", namespace);
    let of_account = |secret: &&std::sync::Arc<Value>| {
        secret.text("/type") == TYPE && secret.annotation(NAME) == Some(name)
    };
    for secret in secrets.iter().filter(of_account) {
        sync_secret(core, &format!("{namespace}/{}", secret.name()));
    }
}

/// The service account of a Secret.
fn service_account_of(core: &ServerState, secret: &Value) -> Option<std::sync::Arc<Value>> {
    let (namespace, name) = (secret.text("/metadata/namespace"), secret.annotation(NAME)?);
    let account = core.objects().get("", "serviceaccounts", namespace, name)?;
    let uid = secret.annotation(UID).unwrap_or_default();
    (uid.is_empty() || account.text("/metadata/uid") == uid).then_some(account)
}

/// The Secret with its token; `None` if it is complete.
fn with_token(core: &ServerState, secret: &Value, account: &Value) -> Option<Value> {
    let authority = match core.certificates.authority() {
        Ok(authority) => authority.certificate_pem(),
        Err(error) => {
            tracing::error!(%error, "no certificate authority for the tokens of service accounts");
            return None;
        }
    };
    let mut filled = secret.clone();
    let uid = account.text("/metadata/uid");
    let metadata = filled.object_mut("metadata");
    metadata
        .object_mut("annotations")
        .set_or_remove(UID, Some(uid.into()));
    let data = filled.object_mut("data");
    let namespace = secret.text("/metadata/namespace");
    for (field, text) in [("ca.crt", authority.as_str()), ("namespace", namespace)] {
        data.set_or_remove(field, Some(STANDARD.encode(text).into()));
    }
    if data.text("/token").is_empty() {
        let claims = legacy_claims(namespace, account.name(), uid, secret.name());
        let token = core.authenticator.service_account_key().sign(&claims)?;
        data.set_or_remove("token", Some(STANDARD.encode(token).into()));
    }
    (filled != *secret).then_some(filled)
}

fn store(
    core: &ServerState,
    storage: &Arc<ResourceStorage>,
    present: &std::sync::Arc<Object>,
    object: Value,
) -> Result<(), CommitError> {
    let Ok(pending) = PendingObject::new(object) else {
        return Ok(());
    };
    let stored = core
        .store
        .replace(storage, present.key(), present.revision(), pending);
    stored.map(drop)
}

fn remove(
    core: &ServerState,
    storage: &Arc<ResourceStorage>,
    present: &std::sync::Arc<Object>,
) -> Result<(), CommitError> {
    let Ok(pending) = PendingObject::new((*present.value()).clone()) else {
        return Ok(());
    };
    let removed = core
        .store
        .remove(storage, present.key(), present.revision(), pending);
    removed.map(drop)
}
