//! Pictures of results: lines over axes, as SVG, as PNG, or as a page for a browser. The same chart
//! gives the same bytes.

mod draw;
mod heat;
mod page;
mod scale;

use std::path::{Path, PathBuf};

pub use draw::register_font;
pub use heat::{HeatCell, HeatMap, HeatRow};
pub use page::escape;
pub use scale::short;

/// A line.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points, in the order of x.
    pub points: Vec<(f64, f64)>,
}

/// An axis.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Axis {
    /// Its quantity, with the unit.
    pub label: String,
    /// Whether equal ratios, not equal differences, are equally long. A value that is not positive
    /// has no place on such an axis and is left out.
    pub logarithmic: bool,
}

impl Axis {
    /// Equal differences are equally long.
    pub fn linear(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), logarithmic: false }
    }

    /// Equal ratios are equally long.
    pub fn logarithmic(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), logarithmic: true }
    }
}

/// A picture.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Chart {
    /// Its heading.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
}

/// The forms of a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Scalable; the points say their values under the pointer.
    Svg,
    /// Pixels, for programs that show nothing else.
    Png,
    /// A page that needs nothing else: the picture and the table of its values.
    Html,
}

impl Kind {
    /// By the ending of a file's name.
    pub fn of(path: &Path) -> Result<Kind, Error> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
        match ending.as_str() {
            "svg" => Ok(Kind::Svg),
            "png" => Ok(Kind::Png),
            "html" => Ok(Kind::Html),
            _ => Err(Error::Ending { path: path.to_owned() }),
        }
    }
}

/// Why a picture is not written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its name does not say what to draw.
    #[error("{}: a picture's name ends in .svg, .png or .html", .path.display())]
    Ending {
        /// The file.
        path: PathBuf,
    },
    /// The operating system reports an error.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl Chart {
    /// As SVG.
    pub fn svg(&self) -> String {
        draw::svg(self)
    }

    /// As PNG.
    pub fn png(&self) -> Vec<u8> {
        draw::png(self)
    }

    /// As a page.
    pub fn html(&self) -> String {
        page::page(&self.title, &self.figure())
    }

    /// The picture and the table of its values, for a page that has more on it.
    pub fn figure(&self) -> String {
        page::figure(self)
    }

    /// Writes it into a file, in the form of the file's ending.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let bytes = match Kind::of(path)? {
            Kind::Svg => self.svg().into_bytes(),
            Kind::Png => self.png(),
            Kind::Html => self.html().into_bytes(),
        };
        std::fs::write(path, bytes).map_err(|source| Error::Write { path: path.to_owned(), source })
    }

    /// Whether no line has points.
    pub fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.points.is_empty())
    }

    /// The values of a series that have a place on the axes.
    fn placed<'a>(&'a self, series: &'a Series) -> impl Iterator<Item = (f64, f64)> + 'a {
        let on = |axis: &Axis, value: f64| value.is_finite() && (!axis.logarithmic || value > 0.0);
        series.points.iter().copied().filter(move |&(x, y)| on(&self.x, x) && on(&self.y, y))
    }

    /// Every x that has a place, ascending, once.
    fn places(&self) -> Vec<f64> {
        let mut places: Vec<f64> =
            self.series.iter().flat_map(|series| self.placed(series).map(|point| point.0)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }
}

/// A page with a heading and a body, as `forebay repro --html` writes it.
pub fn page(title: &str, body: &str) -> String {
    page::page(title, body)
}
