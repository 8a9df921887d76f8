//! Scripted runs with expectations; demos are scenarios. Drives a running lab.
