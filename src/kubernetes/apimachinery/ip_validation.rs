//! Validation of IP addresses and CIDRs.

use std::net::IpAddr;

use super::error_list::ErrorList;
use super::field_path::FieldPath;

/// Validates an IP address.
pub fn ip(errors: &mut ErrorList, path: &FieldPath<'_>, text: &str) {
    if text.parse::<IpAddr>().is_err() {
        let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        errors.invalid(path, text, detail);
    }
}

/// The network of a CIDR.
struct Cidr {
    address: IpAddr,
    bits: u8,
}

impl Cidr {
    /// Parses a CIDR; numbers may have leading zeros.
    fn parse_sloppy(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let is_number = |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
        if !is_number(bits) {
            return None;
        }
        let address = match address.split('.').all(is_number) {
            true => {
                let octets: Vec<&str> = address.split('.').map(without_leading_zeros).collect();
                octets.join(".").parse().ok()?
            }
            false => address.parse().ok()?,
        };
        let bits = without_leading_zeros(bits).parse().ok()?;
        (bits <= width(address)).then_some(Self { address, bits })
    }

    /// The address without the bits beyond the prefix.
    fn masked(&self, bits: u8) -> u128 {
        let host_bits = u32::from(width(self.address).saturating_sub(bits));
        let all = match self.address {
            IpAddr::V4(address) => u128::from(u32::from(address)),
            IpAddr::V6(address) => u128::from(address),
        };
        all.checked_shr(host_bits)
            .and_then(|prefix| prefix.checked_shl(host_bits))
            .unwrap_or(0)
    }
}

/// The number of bits of an address.
fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn without_leading_zeros(number: &str) -> &str {
    match number.trim_start_matches('0') {
        "" => "0",
        rest => rest,
    }
}

/// Validates a CIDR.
pub fn cidr(errors: &mut ErrorList, path: &FieldPath<'_>, text: &str) {
    let Some(parsed) = Cidr::parse_sloppy(text) else {
        let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        return errors.invalid(path, text, detail);
    };
    let (address, bits) = text.split_once('/').unwrap_or((text, ""));
    let is_mapped =
        matches!(parsed.address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some());
    if address.parse::<IpAddr>().is_err() || bits != without_leading_zeros(bits) {
        errors.invalid(
            path,
            text,
            "must not have leading 0s in IP or prefix length",
        );
    } else if is_mapped {
        errors.invalid(path, text, "must not have an IPv4-mapped IPv6 address");
    } else if parsed.masked(parsed.bits) != parsed.masked(width(parsed.address)) {
        errors.invalid(
            path,
            text,
            "must not have bits set beyond the prefix length",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cidrs_are_strict() {
        let messages = |text| {
            let mut errors = ErrorList::default();
            cidr(&mut errors, &FieldPath::root("cidr"), text);
            errors.0.into_iter().map(|e| e.detail).collect::<Vec<_>>()
        };
        let invalid = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        let zeros = "must not have leading 0s in IP or prefix length";
        for (text, expected) in [
            ("10.0.0.0/8", vec![]),
            ("::/0", vec![]),
            ("10.0.0.0", vec![invalid]),
            ("10.0.0.0/33", vec![invalid]),
            ("10.0.0.0/+8", vec![invalid]),
            ("010.0.0.0/8", vec![zeros]),
            ("10.0.0.0/08", vec![zeros]),
            (
                "10.0.0.1/8",
                vec!["must not have bits set beyond the prefix length"],
            ),
            (
                "::ffff:10.0.0.0/104",
                vec!["must not have an IPv4-mapped IPv6 address"],
            ),
        ] {
            assert_eq!(messages(text), expected, "{text}");
        }
    }
}
