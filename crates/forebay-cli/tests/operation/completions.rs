//! Completions in the shells themselves: every option of every command is offered.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use forebay_testkit::need;

use crate::{forebay, text};

/// The commands and their options, as docs/cli.md has them.
fn documented() -> Vec<(String, BTreeSet<String>)> {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md")).expect("there");
    let mut commands = Vec::new();
    for section in page.split("\n## forebay ").skip(1).flat_map(|section| section.split("\n### forebay ")) {
        let name = section.lines().next().expect("a heading").to_owned();
        let options = section.split("| `--").skip(1).filter_map(|row| row.split([' ', '`', ',']).next());
        let options: BTreeSet<String> = options.map(|option| format!("--{option}")).collect();
        if !options.is_empty() {
            commands.push((name, options));
        }
    }
    assert!(commands.len() > 20, "{commands:?}");
    commands
}

/// The script for a shell, in a file.
fn script(shell: &str, folder: &Path) -> String {
    let output = forebay(&["completions", shell]).output().expect("it starts");
    assert!(output.status.success());
    let path = folder.join(shell);
    std::fs::write(&path, output.stdout).expect("written");
    text(&path).to_owned()
}

/// The answer of a shell to a program that completes each command's line: a line for each offer,
/// with the command before it.
fn offered(shell: &Path, args: &[&str], program: &str) -> BTreeSet<(String, String)> {
    let output = Command::new(shell).args(args).arg("-c").arg(program).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    pairs(&String::from_utf8_lossy(&output.stdout))
}

/// Lines of a command and an offer, with a bar between them.
fn pairs(lines: &str) -> BTreeSet<(String, String)> {
    let pairs = lines.lines().filter_map(|line| line.split_once('|'));
    pairs.map(|(command, word)| (command.to_owned(), word.split(['\t', '=']).next().unwrap_or("").to_owned())).collect()
}

fn all_are_offered(offered: &BTreeSet<(String, String)>) {
    for (command, options) in documented() {
        for option in options {
            assert!(offered.contains(&(command.clone(), option.clone())), "forebay {command}: {option}");
        }
        assert!(!offered.contains(&(command, "--detached".to_owned())), "it is hidden");
    }
}

#[test]
fn bash_offers_every_option() {
    let (bash, folder) = (need!("bash"), tempfile::tempdir().expect("a folder"));
    let mut program = format!("source {}\n", script("bash", folder.path()));
    for (command, _) in documented() {
        program.push_str(&format!(
            "COMP_WORDS=(forebay {command} --) COMP_CWORD={} COMPREPLY=()\n_forebay forebay -- \"\"\n\
             for word in \"${{COMPREPLY[@]}}\"; do echo '{command}|'\"$word\"; done\n",
            command.split(' ').count() + 1
        ));
    }
    all_are_offered(&offered(&bash, &["--norc"], &program));
}

#[test]
fn bash_offers_the_policies() {
    let (bash, folder) = (need!("bash"), tempfile::tempdir().expect("a folder"));
    let program = format!(
        "source {}\nCOMP_WORDS=(forebay mount --policy \"\") COMP_CWORD=3\n_forebay forebay \"\" --policy\n\
         for word in \"${{COMPREPLY[@]}}\"; do echo \"policy|$word\"; done\n",
        script("bash", folder.path())
    );
    let offered = offered(&bash, &["--norc"], &program);
    for name in ["auto", "competitive", "sieve"] {
        assert!(offered.contains(&("policy".to_owned(), name.to_owned())), "{name}: {offered:?}");
    }
}

#[test]
fn fish_offers_every_option() {
    let (fish, folder) = (need!("fish"), tempfile::tempdir().expect("a folder"));
    let mut program = format!("source {}\n", script("fish", folder.path()));
    for (command, _) in documented() {
        program.push_str(&format!(
            "for word in (complete -C 'forebay {command} --'); echo '{command}|'(string split -f1 -- \\t $word); end\n"
        ));
    }
    all_are_offered(&offered(&fish, &["--no-config"], &program));
}

/// zsh completes only in its editor, so an interactive one at a terminal of its own is asked. Its
/// `compadd`, by which completions are offered, writes them down.
#[test]
fn zsh_offers_every_option() {
    let (zsh, folder) = (need!("zsh"), tempfile::tempdir().expect("a folder"));
    let (script, written) = (script("zsh", folder.path()), folder.path().join("offers"));
    let lines: String = documented().iter().map(|(command, _)| format!("'{command}' ")).collect();
    let inner = folder.path().join("inner");
    let editor = format!(
        r#"PROMPT=
        autoload -U compinit; compinit -D -u
        source {script}
        compadd() {{
            if [[ " ${{@[1,(i)(-|--)]}} " == *" -"(O|A|D)" "* ]]; then builtin compadd "$@"; return; fi
            local -a offers; builtin compadd -O offers "$@"
            print -rl -- "$asked|"$^offers >>{}
            builtin compadd "$@"
        }}
        ask() {{
            for asked in {lines}; do BUFFER="forebay $asked --" CURSOR=$#BUFFER; zle list-choices; done
            exit
        }}
        zle -N zle-line-init ask
        "#,
        text(&written)
    );
    std::fs::write(&inner, editor).expect("written");
    // The screen is read, so that the editor does not wait for it.
    let program = format!(
        "zmodload zsh/zpty && zpty editor {} -f -i && zpty -w editor 'source {}' && while zpty -r editor screen; do
         printf '%s' $screen; done >{}",
        text(&zsh),
        text(&inner),
        text(&folder.path().join("screen"))
    );
    let output = Command::new(&zsh).args(["-f", "-c", &program]).env("TERM", "xterm").output().expect("it starts");
    let screen = std::fs::read(folder.path().join("screen")).unwrap_or_default();
    let offers = std::fs::read_to_string(&written)
        .unwrap_or_else(|error| panic!("{error}: {output:?}: {}", String::from_utf8_lossy(&screen)));
    all_are_offered(&pairs(&offers));
}
