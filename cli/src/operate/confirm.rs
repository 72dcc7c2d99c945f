//! The confirmation before a write.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use crate::exit::Exit;
use crate::failure::Failure;

/// Asks the person at the terminal, unless `yes` is set.
///
/// # Errors
/// A command line without a terminal and without `--yes`; the answer no.
pub(super) async fn confirm(question: String, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(format!(
            "{question} The standard input is no terminal to answer at: confirm with --yes"
        )));
    }
    let _ = write!(io::stderr(), "{question} [y/N] ");
    let answer = tokio::task::spawn_blocking(|| {
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer).map(|_| answer)
    });
    let answer = answer.await.map_err(io::Error::other)??;
    if is_yes(&answer) { Ok(()) } else { Err(Failure::ended(Exit::Failure, "nothing was done")) }
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        assert!(["y\n", "Y", "yes\r\n", " YES "].into_iter().all(is_yes));
        assert!(!["", "\n", "n", "no", "yess", "ja"].into_iter().any(is_yes));
    }
}
