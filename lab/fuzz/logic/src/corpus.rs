//! The committed corpora and mutations of them, for plain tests without a fuzzer.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::archive;
use crate::choices::Choices;

/// The inputs committed for a target, by name.
///
/// # Panics
/// If there are none.
pub fn of(target: &str) -> Vec<(String, Vec<u8>)> {
    let all = archive::read().unwrap_or_else(|error| panic!("lab/fuzz/corpus.txt: {error}"));
    let of_target = |(name, _): &(String, _)| name.split('/').next() == Some(target);
    let inputs: Vec<_> = all.into_iter().filter(of_target).collect();
    assert!(!inputs.is_empty(), "lab/fuzz/corpus.txt has no input for {target}");
    inputs
}

/// Gives a target every input of its corpus, and then `mutations` mutations of them, the same ones every time.
/// `FUZZ_MUTATIONS` overrides the number and `FUZZ_SEED` the seed; `FUZZ_INPUT` names a file to try instead of all
/// these.
///
/// # Panics
/// If the target does; the input that caused it is printed.
pub fn explore(target: &str, run: fn(&[u8]), mutations: u64) {
    if let Some(file) = std::env::var_os("FUZZ_INPUT") {
        return attempt(&file.to_string_lossy(), &fs::read(&file).expect("a file"), run);
    }
    let inputs = of(target);
    for (name, input) in &inputs {
        attempt(&format!("{name} of lab/fuzz/corpus.txt"), input, run);
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let mutations = number("FUZZ_MUTATIONS").unwrap_or(mutations);
    let seed = number("FUZZ_SEED").unwrap_or(1);
    let inputs: Vec<_> = inputs.into_iter().map(|(_, input)| input).collect();
    let mut choices = Choices::of_dice(seed);
    for count in 0..mutations {
        let input = mutation(&inputs, &mut choices);
        attempt(&format!("mutation {count} of {target}, seed {seed}"), &input, run);
    }
}

fn attempt(name: &str, input: &[u8], run: fn(&[u8])) {
    if let Err(cause) = catch_unwind(AssertUnwindSafe(|| run(input))) {
        println!("{name}: b\"{}\"", input.escape_ascii());
        resume_unwind(cause);
    }
}

/// Longer inputs are cut.
const LONGEST: usize = 4096;

/// Bytes at the edges of syntax and ranges.
const BYTES: [u8; 16] =
    [0, 1, 0x7f, 0x80, 0xff, b'0', b'9', b':', b'/', b'@', b'?', b'&', b'%', b',', b'"', b'.'];

/// A mutation of one of these inputs.
fn mutation(inputs: &[Vec<u8>], choices: &mut Choices<'_>) -> Vec<u8> {
    let mut input = pick(inputs, choices).to_vec();
    for _ in 0..=choices.below(4) {
        step(&mut input, inputs, choices);
    }
    input.truncate(LONGEST);
    input
}

fn pick<'a>(inputs: &'a [Vec<u8>], choices: &mut Choices<'_>) -> &'a [u8] {
    &inputs[index(inputs.len(), choices)]
}

/// An index below `end`, or zero.
fn index(end: usize, choices: &mut Choices<'_>) -> usize {
    choices.below(end.max(1) as u64) as usize
}

fn step(input: &mut Vec<u8>, inputs: &[Vec<u8>], choices: &mut Choices<'_>) {
    let at = index(input.len() + 1, choices);
    let rest = input.len() - at;
    let some = index(rest.min(64) + 1, choices);
    match choices.below(8) {
        0 if rest > 0 => input[at] ^= 1 << choices.below(8),
        1 if rest > 0 => input[at] = choices.below(256) as u8,
        2 if rest > 0 => input[at] = choices.one_of(BYTES),
        3 => input.insert(at, choices.one_of(BYTES)),
        4 => drop(input.drain(at..at + some)),
        5 => {
            let copy = input[at..at + some].to_vec();
            let to = index(input.len() + 1, choices);
            input.splice(to..to, copy);
        }
        6 => {
            let other = pick(inputs, choices);
            let from = index(other.len() + 1, choices);
            let much = index((other.len() - from).min(64) + 1, choices);
            input.splice(at..at + some, other[from..from + much].iter().copied());
        }
        _ => {
            let other = pick(inputs, choices);
            let from = index(other.len() + 1, choices);
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
    }
}
