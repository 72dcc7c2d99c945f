//! The packages as they are released. Each is built, and used on its own. Packages that this machine cannot build are
//! only checked by the compiler.

use super::Part;
use super::schedule::{Lane, Step};
use crate::check::Platform;
use crate::package::{Build, Package, artefacts};
use crate::shell::say;
use crate::tools::{Tool, Without};

/// The packages, each with the tools that a machine may lack on purpose.
const PACKAGES: [(Package, &str, Option<Without>); 7] = [
    (Package::Cli, "the command line", None),
    (Package::Crates, "the crates", None),
    (Package::Python, "the wheels", Some(Without::Python)),
    (Package::Node, "the npm packages", Some(Without::Node)),
    (Package::Kotlin, "the Kotlin library", Some(Without::Java)),
    (Package::Component, "the components", None),
    (Package::Site, "the site", Some(Without::Node)),
];

/// Returns true if a package needs a tool that the machine lacks on purpose.
fn is_left_out(needs: Option<Without>, without: &[Without]) -> bool {
    needs.is_some_and(|needs| without.contains(&needs))
}

/// The tools of the packages that are not left out, and of the check for other platforms. Zig comes from PyPI, so a
/// CPython is needed even if the wheels are left out.
pub(super) fn tools(without: &[Without]) -> Vec<Tool> {
    let packages = PACKAGES.into_iter().filter(|(.., needs)| !is_left_out(*needs, without));
    let mut needed: Vec<Tool> = packages.flat_map(|(package, ..)| package.tools()).copied().collect();
    if !without.contains(&Without::Go) {
        needed.extend(artefacts::SERVERS);
    }
    Tool::ALL.into_iter().filter(|tool| *tool == Tool::Platforms || needed.contains(tool)).collect()
}

/// Returns a step for each package, which counts as one test, and as another if the package elects on every store, and a
/// step that checks the other platforms, with a test for each.
pub(super) fn steps<'env>(without: &[Without]) -> Vec<Step<'env>> {
    let mut steps = Vec::new();
    for (package, name, needs) in PACKAGES {
        if is_left_out(needs, without) {
            say!("{name} is left out, as asked");
            continue;
        }
        // The operator who gives Kafka's users their passwords is a program in Go.
        let elects = artefacts::PACKAGES.contains(&package) && !without.contains(&Without::Go);
        steps.push(Step::new(Part::Packages, name, Lane::Compute, move |report| {
            say!("{}", package.build(&Build { trial: true, ..Build::default() })?.display());
            report.check(Part::Packages, name, true);
            if elects {
                artefacts::elect(package)?;
                report.check(Part::Packages, &format!("{name} on every store"), true);
            }
            Ok(())
        }));
    }
    steps.push(Step::new(Part::Packages, "other platforms", Lane::Compute, |report| {
        for platform in Platform::ALL {
            report.check(Part::Packages, platform.triple(), platform.check()?);
        }
        Ok(())
    }));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_of_packages_that_are_left_out_are_not_installed() {
        let all = tools(&[]);
        let fewer = tools(&[Without::Node, Without::Java]);
        let saved: Vec<Tool> = all.iter().filter(|tool| !fewer.contains(tool)).copied().collect();
        assert_eq!(saved, [Tool::Kotlin, Tool::Mdbook, Tool::NpmCheckers]);
        assert!(fewer.contains(&Tool::Wasm) && fewer.contains(&Tool::Platforms), "{fewer:?}");
    }
}
