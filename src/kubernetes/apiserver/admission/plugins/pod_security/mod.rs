//! PodSecurity: the levels of the Pod Security Standards that the labels of a namespace enforce or
//! warn of, as `k8s.io/pod-security-admission` in its default configuration: a namespace without
//! labels is privileged, and nothing is exempt.

mod admission;
mod checks;
mod evaluator;
mod policy;

pub(super) use admission::validate;
