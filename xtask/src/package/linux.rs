//! The kinds of Linux for which packages are built. Zig compiles C and links for each kind, so any Linux can build for
//! all of them, and for a C library older than its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Build;
use super::unwinder::{self, Unwinder};
use crate::notices::Compiled;
use crate::shell;
use crate::tools::packaging;

/// The oldest C library on which packages run: that of the oldest system that Rust's standard library supports.
const GLIBC: &str = "2.17";

/// The configuration of rustc with which `incumbent-kafka` compiles OpenSSL, zlib and zstd, and links them in.
const BUNDLED: &str = "incumbent_bundled";

/// A kind of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Linux {
    /// x86-64 with GNU's C library
    #[value(name = "linux-x64-gnu")]
    X64Gnu,
    /// 64-bit ARM with GNU's C library
    #[value(name = "linux-arm64-gnu")]
    Arm64Gnu,
    /// x86-64 with musl, like Alpine
    #[value(name = "linux-x64-musl")]
    X64Musl,
    /// 64-bit ARM with musl
    #[value(name = "linux-arm64-musl")]
    Arm64Musl,
}

impl Linux {
    pub(crate) const ALL: [Self; 4] = [Self::X64Gnu, Self::Arm64Gnu, Self::X64Musl, Self::Arm64Musl];

    /// The target as rustc names it.
    pub(crate) fn triple(self) -> &'static str {
        match self {
            Self::X64Gnu => "x86_64-unknown-linux-gnu",
            Self::Arm64Gnu => "aarch64-unknown-linux-gnu",
            Self::X64Musl => "x86_64-unknown-linux-musl",
            Self::Arm64Musl => "aarch64-unknown-linux-musl",
        }
    }

    /// The target as zig names it, with the version of the C library.
    pub(crate) fn zig(self) -> String {
        match self {
            Self::X64Gnu => format!("x86_64-linux-gnu.{GLIBC}"),
            Self::Arm64Gnu => format!("aarch64-linux-gnu.{GLIBC}"),
            Self::X64Musl => "x86_64-linux-musl".into(),
            Self::Arm64Musl => "aarch64-linux-musl".into(),
        }
    }

    /// The name of this Linux's package on npm.
    pub(super) fn npm(self) -> &'static str {
        match self {
            Self::X64Gnu => "linux-x64-gnu",
            Self::Arm64Gnu => "linux-arm64-gnu",
            Self::X64Musl => "linux-x64-musl",
            Self::Arm64Musl => "linux-arm64-musl",
        }
    }

    /// The platform tag in the file name of a wheel.
    pub(super) fn wheel(self) -> &'static str {
        // Musl 1.2 is from 2020, and zig has no older version.
        if self.is_musl() { "musllinux_1_2" } else { "manylinux_2_17" }
    }

    /// The processor in the file name of a wheel.
    pub(super) fn machine(self) -> &'static str {
        if self.is_arm() { "aarch64" } else { "x86_64" }
    }

    /// The name of the library's folder in a jar, by which JNA looks for it.
    pub(super) fn jna(self) -> &'static str {
        if self.is_arm() { "linux-aarch64" } else { "linux-x86-64" }
    }

    pub(crate) fn is_musl(self) -> bool {
        matches!(self, Self::X64Musl | Self::Arm64Musl)
    }

    pub(crate) fn is_arm(self) -> bool {
        matches!(self, Self::Arm64Gnu | Self::Arm64Musl)
    }

    /// Whether its packages have Kafka: so far it has been built for this kind alone.
    pub(super) fn has_kafka(self) -> bool {
        self == Self::X64Gnu
    }

    /// Cargo's options for the features of its packages.
    pub(super) fn features(self) -> &'static [&'static str] {
        if self.has_kafka() { &["--features", "kafka"] } else { &[] }
    }

    /// Prepares a command that builds for this Linux: with zig, with librdkafka's libraries built in, and without musl's
    /// C library in a library, which uses that of the program that loads it.
    pub(super) fn building(self, command: &mut Command) {
        packaging::toolchains(command);
        if self.has_kafka() {
            packaging::plain_toolchain(command, self.triple());
        }
        command.env_remove("CARGO_ENCODED_RUSTFLAGS").env_remove("RUSTFLAGS");
        let flags = self.flags();
        if !flags.is_empty() {
            command.env("RUSTFLAGS", flags);
        }
    }

    /// The options of rustc for all crates of a package.
    fn flags(self) -> String {
        let kafka = self.has_kafka().then(|| format!("--cfg {BUNDLED}"));
        let musl = self.is_musl().then(|| "-C target-feature=-crt-static".to_owned());
        kafka.into_iter().chain(musl).collect::<Vec<_>>().join(" ")
    }

    /// A crate as it is compiled for this Linux.
    pub(crate) fn compiled(self, of: &'static str) -> Compiled {
        let options = [&["--target", self.triple()][..], self.features()].concat();
        Compiled { flags: self.flags(), ..Compiled::new(of, &options) }
    }

    /// The path of a file that cargo has built.
    pub(super) fn built(self, build: &Build, name: &str) -> PathBuf {
        shell::target().join(self.triple()).join(build.profile()).join(name)
    }
}

