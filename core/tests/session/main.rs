//! One connection with several campaigns: the exact outputs for each input.

mod connection;
mod entering;
mod harness;
mod reports;
mod requests;
mod watching;
