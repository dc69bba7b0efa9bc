//! A plain web server as a source: no listing, no folders, but files by their names.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use forebay_source::object::StoreOptions;
use forebay_source::{Error, Kind, RemoteSource, Source};
use forebay_testkit::need;
use forebay_testkit::process::Running;
use forebay_testkit::trees::content;

use crate::{fetch, read_all};

/// An nginx over `folder/www`.
fn nginx(program: &Path, folder: &Path) -> (Running, String) {
    fs::create_dir(folder.join("www")).unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let dir = folder.display();
    let conf = format!(
        "daemon off; master_process off; pid {dir}/pid; error_log {dir}/log; events {{}}
         http {{ access_log off; client_body_temp_path {dir}/a; proxy_temp_path {dir}/b; fastcgi_temp_path {dir}/c;
                 uwsgi_temp_path {dir}/d; scgi_temp_path {dir}/e;
                 server {{ listen {address}; root {dir}/www; }} }}"
    );
    fs::write(folder.join("conf"), conf).unwrap();
    let mut command = Command::new(program);
    command.arg("-p").arg(folder).arg("-c").arg(folder.join("conf")).arg("-e").arg(folder.join("log"));
    let running = Running::start(command).unwrap();
    while TcpStream::connect(address).is_err() {
        assert!(running.ended().unwrap().is_none(), "{}", fs::read_to_string(folder.join("log")).unwrap_or_default());
        std::thread::sleep(Duration::from_millis(10));
    }
    (running, format!("http://{address}"))
}

#[test]
fn files_of_a_web_server_read_by_name_and_never_mixed() {
    let folder = tempfile::tempdir().unwrap();
    let (_nginx, url) = nginx(&need!("nginx"), folder.path());
    let file = folder.path().join("www/below/with space.bin");
    fs::create_dir(folder.path().join("www/below")).unwrap();
    fs::write(&file, content(1, 1_000_003)).unwrap();
    let source = RemoteSource::open_uri(&format!("{url}/below/"), &StoreOptions::default()).unwrap();
    source.check().unwrap();
    let name = Path::new("with space.bin");
    let stat = source.stat(name).unwrap();
    assert_eq!((stat.kind, stat.size), (Kind::File, 1_000_003));
    assert!(read_all(&source, name).unwrap() == content(1, 1_000_003));
    assert_eq!(source.list(Path::new("")).unwrap_err().errno(), libc::EOPNOTSUPP);
    assert_eq!(source.stat(Path::new("nothing")).unwrap_err().errno(), libc::ENOENT);

    let object = source.open(name).unwrap();
    // A whole second later, since the server's tags are made of seconds and size.
    std::thread::sleep(Duration::from_millis(1100));
    fs::write(&file, content(2, 1_000_003)).unwrap();
    assert!(matches!(fetch(&*object, 4096, 4096), Err(Error::Stale(_))));
    assert!(read_all(&source, name).unwrap() == content(2, 1_000_003));
}