/// Prints what a library needs from the system that loads it: names of libraries, versions of symbols, and functions of
/// an unwinder. Functions of an unwinder that the library itself contains are printed after the word `has`. If their
/// names have been removed, the texts of LLVM's unwinder reveal them.
const NEEDS: &str = r#"
import io, sys
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from elftools.elf.sections import SymbolTableSection

elf = ELFFile(io.BytesIO(open(sys.argv[1], "rb").read()))
print(elf.get_machine_arch())
dynamic = elf.get_section_by_name(".dynamic")
for tag in dynamic.iter_tags("DT_NEEDED") if dynamic else []:
    print(tag.needed)
for section in elf.iter_sections():
    if isinstance(section, GNUVerNeedSection):
        for _, versions in section.iter_versions():
            for version in versions:
                print(version.name)
tables = [section for section in elf.iter_sections() if isinstance(section, SymbolTableSection)]
symbols = [one for table in tables for one in table.iter_symbols()]
unwinder = {(one["st_shndx"] == "SHN_UNDEF", one.name) for one in symbols if one.name.startswith("_Unwind_")}
for taken, name in sorted(unwinder):
    print(name if taken else "has " + name)
if b"libunwind: " in elf.stream.getvalue():
    print("has LLVM's _Unwind_ functions")
"#;

/// Fails if a library is for another processor, if it needs a newer C library than is promised, or if it needs any
/// other library. With [`Unwinder::System`] it may also need the system's unwinder.
pub(super) fn check(library: &Path, linux: Linux, unwinder: Unwinder) -> Result<()> {
    let said = shell::output(packaging::program("python").arg("-c").arg(NEEDS).arg(library))?;
    let shown = library.file_name().unwrap_or_default().to_string_lossy();
    let mut lines = said.lines();
    let (machine, wanted) =
        (lines.next().unwrap_or_default(), if linux.is_arm() { "AArch64" } else { "x64" });
    ensure!(machine == wanted, "{shown} is for {machine}, not {wanted}");
    let (unwinding, needs): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.contains("_Unwind_"));
    shell::say!("{shown} for {} needs {}", linux.npm(), needs.join(", "));
    let refused = needs.iter().find(|need| !is_allowed(need, linux.is_musl(), unwinder));
    ensure!(refused.is_none(), "{shown} needs {}", refused.unwrap_or(&""));
    uses(unwinder, &unwinding).with_context(|| format!("{shown} would crash its program"))
}

/// Fails if a library that should use the system's unwinder contains a part of another unwinder, or does not use the
/// system's.
fn uses(unwinder: Unwinder, unwinding: &[&str]) -> Result<()> {
    if unwinder == Unwinder::System {
        let own = unwinding.iter().find(|line| line.starts_with("has "));
        ensure!(own.is_none(), "it {}", own.unwrap_or(&""));
    }
    let missing = unwinder.taken().iter().find(|function| !unwinding.contains(function));
    ensure!(missing.is_none(), "it does not take {} from the system", missing.unwrap_or(&""));
    Ok(())
}

/// Returns true if every system of this kind has the library, or the version of a symbol, that `need` names.
fn is_allowed(need: &str, musl: bool, unwinder: Unwinder) -> bool {
    if musl {
        return need == "libc.so";
    }
    if need == unwinder::SYSTEM || need.starts_with("GCC_") {
        return unwinder == Unwinder::System;
    }
    let parts = ["libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1"];
    let number = |text: &str| text.split('.').map(|part| part.parse().ok()).collect::<Option<Vec<u32>>>();
    let newest = number(GLIBC);
    match need.strip_prefix("GLIBC_") {
        Some(version) => number(version).is_some_and(|version| Some(version) <= newest),
        None => parts.contains(&need) || need.starts_with("ld-linux-"),
    }
}

