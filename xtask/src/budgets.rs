//! The budgets of the files that users install, in bytes. Unlike times they are the same on a busy machine.
//!
//! | checked by | what |
//! |---|---|
//! | `cargo xtask test component`, a part of the full run | the components, which have one kind of build |
//! | `cargo xtask test packages` | the packages that it builds, for x86-64, with less optimisation |
//! | `cargo xtask package` | the same packages as they are released, or with `--trial` as above |
//! | `cargo xtask bench sizes` | everything here, as released, for this machine |

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::shell::say;

/// A file that users install.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Artefact {
    /// The program `incumbent`.
    CommandLine,
    /// The wheel, which is compressed.
    Wheel,
    /// The archive of the npm package with the addon.
    Addon,
    /// The archive of the npm package that programs import.
    NodePackage,
    /// The compiled part of the Kotlin library.
    KotlinLibrary,
    /// The compiled part of the Swift library. A program links only what it calls of it.
    SwiftLibrary,
    /// `incumbent-engine.wasm`
    Engine,
    /// `incumbent-campaigner.wasm`
    Campaigner,
}

/// How a file was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// As it is released.
    Released,
    /// Built with less optimisation, to try out packages.
    Trial,
}

impl Artefact {
    #[cfg(test)]
    const ALL: [Self; 8] = [
        Self::CommandLine,
        Self::Wheel,
        Self::Addon,
        Self::NodePackage,
        Self::KotlinLibrary,
        Self::SwiftLibrary,
        Self::Engine,
        Self::Campaigner,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CommandLine => "command line",
            Self::Wheel => "wheel",
            Self::Addon => "npm package with the addon",
            Self::NodePackage => "npm package",
            Self::KotlinLibrary => "library for Kotlin",
            Self::SwiftLibrary => "library for Swift",
            Self::Engine => "engine component",
            Self::Campaigner => "campaigner component",
        }
    }

    /// The most bytes that the file may have. Lower the budget when the file has become smaller.
    pub(crate) fn budget(self, made: Made) -> u64 {
        let (released, trial) = match self {
            Self::CommandLine => (20_000_000, 60_000_000),
            Self::Wheel => (11_000_000, 14_000_000),
            Self::Addon => (11_000_000, 14_000_000),
            Self::NodePackage => (60_000, 60_000),
            Self::KotlinLibrary => (28_000_000, 42_000_000),
            Self::SwiftLibrary => (190_000_000, 190_000_000),
            Self::Engine => (152_000, 152_000),
            Self::Campaigner => (210_000, 210_000),
        };
        match made {
            Made::Released => released,
            Made::Trial => trial,
        }
    }
}

/// The bytes of a file.
pub(crate) fn bytes(file: &Path) -> Result<u64> {
    Ok(fs::metadata(file).with_context(|| format!("there is no {}", file.display()))?.len())
}

/// Fails if a file has more bytes than its budget.
pub(crate) fn check(artefact: Artefact, made: Made, file: &Path) -> Result<()> {
    let (name, bytes, budget) = (artefact.name(), bytes(file)?, artefact.budget(made));
    let shown = file.file_name().unwrap_or_default().to_string_lossy();
    ensure!(
        bytes <= budget,
        "the budget of the {name} is {budget} bytes (xtask/src/budgets.rs), and {shown} has {bytes}"
    );
    say!("{shown}: {bytes} bytes, of {budget}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_have_its_budget_and_no_byte_more() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("incumbent-engine.wasm");
        let budget = Artefact::Engine.budget(Made::Released);
        for (bytes, expected) in [
            (budget, String::new()),
            (
                budget + 1,
                format!(
                    "the budget of the engine component is {budget} bytes (xtask/src/budgets.rs), and \
                     incumbent-engine.wasm has {}",
                    budget + 1
                ),
            ),
        ] {
            fs::write(&file, vec![0; usize::try_from(bytes).unwrap()]).unwrap();
            let error = check(Artefact::Engine, Made::Released, &file).err();
            assert_eq!(error.map_or(String::new(), |error| error.to_string()), expected);
        }
    }

    #[test]
    fn a_file_that_is_missing_is_not_within_its_budget() {
        let error = check(Artefact::Wheel, Made::Trial, Path::new("no-such.whl")).unwrap_err();
        assert_eq!(error.to_string(), "there is no no-such.whl");
    }

    #[test]
    fn less_optimisation_never_has_the_smaller_budget() {
        for artefact in Artefact::ALL {
            assert!(artefact.budget(Made::Trial) >= artefact.budget(Made::Released), "{artefact:?}");
        }
    }
}
