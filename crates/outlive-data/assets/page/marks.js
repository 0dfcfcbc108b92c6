/**
 * Marks over the sheet, on one canvas: the cell under the pointer, the selected one, and matches of
 * a search. Cells that do not match are veiled by a picture of one pixel a cell, so that a million
 * of them cost as much as ten.
 */
'use strict';

(page => {
  /** Smaller cells get no outline of their own. */
  const OUTLINED_FROM = 12;
  /** Below this size of a cell a match is a dot, as long as there are few. */
  const DOTTED_BELOW = 7;
  const MOST_DOTS = 2000;
  /** Larger canvases are not made by every browser. */
  const WIDEST_VEIL = 8192;

  page.Marks = class {
    #grid;
    #canvas;
    #view;
    #asked = false;
    #hovered = -1;
    #selected = -1;
    /** One bit a cell while there is a search. */
    #bits = null;
    #veil = null;
    #first = [];
    #count = 0;
    /** As the page's style has them; asking it for every line would be slow. */
    #colours = {};

    /** @param view where image pixels lie on the screen: `{ left, top, scale, width, height }` */
    constructor(grid, canvas, view) {
      this.#grid = grid;
      this.#canvas = canvas;
      this.#view = view;
      matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
        this.#colours = {};
        this.redraw();
      });
    }

    hover(index) {
      if (index !== this.#hovered) {
        this.#hovered = index;
        this.redraw();
      }
    }

    select(index) {
      this.#selected = index;
      this.redraw();
    }

    /** Begins a search: nothing matches yet. */
    begin() {
      const { columns, rows, cells } = this.#grid;
      this.#bits = new Uint8Array(Math.ceil(cells / 8));
      this.#first = [];
      this.#count = 0;
      this.#veil = null;
      if (columns <= WIDEST_VEIL && rows <= WIDEST_VEIL) {
        this.#veil = page.element('canvas', { width: columns, height: rows });
        const drawing = this.#veil.getContext('2d');
        drawing.fillStyle = this.#colour('--veil');
        drawing.fillRect(0, 0, columns, rows);
      }
      this.redraw();
    }

    /** Cells that match. */
    add(indices) {
      const drawing = this.#veil?.getContext('2d');
      const { columns } = this.#grid;
      let length = 1;
      indices.forEach((index, at) => {
        this.#bits[index >> 3] |= 1 << (index & 7);
        // Neighbours in a row are cleared together: often all cells match.
        if (index + 1 === indices[at + 1] && (index + 1) % columns) {
          length += 1;
        } else {
          drawing?.clearRect((index % columns) + 1 - length, Math.floor(index / columns), length, 1);
          length = 1;
        }
      });
      this.#count += indices.length;
      this.#first.push(...indices.slice(0, Math.max(0, MOST_DOTS - this.#first.length)));
      this.redraw();
    }

    /** Ends the search. */
    end() {
      this.#bits = this.#veil = null;
      this.#first = [];
      this.#count = 0;
      this.redraw();
    }

    /** The next match after a cell, or before it; -1 when there is none. */
    neighbour(index, step) {
      const matches = at => this.#bits[at >> 3] & (1 << (at & 7));
      const { cells } = this.#grid;
      for (let tried = 1; this.#count && tried <= cells; tried += 1) {
        const at = (((index + step * tried) % cells) + cells) % cells;
        if (matches(at)) {
          return at;
        }
      }
      return -1;
    }

    /** Draws before the next frame. */
    redraw() {
      if (!this.#asked) {
        this.#asked = true;
        requestAnimationFrame(() => {
          this.#asked = false;
          this.draw();
        });
      }
    }

    draw() {
      const view = this.#view();
      const density = window.devicePixelRatio || 1;
      const [width, height] = [view.width, view.height].map(side => Math.round(side * density));
      if (this.#canvas.width !== width || this.#canvas.height !== height) {
        this.#canvas.width = width;
        this.#canvas.height = height;
      }
      const drawing = this.#canvas.getContext('2d');
      drawing.setTransform(density, 0, 0, density, 0, 0);
      drawing.clearRect(0, 0, view.width, view.height);
      if (this.#bits) {
        this.#drawMatches(drawing, view);
      }
      this.#outline(drawing, view, this.#hovered, '--hover', 1.5);
      this.#outline(drawing, view, this.#selected, '--mark', 3);
    }

    #drawMatches(drawing, view) {
      const { columns, rows, cells, pitch } = this.#grid;
      const side = pitch * view.scale;
      if (this.#veil) {
        drawing.imageSmoothingEnabled = false;
        // Tiles are drawn on whole pixels; what stands over would shine beside the veil.
        const [left, top] = [view.left, view.top].map(Math.floor);
        const right = Math.ceil(view.left + columns * side) + 1;
        const bottom = Math.ceil(view.top + rows * side) + 1;
        drawing.drawImage(this.#veil, left, top, right - left, bottom - top);
      }
      if (side < DOTTED_BELOW && this.#count <= MOST_DOTS) {
        drawing.fillStyle = this.#colour('--mark');
        for (const index of this.#first) {
          const [x, y] = this.#corner(view, index);
          drawing.fillRect(x + side / 2 - 3, y + side / 2 - 3, 6, 6);
        }
      }
      if (side < OUTLINED_FROM) {
        return;
      }
      const from = at => Math.max(0, Math.floor(-at / side));
      const to = (at, room, most) => Math.min(most, Math.ceil((room - at) / side));
      for (let row = from(view.top); row < to(view.top, view.height, rows); row += 1) {
        for (let column = from(view.left); column < to(view.left, view.width, columns); column += 1) {
          const index = row * columns + column;
          if (index < cells && this.#bits[index >> 3] & (1 << (index & 7))) {
            this.#outline(drawing, view, index, '--mark', 1.5);
          }
        }
      }
    }

    #corner(view, index) {
      const { columns, pitch } = this.#grid;
      const step = pitch * view.scale;
      return [view.left + (index % columns) * step, view.top + Math.floor(index / columns) * step];
    }

    /** A line in colour with a halo, so that it is seen on every picture. */
    #outline(drawing, view, index, colour, width) {
      if (index < 0) {
        return;
      }
      const [x, y] = this.#corner(view, index);
      const side = this.#grid.pitch * view.scale;
      const least = Math.max(side, 7);
      const shift = (least - side) / 2;
      const lines = [['--halo', width + 2], [colour, width]];
      for (const [name, thickness] of lines) {
        drawing.strokeStyle = this.#colour(name);
        drawing.lineWidth = thickness;
        drawing.beginPath();
        drawing.roundRect(x - shift, y - shift, least, least, Math.min(4, least / 8));
        drawing.stroke();
      }
    }

    #colour(name) {
      this.#colours[name] ??= getComputedStyle(this.#canvas).getPropertyValue(name).trim();
      return this.#colours[name];
    }
  };
})(window.outlivePage);
