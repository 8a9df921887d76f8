//! Tests of data directories and of databases on disks that fail.

mod data_dirs;
mod faulty_disk;
mod full_disks;
mod kill_points;
mod write_model;
