//! Makes components from core modules, composes them, and lists their imports and exports.
//!
//! This is a separate crate, because its dependencies are large and `xtask` has to build in seconds.

use std::path::Path;

use anyhow::{Context, Result, bail};
use wac_graph::types::Package;
use wac_graph::{CompositionGraph, EncodeOptions};
use wasmparser::{BinaryReader, BinaryReaderError, Parser, Payload, Validator, WasmFeatures};
use wit_component::ComponentEncoder;
use wit_parser::Resolve;

/// Makes a component from a core module that contains the bindings of a guest; adds nothing to it.
///
/// # Errors
/// The module is not valid, or its imports and exports do not fit.
pub fn componentise(module: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = ComponentEncoder::default();
    encoder.validate(true).module(module).context("it is not the core module of a component")?;
    let component = encoder.encode().context("it cannot be encoded")?;
    without_names(&component).context("the encoder's component cannot be read")
}

/// The custom section with the names of a component's parts. Only debuggers read it, and it is a thirtieth of our
/// component.
const NAMES: &str = "component-name";

fn without_names(component: &[u8]) -> Result<Vec<u8>, BinaryReaderError> {
    let mut sections = BinaryReader::new(component, 0);
    // The magic number, the version and the layer.
    let mut kept = sections.read_bytes(8)?.to_vec();
    while !sections.eof() {
        let begin = sections.current_position();
        let (is_custom, size) = (sections.read_u8()? == 0, sections.read_var_u32()?);
        let content = sections.read_bytes(size as usize)?;
        if !is_custom || BinaryReader::new(content, 0).read_string()? != NAMES {
            kept.extend_from_slice(&component[begin..sections.current_position()]);
        }
    }
    Ok(kept)
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

/// The names that a component imports and exports, as its binary spells them: a versioned name has an `@`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The interfaces that it imports from its host.
    pub imports: Vec<String>,
    /// The interfaces that it exports to its host.
    pub exports: Vec<String>,
}

impl Names {
    /// Reads the names of a component.
    ///
    /// # Errors
    /// The component is not valid.
    pub fn of(component: &[u8]) -> Result<Self> {
        Validator::new_with_features(WasmFeatures::default()).validate_all(component)?;
        let mut names = Self::default();
        // Nested modules and components have names of their own.
        let mut depth = 0u32;
        for payload in Parser::new(0).parse_all(component) {
            match payload? {
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(section) if depth == 0 => {
                    for import in section {
                        names.imports.push(import?.name.name.to_owned());
                    }
                }
                Payload::ComponentExportSection(section) if depth == 0 => {
                    for export in section {
                        names.exports.push(export?.name.name.to_owned());
                    }
                }
                _ => {}
            }
        }
        Ok(names)
    }
}

/// Checks that a component fits a world of the WIT in `folder`: it imports nothing else and exports everything, with
/// exactly the same types.
///
/// # Errors
/// The component differs; the error says how.
pub fn is_of_world(component: &[u8], folder: &Path, world: &str) -> Result<()> {
    let mut resolve = Resolve::default();
    let (package, _) =
        resolve.push_dir(folder).with_context(|| format!("the WIT in {}", folder.display()))?;
    let world = resolve.select_world(&[package], Some(world))?;
    wit_component::targets(&resolve, world, component, false)
}
