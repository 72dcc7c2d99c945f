//! Looking into components, and at WIT.

use std::path::Path;

use anyhow::{Context, Result, bail};
use wasmparser::{Parser, Payload, Validator, WasmFeatures};
use wit_component::DecodedWasm;
use wit_parser::{Resolve, WorldId, WorldItem};

/// What a component imports or exports under one name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interface {
    /// `package/interface@version`, or a plain name.
    pub name: String,
}

/// The names of what a component imports, in the binary itself, in their order.
///
/// # Errors
/// What is not valid in it.
pub fn imports(component: &[u8]) -> Result<Vec<Interface>> {
    names(component, |payload| match payload {
        Payload::ComponentImportSection(section) => {
            section.into_iter().map(|import| Ok(import?.name.name.to_owned())).collect()
        }
        _ => Ok(Vec::new()),
    })
}

/// The names of what a component exports, in the binary itself, in their order.
///
/// # Errors
/// What is not valid in it.
pub fn exports(component: &[u8]) -> Result<Vec<Interface>> {
    names(component, |payload| match payload {
        Payload::ComponentExportSection(section) => {
            section.into_iter().map(|export| Ok(export?.name.name.to_owned())).collect()
        }
        _ => Ok(Vec::new()),
    })
}

fn names(
    component: &[u8],
    of: impl Fn(Payload<'_>) -> Result<Vec<String>>,
) -> Result<Vec<Interface>> {
    Validator::new_with_features(WasmFeatures::default()).validate_all(component)?;
    let mut names = Vec::new();
    let mut depth = 0u32;
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) if depth > 0 => depth -= 1,
            payload if depth == 0 => names.extend(of(payload)?.into_iter().map(|name| Interface { name })),
            _ => {}
        }
    }
    Ok(names)
}

/// What a world asks for and gives, by a text of each function's and type's shape: its imports, its exports.
pub type Shape = (Vec<String>, Vec<String>);

/// The worlds of the WIT in a folder, by name, each with what it imports and exports.
///
/// # Errors
/// What is not valid in it.
pub fn worlds(folder: &Path) -> Result<Vec<(String, Shape)>> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(folder).with_context(|| format!("the WIT in {}", folder.display()))?;
    let worlds = resolve.packages[package].worlds.iter();
    Ok(worlds.map(|(name, world)| (name.clone(), shape(&resolve, *world))).collect())
}

fn shape(resolve: &Resolve, world: WorldId) -> Shape {
    let world = &resolve.worlds[world];
    let names = |items: &mut dyn Iterator<Item = (&wit_parser::WorldKey, &WorldItem)>| {
        items.map(|(key, _)| resolve.name_world_key(key)).collect()
    };
    (names(&mut world.imports.iter()), names(&mut world.exports.iter()))
}

/// The WIT that a component carries.
///
/// # Errors
/// What is not valid in it.
pub fn decoded(component: &[u8]) -> Result<(Resolve, WorldId)> {
    match wit_component::decode(component)? {
        DecodedWasm::Component(resolve, world) => Ok((resolve, world)),
        DecodedWasm::WitPackage(..) => bail!("it is a package of WIT, and no component"),
    }
}
