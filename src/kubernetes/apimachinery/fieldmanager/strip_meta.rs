//! Fields that are excluded from field management, upstream's `stripMetaManager`.

use super::field_set::FieldSet;

/// Removes the fields of type and identity, which are not managed.
pub(crate) fn strip_meta(set: &mut FieldSet) {
    let paths: [&[&str]; 11] = [
        &["f:apiVersion"],
        &["f:kind"],
        &["f:metadata"],
        &["f:metadata", "f:name"],
        &["f:metadata", "f:namespace"],
        &["f:metadata", "f:creationTimestamp"],
        &["f:metadata", "f:selfLink"],
        &["f:metadata", "f:uid"],
        &["f:metadata", "f:generation"],
        &["f:metadata", "f:managedFields"],
        &["f:metadata", "f:resourceVersion"],
    ];
    let mut identity = FieldSet::default();
    for path in paths {
        identity.insert(path.iter().copied());
    }
    set.subtract(&identity);
}
