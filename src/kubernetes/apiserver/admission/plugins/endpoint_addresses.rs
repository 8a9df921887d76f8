//! Refuses addresses of the API server's machine in Endpoints and EndpointSlices, as upstream's
//! `ValidateEndpointIP`; those that the lab permits are processes of this machine.

use std::net::{IpAddr, SocketAddr};

use serde_json::Value;

use super::PluginContext;
use crate::service_client::service_resolver::is_permitted;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_json::ValueExt;

/// Validates the addresses of EndpointSlices.
///
/// # Errors
/// 422 for addresses that are not allowed.
pub(super) fn validate_slice(write: &PluginContext<'_>, slice: &Value) -> Result<(), ApiError> {
    let mut errors = ErrorList::default();
    let root = FieldPath::root("endpoints");
    for (i, endpoint) in slice.list("/endpoints").iter().enumerate() {
        let addresses = root.index(i);
        let addresses = addresses.child("addresses");
        for (j, address) in endpoint.list("/addresses").iter().enumerate() {
            let address = address.as_str().unwrap_or_default();
            let path = addresses.index(j);
            validate(
                write,
                &mut errors,
                &path,
                address,
                slice.list("/ports"),
                endpoint,
            );
        }
    }
    result(write, "EndpointSlice", slice, &errors)
}

/// Validates the addresses of Endpoints.
///
/// # Errors
/// 422 for addresses that are not allowed.
pub(super) fn validate_endpoints(
    write: &PluginContext<'_>,
    endpoints: &Value,
) -> Result<(), ApiError> {
    let mut errors = ErrorList::default();
    let root = FieldPath::root("subsets");
    for (i, subset) in endpoints.list("/subsets").iter().enumerate() {
        let subset_path = root.index(i);
        for field in ["addresses", "notReadyAddresses"] {
            let addresses = subset_path.child(field);
            let listed = subset.get(field).and_then(Value::as_array);
            for (j, address) in listed.into_iter().flatten().enumerate() {
                let path = addresses.index(j);
                let path = path.child("ip");
                let ip = address.text("/ip");
                validate(
                    write,
                    &mut errors,
                    &path,
                    ip,
                    subset.list("/ports"),
                    address,
                );
            }
        }
    }
    result(write, "Endpoints", endpoints, &errors)
}

fn validate(
    write: &PluginContext<'_>,
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    text: &str,
    ports: &[Value],
    endpoint: &Value,
) {
    let Some((address, detail)) = text
        .parse::<IpAddr>()
        .ok()
        .and_then(|address| Some((address, not_allowed(address.to_canonical())?)))
    else {
        return;
    };
    let is_permitted = |port: &Value| {
        let port = u16::try_from(port.int("/port")).unwrap_or_default();
        is_permitted(write.reader, SocketAddr::new(address, port), endpoint)
    };
    if ports.is_empty() || !ports.iter().all(is_permitted) {
        errors.invalid(path, text, detail);
    }
}

/// Why an address cannot be that of an endpoint.
fn not_allowed(address: IpAddr) -> Option<&'static str> {
    let (link_local, link_local_multicast) = match address {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(v6) => {
            let first = v6.segments()[0];
            (v6.is_unicast_link_local(), first & 0xff0f == 0xff02)
        }
    };
    match () {
        () if address.is_unspecified() => Some("may not be unspecified (0.0.0.0 or ::)"),
        () if address.is_loopback() => {
            Some("may not be in the loopback range (127.0.0.0/8, ::1/128)")
        }
        () if link_local => Some("may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        () if link_local_multicast => {
            Some("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
        }
        () => None,
    }
}

fn result(
    write: &PluginContext<'_>,
    kind: &str,
    object: &Value,
    errors: &ErrorList,
) -> Result<(), ApiError> {
    match errors.0.is_empty() {
        true => Ok(()),
        false => Err(ApiError::invalid(
            write.request.group,
            kind,
            object.name(),
            &errors.0,
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_not_those_of_endpoints() {
        for (address, part) in [
            ("0.0.0.0", "unspecified"),
            ("127.0.0.1", "loopback"),
            ("::1", "loopback"),
            ("::ffff:127.0.0.1", "loopback"),
            ("169.254.169.254", "link-local range"),
            ("fe80::1", "link-local range"),
            ("224.0.0.5", "link-local multicast"),
            ("ff02::1", "link-local multicast"),
        ] {
            let address: IpAddr = address.parse().unwrap();
            let detail = not_allowed(address.to_canonical()).unwrap();
            assert!(detail.contains(part), "{address}: {detail}");
        }
        for address in ["10.0.0.1", "192.168.0.1", "2001:db8::1"] {
            assert_eq!(not_allowed(address.parse().unwrap()), None);
        }
    }
}
