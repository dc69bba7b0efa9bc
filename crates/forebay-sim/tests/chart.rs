//! Charts: the same bytes for the same values, everything that was asked for in them, and nothing
//! that breaks them.

use forebay_sim::chart::{Axis, Chart, Error, Kind, Series};

fn chart() -> Chart {
    let line = |name: &str, factor: f64| Series {
        name: name.into(),
        points: [1.0, 4.0, 16.0, 64.0].map(|x: f64| (x, factor * x.sqrt())).to_vec(),
    };
    Chart {
        title: "Throughput <of> \"all\" & more".into(),
        x: Axis::logarithmic("handlers at once"),
        y: Axis::linear("MB/s"),
        series: vec![line("linux", 1.0), line("competitive & arc", 3.0), line("<opt>", 5.5)],
    }
}

/// The texts of an SVG, which must be well-formed.
fn texts(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).unwrap_or_else(|error| panic!("{error} in\n{svg}"));
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.map(|node| node.text().unwrap_or_default().trim().to_owned()).collect()
}

#[test]
fn vectors_say_everything() {
    let svg = chart().svg();
    let texts = texts(&svg);
    let labels = ["handlers at once", "MB/s", "linux", "competitive & arc", "<opt>", "Throughput <of> \"all\" & more"];
    for label in labels.into_iter().chain(["1", "4", "16", "64", "0", "50"]) {
        assert!(texts.iter().any(|text| text == label), "{label:?} is not in {texts:?}");
    }
    assert!(svg.contains("<title>competitive &amp; arc\nhandlers at once: 16\nMB/s: 12</title>"), "{svg}");
    assert_eq!(svg, chart().svg(), "the same bytes");
}

/// The pixels of a PNG: width, height, and red, green, blue of each.
fn pixels(png: &[u8]) -> (u32, u32, Vec<[u8; 3]>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    (info.width, info.height, bytes.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect())
}

#[test]
fn pixels_show_lines_and_letters() {
    let png = chart().png();
    let (width, height, pixels) = pixels(&png);
    let of = |colour: [u8; 3]| pixels.iter().filter(|&&pixel| pixel == colour).count();
    for colour in [[0, 114, 178], [213, 94, 0], [0, 158, 115]] {
        assert!(of(colour) > 500, "{colour:?}: {}", of(colour));
    }
    assert!(of([255, 255, 255]) > (width * height) as usize / 2, "mostly white");
    // The heading is on top, in the colour of letters, which are drawn without a font of the
    // machine.
    let heading = pixels[..(width * 80) as usize].iter().filter(|pixel| pixel[0] < 90).count();
    assert!(heading > 500, "{heading} dark pixels");
    assert_eq!(png, chart().png(), "the same bytes");
    let other = Chart { title: "Another".into(), ..chart() };
    assert_ne!(png, other.png());
}

#[test]
fn a_page_needs_nothing_else() {
    let html = chart().html();
    assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"));
    assert!(html.contains("<svg") && html.contains("<th class=\"n\">competitive &amp; arc</th>"), "{html}");
    assert!(
        html.contains("<td class=\"n\">16</td><td class=\"n\">4</td><td class=\"n\">12</td><td class=\"n\">22</td>")
    );
    let addresses = html.replace("http://www.w3.org/2000/svg", "");
    assert!(!addresses.contains("http") && !addresses.contains("src="), "loads something");
}

#[test]
fn long_curves_are_thinned_in_the_table_and_not_in_the_line() {
    let points: Vec<(f64, f64)> = (1..=10_000).map(|x| (f64::from(x), 1.0 / f64::from(x))).collect();
    let chart = Chart { series: vec![Series { name: "lru".into(), points }], ..chart() };
    let html = chart.html();
    assert!(html.contains("200 of 10000 points") && html.matches("<tr>").count() < 250);
    let svg = chart.svg();
    assert!(svg.len() < 400_000, "{} bytes", svg.len());
    assert!(svg.matches("<title>").count() <= 120);
}

#[test]
fn nothing_that_is_drawn_breaks_it() {
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 1e-300, 1e300, f64::MAX];
    let all: Vec<(f64, f64)> = odd.iter().flat_map(|&x| odd.map(|y| (x, y))).collect();
    let series = |points: Vec<(f64, f64)>| vec![Series { name: "\u{1}\u{1b}[2J<a>".into(), points }];
    for logarithmic in [false, true] {
        let axis = Axis { label: "x".into(), logarithmic };
        let sets = [vec![], vec![(0.0, 0.0)], vec![(5.0, 5.0)], all.clone()];
        for series in sets.into_iter().map(series).chain([vec![]]) {
            let chart = Chart { title: String::new(), x: axis.clone(), y: axis.clone(), series };
            texts(&chart.svg());
            pixels(&chart.png());
            assert!(chart.html().contains("</html>"));
        }
    }
}

#[test]
fn the_ending_says_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    for (name, begin) in [("a.svg", b"<svg" as &[u8]), ("b.PNG", b"\x89PNG"), ("c.html", b"<!doctype html>")] {
        let path = folder.path().join(name);
        chart().write(&path).unwrap();
        assert!(std::fs::read(&path).unwrap().starts_with(begin), "{name}");
    }
    for name in ["plot", "plot.pdf", ".svg"] {
        let error = Kind::of(name.as_ref()).unwrap_err();
        assert!(matches!(error, Error::Ending { .. }) && error.to_string().contains(".svg, .png or .html"));
    }
    let error = chart().write(&folder.path().join("missing/a.svg")).unwrap_err().to_string();
    assert!(error.starts_with("cannot write ") && error.contains("missing/a.svg"), "{error}");
}
