//! The archive of the committed inputs, `lab/fuzz/corpus.txt`: one per line, sorted by target and name, as
//! `urls/07a9d636f55dc7d5 "nats://\x01@host"`.
//!
//! The fuzzer reads and writes one folder per target, with one file per input. [`unpack`] makes these from the archive,
//! and [`pack`] makes the archive from them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The inputs by target and name, `urls/07a9d636f55dc7d5`.
pub type Inputs = BTreeMap<String, Vec<u8>>;

/// The folder of the fuzz targets, with the archive and the fuzzer's folders.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Reads the archive.
///
/// # Errors
/// If the archive cannot be read, or one of its lines is not an input.
pub fn read() -> io::Result<Inputs> {
    let text = fs::read_to_string(folder().join("corpus.txt"))?;
    let input = |(at, line)| {
        parse(line).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("line {} of corpus.txt is not an input", at + 1),
            )
        })
    };
    text.lines().enumerate().map(input).collect()
}

/// Writes each input of the archive into a file for the fuzzer; other files remain. Returns how many inputs there are.
///
/// # Errors
/// If the archive cannot be read, or a file cannot be written.
pub fn unpack() -> io::Result<usize> {
    let (inputs, corpus) = (read()?, folder().join("corpus"));
    for (name, input) in &inputs {
        let file = corpus.join(name);
        fs::create_dir_all(file.parent().unwrap_or(&corpus))?;
        fs::write(file, input)?;
    }
    Ok(inputs.len())
}

/// Writes the archive from the fuzzer's files. Returns how many inputs there are.
///
/// # Errors
/// If a file cannot be read, or the archive cannot be written.
pub fn pack() -> io::Result<usize> {
    let mut inputs = Inputs::new();
    for target in fs::read_dir(folder().join("corpus"))? {
        let target = target?;
        for file in fs::read_dir(target.path())? {
            let file = file?;
            let name = [target.file_name(), file.file_name()].map(|name| name.to_string_lossy().into_owned());
            inputs.insert(name.join("/"), fs::read(file.path())?);
        }
    }
    fs::write(folder().join("corpus.txt"), text(&inputs))?;
    Ok(inputs.len())
}

fn text(inputs: &Inputs) -> String {
    inputs.iter().fold(String::new(), |mut text, (name, input)| {
        let _ = writeln!(text, "{name} \"{}\"", input.escape_ascii());
        text
    })
}

fn parse(line: &str) -> Option<(String, Vec<u8>)> {
    let (name, quoted) = line.split_once(' ')?;
    let escaped = quoted.strip_prefix('"')?.strip_suffix('"')?;
    let (mut bytes, mut input) = (escaped.bytes(), Vec::new());
    while let Some(byte) = bytes.next() {
        input.push(match byte {
            b'\\' => match bytes.next()? {
                b't' => b'\t',
                b'r' => b'\r',
                b'n' => b'\n',
                b'x' => {
                    let digits = [bytes.next()?, bytes.next()?];
                    u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?
                }
                itself => itself,
            },
            itself => itself,
        });
    }
    Some((name.to_owned(), input))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_reads_back_from_a_line() {
        let inputs = Inputs::from([
            ("a/every".to_owned(), (0..=u8::MAX).collect()),
            ("a/nothing".to_owned(), Vec::new()),
            ("b/spaces".to_owned(), b" \"a\\ ".to_vec()),
        ]);
        assert_eq!(text(&inputs).lines().map(parse).collect::<Option<Inputs>>(), Some(inputs));
    }

    #[test]
    fn a_line_that_is_cut_is_no_input() {
        for line in ["", "a/b", "a/b \"", "a/b \"\\\"", "a/b \"\\x4\"", "a/b \"\\xg0\""] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn the_archive_is_as_pack_writes_it() {
        let committed = fs::read_to_string(folder().join("corpus.txt")).unwrap();
        assert!(text(&read().unwrap()) == committed, "pack would write corpus.txt differently");
    }
}
