//! The unwinder of a library: the code that takes frames from a thread's stack, after a panic for example.
//!
//! Zig links LLVM's unwinder into each library. That serves every library whose frames are unwound by nothing else.
//! CPython up to 3.13 unwinds those of a wheel: a daemon thread that asks for the interpreter's lock while the
//! interpreter exits is ended by `pthread_exit`, and glibc unwinds its stack with `libgcc_s.so.1`. In a frame of Rust
//! that unwinder calls Rust's personality routine, which would read its state by functions of LLVM's: the process
//! crashes. With one unwinder for both, pyo3's guard runs, and holds the thread until the process has ended.
//!
//! So wheels for glibc use the system's, which every system of a manylinux wheel has. The other packages keep their own:
//!
//! - The wheels for musl: its `pthread_exit` unwinds nothing, and Alpine has no `libgcc_s.so.1` until it is installed.
//! - The addon for Node and the library for the JVM: neither ends a thread inside of a native call, and both also run in
//!   images without `libgcc_s.so.1`.
//! - The command line: nothing but itself ends its threads.
//!
//! Zig does not link the Swift library, which is an archive for Swift's linker, nor what users build from sources.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::linux::Linux;
use crate::shell;
use crate::tools::packaging;

/// The file name of the system's unwinder.
pub(super) const SYSTEM: &str = "libgcc_s.so.1";

/// The functions of the system's unwinder, without the prefix `_Unwind_`, under the version in which every processor
/// has them. They are listed in `libgcc/libgcc-std.ver.in` of GCC.
const FUNCTIONS: [(&str, &[&str]); 3] = [
    (
        "GCC_3.0",
        &[
            "DeleteException",
            "ForcedUnwind",
            "GetDataRelBase",
            "GetGR",
            "GetIP",
            "GetLanguageSpecificData",
            "GetRegionStart",
            "GetTextRelBase",
            "RaiseException",
            "Resume",
            "SetGR",
            "SetIP",
        ],
    ),
    ("GCC_3.3", &["Backtrace", "FindEnclosingFunction", "GetCFA", "Resume_or_Rethrow"]),
    ("GCC_4.2.0", &["GetIPInfo"]),
];

/// The functions with which Rust's personality routine and its landing pads answer the unwinder that called them.
const ANSWERS: [&str; 8] = [
    "_Unwind_GetDataRelBase",
    "_Unwind_GetIPInfo",
    "_Unwind_GetLanguageSpecificData",
    "_Unwind_GetRegionStart",
    "_Unwind_GetTextRelBase",
    "_Unwind_Resume",
    "_Unwind_SetGR",
    "_Unwind_SetIP",
];

/// The unwinder that a library uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unwinder {
    /// LLVM's unwinder, which zig links into the library.
    Own,
    /// The system's.
    System,
}

impl Unwinder {
    /// The unwinder of the wheel for a kind of Linux.
    pub(super) fn of_wheel(linux: Linux) -> Self {
        if linux.is_musl() { Self::Own } else { Self::System }
    }

    /// The options with which rustc links a library to this unwinder.
    pub(super) fn options(self, linux: Linux) -> Result<Vec<String>> {
        // For `-lgcc_s` zig links its own unwinder, but it uses a file as it is.
        Ok(match self {
            Self::Own => Vec::new(),
            Self::System => vec!["-C".into(), format!("link-arg={}", outline(linux)?.display())],
        })
    }

    /// The functions that a library with this unwinder has to take from the system.
    pub(super) fn taken(self) -> &'static [&'static str] {
        match self {
            Self::Own => &[],
            Self::System => &ANSWERS,
        }
    }
}

/// Makes a library with the name of the system's unwinder, and with empty functions of the same names. The linker needs
/// no more than that, and the building machine may not have the real library for another processor.
fn outline(linux: Linux) -> Result<PathBuf> {
    let folder = shell::fresh(&shell::target().join("unwinder").join(linux.triple()))?;
    let (mut code, mut versions, mut before) = (String::new(), String::new(), "");
    for (version, functions) in FUNCTIONS {
        code.extend(functions.iter().map(|function| format!("void _Unwind_{function}(void) {{}}\n")));
        let names: String = functions.iter().map(|function| format!(" _Unwind_{function};")).collect();
        versions.push_str(&format!("{version} {{ global:{names} }} {before};\n"));
        before = version;
    }
    for (name, text) in [("unwinder.c", code), ("unwinder.map", versions)] {
        fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))?;
    }
    let mut link = shell::command(packaging::compiler_for(linux.triple()));
    link.current_dir(&folder).args(["-shared", "-nostdlib", "-Wl,--version-script=unwinder.map"]);
    shell::output(link.arg(format!("-Wl,-soname,{SYSTEM}")).args(["-o", SYSTEM, "unwinder.c"]))?;
    Ok(folder.join(SYSTEM))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wheels_for_glibc_alone_use_the_unwinder_of_the_system() {
        let system = Linux::ALL.into_iter().filter(|linux| Unwinder::of_wheel(*linux) == Unwinder::System);
        assert_eq!(system.collect::<Vec<_>>(), [Linux::X64Gnu, Linux::Arm64Gnu]);
    }

    #[test]
    fn whatever_answers_an_unwinder_is_in_the_library_for_the_linker() {
        let all = FUNCTIONS.iter().flat_map(|(_, functions)| *functions);
        let all: Vec<String> = all.map(|function| format!("_Unwind_{function}")).collect();
        let missing = ANSWERS.into_iter().find(|function| !all.iter().any(|one| one == function));
        assert_eq!(missing, None);
    }
}
