//! Link arguments of the injected library: no undefined symbol may be left (`src/panic.rs` relies
//! on it), everything is bound at load time so that no first call takes the loader's lock inside
//! `malloc`, and the library stays once it is loaded, since handlers point into it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_PRELOAD").is_some() {
        for argument in ["defs", "now", "relro", "nodelete"] {
            println!("cargo::rustc-link-arg=-Wl,-z,{argument}");
        }
    }
}
