//! [`impl_resource!`](crate::impl_resource): the identity and metadata of a custom resource.

/// Implements k8s-openapi's `Resource` and `Metadata` for a type with a field `metadata`: the scope
/// (`cluster` or `namespaced`), the type, which is named as the kind, group, version and plural
/// name.
#[macro_export]
macro_rules! impl_resource {
    ($scope:ident $kind:ident $group:literal $version:literal $plural:literal) => {
        impl $crate::k8s_openapi::Resource for $kind {
            const API_VERSION: &'static str = concat!($group, "/", $version);
            const GROUP: &'static str = $group;
            const KIND: &'static str = stringify!($kind);
            const VERSION: &'static str = $version;
            const URL_PATH_SEGMENT: &'static str = $plural;
            type Scope = $crate::impl_resource!(@scope $scope);
        }

        impl $crate::k8s_openapi::Metadata for $kind {
            type Ty = $crate::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

            fn metadata(&self) -> &Self::Ty {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut Self::Ty {
                &mut self.metadata
            }
        }
    };
    (@scope cluster) => {
        $crate::k8s_openapi::ClusterResourceScope
    };
    (@scope namespaced) => {
        $crate::k8s_openapi::NamespaceResourceScope
    };
}
