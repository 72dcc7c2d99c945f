//! The program `incumbent-harness`; see [`incumbent_conformance::harness`].

use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().len() > 1 {
        eprintln!(
            "incumbent-harness takes no arguments: it reads requests, a line of JSON each, and ends with them"
        );
        return ExitCode::from(2);
    }
    match incumbent_conformance::harness::serve(io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("incumbent-harness: {error}");
            ExitCode::FAILURE
        }
    }
}
