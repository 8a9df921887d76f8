//! Generates the schemas of the CRDs from the types; compiled for tests only.
//! `UPDATE_CRDS=1 cargo test -p kueue-lab-api --lib crds` updates the checked-in file.
//!
//! schemars gives one definition per type; properties of Kubernetes' own types that their schemas
//! do not have come from [`overlay`], and v1beta1 is v1beta2 with the differences of [`v1beta1`].

mod normalise;
mod overlay;
mod schemas;
mod v1beta1;

pub(super) use schemas::schemas;
