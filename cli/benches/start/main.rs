//! The start of the command line: from `exec` to the first byte that a server gets, compared with a program in Go and
//! the system's shortest program; the hand-over of `incumbent run`; and the memory of `incumbent run`, its guard and
//! its child.
//!
//! Progress goes to standard error; standard output is one JSON array of figures. It reads `/proc`, so it runs on Linux.

#![allow(clippy::expect_used, clippy::panic, reason = "a benchmark that cannot continue reports why")]

#[cfg(target_os = "linux")]
mod handover;
#[cfg(target_os = "linux")]
mod measure;

fn main() {
    #[cfg(target_os = "linux")]
    measure::measure();
    #[cfg(not(target_os = "linux"))]
    panic!("this benchmark reads /proc, which only Linux has");
}
