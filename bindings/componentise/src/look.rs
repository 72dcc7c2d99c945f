//! Reads the imports and exports of components.

use std::path::Path;

use anyhow::{Context, Result};
use wasmparser::{Parser, Payload, Validator, WasmFeatures};
use wit_parser::Resolve;

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
