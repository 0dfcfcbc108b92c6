//! The files of a page that are the same for every grid.

/// A file of the page: its name in a published grid, and its contents.
macro_rules! file {
    ($name:literal) => {
        ($name, include_bytes!(concat!("../../../assets/", $name)))
    };
}

/// Names in a published grid, and contents.
pub const FILES: [(&str, &[u8]); 17] = [
    (
        "index.html",
        include_bytes!("../../../assets/page/index.html"),
    ),
    file!("page/broken.js"),
    file!("page/data.js"),
    file!("page/details.js"),
    file!("page/keys.js"),
    file!("page/list.js"),
    file!("page/live.js"),
    file!("page/marks.js"),
    file!("page/names.js"),
    file!("page/openseadragon.LICENSE.txt"),
    file!("page/openseadragon.min.js"),
    file!("page/page.css"),
    file!("page/page.js"),
    file!("page/search.js"),
    file!("page/text.js"),
    file!("page/thumbnail.js"),
    file!("page/viewer.js"),
];
