//! The program's output, compared with files next to the tests. `UPDATE_SNAPSHOTS=1` writes the files again, for a
//! person to review the difference.

use std::path::Path;
use std::{env, fs};

#[track_caller]
pub(crate) fn assert(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cli/snapshots/{name}.txt"));
    if env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "{} says\n{kept}\nand the program\n{text}", path.display());
}

/// The text with its numbers and times, which vary, replaced.
pub(crate) fn steady(text: &str) -> String {
    let mut steady = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let (before, found) = rest.split_at(at);
        steady += before;
        let is_inside = before.ends_with(|c: char| c.is_alphanumeric());
        let hex = found.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(found.len());
        let number = found.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(found.len());
        if hex == 32 {
            steady += "NONCE";
            rest = &found[hex..];
        } else if hex == 16 && is_token(found) {
            steady += "TOKEN";
            rest = &found[33..];
        } else if number > 0 && !is_inside {
            steady += "N";
            rest = &found[number..];
        } else {
            steady += &found[..hex];
            rest = &found[hex..];
        }
    }
    steady += rest;
    // The length of a time determines its unit.
    for span in ["N min N s", "N ms", "N s"] {
        let pieces: Vec<&str> = steady.split(span).collect();
        let mut whole = pieces[0].to_owned();
        for piece in &pieces[1..] {
            let is_word = piece.starts_with(|c: char| c.is_alphanumeric());
            whole += if is_word { span } else { "TIME" };
            whole += piece;
        }
        steady = whole;
    }
    // Columns are as wide as their content.
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n";
    steady.lines().map(words).collect()
}

/// Returns true if the text begins with a fencing token: sixteen hexadecimal digits twice.
fn is_token(text: &str) -> bool {
    let token = text.get(..33).unwrap_or_default();
    token.split('-').all(|half| half.len() == 16 && half.chars().all(|c| c.is_ascii_hexdigit()))
}

#[test]
fn what_is_different_each_time_is_left_out() {
    let text = "lease     2 min 5 s, 1.73 s left\nrenewed  41 ms ago\n{\"revision\":12,\"name\":\"ada2\"}";
    assert_eq!(steady(text), "lease TIME, TIME left\nrenewed TIME ago\n{\"revision\":N,\"name\":\"ada2\"}\n");
    assert_eq!(steady("00112233445566778899aabbccddeeff"), "NONCE\n");
    assert_eq!(steady("\"18ea2824e4e5a66d-0000000000000001\""), "\"TOKEN\"\n");
    assert_eq!(steady("5 simulated hours in 5 s"), "N simulated hours in TIME\n");
}
