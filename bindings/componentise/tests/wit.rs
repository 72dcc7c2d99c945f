//! Checks that the WIT is complete and documented, and that tools lose nothing of it.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may panic; it says why")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use wit_component::{DecodedWasm, WitPrinter};
use wit_parser::{Docs, PackageId, Resolve, Stability, Type, TypeDefKind};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit")
}

fn parsed() -> (Resolve, PackageId) {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(folder()).unwrap();
    (resolve, package)
}

fn printed(resolve: &Resolve, package: PackageId) -> String {
    let mut printer = WitPrinter::default();
    printer.print(resolve, package, &[]).unwrap();
    printer.output.to_string()
}

/// Every item that needs docs and a version: its name, its docs, and its own version if it has one.
fn items(resolve: &Resolve, package: PackageId) -> Vec<(String, Docs, Option<Stability>)> {
    let mut items = Vec::new();
    for (name, world) in &resolve.packages[package].worlds {
        let world = &resolve.worlds[*world];
        items.push((format!("world {name}"), world.docs.clone(), Some(world.stability.clone())));
    }
    for (name, interface) in &resolve.packages[package].interfaces {
        let interface = &resolve.interfaces[*interface];
        items.push((name.clone(), interface.docs.clone(), Some(interface.stability.clone())));
        for function in interface.functions.values() {
            let place = format!("{name}.{}", function.name);
            items.push((place, function.docs.clone(), Some(function.stability.clone())));
        }
        for (type_name, id) in &interface.types {
            let def = &resolve.types[*id];
            let place = format!("{name}.{type_name}");
            let parts: Vec<(&String, &Docs)> = match &def.kind {
                // A name from another interface, which is checked there.
                TypeDefKind::Type(Type::Id(_)) => continue,
                TypeDefKind::Record(record) => record.fields.iter().map(|f| (&f.name, &f.docs)).collect(),
                TypeDefKind::Variant(variant) => variant.cases.iter().map(|c| (&c.name, &c.docs)).collect(),
                TypeDefKind::Enum(cases) => cases.cases.iter().map(|c| (&c.name, &c.docs)).collect(),
                _ => Vec::new(),
            };
            items.extend(
                parts.into_iter().map(|(part, docs)| (format!("{place}.{part}"), docs.clone(), None)),
            );
            items.push((place, def.docs.clone(), Some(def.stability.clone())));
        }
    }
    items
}

#[test]
fn every_item_is_documented() {
    let (resolve, package) = parsed();
    let items = items(&resolve, package);
    assert!(items.len() > 150, "the whole package was looked at: {}", items.len());
    let bare: Vec<_> = items.iter().filter(|(_, docs, _)| docs.contents.is_none()).map(|i| &i.0).collect();
    assert_eq!(bare, Vec::<&String>::new());
}

#[test]
fn every_item_says_since_when_it_is_there() {
    let (resolve, package) = parsed();
    let unsaid: Vec<_> = items(&resolve, package)
        .into_iter()
        .filter(|(_, _, stability)| {
            stability.as_ref().is_some_and(|s| !matches!(s, Stability::Stable { .. }))
        })
        .map(|(place, ..)| place)
        .collect();
    assert_eq!(unsaid, Vec::<String>::new());
}

#[test]
fn every_error_has_a_case_for_what_is_not_foreseen() {
    let (resolve, package) = parsed();
    let mut with_other = Vec::new();
    for (name, interface) in &resolve.packages[package].interfaces {
        for (type_name, id) in &resolve.interfaces[*interface].types {
            if let TypeDefKind::Variant(variant) = &resolve.types[*id].kind
                && variant.cases.iter().any(|case| case.name == "other")
            {
                with_other.push(format!("{name}.{type_name}"));
            }
        }
    }
    with_other.sort();
    assert_eq!(with_other, ["candidates.misuse", "elections.error", "events.warning-kind", "types.fault"]);
}

#[test]
fn nothing_is_lost_when_it_is_printed_and_read_again() {
    let (resolve, package) = parsed();
    let text = printed(&resolve, package);
    let mut again = Resolve::default();
    let second = again.push_str("election.wit", &text).unwrap();
    assert_eq!(printed(&again, second), text);
}

#[test]
fn nothing_is_lost_when_it_travels_as_a_package_in_wasm() {
    let (resolve, package) = parsed();
    let text = printed(&resolve, package);
    let wasm = wit_component::encode(&resolve, package, false).unwrap();
    match wit_component::decode(&wasm).unwrap() {
        DecodedWasm::WitPackage(decoded, package) => assert_eq!(printed(&decoded, package), text),
        DecodedWasm::Component(..) => panic!("a package of WIT was encoded"),
    }
}

/// Checks for everything that `wkg` refuses to publish or publishes wrongly: nothing is left to resolve, and the name
/// and the version are those of the release.
#[test]
fn the_package_can_be_published_by_itself() {
    let (resolve, package) = parsed();
    assert_eq!(resolve.packages.len(), 1, "it depends on no other package");
    let name = resolve.packages[package].name.to_string();
    assert_eq!(name, format!("incumbent:election@{}", env!("CARGO_PKG_VERSION")));
    let items = |resolve: &Resolve, package: PackageId| {
        let package = &resolve.packages[package];
        package.worlds.keys().chain(package.interfaces.keys()).cloned().collect::<BTreeSet<_>>()
    };
    let wasm = wit_component::encode(&resolve, package, false).unwrap();
    match wit_component::decode(&wasm).unwrap() {
        DecodedWasm::WitPackage(decoded, published) => {
            assert_eq!(decoded.packages[published].name.to_string(), name);
            assert_eq!(items(&decoded, published), items(&resolve, package));
        }
        DecodedWasm::Component(..) => panic!("a package of WIT was encoded"),
    }
}

/// Cargo builds a crate from its own folder alone, so the WIT has to be inside it.
#[test]
fn the_crate_for_hosts_carries_the_wit_with_it() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let list = Command::new(cargo)
        .args(["package", "--list", "--allow-dirty", "--offline", "--package", "incumbent-wasmtime"])
        .current_dir(folder())
        .output()
        .unwrap();
    assert!(list.status.success(), "{}", String::from_utf8_lossy(&list.stderr));
    let list = String::from_utf8(list.stdout).unwrap();
    let packed: Vec<_> = list.lines().filter_map(|line| line.strip_prefix("wit/")).collect();
    let mut files: Vec<_> = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(packed, files, "bindings/wasmtime-host/wit is a link to wit");
    let copies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wasmtime-host/wit");
    for file in files {
        let [copy, own] = [&copies, &folder()].map(|folder| fs::read_to_string(folder.join(&file)).unwrap());
        assert_eq!(copy, own, "{}", file.display());
    }
}

#[test]
fn one_file_holds_one_interface_of_its_name() {
    let (resolve, package) = parsed();
    let mut interfaces: Vec<_> = resolve.packages[package].interfaces.keys().cloned().collect();
    interfaces.push("worlds".into());
    interfaces.sort();
    let mut files: Vec<_> = fs::read_dir(folder())
        .unwrap()
        .map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    files.sort();
    assert_eq!(files, interfaces);
}
