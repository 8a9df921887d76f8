//! [`FlavorName`].

/// The name of a ResourceFlavor.
pub type FlavorName = std::sync::Arc<str>;
