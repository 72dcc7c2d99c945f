//! What the program writes, kept in files beside the tests.
//!
//! `UPDATE_SNAPSHOTS=1` writes them anew, for a person to look at the difference.

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
