//! The running lab: a cluster, its machines, the controller and the presets put together.
