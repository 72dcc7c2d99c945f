//! The command line of incumbent: it watches elections, runs commands in them, and inspects and sets up stores.

#![deny(unsafe_code)]

mod args;
#[cfg(feature = "demo")]
mod demo;
mod doctor;
mod exit;
mod failure;
mod init;
mod lease;
mod listen;
mod observe;
mod operate;
mod output;
mod pages;
mod permissions;
#[rustfmt::skip]
mod refusals;
mod run;
mod screen;
mod settings;
mod status;
mod stderr;
mod store;
mod top;

use std::process::ExitCode;
use std::time::Duration;

use args::{Cli, Command};
use exit::Exit;
use failure::Failure;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let (cli, sources) = match settings::parse(&arguments) {
        Ok(parsed) => parsed,
        Err(failure) => {
            failure.report();
            return ExitCode::from(failure.exit() as u8);
        }
    };
    stderr::write_json(cli.json);
    stderr::start_log(cli.verbose, matches!(cli.command, Command::Run(_)));
    let ended = match carry_out(cli).map_err(|failure| sources.blame(failure)) {
        Ok(code) => code,
        Err(failure) => {
            failure.report();
            stderr::flush();
            failure.exit() as u8
        }
    };
    ExitCode::from(ended)
}

/// The time for which an idle thread is kept (a day). If no more threads can be started, work waits for an existing
/// one.
const KEPT: Duration = Duration::from_secs(24 * 3600);

fn carry_out(cli: Cli) -> Result<u8, Failure> {
    // The runtime has one thread. The kernel kills a child when the *thread* that started it ends, so this thread must
    // start all children. Each store has a thread of its own for its elections.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().thread_keep_alive(KEPT).build()?;
    let as_json = cli.json;
    let ended = runtime.block_on(async move {
        let done = |()| Exit::Done as u8;
        match cli.command {
            #[cfg(feature = "demo")]
            Command::Demo(args) => demo::run(*args, as_json).await.map(|exit| exit as u8),
            Command::Run(_) if std::process::id() == 1 => Ok(run::supervise_as_first().await?),
            Command::Run(args) => {
                stderr::never_block()?;
                run::run(*args).await
            }
            Command::Status(args) => status::run(&args, as_json).await.map(done),
            Command::Observe(args) => observe::run(&args, as_json).await.map(done),
            Command::Top(args) => top::run(&args, as_json).await.map(done),
            Command::HandOver(args) => operate::hand_over::run(&args, as_json).await.map(done),
            Command::Evict(args) => operate::evict::run(&args, as_json).await.map(done),
            Command::AcceptReset(args) => operate::accept_reset::run(&args, as_json).await.map(done),
            Command::Doctor(args) => doctor::run(&args, as_json).await.map(|exit| exit as u8),
            Command::Init(args) => init::run(&args, as_json).await.map(done),
            Command::Permissions(args) => permissions::run(&args, as_json).map(done),
            Command::Completions(args) => pages::completions(&args, &Cli::whole()).map(done),
            Command::Man(args) => pages::man(&args, &Cli::whole()).map(done),
            #[cfg(feature = "demo")]
            Command::Candidate(args) => demo::candidate(&args).await.map(done),
            // The next two commands also work if no thread can be started, and write any messages themselves.
            Command::Guard(args) => {
                let _ = stderr::never_block();
                Ok(run::guard(args).await.map(done)?)
            }
            Command::Cleanup(args) => {
                let _ = stderr::never_block();
                Ok(run::cleanup(&args).await.map(done)?)
            }
            Command::Exec(args) => run::exec(&args),
        }
    });
    stderr::flush();
    // A thread may still block in a read of the standard input that never returns.
    runtime.shutdown_background();
    ended
}
