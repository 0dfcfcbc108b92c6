/**
 * The sheet in OpenSeadragon: where it is looked at, and which cell lies where. It knows nothing of
 * names; `page.js` connects it with the rest.
 */
'use strict';

(page => {
  /** Screen pixels an image pixel may get. */
  const CLOSEST = 4;
  /** What tiles may take in memory once decoded. */
  const TILE_BYTES = 128 * 1024 * 1024;
  /** A cell that is flown to is at least this large, in screen pixels. */
  const LEGIBLE = 120;
  const VISIBLE = 16;
  const LIVE_COLUMNS = 12;
  /** The longer side of the map, in screen pixels. */
  const MAP = 160;
  /** The share of the window that the whole sheet takes. */
  const HOME = 0.96;
  /** A swap of tiles that takes longer happens with what is there. */
  const SWAP_MS = 5000;

  const still = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

  const options = (grid, places) => ({
    element: places.sheet,
    // The other drawers read pixels, which a page from a file may not.
    drawer: 'canvas',
    tileSources: source(grid),
    showNavigationControl: false,
    keyboardNavEnabled: false,
    showNavigator: true,
    navigatorElement: places.map,
    navigatorBackground: 'transparent',
    navigatorBorderColor: 'transparent',
    navigatorOpacity: 1,
    animationTime: still() ? 0 : 0.6,
    springStiffness: 8,
    maxZoomPixelRatio: CLOSEST,
    minZoomImageRatio: 0.8,
    visibilityRatio: 0.3,
    preserveImageSizeOnResize: true,
    zoomPerScroll: 1.25,
    imageLoaderLimit: 8,
    maxImageCacheCount: Math.min(200, Math.max(24, Math.floor(TILE_BYTES / (4 * grid.tileSize ** 2)))),
    smoothTileEdgesMinZoom: Infinity,
    gestureSettingsMouse: { clickToZoom: false, dblClickToZoom: true },
    gestureSettingsPen: { clickToZoom: false, dblClickToZoom: true },
    gestureSettingsTouch: { clickToZoom: false, dblClickToZoom: true },
    tileRetryMax: grid.live ? 3 : 0,
  });

  /** What OpenSeadragon asks for tiles. Levels that are smaller than one tile are of no use. */
  const source = grid => {
    const full = page.fullLevel(grid);
    const whole = Math.floor(Math.log2(grid.tileSize / Math.max(grid.width, grid.height)));
    return {
      width: grid.width,
      height: grid.height,
      tileSize: grid.tileSize,
      tileOverlap: 0,
      minLevel: Math.max(0, Math.min(full, full + whole)),
      maxLevel: full,
      getTileUrl: (level, column, row) => page.tileAddress(grid, level, column, row),
    };
  };

  page.Viewer = class {
    #grid;
    #places;
    #viewer;
    /** Whether better tiles are being made ready behind those on the screen. */
    #swapping = false;
    #swapAgain = false;
    #whole = false;

    constructor(grid, places, events) {
      this.#grid = grid;
      this.#places = places;
      const longest = Math.max(grid.width, grid.height) / MAP;
      places.map.style.width = `${Math.max(MAP / 4, Math.round(grid.width / longest))}px`;
      places.map.style.height = `${Math.max(MAP / 4, Math.round(grid.height / longest))}px`;
      this.#viewer = OpenSeadragon(options(grid, places));
      this.marks = new page.Marks(grid, places.marks, () => this.view());
      this.#viewer.addHandler('open', () => {
        this.#limitHome();
        events.ready();
      });
      this.#viewer.addHandler('resize', () => this.#limitHome());
      this.#viewer.addHandler('update-viewport', () => {
        this.marks.draw();
        this.#follow();
      });
      this.#viewer.addHandler('canvas-click', event => {
        if (event.quick) {
          events.click(this.cellAt(event.position));
        }
      });
      this.#watchPointer(events);
      this.#viewer.canvas.setAttribute('role', 'application');
      this.#viewer.canvas.setAttribute('aria-label', 'Sheet of images: arrow keys select one, Enter shows it');
    }

    /** The element that takes the focus. */
    get canvas() {
      return this.#viewer.canvas;
    }

    /** The level whose tiles are drawn now. */
    get level() {
      return Math.max(...(this.#item?.lastDrawn ?? []).map(one => (one.tile ?? one).level));
    }

    get #item() {
      return this.#viewer.world.getItemAt(0);
    }

    get #viewport() {
      return this.#viewer.viewport;
    }

    /** Where the sheet's corner is on the screen, and screen pixels an image pixel. */
    view() {
      const { x: width, y: height } = this.#viewport.getContainerSize();
      const corner = this.#viewport.pixelFromPoint(new OpenSeadragon.Point(0, 0), true);
      const scale = this.#scaleAt(this.#viewport.getZoom(true));
      return { left: corner.x, top: corner.y, scale, width, height };
    }

    /** The cell at a point of the screen, or -1. */
    cellAt(point) {
      const { left, top, scale } = this.view();
      const { pitch, columns, cells } = this.#grid;
      const column = Math.floor((point.x - left) / scale / pitch);
      const row = Math.floor((point.y - top) / scale / pitch);
      const index = row * columns + column;
      return column >= 0 && column < columns && row >= 0 && index < cells ? index : -1;
    }

    zoomBy(factor) {
      this.#viewport.zoomBy(factor);
      this.#viewport.applyConstraints();
    }

    home(immediately = still()) {
      this.#viewport.goHome(immediately);
    }

    /** The view that a page begins with. */
    start() {
      if (!this.#grid.live) {
        this.home(true);
        return;
      }
      const size = this.#viewport.getContainerSize();
      const columns = Math.min(LIVE_COLUMNS, this.#grid.columns);
      const width = (columns * this.#grid.pitch) / this.#grid.width;
      const bounds = new OpenSeadragon.Rect(0, 0, width, (width * size.y) / size.x);
      this.#viewport.fitBounds(bounds, true);
    }

    /** Goes to a cell, close enough to see it. */
    fly(index, immediately = still()) {
      const size = this.#viewport.getContainerSize();
      const side = this.#grid.pitch * this.#scaleAt(this.#viewport.getZoom());
      const most = Math.min(this.#grid.pitch * CLOSEST, size.x / 2, size.y / 2);
      const wanted = Math.min(Math.max(side, LEGIBLE), most);
      const unit = this.#grid.pitch / this.#grid.width;
      const [x, y] = this.#middle(index);
      const width = (size.x / wanted) * unit;
      const height = (size.y / wanted) * unit;
      const bounds = new OpenSeadragon.Rect(x - width / 2, y - height / 2, width, height);
      this.#viewport.fitBounds(bounds, immediately);
    }

    /** As `reveal`; a cell that is too small to be seen is flown to. */
    approach(index) {
      const side = this.#grid.pitch * this.#scaleAt(this.#viewport.getZoom());
      if (side < VISIBLE) {
        this.fly(index);
      } else {
        this.reveal(index);
      }
    }

    /** Moves the view just as far as a cell needs to be inside. */
    reveal(index) {
      const bounds = this.#viewport.getBounds();
      const [x, y] = this.#middle(index);
      const room = (this.#grid.pitch / this.#grid.width) * 0.75;
      const into = (at, from, length) => {
        const near = Math.min(room, length / 2);
        return Math.min(0, at - near - from) + Math.max(0, at + near - from - length);
      };
      const shift = new OpenSeadragon.Point(
        into(x, bounds.x, bounds.width), into(y, bounds.y, bounds.height));
      if (shift.x || shift.y) {
        this.#viewport.panBy(shift, still());
      }
    }

    /** The place for the sheet has another size now. Who saw all of it still does. */
    resized() {
      const whole = this.#whole;
      this.#viewer.forceResize();
      if (whole) {
        this.later(() => this.home());
      }
    }

    /** Calls once the sheet has been measured, which happens in the next frame. */
    later(action) {
      requestAnimationFrame(() => requestAnimationFrame(action));
    }

    /**
     * Shows the tiles of the current generation. They are made ready unseen and then take the place
     * of the old ones, so that nothing flickers; one swap at a time.
     */
    renew() {
      if (this.#swapping) {
        this.#swapAgain = true;
        return;
      }
      this.#swapping = true;
      const swap = fresh => {
        fresh.setOpacity(1);
        const { world } = this.#viewer;
        for (let at = world.getItemCount() - 1; at >= 0; at -= 1) {
          if (world.getItemAt(at) !== fresh) {
            world.removeItem(world.getItemAt(at));
          }
        }
        this.#swapping = false;
        if (this.#swapAgain) {
          this.#swapAgain = false;
          this.renew();
        }
      };
      this.#viewer.addTiledImage({
        tileSource: source(this.#grid),
        opacity: 0,
        preload: true,
        success: ({ item }) => {
          const late = setTimeout(() => swap(item), SWAP_MS);
          item.whenFullyLoaded(() => {
            clearTimeout(late);
            if (item.getOpacity() === 0) {
              swap(item);
            }
          });
        },
        error: () => {
          this.#swapping = false;
        },
      });
    }

    #scaleAt(zoom) {
      return (this.#viewport.getContainerSize().x * zoom) / this.#grid.width;
    }

    /** A cell's middle as OpenSeadragon counts: the sheet is 1 wide. */
    #middle(index) {
      const { columns, pitch, width } = this.#grid;
      const column = index % columns;
      const row = Math.floor(index / columns);
      return [((column + 0.5) * pitch) / width, ((row + 0.5) * pitch) / width];
    }

    /** A small sheet is not blown up to fill the window. */
    #limitHome() {
      const { width, height } = this.#grid;
      const size = this.#viewport.getContainerSize();
      const fits = HOME * Math.min(size.x / width, size.y / height);
      this.#viewport.defaultZoomLevel = (Math.min(fits, CLOSEST / 2) * width) / size.x;
      this.marks.redraw();
    }

    /** What depends on how close the view is. */
    #follow() {
      const view = this.view();
      // Beyond 1:1 a pixel of a picture is a square, and not a blur.
      const smooth = view.scale <= 1.01;
      const { drawer } = this.#viewer;
      if (drawer.outliveSmooth !== smooth) {
        drawer.outliveSmooth = smooth;
        drawer.setImageSmoothingEnabled(smooth);
      }
      this.#whole = this.#grid.width * view.scale <= view.width + 1
        && this.#grid.height * view.scale <= view.height + 1;
      this.#places.map.classList.toggle('away', this.#whole);
    }

    #watchPointer(events) {
      const { sheet } = this.#places;
      sheet.addEventListener('pointermove', event => {
        if (event.pointerType === 'touch') {
          return;
        }
        const box = sheet.getBoundingClientRect();
        const index = this.cellAt({ x: event.clientX - box.left, y: event.clientY - box.top });
        this.marks.hover(index);
        events.hover(index);
      });
      sheet.addEventListener('pointerleave', () => {
        this.marks.hover(-1);
        events.hover(-1);
      });
    }
  };
})(window.outlivePage);
