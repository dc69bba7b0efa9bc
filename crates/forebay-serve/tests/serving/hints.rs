//! Told lists: at a server's port, behind its token, and at a socket of a tree's owner.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use forebay_live::told::{ListState, Mode, Named};
use forebay_live::tree::{NodeId, SOCKET_XATTR, Tree};
use forebay_serve::{At, Control, HINT, Options, StartError, Token};

use crate::{Answer, ask, eventually, forgetful, local, parse, raw, serve, tree};

/// So many files of 40,000 bytes.
fn files(count: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("d")).unwrap();
    for number in 0..count {
        fs::write(folder.path().join(format!("d/{number}")), vec![number as u8; 40_000]).unwrap();
    }
    folder
}

fn post(query: &str, body: &str) -> String {
    format!(
        "POST {HINT}{query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn told(socket: &Path, request: &str) -> Answer {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    parse(&answer)
}

fn control(tree: Arc<Tree>, socket: &Path) -> Result<Control, StartError> {
    Control::start(tree, &At::Socket(socket.to_owned()), Options::control())
}

fn lists(text: &str) -> Vec<ListState> {
    let mut json: serde_json::Value = serde_json::from_str(text).unwrap();
    serde_json::from_value(json["lists"].take()).unwrap()
}

fn state(socket: &Path) -> Vec<ListState> {
    lists(&told(socket, &format!("GET {HINT} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")).text())
}

/// A list comes in, its files are fetched in order, its readers move it on, and it is cleared.
#[test]
fn a_socket_takes_lists_and_tells_their_state() {
    let folder = files(40);
    let tree = tree(vec![(None, local(folder.path()))]);
    let socket = folder.path().join("control");
    let control = control(Arc::clone(&tree), &socket).unwrap();
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let published = tree.xattr(NodeId::ROOT, SOCKET_XATTR.as_ref()).unwrap();
    assert_eq!(published, socket.as_os_str().as_encoded_bytes());

    let lines: String = (0..40).rev().map(|number| format!("{{\"path\":\"/d/{number}\"}}\n")).collect();
    let answer = told(&socket, &post("?list=epoch%201", &(lines + "{\"path\":\"d/none\"}\n")));
    assert_eq!((answer.status, answer.text().trim()), (202, r#"{"accepted":41,"missing":["d/none"]}"#));
    eventually("all is fetched", || state(&socket)[0].fetched >= 40 * 40_000);
    assert_eq!(state(&socket)[0].name, "epoch 1");
    for number in (0..40).rev() {
        let node = tree.lookup(NodeId::ROOT, "d".as_ref()).unwrap().node;
        let node = tree.lookup(node, number.to_string().as_ref()).unwrap().node;
        let mut bytes = vec![0; 40_000];
        assert_eq!(tree.open(node).unwrap().read(1, 0, &mut bytes).unwrap(), 40_000);
        assert_eq!(bytes, vec![number as u8; 40_000]);
    }
    eventually("the cursor is at the end", || state(&socket)[0].cursor == 40);
    let list = state(&socket).remove(0);
    assert_eq!((list.length, list.accepted, list.missing, list.wasted), (40, 41, 1, 0));
    assert_eq!(list.missing_names, ["d/none"]);
    let answer = told(&socket, &post("?list=epoch%201", "{\"path\":\"d/1\"}\n{\"path\":\"d/no\"}\n"));
    assert_eq!((answer.status, answer.text().trim()), (202, r#"{"accepted":2,"missing":["d/no"]}"#), "only its own");
    let stats: serde_json::Value = serde_json::from_str(&tree.stats()).unwrap();
    assert_eq!((stats["misses"].as_u64(), stats["hints_used"].as_u64()), (Some(0), Some(400)), "{stats}");

    assert_eq!(told(&socket, &post("?list=epoch%201&mode=clear", "")).status, 202);
    assert_eq!(state(&socket), []);
    drop(control);
    assert!(!socket.exists(), "the socket goes with its mount");
}

#[test]
fn what_cannot_be_told_says_why() {
    let folder = files(3);
    let tree = tree(vec![(None, local(folder.path()))]);
    let socket = folder.path().join("control");
    let _control = control(Arc::clone(&tree), &socket).unwrap();
    for (query, body, said) in [
        ("", "{\"path\":\"d/1\"}\nd/2\n", "line 2 is not like {\"path\":\"a/b\",\"start\":0,\"end\":4096}"),
        ("", "{\"path\":\"../d/1\"}", "line 1 names \"../d/1\""),
        ("", "{\"path\":\"d/1\",\"start\":9,\"end\":9}", "the end must lie behind the start"),
        ("", "[\"d/1\", 0, 5]", "it is an array"),
        ("?mode=forget", "", "none of append, replace and clear"),
        ("?colour=red", "", "colour is neither list nor mode"),
        ("?list=", "", "1 to 200 bytes"),
        ("?mode=clear", "{\"path\":\"d/1\"}\n", "takes no names"),
    ] {
        let answer = told(&socket, &post(query, body));
        assert!(answer.status == 400 && answer.text().contains(said), "{query} {body}: {}", answer.text());
    }
    assert_eq!(told(&socket, "GET /none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").status, 404);
    assert_eq!(told(&socket, "PUT / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").status, 405);
    let again = control(Arc::clone(&tree), &socket);
    assert!(matches!(again, Err(StartError::Taken(_))));
    assert!(matches!(control(tree, &folder.path().join("d/1")), Err(StartError::NoSocket(_))));
}

/// A range is fetched, and no more; a socket that a crash has left is replaced.
#[test]
fn a_range_is_told_alone() {
    let folder = files(2);
    let tree = tree(vec![(None, local(folder.path()))]);
    let socket = folder.path().join("control");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let _control = control(Arc::clone(&tree), &socket).unwrap();
    let body = "{\"path\":\"d/0\",\"start\":4096,\"end\":12288}\n{\"path\":\"d/1\",\"start\":39000}\n";
    assert_eq!(told(&socket, &post("", body)).status, 202);
    eventually("it is fetched", || state(&socket)[0].fetched == 3 * 4096);
    // Another order replaces it.
    assert_eq!(told(&socket, &post("?mode=replace", "{\"path\":\"d/1\",\"end\":4096}\n")).status, 202);
    eventually("it is replaced", || state(&socket)[0].fetched == 4096);
    assert_eq!(state(&socket)[0].accepted, 1);
}

/// Names are taken by the function, too; their number is bounded by memory, and a list by another
/// reader's pace.
#[test]
fn names_that_wait_are_bounded() {
    let folder = files(1);
    let tree = tree(vec![(None, local(folder.path()))]);
    let endless = (0..u64::MAX).map(|number| Named::whole(format!("none/{number:060}")));
    let full = tree.tell("long", Mode::Append, endless).unwrap_err().to_string();
    assert!(full.contains("tell the rest once readers have gone on"), "{full}");
    tree.tell("long", Mode::Clear, []).unwrap();
    eventually("it is gone", || tree.told().is_empty());
}

#[test]
fn a_server_takes_lists_behind_its_token() {
    let folder = files(5);
    let secret = "a-token-of-no-worth";
    let server = serve(folder.path(), Options { token: Some(Token::new(secret).unwrap()), ..forgetful() });
    let body = "{\"path\":\"d/3\"}\n";
    assert_eq!(parse(&raw(server.address(), post("", body).as_bytes())).status, 401);
    let bearer = format!("Authorization: Bearer {secret}\r\n");
    let with = |request: String| request.replacen("Host: localhost\r\n", &format!("Host: localhost\r\n{bearer}"), 1);
    let answer = parse(&raw(server.address(), with(post("?list=a", body)).as_bytes()));
    assert_eq!((answer.status, answer.text().trim()), (202, r#"{"accepted":1,"missing":[]}"#));
    eventually("it is fetched", || {
        let answer = ask(&server, &format!("GET {HINT}"), &bearer);
        lists(&answer.text())[0].fetched == 10 * 4096
    });
    let page = with(post("", body)).replacen("Host: localhost\r\n", "Host: localhost\r\nOrigin: http://evil\r\n", 1);
    assert_eq!(parse(&raw(server.address(), page.as_bytes())).status, 403);
}
