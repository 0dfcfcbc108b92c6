//! Packages of Debian: installed when missing, if we may.

use std::path::Path;
use std::process::Command;

use crate::step;

/// Whether we may install packages and enter other roots.
pub(crate) fn is_root() -> bool {
    step::output(Command::new("id").arg("-u")).is_ok_and(|user| user.trim() == "0")
}

/// Whether there is a Debian to install packages on, and we are allowed to.
pub(crate) fn can_install() -> bool {
    is_root() && Path::new("/usr/bin/apt-get").exists()
}

/// Whether a package is there.
pub(crate) fn is_installed(package: &str) -> bool {
    let mut query = Command::new("dpkg-query");
    query.args(["--show", "--showformat=${db:Status-Status}", package]);
    step::output(&mut query).is_ok_and(|status| status == "installed")
}

/// Installs packages one by one, and says for each whether it is there now.
pub(crate) fn install<'a>(packages: &[&'a str]) -> Vec<(&'a str, bool)> {
    if packages.is_empty() || !can_install() {
        return packages.iter().map(|&package| (package, false)).collect();
    }
    step::succeeds(apt().arg("update"));
    packages
        .iter()
        .map(|&package| {
            let mut command = apt();
            command.args(["install", "--yes", "--no-install-recommends", package]);
            (package, step::succeeds(&mut command))
        })
        .collect()
}

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args(["--quiet", "--quiet"]);
    command
}
