//! What an address stands for. Only fixed names and numbers are known, so no address can name a
//! file that is not part of the grid.

use outlive_data::grid::pyramid::{FILES, Tile};

use super::token::{LENGTH, Token};

/// Something that is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// The address of the page without its last slash.
    NoSlash,
    /// A file that is the same for every grid: its name and its content.
    Fixed(&'static str, &'static [u8]),
    /// `grid.js`.
    Grid,
    /// `cells/<number>.js`.
    Cells(u64),
    /// `broken.js`.
    Broken,
    /// `progress.js`.
    Progress,
    /// A tile of the pyramid, if there is such a one.
    Tile(Tile),
    /// The file behind a cell.
    Image(u64),
}

/// An address that is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// It has no token, or a wrong one.
    Forbidden,
    /// There is nothing of that name.
    Missing,
}

impl Route {
    /// Reads a path. `ending` is that of tiles.
    pub(super) fn of(path: &str, token: &Token, ending: &str) -> Result<Self, Unknown> {
        let rest = path.strip_prefix('/').unwrap_or_default();
        let given = rest.get(..LENGTH).unwrap_or_default();
        if !token.is(given) {
            return Err(Unknown::Forbidden);
        }
        let rest = rest.get(LENGTH..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(Self::NoSlash);
        }
        let name = rest.strip_prefix('/').ok_or(Unknown::Forbidden)?;
        Self::named(name, ending).ok_or(Unknown::Missing)
    }

    fn named(name: &str, ending: &str) -> Option<Self> {
        match name {
            "" => return Self::named("index.html", ending),
            "grid.js" => return Some(Self::Grid),
            "broken.js" => return Some(Self::Broken),
            "progress.js" => return Some(Self::Progress),
            _ => {}
        }
        if let Some(&(name, content)) = FILES.iter().find(|(known, _)| *known == name) {
            return Some(Self::Fixed(name, content));
        }
        if let Some(chunk) = name.strip_prefix("cells/") {
            return Some(Self::Cells(number(chunk.strip_suffix(".js")?)?));
        }
        if let Some(index) = name.strip_prefix("image/") {
            return Some(Self::Image(number(index)?));
        }
        let (level, place) = name.strip_prefix("grid_files/")?.split_once('/')?;
        let place = place.strip_suffix(ending)?.strip_suffix('.')?;
        let (column, row) = place.split_once('_')?;
        Some(Self::Tile(Tile {
            level: number(level)?.try_into().ok()?,
            column: number(column)?,
            row: number(row)?,
        }))
    }
}

/// Digits and nothing else: `parse` alone would take a sign.
fn number(text: &str) -> Option<u64> {
    let is_number = text.len() <= 18 && text.bytes().all(|digit| digit.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_page_are_known() {
        let token = Token::random().unwrap();
        let route = |name: &str| Route::of(&format!("/{}{name}", token.text()), &token, "jpg");
        assert_eq!(route(""), Ok(Route::NoSlash));
        assert!(matches!(route("/"), Ok(Route::Fixed("index.html", _))));
        assert!(matches!(
            route("/page/page.js"),
            Ok(Route::Fixed("page/page.js", _))
        ));
        assert_eq!(route("/cells/12.js"), Ok(Route::Cells(12)));
        assert_eq!(route("/image/7"), Ok(Route::Image(7)));
        let tile = Tile {
            level: 3,
            column: 1,
            row: 20,
        };
        assert_eq!(route("/grid_files/3/1_20.jpg"), Ok(Route::Tile(tile)));
    }

    #[test]
    fn nothing_else_is() {
        let token = Token::random().unwrap();
        let route = |name: &str| Route::of(&format!("/{}{name}", token.text()), &token, "jpg");
        for name in [
            "/../../etc/passwd",
            "/page/../../Cargo.toml",
            "/page/",
            "/page",
            "//etc/passwd",
            "/image/../1",
            "/image/+1",
            "/image/",
            "/image/99999999999999999999",
            "/image/1/..",
            "/%2e%2e/x",
            "/cells/-1.js",
            "/grid_files/1/0_0.png",
            "/grid_files/1/0_0jpg",
            "/grid_files/99999999999/0_0.jpg",
            "/grid_files/1/0_0.jpg/x",
        ] {
            assert_eq!(route(name), Err(Unknown::Missing), "{name}");
        }
        assert_eq!(route("x"), Err(Unknown::Forbidden));
        for path in [
            "/",
            "",
            "/é",
            "/0123456789abcdef0123456789abcdef/",
            "/index.html",
        ] {
            assert_eq!(
                Route::of(path, &token, "jpg"),
                Err(Unknown::Forbidden),
                "{path}"
            );
        }
    }
}
