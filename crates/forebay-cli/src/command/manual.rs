//! `forebay manual`: the pages of man(1), written from the definitions of the options.

use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::failure::Failure;
use crate::fstab;
use crate::options::{self, Fstab, Manual};

/// Writes a page for each command, and that of mount.forebay, into the folder.
pub(crate) fn run(options: &Manual) -> Result<(), Failure> {
    let folder = &options.folder;
    write(folder).map_err(|error| Failure::run(format!("cannot write manual pages to {}: {error}", folder.display())))
}

fn write(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(options::definitions(), folder)?;
    Man::new(mount()).section("8").generate_to(folder).map(drop)
}

/// The definition of mount.forebay, with the options that can stand behind -o.
fn mount() -> Command {
    let mut text = "Options of forebay mount, which stand behind -o without dashes. A flag needs no value. \
                    forebay-mount(1) explains them.\n"
        .to_owned();
    for (name, help) in fstab::settable(&options::definitions()) {
        text.push_str(&format!("\n  {name}: {help}"));
    }
    text.push_str(
        "\n\nThe words of fstab(5), mount(8) and systemd.mount(5) can stand beside them. The mount is always \
         read-only, nosuid and nodev, so rw, suid and dev have no effect. exec and noexec have their usual meaning. \
         remount is refused. \
         \n\nExit codes are those of mount(8): 0, mounted; 1, a wrong line; 32, the mount failed.",
    );
    Fstab::command().after_long_help(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(folder: &Path, name: &str) -> String {
        let page = std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        page.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\fI", "")
    }

    #[test]
    fn each_command_has_a_page_with_each_of_its_options() {
        fn walk(folder: &Path, command: &Command, name: &str) -> usize {
            let text = page(folder, &format!("{name}.1"));
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let Some(long) = arg.get_long() else { continue };
                assert!(text.contains(&format!("--{long}")), "{name}: --{long}");
            }
            assert!(!text.contains("--detached"), "{name}");
            let shown = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
            1 + shown.map(|below| walk(folder, below, &format!("{name}-{}", below.get_name()))).sum::<usize>()
        }
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        let mut definitions = options::definitions();
        definitions.build();
        let pages = walk(folder.path(), &definitions, "forebay");
        // The one beside them is mount.forebay's.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), pages + 1);
        let line = page(folder.path(), "mount.forebay.8");
        for (name, _) in fstab::settable(&options::definitions()) {
            assert!(line.contains(&format!("{name}: ")), "{name}");
        }
    }
}
