//! Debian packages that some tests run against. Installed when missing, if we may; said if not.

use std::path::Path;
use std::process::Command;

use crate::step;

/// Package, and what the tests want it for.
const WANTED: [(&str, &str); 7] = [
    ("gcc", "C programs that misbehave"),
    ("libc6-dev", "the same"),
    ("libjemalloc2", "programs preloaded with jemalloc"),
    ("libtcmalloc-minimal4", "programs preloaded with tcmalloc"),
    ("libmimalloc2.0", "programs preloaded with mimalloc"),
    ("debootstrap", "Pythons that this system does not have"),
    ("chromium", "notebooks in a real browser"),
];

/// Installs what is missing. A package that cannot be had is named; its tests say so themselves.
pub(super) fn ensure() {
    let missing: Vec<(&str, &str)> = WANTED
        .into_iter()
        .filter(|(package, _)| !is_installed(package))
        .collect();
    if missing.is_empty() {
        println!("    all {} packages are installed", WANTED.len());
        return;
    }
    if !is_root() || !Path::new("/usr/bin/apt-get").exists() {
        for (package, purpose) in missing {
            println!("    {package} is missing (for {purpose})");
        }
        println!("    hint: run as root on Debian to have them installed");
        return;
    }
    step::succeeds(apt().arg("update"));
    for (package, purpose) in missing {
        let installed = step::succeeds(
            apt()
                .args(["install", "--yes", "--no-install-recommends"])
                .arg(package),
        );
        let outcome = if installed {
            "installed"
        } else {
            "could not be installed"
        };
        println!("    {package} {outcome} (for {purpose})");
    }
}

/// Whether we may install packages and enter other roots.
pub(super) fn is_root() -> bool {
    step::output(Command::new("id").arg("-u")).is_ok_and(|user| user.trim() == "0")
}

fn is_installed(package: &str) -> bool {
    let mut query = Command::new("dpkg-query");
    query.args(["--show", "--showformat=${db:Status-Status}", package]);
    step::output(&mut query).is_ok_and(|status| status == "installed")
}

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args(["--quiet", "--quiet"]);
    command
}
