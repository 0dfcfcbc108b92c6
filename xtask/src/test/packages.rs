//! Debian packages that some tests run against. Installed when missing, if we may; said if not.

use crate::debian;

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
        .filter(|(package, _)| !debian::is_installed(package))
        .collect();
    if missing.is_empty() {
        println!("    all {} packages are installed", WANTED.len());
        return;
    }
    if !debian::can_install() {
        for (package, purpose) in missing {
            println!("    {package} is missing (for {purpose})");
        }
        println!("    hint: run as root on Debian to have them installed");
        return;
    }
    let names: Vec<&str> = missing.iter().map(|(package, _)| *package).collect();
    for ((package, installed), (_, purpose)) in debian::install(&names).into_iter().zip(missing) {
        let outcome = if installed {
            "installed"
        } else {
            "could not be installed"
        };
        println!("    {package} {outcome} (for {purpose})");
    }
}
