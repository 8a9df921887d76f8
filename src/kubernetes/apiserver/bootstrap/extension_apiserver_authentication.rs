//! The ConfigMap `extension-apiserver-authentication`: how extension API servers authenticate the
//! requests that the API server proxies to them, and client certificates.

use serde_json::{Value, json};

use super::bootstrap_object::{BootstrapObject, create_object};
use crate::auth::certificates::{FRONT_PROXY_CLIENT, TlsError};
use crate::server_state::ServerState;
use crate::storage::PendingObject;
use crate::storage::key::storage_key;

const NAME: &str = "extension-apiserver-authentication";

/// Creates the ConfigMap.
///
/// # Errors
/// [`TlsError`] when a certificate authority cannot be generated.
pub(crate) fn create_extension_apiserver_authentication(
    core: &ServerState,
) -> Result<(), TlsError> {
    let list = |names: &[&str]| json!(names).to_string();
    let data = json!({
        "client-ca-file": core.certificates.authority()?.certificate_pem(),
        "requestheader-allowed-names": list(&[FRONT_PROXY_CLIENT]),
        "requestheader-client-ca-file": core.certificates.front_proxy_authority_pem()?,
        "requestheader-extra-headers-prefix": list(&["X-Remote-Extra-"]),
        "requestheader-group-headers": list(&["X-Remote-Group"]),
        "requestheader-uid-headers": list(&["X-Remote-Uid"]),
        "requestheader-username-headers": list(&["X-Remote-User"]),
    });
    let mut object = BootstrapObject::new(
        ("", "v1", "configmaps"),
        "ConfigMap",
        NAME,
        &[],
        json!({"data": data}),
    );
    object.object["metadata"]["namespace"] = "kube-system".into();
    create_object(core, object);
    replace_data(core, &data);
    Ok(())
}

/// Replaces the certificates of another cluster, whose objects were loaded.
fn replace_data(core: &ServerState, data: &Value) {
    let served = core.registry.find("", "v1", "configmaps");
    let Some(storage) = served.as_ref().and_then(|served| served.storage.as_ref()) else {
        return;
    };
    let Some(present) = storage.get(&storage_key("kube-system", NAME)) else {
        return;
    };
    let mut object = (*present.value()).clone();
    if object["data"] == *data {
        return;
    }
    object["data"] = data.clone();
    if let Ok(pending) = PendingObject::new(object) {
        // A later write is kept.
        let _ = (core.store).replace(storage, present.key(), present.revision(), pending);
    }
}
