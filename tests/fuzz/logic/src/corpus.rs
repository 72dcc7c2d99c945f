//! The committed corpora, and their use in plain tests.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

use crate::choices::Choices;
use crate::mutate;

/// The inputs committed for a target, by file name.
///
/// # Panics
/// Where there are none.
pub fn of(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = folder().join(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut inputs: Vec<_> = files
        .map(|file| file.expect("a file's name"))
        .map(|file| (file.file_name().to_string_lossy().into_owned(), fs::read(file.path()).expect("a file")))
        .collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "{} is empty", folder.display());
    inputs
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")
}

/// Gives a target every input of its corpus, and then as many mutations of them as given: the same ones every
/// time. `FUZZ_MUTATIONS` sets another number, `FUZZ_SEED` another seed; `FUZZ_INPUT` names a file that
/// is tried instead of all that.
///
/// # Panics
/// Where the target does; the input that made it is printed.
pub fn explore(target: &str, run: fn(&[u8]), mutations: u64) {
    if let Some(file) = std::env::var_os("FUZZ_INPUT") {
        return attempt(&file.to_string_lossy(), &fs::read(&file).expect("a file"), run);
    }
    let inputs = of(target);
    for (name, input) in &inputs {
        attempt(&format!("tests/fuzz/corpus/{target}/{name}"), input, run);
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let mutations = number("FUZZ_MUTATIONS").unwrap_or(mutations);
    let seed = number("FUZZ_SEED").unwrap_or(1);
    let inputs: Vec<_> = inputs.into_iter().map(|(_, input)| input).collect();
    let mut choices = Choices::of_dice(seed);
    for count in 0..mutations {
        let input = mutate::one_of(&inputs, &mut choices);
        attempt(&format!("mutation {count} of {target}, seed {seed}"), &input, run);
    }
}

fn attempt(name: &str, input: &[u8], run: fn(&[u8])) {
    if let Err(cause) = catch_unwind(AssertUnwindSafe(|| run(input))) {
        println!("{name}: b\"{}\"", input.escape_ascii());
        resume_unwind(cause);
    }
}
