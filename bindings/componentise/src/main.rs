//! `incumbent-componentise MODULE COMPONENT` and `incumbent-componentise plug SOCKET PLUG COMPONENT`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(about, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Make a component from a core module
    Make {
        /// The core module
        module: PathBuf,
        /// The component to write
        component: PathBuf,
    },
    /// Fill the imports of one component with the exports of another
    Plug {
        /// The component that imports
        socket: PathBuf,
        /// The component that exports
        plug: PathBuf,
        /// The component to write
        component: PathBuf,
    },
}

fn main() -> Result<()> {
    match Cli::parse().chore {
        Chore::Make { module, component } => {
            let made = incumbent_componentise::componentise(&read(&module)?);
            write(&component, &made.with_context(|| module.display().to_string())?)
        }
        Chore::Plug { socket, plug, component } => {
            write(&component, &incumbent_componentise::plug(&read(&socket)?, &read(&plug)?)?)
        }
    }
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

fn write(file: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(file, bytes).with_context(|| format!("cannot write {}", file.display()))
}
