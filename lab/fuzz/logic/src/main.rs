//! Unpacks the committed inputs for the fuzzer, and packs what it has found.

use std::process::ExitCode;

use incumbent_fuzz::archive;

fn main() -> ExitCode {
    let done = match std::env::args().nth(1).as_deref() {
        Some("unpack") => archive::unpack().map(|count| format!("{count} inputs are in lab/fuzz/corpus/")),
        Some("pack") => archive::pack().map(|count| format!("{count} inputs are in lab/fuzz/corpus.txt")),
        _ => {
            eprintln!("incumbent-fuzz unpack | pack");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(done) => println!("{done}"),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
