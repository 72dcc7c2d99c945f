//! Making components.

use anyhow::{Context, Result, bail};
use wac_graph::types::Package;
use wac_graph::{CompositionGraph, EncodeOptions};
use wit_component::ComponentEncoder;

/// Makes a component of a core module that contains the bindings of a guest; adds nothing to it.
///
/// # Errors
/// The module is not valid, or its imports and exports do not fit.
pub fn componentise(module: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = ComponentEncoder::default();
    encoder.validate(true).module(module).context("it is no module of a component")?;
    encoder.encode().context("it cannot be encoded")
}

/// Fills those imports of `socket` that `plug` exports.
///
/// # Errors
/// One of the two is not valid, or they do not fit.
pub fn plug(socket: &[u8], plug: &[u8]) -> Result<Vec<u8>> {
    let mut graph = CompositionGraph::new();
    let package = Package::from_bytes("incumbent:socket", None, socket.to_vec(), graph.types_mut())?;
    let socket = graph.register_package(package)?;
    let package = Package::from_bytes("incumbent:plug", None, plug.to_vec(), graph.types_mut())?;
    let plug = graph.register_package(package)?;
    if let Err(error) = wac_graph::plug(&mut graph, vec![plug], socket) {
        bail!("they do not fit together: {error}");
    }
    graph.encode(EncodeOptions::default()).context("the composition cannot be encoded")
}
