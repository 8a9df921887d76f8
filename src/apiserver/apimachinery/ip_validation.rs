//! Validation of IP addresses and CIDRs.

use super::error_list::ErrorList;
use super::field_path::FieldPath;

/// Validates an IP address.
pub(crate) fn ip(errors: &mut ErrorList, path: &FieldPath<'_>, text: &str) {
    if text.parse::<std::net::IpAddr>().is_err() {
        let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        errors.invalid(path, text, detail);
    }
}

/// Validates a CIDR.
pub(crate) fn cidr(errors: &mut ErrorList, path: &FieldPath<'_>, text: &str) {
    let valid = text.split_once('/').is_some_and(|(address, bits)| {
        let max = match address.parse::<std::net::IpAddr>() {
            Ok(std::net::IpAddr::V4(_)) => 32,
            Ok(std::net::IpAddr::V6(_)) => 128,
            Err(_) => return false,
        };
        !bits.starts_with('+') && bits.parse::<u8>().is_ok_and(|bits| bits <= max)
    });
    if !valid {
        let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        errors.invalid(path, text, detail);
    }
}
