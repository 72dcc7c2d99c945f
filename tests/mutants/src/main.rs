//! `incumbent-mutants`: breaks the rules of an election one at a time, and looks who notices.
//!
//! Works only in a build whose core can be broken, which `cargo xtask test mutants` makes; see docs/internals/mutants.md.

#![cfg_attr(not(incumbent_mutants), allow(unused_crate_dependencies, reason = "nothing is there to run"))]

#[cfg(incumbent_mutants)]
mod args;
#[cfg(incumbent_mutants)]
mod finding;
#[cfg(incumbent_mutants)]
mod hunt;
#[cfg(incumbent_mutants)]
mod pack;
#[cfg(incumbent_mutants)]
mod page;
#[cfg(incumbent_mutants)]
mod script;

#[cfg(incumbent_mutants)]
fn main() -> std::process::ExitCode {
    args::run()
}

#[cfg(not(incumbent_mutants))]
fn main() -> std::process::ExitCode {
    eprintln!(
        "error: this build has no mutants; run `cargo xtask test mutants`, or build with \
         RUSTFLAGS=\"--cfg incumbent_mutants\""
    );
    std::process::ExitCode::from(2)
}
