//! `kueue-lab play`

mod command;
mod info;

pub(super) use command::{Args, run};
