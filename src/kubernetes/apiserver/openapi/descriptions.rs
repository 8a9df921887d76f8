//! Descriptions of the parameters of requests and the values of enumerations, which k8s-openapi
//! does not contain, written by `scripts/api-descriptions.py`.

use kueue_lab_apimachinery::description_table::DescriptionTable;

static TABLE: DescriptionTable = DescriptionTable::new(include_str!("descriptions.txt"));

/// The description of a field of an options type such as `ListOptions`, or of a value of an
/// enumeration such as `batch.v1.CompletionMode`.
pub(super) fn lookup(type_name: &str, key: &str) -> Option<&'static str> {
    TABLE.lookup(type_name, key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_an_object_of_descriptions() {
        assert_eq!(TABLE.invalid_lines(), Vec::<&str>::new());
    }
}
