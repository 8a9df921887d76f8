//! Validation of `visibilityServer`.

use std::net::IpAddr;

use super::super::Configuration;
use crate::field::{FieldError, FieldErrors, Path};

pub(super) fn validate(c: &Configuration) -> FieldErrors {
    let Some(server) = &c.visibility_server else {
        return FieldErrors::new();
    };
    let path = Path::new("visibilityServer");
    let mut errors = FieldErrors::new();
    if let Some(address) = server
        .bind_address
        .as_deref()
        .filter(|a| a.parse::<IpAddr>().is_err())
    {
        let detail = "must be a valid IP address";
        errors.push(FieldError::invalid(
            &path.child("bindAddress"),
            address,
            detail,
        ));
    }
    if let Some(port) = server.bind_port.filter(|p| !(1..=65535).contains(p)) {
        let detail = "must be a valid port number (1-65535)";
        errors.push(FieldError::invalid(&path.child("bindPort"), &port, detail));
    }
    errors
}
