//! Mutations of inputs, for runs without a fuzzer.

use crate::choices::Choices;

/// Longer inputs are cut.
const LONGEST: usize = 4096;

/// Bytes at the edges of syntax and ranges.
const BYTES: [u8; 16] =
    [0, 1, 0x7f, 0x80, 0xff, b'0', b'9', b':', b'/', b'@', b'?', b'&', b'%', b',', b'"', b'.'];

/// A mutation of one of these inputs.
pub fn one_of(inputs: &[Vec<u8>], choices: &mut Choices<'_>) -> Vec<u8> {
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
