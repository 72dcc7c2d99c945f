//! The compiled part of the Kotlin and the Swift library for every Linux with GNU's C library.

use anyhow::Result;

use super::Build;
use super::linux::{self, copy_into};
use super::load;
use super::unwinder::Unwinder;
use crate::budgets::{self, Artefact};
use crate::{kotlin, shell};

/// Builds the library for each kind of Linux into `target/kotlin/platforms`, from which the jar takes it.
pub(super) fn kotlin(build: &Build) -> Result<()> {
    if !cfg!(target_os = "linux") || build.kafka {
        // With Kafka the library uses the OpenSSL of the building machine.
        return Ok(());
    }
    for linux in build.linux().filter(|linux| !linux.is_musl()) {
        shell::progress(format!("the compiled part of the Kotlin library for {}", linux.jna()));
        let mut cargo = shell::cargo();
        linux.building(cargo.args(["build", "--quiet", "--locked", "--package", kotlin::CRATE, "--lib"]));
        shell::run(cargo.args(linux.features()).args([
            "--target",
            linux.triple(),
            "--profile",
            build.profile(),
        ]))?;
        let library = linux.built(build, "libincumbent_uniffi.so");
        linux::check(&library, linux, Unwinder::Own)?;
        if !linux.is_arm() {
            budgets::check(Artefact::KotlinLibrary, build.made(), &library)?;
        }
        copy_into(&library, &shell::fresh(&kotlin::target().join("platforms").join(linux.jna()))?)?;
        load::load(linux, &library)?;
    }
    Ok(())
}
