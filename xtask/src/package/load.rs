//! Loads a library as a program on another system would: an older system, one with the other processor, or one with
//! musl, such as Alpine.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::linux::{Linux, copy_into};
use crate::shell::{self, say};
use crate::tools::packaging;
use crate::tools::systems::System;

/// A program that loads the library named by its argument, with all symbols that the library needs.
const LOADER: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **words) {
    (void)count;
    if (dlopen(words[1], RTLD_NOW)) { puts("loaded"); return 0; }
    fprintf(stderr, "%s\n", dlerror());
    return 1;
}
"#;

/// Loads a library in a system of its kind, if this machine can run one.
pub(super) fn load(linux: Linux, library: &Path) -> Result<()> {
    let system = match linux.is_arm() {
        true => System::Arm,
        false if std::env::consts::ARCH == "x86_64" => System::Bullseye,
        false => return Ok(()),
    };
    let library_name = library.file_name().unwrap_or_default().to_string_lossy();
    // Each library has its own folder, because other packages load theirs at the same time.
    let inside = format!("load-{library_name}");
    let folder = system.fresh(&inside)?;
    fs::write(folder.join("load.c"), LOADER).context("cannot write a program")?;
    let mut compile = shell::command(packaging::compiler_for(linux.triple()));
    compile.current_dir(&folder).args(["-o", "load", "load.c"]);
    // Links dynamically: for musl, zig links statically by default.
    compile.args(if linux.is_musl() { ["-dynamic"] } else { ["-ldl"] });
    shell::output(&mut compile)?;
    copy_into(library, &folder)?;
    let mut loader = system.command(&format!("/{inside}/load"));
    let said = shell::output(loader.arg(format!("/{inside}/{library_name}")))?;
    say!("{library_name} in {}: {}", system.name(), said.trim());
    ensure!(said.trim() == "loaded", "{} cannot load {library_name}", system.name());
    Ok(())
}
