//! `incumbent-mutants`: breaks the rules of an election one at a time, and checks that one of the checks notices.
//!
//! A normal build of it writes and builds a workspace whose core can be broken, and runs the hunt of that one; see
//! docs/internals/mutants.md.

mod args;
mod finding;
mod hunt;
mod pack;
mod page;
mod script;
mod switches;
mod table;
mod workspace;

fn main() -> std::process::ExitCode {
    args::run()
}
