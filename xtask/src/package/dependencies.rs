//! The licences of the libraries in the command, by their own files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::run::cargo;

/// Beginnings of the names of files that hold a licence.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// Every library with its licence, then each text once, with the libraries that bring it.
pub(super) fn licences() -> Result<String> {
    let folders = folders()?;
    let mut list = "Forebay contains these libraries. Below the list are the texts of their licences.\n\n".to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for library in libraries()? {
        let (name, licence) = library.split_once('|').unwrap_or((&library, ""));
        list.push_str(&format!("{name}: {licence}\n"));
        let Some(folder) = folders.get(name) else { continue };
        for text in files(folder)? {
            texts.entry(text).or_default().push(name.to_owned());
        }
    }
    for (text, libraries) in texts {
        list.push_str(&format!("\n\n==== {} ====\n\n{}\n", libraries.join(", "), text.trim_end()));
    }
    Ok(list)
}

/// The libraries of the command, `name version|licence` each, without our own.
fn libraries() -> Result<Vec<String>> {
    let tree = ["tree", "-p", "forebay-cli", "--no-default-features", "-e", "normal", "--prefix", "none", "--locked"];
    let output = cargo(&tree).args(["--no-dedupe", "--format", "{p}|{l}"]).output()?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr).trim());
    let text = String::from_utf8(output.stdout).context("cargo tree does not write text")?;
    // `name v1.2.3 (proc-macro)|MIT`; ours have a path, which begins with a slash.
    let mut libraries: Vec<String> = text
        .lines()
        .filter(|line| !line.contains(" (/"))
        .filter_map(|line| {
            let (package, licence) = line.split_once('|')?;
            let mut words = package.split(' ');
            Some(format!("{} {}|{licence}", words.next()?, words.next()?.trim_start_matches('v')))
        })
        .collect();
    libraries.sort();
    libraries.dedup();
    Ok(libraries)
}

/// Where the source of each package is, by `name version`.
fn folders() -> Result<BTreeMap<String, PathBuf>> {
    let output = cargo(&["metadata", "--format-version", "1", "--locked", "--quiet"]).output()?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")?;
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let folder = |package: &Value| {
        let name = format!("{} {}", package["name"].as_str()?, package["version"].as_str()?);
        Some((name, Path::new(package["manifest_path"].as_str()?).parent()?.to_owned()))
    };
    Ok(packages.iter().filter_map(folder).collect())
}

/// The texts of the licences in a folder.
fn files(folder: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if NAMES.iter().any(|begin| name.starts_with(begin)) && entry.path().is_file() {
            texts.push(String::from_utf8_lossy(&fs::read(entry.path())?).replace("\r\n", "\n"));
        }
    }
    Ok(texts)
}
