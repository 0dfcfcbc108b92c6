/**
 * A cell as a small picture, cut out of the tile that holds it. A tile holds whole cells, so one
 * background image is enough. It is asked for when the picture comes into view.
 */
'use strict';

(page => {
  const seen = new IntersectionObserver(entries => {
    for (const entry of entries.filter(one => one.isIntersecting)) {
      seen.unobserve(entry.target);
      entry.target.style.backgroundImage = entry.target.outliveTile;
    }
  });

  /** The level of full size. */
  page.fullLevel = grid => Math.ceil(Math.log2(Math.max(grid.width, grid.height, 1)));

  /** The address of a tile. */
  page.tileAddress = (grid, level, column, row) =>
    page.data.current(`grid_files/${level}/${column}_${row}.${grid.format}`);

  /** A square of `side` pixels that shows a cell. */
  page.thumbnail = (grid, index, side) => {
    const made = page.element('span', { className: 'thumbnail', 'aria-hidden': 'true' });
    const left = (index % grid.columns) * grid.pitch;
    const top = Math.floor(index / grid.columns) * grid.pitch;
    const [column, row] = [left, top].map(at => Math.floor(at / grid.tileSize));
    // The last tiles of a row and a column are cut off where the sheet ends.
    const width = Math.min(grid.tileSize, grid.width - column * grid.tileSize);
    const height = Math.min(grid.tileSize, grid.height - row * grid.tileSize);
    const scale = side / grid.cell;
    made.style.width = made.style.height = `${side}px`;
    made.style.backgroundSize = `${width * scale}px ${height * scale}px`;
    made.style.backgroundPosition =
      `${-(left - column * grid.tileSize) * scale}px ${-(top - row * grid.tileSize) * scale}px`;
    made.outliveTile = `url("${page.tileAddress(grid, page.fullLevel(grid), column, row)}")`;
    seen.observe(made);
    return made;
  };
})(window.outlivePage);
