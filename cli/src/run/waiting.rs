//! The process that becomes the user's command, and the message that lets it begin.
//!
//! A waiting candidate keeps this process ready, because starting it takes longer than everything else between the win
//! and the command. The process reads its standard input, a socket, and acts on nothing else: a signal may end or stop
//! it, but no signal lets it begin. A whole message is a token, a line end, and the descriptor of the command's
//! standard input. If less arrives, or the supervisor is gone, no command is run.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use incumbent::Token;
use incumbent_rig::fleet::die_with_parent;
use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use rustix::stdio;

use super::args::ExecArgs;
use super::cgroup;
use super::command::set_term;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::stderr::warn;

/// The space that one descriptor takes in a message.
const ONE: usize = rustix::cmsg_space!(ScmRights(1));

/// The bytes of a whole message: a token as text, and a line end.
const WHOLE: usize = 34;

/// Lets the process begin its term, as the command.
///
/// # Errors
/// The whole message could not be sent.
pub(super) fn send(to: &UnixStream, token: Token, stdin: BorrowedFd<'_>) -> io::Result<()> {
    let text = format!("{token}\n");
    let (mut space, descriptors) = ([MaybeUninit::uninit(); ONE], [stdin]);
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    let text = [IoSlice::new(text.as_bytes())];
    let sent = retry_on_intr(|| sendmsg(to, &text, &mut control, SendFlags::empty()))?;
    if sent == WHOLE { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// A message, as far as it has arrived.
#[derive(Debug, Default)]
struct Received {
    text: Vec<u8>,
    stdin: Option<OwnedFd>,
}

impl Received {
    /// Waits for a message from this socket.
    fn from(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let mut received = Self::default();
        while received.text.len() < WHOLE {
            let (mut bytes, mut space) = ([0; WHOLE], [MaybeUninit::uninit(); ONE]);
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut into = [IoSliceMut::new(&mut bytes)];
            let read = retry_on_intr(|| recvmsg(socket, &mut into, &mut control, RecvFlags::empty()))?.bytes;
            for message in control.drain() {
                if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                    received.stdin = descriptors.last();
                }
            }
            if read == 0 {
                break;
            }
            received.text.extend(&bytes[..read]);
        }
        Ok(received)
    }

    /// The term and the standard input of the command; `None` if the message is not whole.
    fn whole(self) -> Option<(Token, OwnedFd)> {
        let text = std::str::from_utf8(self.text.strip_suffix(b"\n")?).ok()?;
        Some((text.parse().ok()?, self.stdin?))
    }
}

/// Runs the hidden command that waits, and then becomes the user's. It returns only if that fails: 1 if no complete
/// message came; as in shells, 127 if there is no such command and 126 if it cannot be run.
pub(crate) fn exec(args: &ExecArgs) -> Result<u8, Failure> {
    die_with_parent(args.parent)?;
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(c"run-exec");
    if let Some(within) = &args.cgroup {
        enter(within);
    }
    let [program, arguments @ ..] = args.command.as_slice() else {
        return Err(Failure::usage("no command given"));
    };
    let received = Received::from(stdio::stdin())?;
    let is_over = received.text.is_empty();
    let Some((token, stdin)) = received.whole() else {
        if !is_over {
            warn("the message that starts the command is incomplete, so the command is not run");
        }
        return Ok(Exit::Failure as u8);
    };
    stdio::dup2_stdin(&stdin).map_err(io::Error::from)?;
    drop(stdin);
    let mut command = Command::new(program);
    set_term(&mut command, token);
    for (variable, pid) in meant_for(args.parent, |name| std::env::var(name).ok()) {
        command.env(variable, pid);
    }
    let error = command.args(arguments).exec();
    warn(format_args!("{} cannot be run: {error}", program.to_string_lossy()));
    Ok(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
}

/// The variables in which a service manager names a process by its number. If they name the supervisor, they are
/// changed to name this process, because the sockets and the watchdog belong to the command.
fn meant_for(
    supervisor: u32,
    value: impl Fn(&str) -> Option<String>,
) -> impl Iterator<Item = (&'static str, String)> {
    let is_meant = move |name: &&str| value(name).is_some_and(|pid| pid == supervisor.to_string());
    ["LISTEN_PID", "WATCHDOG_PID"]
        .into_iter()
        .filter(is_meant)
        .map(|name| (name, std::process::id().to_string()))
}

/// Without its control group the command still has its process group, so the command is run anyway.
fn enter(within: &Path) {
    if let Err(error) = cgroup::enter(within) {
        tracing::warn!(%error, "the command could not be put into its own control group");
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Seek, Write};
    use std::os::fd::AsFd;

    use incumbent::incumbent_core::{Incarnation, Revision};

    use super::*;

    #[test]
    fn sockets_and_a_watchdog_that_are_meant_for_the_supervisor_are_the_commands() {
        let value = |name: &str| Some(if name == "LISTEN_PID" { "42" } else { "43" }.to_owned());
        let own = std::process::id().to_string();
        assert_eq!(meant_for(42, value).collect::<Vec<_>>(), [("LISTEN_PID", own)]);
        assert_eq!(meant_for(44, value).count(), 0);
        assert_eq!(meant_for(44, |_| None).count(), 0);
    }

    const TOKEN: Token = Token { incarnation: Incarnation(7), sequence: Revision(3) };

    #[test]
    fn a_whole_message_has_the_token_and_the_standard_input() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"input").unwrap();
        file.rewind().unwrap();
        send(&ours, TOKEN, file.as_fd()).unwrap();
        let (token, stdin) = Received::from(theirs.as_fd()).unwrap().whole().unwrap();
        assert_eq!(token, TOKEN);
        let mut text = String::new();
        File::from(stdin).read_to_string(&mut text).unwrap();
        assert_eq!(text, "input");
    }

    #[test]
    fn a_message_that_ends_early_or_says_something_else_or_lacks_the_input_is_not_whole() {
        let whole = format!("{TOKEN}\n");
        for (text, has_stdin) in
            [("", true), (&whole[..33], true), (&whole.replace('-', "+"), true), (&whole, false)]
        {
            let (mut ours, theirs) = UnixStream::pair().unwrap();
            ours.write_all(text.as_bytes()).unwrap();
            drop(ours);
            let mut received = Received::from(theirs.as_fd()).unwrap();
            received.stdin = has_stdin.then(|| theirs.try_clone().unwrap().into());
            assert!(received.whole().is_none(), "{text:?}");
        }
    }
}
