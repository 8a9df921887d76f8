//! Linker options of the binary.

use std::process::Command;

/// The first version of the GNU C Library that loads packed relative relocations.
const RELR_GLIBC: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // A twentieth of the binary is relative relocations, all of which the dynamic loader reads at each start.
    if is_native_gnu() && glibc().is_some_and(|version| version >= RELR_GLIBC) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Whether the binary runs with the C library of this machine.
fn is_native_gnu() -> bool {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    variable("HOST") == variable("TARGET")
        && variable("CARGO_CFG_TARGET_OS") == "linux"
        && variable("CARGO_CFG_TARGET_ENV") == "gnu"
}

/// The version of the GNU C Library of this machine.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf")
        .arg("GNU_LIBC_VERSION")
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = minor.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
