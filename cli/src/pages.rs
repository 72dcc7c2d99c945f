//! Shell completions and `man` pages, made from the command line itself.

use std::io::Write as _;
use std::path::PathBuf;

use clap::{Arg, Command};
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
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::failed(format!("{} cannot be created: {error}", folder.display())))?;
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

/// The command line without the hidden commands.
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

/// Adds an option's aliases to its help, because a manual page shows every option's help, but no aliases.
fn with_aliases(arg: Arg) -> Arg {
    let arg = arg.hide_short_help(false);
    let Some(aliases) = arg.get_visible_aliases() else { return arg };
    let aliases: Vec<String> = aliases.iter().map(|alias| format!("--{alias}")).collect();
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    arg.long_help(format!("{help}. Also {}", aliases.join(", ")))
}

/// The text after the options on a page of help, as sections of a manual. A line without indentation that ends with a
/// colon is a heading; indented lines stay as they are; other lines are a paragraph.
fn sections(help: &str) -> String {
    let mut page = String::new();
    let mut is_kept = false;
    for line in help.lines() {
        let heading = line.strip_suffix(':').filter(|line| line.starts_with(|c: char| c.is_uppercase()));
        let keeps = heading.is_none() && (line.starts_with("  ") || line.is_empty() && is_kept);
        if is_kept != keeps {
            page += if keeps { ".nf\n.in 4n\n" } else { ".in\n.fi\n" };
            is_kept = keeps;
        }
        match heading {
            Some("Exit codes") => page += ".SH \"EXIT STATUS\"\n",
            Some("The environment of the command") => page += ".SH ENVIRONMENT\n",
            Some(heading) => page += &format!(".SH \"{}\"\n", heading.to_uppercase()),
            None if keeps => page += &format!("{}\n", escaped(line.strip_prefix("  ").unwrap_or(line))),
            None if line.is_empty() => page += ".PP\n",
            None => page += &format!("{}\n", escaped(line)),
        }
    }
    if is_kept {
        page += ".in\n.fi\n";
    }
    page
}

/// A line of text, escaped so that troff does not take it for a command of its own.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}

/// Every page, by name.
fn pages(command: Command) -> Vec<(String, Vec<u8>)> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let of = |command: &Command, name: String| {
        let after = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
        let command = command.clone().name(name.clone()).display_name(name.clone()).mut_args(with_aliases);
        let has_commands = command.has_subcommands();
        let man = Man::new(command);
        let mut page = Vec::new();
        // Writing to a vector cannot fail.
        let _ = man.render_title(&mut page);
        let _ = man.render_name_section(&mut page);
        let _ = man.render_synopsis_section(&mut page);
        let _ = man.render_description_section(&mut page);
        let _ = man.render_options_section(&mut page);
        if has_commands {
            let _ = man.render_subcommands_section(&mut page);
        }
        page.extend(sections(&after.unwrap_or_default()).into_bytes());
        if has_commands {
            let _ = man.render_version_section(&mut page);
        }
        (name, page)
    };
    let commands: Vec<_> = command.get_subcommands().cloned().collect();
    let first = of(&command, "incumbent".into());
    let others = commands.iter().map(|command| of(command, format!("incumbent-{}", command.get_name())));
    std::iter::once(first).chain(others).collect()
}
