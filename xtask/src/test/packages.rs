//! The packages as they are released: each is built, and used by itself.

use super::Part;
use super::schedule::{Lane, Step};
use crate::package::{Build, Package};
use crate::shell::say;
use crate::tools::Without;

/// The packages, each with what a machine may lack on purpose.
const PACKAGES: [(Package, &str, Option<Without>); 7] = [
    (Package::Cli, "the command line", None),
    (Package::Crates, "the crates", None),
    (Package::Python, "the wheels", Some(Without::Python)),
    (Package::Node, "the npm packages", Some(Without::Node)),
    (Package::Kotlin, "the Kotlin library", Some(Without::Java)),
    (Package::Component, "the components", None),
    (Package::Site, "the site", Some(Without::Node)),
];

/// A step for each package: it counts as one test.
pub(super) fn steps<'env>(without: &[Without]) -> Vec<Step<'env>> {
    let mut steps = Vec::new();
    for (package, name, needs) in PACKAGES {
        if needs.is_some_and(|needs| without.contains(&needs)) {
            say!("{name} is left out, as asked");
            continue;
        }
        steps.push(Step::new(Part::Packages, name, Lane::Compute, move |report| {
            say!("{}", package.build(&Build { trial: true, ..Build::default() })?.display());
            report.check(Part::Packages, name, true);
            Ok(())
        }));
    }
    steps
}
