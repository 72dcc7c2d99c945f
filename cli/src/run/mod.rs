//! `incumbent run` (placeholder)
use crate::failure::Failure;
/// x
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}
/// x
#[derive(Debug, clap::Args)]
pub(crate) struct GuardArgs {}
pub(crate) async fn run(_: Args) -> Result<u8, Failure> { Ok(0) }
pub(crate) async fn guard(_: &GuardArgs) -> Result<(), Failure> { Ok(()) }
