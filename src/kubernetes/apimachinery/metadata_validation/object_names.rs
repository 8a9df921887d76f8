//! Validation of the names of objects, as `k8s.io/apimachinery/pkg/api/validation`. Each function
//! returns error messages; an empty list means that the name is valid.

use kueue_lab_field::name_validation::{dns1035_label, dns1123_label, dns1123_subdomain};

/// Validates the names of a kind, `ValidateNameFunc`; the flag is true for a `generateName` prefix.
pub type ValidateNameFn = fn(&str, bool) -> Vec<String>;

/// A name that is valid as a URL path segment.
pub fn path_segment_name(s: &str, is_prefix: bool) -> Vec<String> {
    if !is_prefix && matches!(s, "." | "..") {
        return vec![format!("may not be '{s}'")];
    }
    let bad = ["/", "%"].into_iter().filter(|c| s.contains(c));
    bad.map(|c| format!("may not contain '{c}'")).collect()
}

/// A prefix may end with a dash, which is masked for validation.
fn mask_trailing_dash(s: &str, is_prefix: bool) -> std::borrow::Cow<'_, str> {
    match s.strip_suffix('-') {
        Some(rest) if is_prefix && !rest.is_empty() => {
            let mut masked = rest.to_string();
            masked.pop();
            masked.push('a');
            masked.into()
        }
        _ => s.into(),
    }
}

/// Names that are DNS subdomains.
pub fn name_is_dns_subdomain(s: &str, is_prefix: bool) -> Vec<String> {
    dns1123_subdomain(&mask_trailing_dash(s, is_prefix))
}

/// Names that are DNS labels.
pub fn name_is_dns_label(s: &str, is_prefix: bool) -> Vec<String> {
    dns1123_label(&mask_trailing_dash(s, is_prefix))
}

/// Names that are DNS labels starting with a letter.
pub fn name_is_dns1035_label(s: &str, is_prefix: bool) -> Vec<String> {
    dns1035_label(&mask_trailing_dash(s, is_prefix))
}

/// Names that are not restricted.
pub fn any_name(_: &str, _: bool) -> Vec<String> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert!(
            name_is_dns_subdomain("gen-", true).is_empty()
                && name_is_dns_subdomain("gen-", false).len() == 1
        );
        assert_eq!(
            path_segment_name("a/b%c", false),
            ["may not contain '/'", "may not contain '%'"]
        );
    }
}
