//! Reads and listings of `object_store`'s http client.

use std::fs;

use forebay_testkit::trees::{OddTree, content};
use futures::TryStreamExt;
use object_store::http::HttpBuilder;
use object_store::path::Path as Key;
use object_store::{ClientOptions, Error, GetOptions, ObjectStore, ObjectStoreExt};
use tokio::runtime::Runtime;

use crate::{forgetful, serve};
use forebay_serve::Server;

fn client(server: &Server) -> impl ObjectStore {
    let options = ClientOptions::new().with_allow_http(true);
    HttpBuilder::new().with_url(format!("http://{}", server.address())).with_client_options(options).build().unwrap()
}

#[test]
fn it_lists_looks_and_reads() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = content(3, 2_000_000);
    fs::create_dir_all(folder.path().join("a/b c")).unwrap();
    fs::create_dir(folder.path().join("a/empty")).unwrap();
    for name in ["top", "a/100%.bin", "a/b c/ü#?&.bin"] {
        fs::write(folder.path().join(name), &bytes).unwrap();
    }
    let server = serve(folder.path(), forgetful());
    let store = client(&server);
    Runtime::new().unwrap().block_on(async {
        let keys = |listed: Vec<object_store::ObjectMeta>| {
            let mut keys: Vec<String> = listed.into_iter().map(|meta| meta.location.to_string()).collect();
            keys.sort();
            keys
        };
        let all: Vec<_> = store.list(None).try_collect().await.unwrap();
        assert!(all.iter().all(|meta| meta.size == 2_000_000 && meta.e_tag.is_some()));
        assert_eq!(keys(all), ["a/100%.bin", "a/b c/ü#?&.bin", "top"]);
        let below = store.list_with_delimiter(Some(&Key::parse("a").unwrap())).await.unwrap();
        assert_eq!(keys(below.objects), ["a/100%.bin"]);
        let mut folders: Vec<_> = below.common_prefixes.iter().map(ToString::to_string).collect();
        folders.sort();
        assert_eq!(folders, ["a/b c", "a/empty"]);
        let nothing: Vec<_> = store.list(Some(&Key::parse("nothing").unwrap())).try_collect().await.unwrap();
        assert!(nothing.is_empty());

        let key = Key::parse("a/b c/ü#?&.bin").unwrap();
        let meta = store.head(&key).await.unwrap();
        assert_eq!(meta.size, 2_000_000);
        assert!(store.get_range(&key, 1_000_000..1_500_001).await.unwrap() == bytes[1_000_000..1_500_001]);
        let several = store.get_ranges(&key, &[0..10, 1_900_000..2_000_000]).await.unwrap();
        assert!(several[0] == bytes[..10] && several[1] == bytes[1_900_000..]);
        assert!(store.get(&key).await.unwrap().bytes().await.unwrap() == bytes);
        let wanted = |tag: Option<&str>| GetOptions { if_match: tag.map(str::to_owned), ..GetOptions::default() };
        assert!(store.get_opts(&key, wanted(meta.e_tag.as_deref())).await.is_ok());
        let other = store.get_opts(&key, wanted(Some("\"other\""))).await;
        assert!(matches!(other, Err(Error::Precondition { .. })));
        assert!(matches!(store.head(&Key::parse("nothing").unwrap()).await, Err(Error::NotFound { .. })));
        assert!(store.put(&key, "x".into()).await.is_err() && store.delete(&key).await.is_err(), "it only reads");
    });
    assert!(fs::read(folder.path().join("a/b c/ü#?&.bin")).unwrap() == bytes);
}

#[test]
fn names_that_it_cannot_have_hide_no_others() {
    let odd = OddTree::new(9).unwrap();
    let server = serve(&odd.root(), forgetful());
    let store = client(&server);
    Runtime::new().unwrap().block_on(async {
        let listed = store.list_with_delimiter(None).await.unwrap();
        let names: Vec<_> = listed.objects.iter().map(|meta| meta.location.to_string()).collect();
        for name in ["with space", "ünïcödé 名前", "per%20cent #?&+", "quote\"'\\", "link", "unreadable"] {
            assert!(names.iter().any(|listed| listed == name), "{name} in {names:?}");
        }
        for name in &odd.files {
            let Some(name) = name.to_str().filter(|name| !name.contains(['/', '\n']) && *name != "sparse") else {
                continue;
            };
            let key = Key::parse(name).unwrap();
            let bytes = store.get(&key).await.unwrap().bytes().await.unwrap();
            assert!(bytes == fs::read(odd.root().join(name)).unwrap(), "{name}");
        }
        // A folder of a depth, and a walk over all of it.
        let all: Vec<_> = store.list(None).try_collect().await.unwrap();
        assert!(all.iter().any(|meta| meta.location.as_ref().ends_with("level39/bottom")));
    });
}

#[test]
fn a_large_folder_is_listed_whole() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..2000 {
        fs::write(folder.path().join(format!("file-{number:04}")), "").unwrap();
    }
    let server = serve(folder.path(), forgetful());
    let store = client(&server);
    let listed = Runtime::new().unwrap().block_on(store.list_with_delimiter(None)).unwrap();
    let names: Vec<_> = listed.objects.iter().map(|meta| meta.location.to_string()).collect();
    assert_eq!(names, (0..2000).map(|number| format!("file-{number:04}")).collect::<Vec<_>>(), "in order, each once");
}