/// The libraries that a compiled part needs of the system, and the newest version of the C library's symbols.
pub(super) fn needs(library: &Path) -> Result<String> {
    let said = shell::output(packaging::program("python").arg("-c").arg(NEEDS).arg(library))?;
    let lines = || said.lines().skip(1).filter(|line| !line.contains("_Unwind_"));
    let number =
        |version: &str| -> Vec<u32> { version.split('.').filter_map(|part| part.parse().ok()).collect() };
    let newest = lines().filter_map(|line| line.strip_prefix("GLIBC_")).max_by_key(|version| number(version));
    let mut needs: Vec<String> = lines().filter(|line| line.contains(".so")).map(str::to_owned).collect();
    needs.extend(newest.map(|version| format!("glibc {version}")));
    Ok(if needs.is_empty() { "nothing".into() } else { needs.join(", ") })
}

/// Copies a file into a folder.
pub(super) fn copy_into(file: &Path, folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let name = file.file_name().with_context(|| format!("{} has no name", file.display()))?;
    let to = folder.join(name);
    fs::copy(file, &to).with_context(|| format!("cannot copy {}", file.display()))?;
    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn npm_knows_every_kind_of_linux_by_the_same_name() {
        let manifest = fs::read_to_string(shell::root().join("node/package.json")).unwrap();
        let script = fs::read_to_string(shell::root().join("node/scripts/platforms.mjs")).unwrap();
        for linux in Linux::ALL {
            assert!(manifest.contains(&format!("\"{}\"", linux.triple())), "{linux:?}");
            assert!(
                script.contains(&format!("'{}': {{ name: '{}'", linux.triple(), linux.npm())),
                "{linux:?}"
            );
        }
    }

    #[test]
    fn a_package_with_kafka_links_its_libraries_in_and_one_for_musl_no_c_library() {
        let flags = Linux::ALL.map(Linux::flags);
        let musl = "-C target-feature=-crt-static";
        assert_eq!(flags, ["--cfg incumbent_bundled", "", musl, musl]);
        let features = Linux::ALL.map(|linux| linux.features().join(" "));
        assert_eq!(features, ["--features kafka", "", "", ""]);
    }

    #[test]
    fn libraries_and_symbols_of_an_old_system_are_allowed_and_newer_or_other_ones_are_not() {
        for need in ["libc.so.6", "ld-linux-x86-64.so.2", "GLIBC_2.17", "GLIBC_2.2.5"] {
            assert!(is_allowed(need, false, Unwinder::Own), "{need}");
        }
        for need in ["libssl.so.3", "GLIBC_2.18", "GLIBC_2.34", "GLIBC_PRIVATE", "libc.so"] {
            assert!(!is_allowed(need, false, Unwinder::System), "{need}");
        }
        assert!(is_allowed("libc.so", true, Unwinder::Own));
    }

    #[test]
    fn the_unwinder_of_the_system_is_allowed_where_a_library_uses_it() {
        for need in ["libgcc_s.so.1", "GCC_3.0", "GCC_4.2.0"] {
            assert!(is_allowed(need, false, Unwinder::System), "{need}");
            assert!(!is_allowed(need, false, Unwinder::Own), "{need}");
            assert!(!is_allowed(need, true, Unwinder::Own), "{need}");
        }
    }

    #[test]
    fn a_library_that_should_use_the_unwinder_of_the_system_has_no_part_of_another() {
        let taken = Unwinder::System.taken();
        assert!(uses(Unwinder::System, taken).is_ok());
        let said = |unwinding: &[&str]| uses(Unwinder::System, unwinding).unwrap_err().to_string();
        assert_eq!(said(&[taken, &["has _Unwind_GetCFA"]].concat()), "it has _Unwind_GetCFA");
        assert_eq!(said(&taken[1..]), "it does not take _Unwind_GetDataRelBase from the system");
        assert!(uses(Unwinder::Own, &["has _Unwind_Resume"]).is_ok());
    }
}
