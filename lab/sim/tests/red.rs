//! The runs that failed in a hunt. Each has passed since its defect was fixed, and states that defect.
//!
//! For each of them, `cargo xtask hunt` wrote a file in `lab/sim/red/`. Such a file fails until the defect is fixed,
//! and then remains as a test of the fix.

use std::fs;
use std::path::Path;

use incumbent_sim::hunt::Red;
use incumbent_sim::run;

/// The parts of this project that may contain a defect.
const PARTS: [&str; 3] = ["rule: ", "world: ", "oracle: "];

#[test]
fn every_run_that_once_failed_holds_and_says_what_was_wrong() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("red");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut failed = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "toml")) {
        let name = file.file_name().unwrap().to_string_lossy();
        match Red::read(&fs::read_to_string(file).unwrap()) {
            Err(error) => failed.push(format!("{name}: {error}")),
            Ok(red) => {
                let again = red.choice.command().replacen("incumbent", "cargo", 1);
                if let Some(violation) = run(&red.choice).violation {
                    failed.push(format!("{name}: {violation}\n  {again}"));
                } else if !PARTS.iter().any(|part| red.was.starts_with(part)) {
                    failed.push(format!(
                        "{name} holds now: write the defect into `was`, after `rule: `, `world: ` or `oracle: `"
                    ));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
