//! nginx in front of the server: it keeps what it has read, asks anew by tag, and passes ranges on.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use forebay_testkit::need;
use forebay_testkit::process::Running;
use forebay_testkit::trees::content;

use crate::{curl, eventually, forgetful, serve};

/// nginx that passes requests on to `upstream` and keeps answers for a second, by slices of 64 KiB.
fn nginx(program: &Path, folder: &Path, upstream: SocketAddr) -> (Running, String) {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let dir = folder.display();
    let conf = format!(
        "daemon off; master_process off; pid {dir}/pid; error_log {dir}/log; events {{}}
         http {{ access_log off; client_body_temp_path {dir}/a; proxy_temp_path {dir}/b; fastcgi_temp_path {dir}/c;
                 uwsgi_temp_path {dir}/d; scgi_temp_path {dir}/e;
                 proxy_cache_path {dir}/kept keys_zone=kept:1m;
                 server {{ listen {address};
                    location / {{ proxy_pass http://{upstream}; proxy_http_version 1.1; proxy_set_header Connection \"\";
                                  proxy_cache kept; proxy_cache_valid 200 206 1s; proxy_cache_revalidate on;
                                  add_header X-Kept $upstream_cache_status; }} }} }}"
    );
    fs::write(folder.join("conf"), conf).unwrap();
    let mut command = Command::new(program);
    command.arg("-p").arg(folder).arg("-c").arg(folder.join("conf")).arg("-e").arg(folder.join("log"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let running = Running::start(command).unwrap();
    eventually("nginx listens", || {
        assert!(running.ended().unwrap().is_none(), "{}", fs::read_to_string(folder.join("log")).unwrap_or_default());
        TcpStream::connect(address).is_ok()
    });
    (running, format!("http://{address}"))
}

#[test]
fn a_proxy_keeps_and_revalidates() {
    let program = need!("nginx");
    let (folder, proxy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let bytes = content(4, 1_000_003);
    fs::create_dir(folder.path().join("be low")).unwrap();
    let file = folder.path().join("be low/file.bin");
    fs::write(&file, &bytes).unwrap();
    let server = serve(folder.path(), forgetful());
    let (_nginx, url) = nginx(&program, proxy.path(), server.address());
    let name = format!("{url}/be%20low/file.bin");
    let first = curl(&[&name]);
    assert!(first.status == 200 && first.body == bytes);
    assert_eq!(first.header("x-kept"), Some("MISS"));
    // Fresh or revalidated by its tag: in either case not sent again.
    let again = curl(&[&name]);
    assert!(again.body == bytes && matches!(again.header("x-kept"), Some("HIT" | "REVALIDATED")));
    let part = curl(&["--range", "500000-999999", &name]);
    assert!(part.status == 206 && part.body == bytes[500_000..1_000_000]);
    assert!(curl(&[&format!("{url}/be%20low/")]).text().contains("./file.bin"));

    let changed = content(5, 1_000_003);
    fs::write(&file, &changed).unwrap();
    eventually("the proxy sees the change", || {
        let now = curl(&[&name]);
        assert!(now.body == bytes || now.body == changed, "never of both");
        now.body == changed
    });
}
