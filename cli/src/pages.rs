//! Shell completions and `man` pages, made from the command line itself.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::failure::Failure;
use crate::output::{line, text};

/// Write the completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = COMPLETIONS)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

const COMPLETIONS: &str = "\
Examples:
  incumbent completions bash > /etc/bash_completion.d/incumbent
  incumbent completions zsh > ~/.zfunc/_incumbent
  incumbent completions fish > ~/.config/fish/completions/incumbent.fish";

/// Write the manual, for `man`
#[derive(Debug, clap::Args)]
#[command(after_help = MAN)]
pub(crate) struct ManArgs {
    /// The page of this command, instead of the first one
    command: Option<String>,
    /// Write every page into this folder, instead of one to the standard output
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
}

const MAN: &str = "\
Examples:
  incumbent man | man -l -
  incumbent man run | man -l -
  incumbent man --out ~/.local/share/man/man1";

/// `incumbent completions`, for this command line.
pub(crate) fn completions(args: &CompletionsArgs, whole: &Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut visible(whole), "incumbent", &mut script);
    text(&script)
}

/// `incumbent man`, for this command line.
pub(crate) fn man(args: &ManArgs, whole: &Command) -> Result<(), Failure> {
    let command = visible(whole);
    if let Some(folder) = &args.out {
        let pages = pages(command);
        for (name, page) in &pages {
            let path = folder.join(format!("{name}.1"));
            let written = std::fs::File::create(&path).and_then(|mut file| file.write_all(page));
            written
                .map_err(|error| Failure::failed(format!("{} cannot be written: {error}", path.display())))?;
        }
        line(format_args!("{} pages written to {}", pages.len(), folder.display()))?;
        return Ok(());
    }
    let wanted = args.command.as_ref().map_or("incumbent".into(), |name| format!("incumbent-{name}"));
    match pages(command).into_iter().find(|(name, _)| *name == wanted) {
        Some((_, page)) => text(&page),
        None => Err(Failure::usage(format!(
            "there is no command {:?}",
            args.command.as_deref().unwrap_or_default()
        ))),
    }
}

/// The command line without its hidden commands.
fn visible(whole: &Command) -> Command {
    let commands: Vec<_> =
        whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    let mut visible = Command::new("incumbent").version(env!("CARGO_PKG_VERSION")).subcommands(commands);
    visible = visible.args(whole.get_arguments().cloned());
    visible = match whole.get_about() {
        Some(about) => visible.about(about.clone()),
        None => visible,
    };
    visible = match whole.get_long_about() {
        Some(about) => visible.long_about(about.clone()),
        None => visible,
    };
    match whole.get_after_help() {
        Some(help) => visible.after_help(help.clone()),
        None => visible,
    }
}

/// Every page, by name.
fn pages(command: Command) -> Vec<(String, Vec<u8>)> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let of = |command: &Command, name: String| {
        let mut page = Vec::new();
        // Writing to a vector cannot fail.
        let _ = Man::new(command.clone().name(name.clone()).display_name(name.clone())).render(&mut page);
        (name, page)
    };
    let commands: Vec<_> = command.get_subcommands().cloned().collect();
    let first = of(&command, "incumbent".into());
    let others = commands.iter().map(|command| of(command, format!("incumbent-{}", command.get_name())));
    std::iter::once(first).chain(others).collect()
}
